//! Scenarios: the input of a simulation, as plain values without behaviour.
//!
//! A [`Scenario`] is a network, the operation of its ports and hosts, its traffic, and its failures. It is the
//! content of a scenario file once it is read (`formats`), the input of the simulator (`sim`), and the value that
//! tests build by hand.
//!
//! Nothing here draws a random number or knows how a packet moves; [`Scenario::validate`] reports values without a
//! meaning for a run.

mod after;
mod altered;
mod deadline;
mod forward;
mod jitter;
mod jobs;
mod memory;
mod ports;
mod requests;
mod schedule;
mod sharing;
mod sizes;
mod support;
mod tenants;
mod traffic;
mod transport;
mod validate;
mod vms;

pub use after::{DependentFlows, Onward};
pub use deadline::{Deadline, DeadlineError};
pub use forward::FastForward;
pub use jitter::{Jitter, JitterDistribution, PacketOrder};
pub use jobs::{
    Collective, CollectiveError, CollectiveExchange, Dependency, GraphError, Job, JobError, JobGraph, JobOperation,
    JobProgress, MAX_OPERATIONS, MAX_RANKS, OperationAction, OperationStep, WaitUntil,
};
pub use ports::{Buffering, Discipline, Ecn, PortBehaviour, PortEcn, Red, SharedService};
pub use requests::{Rpc, RpcServer};
pub use schedule::{Period, Schedule, ScheduleError};
pub use sharing::{
    BrokerAt, ElasticSwitch, Eyeq, FabricBrokerAt, HostSchemeConfig, MessageFaults, Parley, SchemeOf, Sharing,
    SharingChange, SharingError, SharingEvent, StaticLimits,
};
pub use sizes::{FlowSizes, PUBLISHED, SizesError};
pub use tenants::{
    Bursts, Competitor, FabricSettings, Guaranteed, LatencyTenant, LimitedTraffic, Maximum, Minimum, OfContract,
    PairDemand, SharingTenant, Tenants, TenantsError, Weight,
};
pub use traffic::{
    Copies, FlowArrivals, FlowEndpoints, FlowSpec, OnOff, PacketKind, Reliable, SendSchedule, StartPhase, Traffic,
    Workload,
};
pub use transport::{Pacing, TransportConfig};
pub use validate::{MAX_ACTORS, MAX_HOP, PortError, ScenarioError, TrafficError, WIRE_OVERHEAD};
pub use vms::{Endpoint, ScenarioVm, VmError};

pub use wayleave_schemes::transports::{Congestion, Routing};

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_topology::{Link, LinkId, Network, NodeId, NodeKind};
use wayleave_units::{Rate, Time};

/// One run of the simulator, but for its seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// For reports.
    pub name: String,
    /// The network.
    pub network: Arc<Network>,
    /// Simulated time.
    pub duration: Time,
    /// Nothing that is sent before is counted in the statistics.
    pub warmup: Time,
    /// The ports of switches.
    pub switches: PortBehaviour,
    /// The ports of hosts.
    pub hosts: PortBehaviour,
    /// Per link, the rate that latency contracts have reserved in the queues above all weights, as the controller
    /// sends it to the port; empty if there are none.
    pub reserved: Vec<Rate>,
    /// Switches whose ports share one service (Loko); all others are output-queued.
    pub shared_services: Vec<SharedService>,
    /// Part of a node's jitter that each packet takes.
    pub jitter: Jitter,
    /// Spreading of packets over paths of equal length.
    pub routing: Routing,
    /// Transport of reliable flows, unless their traffic defines its own.
    pub transport: TransportConfig,
    /// Sharing of hosts' sending and receiving rates among services; without it nothing limits transports and
    /// sources.
    pub sharing: Option<Sharing>,
    /// Virtual machines, which traffic may be between instead of hosts.
    pub vms: Vec<ScenarioVm>,
    /// Traffic of the scenario.
    pub traffic: Vec<Traffic>,
    /// Failures and repairs, in order of time.
    pub outages: Vec<Outage>,
    /// Records beyond the usual statistics.
    pub record: RecordConfig,
    /// Fast-forward: steady traffic is skipped instead of simulated packet by packet.
    pub fast_forward: Option<FastForward>,
}

impl Scenario {
    /// A scenario without traffic, in which everything is as it is by default: first come first served, buffers as
    /// built, one path per flow, no warm-up.
    pub fn new(name: &str, network: Arc<Network>, duration: Time) -> Self {
        Self {
            name: name.to_owned(),
            network,
            duration,
            warmup: Time::ZERO,
            switches: PortBehaviour::default(),
            hosts: PortBehaviour::default(),
            reserved: Vec::new(),
            shared_services: Vec::new(),
            jitter: Jitter::default(),
            routing: Routing::ecmp(),
            transport: TransportConfig::default(),
            sharing: None,
            vms: Vec::new(),
            traffic: Vec::new(),
            outages: Vec::new(),
            record: RecordConfig::default(),
            fast_forward: None,
        }
    }

    /// The name of an endpoint: of its host, or of the virtual machine.
    ///
    /// # Panics
    /// If the host is not of the scenario's network.
    pub fn name_of(&self, endpoint: Endpoint) -> &str {
        let vm = endpoint.vm().and_then(|vm| self.vms.get(vm));
        vm.map_or_else(|| self.network.node(endpoint.host).name.as_str(), |vm| vm.name.as_str())
    }

