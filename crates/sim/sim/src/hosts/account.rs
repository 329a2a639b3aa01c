//! Counts at the host, for the outcome of a run.

use wayleave_contracts::{Direction, Policy, PolicyLevel};
use wayleave_scenarios::{Scenario, SharingChange};
use wayleave_schemes::services::Services;
use wayleave_stack::TunnelCounts;
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Bytes, Rate};

use super::carried_bytes::CarriedBytes;
use super::guarantee::minimum;
use super::pair::Pair;
use super::promises::Lags;
use crate::clock::{self, Instant};
use crate::stats::{Lag, Levels, Series, Shortfall};

/// No service can be called this: names have no spaces.
const BEST_EFFORT: &str = "best effort";

/// No rack.
const NO_RACK: u32 = u32::MAX;

/// Counters.
#[derive(Debug)]
pub(crate) struct Account {
    names: Vec<String>,
    hosts: Vec<NodeId>,
    racks: Vec<NodeId>,
    /// Per host.
    rack_of: Vec<u32>,
    /// Rate of each machine's link: the rate of a class without a limit.
    line: Vec<Rate>,
    /// Per host and class.
    machines: Vec<Counts>,
    /// Per rack and class: what crosses the links to other switches.
    crossing: Vec<Counts>,
    messages: MessageCounts,
    probes: MessageCounts,
    tunnels: Vec<TunnelOutcome>,
    interval: Option<Instant>,
    /// Shortfalls of guarantees, transmitting and receiving, per host and class; empty if they are not recorded.
    shortfalls: Vec<[Option<Box<Shortfall>>; 2]>,
    /// Start of the interval in which they are measured.
    since: Instant,
}

/// Of one service at one place.
#[derive(Clone, Debug, Default)]
struct Counts {
    sent: u64,
    received: u64,
    drops: u64,
    path_changes: u64,
    transmit: Option<Series>,
    receive: Option<Series>,
    limit: Option<Levels>,
}

/// Result of sharing by hosts.
#[derive(Clone, Debug)]
pub struct SharingOutcome {
    /// Best effort, and then all services in the order of their names.
    pub services: Vec<ServiceShare>,
    /// Messages of machines and brokers to others. Messages between a machine and its own broker are not counted.
    pub messages: MessageCounts,
    /// Probes as they left; an answer that was lost counts as lost with them.
    pub probes: MessageCounts,
    /// Traffic of tunnels, in the order in which their pairs were forgotten; the last are those that were open at the
    /// end. Counted from the start of the run.
    pub tunnels: Vec<TunnelOutcome>,
    /// The most that pairs with windows and minima had in flight on each link, if promises are recorded. Links of which that is nothing are left out.
    pub in_flight: Vec<(LinkId, Bytes)>,
    /// Traffic of pairs along each path, if promises are recorded.
    pub carried: Vec<CarriedBytes>,
}

/// Traffic of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunnelOutcome {
    /// Its sending host.
    pub from: NodeId,
    /// Its receiving host.
    pub to: NodeId,
    /// The service at its sender; `None` is best effort.
    pub service: Option<String>,
    /// Bytes that came in, went out, were dropped and are held.
    pub counts: TunnelCounts,
}

impl SharingOutcome {
    /// Name of traffic that belongs to no service.
    pub const BEST_EFFORT: &'static str = BEST_EFFORT;

    /// Returns a service's share, by its name.
    pub fn service(&self, name: &str) -> Option<&ServiceShare> {
        self.services.iter().find(|service| service.name == name)
    }
}

/// Share of one service.
#[derive(Clone, Debug)]
pub struct ServiceShare {
    /// Its name.
    pub name: String,
    /// At each machine that has services, in the order of the network's hosts.
    pub machines: Vec<MachineShare>,
    /// At each rack's links to other switches, in the order of the network's switches.
    pub racks: Vec<RackShare>,
}

