//! Every kind of violation is found when a sound claim is made wrong by the smallest step.

use wayleave_recheck::{BrokenPromise, Claim, ClaimedQueue, RouteFault, check};
use wayleave_topology::{Hop, LinkId, LinkSpec, Network, NetworkBuilder, NodeId, NodeKind, PortSpec, RouteError};
use wayleave_units::{Bytes, Rate, Time};

use crate::build::{Star, claim, downlink, sender, uplink, with_derived_figures};

/// Two uplinks whose flows meet in two queues of the downlink, with every figure claimed exactly.
fn sound(network: &Network) -> Claim<'_> {
    with_derived_figures(claim(network, &[sender(0, 0, 80, 5000), sender(1, 0, 80, 5000), sender(1, 1, 30, 900)]))
}

/// Changes a sound claim and returns the one violation that follows, with its text.
fn only_violation(change: impl FnOnce(&mut Claim<'_>)) -> (BrokenPromise, String) {
    let network = Star::gigabit(2).build();
    let mut claim = sound(&network);
    assert!(check(&claim).is_sound());
    change(&mut claim);
    let mut violations = check(&claim).violations;
    assert_eq!(violations.len(), 1, "{violations:?}");
    let violation = violations.remove(0);
    let text = violation.to_string();
    (violation, text)
}

#[test]
fn a_bound_that_is_one_nanosecond_too_low_is_found() {
    let (violation, text) = only_violation(|claim| claim.flows[1].promised_bound = Time::from_nanos(5_099_999));
    assert!(matches!(violation, BrokenPromise::PromisedBound { bound_ns: 5_100_000, .. }));
    assert_eq!(text, "flow \"f1\" was guaranteed 5.099999 ms, below its bound of 5.1 ms");
}

#[test]
fn a_bound_that_is_one_nanosecond_too_high_is_found_where_claims_are_exact() {
    let high = Time::from_nanos(5_100_001);
    let (_, text) = only_violation(|claim| claim.flows[1].promised_bound = high);
    assert_eq!(text, "flow \"f1\" was guaranteed 5.100001 ms, above its bound of 5.1 ms");

    let network = Star::gigabit(2).build();
    let mut claim = sound(&network);
    claim.flows[1].promised_bound = high;
    claim.exact_claims = false;
    assert!(check(&claim).is_sound());
}

#[test]
fn a_deadline_that_is_one_nanosecond_too_short_is_found() {
    let network = Star::gigabit(2).build();
    let mut exact = sound(&network);
    exact.flows[0].deadline = exact.flows[0].promised_bound;
    assert!(check(&exact).is_sound());
    let (violation, text) = only_violation(|claim| claim.flows[0].deadline = Time::from_nanos(5_099_999));
    assert!(matches!(violation, BrokenPromise::Deadline { .. }));
    assert_eq!(text, "flow \"f0\" has a bound of 5.1 ms, above its deadline of 5.099999 ms");
}

#[test]
fn a_budget_that_is_one_nanosecond_too_small_is_found() {
    let network = Star::gigabit(2).build();
    let mut claim = sound(&network);
    let down = downlink(&network).index();
    // Queue 0 delays by 1728000/23 = 75130.43 ns (hand_computed.rs); a budget is in whole nanoseconds.
    claim.budgets[down][0] = Time::from_nanos(75_131);
    let claim = with_derived_figures(claim);
    assert!(check(&claim).is_sound(), "{}", check(&claim));

    let mut claim = claim.clone();
    claim.budgets[down][0] = Time::from_nanos(75_130);
    let claim = with_derived_figures(claim);
    let violations = check(&claim).violations;
    assert!(matches!(violations[..], [BrokenPromise::Budget { queue: 0, .. }]), "{violations:?}");
    assert_eq!(
        violations[0].to_string(),
        "queue 0 of s->d has a worst-case delay of 75.131 us, above its budget of 75.13 us"
    );
}

#[test]
fn a_budget_met_exactly_is_kept_and_one_nanosecond_less_is_not() {
    let network = Star::gigabit(1).build();
    let mut claim = claim(&network, &[sender(0, 0, 100, 3000)]);
    claim.budgets[uplink(&network, 0).index()][0] = Time::from_nanos(36_000);
    let claim = with_derived_figures(claim);
    assert!(check(&claim).is_sound());
    let mut claim = claim.clone();
    claim.budgets[uplink(&network, 0).index()][0] = Time::from_nanos(35_999);
    let claim = with_derived_figures(claim);
    assert!(matches!(check(&claim).violations[..], [BrokenPromise::Budget { .. }]));
}

/// One uplink whose queue has this buffer.
fn with_buffer(buffer: u64) -> Network {
    let mut builder = NetworkBuilder::default();
    let host = builder.add_node("h0", NodeKind::Host).unwrap();
    let switch = builder.add_node("s", NodeKind::Switch).unwrap();
    let sink = builder.add_node("d", NodeKind::Host).unwrap();
    for (from, to, buffer) in [(host, switch, buffer), (switch, sink, 1_000_000)] {
        let port = PortSpec::uniform(3, Bytes::new(buffer));
        let (rate, propagation, mtu) = (Rate::from_gbit(1), Time::ZERO, Bytes::new(1500));
        builder.add_link(LinkSpec { from, to, rate, propagation, mtu, port }).unwrap();
    }
    builder.build()
}

#[test]
fn a_buffer_that_is_one_byte_too_small_is_found() {
    // The backlog is 3150 B (hand_computed.rs).
    let flow = [sender(0, 0, 100, 3000)];
    assert!(check(&claim(&with_buffer(3150), &flow)).is_sound());
    let violations = check(&claim(&with_buffer(3149), &flow)).violations;
    assert!(matches!(violations[..], [BrokenPromise::Buffer { .. }]), "{violations:?}");
    assert_eq!(
        violations[0].to_string(),
        "queue 0 of h0->s has a worst-case backlog of 3.15 kB, above its buffer of 3.149 kB"
    );
}

#[test]
fn a_claimed_delay_or_backlog_that_is_off_by_one_is_found_in_either_direction() {
    let shift = |figure: u64, up: bool| if up { figure + 1 } else { figure - 1 };
    for up in [true, false] {
        let side = if up { "above" } else { "below" };
        let (violation, text) = only_violation(|claim| {
            let delay = &mut claim.claimed_queues[0].delay;
            *delay = Time::from_nanos(shift(delay.as_nanos(), up));
        });
        assert!(matches!(violation, BrokenPromise::ClaimedDelay { .. }));
        assert!(text.contains(side), "{text}");
        let (violation, text) = only_violation(|claim| {
            let backlog = &mut claim.claimed_queues[1].backlog;
            *backlog = Bytes::new(shift(backlog.get(), up));
        });
        assert!(matches!(violation, BrokenPromise::ClaimedBacklog { .. }));
        assert!(text.contains(side), "{text}");
    }
}

#[test]
fn larger_figures_are_accepted_unless_claims_are_exact() {
    let network = Star::gigabit(2).build();
    let mut claim = sound(&network);
    claim.exact_claims = false;
    for queue in &mut claim.claimed_queues {
        (queue.delay, queue.backlog) = (queue.delay + Time::from_millis(1), queue.backlog + Bytes::new(1));
    }
    assert!(check(&claim).is_sound());
}

#[test]
fn an_empty_lower_queue_has_no_delay_and_no_backlog() {
    let network = Star::gigabit(2).build();
    let mut claim = sound(&network);
    let empty = ClaimedQueue { link: downlink(&network), queue: 2, delay: Time::ZERO, backlog: Bytes::ZERO };
    claim.claimed_queues.push(empty);
    let report = check(&claim);
    assert!(report.is_sound());
    assert_eq!(report.queue(downlink(&network), 2), None);
    // Its latency term would be a claim too large.
    let (violation, _) = only_violation(|claim| {
        claim.claimed_queues.push(ClaimedQueue { delay: Time::from_micros(12), ..empty });
    });
    assert!(matches!(violation, BrokenPromise::ClaimedDelay { queue: 2, .. }));
}

#[test]
fn an_overbooked_link_is_found() {
    let network = Star::gigabit(1).build();
    let report = check(&claim(&network, &[sender(0, 0, 600, 100), sender(0, 1, 401, 100)]));
    let texts: Vec<_> = report.violations.iter().map(ToString::to_string).collect();
    assert!(texts.contains(&"h0->s has 1.001 Gbit/s reserved, above its rate of 1 Gbit/s".to_owned()), "{texts:?}");
    assert!(texts.iter().any(|text| text.contains("any amount")), "{texts:?}");
}

#[test]
fn a_queue_without_a_budget_is_found() {
    let network = Star::gigabit(2).build();
    let mut claim = sound(&network);
    claim.budgets[downlink(&network).index()].truncate(1);
    let violations = check(&claim).violations;
    assert!(matches!(&violations[0], BrokenPromise::NoBudget { flow, queue: 1, .. } if flow == "f2"), "{violations:?}");
    assert_eq!(violations[0].to_string(), "flow \"f2\" uses queue 1 of s->d, which has no delay budget");
}

/// A change to a sound claim whose first violation must be this fault of a route.
type Fault = (fn(&mut Claim<'_>), fn(&RouteFault) -> bool);

#[test]
fn every_fault_of_a_route_is_found() {
    let network = Star::gigabit(2).build();
    let faults: [Fault; 7] = [
        (|claim| claim.flows[0].route.hops.clear(), |fault| *fault == RouteFault::Hops(RouteError::Empty)),
        (|claim| claim.flows[0].route.hops.reverse(), |f| matches!(f, RouteFault::Hops(RouteError::Broken { .. }))),
        (
            |claim| claim.flows[0].route.hops.truncate(1),
            |fault| matches!(fault, RouteFault::Hops(RouteError::WrongEnd { .. })),
        ),
        (
            |claim| claim.flows[0].route.hops[1].queue = 3,
            |fault| matches!(fault, RouteFault::Hops(RouteError::NoQueue { .. })),
        ),
        (
            |claim| claim.flows[0].route.hops[1] = Hop { link: LinkId(99), queue: 0 },
            |fault| *fault == RouteFault::UnknownLink(99),
        ),
        (|claim| claim.flows[0].to = NodeId(99), |fault| *fault == RouteFault::UnknownNode(99)),
        (|claim| claim.flows[0].to = NodeId(0), |fault| *fault == RouteFault::EndIsSwitch("s".into())),
    ];
    for (index, (change, is_expected)) in faults.into_iter().enumerate() {
        let mut claim = sound(&network);
        change(&mut claim);
        let violations = check(&claim).violations;
        let BrokenPromise::Route { flow, fault } = &violations[0] else { panic!("{violations:?}") };
        assert_eq!(flow, "f0");
        assert!(is_expected(fault), "case {index}: {fault:?}");
        assert!(violations[0].to_string().starts_with("flow \"f0\" has no valid route: "));
    }
}

#[test]
#[should_panic(expected = "one entry per link")]
fn a_claim_of_the_wrong_shape_is_refused() {
    let network = Star::gigabit(1).build();
    let mut claim = claim(&network, &[]);
    claim.budgets.pop();
    check(&claim);
}

#[test]
fn a_report_states_how_much_was_checked_and_every_violation() {
    let network = Star::gigabit(2).build();
    let mut claim = sound(&network);
    assert_eq!(check(&claim).to_string(), "4 queues and 3 flows checked: everything holds");
    claim.flows[0].promised_bound = Time::ZERO;
    let text = check(&claim).to_string();
    assert_eq!(
        text,
        "4 queues and 3 flows checked: 1 violation\nflow \"f0\" was guaranteed 0 ns, below its bound of 5.1 ms"
    );
}

/// Returns the violations for two hosts with two paths between their switches, and two flows of one contract over
/// these nodes.
fn two_routes(one: &[&str], other: &[&str]) -> Vec<BrokenPromise> {
    let mut builder = NetworkBuilder::default();
    for name in ["h1", "h2", "sa", "sb", "sc", "sd"] {
        let kind = if name.starts_with('h') { NodeKind::Host } else { NodeKind::Switch };
        builder.add_node(name, kind).unwrap();
    }
    let pairs = [("h1", "sa"), ("sa", "sb"), ("sb", "sd"), ("sa", "sc"), ("sc", "sd"), ("sc", "sb"), ("sd", "h2")];
    for (from, to) in pairs {
        let [from, to] = [from, to].map(|name| builder.find_node(name).unwrap());
        let port = PortSpec::uniform(2, Bytes::new(500_000));
        let (rate, propagation, mtu) = (Rate::from_gbit(1), Time::ZERO, Bytes::new(1500));
        builder.add_cable(LinkSpec { from, to, rate, propagation, mtu, port: port.clone() }, port).unwrap();
    }
    let network = builder.build();
    let budget = Time::from_millis(1);
    let flow = |name: &str, nodes: &[&str]| {
        let hop = |pair: &[&str]| Hop { link: network.find_link(&pair.join("->")).unwrap(), queue: 0 };
        let route = wayleave_topology::Route { hops: nodes.windows(2).map(hop).collect() };
        let promised_bound = Time::from_millis(route.hops.len() as u64);
        wayleave_recheck::PromisedFlow {
            name: name.to_owned(),
            from: network.find_node("h1").unwrap(),
            to: network.find_node("h2").unwrap(),
            route,
            covered: 0,
            rate: Rate::from_mbit(1),
            burst: Bytes::new(1000),
            deadline: Time::from_millis(10),
            promised_bound,
        }
    };
    let links = network.links().len();
    let claim = Claim {
        network: &network,
        budgets: vec![vec![budget]; links],
        max_frame: vec![Bytes::new(1562); links],
        packetiser: wayleave_recheck::PacketiserTerm::Subtracted,
        jitter: wayleave_recheck::JitterTerm::Any,
        shaping: true,
        flows: vec![flow("a", one), flow("a, route 2", other)],
        disjoint: vec![vec![0, 1]],
        claimed_queues: Vec::new(),
        exact_claims: true,
    };
    check(&claim).violations
}

#[test]
fn needlessly_shared_elements_of_routes_are_found() {
    let over_b = ["h1", "sa", "sb", "sd", "h2"];
    assert_eq!(two_routes(&over_b, &["h1", "sa", "sc", "sd", "h2"]), []);
    let texts = |violations: Vec<BrokenPromise>| violations.iter().map(ToString::to_string).collect::<Vec<_>>();
    let shared = |what: &str| format!("flows \"a\" and \"a, route 2\" both pass {what}, but must be disjoint");
    let over_c_and_b = ["h1", "sa", "sc", "sb", "sd", "h2"];
    assert_eq!(texts(two_routes(&over_b, &over_c_and_b)), [shared("sb->sd"), shared("sb")]);
    assert_eq!(texts(two_routes(&over_b, &over_b)), [shared("sa->sb"), shared("sb->sd"), shared("sb")]);
}
