//! One run: an attack becomes a scenario, and the scenario is simulated.

use wayleave_scenarios::Element as Failing;
use wayleave_scenarios::{
    Copies, Discipline, ElementChange, FlowEndpoints, Jitter, JitterDistribution, Outage, PacketKind, Scenario,
    StartPhase, Traffic,
};
use wayleave_sim::RunEnd;
use wayleave_sim::stats::Histogram;
use wayleave_topology::{FailureElement, Route};
use wayleave_units::{Bytes, Time};

use crate::attack::{Attack, CrossTraffic, InjectedFailure, JitterDraw};
use crate::claim::{Background, ClaimError, Duplication};
use crate::narrow::narrow;
use crate::schedule::{AfterBurst, Burst};
use crate::stage::{SMALLEST_FRAME, Stage, nanos, sending};

/// Frames of background that are sent before the first burst: its queues are not empty then.
const LEAD_FRAMES: i64 = 8;

/// In no run is less sent, in ns.
const SHORTEST: i64 = 10_000;

/// After the last packet was sent a run continues until all have arrived, however late: a packet in flight at the end
/// of the run would not be observed. The run ends by itself when nothing is left; this limit is far beyond, in ns.
const DRAIN: i64 = 1_000_000_000_000;

/// Frames that a contract earns in a run with failures after its burst, unless that takes very long.
const AFTER_A_CUT: u64 = 8;

/// Results of one promise's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PromiseObservation {
    pub(crate) promise: usize,
    pub(crate) delay_ps: u64,
    pub(crate) delays: Histogram,
    pub(crate) packets: u64,
    pub(crate) drops: u64,
    pub(crate) loses: LossRule,
}

/// Packets that a promise may lose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LossRule {
    /// None.
    #[default]
    Nothing,
    /// Its route is cut, and it is the only one.
    WhatFails,
    /// Its route is cut; losses are counted for all copies together.
    Copies,
}

/// Results of a protected contract's packets during failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProtectionObservation {
    pub(crate) group: usize,
    pub(crate) is_any_cut: bool,
    pub(crate) is_any_left: bool,
    pub(crate) packets: u64,
    /// Packets of which no copy arrived.
    pub(crate) lost: u64,
}

/// Observations of a run.
#[derive(Debug)]
pub(crate) struct RunObservations {
    pub(crate) seen: Vec<PromiseObservation>,
    pub(crate) kept: Vec<ProtectionObservation>,
    pub(crate) hops: u64,
}

/// Returns `true` once a verification has to end; it is called now and then during every run, by all threads.
pub type StopCheck<'a> = &'a (dyn Fn() -> bool + Sync);

/// Owner of a traffic.
#[derive(Clone, Debug)]
enum Owner {
    Background,
    /// Over its own route.
    Promise(usize),
    /// Over the routes of all these, duplicated; the first has the traffic's own route.
    Routes(Vec<usize>),
    /// Over the first route of a protected contract only: a fault.
    Unduplicated(usize),
}

