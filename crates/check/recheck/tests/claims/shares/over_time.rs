//! Shares beside latency flows that are not gone yet. All on a star of two hosts at 10 Gbit/s.

use std::collections::BTreeSet;

use wayleave_recheck::{
    BrokenAt, BrokenShare, HoseCharge, PromisedShare, RouteLifetime, ShareLifetime, ShareTerms, ShareTransitions,
    check_share_transitions,
};
use wayleave_topology::Network;
use wayleave_units::{Rate, Time};

use super::hand::{built, hose, pair, route, scene};
use super::scene::flow;

/// A latency flow of 4 Gbit/s over h1->s1->h2, which leaves 3.06 Gbit/s. Its bound is 2 x 20 us for queues and 2 x 0.5 us for propagation.
fn latency(network: &Network, until: Option<u64>) -> RouteLifetime {
    let mut on = route(network, &["h1->s1", "s1->h2"]);
    on.hops.iter_mut().for_each(|hop| hop.queue = 0);
    let flow = flow("latency", network, on, Rate::from_gbit(4));
    RouteLifetime { flow, from: Time::ZERO, until: until.map(Time::from_nanos), previous: None }
}

fn stay(share: PromisedShare, from: u64, until: Option<u64>) -> ShareLifetime {
    ShareLifetime { share, from: Time::from_nanos(from), until: until.map(Time::from_nanos) }
}

fn check(network: &Network, flows: &[RouteLifetime], shares: &[ShareLifetime]) -> ShareTransitions {
    let scene = scene(network.clone(), Vec::new());
    let closed = BTreeSet::new();
    let terms = ShareTerms { classes: network.classes().unwrap(), closed: &closed, times: &scene.times };
    check_share_transitions(&scene.claim(), &terms, flows, shares, &mut |_, _| {})
}

fn star() -> Network {
    built(&[("h1", "s1"), ("h2", "s1")])
}

fn five(network: &Network) -> PromisedShare {
    pair(network, 5_000, &["h1->s1", "s1->h2"])
}

/// The flow has stopped at 1 ms, and its last packet has left 41 us later: 5 Gbit/s fit then, and not a nanosecond earlier.
#[test]
fn a_share_that_starts_while_a_moved_flow_is_still_on_its_link_is_found() {
    let network = star();
    let at = |from| check(&network, &[latency(&network, Some(1_000_000))], &[stay(five(&network), from, None)]);
    let early = at(1_040_999);
    let texts: Vec<String> = early.broken.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "both links: {texts:?}");
    assert_eq!(
        texts[0],
        "from 1.040999 ms on, the guaranteed class of h1->s1 has 5 Gbit/s reserved, above the limit of 3.06 Gbit/s, \
         with share beside packets of latency"
    );
    assert_eq!(at(1_041_000).broken, []);
    // Shares that fit together may start at once.
    let three = PromisedShare { min: Rate::from_mbit(3_060), ..five(&network) };
    assert_eq!(check(&network, &[latency(&network, Some(1_000_000))], &[stay(three, 0, None)]).broken, []);
}

/// Two weights of 2 Gbit/s, or two minima of 5, one of which has ended for good before anybody looks.
#[test]
fn a_temporary_overload_is_found() {
    let network = star();
    let two = [stay(five(&network), 0, Some(5_000_000)), stay(five(&network), 1_000_000, None)];
    let found = check(&network, &[], &two);
    let at: Vec<Time> = found.broken.iter().map(|one| one.at).collect();
    assert_eq!(at, [Time::from_millis(1); 2]);
    assert!(matches!(&found.broken[0].broken, BrokenShare::Class { promised: 10_000_000_000, .. }));
    assert_eq!(found.broken[0].shares, ["share", "share"]);
}

/// A minimum with a time has left after T = 2 (2 x 1.2 + 2 x 0.5) = 6.8 us and 2 budgets of 500 us.
#[test]
fn a_minimum_with_a_delay_bound_is_held_for_its_budgets() {
    let network = star();
    let timed = PromisedShare { there_within: Some(Time::from_millis(10)), ..five(&network) };
    let next = |from| {
        let stays = [stay(timed.clone(), 0, Some(1_000_000)), stay(five(&network), from, None)];
        check(&network, &[], &stays).broken.len()
    };
    assert_eq!((next(2_006_799), next(2_006_800)), (2, 0));
    // A latency flow that starts is held against it as well.
    let flows = |from| {
        let flow = RouteLifetime { from: Time::from_nanos(from), ..latency(&network, None) };
        check(&network, &[flow], &[stay(timed.clone(), 0, Some(1_000_000))]).broken
    };
    assert_eq!(flows(2_006_800), []);
    let broken: Vec<BrokenAt> = flows(2_006_799);
    assert!(broken.iter().all(|one| one.at == Time::from_nanos(2_006_799) && one.flows == ["latency"]), "{broken:?}");
}

/// Without a time, its bytes in flight drain: d = 36,087 ns at each of two links (computed in `hand.rs`, for one pair).
#[test]
fn a_minimum_without_a_delay_bound_is_held_until_its_bytes_in_flight_drain() {
    let network = star();
    let next = |from| {
        let stays = [stay(five(&network), 0, Some(1_000_000)), stay(five(&network), from, None)];
        check(&network, &[], &stays).broken.len()
    };
    let gone = 1_000_000 + 6_800 + 2 * 36_087;
    assert_eq!((next(gone - 1), next(gone)), (2, 0));
}

/// d is 36,087 ns for one pair without latency contracts; 4 Gbit/s that are still there make it longer than a budget of 50 us.
#[test]
fn delay_bounds_hold_while_flows_are_leaving() {
    let network = star();
    let little = PromisedShare { min: Rate::from_mbit(1), there_within: Some(Time::from_millis(10)), ..five(&network) };
    let found = |from| {
        let mut scene = scene(network.clone(), Vec::new());
        scene.times.budgets.fill(Time::from_micros(50));
        let closed = BTreeSet::new();
        let terms = ShareTerms { classes: network.classes().unwrap(), closed: &closed, times: &scene.times };
        let (flows, shares) = ([latency(&network, Some(1_000_000))], [stay(little.clone(), from, None)]);
        check_share_transitions(&scene.claim(), &terms, &flows, &shares, &mut |_, _| {}).broken
    };
    assert_eq!(found(1_041_000), []);
    let broken = found(1_040_999);
    assert!(matches!(broken[..], [BrokenAt { broken: BrokenShare::Wait { .. }, .. }, _]), "{broken:?}");
}

#[test]
fn hoses_over_bundles_of_links_are_checked_over_time_too() {
    let cables = [("h1", "s1"), ("h2", "s2"), ("s1", "s3"), ("s2", "s3"), ("s1", "s4"), ("s2", "s4")];
    let network = built(&cables);
    // 10 evenly are 5 on each spine, and 10 on the hosts' links.
    let one = hose(&network, 5_000, HoseCharge::EveryPath, &["h1", "h2"]);
    let later = PromisedShare { name: "later".into(), ..one.clone() };
    let found = check(&network, &[], &[stay(one, 0, Some(10)), stay(later, 5, None)]);
    assert_eq!(found.broken.len(), 12, "{:?}", found.broken);
    let apart = hose(&built(&cables), 5_000, HoseCharge::EveryPath, &["h1", "h2"]);
    assert_eq!(check(&network, &[], &[stay(apart, 0, Some(10))]).broken, []);
}
