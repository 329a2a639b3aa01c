//! From the behaviour of ports in a scenario to the ports of all links.

use std::collections::HashMap;

use wayleave_scenarios::{Buffering, Discipline, Ecn, Jitter, PortBehaviour, Scenario, Traffic, Workload};
use wayleave_schemes::switches::AnySwitch;
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};
use wayleave_units::{Bytes, Time};

use crate::clock::{self, LineSpeed};
use crate::custom::Custom;
use crate::fabric::{NO_STAMPER, Stamper};
use crate::link::{Link, NO_LIMIT, Port, Target, limit};
use crate::port::{Deficit, Order, Pool, PoolId, QueuedPort, Roles, SelectionTime};

/// A frame's overhead beside its layer-3 packet: Ethernet, preamble, gap (38 B), and six tags.
const FRAME_OVERHEAD: u64 = 38 + 24;

/// Makes the ports of all links.
pub(crate) struct PortsBuilder<'a> {
    scenario: &'a Scenario,
    custom: &'a Custom<'a>,
    pub(crate) ports: Vec<QueuedPort>,
    pub(crate) switches: Vec<AnySwitch>,
    /// Of first-come-first-served ports that write telemetry.
    pub(crate) stampers: Vec<Stamper>,
    /// Per link, the number of its stamper.
    pub(crate) stamper_of: Vec<u32>,
    pub(crate) pools: Vec<Pool>,
    /// Per node: its pool.
    pool_of: HashMap<NodeId, PoolId>,
    /// Queues that are counted for each link.
    pub(crate) stride: usize,
    /// By queue, what the schemes of hosts want of switches.
    cores: Vec<Option<Ecn>>,
}

impl<'a> PortsBuilder<'a> {
    pub(crate) fn new(scenario: &'a Scenario, custom: &'a Custom<'a>) -> Self {
        let queues = |behaviour: &PortBehaviour| match behaviour.discipline.has_one_queue() {
            true => 1,
            false => crate::port::MAX_QUEUES,
        };
        let stride = queues(&scenario.switches).max(queues(&scenario.hosts));
        let (ports, switches, pools) = (Vec::new(), Vec::new(), Vec::new());
        let stamper_of = vec![NO_STAMPER; scenario.network.links().len()];
        let (stampers, pool_of) = (Vec::new(), HashMap::new());
        let cores = (0..crate::port::MAX_QUEUES as u8).map(|queue| scenario.core_of_queue(queue)).collect();
        Self { scenario, custom, ports, switches, stampers, stamper_of, pools, pool_of, stride, cores }
    }

    pub(crate) fn link(&mut self, id: LinkId) -> Link {
        let network = &self.scenario.network;
        let link = network.link(id);
        let behaviour = match network.node(link.from).kind {
            NodeKind::Host => &self.scenario.hosts,
            NodeKind::Switch => &self.scenario.switches,
        };
        let to = network.node(link.to);
        let (target, mut inside) = match to.kind {
            NodeKind::Host => (Target::Host, Time::ZERO),
            NodeKind::Switch => (Target::Switch, to.processing + self.whole_jitter(link.to)),
        };
        // The processing of a sending host (its tagger) is equal before its port and behind it.
        let from = network.node(link.from);
        if from.kind == NodeKind::Host {
            inside += from.processing + self.whole_jitter(link.from);
        }
        let latency = clock::from_time(link.propagation + inside);
        let speed = LineSpeed::new(link.rate);
        let limits = limits(network, id, behaviour);
        let custom: Vec<_> = (0..limits.len() as u8).map(|queue| self.custom.switch(id, queue)).collect();
        let core = self.core_at(link.from, 0);
        let ecn = behaviour.ecn.of(0);
        // The events of a host's port are the turns of its flows.
        let has_telemetry = self.is_telling(link.from, behaviour) || core.is_some();
        let is_plain = behaviour.discipline == Discipline::Fifo
            && !matches!(behaviour.buffering, Buffering::Shared { .. })
            && ecn.or(core.as_ref()).is_none_or(|scheme| !scheme.marks() || scheme.threshold_only().is_some())
            && (!has_telemetry || from.kind == NodeKind::Switch)
            && custom.iter().all(Option::is_none);
        if is_plain {
            let mut plain = Link::new(speed, latency, target, Port::Fifo, limits[0]);
            if let Some(threshold) = ecn.or(core.as_ref()).and_then(Ecn::threshold_only) {
                plain.mark_above = limit(Some(threshold));
            }
            let roles = if has_telemetry { self.roles(id, behaviour, custom) } else { Roles::default() };
            if roles.stamps(0) {
                self.stamper_of[id.index()] = self.stampers.len() as u32;
                self.stampers.push(Stamper::new(roles.place(0)));
            }
            return plain;
        }
        let roles = self.roles(id, behaviour, custom);
        let port = self.port(id, behaviour, &limits, roles);
        if latency > 0 {
            self.ports[port as usize].choice = self.choice(link.from, behaviour, roles);
        }
        Link::new(speed, latency, target, Port::Queued(port), NO_LIMIT)
    }

    /// Returns `true` if the ports of a node write telemetry: by the scenario, or at switches for a path scheme.
    fn is_telling(&self, node: NodeId, behaviour: &PortBehaviour) -> bool {
        let is_switch = self.scenario.network.node(node).kind == NodeKind::Switch;
        behaviour.telemetry || is_switch && self.scenario.routing.reads_telemetry()
    }

    /// Returns the role that host schemes need at the ports of a node: of switches only.
    fn core_at(&self, node: NodeId, queue: usize) -> Option<Ecn> {
        let is_switch = self.scenario.network.node(node).kind == NodeKind::Switch;
        self.cores.get(queue).filter(|_| is_switch)?.clone()
    }

