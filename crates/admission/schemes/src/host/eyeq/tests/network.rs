//! Machines that share lines and links.

use wayleave_contracts::Direction;
use wayleave_scheme_api::{ClassId, Share};
use wayleave_units::{Rate, Time};

use super::super::{Eyeq, LineParams, MeterParams, Params, Staleness};
use crate::fluid::{self, done};

type Fluid = fluid::Fluid<Eyeq>;

const LINE: Rate = Rate::from_gbit(10);

fn network(hosts: usize, params: &Params, seed: u64) -> Fluid {
    let hosts = (0..hosts).map(|_| Eyeq::new(LineParams::both(LINE), params.clone()).unwrap());
    Fluid::new(hosts.collect(), LINE, Time::from_micros(10), seed)
}

fn near(got: f64, expected: f64, part: f64) -> bool {
    (got - expected).abs() <= expected * part
}

#[track_caller]
fn assert_near(got: &[f64], expected: &[f64], part: f64) {
    assert_eq!(got.len(), expected.len());
    let all_near = got.iter().zip(expected).all(|(&got, &expected)| near(got, expected, part));
    assert!(all_near, "{got:.3?} Gbit/s for {expected:?}");
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / rates.len() as f64 / rates.iter().map(|rate| rate * rate).sum::<f64>()
}

/// Fig. 4 is a picture; its caption is the claim: max-min fair across the senders at a receiver, by local information.
/// One sender is held elsewhere, as its other receiver is busy.
#[test]
fn figure_4_senders_share_a_receiver_max_min_fairly() {
    let mut fluid = network(6, &Params::default(), 4);
    for from in 0..3 {
        fluid.open(1, from, 4);
    }
    fluid.open(1, 3, 4);
    fluid.pairs[3].demand = 1e9;
    fluid.run(Time::from_millis(20));
    let got = fluid.run(Time::from_millis(20));
    assert_near(&got, &[8.0 / 3.0, 8.0 / 3.0, 8.0 / 3.0, 1.0], 0.02);
}

#[test]
fn late_or_lost_feedback_does_not_change_the_steady_state() {
    for (seed, delay, loss) in [(1, 150, 0.0), (2, 20, 0.5), (3, 100, 0.3)] {
        let mut fluid = network(5, &Params::default(), seed);
        fluid.delay_feedback(Time::from_micros(delay), loss);
        for from in 0..4 {
            fluid.open(1, from, 4);
        }
        fluid.run(Time::from_millis(30));
        let got = fluid.run(Time::from_millis(30));
        assert_near(&got, &[2.25; 4], 0.05);
    }
}

#[test]
fn weighted_senders_are_in_the_ratio_of_their_weights() {
    let params = Params { sender_weights: vec![(ClassId(7), 3)], ..Params::default() };
    let mut fluid = network(3, &params, 5);
    fluid.open_between([7, 1], 0, 2);
    fluid.open_between([1, 1], 1, 2);
    fluid.run(Time::from_millis(20));
    let got = fluid.run(Time::from_millis(20));
    assert_near(&got, &[6.75, 2.25], 0.03);
}

/// Fig. 12: services under different racks send to receivers under one rack, through one link.
#[test]
fn figure_12_receivers_behind_one_marked_link_share_it_equally() {
    let mut fluid = network(4, &Params::default(), 12);
    fluid.share_one_link(LINE);
    fluid.open(1, 0, 2);
    fluid.run(Time::from_millis(20));
    let alone = fluid.run(Time::from_millis(20));
    assert_near(&alone, &[9.0], 0.01);
    fluid.open(2, 1, 3);
    fluid.run(Time::from_millis(40));
    let both = fluid.run(Time::from_millis(40));
    println!("{both:.3?} Gbit/s, Jain {:.4}", jain(&both));
    assert!(jain(&both) >= 0.99, "{both:?}");
    assert!(both.iter().sum::<f64>() > 8.0, "{both:?}");
}