/// A service at a machine. Bytes are those on the wire of the host's link.
#[derive(Clone, Debug)]
pub struct MachineShare {
    /// The machine.
    pub host: NodeId,
    /// Bytes that its limiters let through.
    pub sent: Bytes,
    /// Bytes that arrived.
    pub received: Bytes,
    /// Packets that found too many before them that waited for tokens.
    pub drops: u64,
    /// Packets that left by another path than the one of their pair before. A pair with several flows may have several paths in turn.
    pub path_changes: u64,
    /// Bytes sent, over time, if recorded.
    pub transmit: Option<Series>,
    /// Bytes that arrived, over time, if recorded.
    pub receive: Option<Series>,
    /// Shortfall of its guarantee to transmit, if it has one and series are recorded. Data that waits for tokens or
    /// for the interface counts as demand.
    pub transmit_shortfall: Option<Shortfall>,
    /// Shortfall of its guarantee to receive. Data that waits at its senders counts as demand.
    pub receive_shortfall: Option<Shortfall>,
    /// Lag of arrivals behind the guarantee to receive, in every window in which a pair had data to send there, if
    /// promises are recorded.
    pub receive_lag: Option<Lag>,
    /// The rate of its root limiter in bit/s over time, if that is recorded and there was a limit; the rate of the host's link
    /// where it had none.
    pub limit: Option<Levels>,
}

/// A service at the links between a rack and other switches. Bytes are those on the wire of the host's link.
#[derive(Clone, Debug)]
pub struct RackShare {
    /// The rack's switch.
    pub switch: NodeId,
    /// To hosts of other racks, as it left its hosts.
    pub sent: Bytes,
    /// From hosts of other racks, as it arrived at its hosts.
    pub received: Bytes,
    /// Bytes sent, over time, if recorded.
    pub transmit: Option<Series>,
    /// Bytes that arrived, over time, if recorded.
    pub receive: Option<Series>,
}

/// Messages of machines and brokers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts {
    /// Packets.
    pub sent: u64,
    /// Of these, lost in the network.
    pub lost: u64,
    /// On the wire of their first link.
    pub bytes: Bytes,
}

impl Account {
    pub(super) fn new(
        scenario: &Scenario,
        services: &Services,
        hosts: &[NodeId],
        switch_of: impl Fn(NodeId) -> Option<NodeId>,
    ) -> Self {
        let network = &scenario.network;
        let switches: Vec<Option<NodeId>> = hosts.iter().map(|&host| switch_of(host)).collect();
        let racks: Vec<NodeId> = network.switches().filter(|&switch| switches.contains(&Some(switch))).collect();
        let place = |switch: Option<NodeId>| {
            let at = racks.iter().position(|&rack| Some(rack) == switch);
            at.map_or(NO_RACK, |at| at as u32)
        };
        let name = |class| services.name(class).unwrap_or(BEST_EFFORT).to_owned();
        let names: Vec<String> = services.classes().map(name).collect();
        let shortfalls = shortfalls(scenario, &names, hosts);
        let line = |&host: &NodeId| {
            let rates = network.links_from(host).iter().map(|&up| network.link(up).rate);
            rates.fold(Rate::ZERO, |sum, rate| sum.checked_add(rate).unwrap_or(Rate::MAX))
        };
        Self {
            rack_of: switches.into_iter().map(place).collect(),
            line: hosts.iter().map(line).collect(),
            machines: vec![Counts::default(); hosts.len() * names.len()],
            crossing: vec![Counts::default(); racks.len() * names.len()],
            hosts: hosts.to_vec(),
            racks,
            names,
            messages: MessageCounts::default(),
            probes: MessageCounts::default(),
            tunnels: Vec::new(),
            interval: scenario.record.series.map(clock::from_time),
            shortfalls,
            since: 0,
        }
    }

    /// A pair's bytes leave its host.
    pub(super) fn sent(&mut self, pair: &Pair, bytes: u32, now: Instant) {
        let interval = self.interval;
        let add = |counts: &mut Counts| {
            counts.sent += u64::from(bytes);
            record(&mut counts.transmit, interval, bytes, now);
        };
        add(&mut self.machines[pair.from_place as usize]);
        let [from, to] = [pair.sender, pair.receiver].map(|host| self.rack_of[host as usize]);
        if from != to && from != NO_RACK {
            let class = pair.from_place as usize % self.names.len();
            add(&mut self.crossing[from as usize * self.names.len() + class]);
        }
    }