    /// Returns the functions of a port's queues beside queueing: the given ones, otherwise the marking of the
    /// scenario.
    fn roles(&mut self, id: LinkId, behaviour: &PortBehaviour, custom: Vec<Option<AnySwitch>>) -> Roles {
        let mut roles = Roles { first: self.switches.len() as u32, ..Roles::default() };
        let rate = self.scenario.network.link(id).rate;
        let from = self.scenario.network.link(id).from;
        for (queue, custom) in custom.into_iter().enumerate() {
            // Every queue draws its own marks.
            let port = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(id.0) + 1);
            let seed = port ^ (queue as u64) << 56;
            let core = self.core_at(from, queue);
            let marking =
                || behaviour.ecn.of(queue).or(core.as_ref()).map_or(AnySwitch::None, |ecn| ecn.switch(rate, seed));
            let switch = custom.unwrap_or_else(marking);
            if self.is_telling(from, behaviour) || switch.writes_telemetry() {
                roles.stamps |= 1 << queue;
            }
            if switch.sees_everything() {
                roles.sees_all |= 1 << queue;
            }
            self.switches.push(switch);
        }
        roles
    }

    fn port(&mut self, id: LinkId, behaviour: &PortBehaviour, limits: &[u32], roles: Roles) -> u32 {
        let network = &self.scenario.network;
        let link = network.link(id);
        let deficit = |strict: u8, weights: &[u32]| {
            let frame = u32::try_from(link.mtu.get() + FRAME_OVERHEAD).unwrap_or(u32::MAX);
            Order::Deficit(Box::new(Deficit::new(strict, weights, frame, self.scenario.residual(id))))
        };
        let order = match &behaviour.discipline {
            Discipline::Fifo | Discipline::StrictPriority => Order::Strict,
            Discipline::DeficitRoundRobin { weights } => deficit(0, weights),
            Discipline::StrictOverWeighted { strict, weights } => deficit(*strict, weights),
            Discipline::SmallestRemainingFirst => Order::SmallestRemaining(Box::default()),
        };
        let pool = match behaviour.buffering {
            Buffering::Shared { total, alpha } => Some(self.pool(link.from, total, alpha)),
            _ => None,
        };
        self.ports.push(QueuedPort::new(limits, order, pool, roles));
        (self.ports.len() - 1) as u32
    }

    /// Returns the time at which a port chooses, if its link has some latency; without latency it would have to
    /// choose before all packets have come.
    fn choice(&self, from: NodeId, behaviour: &PortBehaviour, roles: Roles) -> SelectionTime {
        // Shared buffers, telemetry and the order of a trace depend on the time at which the port chooses.
        let is_shared = matches!(behaviour.buffering, Buffering::Shared { .. });
        if roles.stamps != 0 || is_shared || self.scenario.record.trace.is_some() {
            return SelectionTime::AtOnce;
        }
        if self.scenario.network.node(from).kind == NodeKind::Switch {
            return SelectionTime::AfterArrivals;
        }
        // The turns of flows are events of their host's port.
        let is_packets = |traffic: &Traffic| matches!(traffic.workload, Workload::Packets { .. });
        let is_plain = self.scenario.sharing.is_none() && self.scenario.jitter == Jitter::Whole;
        if is_plain && self.scenario.traffic.iter().all(is_packets) {
            SelectionTime::BeforeSources
        } else {
            SelectionTime::AtOnce
        }
    }

    /// The jitter of a node that all packets take.
    fn whole_jitter(&self, node: NodeId) -> Time {
        if holds_each(self.scenario, node) { Time::ZERO } else { self.scenario.network.node(node).jitter }
    }

    fn pool(&mut self, node: NodeId, total: Bytes, alpha: f64) -> PoolId {
        let pools = &mut self.pools;
        *self.pool_of.entry(node).or_insert_with(|| {
            pools.push(Pool { total: total.get(), used: 0, alpha });
            PoolId::of(pools.len() - 1)
        })
    }
}

/// Returns `true` if each packet takes a time of its own at a node.
pub(crate) fn holds_each(scenario: &Scenario, node: NodeId) -> bool {
    scenario.jitter != Jitter::Whole
        && scenario.network.node(node).jitter > Time::ZERO
        && !scenario.shared_services.iter().any(|service| service.switch == node)
}

/// The largest frame that any link carries.
pub(crate) fn largest(network: &Network) -> u32 {
    let mtu = network.links().map(|(_, link)| link.mtu.get()).max().unwrap_or(0);
    u32::try_from(mtu + FRAME_OVERHEAD).unwrap_or(u32::MAX)
}

/// Returns the limit of each queue of a port; one queue for all has the sum of all limits.
fn limits(network: &Network, id: LinkId, behaviour: &PortBehaviour) -> Vec<u32> {
    let built = network.queues(id);
    let is_single = behaviour.discipline.has_one_queue();
    match behaviour.buffering {
        Buffering::AsBuilt if is_single => {
            let total = built.iter().fold(0_u64, |sum, queue| sum.saturating_add(queue.buffer.get()));
            vec![u32::try_from(total).unwrap_or(NO_LIMIT)]
        }
        Buffering::AsBuilt => built.iter().map(|queue| limit(Some(queue.buffer))).collect(),
        Buffering::EachQueue(bytes) => vec![limit(Some(bytes)); if is_single { 1 } else { built.len() }],
        Buffering::Unlimited | Buffering::Shared { .. } => {
            vec![NO_LIMIT; if is_single { 1 } else { built.len() }]
        }
    }
}
