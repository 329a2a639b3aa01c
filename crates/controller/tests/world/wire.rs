//! What is really sent: the rules that hosts have installed, and the packets that old rules have still under way.
//!
//! What has to hold at every moment is that all of it together is admissible. Why that is the right set: a queue keeps its budget if the
//! token buckets of all routes through it, with bursts grown by the budgets before, pass its check. So it is enough to look at the
//! routes on which packets can be at that moment, whoever reserved what:
//! - a rule that is installed sends over each of its routes, with its whole bucket on each;
//! - a rule that was replaced or removed may have packets under way for as long as its bound says, and not longer, provided that the
//!   promise has held so far, which is what was checked at every moment before.
//!
//! A contract that was moved has one bucket for both routes, since a driver keeps its level. Here both routes count in full, which is
//! more than can happen: the controller either admitted them beside each other, or waits until the old one is empty, so it has to
//! pass all the same. Only the very same route with the same bucket counts once, in whatever versions it is installed.
//!
//! Links that are down carry packets here all the same. That too is more than can happen, and covers the operator who takes
//! a working link out of service.
//!
//! A host that is declared down although it sends is the one thing that a controller cannot know. Until that host has begun a session
//! again, and what it sent by then has left, nothing is promised to anybody ([`Wire::is_tainted`]).

use std::collections::{BTreeMap, BTreeSet};

use wayleave_controller::Rule;
use wayleave_recheck::{Claim, PacketiserTerm, PromisedFlow, check};
use wayleave_schemes::placement::Placement;
use wayleave_topology::{Network, Route};
use wayleave_units::Time;

/// A flow on the wire: whose, its route, its rate and burst, and the how-manieth that is the same in all of that.
pub(crate) type Flow = (u64, Vec<(u32, u8)>, u64, u64, u64);

/// How many sets are remembered of each link.
const REMEMBERED: usize = 6;

/// A rule of a host, and until when its packets may be there.
struct Sent {
    version: u64,
    rule: Rule,
    tainted: bool,
    /// `None` while it is installed.
    until: Option<Time>,
}

/// All of it.
#[derive(Default)]
pub(crate) struct Wire {
    /// By host and serial number.
    sent: BTreeMap<(String, u64), Vec<Sent>>,
    /// By link, sets that passed, to be checked once.
    passed: BTreeMap<u32, Vec<BTreeSet<Flow>>>,
    pub(crate) checks: u64,
}

impl Wire {
    /// What a host has installed now.
    pub(crate) fn observe(&mut self, now: Time, host: &str, rules: &BTreeMap<u64, (u64, Rule)>, tainted: bool) {
        for ((of, serial), sent) in &mut self.sent {
            if of != host {
                continue;
            }
            let installed = rules.get(serial).map(|(version, _)| *version);
            for one in sent.iter_mut().filter(|one| one.until.is_none()) {
                one.tainted |= tainted;
                if installed != Some(one.version) {
                    one.until = Some(now + one.rule.bound);
                }
            }
            sent.retain(|one| one.until.is_none_or(|until| until > now));
        }
        for (&serial, (version, rule)) in rules {
            let sent = self.sent.entry((host.to_owned(), serial)).or_default();
            if !sent.iter().any(|one| one.until.is_none()) {
                sent.push(Sent { version: *version, rule: rule.clone(), tainted, until: None });
            }
        }
        self.sent.retain(|_, sent| !sent.is_empty());
    }

    /// Whether something is sent by a host that was declared down although it was not.
    pub(crate) fn is_tainted(&self, now: Time) -> bool {
        self.sent.values().flatten().any(|one| one.tainted && one.until.is_none_or(|until| until > now))
    }

    /// Everything that can be under way now.
    pub(crate) fn flows(&self, now: Time) -> BTreeSet<Flow> {
        let mut flows = BTreeSet::new();
        for ((_, serial), sent) in &self.sent {
            for one in sent.iter().filter(|one| one.until.is_none_or(|until| until > now)) {
                let demand = one.rule.demand;
                let (rate, burst) = (demand.rate.bits_per_second(), demand.burst.get());
                flows.extend(one.rule.routes.iter().map(|route| (*serial, hops(route), rate, burst, 0)));
            }
        }
        flows
    }

    /// Whether these flows keep every queue's budget and buffer, and every link its rate.
    pub(crate) fn passes(&mut self, placement: &Placement, flows: &BTreeSet<Flow>) -> Result<(), String> {
        let mut by_link: BTreeMap<u32, BTreeSet<Flow>> = BTreeMap::new();
        for flow in flows {
            for &(link, _) in &flow.1 {
                by_link.entry(link).or_default().insert(flow.clone());
            }
        }
        // What a link can do depends on its own flows alone, and a part of what passed passes too: fewer flows never take longer.
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

pub(crate) fn hops(route: &Route) -> Vec<(u32, u8)> {
    route.hops.iter().map(|hop| (hop.link.0, hop.queue)).collect()
}

fn describe(network: &Network, (serial, hops, rate, burst, _): &Flow) -> String {
    let hop = |&(link, queue): &(u32, u8)| format!("{}/{queue}", network.link(wayleave_topology::LinkId(link)).name);
    let hops: Vec<String> = hops.iter().map(hop).collect();
    format!("#{serial} {} Mbit/s {burst} B over {}", rate / 1_000_000, hops.join(" "))
}

fn claim<'a>(placement: &'a Placement, flows: &BTreeSet<Flow>) -> Claim<'a> {
    let (ledger, network) = (placement.ledger(), &**placement.network());
    let links = || network.links().map(|(link, _)| link);
    let promise = |(serial, hops, rate, burst, _): &Flow| {
        let hop = |&(link, queue): &(u32, u8)| wayleave_topology::Hop { link: wayleave_topology::LinkId(link), queue };
        let route = Route { hops: hops.iter().map(hop).collect() };
        PromisedFlow {
            name: format!("#{serial}"),
            from: network.link(route.hops[0].link).from,
            to: network.link(route.hops[route.hops.len() - 1].link).to,
            rate: wayleave_units::Rate::from_bits_per_second(*rate),
            burst: wayleave_units::Bytes::new(*burst),
            deadline: Time::MAX,
            promised_bound: placement.bound(&route),
            route,
        }
    };
    Claim {
        network,
        budgets: links().map(|link| ledger.budgets(link).collect()).collect(),
        max_frame: links().map(|link| ledger.largest_frame(link)).collect(),
        packetiser: PacketiserTerm::Subtracted,
        shaping: true,
        flows: flows.iter().map(promise).collect(),
        disjoint: Vec::new(),
        claimed_queues: Vec::new(),
        exact_claims: false,
    }
}
