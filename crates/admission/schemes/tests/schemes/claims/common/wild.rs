//! Networks of no particular shape, with the budgets that their topology fixes, and requests that fill them.

use std::sync::Arc;

use wayleave_ledger::Ledger;
use wayleave_scheme_api::Request;
use wayleave_schemes::placement::Placement;
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::{
    Hop, LinkId, LinkSpec, Network, NetworkBuilder, Node, NodeId, NodeKind, PortQueue, PortSpec, Route,
};
use wayleave_units::{Bytes, Rate, Time};

use super::Dice;

/// Features that a random network may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wild {
    pub(crate) switches: (u64, u64),
    pub(crate) hosts: (u64, u64),
    pub(crate) backbone: Backbone,
    /// Cables between switches, on top of the backbone.
    pub(crate) extra_cables: (u64, u64),
    /// For contracts; ports have one more queue, the lowest.
    pub(crate) queues: (u64, u64),
    /// Delay budgets, in units of a little more than an empty queue takes.
    pub(crate) budgets: &'static [u64],
    /// Mbit/s.
    pub(crate) rates: &'static [u64],
    /// Bytes.
    pub(crate) mtus: &'static [u64],
    /// Bytes.
    pub(crate) buffers: &'static [u64],
    pub(crate) constants: Constants,
}

impl Default for Wild {
    /// Links of one kind.
    fn default() -> Self {
        Self {
            switches: (4, 7),
            hosts: (3, 6),
            backbone: Backbone::Tree,
            extra_cables: (1, 4),
            queues: (1, 3),
            budgets: &[1, 2, 3, 5, 8, 13, 21],
            rates: &[1000],
            mtus: &[1500],
            buffers: &[20_000, 60_000, 97_000, 400_000],
            constants: Constants::None,
        }
    }
}

/// Network between all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backbone {
    /// A random tree.
    Tree,
    /// All in a ring.
    Ring,
}

/// Propagation, processing and jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// Not at all.
    None,
    /// Less than most budgets.
    Short,
    /// More than most budgets, on half of the links.
    Long,
}

impl Constants {
    fn processing_ns(self, dice: &mut Dice) -> u64 {
        if self == Self::None { 0 } else { dice.between(0, 60_000) }
    }

    fn jitter_ns(self, dice: &mut Dice) -> u64 {
        if self == Self::None { 0 } else { dice.between(0, 4_000) }
    }

    fn propagation_ns(self, dice: &mut Dice) -> u64 {
        let most = match self {
            Self::None => 0,
            Self::Short => 150_000,
            Self::Long => 1_500_000,
        };
        if dice.percent(50) { dice.between(0, most) } else { 0 }
    }
}

impl Wild {
    /// With cycles, parallel links and hosts on two switches, and a budget on every queue.
    pub(crate) fn build(&self, dice: &mut Dice) -> Arc<Network> {
        let mut builder = NetworkBuilder::default();
        let count = dice.between(self.switches.0, self.switches.1);
        let switches: Vec<NodeId> =
            (0..count).map(|n| self.add_node(dice, &mut builder, n, NodeKind::Switch)).collect();
        for at in 1..switches.len() {
            let other = match self.backbone {
                Backbone::Tree => dice.index(at),
                Backbone::Ring => at - 1,
            };
            self.add_cable(dice, &mut builder, switches[at], switches[other]);
        }
        if self.backbone == Backbone::Ring {
            self.add_cable(dice, &mut builder, switches[0], switches[switches.len() - 1]);
        }
        for _ in 0..dice.between(self.extra_cables.0, self.extra_cables.1) {
            // A second cable between the same two is as good.
            let (a, b) = (dice.pick(&switches), dice.pick(&switches));
            if a != b {
                self.add_cable(dice, &mut builder, a, b);
            }
        }
        for n in 0..dice.between(self.hosts.0, self.hosts.1) {
            let host = self.add_node(dice, &mut builder, n, NodeKind::Host);
            let first = dice.pick(&switches);
            self.add_cable(dice, &mut builder, host, first);
            let second = dice.pick(&switches);
            if second != first && dice.percent(20) {
                self.add_cable(dice, &mut builder, host, second);
            }
        }
        Arc::new(builder.build())
    }