#[test]
fn classes_share_a_receiver_by_weight_and_minimum_and_idle_ones_release_theirs() {
    let mut fluid = network(4, &Params::default(), 6);
    let gbit = |min, weight| Share { min: Rate::from_gbit(min), max: None, weight };
    fluid.set_class(3, 1, gbit(3, 1));
    fluid.set_class(3, 2, gbit(0, 2));
    // Many senders of one class do not help it.
    let first = fluid.open(1, 0, 3);
    fluid.open(2, 1, 3);
    fluid.open(2, 2, 3);
    fluid.run(Time::from_millis(40));
    let got = fluid.run(Time::from_millis(40));
    assert_near(&got, &[5.0, 2.0, 2.0], 0.03);
    fluid.pairs[first].demand = 1e9;
    fluid.run(Time::from_millis(40));
    let got = fluid.run(Time::from_millis(40));
    assert_near(&got, &[1.0, 4.0, 4.0], 0.03);
    fluid.pairs[first].demand = f64::INFINITY;
    fluid.run(Time::from_millis(40));
    assert_near(&fluid.run(Time::from_millis(40)), &[5.0, 2.0, 2.0], 0.03);
}

#[test]
fn classes_share_an_uplink_and_are_not_limited_where_it_is_not_full() {
    let mut fluid = network(6, &Params::default(), 7);
    fluid.set_class(0, 1, Share::BEST_EFFORT);
    fluid.set_class(0, 2, Share::BEST_EFFORT);
    // Four destinations of one class, one of the other: a line alone would give 8 and 2.
    for to in 1..5 {
        fluid.open(1, 0, to);
    }
    fluid.open(2, 0, 5);
    fluid.run(Time::from_millis(40));
    let got = fluid.run(Time::from_millis(40));
    assert_near(&got, &[1.25, 1.25, 1.25, 1.25, 5.0], 0.03);
    for pair in &mut fluid.pairs[..4] {
        pair.demand = 0.5e9;
    }
    fluid.run(Time::from_millis(40));
    let got = fluid.run(Time::from_millis(40));
    assert_near(&got, &[0.5, 0.5, 0.5, 0.5, 8.0], 0.03);
    fluid.pairs[4].demand = 3e9;
    fluid.run(Time::from_millis(40));
    let before = fluid.root_changes;
    fluid.run(Time::from_millis(40));
    let limits = [1, 2].map(|class| fluid.hosts[0].class_state(ClassId(class)).unwrap().transmit_limit);
    assert_eq!((limits, fluid.root_changes - before), ([None, None], 0));
}

/// The other class waits at its receiver, not at this line: it is not taken to want more than it sends.
#[test]
fn a_class_limited_by_its_receivers_leaves_the_line_to_others() {
    let mut fluid = network(6, &Params::default(), 8);
    for from in [0, 2, 3] {
        fluid.open(1, from, 4);
    }
    fluid.open(2, 0, 5);
    fluid.run(Time::from_millis(50));
    let got = fluid.run(Time::from_millis(50));
    assert_near(&got, &[3.0, 3.0, 3.0, 7.0], 0.04);
}

#[test]
fn parts_of_a_service_share_its_allocation() {
    // Fig. 5: HBase and VMs use DFS; S2 is another service.
    let (dfs, hbase, vms, other) = (1, 2, 3, 4);
    let parents = vec![(ClassId(hbase), ClassId(dfs)), (ClassId(vms), ClassId(dfs))];
    let mut fluid = network(5, &Params { parents, ..Params::default() }, 9);
    fluid.set_class(3, dfs, Share { max: Some(Rate::from_gbit(4)), ..Share::BEST_EFFORT });
    fluid.set_class(3, hbase, Share { weight: 3, ..Share::BEST_EFFORT });
    fluid.set_class(3, vms, Share::BEST_EFFORT);
    fluid.set_class(3, other, Share::BEST_EFFORT);
    for (class, from) in [(hbase, 0), (vms, 1), (other, 2)] {
        fluid.open(class, from, 3);
    }
    fluid.run(Time::from_millis(50));
    let got = fluid.run(Time::from_millis(50));
    assert_near(&got, &[3.0, 1.0, 5.0], 0.03);
    // Traffic of DFS that belongs to neither part has a weight of 1 beside them.
    fluid.open(dfs, 4, 3);
    fluid.run(Time::from_millis(50));
    let got = fluid.run(Time::from_millis(50));
    assert_near(&got, &[2.4, 0.8, 5.0, 0.8], 0.03);
}

#[test]
fn a_class_that_has_a_full_line_for_itself_is_not_limited() {
    let mut fluid = network(3, &Params::default(), 13);
    fluid.open(1, 0, 1);
    fluid.open(1, 0, 2);
    fluid.run(Time::from_millis(20));
    assert_near(&fluid.run(Time::from_millis(20)), &[5.0, 5.0], 0.01);
    assert_eq!(fluid.root_changes, 0);
}