    /// A pair's bytes arrive.
    pub(super) fn received(&mut self, pair: &Pair, bytes: u32, now: Instant) {
        let interval = self.interval;
        let add = |counts: &mut Counts| {
            counts.received += u64::from(bytes);
            record(&mut counts.receive, interval, bytes, now);
        };
        add(&mut self.machines[pair.to_place as usize]);
        let [from, to] = [pair.sender, pair.receiver].map(|host| self.rack_of[host as usize]);
        if from != to && to != NO_RACK {
            let class = pair.to_place as usize % self.names.len();
            add(&mut self.crossing[to as usize * self.names.len() + class]);
        }
    }

    /// A packet takes another path than the one of its pair before.
    pub(super) fn moved(&mut self, pair: &Pair) {
        self.machines[pair.from_place as usize].path_changes += 1;
    }

    /// A packet found too many that waited.
    pub(super) fn limited(&mut self, place: u32) {
        self.machines[place as usize].drops += 1;
    }

    /// A root limiter is set or lifted.
    pub(super) fn limit(&mut self, place: u32, rate: Option<Rate>, now: Instant) {
        let Some(interval) = self.interval else { return };
        let line = self.line[place as usize / self.names.len()];
        let limit = &mut self.machines[place as usize].limit;
        if limit.is_none() && rate.is_none() {
            return;
        }
        let levels = limit.get_or_insert_with(|| {
            let mut levels = Levels::new(interval);
            levels.set(0, line.bits_per_second());
            levels
        });
        levels.set(now, rate.unwrap_or(line).bits_per_second());
    }

    pub(super) fn message(&mut self, bytes: u32) {
        self.messages.sent += 1;
        self.messages.bytes += Bytes::new(u64::from(bytes));
    }

    pub(super) fn message_lost(&mut self) {
        self.messages.lost += 1;
    }

    /// A probe is sent, or lost where it would have been.
    pub(super) fn probe(&mut self, bytes: u32, is_lost: bool) {
        self.probes.sent += 1;
        self.probes.lost += u64::from(is_lost);
        self.probes.bytes += Bytes::new(u64::from(bytes));
    }

    pub(crate) fn probe_lost(&mut self) {
        self.probes.lost += 1;
    }

    pub(super) fn tunnel(&mut self, tunnel: TunnelOutcome) {
        self.tunnels.push(tunnel);
    }

    /// The warm-up is over. Series keep what they have.
    pub(super) fn forget(&mut self) {
        for (shortfalls, counts) in self.shortfalls.iter_mut().zip(&self.machines) {
            for (shortfall, got) in shortfalls.iter_mut().zip([counts.sent, counts.received]) {
                if let Some(shortfall) = shortfall {
                    shortfall.forget(got);
                }
            }
        }
        for counts in self.machines.iter_mut().chain(&mut self.crossing) {
            (counts.sent, counts.received, counts.drops, counts.path_changes) = (0, 0, 0, 0);
        }
        self.messages = MessageCounts::default();
        self.probes = MessageCounts::default();
    }

    /// Returns the interval at which shortfalls of guarantees are measured, if they are.
    pub(super) fn measures_guarantees(&self) -> Option<Instant> {
        self.interval.filter(|_| !self.shortfalls.is_empty())
    }

    /// An interval ends: what guarantees of this policy owed and missed in it. `waiting`: what was wanted and not sent, per
    /// host and class, from there and to there.
    pub(super) fn measure_guarantees(&mut self, policy: &Policy, waiting: &[[u64; 2]], now: Instant) {
        let span = (self.since, now);
        let minima: Vec<[u64; 2]> =
            self.names.iter().map(|name| Direction::ALL.map(|direction| minimum(policy, direction, name))).collect();
        let places = self.shortfalls.iter_mut().zip(&self.machines).zip(waiting).zip(minima.iter().cycle());
        for (((shortfalls, counts), waiting), rates) in places {
            let got = [counts.sent, counts.received];
            for (at, shortfall) in shortfalls.iter_mut().enumerate() {
                if let Some(shortfall) = shortfall {
                    shortfall.close(span, rates[at], got[at], waiting[at]);
                }
            }
        }
        self.since = now;
    }

