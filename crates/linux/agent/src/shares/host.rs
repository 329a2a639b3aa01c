//! The division of a host over its data plane: the work of each interval, and rules that match the contracts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wayleave_broker::process::{LimitsLine, ReportLine, ServiceCounters};
use wayleave_dataplane::host::HostRule;
use wayleave_protocol::agent::{ShareRule, Shares, Traffic};
use wayleave_protocol::contract::Kind;
use wayleave_scheme_api::Bucket;
use wayleave_schemes::host::eyeq::LineParams;
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use super::broker;
use super::division::{HostDivision, PairCounters, PairKey};
use super::message::PeerMessage;
use super::peers::{PeerExchange, Peers};
use super::rules::{self, contract_of, rule_number};
use crate::best_effort::Routes;
use crate::environment::Environment;
use crate::host_dataplane::HostDataplane;
use crate::resolve::{ResolvedHost, resolve};

/// A rate is raised only if it exceeds the rate in force by more than one part in `WORTH_IT`. Otherwise the kernel is
/// updated ten times a second.
const WORTH_IT: u64 = 32;

/// Scope in which names are resolved.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The network, and where VMs are.
    pub environment: &'a Environment,
    /// Interfaces of the host.
    pub here: &'a ResolvedHost,
}

/// The contracts of other kinds than latency on a host.
#[derive(Debug)]
pub struct HostShares {
    host: NodeId,
    peers: Peers,
    division: Option<HostDivision>,
    contracts: BTreeMap<u64, ShareRule>,
    /// Contracts whose rules are installed, also by an earlier agent.
    known: BTreeMap<u64, String>,
    /// `true` once the controller has named the contracts: before, rules of an earlier agent may be in force.
    knows_contracts: bool,
    line: LineParams,
    /// Rules of pairs that are to be there, by their numbers.
    pairs: BTreeMap<u64, Pair>,
    /// Rules of pairs that an agent before this one has left, until it is known which are to be there.
    left: BTreeSet<u64>,
    /// Of `queue_full` of each rule, what was seen.
    dropped: BTreeMap<u64, u64>,
    version: u64,
    /// Interfaces as they were when all rules were as they should be; `None` if some are not yet.
    settled: Option<ResolvedHost>,
    /// Time of the latest event.
    now: Time,
    /// Reason for which the contracts cannot be divided.
    problem: Option<String>,
    /// Latest limits of the rack broker, and the time of their arrival.
    limits: Option<(Time, LimitsLine)>,
}

/// The rule of a pair.
#[derive(Debug)]
struct Pair {
    key: PairKey,
    member: usize,
    /// As it is installed.
    installed: Option<HostRule>,
    /// Reason for which it cannot be installed.
    problem: Option<String>,
    /// The host sends to this member: of a pair only the first one does.
    is_sender: bool,
}

impl Pair {
    fn is_in_force(&self) -> bool {
        !self.is_sender || (self.installed.is_some() && self.problem.is_none())
    }
}

impl HostShares {
    /// Of a host; `left` are the rules that are installed, and `known` their contracts by serial number, as far as they are
    /// known.
    pub fn new(host: NodeId, left: impl IntoIterator<Item = u64>, known: BTreeMap<u64, String>) -> Self {
        Self {
            host,
            peers: Peers::new(host),
            division: None,
            contracts: BTreeMap::new(),
            known,
            knows_contracts: false,
            line: LineParams::both(Rate::ZERO),
            pairs: BTreeMap::new(),
            left: left.into_iter().filter(|&rule| contract_of(rule).is_some()).collect(),
            dropped: BTreeMap::new(),
            version: 0,
            settled: None,
            now: Time::ZERO,
            problem: None,
            limits: None,
        }
    }

    /// Sets the exchange for messages between agents.
    pub fn set_exchange(&mut self, exchange: Arc<PeerExchange>) {
        self.peers.set_exchange(exchange);
    }

    /// Returns the address at which it receives messages of other agents.
    pub fn peer_address(&self) -> Option<String> {
        self.peers.local_address().map(|address| address.to_string())
    }

    /// Returns `true` if there is nothing to divide.
    pub fn is_idle(&self) -> bool {
        self.pairs.is_empty() && self.left.is_empty() && self.division.is_none()
    }