    /// Returns the role that the hosts' schemes need at the switches' queues of this number: that of the scheme whose
    /// traffic is in the queue, otherwise the first one that needs any.
    pub fn core_of_queue(&self, queue: u8) -> Option<Ecn> {
        let sharing = self.sharing.as_ref()?;
        let core = |scheme: usize| sharing.schemes().nth(scheme).and_then(HostSchemeConfig::core);
        self.schemes_in(queue).into_iter().find_map(core).or_else(|| sharing.schemes().find_map(HostSchemeConfig::core))
    }

    /// Returns the rate of each link for one of the hosts' schemes: the line. If weighted queues are below strict
    /// ones and the scheme divides configured capacities, it is the share of its traffic's queues, by weights, of the
    /// unreserved rate.
    pub fn left_for(&self, scheme: usize) -> Vec<Rate> {
        let kind = self.sharing.as_ref().and_then(|sharing| sharing.schemes().nth(scheme));
        if !kind.is_some_and(HostSchemeConfig::divides_capacity) {
            return self.network.links().map(|(_, link)| link.rate).collect();
        }
        let is_own = |queue: usize| u8::try_from(queue).is_ok_and(|queue| self.schemes_in(queue).contains(&scheme));
        let part = |ports: &PortBehaviour| {
            let Discipline::StrictOverWeighted { strict, weights } = &ports.discipline else { return None };
            let own = weights.iter().enumerate().filter(|(at, _)| is_own(usize::from(*strict) + at));
            let own: u64 = own.map(|(_, &weight)| u64::from(weight)).sum();
            Some((own, weights.iter().map(|&weight| u64::from(weight)).sum::<u64>()))
        };
        let (switches, hosts) = (part(&self.switches), part(&self.hosts));
        let left = |(id, link): (LinkId, &Link)| {
            let part = match self.network.node(link.from).kind {
                NodeKind::Host => hosts,
                NodeKind::Switch => switches,
            };
            let Some((own, all)) = part.filter(|&(own, _)| own > 0) else { return link.rate };
            let rate = u128::from(self.residual(id).bits_per_second()) * u128::from(own) / u128::from(all.max(1));
            Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
        };
        self.network.links().map(left).collect()
    }

    /// The numbers of the hosts' schemes whose traffic is in queues of this number: in order, each once.
    pub(crate) fn schemes_in(&self, queue: u8) -> BTreeSet<usize> {
        let Some(sharing) = &self.sharing else { return BTreeSet::new() };
        let lowest = self.lowest_queue();
        let is_here = |traffic: &&Traffic| {
            let listed = match &traffic.workload {
                Workload::Listed { flows, .. } => flows.iter().any(|flow| flow.queue == Some(queue)),
                Workload::Packets { .. } | Workload::Flows(_) | Workload::Job(_) => false,
            };
            listed || traffic.queue.unwrap_or(lowest) == queue
        };
        let scheme = |traffic: &Traffic| traffic.service.as_ref().map_or(0, |service| sharing.scheme_of(service));
        self.traffic.iter().filter(is_here).map(scheme).collect()
    }

    /// R': what nothing has reserved of a link.
    ///
    /// # Panics
    /// If the link is not of the scenario's network.
    pub fn residual(&self, link: LinkId) -> Rate {
        let reserved = self.reserved.get(link.index()).map_or(0, |reserved| reserved.bits_per_second());
        Rate::from_bits_per_second(self.network.link(link).rate.bits_per_second().saturating_sub(reserved))
    }

    /// Returns the queue of traffic that names none: the lowest of any port, so that it does not precede contracts.
    /// Ports that serve all packets as one queue have queue 0 only.
    pub fn lowest_queue(&self) -> u8 {
        let count = |(id, link): (LinkId, &Link)| {
            let ports = match self.network.node(link.from).kind {
                NodeKind::Host => &self.hosts,
                NodeKind::Switch => &self.switches,
            };
            match ports.discipline {
                Discipline::Fifo | Discipline::SmallestRemainingFirst => 1,
                _ => self.network.queues(id).len(),
            }
        };
        let most = self.network.links().map(count).max().unwrap_or(1);
        u8::try_from(most.saturating_sub(1)).unwrap_or(u8::MAX)
    }
}

/// Something that fails, or works again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Time of the event.
    pub at: Time,
    /// Element that fails or is repaired.
    pub what: Element,
    /// Failure or repair.
    pub change: ElementChange,
}

/// Element that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// One directed link: packets on it, and packets that wait for it, are lost.
    Link(LinkId),
    /// A switch with all its links.
    Switch(NodeId),
}

/// Event of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementChange {
    /// It fails; paths avoid it at once.
    Fails,
    /// It fails silently: arriving packets are lost, and paths continue to use it until something else changes them.
    /// Its repair is silent as well.
    FailsSilently,
    /// It works again.
    Works,
}

/// Configuration of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordConfig {
    /// Throughput of every traffic and level of every port, over intervals of this length.
    pub series: Option<Time>,
    /// Maximum number of packet events in a trace: the last ones.
    pub trace: Option<u64>,
    /// Measure promises: the bytes of windows in flight on every link, and the lag of guarantees to receive.
    pub promises: bool,
    /// With [`Self::promises`]: from when on it is counted what pairs carry along which path, with which weights.
    pub carried_from: Time,
}
