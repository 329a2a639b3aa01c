//! One run: an attack becomes a scenario, and the scenario is simulated.

use wayleave_scenarios::{Discipline, Ends, PacketKind, Phase, Scenario, Traffic};
use wayleave_sim::stats::Histogram;
use wayleave_topology::Route;
use wayleave_units::{Bytes, Time};

use crate::attack::{Attack, Company};
use crate::claim::{Background, ClaimError};
use crate::schedule::{Burst, Then};
use crate::stage::{Stage, nanos, sending};

/// Frames of background that are sent before the first burst: its queues are not empty then.
const LEAD_FRAMES: i64 = 8;

/// In no run is less sent, in ns.
const SHORTEST: i64 = 10_000;

/// After the last packet was sent a run goes on until all have arrived, however late: a packet that is still on its way
/// when the run ends would not be seen. It ends by itself when nothing is left; this is far beyond, in ns.
const DRAIN: i64 = 1_000_000_000_000;

/// What became of one promise's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) promise: usize,
    pub(crate) delay_ps: u64,
    pub(crate) delays: Histogram,
    pub(crate) packets: u64,
    pub(crate) drops: u64,
}

/// What a run shows.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) seen: Vec<Seen>,
    pub(crate) hops: u64,
}

impl Stage<'_> {
    /// Makes an attack.
    pub(crate) fn run(&self, attack: &Attack, packet_hops: u64) -> Result<Shown, ClaimError> {
        if let Some(number) = attack.victim().filter(|&victim| victim >= self.ways.len()) {
            return Err(ClaimError::NoPromise { number, promises: self.ways.len() });
        }
        let (scenario, owners) = self.scenario(attack, packet_hops);
        if owners.iter().all(Option::is_none) {
            return Ok(Shown { seen: Vec::new(), hops: 0 });
        }
        let outcome =
            wayleave_sim::run(&scenario, attack.seed, |_| true).map_err(|error| ClaimError::Run(Box::new(error)))?;
        let mut seen: Vec<Seen> = Vec::new();
        for flow in outcome.flows {
            let Some(promise) = owners.get(flow.traffic).copied().flatten() else { continue };
            debug_assert_eq!(flow.sent, flow.delivered + flow.drops, "the run has come to its end");
            seen.push(Seen {
                promise,
                delay_ps: flow.delay.max().unwrap_or(0),
                delays: flow.delay,
                packets: flow.delivered,
                drops: flow.drops,
            });
        }
        Ok(Shown { seen, hops: outcome.hops })
    }

    /// The scenario, and whose each of its traffics is; `None` is background.
    fn scenario(&self, attack: &Attack, packet_hops: u64) -> (Scenario, Vec<Option<usize>>) {
        let mut bursts = self.schedule(attack);
        bursts.retain(|burst| self.frame(burst.promise, attack.frames).is_some());
        let background = self.background(attack);
        let lead = self.lead(&background);
        let first = bursts.iter().map(|burst| burst.start).min().unwrap_or(0);
        bursts.iter_mut().for_each(|burst| burst.start += lead - first);
        let end_of = |burst: &Burst| burst.start + nanos(self.claim.promises[burst.promise].limit());
        let end = bursts.iter().map(end_of).max().unwrap_or(lead) + SHORTEST;
        let plan = self.fitted(attack, &bursts, &background, (lead, end), packet_hops);

        let mut scenario = Scenario::new("verify", self.network.clone(), time(plan.end + DRAIN));
        scenario.switches.discipline = Discipline::StrictPriority;
        scenario.hosts.discipline = Discipline::StrictPriority;
        let mut owners = Vec::new();
        for (number, (route, frame)) in background.iter().enumerate() {
            scenario.traffic.push(self.filling(number, route, *frame, (lead, plan.end)));
            owners.push(None);
        }
        for (number, burst) in bursts.iter().enumerate().filter(|(_, burst)| burst.start < plan.end) {
            scenario.traffic.extend(self.bursting(number, burst, attack, plan));
            owners.push(Some(burst.promise));
        }
        (scenario, owners)
    }

    /// The routes that fill the queues below.
    fn background(&self, attack: &Attack) -> Vec<(Route, Bytes)> {
        if attack.company == Company::Quiet || self.claim.background == Background::Dropped {
            return Vec::new();
        }
        let routes = match attack.victim() {
            Some(victim) => self.fill.routes(self.ways[victim].hops.iter().map(|stop| stop.link)),
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
        let on_the_way = links().map(|link| {
            let nodes = [link.from, link.to].map(|node| self.network.node(node));
            let inside = nodes.into_iter().map(|node| node.processing + node.jitter).sum::<Time>();
            nanos(link.propagation + inside) + sending(frame.get(), link.rate)
        });
        on_the_way.sum::<i64>() + LEAD_FRAMES * slowest
    }

    fn filling(&self, number: usize, route: &Route, frame: Bytes, (lead, end): (i64, i64)) -> Traffic {
        let first = self.network.link(route.hops[0].link);
        let last = self.network.link(route.hops[route.hops.len() - 1].link);
        let ends = Ends::Pairs(vec![(first.from, last.to)]);
        let kind = PacketKind::ConstantRate { rate: first.rate };
        let mut traffic = Traffic::packets(&format!("background {number}"), ends, kind, frame);
        traffic.start = time(lead - self.transit(route, frame));
        traffic.stop = Some(time(end));
        traffic.route = Some(route.clone());
        traffic
    }

    fn bursting(&self, number: usize, burst: &Burst, attack: &Attack, plan: Plan) -> Option<Traffic> {
        let terms = &self.claim.promises[burst.promise];
        let frame = self.frame(burst.promise, attack.frames)?;
        let (from, to) = terms.ends(&self.network)?;
        let kind = PacketKind::TokenBucket {
            rate: terms.rate,
            // A smaller burst is within the contract, too.
            burst: Bytes::new(plan.share.of(terms.burst.get()).max(frame)),
            phase: Phase::Together,
        };
        let name = format!("burst {number}");
        let mut traffic = Traffic::packets(&name, Ends::Pairs(vec![(from, to)]), kind, Bytes::new(frame));
        traffic.start = time(burst.start);
        traffic.stop = Some(time(match burst.then {
            Then::Pause => burst.start + 1,
            Then::Rate => plan.end,
        }));
        traffic.route = Some(terms.route.clone());
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
        let hops = |burst: &Burst| self.ways[burst.promise].hops.len() as f64;
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

/// What a run may have.
#[derive(Clone, Copy)]
struct Plan {
    /// When nobody sends any more, in ns.
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