    /// Serial and version of every contract that is carried out on this host; `None` until the controller has named the contracts.
    pub fn in_force(&self) -> Option<Vec<(u64, u64)>> {
        if !self.knows_contracts {
            return None;
        }
        let incomplete: BTreeSet<u64> =
            self.pairs.values().filter(|pair| !pair.is_in_force()).map(|pair| pair.key.0).collect();
        let is_divided = |rule: &&ShareRule| rules::class_of(rule).is_none() || self.division.is_some();
        let all = self.contracts.values().filter(is_divided).filter(|rule| !incomplete.contains(&rule.serial));
        Some(all.map(|rule| (rule.serial, rule.version)).collect())
    }

    /// Contracts that cannot be carried out on this host, each with the first reason.
    pub fn problems(&self) -> BTreeMap<u64, String> {
        let mut problems = BTreeMap::new();
        for pair in self.pairs.values() {
            if let Some(why) = &pair.problem {
                problems.entry(pair.key.0).or_insert_with(|| why.clone());
            }
        }
        if let Some(why) = self.problem.as_ref().filter(|_| self.division.is_none()) {
            let all = self.contracts.values().filter(|rule| rules::class_of(rule).is_some());
            problems.extend(all.map(|rule| (rule.serial, why.clone())));
        }
        problems
    }

    /// Returns the name of a contract.
    pub fn contract_id(&self, serial: u64) -> Option<&str> {
        self.contracts.get(&serial).map(|rule| &*rule.id)
    }

    /// Returns the contracts whose rules are installed, by serial number.
    pub const fn known(&self) -> &BTreeMap<u64, String> {
        &self.known
    }

    /// Returns `true` for a contract of best effort.
    pub fn is_best_effort(&self, serial: u64) -> bool {
        self.contracts.get(&serial).is_some_and(|rule| rule.kind == Kind::BestEffort)
    }

    /// Returns the current faults, one sentence each.
    pub fn own_problem(&self) -> impl Iterator<Item = String> {
        self.problem.clone().into_iter()
    }

    /// Sets the contracts that the controller has sent.
    pub fn set<P: HostDataplane>(&mut self, now: Time, shares: Shares, plane: &mut P, scope: Scope<'_>) {
        let network = scope.environment.network();
        let rate = |bps: u64| Rate::from_bits_per_second(bps).min(Rate::MAX);
        self.line = LineParams { transmit: rate(shares.transmit_bps), receive: rate(shares.receive_bps) };
        let address = |(host, at): (&String, &String)| Some((network.find_node(host)?, at.parse().ok()?));
        self.peers.set(shares.peers.iter().filter_map(address).collect(), &shares.secret);
        self.contracts = shares.contracts.into_iter().map(|rule| (rule.serial, rule)).collect();
        // Of a number that another contract had, nothing of its counters and buckets stays.
        let is_other = |rule: &u64| {
            let serial = contract_of(*rule)?;
            Some(*self.known.get(&serial)? != self.contracts.get(&serial)?.id)
        };
        let others = self.pairs.keys().chain(&self.left).filter(|&rule| is_other(rule) == Some(true));
        for rule in others.copied().collect::<Vec<_>>() {
            self.pairs.remove(&rule);
            match plane.remove(rule) {
                Ok(()) => drop(self.left.remove(&rule)),
                Err(why) => {
                    tracing::warn!(rule, "cannot remove the rule of a pair: {why}");
                    self.left.insert(rule);
                }
            }
        }
        self.known = self.contracts.iter().map(|(&serial, rule)| (serial, rule.id.clone())).collect();
        self.knows_contracts = true;
        self.now = now;
        self.begin(plane, scope);
    }

    /// The division and its rules as contracts, places of VMs and interfaces are now.
    fn begin<P: HostDataplane>(&mut self, plane: &mut P, scope: Scope<'_>) {
        let now = self.now;
        let network = scope.environment.network();
        let host = self.host;
        let terms: Vec<_> = self.contracts.values().filter_map(|rule| rules::terms(rule, network, host)).collect();
        let line = rules::filled(self.line, network);
        if terms.is_empty() {
            self.division = None;
        } else if self.division.is_none() {
            match HostDivision::new(line) {
                Ok(mut division) => {
                    if let Some((_, limits)) = &self.limits {
                        division.allow(broker::allowed(limits));
                    }
                    self.division = Some(division);
                }
                Err(why) => self.problem = Some(format!("cannot share this host's uplinks among contracts: {why}")),
            }
        }
        if let Some(division) = &mut self.division {
            division.set(now, line, terms);
        }
        let mut wanted = BTreeMap::new();
        for rule in self.contracts.values() {
            for member in 0..rule.members.len() {
                let to = network.find_node(&rule.members[member].host).filter(|&to| to != host);
                let number = rule_number(rule, member);
                if let (Some(to), Some(number)) = (to, number) {
                    wanted.insert(number, (rule.serial, to, member));
                }
            }
        }
        let gone: Vec<u64> =
            self.pairs.keys().chain(&self.left).filter(|rule| !wanted.contains_key(rule)).copied().collect();
        for rule in gone {
            if let Err(why) = plane.remove(rule) {
                tracing::warn!(rule, "cannot remove the rule of a pair: {why}");
                self.left.insert(rule);
            } else {
                self.left.remove(&rule);
            }
            self.pairs.remove(&rule);
        }
        for (number, (serial, to, member)) in wanted {
            self.left.remove(&number);
            let pair = self.pairs.entry(number).or_insert(Pair {
                key: (serial, to),
                member,
                installed: None,
                problem: None,
                is_sender: true,
            });
            pair.key = (serial, to);
        }
        self.settled = None;
        self.refresh(plane, scope);
    }

