//! Machines that share a link of 1 Gbit/s, with 450 Mbit/s guaranteed to every virtual machine: the setting of the paper's
//! evaluation as it is known (10 % of headroom beside two guarantees).

use wayleave_scheme_api::{Arrivals, Host, HostInput, Incoming, Outgoing, Share};
use wayleave_units::{Bytes, Rate, Time};

use super::super::{ElasticSwitch, Message, Params, Timer};
use crate::fluid::{self, done, random_input, random_rate};
use crate::random::SplitMix;

type Fluid = fluid::Fluid<ElasticSwitch>;

const LINE: Rate = Rate::from_gbit(1);

fn network(hosts: usize, seed: u64) -> Fluid {
    let hosts = (0..hosts).map(|_| ElasticSwitch::new(LINE, Params::default()));
    Fluid::new(hosts.collect(), LINE, Time::from_micros(100), seed)
}

fn hose(mbit: u64) -> Share {
    Share { min: Rate::from_mbit(mbit), ..Share::BEST_EFFORT }
}

fn guarantee(fluid: &Fluid, pair: usize) -> f64 {
    let host = &fluid.hosts[fluid.pairs[pair].from];
    host.guarantee(Outgoing(pair as u32)).unwrap().bits_per_second() as f64 / 1e6
}

#[track_caller]
fn assert_near(got: f64, expected: f64, part: f64) {
    assert!((got - expected).abs() <= expected * part, "{got} for {expected}");
}

/// First fixed point: what a virtual machine receives is guaranteed against any number of senders to another one.
#[test]
fn a_guarantee_holds_beside_many_senders_to_another_machine() {
    for senders in [1, 10, 100] {
        let mut fluid = network(3 + senders, senders as u64);
        fluid.share_one_link(LINE);
        fluid.set_class(0, 1, hose(450));
        fluid.set_class(1, 1, hose(450));
        fluid.set_class(2, 2, hose(450));
        fluid.open(1, 0, 1);
        for sender in 0..senders {
            fluid.set_class(3 + sender, 2, hose(450));
            fluid.open(2, 3 + sender, 2);
        }
        fluid.run(Time::from_millis(500));
        let got = fluid.run(Time::from_millis(500));
        let (one, many) = (got[0] * 1e3, got[1..].iter().sum::<f64>() * 1e3);
        println!("{senders} senders: {one:.0} and {many:.0} Mbit/s");
        assert!(one >= 445.0 && many >= 440.0, "{one} and {many} Mbit/s");
        assert!(one + many >= 900.0, "{one} and {many} Mbit/s");
    }
}

/// Second fixed point: bandwidth that no other pair uses is used.
#[test]
fn one_machine_alone_uses_the_whole_link_and_releases_it() {
    let mut fluid = network(4, 2);
    fluid.share_one_link(LINE);
    for (host, class) in [(0, 1), (1, 1), (2, 2), (3, 2)] {
        fluid.set_class(host, class, hose(450));
    }
    fluid.open(1, 0, 1);
    fluid.run(Time::from_millis(300));
    let alone = fluid.run(Time::from_millis(500))[0];
    assert!(alone >= 0.93, "{alone} Gbit/s");
    fluid.open(2, 2, 3);
    fluid.run(Time::from_millis(300));
    let got = fluid.run(Time::from_millis(500));
    assert!(got.iter().all(|&rate| rate >= 0.44), "{got:?}");
    fluid.pairs[0].demand = 0.2e9;
    fluid.run(Time::from_millis(300));
    let got = fluid.run(Time::from_millis(500));
    assert_near(got[0], 0.2, 0.02);
    println!("{got:?}");
    assert!(got[1] >= 0.7, "{got:?}");
}

/// Third fixed point: what a pair cannot use because its other end gives it less goes to the others.
#[test]
fn guarantees_are_the_minimum_of_both_ends_and_the_rest_goes_to_other_pairs() {
    // X (host 0) sends to Y (1) and Z (2); Y also receives from three others.
    let mut fluid = network(6, 3);
    for host in 0..6 {
        fluid.set_class(host, 1, hose(450));
    }
    let to_y = fluid.open(1, 0, 1);
    let to_z = fluid.open(1, 0, 2);
    let others: Vec<usize> = (3..6).map(|from| fluid.open(1, from, 1)).collect();
    fluid.run(Time::from_millis(200));
    assert_near(guarantee(&fluid, to_y), 112.5, 0.01);
    assert_near(guarantee(&fluid, to_z), 337.5, 0.01);
    // One of Y's senders has little to send: the others have more of Y.
    fluid.pairs[others[0]].demand = 30e6;
    fluid.run(Time::from_millis(1_000));
    // 140 and 310, as far as it is known that the one wants 30: congestion at Y lowers its rate until it fills it.
    assert_near(guarantee(&fluid, to_y), 134.0, 0.05);
    assert_near(guarantee(&fluid, to_z), 316.0, 0.03);
    // And when they go, X's hose is all that bounds.
    for other in others {
        fluid.pairs[other].demand = 0.0;
    }
    fluid.run(Time::from_millis(1_000));
    assert_near(guarantee(&fluid, to_y), 225.0, 0.01);
    assert_near(guarantee(&fluid, to_z), 225.0, 0.01);
}

