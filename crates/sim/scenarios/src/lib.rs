//! Scenarios: what is simulated, as plain values without behaviour.
//!
//! A [`Scenario`] is a network, how its ports and hosts work, who sends what to whom, and what fails when. It is what a
//! scenario file means once it is read (`formats`), what the simulator runs (`sim`), and what tests build by hand.
//! Nothing of it draws a random number or knows how a packet moves; [`Scenario::validate`] says what no run could mean.

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
pub use jitter::{Jitter, JitterDistribution, Order};
pub use jobs::{
    Action, Collective, CollectiveError, Dependency, Exchange, Graph, GraphError, Job, JobError, MAX_OPERATIONS,
    MAX_RANKS, Operation, Progress, Step, WaitUntil,
};
pub use ports::{Buffering, Discipline, Ecn, PortBehaviour, PortEcn, Red, SharedService};
pub use requests::{Rpc, Server};
pub use schedule::{Period, Schedule, ScheduleError};
pub use sharing::{
    BrokerAt, ElasticSwitch, Eyeq, FabricBrokerAt, HostSchemeConfig, MessageFaults, Parley, SchemeOf, Sharing,
    SharingChange, SharingError, SharingEvent, StaticLimits,
};
pub use sizes::{FlowSizes, PUBLISHED, SizesError};
pub use tenants::{
    Bursts, Competitor, FabricSettings, Guaranteed, LatencyTenant, Maximum, Minimum, OfContract, PairDemand,
    SharingTenant, Tenants, TenantsError, Weight,
};
pub use traffic::{
    Arrivals, Copies, FlowEndpoints, FlowSpec, OnOff, PacketKind, Phase, Reliable, SendSchedule, Traffic, Workload,
};
pub use transport::{Pacing, Transport};
pub use validate::{MAX_ACTORS, MAX_HOP, PortError, ScenarioError, TrafficError, WIRE_OVERHEAD};
pub use vms::{Endpoint, Vm, VmError};

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
    /// Where it happens.
    pub network: Arc<Network>,
    /// How long it is simulated.
    pub duration: Time,
    /// Nothing that is sent before is counted in the statistics.
    pub warmup: Time,
    /// The ports of switches.
    pub switches: PortBehaviour,
    /// The ports of hosts.
    pub hosts: PortBehaviour,
    /// Per link, what contracts of latency have reserved of it in the queues that go before all weights, as the controller tells its port; empty
    /// where there are none.
    pub reserved: Vec<Rate>,
    /// Switches whose ports share one service (Loko); all others are output-queued.
    pub shared_services: Vec<SharedService>,
    /// How much of the jitter of a node each packet takes.
    pub jitter: Jitter,
    /// How packets are spread over paths of equal length.
    pub routing: Routing,
    /// How reliable flows are carried, where their traffic does not say otherwise.
    pub transport: Transport,
    /// How hosts share what they send and receive among services; without it nothing limits what transports and sources
    /// send.
    pub sharing: Option<Sharing>,
    /// Virtual machines, which traffic may be between instead of hosts.
    pub vms: Vec<Vm>,
    /// Who sends what.
    pub traffic: Vec<Traffic>,
    /// What fails and is repaired, in order of time.
    pub outages: Vec<Outage>,
    /// What is recorded beyond the usual statistics.
    pub record: Record,
    /// Whether steady traffic is skipped instead of simulated packet by packet.
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
            transport: Transport::default(),
            sharing: None,
            vms: Vec::new(),
            traffic: Vec::new(),
            outages: Vec::new(),
            record: Record::default(),
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

    /// What the hosts' schemes want of the switches' queues of this number: that of a scheme whose traffic is in the queue, otherwise the
    /// first one that wants anything.
    pub fn core_of_queue(&self, queue: u8) -> Option<Ecn> {
        let sharing = self.sharing.as_ref()?;
        let core = |scheme: usize| sharing.schemes().nth(scheme).and_then(HostSchemeConfig::core);
        self.schemes_in(queue).into_iter().find_map(core).or_else(|| sharing.schemes().find_map(HostSchemeConfig::core))
    }

    /// What one of the hosts' schemes has of each link: the line; or, where weighted queues are below strict ones and the scheme divides capacities that it is
    /// told, what the weights of its traffic's queues give it of what is not reserved above them.
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

    /// The queue of what names none: the lowest that any port has, so that it does not stand before contracts. Ports
    /// that serve all packets as one queue have queue 0 only.
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
    /// When.
    pub at: Time,
    /// What.
    pub what: Element,
    /// Which of both.
    pub change: Change,
}

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// One directed link: what is on it, and what waits for it, is lost.
    Link(LinkId),
    /// A switch with all its links.
    Switch(NodeId),
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It fails; paths avoid it at once.
    Fails,
    /// It fails, and nobody is told: what comes to it is lost, and paths go on over it until something else changes them.
    /// When it works again, nobody is told either.
    FailsSilently,
    /// It works again.
    Works,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Throughput of every traffic and what every port holds, over intervals of this length.
    pub series: Option<Time>,
    /// How many packet events a trace keeps at most: the last ones.
    pub trace: Option<u64>,
    /// Whether it is measured how promises are kept: what windows have in flight on every link, and how far guarantees to receive lag behind.
    pub promises: bool,
    /// With [`Self::promises`]: from when on it is counted what pairs carry along which path, with which weights.
    pub carried_from: Time,
}