    /// Interfaces or VMs may have come or gone: rules are as they should be.
    pub fn refresh<P: HostDataplane>(&mut self, plane: &mut P, scope: Scope<'_>) {
        let Some(division) = self.division.as_ref().filter(|_| self.settled.as_ref() != Some(scope.here)) else {
            return;
        };
        let buckets = division.buckets(self.now);
        let mut is_settled = true;
        let routes = Routes::from(scope.environment, self.host);
        self.problem = None;
        for (&number, pair) in &mut self.pairs {
            let Some(contract) = self.contracts.get(&pair.key.0) else { continue };
            pair.is_sender = rules::sends(contract, routes.network(), self.host, pair.member);
            let Some(bucket) = buckets.get(&pair.key).filter(|_| pair.is_sender) else { continue };
            let (rate, burst) = (bucket.rate.bits_per_second(), bucket.burst.get());
            let Some(rule) = rules::rule(contract, &routes, self.host, pair.member, rate, burst) else {
                pair.problem = Some(format!("no route to {}", contract.members[pair.member].name));
                is_settled = false;
                continue;
            };
            // An endpoint that is not there sends nothing; it is tried again when interfaces change.
            let mut resolved = match resolve(&rule, scope.environment, self.host, scope.here) {
                Ok(resolved) => resolved,
                Err(why) => {
                    pair.problem = Some(why.why().to_owned());
                    is_settled = false;
                    continue;
                }
            };
            pair.problem = None;
            fit(&mut resolved);
            let is_same = pair.installed.as_ref().is_some_and(|old| is_near(old, &resolved));
            if is_same {
                continue;
            }
            self.version += 1;
            match plane.install(number, self.version, &resolved) {
                Ok(()) => pair.installed = Some(resolved),
                Err(why) => {
                    is_settled = false;
                    pair.problem = Some(why.clone());
                    self.problem = Some(format!("contract {}: {why}", contract.id));
                }
            }
        }
        self.settled = is_settled.then(|| scope.here.clone());
    }

    /// Sets the limits of tenants that the rack broker has sent.
    pub fn limit(&mut self, now: Time, limits: LimitsLine) {
        if let Some(division) = &mut self.division {
            division.allow(broker::allowed(&limits));
        }
        self.limits = Some((now, limits));
    }

    /// Returns the report for the rack broker: the traffic of tenants since an arbitrary time, and the limits in
    /// force. `None` if nothing is divided here.
    pub fn moved(&self, now: Time, network: &Network) -> Option<ReportLine> {
        let division = self.division.as_ref()?;
        let rack = rack(network, self.host);
        let mut services: BTreeMap<String, ServiceCounters> = BTreeMap::new();
        for terms in division.tenants() {
            services.entry(terms.to_owned()).or_insert(ServiceCounters {
                sent_outside: Some(0),
                received_outside: Some(0),
                ..ServiceCounters::default()
            });
        }
        for ((tenant, other), &[sent, received]) in division.moved() {
            let Some(sum) = services.get_mut(tenant) else { continue };
            let is_outside = u64::from(rack.is_none() || self::rack(network, *other) != rack);
            sum.sent += sent;
            sum.received += received;
            sum.sent_outside = sum.sent_outside.map(|outside| outside + sent * is_outside);
            sum.received_outside = sum.received_outside.map(|outside| outside + received * is_outside);
        }
        let limits = self.limits.as_ref().map(|(_, line)| line.limits.clone()).unwrap_or_default();
        Some(ReportLine { at_ns: Some(now.as_nanos()), services, limits: Some(limits) })
    }

