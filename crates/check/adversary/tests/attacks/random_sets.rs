//! Small networks and contracts at random, admitted by Chameleon or Silo, then attacked: never a violation.
//!
//! `VERIFY_CASES=1000000` tries more of them; `VERIFY_CASE=17` tries that one alone, and prints it.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_adversary::{Effort, verify};
use wayleave_ledger::{BestEffort, JitterModel, Model, Shaping};
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::chameleon::{Allocation, Chameleon, Params, Rerouting, Routing};
use wayleave_schemes::admission::silo::{self, RouteChoice, Silo};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::{Link, LinkSpec, Network, NetworkBuilder, Node, NodeId, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use crate::common::claim;

/// Default number of cases of the property.
const CASES: u64 = 4_000;

/// Effort for each case: a few runs of some hundred packets.
const EFFORT: Effort = Effort::QUICK
    .with_seeds(1)
    .with_victims(2)
    .with_rounds(2)
    .with_searched(1)
    .with_cuts(2)
    .with_packet_hops(2_500)
    .with_seed(1);

struct Draw(ChaCha8Rng);

impl Draw {
    fn up_to(&mut self, most: u64) -> u64 {
        self.0.random_range(0..=most)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.up_to(many - 1) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.random_range(0..choices.len())]
    }
}

/// Two to four switches in a tree, sometimes with a circle, and two to eight hosts.
fn network(draw: &mut Draw) -> Network {
    let mut builder = NetworkBuilder::default();
    let node = |builder: &mut NetworkBuilder, draw: &mut Draw, name: String, kind| {
        let mut time = || if draw.one_in(3) { Time::from_nanos(draw.up_to(5_000)) } else { Time::ZERO };
        builder.add(Node { name, kind, processing: time(), jitter: time() }).unwrap()
    };
    let switches: Vec<NodeId> =
        (0..2 + draw.up_to(2)).map(|n| node(&mut builder, draw, format!("s{n}"), NodeKind::Switch)).collect();
    let hosts: Vec<NodeId> =
        (0..2 + draw.up_to(6)).map(|n| node(&mut builder, draw, format!("h{n}"), NodeKind::Host)).collect();
    // The simulator's time grows with packets, so rates of one network are not far apart.
    let base = draw.of(&[10, 100, 1_000, 10_000]);
    let queues = 1 + draw.up_to(7) as usize;
    let buffer = Bytes::new(draw.of(&[5_000, 20_000, 97_000, 356_000]));
    let mtu = if draw.one_in(8) { 9_000 } else { 1_500 };
    let mixed = draw.one_in(2);
    let cable = |builder: &mut NetworkBuilder, draw: &mut Draw, a: NodeId, b: NodeId, host: bool| {
        let rate = Rate::from_mbit(if mixed { base * draw.of(&[1, 2, 3, 10]) } else { base });
        let propagation = if draw.one_in(2) { Time::from_nanos(draw.up_to(20_000)) } else { Time::ZERO };
        let port = PortSpec::uniform(queues, buffer);
        let other = if host { PortSpec::uniform(1 + draw.up_to(2) as usize, Bytes::MAX) } else { port.clone() };
        let spec = LinkSpec { from: a, to: b, rate, propagation, mtu: Bytes::new(mtu), port: other };
        builder.add_cable(spec, port).unwrap();
    };
    for (n, &switch) in switches.iter().enumerate().skip(1) {
        let parent = switches[draw.up_to(n as u64 - 1) as usize];
        cable(&mut builder, draw, switch, parent, false);
    }
    if switches.len() > 2 && draw.one_in(2) {
        cable(&mut builder, draw, switches[0], switches[switches.len() - 1], false);
    }
    for &host in &hosts {
        let switch = switches[draw.up_to(switches.len() as u64 - 1) as usize];
        cable(&mut builder, draw, host, switch, true);
    }
    builder.build()
}