    pub(super) fn outcome(self, lags: Lags) -> SharingOutcome {
        let (classes, hosts, racks) = (self.names.len(), self.hosts, self.racks);
        let (mut shortfalls, mut lags) = (self.shortfalls.into_iter(), lags.into_iter());
        let mut machines: Vec<Vec<MachineShare>> = vec![Vec::new(); classes];
        for (place, counts) in self.machines.into_iter().enumerate() {
            let Counts { sent, received, drops, path_changes, transmit, receive, limit } = counts;
            let (sent, received) = (Bytes::new(sent), Bytes::new(received));
            let host = hosts[place / classes];
            let [transmit_shortfall, receive_shortfall] =
                shortfalls.next().unwrap_or_default().map(|shortfall| shortfall.map(|shortfall| *shortfall));
            machines[place % classes].push(MachineShare {
                host,
                sent,
                received,
                drops,
                path_changes,
                transmit,
                receive,
                transmit_shortfall,
                receive_shortfall,
                receive_lag: lags.next().flatten().map(|lag| *lag),
                limit,
            });
        }
        let mut crossing: Vec<Vec<RackShare>> = vec![Vec::new(); classes];
        for (place, counts) in self.crossing.into_iter().enumerate() {
            let Counts { sent, received, transmit, receive, .. } = counts;
            let (sent, received) = (Bytes::new(sent), Bytes::new(received));
            let switch = racks[place / classes];
            crossing[place % classes].push(RackShare { switch, sent, received, transmit, receive });
        }
        let services = self.names.into_iter().zip(machines.into_iter().zip(crossing));
        let services = services.map(|(name, (machines, racks))| ServiceShare { name, machines, racks });
        SharingOutcome {
            services: services.collect(),
            messages: self.messages,
            probes: self.probes,
            tunnels: self.tunnels,
            in_flight: Vec::new(),
            carried: Vec::new(),
        }
    }
}

/// Creates the records of shortfalls, transmitting and receiving, per host and class. There is one for each minimum
/// of a machine policy, also a later one, for a service at the host. Empty without any minimum, or if no series are
/// recorded.
fn shortfalls(scenario: &Scenario, names: &[String], hosts: &[NodeId]) -> Vec<[Option<Box<Shortfall>>; 2]> {
    let (Some(sharing), Some(interval)) = (&scenario.sharing, scenario.record.series) else { return Vec::new() };
    let later = sharing.events.iter().filter_map(|event| match &event.what {
        SharingChange::Policy(policy) if policy.level() == PolicyLevel::Machine => Some(&**policy),
        _ => None,
    });
    let policies: Vec<&Policy> = std::iter::once(&sharing.machine).chain(later).collect();
    let has = |direction: Direction, name: &str| policies.iter().any(|policy| minimum(policy, direction, name) > 0);
    let guaranteed: Vec<[bool; 2]> =
        names.iter().map(|name| Direction::ALL.map(|direction| has(direction, name))).collect();
    if !guaranteed.iter().flatten().any(|&has| has) {
        return Vec::new();
    }
    let new = || Box::new(Shortfall::new(clock::from_time(interval)));
    let at =
        |host| names.iter().zip(&guaranteed).map(move |(name, has)| has.map(|has| has && sharing.is_at(name, host)));
    hosts.iter().flat_map(|&host| at(host)).map(|has| has.map(|has| has.then(new))).collect()
}

fn record(series: &mut Option<Series>, interval: Option<Instant>, bytes: u32, now: Instant) {
    if let Some(interval) = interval {
        series.get_or_insert_with(|| Series::new(interval)).add(now, u64::from(bytes));
    }
}
