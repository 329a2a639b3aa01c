//! Former errors of searches over random networks, each on the smallest case that shows it.

use std::sync::Arc;

use wayleave_contracts::WireOverhead;
use wayleave_ledger::{BestEffort, Ledger, Model, Shaping};
use wayleave_scheme_api::{Admission, Refusal, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params, Rerouting};
use wayleave_schemes::admission::silo::{self, Silo};
use wayleave_schemes::costs::Cost;
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::{Hop, LinkId, LinkSpec, Network, NetworkBuilder, NodeKind, PortQueue, PortSpec, Route};
use wayleave_units::{Amount, Bytes, Rate, Time};

/// From, to, propagation in us, budgets in us, MTU, Mbit/s. Names that begin with `h` are hosts.
type Cable<'a> = (&'a str, &'a str, u64, &'a [u64], u64, u64);

fn network(links: &[Cable<'_>]) -> Arc<Network> {
    let mut builder = NetworkBuilder::default();
    for &(from, to, us, budgets, mtu, mbit) in links {
        let [from, to] = [from, to].map(|name| {
            let kind = if name.starts_with('h') { NodeKind::Host } else { NodeKind::Switch };
            builder.find_node(name).unwrap_or_else(|| builder.add_node(name, kind).unwrap())
        });
        let queue = |&us: &u64| PortQueue { buffer: Bytes::new(400_000), budget: Some(Time::from_micros(us)) };
        let port = PortSpec { queues: budgets.iter().map(queue).collect() };
        let (rate, propagation, mtu) = (Rate::from_mbit(mbit), Time::from_micros(us), Bytes::new(mtu));
        builder.add_link(LinkSpec { from, to, rate, propagation, mtu, port }).unwrap();
    }
    Arc::new(builder.build())
}

/// With all queues for contracts.
fn model() -> Model {
    Model::default().with_best_effort(BestEffort::Dropped)
}

fn chameleon(network: &Arc<Network>, model: Model, params: Params) -> Chameleon {
    Chameleon::new(network.clone(), model, params).unwrap()
}

fn request(network: &Network, from: &str, to: &str, burst: u64) -> Request {
    Request {
        from: network.find_node(from).unwrap(),
        to: network.find_node(to).unwrap(),
        rate: Rate::from_mbit(1),
        burst: Bytes::new(burst),
        deadline: Time::from_millis(10),
        max_frame: None,
        route: None,
        protection: 1,
    }
}

#[test]
fn least_delay_keeps_large_frames_off_the_first_link() {
    let network = network(&[("h1", "s1", 0, &[500], 1500, 1000), ("s1", "h2", 0, &[500], 9000, 1000)]);
    let mut scheme = chameleon(&network, model(), Params::default());
    let frame = Bytes::new(9000);
    let jumbo = Request { max_frame: Some(frame), ..request(&network, "h1", "h2", 10_000) };
    assert_eq!(scheme.admit(&jumbo), Err(Refusal::FrameTooLarge { frame }));
}

struct OfQueue([u64; 3]);
impl Cost for OfQueue {
    fn of(&self, _: &Ledger, _: LinkId, queue: u8, _: Amount) -> u64 {
        self.0[usize::from(queue)]
    }
}

#[test]
fn least_cost_finds_a_slow_cheap_queue_behind_one_that_denies_access() {
    // The first queue of s1->s2 is too fast for this burst; the other two have room, and the slower one is cheaper.
    let network = network(&[
        ("h1", "s1", 0, &[500], 1500, 10_000),
        ("s1", "s2", 0, &[30, 500, 1000], 1500, 1000),
        ("s2", "h2", 0, &[500], 1500, 1000),
    ]);
    let mut scheme = chameleon(&network, model(), Params::default());
    let query = RouteQuery::of(&request(&network, "h1", "h2", 10_000));
    let cost = OfQueue([3, 5, 4]);
    let found = scheme.placement_mut().least_cost(&query, &cost, &[]).unwrap();
    assert_eq!(found.route.hops[1].queue, 2);
}

#[test]
fn least_delay_finds_the_longer_path_with_less_queueing() {
    // Two links from s1 to s2: the first has the longer queue, the second the longer cable. A flow that has waited in
    // the first has too large a burst for s3->h2; a flow over the second arrives later, and has not.
    let links: &[Cable<'_>] = &[
        ("h1", "s1", 0, &[100], 1500, 1000),
        ("s1", "s2", 0, &[1000], 1500, 1000),
        ("s1", "s2", 2000, &[100], 1500, 1000),
        ("s2", "s3", 0, &[100], 1500, 10_000),
        ("s3", "h2", 0, &[100], 1500, 1000),
    ];
    let network = network(links);
    let mut scheme = chameleon(&network, model().with_shaping(Shaping::Off), Params::default());
    let wanted = Request { rate: Rate::from_mbit(100), ..request(&network, "h1", "h2", 100) };
    // 9,376 B fit into 0.1 ms behind two frames: 100 B have become 3,850 B over the cable, 15,100 B through the queue.
    let link = |name| network.find_link(name).unwrap();
    let hops = [link("h1->s1"), link("s1->s2#2"), link("s2->s3"), link("s3->h2")].map(|link| Hop { link, queue: 0 });
    let cable = Route { hops: hops.to_vec() };
    assert!(scheme.placement().check(&RouteQuery::of(&wanted), &cable).is_ok());
    assert_eq!(scheme.admit(&wanted).map(|decision| decision.route), Ok(cable));
}

#[test]
fn no_refusal_claims_that_a_route_in_time_is_too_slow() {
    // As above, but in an empty network the second path is equally short: its queue of 20 us admits no flow.
    let links: &[Cable<'_>] = &[
        ("h1", "s1", 0, &[100], 1500, 1000),
        ("s1", "s2", 1020, &[1000], 1500, 1000),
        ("s1", "s2", 2000, &[20, 100], 1500, 1000),
        ("s2", "s3", 0, &[100], 1500, 10_000),
        ("s3", "h2", 0, &[100], 1500, 1000),
    ];
    let network = network(links);
    let mut scheme = chameleon(&network, model().with_shaping(Shaping::Off), Params::default());
    let wanted = Request { rate: Rate::from_mbit(100), ..request(&network, "h1", "h2", 100) };
    let refusal = scheme.admit(&wanted);
    assert!(!matches!(refusal, Err(Refusal::TooSlow { bound, deadline, .. }) if bound <= deadline), "{refusal:?}");
}

fn ring() -> Arc<Network> {
    network(&[
        ("h1", "s1", 0, &[100], 1500, 1000),
        ("s1", "s2", 0, &[5000], 1500, 1000),
        ("s1", "s3", 0, &[100], 1500, 1000),
        ("s3", "s4", 0, &[100], 1500, 1000),
        ("s4", "s2", 0, &[100], 1500, 1000),
        ("s2", "h2", 0, &[100], 1500, 1000),
    ])
}

#[test]
fn no_refusal_claims_that_the_fastest_path_is_too_slow_if_it_has_too_many_hops() {
    let network = ring();
    // The short path takes 5.2 ms, the fast one passes four switches.
    let tags = model().with_overhead(WireOverhead::Counted { tags: 2 });
    let mut scheme = chameleon(&network, tags, Params::default());
    let wanted = Request { deadline: Time::from_millis(2), ..request(&network, "h1", "h2", 100) };
    let refusal = scheme.admit(&wanted).unwrap_err();
    assert!(!matches!(refusal, Refusal::Deadline { fastest, deadline, .. } if fastest <= deadline), "{refusal:?}");
}

#[test]
fn no_refusal_claims_that_a_frame_is_too_large_for_links_that_carry_it() {
    let network = ring();
    let tags = model().with_overhead(WireOverhead::Counted { tags: 2 });
    let mut scheme = chameleon(&network, tags, Params::default());
    let wanted = Request {
        deadline: Time::from_millis(2),
        max_frame: Some(Bytes::new(100)),
        ..request(&network, "h1", "h2", 100)
    };
    let refusal = scheme.admit(&wanted).unwrap_err();
    assert!(!matches!(refusal, Refusal::FrameTooLarge { .. }), "{refusal:?}");
}

/// Returns a network with two paths from a to b, over c and over d; hosts with fast links.
fn two_paths() -> Arc<Network> {
    let mut links: Vec<Cable<'_>> = Vec::new();
    for (host, switch) in [("h1", "a"), ("h2", "a"), ("h3", "b"), ("h4", "b")] {
        links.push((host, switch, 0, &[500], 1500, 10_000));
        links.push((switch, host, 0, &[500, 2000], 1500, 10_000));
    }
    for (from, to) in [("a", "c"), ("c", "b"), ("a", "d"), ("d", "b")] {
        links.push((from, to, 0, &[2000], 1500, 1000));
    }
    // Only c leads to h5.
    links.push(("c", "h5", 0, &[2000], 1500, 1000));
    network(&links)
}

#[test]
fn a_flow_with_a_pinned_route_is_not_moved() {
    let network = two_paths();
    let params = Params { rerouting: Some(Rerouting::default()), ..Params::default() };
    let mut scheme = chameleon(&network, model(), params);
    let link = |name| Hop { link: network.find_link(name).unwrap(), queue: 0 };
    let pinned = Route { hops: ["h1->a", "a->c", "c->b", "b->h3"].map(link).to_vec() };
    let first =
        Request { rate: Rate::from_mbit(600), route: Some(pinned.clone()), ..request(&network, "h1", "h3", 1500) };
    let first = scheme.admit(&first).unwrap();
    // Has to pass a->c, too.
    let outcome = scheme.admit(&Request { rate: Rate::from_mbit(600), ..request(&network, "h2", "h5", 1500) });
    let now = &scheme.placement().ledger().flow(first.flow).unwrap().route;
    assert_eq!(*now, pinned, "{outcome:?}");
}

#[test]
fn a_changed_flow_is_not_listed_among_moved_flows() {
    let network = two_paths();
    let params = Params { rerouting: Some(Rerouting::default()), ..Params::default() };
    let mut scheme = chameleon(&network, model(), params);
    let heavy = |from, to| Request { rate: Rate::from_mbit(600), ..request(&network, from, to, 1500) };
    // Over c or over d; what comes next has to pass a->c.
    let first = scheme.admit(&heavy("h1", "h3")).unwrap();
    let second = scheme.admit(&heavy("h1", "h3")).unwrap();
    let is_over_c = first.route.hops[1].link == network.find_link("a->c").unwrap();
    let (flow, other) = if is_over_c { (first.flow, second.flow) } else { (second.flow, first.flow) };
    scheme.release(other);
    let decision = scheme.change(flow, &heavy("h1", "h5")).unwrap().unwrap();
    assert!(decision.moved.iter().all(|moved| moved.flow != flow), "{decision:?}");
}

#[test]
fn silo_keeps_the_budget_that_the_topology_fixes() {
    let network = network(&[("h1", "s1", 0, &[200], 1500, 1000), ("s1", "h2", 0, &[300], 1500, 1000)]);
    let silo = Silo::new(network.clone(), model(), silo::Params::default()).unwrap();
    let budgets: Vec<Time> = network.links().flat_map(|(link, _)| silo.placement().ledger().budgets(link)).collect();
    assert_eq!(budgets, [200, 300].map(Time::from_micros));
}
