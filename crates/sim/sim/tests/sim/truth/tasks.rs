//! Flows that follow others, and flows in turn, against times computed by hand.

use wayleave_scenarios::{
    DependentFlows, FlowArrivals, FlowEndpoints, FlowSizes, Onward, Reliable, Scenario, ScenarioError, Traffic,
    TrafficError, Workload,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::networks::{SEGMENT, Star, finished, fixed_window, run, star};

/// A full segment on one link of 10 Gbit/s, in ps, without propagation.
const HOP: u64 = 1_230_400;

fn follows(name: &str, before: &str, from: Vec<NodeId>, to: Vec<NodeId>, onward: Onward) -> Traffic {
    let arrivals = FlowArrivals::After(DependentFlows { traffic: before.to_owned(), to: onward });
    Traffic::new(name, FlowEndpoints::Random(from, to), Workload::Flows(Reliable::new(arrivals, None)))
}

/// The first host writes one segment to the second every 100 us.
fn writes(star: &Star, milliseconds: u64) -> Scenario {
    let mut scenario = Scenario::new("tasks", star.network.clone(), Time::from_micros(milliseconds * 1_000 - 50));
    scenario.transport = fixed_window(100);
    let ends = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[1])]);
    let sizes = FlowSizes::Fixed(Bytes::new(SEGMENT));
    scenario.traffic = vec![Traffic::flows("write", ends, FlowArrivals::Every(Time::from_micros(100)), sizes)];
    scenario
}

/// Catches: tasks that are lost, that count each flow for itself, or from another beginning. A segment takes two hops; three copies leave the second host
/// one after the other; the answer of each goes back.
#[test]
fn follow_up_flows_begin_and_end_with_the_completion_of_their_predecessors() {
    let star = star(&[Rate::from_gbit(10); 5], 0);
    let mut scenario = writes(&star, 10);
    let (block, chunks) = (vec![star.hosts[1]], star.hosts[2..].to_vec());
    scenario.traffic.push(follows("copy", "write", block.clone(), chunks.clone(), Onward::Drawn(3)));
    scenario.traffic.push(follows("confirm", "copy", chunks, block, Onward::Sender));
    let outcome = run(&scenario, 1);
    assert_eq!(outcome.traffic.iter().map(|traffic| traffic.begun).collect::<Vec<_>>(), [100, 100, 300]);
    assert_eq!([0, 1, 2].map(|traffic| finished(&outcome, traffic)), [100, 100, 300]);
    let task = |traffic: usize| {
        let times = outcome.traffic[traffic].completions.times();
        (times.min().unwrap(), times.max().unwrap())
    };
    let near = |found: u64, hops: u64| found.abs_diff(hops * HOP) <= hops * HOP / 20;
    // The first copy is complete two hops after the write, the third one two segments later.
    assert!(near(task(1).0, 4) && near(task(1).1, 4), "{:?}", task(1));
    // The same for the whole since the write began, and the confirmation of the last copy has two hops more.
    let chains = [1, 2].map(|traffic| outcome.traffic[traffic].chains.max().unwrap());
    assert!(near(chains[0], 6) && near(chains[1], 8), "{chains:?}");
    // Nothing else is large: the three copies share their sender's port with acknowledgements only.
    let slowdowns = &outcome.traffic[1].completions.all().slowdowns;
    assert!(slowdowns.min() >= Some(1_000) && slowdowns.max() <= Some(1_030), "{:?}", slowdowns.max());
    assert_eq!(outcome.traffic[1].completions.all().bytes, 100 * 3 * u128::from(SEGMENT), "as long as the flow before");
    assert_eq!(outcome.traffic[0].chains.count(), 0, "a write follows nothing");
}

/// Catches: receivers that are drawn once, twice in one task, or unevenly.
#[test]
fn receivers_are_drawn_each_time_and_are_all_different() {
    let star = star(&[Rate::from_gbit(10); 6], 0);
    let mut scenario = writes(&star, 100);
    let (block, chunks) = (vec![star.hosts[1]], star.hosts[2..].to_vec());
    scenario.traffic.push(follows("copy", "write", block, chunks, Onward::Drawn(2)));
    let outcome = run(&scenario, 1);
    for host in 2..6 {
        let received = outcome.links.iter().find(|link| link.link == star.down[host]).unwrap().sent.get() / 1_538;
        // 1,000 tasks of two copies for four hosts: 500 each, with a standard deviation of 16.
        assert!((420..=580).contains(&received), "host {host} receives {received}");
    }
    // Two copies of a task for one host would make its task two segments longer than the others.
    let times = outcome.traffic[1].completions.times();
    assert!(times.max().unwrap() < 3 * HOP + HOP / 4, "{:?}", times.max());
}

