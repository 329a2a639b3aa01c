//! Jumbo frames: what they block is counted from the start, so that they may come last; and they go only where they fit.

use std::sync::Arc;

use crate::claims::common::wild::{self, Constants, Wild};
use crate::claims::common::{Dice, assert_sound};
use wayleave_ledger::{Model, QueueReport};
use wayleave_scheme_api::{Admission, Refusal, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Moves, Params, Rerouting, Routing};
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{
    Hop, HopDistances, LinkId, LinkSpec, Network, NetworkBuilder, NodeKind, PortQueue, PortSpec, Route,
};
use wayleave_units::{Bytes, Rate, Time};

/// On the wire, with six tags: 9000 B of payload and 14 + 4 + 20 + 24 B around them.
const JUMBO: Bytes = Bytes::new(9062);

fn request(network: &Network, from: &str, to: &str, burst: u64, frame: Bytes) -> Request {
    Request {
        from: network.find_node(from).unwrap(),
        to: network.find_node(to).unwrap(),
        rate: Rate::from_mbit(5),
        burst: Bytes::new(burst),
        deadline: Time::from_millis(200),
        max_frame: Some(frame),
        route: None,
        protection: 1,
    }
}

/// Every queue of every switch port above `lowest` that holds flows.
fn higher_queues(scheme: &Chameleon, lowest: u8) -> Vec<QueueReport> {
    let network = scheme.placement().network();
    let from_switch = network.links().filter(|(_, link)| network.node(link.from).kind == NodeKind::Switch);
    let reports = from_switch.flat_map(|(link, _)| scheme.placement().ledger().report(link));
    reports.filter(|report| report.queue < lowest && report.flows > 0).collect()
}

/// Adds a flow between random hosts on a random shortest route, in queues `from..to` on all hops.
fn on_queues(dice: &mut Dice, scheme: &mut Chameleon, queues: std::ops::Range<u8>, frame: Bytes) -> bool {
    let network = scheme.placement().network().clone();
    let mut wanted = Request { deadline: Time::from_millis(1000), ..wild::request(dice, &network, 50) };
    wanted.burst = Bytes::new(frame.get() + dice.between(0, 20_000));
    wanted.max_frame = Some(frame);
    let distances = HopDistances::to(&network, wanted.to);
    let mut route = Route::default();
    let mut at = wanted.from;
    while at != wanted.to {
        let is_closer = |link: &&LinkId| distances.from(network.link(**link).to) < distances.from(at);
        let closer: Vec<LinkId> = network.links_from(at).iter().filter(is_closer).copied().collect();
        let link = dice.pick(&closer);
        let queue = if at == wanted.from { 0 } else { queues.start + dice.index(queues.len()) as u8 };
        route.hops.push(Hop { link, queue });
        at = network.link(link).to;
    }
    scheme.admit(&Request { route: Some(route), ..wanted }).is_ok()
}

#[test]
fn jumbo_flows_admitted_last_delay_no_higher_queue() {
    const LOWEST: u8 = 4;
    let cabling = Cabling { rate: Rate::from_gbit(10), mtu: Bytes::new(9000), ..Cabling::default() };
    let network = Arc::new(build::fat_tree(&FatTree { cabling, ..FatTree::default() }).unwrap());
    for seed in 0..4 {
        println!("seed {seed}");
        let mut dice = Dice::new(seed);
        let mut scheme = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
        let (mut small, mut jumbo, mut full) = (0, 0, 0);
        // Until the upper queues are about full.
        while full < 100 {
            let is_admitted = on_queues(&mut dice, &mut scheme, 0..LOWEST, Bytes::new(200));
            *(if is_admitted { &mut small } else { &mut full }) += 1;
        }
        let before = higher_queues(&scheme, LOWEST);
        for _ in 0..100 {
            jumbo += u32::from(on_queues(&mut dice, &mut scheme, LOWEST..7, JUMBO));
        }
        println!("{small} small flows, {jumbo} jumbo flows");
        assert!(small > 100 && jumbo > 30);
        let after = higher_queues(&scheme, LOWEST);
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            assert_eq!((&before.delay, &before.backlog), (&after.delay, &after.backlog));
        }
        assert_sound(scheme.placement(), "with jumbo frames below");
    }
}

