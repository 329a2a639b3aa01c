//! Traffic of all tenants: the maximum that contracts allow, always backlogged.

use std::collections::BTreeSet;

use wayleave_contracts::{BestEffortContract, Contract};
use wayleave_topology::{Class, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use super::{Competitor, LatencyTenant, SharingTenant, Tenants, is_pair, members};
use crate::{
    Congestion, FlowArrivals, FlowEndpoints, PacketKind, Reliable, Schedule, StartPhase, Traffic, TransportConfig,
    Workload,
};

/// Least time for which hoses stay in one pattern.
const PATTERN: Time = Time::from_millis(4);

/// Sending pattern of latency tenants: their burst first, and then their rate for some time, until their buckets have
/// to fill again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bursts {
    /// They continue at their rates for 0.8 ms.
    Long,
    /// Hardly anything after a burst: links seem to be free in between.
    Short,
}

impl Bursts {
    /// Returns their sending time.
    const fn on(self) -> Time {
        match self {
            Self::Long => Time::from_micros(800),
            Self::Short => Time::from_micros(50),
        }
    }

    /// Rounds are whole multiples of this step, so that bursts of tenants with different buckets meet again.
    const fn step(self) -> u64 {
        match self {
            Self::Long => 1_000_000,
            Self::Short => 250_000,
        }
    }
}

/// A full frame, without tags.
const FRAME: Bytes = Bytes::new(1_500);
/// uFAB's windows are the only ones: its edge is the transport's congestion control (4.1).
const WINDOW: u32 = 10_000;

/// The window as a multiple of the packets that the fastest line carries in the longest round trip; it is at least [`WINDOW`].
const ROUND_TRIPS_OF_WINDOW: u128 = 2;

/// Configuration of a contract's traffic: service and queue, transport, and endpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct OfContract {
    /// Service in the policy for hosts.
    pub service: String,
    /// The queue of its class.
    pub queue: u8,
    /// Default transport of its flows.
    pub transport: TransportConfig,
    /// Its hosts: the sender and the receiver, or the members.
    pub hosts: Vec<NodeId>,
    /// `true` if only the first may send, and only to the second.
    pub is_pair: bool,
    /// Time that an objective gives each of its flows.
    pub deadline: Option<Time>,
    /// Of a latency contract: its route, and the bucket that its shaper holds it to.
    pub latency: Option<(Route, Rate, Bytes)>,
}

/// A demand of a contract that is not about latency: pairs of its hosts that send without end.
#[derive(Clone, Debug, PartialEq)]
pub struct PairDemand {
    /// The contract.
    pub contract: String,
    /// The name of the pattern, for the traffic.
    pub pattern: &'static str,
    /// Senders with their receivers.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// The times of the demand; always if not given.
    pub active: Option<Schedule>,
}

impl Tenants {
    /// Returns what all tenants send in a run of this length, where contracts have these demands. Bandwidth contracts without a
    /// demand are silent; others without one send as in [`Tenants::senders`]. Pairs of `fill` send best effort without a contract.
    pub fn senders_with(&self, duration: Time, demands: &[PairDemand], fill: Vec<(NodeId, NodeId)>) -> Vec<Traffic> {
        let bandwidth = self.sharing.iter().filter(|tenant| matches!(tenant.contract, Contract::Bandwidth(_)));
        let bandwidth = bandwidth.map(|tenant| tenant.contract.name().to_owned());
        let without = bandwidth.chain(demands.iter().map(|demand| demand.contract.clone())).collect();
        let mut traffic = self.senders(duration, Bursts::Long, &without);
        traffic.extend(demands.iter().filter_map(|demand| {
            let tenant = self.sharing.iter().find(|tenant| tenant.contract.name() == demand.contract)?;
            let name = format!("{} {}", demand.contract, demand.pattern);
            let mut traffic = self.endless(tenant, &name, demand.pairs.clone());
            traffic.active.clone_from(&demand.active);
            Some(traffic)
        }));
        if !fill.is_empty() {
            // Nothing limits the service of latency contracts at its hosts.
            let (name, members) = (self.latency_service(), Vec::new());
            let contract = Contract::BestEffort(BestEffortContract { name, tenant: None, members, max: None });
            let nobody = SharingTenant { contract, within: None, route: None };
            traffic.push(self.endless(&nobody, "without a contract", fill));
        }
        traffic
    }

