//! Packets that are really sent: the rules that hosts have installed, and the packets of old rules in transit.
//!
//! At every moment all of them together have to be admissible. The reason: a queue keeps its budget if the token
//! buckets of all routes through it, with bursts grown by the budgets before, pass its check. So it is enough to
//! check the routes on which packets can be at that moment, independently of reservations:
//! - an installed rule sends over each of its routes, with its whole bucket on each;
//! - a rule that was replaced or removed may have packets in transit for the time of its bound, and not longer. This
//!   requires that the promise has held until now, which was checked at every moment before.
//!
//! A contract whose rule is replaced, and not removed first, has one bucket for both, since a driver keeps its level.
//! The hops that the old and the new route have in common from the sender on therefore carry at most the larger of
//! both buckets, if one is the larger in rate and burst: in front of those hops all packets have waited in the same
//! queues. Behind them, both routes count in full. An equal route with an equal bucket counts once, in any number of
//! versions.
//!
//! Links that are down carry packets here nevertheless. That exceeds what can happen, and covers an operator that
//! takes a working link out of service.
//!
//! A host that is declared down although it sends is the one fact that a controller cannot know. Nothing is promised
//! until that host has begun a session again, and its packets sent by then have left ([`Wire::is_tainted`]).

use std::collections::{BTreeMap, BTreeSet};

use wayleave_contracts::BucketDemand;
use wayleave_protocol::agent::Rule;
use wayleave_protocol::contract::Hop;
use wayleave_recheck::{Claim, JitterTerm, PacketiserTerm, PromisedFlow, check};
use wayleave_schemes::placement::Placement;
use wayleave_topology::{Network, Route};
use wayleave_units::{Bytes, Rate, Time};

/// A flow on the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flow {
    /// Serial number of the contract.
    pub(crate) serial: u64,
    pub(crate) hops: Vec<(u32, u8)>,
    pub(crate) rate: u64,
    pub(crate) burst: u64,
    /// Hops at its beginning where another flow represents its packets.
    pub(crate) covered: usize,
    /// Counts flows that are equal in all of that, from 0.
    pub(crate) copy: u64,
}

impl Flow {
    pub(crate) fn of(serial: u64, route: &Route, demand: BucketDemand, covered: usize) -> Self {
        let (rate, burst) = (demand.rate.bits_per_second(), demand.burst.get());
        Self { serial, hops: hops(route), rate, burst, covered, copy: 0 }
    }
}

/// Number of sets that are remembered for each link.
const REMEMBERED: usize = 6;

/// A rule of a host, and until when its packets may be there.
struct Sent {
    version: u64,
    demand: BucketDemand,
    routes: Vec<Route>,
    bound: Time,
    tainted: bool,
    /// `None` while it is installed.
    until: Option<Time>,
    /// Another rule was put in its place, with its bucket.
    is_replaced: bool,
}

impl Sent {
    fn of(version: u64, rule: &Rule, network: &Network, tainted: bool) -> Self {
        let demand = BucketDemand {
            rate: Rate::from_bits_per_second(rule.rate_bps),
            burst: Bytes::new(rule.burst_bytes),
            max_frame: rule.max_frame_bytes.map(Bytes::new),
        };
        let routes = rule.routes.iter().map(|hops| Hop::route(network, hops).unwrap()).collect();
        let bound = Time::from_nanos(rule.bound_ns);
        Self { version, demand, routes, bound, tainted, until: None, is_replaced: false }
    }
}

/// All packets that are sent or in transit.
#[derive(Default)]
pub(crate) struct Wire {
    /// By host and serial number.
    sent: BTreeMap<(String, u64), Vec<Sent>>,
    /// By link, sets that passed, to be checked once.
    passed: BTreeMap<u32, Vec<BTreeSet<Flow>>>,
    pub(crate) checks: u64,
}