/// Catches: senders that share one clock, one receiver for ever, rounds at the same time.
#[test]
fn periodic_flows_keep_their_period_and_draw_their_receivers() {
    let star = star(&[Rate::from_gbit(10); 6], 1_000);
    let mut scenario = Scenario::new("periodic", star.network.clone(), Time::from_millis(32));
    let ends = FlowEndpoints::Random(star.hosts[..2].to_vec(), star.hosts[2..].to_vec());
    let sizes = FlowSizes::Fixed(Bytes::new(1_000));
    scenario.traffic = vec![Traffic::flows("write", ends, FlowArrivals::Periodic(Time::from_micros(320)), sizes)];
    let outcome = run(&scenario, 1);
    assert_eq!(outcome.traffic[0].begun, 200, "two senders, a hundred periods");
    let received = |host: usize| {
        let down = star.down[host];
        outcome.links.iter().find(|link| link.link == down).unwrap().sent.get() / 1_078
    };
    for host in 2..6 {
        // 50 of 200 with a standard deviation of 6.
        assert!((25..=75).contains(&received(host)), "host {host} receives {}", received(host));
    }
    let period = FlowArrivals::Periodic(Time::from_millis(1));
    let pairs = FlowEndpoints::Pairs(vec![(star.hosts[0], star.hosts[2]), (star.hosts[0], star.hosts[3])]);
    scenario.traffic = vec![Traffic::flows("pairs", pairs, period, FlowSizes::Fixed(Bytes::new(1_000)))];
    assert_eq!(run(&scenario, 1).traffic[0].begun, 64, "every pair for itself");
}

/// Catches: tasks that continue after the end of their traffic.
#[test]
fn no_flow_follows_after_the_stop_time() {
    let star = star(&[Rate::from_gbit(10); 3], 0);
    let mut scenario = writes(&star, 10);
    let mut copy = follows("copy", "write", vec![star.hosts[1]], vec![star.hosts[2]], Onward::Drawn(1));
    copy.stop = Some(Time::from_millis(5));
    scenario.traffic.push(copy);
    assert_eq!(run(&scenario, 1).traffic[1].begun, 50);
}

/// Catches: chains that cannot be followed, which would end silently.
#[test]
fn chains_that_cannot_be_followed_are_refused() {
    let star = star(&[Rate::from_gbit(10); 4], 0);
    let (block, chunks) = (vec![star.hosts[1]], star.hosts[2..].to_vec());
    let refused = |copy: Traffic, write: Option<FlowArrivals>| {
        let mut scenario = writes(&star, 10);
        if let (Some(arrivals), Workload::Flows(reliable)) = (write, &mut scenario.traffic[0].workload) {
            (reliable.arrivals, reliable.sizes) = (arrivals, None);
        }
        scenario.traffic.push(copy);
        match scenario.validate().unwrap_err() {
            ScenarioError::Traffic { error, .. } => *error,
            other => panic!("{other:?}"),
        }
    };
    let copy = |before: &str, from: &[NodeId], onward| follows("copy", before, from.to_vec(), chunks.clone(), onward);
    assert!(
        matches!(refused(copy("writes", &block, Onward::Drawn(1)), None), TrafficError::FollowsNothing { known, .. } if known == ["write"])
    );
    assert!(matches!(refused(copy("copy", &block, Onward::Drawn(1)), None), TrafficError::FollowsNothing { .. }));
    assert!(matches!(
        refused(copy("write", &block, Onward::Drawn(1)), Some(FlowArrivals::Once)),
        TrafficError::FollowsNoEnd { .. }
    ));
    assert!(matches!(
        refused(copy("write", &chunks, Onward::Drawn(1)), None),
        TrafficError::FollowsUnrelated { key: "from", .. }
    ));
    assert!(matches!(
        refused(copy("write", &block, Onward::Sender), None),
        TrafficError::FollowsUnrelated { key: "to", .. }
    ));
    assert!(matches!(
        refused(copy("write", &block, Onward::Drawn(3)), None),
        TrafficError::TooFewReceivers { receivers: 2, wanted: 3, .. }
    ));
    assert!(matches!(refused(copy("write", &block, Onward::Drawn(0)), None), TrafficError::Zero { .. }));
    let pairs = Traffic {
        ends: FlowEndpoints::from(FlowEndpoints::Pairs(vec![(block[0], chunks[0])])),
        ..copy("write", &block, Onward::Drawn(1))
    };
    assert!(matches!(refused(pairs, None), TrafficError::FollowsPairs));
}