    fn add_node(&self, dice: &mut Dice, builder: &mut NetworkBuilder, n: u64, kind: NodeKind) -> NodeId {
        let name = match kind {
            NodeKind::Host => format!("h{n}"),
            NodeKind::Switch => format!("s{n}"),
        };
        let processing = Time::from_nanos(self.constants.processing_ns(dice));
        let jitter = Time::from_nanos(self.constants.jitter_ns(dice));
        builder.add(Node { name, kind, processing, jitter }).unwrap()
    }

    fn add_cable(&self, dice: &mut Dice, builder: &mut NetworkBuilder, a: NodeId, b: NodeId) {
        let rate = dice.pick(self.rates);
        let propagation = Time::from_nanos(self.constants.propagation_ns(dice));
        let mtu = Bytes::new(dice.pick(self.mtus));
        for (from, to) in [(a, b), (b, a)] {
            let port = self.port(dice, rate);
            let spec = LinkSpec { from, to, rate: Rate::from_mbit(rate), propagation, mtu, port };
            builder.add_link(spec).unwrap();
        }
    }

    /// Budgets are not always in order of priority.
    fn port(&self, dice: &mut Dice, mbit: u64) -> PortSpec {
        let unit_ns = (30_000_000 / mbit).max(1);
        let count = dice.between(self.queues.0, self.queues.1);
        let mut budgets: Vec<u64> = (0..=count).map(|_| unit_ns * dice.pick(self.budgets)).collect();
        if dice.percent(80) {
            budgets.sort_unstable();
        }
        let queue = |budget: u64| PortQueue {
            buffer: Bytes::new(dice.pick(self.buffers)),
            budget: Some(Time::from_nanos(budget)),
        };
        PortSpec { queues: budgets.into_iter().map(queue).collect() }
    }
}

/// The budgets that the topology fixes.
pub(crate) fn ledger(network: &Arc<Network>, model: wayleave_ledger::Model) -> Ledger {
    let of_link = |link| {
        let usable = model.contract_queues(network, network.link(link));
        network.queues(link)[..usable].iter().map(|queue| queue.budget.unwrap()).collect()
    };
    let budgets = network.links().map(|(link, _)| of_link(link)).collect();
    Ledger::new(network.clone(), model, budgets).unwrap()
}

/// Between two random hosts; `load` is the most that it asks for, in Mbit/s and in 100 B of burst.
pub(crate) fn request(dice: &mut Dice, network: &Network, load: u64) -> Request {
    let hosts: Vec<NodeId> = network.hosts().collect();
    let from = dice.index(hosts.len());
    let to = (from + 1 + dice.index(hosts.len() - 1)) % hosts.len();
    Request {
        from: hosts[from],
        to: hosts[to],
        rate: Rate::from_bits_per_second(dice.between(1, load * 1_000_000)),
        burst: Bytes::new(dice.between(64, 64 + load * 100)),
        deadline: Time::from_nanos(dice.between(50_000, 8_000_000)),
        max_frame: None,
        route: None,
        protection: 1,
    }
}

/// A random walk of queues without a node twice; `None` if it gets stuck.
pub(crate) fn random_route(dice: &mut Dice, ledger: &Ledger, from: NodeId, to: NodeId) -> Option<Route> {
    let network = ledger.network();
    let mut visited = vec![from];
    let mut hops = Vec::new();
    loop {
        let at = *visited.last()?;
        if at == to {
            return Some(Route { hops });
        }
        let may_pass = |link: &&LinkId| {
            let head = network.link(**link).to;
            let is_allowed = head == to || network.node(head).kind == NodeKind::Switch;
            is_allowed && !visited.contains(&head) && ledger.budgets(**link).len() > 0
        };
        let open: Vec<LinkId> = network.links_from(at).iter().filter(may_pass).copied().collect();
        let link = *open.get(dice.index(open.len().max(1)))?;
        hops.push(Hop { link, queue: dice.index(ledger.budgets(link).len()) as u8 });
        visited.push(network.link(link).to);
    }
}

/// Reserves random routes wherever there is room, `attempts` times.
pub(crate) fn fill(dice: &mut Dice, placement: &mut Placement, attempts: u64, load: u64) {
    let network = placement.network().clone();
    for _ in 0..attempts {
        let wanted = request(dice, &network, load);
        let Some(route) = random_route(dice, placement.ledger(), wanted.from, wanted.to) else { continue };
        let generous = Request { deadline: Time::from_millis(10_000), ..wanted };
        if let Ok(found) = placement.check(&RouteQuery::of(&generous), &route) {
            placement.reserve(&generous, found);
        }
    }
}