impl Wire {
    /// Records the rules that a host has installed now.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        network: &Network,
        host: &str,
        rules: &BTreeMap<u64, (u64, Rule)>,
        tainted: bool,
    ) {
        for ((of, serial), sent) in &mut self.sent {
            if of != host {
                continue;
            }
            let installed = rules.get(serial).map(|(version, _)| *version);
            for one in sent.iter_mut().filter(|one| one.until.is_none()) {
                one.tainted |= tainted;
                if installed != Some(one.version) {
                    one.is_replaced = installed.is_some();
                    one.until = Some(now + one.bound);
                }
            }
            // In their order, so that what was removed in between stays known.
            let over = sent.iter().take_while(|one| one.until.is_some_and(|until| until <= now)).count();
            sent.drain(..over);
        }
        for (&serial, (version, rule)) in rules {
            let sent = self.sent.entry((host.to_owned(), serial)).or_default();
            if !sent.iter().any(|one| one.until.is_none()) {
                sent.push(Sent::of(*version, rule, network, tainted));
            }
        }
        self.sent.retain(|_, sent| !sent.is_empty());
    }

    /// Returns `true` if a host sends that was declared down although it was not.
    pub(crate) fn is_tainted(&self, now: Time) -> bool {
        self.sent.values().flatten().any(|one| one.tainted && one.until.is_none_or(|until| until > now))
    }

    /// Returns all flows that can have packets in transit now.
    pub(crate) fn flows(&self, now: Time) -> BTreeSet<Flow> {
        let mut flows = BTreeSet::new();
        for ((_, serial), sent) in &self.sent {
            // Each rule, with `true` if the next one shares its bucket.
            let mut there: Vec<(&Sent, bool)> = Vec::new();
            for one in sent {
                match (one.until.is_none_or(|until| until > now), there.last_mut()) {
                    (true, _) => there.push((one, one.is_replaced)),
                    (false, Some(before)) => before.1 &= one.is_replaced,
                    (false, None) => {}
                }
            }
            let mut covered: Vec<Vec<usize>> = there.iter().map(|(one, _)| vec![0; one.routes.len()]).collect();
            for (index, pair) in there.windows(2).enumerate().filter(|(_, pair)| pair[0].1) {
                let size = |one: &Sent| (one.demand.rate, one.demand.burst);
                let is_smaller =
                    |one: &Sent, other: &Sent| size(one).0 <= size(other).0 && size(one).1 <= size(other).1;
                let (smaller, larger) = match (is_smaller(pair[0].0, pair[1].0), is_smaller(pair[1].0, pair[0].0)) {
                    (true, _) => (index, index + 1),
                    (_, true) => (index + 1, index),
                    _ => continue,
                };
                let common = in_common(&there[smaller].0.routes, &there[larger].0.routes);
                covered[smaller].iter_mut().zip(common).for_each(|(hops, common)| *hops = common.max(*hops));
            }
            for (&(one, _), covered) in there.iter().zip(&covered) {
                let routes = one.routes.iter().zip(covered);
                flows.extend(routes.map(|(route, &covered)| Flow::of(*serial, route, one.demand, covered)));
            }
        }
        flows
    }

    /// Checks that these flows keep every queue's budget and buffer, and every link its rate.
    pub(crate) fn passes(&mut self, placement: &Placement, flows: &BTreeSet<Flow>) -> Result<(), String> {
        let mut by_link: BTreeMap<u32, BTreeSet<Flow>> = BTreeMap::new();
        for flow in flows {
            for &(link, _) in &flow.hops[flow.covered..] {
                by_link.entry(link).or_default().insert(flow.clone());
            }
        }
        // The check of a link depends on its own flows alone, and a subset of flows that passed passes too: fewer
        // flows never take longer.
        by_link.retain(|link, flows| {
            let passed = self.passed.get(link).into_iter().flatten();
            !passed.into_iter().any(|passed| flows.is_subset(passed))
        });
        if by_link.is_empty() {
            return Ok(());
        }
        self.checks += 1;
        let flows: BTreeSet<Flow> = by_link.values().flatten().cloned().collect();
        let report = check(&claim(placement, &flows));
        if !report.is_sound() {
            let violations: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
            let flows: Vec<String> = flows.iter().map(|flow| describe(placement.network(), flow)).collect();
            return Err(format!("{}\n    among\n    {}", violations.join("\n    "), flows.join("\n    ")));
        }
        for (link, flows) in by_link {
            let passed = self.passed.entry(link).or_default();
            passed.retain(|passed| !passed.is_subset(&flows));
            if passed.len() == REMEMBERED {
                passed.remove(0);
            }
            passed.push(flows);
        }
        Ok(())
    }
}

/// Returns the number of hops that each route has in common with one of the others, from the sender on; each of those
/// counts for one.
fn in_common(routes: &[Route], others: &[Route]) -> Vec<usize> {
    let mut left: Vec<&Route> = others.iter().collect();
    let longest = |route: &Route| {
        let common =
            |other: &&Route| route.hops.iter().zip(&other.hops).take_while(|(one, other)| one == other).count();
        let Some(at) = (0..left.len()).max_by_key(|&at| common(&left[at])) else { return 0 };
        common(&left.swap_remove(at))
    };
    routes.iter().map(longest).collect()
}

pub(crate) fn hops(route: &Route) -> Vec<(u32, u8)> {
    route.hops.iter().map(|hop| (hop.link.0, hop.queue)).collect()
}

fn describe(network: &Network, Flow { serial, hops, rate, burst, covered, .. }: &Flow) -> String {
    let hop = |&(link, queue): &(u32, u8)| format!("{}/{queue}", network.link(wayleave_topology::LinkId(link)).name);
    let hops: Vec<String> = hops.iter().map(hop).collect();
    let hops = hops.join(" ");
    format!("#{serial} {} Mbit/s {burst} B over {hops}, {covered} of them covered", rate / 1_000_000)
}

fn claim<'a>(placement: &'a Placement, flows: &BTreeSet<Flow>) -> Claim<'a> {
    let (ledger, network) = (placement.ledger(), &**placement.network());
    let links = || network.links().map(|(link, _)| link);
    let promise = |Flow { serial, hops, rate, burst, covered, .. }: &Flow| {
        let hop = |&(link, queue): &(u32, u8)| wayleave_topology::Hop { link: wayleave_topology::LinkId(link), queue };
        let route = Route { hops: hops.iter().map(hop).collect() };
        PromisedFlow {
            name: format!("#{serial}"),
            from: network.link(route.hops[0].link).from,
            to: network.link(route.hops[route.hops.len() - 1].link).to,
            rate: wayleave_units::Rate::from_bits_per_second(*rate),
            burst: wayleave_units::Bytes::new(*burst),
            deadline: Time::MAX,
            covered: *covered,
            promised_bound: placement.bound(&route),
            route,
        }
    };
    Claim {
        network,
        budgets: links().map(|link| ledger.budgets(link).collect()).collect(),
        max_frame: links().map(|link| ledger.largest_frame(link)).collect(),
        packetiser: PacketiserTerm::Subtracted,
        jitter: JitterTerm::Any,
        shaping: true,
        flows: flows.iter().map(promise).collect(),
        disjoint: Vec::new(),
        claimed_queues: Vec::new(),
        exact_claims: false,
    }
}