/// In units of guarantees both rates follow the same curve; the shorter hold favours the larger one beyond that.
#[test]
fn twice_the_guarantee_gets_more_than_twice_the_spare_bandwidth() {
    let mut fluid = network(4, 4);
    fluid.share_one_link(LINE);
    for (host, class, mbit) in [(0, 1, 150), (1, 1, 150), (2, 2, 300), (3, 2, 300)] {
        fluid.set_class(host, class, hose(mbit));
    }
    fluid.open(1, 0, 1);
    fluid.open(2, 2, 3);
    fluid.run(Time::from_millis(1_000));
    let got = fluid.run(Time::from_millis(2_000));
    assert!(got[0] + got[1] >= 0.9, "{got:?}");
    let ratio = got[1] / got[0];
    println!("{got:?}: ratio {ratio:.2}");
    assert!(ratio > 2.0 && ratio < 3.5 && got[0] > 0.16, "{got:?}");
}

#[test]
fn guarantees_hold_when_messages_are_lost() {
    let mut fluid = network(5, 5);
    fluid.delay_feedback(Time::from_millis(2), 0.5);
    fluid.share_one_link(LINE);
    for (host, class) in [(0, 1), (1, 1), (2, 2), (3, 2), (4, 2)] {
        fluid.set_class(host, class, hose(450));
    }
    fluid.open(1, 0, 1);
    fluid.open(2, 2, 4);
    fluid.open(2, 3, 4);
    fluid.run(Time::from_millis(500));
    let got = fluid.run(Time::from_millis(1_000));
    assert!(got[0] >= 0.44 && got[1] + got[2] >= 0.43, "{got:?}");
}

#[test]
fn minima_that_exceed_a_line_with_its_headroom_are_scaled() {
    let mut fluid = network(3, 6);
    fluid.set_class(0, 1, hose(1_200));
    fluid.set_class(0, 2, hose(600));
    fluid.set_class(1, 1, hose(900));
    fluid.set_class(2, 2, hose(900));
    let first = fluid.open(1, 0, 1);
    let second = fluid.open(2, 0, 2);
    fluid.run(Time::from_millis(100));
    assert_near(guarantee(&fluid, first), 600.0, 0.001);
    assert_near(guarantee(&fluid, second), 300.0, 0.001);
}

#[test]
fn timers_are_inactive_while_nothing_is_sent() {
    let mut fluid = network(2, 7);
    fluid.set_class(0, 1, hose(450));
    fluid.set_class(1, 1, hose(450));
    fluid.open(1, 0, 1);
    fluid.run(Time::from_millis(100));
    fluid.pairs[0].demand = 0.0;
    fluid.run(Time::from_millis(200));
    let timers = fluid.timers;
    fluid.run(Time::from_millis(1_000));
    assert_eq!(fluid.timers, timers);
    fluid.pairs[0].demand = f64::INFINITY;
    fluid.run(Time::from_millis(1));
    assert_near(guarantee(&fluid, 0), 450.0, 0.001);
    fluid.run(Time::from_millis(100));
    assert!(fluid.run(Time::from_millis(100))[0] > 0.45 && fluid.timers > timers);
}

#[test]
fn lost_bytes_are_congestion_like_marked_ones_and_reported_once_a_period() {
    let mut fluid = network(2, 8);
    fluid.set_class(1, 1, hose(450));
    fluid.open(1, 0, 1);
    fluid.run(Time::from_millis(5));
    for arrivals in [
        Arrivals { lost: Bytes::new(1_500), ..Arrivals::default() },
        Arrivals { marked: Bytes::new(1_500), bytes: Bytes::new(1_500), ..Arrivals::default() },
    ] {
        let host = &mut fluid.hosts[1];
        let mut congested = 0;
        let mut handle = |host: &mut ElasticSwitch, now, input: HostInput<'_, Message, Timer>| {
            host.on(now, input, &mut |action| {
                congested += usize::from(matches!(done(action), fluid::HostRecord::Send(_, Message::Congested)));
            });
        };
        let now = Time::from_millis(10);
        for _ in 0..3 {
            handle(host, now, HostInput::Received { pair: Incoming(0), arrivals });
        }
        handle(host, now, HostInput::Timer(Timer::Rates));
        handle(host, now, HostInput::Timer(Timer::Rates));
        assert_eq!(congested, 1);
    }
}

/// Nothing panics, and no rate is above the line.
#[test]
fn no_input_in_any_order_causes_a_panic_or_a_rate_above_the_line() {
    for seed in 0..300 {
        let mut random = SplitMix::new(seed);
        let mut layer = ElasticSwitch::new(LINE, Params::default());
        let mut now = Time::ZERO;
        for _ in 0..400 {
            now += Time::from_micros(u64::from(random.below(20_000)));
            let message = |random: &mut SplitMix| match random.below(3) {
                0 => Message::Offer { part: random_rate(random), demand: random_rate(random) },
                1 => Message::Grant { part: random_rate(random) },
                _ => Message::Congested,
            };
            let timer = |random: &mut SplitMix| [Timer::Partition, Timer::Rates][random.below(2) as usize];
            layer.on(now, random_input(&mut random, message, timer), &mut |action| {
                if let fluid::HostRecord::Bucket(wayleave_scheme_api::Limiter::Pair(_), Some(bucket)) = done(action) {
                    assert!(bucket.rate <= LINE, "seed {seed}: {bucket:?}");
                }
            });
        }
    }
}