impl Stage<'_> {
    /// Makes an attack; returns `None` if the run was stopped before its end.
    pub(crate) fn run(
        &self,
        attack: &Attack,
        packet_hops: u64,
        is_stopped: StopCheck<'_>,
    ) -> Result<Option<RunObservations>, ClaimError> {
        if is_stopped() {
            return Ok(None);
        }
        if let Some(number) = attack.victim().filter(|&victim| victim >= self.paths.len()) {
            return Err(ClaimError::NoPromise { number, promises: self.paths.len() });
        }
        let is_there = |cut: &InjectedFailure| match cut.element {
            FailureElement::Cable(link) => link.index() < self.network.links().len(),
            FailureElement::Switch(node) => self.network.switches().any(|switch| switch == node),
        };
        if let Some(cut) = attack.cuts.iter().find(|cut| !is_there(cut)) {
            return Err(ClaimError::NoElement { element: cut.element });
        }
        let (mut scenario, owners) = self.scenario(attack, packet_hops);
        if owners.iter().all(|owner| matches!(owner, Owner::Background)) {
            return Ok(Some(RunObservations { seen: Vec::new(), kept: Vec::new(), hops: 0 }));
        }
        narrow(&mut scenario).map_err(ClaimError::Network)?;
        let outcome = wayleave_sim::run(&scenario, attack.seed, |_| !is_stopped())
            .map_err(|error| ClaimError::Run(Box::new(error)))?;
        if outcome.ending == RunEnd::Stopped {
            return Ok(None);
        }
        let (mut seen, mut kept): (Vec<PromiseObservation>, Vec<ProtectionObservation>) = (Vec::new(), Vec::new());
        for flow in outcome.flows {
            let Some(owner) = owners.get(flow.traffic) else { continue };
            let promise = match (owner, flow.copy) {
                (Owner::Background, _) => continue,
                (Owner::Routes(routes), Some(copy)) => routes[copy as usize],
                (Owner::Routes(routes), None) => {
                    kept.push(self.kept(attack, routes[0], flow.delivered, flow.sent - flow.delivered));
                    continue;
                }
                (Owner::Unduplicated(promise), _) => {
                    kept.push(self.kept(attack, *promise, flow.delivered, flow.drops));
                    *promise
                }
                (Owner::Promise(promise), _) => *promise,
            };
            debug_assert_eq!(flow.sent, flow.delivered + flow.drops, "the run has come to its end");
            seen.push(PromiseObservation {
                promise,
                delay_ps: flow.delay.max().unwrap_or(0),
                delays: flow.delay,
                packets: flow.delivered,
                drops: flow.drops,
                loses: self.loses(attack, promise),
            });
        }
        Ok(Some(RunObservations { seen, kept, hops: outcome.hops }))
    }

    /// Returns `true` if the route of a promise fails.
    fn is_cut(&self, attack: &Attack, promise: usize) -> bool {
        let route = &self.claim.promises[promise].route;
        attack.cuts.iter().any(|cut| self.network.uses(route, cut.element))
    }

    fn loses(&self, attack: &Attack, promise: usize) -> LossRule {
        match (self.is_cut(attack, promise), self.group_of[promise]) {
            (false, _) => LossRule::Nothing,
            (true, None) => LossRule::WhatFails,
            (true, Some(_)) => LossRule::Copies,
        }
    }

    /// Returns the result of a protected contract's packets.
    fn kept(&self, attack: &Attack, promise: usize, packets: u64, lost: u64) -> ProtectionObservation {
        let routes = self.routes(&promise);
        let cut = routes.iter().filter(|&&route| self.is_cut(attack, route)).count();
        let group = self.group_of[promise].unwrap_or_default();
        ProtectionObservation { group, is_any_cut: cut > 0, is_any_left: cut < routes.len(), packets, lost }
    }

    /// The scenario, and whose each of its traffics is.
    fn scenario(&self, attack: &Attack, packet_hops: u64) -> (Scenario, Vec<Owner>) {
        let mut bursts = self.schedule(attack);
        if !attack.cuts.is_empty() {
            self.keep_one_route(attack, &mut bursts);
        }
        bursts.retain(|burst| self.frame(burst.promise, attack.frames).is_some());
        let background = self.background(attack);
        let lead = self.lead(&background);
        let first = bursts.iter().map(|burst| burst.start).min().unwrap_or(0);
        bursts.iter_mut().for_each(|burst| burst.start += lead - first);
        let end_of = |burst: &Burst| {
            let terms = &self.claim.promises[burst.promise];
            let limit = nanos(terms.limit());
            // With failures, some more packets are sent afterwards.
            let earning = sending(AFTER_A_CUT * terms.frame.get(), terms.rate).min(nanos(terms.bound));
            burst.start + limit + if attack.cuts.is_empty() { 0 } else { earning }
        };
        let end = bursts.iter().map(end_of).max().unwrap_or(lead) + SHORTEST;
        let plan = self.fitted(attack, &bursts, &background, (lead, end), packet_hops);

        let mut scenario = Scenario::new("verify", self.network.clone(), time(plan.end + DRAIN));
        scenario.switches.discipline = Discipline::StrictPriority;
        scenario.hosts.discipline = Discipline::StrictPriority;
        scenario.shared_services.clone_from(&self.claim.services);
        scenario.jitter = self.jitter(attack, None);
        let mut owners = Vec::new();
        for (number, (route, frame)) in background.iter().enumerate() {
            scenario.traffic.push(self.filling(number, route, *frame, (lead, plan.end)));
            owners.push(Owner::Background);
        }
        for (number, burst) in bursts.iter().enumerate().filter(|(_, burst)| burst.start < plan.end) {
            let owner = self.owner(attack, burst.promise);
            let Some(traffic) = self.bursting(number, burst, attack, plan, &owner) else { continue };
            if attack.victim() == Some(burst.promise) {
                scenario.jitter = self.jitter(attack, Some(scenario.traffic.len()));
            }
            scenario.traffic.push(traffic);
            owners.push(owner);
        }
        for cut in &attack.cuts {
            let at = time((cut.at_ns + lead - first).clamp(0, plan.end));
            scenario.outages.extend(self.outages(cut.element).map(|what| Outage {
                at,
                what,
                change: ElementChange::Fails,
            }));
        }
        scenario.outages.sort_by_key(|outage| outage.at);
        (scenario, owners)
    }

    /// Returns the jitter of nodes; against the traffic of this number, if there is a victim.
    fn jitter(&self, attack: &Attack, victim: Option<usize>) -> Jitter {
        let draw = match (attack.held_up, victim) {
            (JitterDraw::Alike, _) => return Jitter::Whole,
            (JitterDraw::Late, Some(traffic)) => JitterDistribution::Against { traffic },
            (JitterDraw::Late, None) | (JitterDraw::Drawn, _) => JitterDistribution::Uniform,
        };
        Jitter::Each { draw, order: self.claim.order }
    }

    /// Copies of one packet leave together: of the routes of a protected contract the victim's sends the others along, or
    /// else the one that comes first.
    fn keep_one_route(&self, attack: &Attack, bursts: &mut Vec<Burst>) {
        let mut senders: Vec<Option<usize>> = vec![None; self.claim.protected.len()];
        if let Some(victim) = attack.victim()
            && let Some(group) = self.group_of[victim]
        {
            senders[group] = Some(victim);
        }
        bursts.retain(|burst| match self.group_of[burst.promise] {
            Some(group) => *senders[group].get_or_insert(burst.promise) == burst.promise,
            None => true,
        });
    }

    /// Returns the owner of a promise's packets. Without failures every copy is attacked as a flow of its own, as
    /// admission counts it; with failures packets are duplicated.
    fn owner(&self, attack: &Attack, promise: usize) -> Owner {
        let Some(group) = self.group_of[promise].filter(|_| !attack.cuts.is_empty()) else {
            return Owner::Promise(promise);
        };
        let protected = &self.claim.protected[group];
        match protected.duplication {
            Duplication::On => {
                let others = protected.routes.iter().copied().filter(|&route| route != promise);
                Owner::Routes(std::iter::once(promise).chain(others).collect())
            }
            Duplication::Off => Owner::Unduplicated(protected.routes[0]),
        }
    }

    /// Returns the elements that fail with an element.
    fn outages(&self, element: FailureElement) -> impl Iterator<Item = Failing> {
        let (one, other) = match element {
            FailureElement::Cable(link) => (Failing::Link(link), self.network.reverse(link).map(Failing::Link)),
            FailureElement::Switch(node) => (Failing::Switch(node), None),
        };
        std::iter::once(one).chain(other)
    }

    /// The other routes of a burst. The receiver remembers as many packets as can be sent while a copy is late.
    fn copies(&self, routes: &[usize]) -> Option<Copies> {
        let terms = &self.claim.promises[*routes.first()?];
        let others = routes.iter().skip(1);
        let late = routes.iter().map(|&route| self.claim.promises[route].bound).max()?;
        let bytes = u128::from(terms.burst.get())
            + u128::from(terms.rate.bits_per_second()) * u128::from(late.as_nanos()) / 8_000_000_000;
        let window = u16::try_from(bytes / u128::from(SMALLEST_FRAME) + 2).unwrap_or(u16::MAX);
        Some(Copies {
            routes: others.map(|&route| self.claim.promises[route].route.clone()).collect(),
            window,
            reset: late + late,
        })
    }

    /// The routes that fill the queues below.
    fn background(&self, attack: &Attack) -> Vec<(Route, Bytes)> {
        if attack.cross_traffic == CrossTraffic::Quiet || self.claim.background == Background::Dropped {
            return Vec::new();
        }
        let routes = match attack.victim() {
            Some(victim) => self.fill.routes(self.paths[victim].hops.iter().map(|stop| stop.link)),
            None => self.fill.routes(self.fill.links()),
        };
        routes.into_iter().cloned().collect()
    }

    /// ns before the first burst: background has come to every port by then.
    fn lead(&self, background: &[(Route, Bytes)]) -> i64 {
        background.iter().map(|(route, frame)| self.transit(route, *frame)).max().unwrap_or(0)
    }

    /// ns from the first frame of background at its host until its queues have been fed for some frames.
    fn transit(&self, route: &Route, frame: Bytes) -> i64 {
        let links = || route.hops.iter().map(|hop| self.network.link(hop.link));
        let slowest = links().map(|link| sending(frame.get(), link.rate)).max().unwrap_or(0);
        let in_transit = links().map(|link| {
            let nodes = [link.from, link.to].map(|node| self.network.node(node));
            let inside = nodes.into_iter().map(|node| node.processing + node.jitter).sum::<Time>();
            nanos(link.propagation + inside) + sending(frame.get(), link.rate)
        });
        in_transit.sum::<i64>() + LEAD_FRAMES * slowest
    }

    fn filling(&self, number: usize, route: &Route, frame: Bytes, (lead, end): (i64, i64)) -> Traffic {
        let first = self.network.link(route.hops[0].link);
        let last = self.network.link(route.hops[route.hops.len() - 1].link);
        let ends = FlowEndpoints::Pairs(vec![(first.from, last.to)]);
        let kind = PacketKind::ConstantRate { rate: first.rate };
        let mut traffic = Traffic::packets(&format!("background {number}"), ends, kind, frame);
        traffic.start = time(lead - self.transit(route, frame));
        traffic.stop = Some(time(end));
        traffic.route = Some(route.clone());
        traffic
    }

    fn bursting(&self, number: usize, burst: &Burst, attack: &Attack, plan: Plan, owner: &Owner) -> Option<Traffic> {
        let promise = if let Owner::Unduplicated(first) = owner { *first } else { burst.promise };
        let terms = &self.claim.promises[promise];
        let frame = self.frame(burst.promise, attack.frames)?;
        let (from, to) = terms.ends(&self.network)?;
        let kind = PacketKind::TokenBucket {
            rate: terms.rate,
            // A smaller burst is within the contract, too.
            burst: Bytes::new(plan.share.of(terms.burst.get()).max(frame)),
            phase: StartPhase::Together,
        };
        let name = format!("burst {number}");
        let mut traffic = Traffic::packets(&name, FlowEndpoints::Pairs(vec![(from, to)]), kind, Bytes::new(frame));
        traffic.start = time(burst.start);
        traffic.stop = Some(time(match burst.then {
            AfterBurst::Pause => burst.start + 1,
            AfterBurst::Rate => plan.end,
        }));
        traffic.route = Some(terms.route.clone());
        traffic.copies = if let Owner::Routes(routes) = owner { self.copies(routes) } else { None };
        Some(traffic)
    }

    /// Shortens a run to as many packets as it may have: first its time, then its bursts.
    fn fitted(
        &self,
        attack: &Attack,
        bursts: &[Burst],
        background: &[(Route, Bytes)],
        (lead, end): (i64, i64),
        packet_hops: u64,
    ) -> Plan {
        let hops = |burst: &Burst| {
            let routes = if attack.cuts.is_empty() { &[burst.promise] } else { self.routes(&burst.promise) };
            routes.iter().map(|&route| self.paths[route].hops.len()).sum::<usize>() as f64
        };
        let frame = |burst: &Burst| self.frame(burst.promise, attack.frames).unwrap_or(1) as f64;
        let terms = |burst: &Burst| &self.claim.promises[burst.promise];
        let in_bursts: f64 =
            bursts.iter().map(|burst| hops(burst) * (terms(burst).burst.get() as f64 / frame(burst)).ceil()).sum();
        let per_ns = |rate: f64, frame: f64| rate / (8e9 * frame);
        let earned: f64 = bursts
            .iter()
            .map(|burst| hops(burst) * per_ns(terms(burst).rate.bits_per_second() as f64, frame(burst)))
            .sum();
        let filled: f64 = background
            .iter()
            .map(|(route, frame)| {
                let rate = self.network.link(route.hops[0].link).rate.bits_per_second() as f64;
                route.hops.len() as f64 * per_ns(rate, frame.get().max(1) as f64)
            })
            .sum();
        let most = packet_hops as f64;
        let share = Share(if in_bursts > most / 2.0 { most / 2.0 / in_bursts } else { 1.0 });
        let left = most - in_bursts.min(most / 2.0);
        let affordable = left / (earned + filled).max(f64::MIN_POSITIVE);
        let end = if affordable >= end as f64 { end } else { (affordable as i64).max(lead + SHORTEST) };
        Plan { end, share }
    }
}

/// Limits of a run.
#[derive(Clone, Copy)]
struct Plan {
    /// Time when all senders have stopped, in ns.
    end: i64,
    share: Share,
}

/// Of each burst, what is sent.
#[derive(Clone, Copy)]
struct Share(f64);

impl Share {
    fn of(self, bytes: u64) -> u64 {
        // A product would lose digits of bursts that are sent as a whole.
        if self.0 >= 1.0 { bytes } else { (bytes as f64 * self.0) as u64 }
    }
}

fn time(nanos: i64) -> Time {
    Time::from_nanos(u64::try_from(nanos).unwrap_or(0).min(Time::MAX.as_nanos()))
}