    /// Runs the end of an interval: reads counters, sends messages to other agents, and sets buckets.
    pub fn divide<P: HostDataplane>(&mut self, now: Time, plane: &mut P) {
        let Some(division) = &mut self.division else { return };
        if self.limits.as_ref().is_some_and(|(at, _)| now.saturating_sub(*at) > broker::TIMEOUT) {
            tracing::warn!("the rack broker is silent: removing its limits");
            self.limits = None;
            division.allow(BTreeMap::new());
        }
        let Ok(traffic) = plane.traffic() else { return };
        let mut counted: BTreeMap<PairKey, PairCounters> = BTreeMap::new();
        for one in traffic {
            let Some(pair) = self.pairs.get(&one.serial) else { continue };
            let before = self.dropped.insert(one.serial, one.queue_full).unwrap_or(one.queue_full);
            let is_held = one.waiting > 0 || one.queue_full > before;
            counted.insert(pair.key, PairCounters { bytes: one.bytes, is_held });
        }
        division.count(now, &counted);
        self.send_and_apply(now, plane);
    }

    /// Handles a message from the agent of another host.
    pub fn on_peer_message<P: HostDataplane>(&mut self, now: Time, from: NodeId, message: &PeerMessage, plane: &mut P) {
        let Some(division) = &mut self.division else { return };
        division.on_peer_message(now, from, message);
        self.send_and_apply(now, plane);
    }

    fn send_and_apply<P: HostDataplane>(&mut self, now: Time, plane: &mut P) {
        self.now = now;
        let Some(division) = &mut self.division else { return };
        for (to, message) in division.take_messages() {
            self.peers.send(to, &message);
        }
        let buckets = division.buckets(now);
        self.set_rates(plane, &buckets);
    }

    /// The same rules with other buckets.
    fn set_rates<P: HostDataplane>(&mut self, plane: &mut P, buckets: &BTreeMap<PairKey, Bucket>) {
        for (&number, pair) in &mut self.pairs {
            let (Some(old), Some(new)) = (&mut pair.installed, buckets.get(&pair.key)) else { continue };
            if is_rate_near(old.demand.rate, new.rate) {
                continue;
            }
            let mut rule = old.clone();
            (rule.demand.rate, rule.demand.burst) = (new.rate, new.burst);
            fit(&mut rule);
            self.version += 1;
            match plane.install(number, self.version, &rule) {
                Ok(()) => *old = rule,
                Err(why) => self.problem = Some(format!("cannot set the rate of a pair: {why}")),
            }
        }
    }

    /// VMs moved, or something failed or was repaired.
    pub fn environment_changed<P: HostDataplane>(&mut self, plane: &mut P, scope: Scope<'_>) {
        if !self.contracts.is_empty() {
            self.begin(plane, scope);
        }
    }

    /// Marks rules that another program has changed; `None` means all. They are reinstalled at the next poll.
    pub fn lost(&mut self, lost: Option<&[u64]>) {
        for (number, pair) in &mut self.pairs {
            if lost.is_none_or(|lost| lost.contains(number)) {
                pair.installed = None;
                self.settled = None;
            }
        }
    }
}

/// The switch that a host is joined to, if it is one.
fn rack(network: &Network, host: NodeId) -> Option<NodeId> {
    let mut switches = network.links_from(host).iter().map(|&link| network.link(link).to);
    let first = switches.next()?;
    switches.all(|other| other == first).then_some(first)
}

/// Returns the counters of rules, with those of the pairs of a contract added up.
pub fn by_contract(all: Vec<Traffic>) -> Vec<Traffic> {
    let mut sums: BTreeMap<u64, Traffic> = BTreeMap::new();
    for one in all {
        let serial = contract_of(one.serial).unwrap_or(one.serial);
        let sum = sums.entry(serial).or_insert_with(|| Traffic { serial, ..Traffic::default() });
        sum.add(&one);
    }
    sums.into_values().collect()
}

/// A bucket holds two of the largest frames at least.
fn fit(rule: &mut HostRule) {
    let twice = Bytes::new(rule.max_frame().get().saturating_mul(2).min(MAX_FRAMES));
    rule.demand.burst = rule.demand.burst.max(twice);
}

/// Of a rule without links, whose frames have no largest size.
const MAX_FRAMES: u64 = 64_000;

fn is_near(old: &HostRule, new: &HostRule) -> bool {
    (&old.senders, &old.paths) == (&new.senders, &new.paths) && is_rate_near(old.demand.rate, new.demand.rate)
}

fn is_rate_near(old: Rate, new: Rate) -> bool {
    let (old, new) = (old.bits_per_second(), new.bits_per_second());
    new >= old && new - old <= old / WORTH_IT
}