    /// The names of all contracts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let latency = self.latency.iter().map(|tenant| tenant.contract.name.as_str());
        latency.chain(self.sharing.iter().map(|tenant| tenant.contract.name()))
    }

    /// Returns the configuration of the contract of this name; `None` if there is none.
    pub fn of_contract(&self, name: &str) -> Option<OfContract> {
        if let Some(tenant) = self.latency.iter().find(|tenant| tenant.contract.name == name) {
            let contract = Contract::Latency(tenant.contract.clone());
            let (_, transport) = self.carriage(&contract);
            let queue = tenant.route.hops.first().map_or(0, |hop| hop.queue);
            let latency = Some((tenant.route.clone(), tenant.rate, tenant.burst));
            let (service, hosts) = (self.latency_service(), members(&contract));
            return Some(OfContract { service, queue, transport, hosts, is_pair: true, deadline: None, latency });
        }
        let tenant = self.sharing.iter().find(|tenant| tenant.contract.name() == name)?;
        let (queue, transport) = self.carriage(&tenant.contract);
        Some(OfContract {
            service: name.to_owned(),
            queue,
            transport,
            hosts: members(&tenant.contract),
            is_pair: is_pair(&tenant.contract),
            deadline: match &tenant.contract {
                Contract::Objective(terms) => terms.deadline,
                _ => None,
            },
            latency: None,
        })
    }

    /// Returns the traffic of all tenants in a run of this length. Latency contracts send their whole bursts and then
    /// their rates, together and repeatedly; hoses send in turn around a ring and all to one. Pairs, objectives and
    /// best effort send without end, from each member to the next. Contracts named in `without` are left out.
    pub fn senders(&self, duration: Time, bursts: Bursts, without: &BTreeSet<String>) -> Vec<Traffic> {
        let service = self.latency_service();
        let latency = self.latency.iter().filter(|tenant| !without.contains(&tenant.contract.name));
        let latency = latency.flat_map(|tenant| rounds(tenant, bursts, &service, duration));
        let sharing = self.sharing.iter().filter(|tenant| !without.contains(tenant.contract.name()));
        latency.chain(sharing.flat_map(|tenant| self.shared(tenant, duration))).collect()
    }

    /// Returns the class of a contract, with the tasks that its flows leave to its edge.
    fn class(contract: &Contract) -> Class {
        match contract {
            Contract::Latency(_) => Class::Latency,
            Contract::Bandwidth(_) => Class::Guaranteed,
            Contract::Objective(_) => Class::Objective,
            Contract::BestEffort(_) => Class::BestEffort,
        }
    }

    /// Returns the queue of a contract's packets, and the transport of its flows.
    pub fn carriage(&self, contract: &Contract) -> (u8, TransportConfig) {
        let class = Self::class(contract);
        let transport = match class {
            Class::Guaranteed => {
                let window = self.window();
                TransportConfig {
                    congestion: Congestion::fixed_window(window),
                    initial_window: window,
                    max_window: window,
                    ..TransportConfig::default()
                }
            }
            _ => TransportConfig { congestion: Congestion::dctcp(), ..TransportConfig::default() },
        };
        (self.classes.queue_of(class), transport)
    }

    /// The window of a transport that never waits for acknowledgements before the windows of its pair do, in packets.
    fn window(&self) -> u32 {
        let line = self.links.iter().map(|(link, _)| link.line.bits_per_second()).max().unwrap_or(0);
        let bits = u128::from(line) * u128::from(self.round_trip.as_nanos()) / 1_000_000_000;
        let most = ROUND_TRIPS_OF_WINDOW * bits / u128::from(8 * FRAME.get());
        WINDOW.max(u32::try_from(most).unwrap_or(u32::MAX))
    }

    /// The time for which hoses stay in one pattern in a run of this length.
    pub fn pattern(duration: Time) -> Time {
        PATTERN.max(Time::from_nanos(duration.as_nanos() / 4))
    }

    /// Bandwidth contracts that meet at a host and send there without end, each from one host.
    pub fn receiver_contention(&self, to: NodeId, competitors: &[Competitor]) -> Vec<Traffic> {
        let traffic = |competitor: &Competitor| {
            let tenant = self.sharing.iter().find(|tenant| tenant.contract.name() == competitor.name)?;
            Some(self.endless(tenant, &competitor.name, vec![(competitor.from, to)]))
        };
        competitors.iter().filter_map(traffic).collect()
    }

    /// Returns endless traffic of the contracts with a maximum alone: of each pair, and of each member of a hose or of best
    /// effort to the next.
    pub fn senders_at_maxima(&self) -> Vec<Traffic> {
        let has_max = |tenant: &&SharingTenant| match &tenant.contract {
            Contract::Bandwidth(contract) => contract.max.is_some(),
            Contract::BestEffort(contract) => contract.max.is_some(),
            Contract::Latency(_) | Contract::Objective(_) => false,
        };
        let traffic =
            |tenant: &SharingTenant| self.endless(tenant, tenant.contract.name(), steady_pairs(&tenant.contract));
        self.sharing.iter().filter(has_max).map(traffic).collect()
    }

    fn shared(&self, tenant: &SharingTenant, duration: Time) -> Vec<Traffic> {
        let contract = &tenant.contract;
        let members = members(contract);
        let Some(&first) = members.first() else { return Vec::new() };
        let ring = steady_pairs(contract);
        if is_pair(contract) {
            return vec![self.endless(tenant, contract.name(), ring)];
        }
        if !matches!(contract, Contract::Bandwidth(_)) || members.len() < 3 {
            return vec![self.endless(tenant, contract.name(), ring)];
        }
        let to_one = members.iter().filter(|&&member| member != first).map(|&member| (member, first)).collect();
        let pattern = Self::pattern(duration);
        let patterns = [("around", ring, Time::ZERO), ("to one", to_one, pattern)];
        let traffic = |(what, pairs, from)| {
            let mut traffic = self.endless(tenant, &format!("{} {what}", contract.name()), pairs);
            traffic.active = Some(Schedule::periodic(from, pattern, pattern));
            traffic
        };
        patterns.into_iter().map(traffic).collect()
    }

    fn endless(&self, tenant: &SharingTenant, name: &str, pairs: Vec<(NodeId, NodeId)>) -> Traffic {
        let SharingTenant { contract, route, .. } = tenant;
        let (queue, transport) = self.carriage(contract);
        let mut flows = Reliable::new(FlowArrivals::Once, None);
        flows.transport = Some(transport);
        let mut traffic = Traffic::new(name, FlowEndpoints::Pairs(pairs), Workload::Flows(flows));
        (traffic.service, traffic.queue) = (Some(contract.name().to_owned()), Some(queue));
        traffic.route = route.clone().map(|mut route| {
            route.hops.iter_mut().for_each(|hop| hop.queue = queue);
            route
        });
        traffic
    }
}