fn scheme(draw: &mut Draw, network: &Arc<Network>) -> Scheme {
    let shaping = if draw.one_in(4) { Shaping::Off } else { Shaping::InputLinks };
    let queues = |(_, link): (_, &Link)| network.port(link.port).queues.len();
    let switch_ports = network.links().filter(|(_, link)| network.node(link.from).kind == NodeKind::Switch);
    // Best effort would take the only queue.
    let is_single = switch_ports.map(queues).min() == Some(1);
    let is_dropped = draw.one_in(6) || is_single;
    let best_effort = if is_dropped { BestEffort::Dropped } else { BestEffort::LowestQueue };
    let jitter = if draw.one_in(3) { JitterModel::Ordered } else { JitterModel::Any };
    let model = Model::default().with_shaping(shaping).with_best_effort(best_effort).with_jitter(jitter);
    let slowest = network.links().map(|(_, link)| link.rate.bits_per_second()).min().unwrap();
    // The unit is the time of the largest frame on the slowest link.
    let frame = 1562 * 8 * 1_000_000_000 / slowest;
    let mut budgets = |count: u64| {
        let mut budget = 0;
        let mut more = || {
            budget += frame * (2 + draw.up_to(12));
            Time::from_nanos(budget)
        };
        (0..count).map(|_| more()).collect::<Vec<_>>()
    };
    let (switch, host) = (budgets(8), budgets(3));
    if draw.one_in(4) {
        let route = if draw.one_in(2) { RouteChoice::Shortest } else { RouteChoice::Around };
        return Silo::new(network.clone(), model, silo::Params { budget: switch[1], route }).unwrap().into();
    }
    let rerouting = draw.one_in(4).then(Rerouting::with_tightening);
    let routing = if draw.one_in(3) { Routing::LeastDelay } else { Routing::default() };
    let allocation = Allocation { switch: Some(switch), host: Some(host), ..Allocation::default() };
    Chameleon::new(network.clone(), model, Params { allocation, rerouting, routing }).unwrap().into()
}

fn request(draw: &mut Draw, network: &Network) -> Request {
    let hosts: Vec<NodeId> = network.hosts().collect();
    let from = draw.of(&hosts);
    let to = loop {
        let to = draw.of(&hosts);
        if to != from {
            break to;
        }
    };
    let line = network.link(network.links_from(from)[0]).rate.bits_per_second();
    let most = draw.of(&[400, 3_000, 20_000]);
    let part = draw.of(&[3, 20, 200]);
    Request {
        from,
        to,
        rate: Rate::from_bits_per_second(1_000 + draw.up_to(line / part)),
        burst: Bytes::new(80 + draw.up_to(most)),
        deadline: Time::from_millis(100_000),
        max_frame: draw.one_in(3).then(|| Bytes::new(100 + draw.up_to(1_400))),
        route: None,
        protection: 1,
    }
}

/// Tightness of the sets of all cases.
#[derive(Default)]
struct Sum {
    promises: u64,
    packets: u64,
    tightest: f64,
    above_half: u64,
}

fn check(case: u64, sum: &mut Sum) -> Result<(), String> {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(case));
    let network = Arc::new(network(&mut draw));
    let mut scheme = scheme(&mut draw, &network);
    for _ in 0..1 + draw.up_to(7) {
        let request = request(&mut draw, &network);
        let _ = scheme.admit(&request);
    }
    let claim = claim(scheme.queues().unwrap().ledger());
    let report = verify(&claim, &EFFORT, None, |_, _| true).map_err(|error| error.to_string())?;
    for (number, finding) in report.findings.iter().enumerate() {
        let share = report.share(&claim, number);
        sum.promises += 1;
        sum.packets += finding.packets;
        sum.tightest = sum.tightest.max(share);
        sum.above_half += u64::from(share > 0.5);
    }
    match report.violations.first() {
        None => Ok(()),
        Some(violation) => Err(format!(
            "{} ({}): {}; attack {}\n{:#?}",
            claim.promises[violation.promise].name,
            violation.promise,
            violation.breach,
            violation.attack,
            claim.promises
        )),
    }
}

#[test]
fn no_admitted_set_breaks_a_promise_under_attack() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let cases = match number("VERIFY_CASE") {
        Some(case) => case..case + 1,
        None => 0..number("VERIFY_CASES").unwrap_or(CASES),
    };
    let mut sum = Sum::default();
    let are_many = cases.end - cases.start >= 1_000;
    for case in cases {
        if case > 0 && case % 100_000 == 0 {
            println!("{case} cases hold");
        }
        if let Err(message) = check(case, &mut sum) {
            panic!("case {case} (VERIFY_CASE={case} replays it): {message}");
        }
    }
    println!(
        "{} promises, {} packets, tightest {:.3}, {} above half",
        sum.promises, sum.packets, sum.tightest, sum.above_half
    );
    // Attacks that reach nothing would find nothing.
    if are_many {
        assert!(sum.tightest > 0.95 && sum.above_half > sum.promises / 3, "the attacks have become harmless");
    }
}