/// Returns a network with two paths from h1 to h2: over `fast`, with ordinary frames, and over `slow`, with jumbo
/// frames.
fn two_paths() -> Arc<Network> {
    let mut builder = NetworkBuilder::default();
    for (name, kind) in [
        ("h1", NodeKind::Host),
        ("h2", NodeKind::Host),
        ("a", NodeKind::Switch),
        ("fast", NodeKind::Switch),
        ("slow", NodeKind::Switch),
        ("b", NodeKind::Switch),
    ] {
        builder.add_node(name, kind).unwrap();
    }
    let paths = [("h1", "a", 9000, 1), ("a", "fast", 1500, 1), ("fast", "b", 1500, 1), ("a", "slow", 9000, 2)];
    for (from, to, mtu, ms) in paths.into_iter().chain([("slow", "b", 9000, 2), ("b", "h2", 9000, 1)]) {
        let queue = PortQueue { buffer: Bytes::new(97_000), budget: Some(Time::from_millis(ms)) };
        let spec = LinkSpec {
            from: builder.find_node(from).unwrap(),
            to: builder.find_node(to).unwrap(),
            rate: Rate::from_gbit(1),
            propagation: Time::ZERO,
            mtu: Bytes::new(mtu),
            port: PortSpec { queues: vec![queue; 2] },
        };
        builder.add_link(spec).unwrap();
    }
    Arc::new(builder.build())
}

fn path(network: &Network, over: &str) -> Route {
    let names = ["h1->a".to_owned(), format!("a->{over}"), format!("{over}->b"), "b->h2".to_owned()];
    let hop = |name: &String| Hop { link: network.find_link(name).unwrap(), queue: 0 };
    Route { hops: names.iter().map(hop).collect() }
}

#[test]
fn a_frame_that_a_link_cannot_carry_takes_another_path_at_any_speed() {
    let network = two_paths();
    for routing in [Routing::LeastDelay, Routing::LaracByDelay, Routing::LaracByHops] {
        let params = Params { routing, ..Params::default() };
        let mut scheme = Chameleon::new(network.clone(), Model::default(), params).unwrap();
        let mut goes_over = |frame| {
            let decision = scheme.admit(&request(&network, "h1", "h2", 10_000, Bytes::new(frame))).unwrap();
            let fast = decision.route == path(&network, "fast");
            assert!(fast || decision.route == path(&network, "slow"), "{decision:?}");
            if fast { "fast" } else { "slow" }
        };
        // 1500 B of payload is 1562 B on the wire.
        assert_eq!([1562, 1563, 9062].map(&mut goes_over), ["fast", "slow", "slow"], "{routing:?}");
    }
}

#[test]
fn a_frame_that_no_path_or_the_pinned_path_cannot_carry_is_refused() {
    let network = two_paths();
    let mut scheme = Chameleon::new(network.clone(), Model::default(), Params::default()).unwrap();
    let jumbo = request(&network, "h1", "h2", 10_000, JUMBO);
    let refused = Err(Refusal::FrameTooLarge { frame: JUMBO });
    let over = |over| Request { route: Some(path(&network, over)), ..jumbo.clone() };
    assert_eq!(scheme.admit(&over("fast")), refused);
    assert!(scheme.admit(&over("slow")).is_ok());
    let larger = Bytes::new(JUMBO.get() + 1);
    let outcome = scheme.admit(&Request { max_frame: Some(larger), ..jumbo });
    assert_eq!(outcome, Err(Refusal::FrameTooLarge { frame: larger }));
}

/// Moves included: no flow is moved to a link that its frames do not fit.
#[test]
fn in_random_networks_every_link_of_every_flow_carries_its_frames() {
    let wild = Wild {
        rates: &[1000, 10_000],
        mtus: &[1500, 4000, 9000, 9000],
        budgets: &[8, 13, 21, 34, 55],
        constants: Constants::Short,
        ..Wild::default()
    };
    let (mut large, mut moved) = (0, 0);
    for seed in 0..150 {
        let mut dice = Dice::new(seed);
        let network = wild.build(&mut dice);
        let rerouting = Some(Rerouting { moves: Moves::Kept, ..Rerouting::default() });
        let mut scheme =
            Chameleon::new(network.clone(), Model::default(), Params { rerouting, ..Params::default() }).unwrap();
        for _ in 0..60 {
            let wanted = wild::request(&mut dice, &network, 60);
            let frame = Bytes::new(dice.pick(&[200, 1562, 4062, 9062]));
            let wanted = Request { burst: wanted.burst + frame, max_frame: Some(frame), ..wanted };
            if let Ok(decision) = scheme.admit(&wanted) {
                moved += decision.moved.len();
            }
        }
        let ledger = scheme.placement().ledger();
        for (_, flow) in ledger.flows() {
            let frame = flow.demand.max_frame.unwrap();
            large += u32::from(frame.get() > 1562);
            for hop in &flow.route.hops {
                assert!(frame <= ledger.largest_frame(hop.link), "seed {seed}: {flow:?}");
            }
        }
        assert_sound(scheme.placement(), &format!("seed {seed}"));
    }
    println!("{large} flows with large frames, {moved} moved");
    assert!(large > 300 && moved > 20);
}