#[test]
fn a_broker_sets_and_lifts_capacities() {
    let mut fluid = network(3, &Params::default(), 10);
    fluid.open(1, 0, 2);
    fluid.open(1, 1, 2);
    fluid.run(Time::from_millis(20));
    let allow = |fluid: &mut Fluid, host: usize, direction, rate: Option<Rate>| {
        fluid.with(host, |shaper, _, act| {
            shaper.set_capacity(ClassId(1), direction, rate, &mut |action| act(done(action)));
        });
    };
    allow(&mut fluid, 0, Direction::Transmit, Some(Rate::from_gbit(1)));
    fluid.run(Time::from_millis(20));
    assert_near(&fluid.run(Time::from_millis(20)), &[1.0, 8.0], 0.02);
    allow(&mut fluid, 2, Direction::Receive, Some(Rate::from_gbit(3)));
    fluid.run(Time::from_millis(20));
    assert_near(&fluid.run(Time::from_millis(20)), &[1.0, 2.0], 0.02);
    allow(&mut fluid, 0, Direction::Transmit, None);
    allow(&mut fluid, 2, Direction::Receive, None);
    fluid.run(Time::from_millis(20));
    assert_near(&fluid.run(Time::from_millis(20)), &[4.5, 4.5], 0.02);
}

#[test]
fn intervals_end_without_traffic_and_limiters_without_feedback_are_lifted() {
    let mut fluid = network(3, &Params::default(), 11);
    fluid.open(1, 0, 2);
    fluid.open(1, 1, 2);
    fluid.run(Time::from_millis(20));
    assert_eq!(fluid.pair_lifts, 0);
    for pair in &mut fluid.pairs {
        pair.demand = 0.0;
    }
    fluid.run(Time::from_millis(15));
    let timers = fluid.timers;
    fluid.run(Time::from_millis(1_100));
    // Of each limiter: one that finds that it has been spoken of since, one that lifts it. None of an interval.
    assert_eq!((fluid.timers - timers, fluid.pair_lifts), (4, 2));
    // And they begin again.
    for pair in &mut fluid.pairs {
        pair.demand = f64::INFINITY;
    }
    fluid.run(Time::from_millis(20));
    assert_near(&fluid.run(Time::from_millis(20)), &[4.5, 4.5], 0.02);
}

/// Returns the shares of 80 senders on 3 Gbit/s, in Mbit/s.
fn eighty_senders(staleness: Staleness, floor: Rate) -> Vec<f64> {
    let meter = MeterParams { floor, ..MeterParams::default() };
    let mut fluid = network(81, &Params { staleness, meter, ..Params::default() }, 14);
    fluid.set_class(80, 1, Share { max: Some(Rate::from_gbit(3)), ..Share::BEST_EFFORT });
    for from in 0..80 {
        fluid.open(1, from, 80);
    }
    fluid.run(Time::from_millis(20));
    let mut rates: Vec<f64> = fluid.run(Time::from_millis(50)).iter().map(|rate| rate * 1e3).collect();
    rates.sort_by(f64::total_cmp);
    println!("{:.0} Mbit/s together, {:.1} to {:.1}", rates.iter().sum::<f64>(), rates[0], rates[79]);
    rates
}

/// Each of 80 senders is sampled every 2 ms, ten intervals. During that time R falls to its floor. A sender that
/// receives this R sends so little that it is not sampled again for long. A feedback 100 us after the last one
/// changes nothing: at 3 Gbit/s there is a sample every 27 us. With the floor of EyeQ's last release, 10 Mbit/s, no
/// sender is that slow.
#[test]
fn many_senders_share_equally_with_change_feedback_or_a_high_floor() {
    let [low, released] = [1, 10].map(Rate::from_mbit);
    for staleness in [Staleness::Sampled, Staleness::Timed] {
        let rates = eighty_senders(staleness, low);
        assert!(near(rates.iter().sum(), 3_000.0, 0.03) && rates[0] < 5.0, "{staleness:?} {rates:.1?}");
    }
    for (staleness, floor) in [(Staleness::Doubled, low), (Staleness::Sampled, released), (Staleness::Timed, released)]
    {
        let rates = eighty_senders(staleness, floor);
        assert!(near(rates.iter().sum(), 3_000.0, 0.03), "{staleness:?} {rates:.1?}");
        assert!(rates[0] > 25.0 && rates[79] < 45.0, "{staleness:?} {rates:.1?}");
    }
}