/// Returns the pair of a contract, or the pairs of each member with the next one.
fn steady_pairs(contract: &Contract) -> Vec<(NodeId, NodeId)> {
    let members = members(contract);
    let next = |at: usize| (members[at], members[(at + 1) % members.len()]);
    if is_pair(contract) {
        members.first().map(|_| next(0)).into_iter().collect()
    } else {
        (0..members.len()).map(next).collect()
    }
}

/// All that a token bucket lets through, and again as soon as it is full.
fn rounds(tenant: &LatencyTenant, bursts: Bursts, service: &str, duration: Time) -> Vec<Traffic> {
    let LatencyTenant { contract, route, rate, burst } = tenant;
    let refill = u128::from(burst.get()) * 8_000_000_000 / u128::from(rate.bits_per_second().max(1));
    let refill = u64::try_from(refill).unwrap_or(u64::MAX);
    let (on, step) = (bursts.on(), bursts.step());
    let round = on.as_nanos().saturating_add(refill).div_ceil(step).saturating_mul(step);
    let frame = contract.max_frame.unwrap_or(FRAME).min(*burst);
    let at = |number: u64| {
        let kind = PacketKind::TokenBucket { rate: *rate, burst: *burst, phase: StartPhase::Together };
        let ends = FlowEndpoints::Pairs(vec![(contract.from, contract.to)]);
        let mut traffic = Traffic::packets(&format!("{} {number}", contract.name), ends, kind, frame);
        (traffic.route, traffic.queue) = (Some(route.clone()), Some(0));
        traffic.service = Some(service.to_owned());
        traffic.start = Time::from_nanos(round.saturating_mul(number));
        traffic.stop = Some(traffic.start + on);
        traffic
    };
    (0..duration.as_nanos().div_ceil(round)).map(at).collect()
}
