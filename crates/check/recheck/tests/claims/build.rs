//! Claims about a small star: uplinks `h0->s`, `h1->s`, ... and one downlink `s->d`, whose queues are under test.
#![allow(dead_code, reason = "shared by two test binaries, each of which uses a part")]

use wayleave_recheck::{
    Claim, ClaimedQueue, JitterTerm, PacketiserTerm, PromisedFlow, QueueFinding, RecheckReport, check,
};
use wayleave_topology::{Hop, LinkId, LinkSpec, Network, NetworkBuilder, Node, NodeKind, PortSpec, Route};
use wayleave_units::{Bytes, Rate, Time};

/// The budget of every uplink queue.
pub(crate) const UPLINK_BUDGET: Time = Time::from_micros(100);
/// The budget of every downlink queue.
pub(crate) const DOWNLINK_BUDGET: Time = Time::from_millis(5);

/// One star.
#[derive(Clone, Debug)]
pub(crate) struct Star {
    pub(crate) uplinks: Vec<Rate>,
    pub(crate) downlink: Rate,
    pub(crate) queues: usize,
    pub(crate) propagation: Time,
    /// (Processing, jitter) of the senders, of the switch and of the receiver.
    pub(crate) host: (Time, Time),
    pub(crate) switch: (Time, Time),
    pub(crate) sink: (Time, Time),
}

impl Star {
    /// No propagation, processing or jitter; three queues a port.
    pub(crate) fn new(uplinks: &[Rate], downlink: Rate) -> Self {
        let none = (Time::ZERO, Time::ZERO);
        Self {
            uplinks: uplinks.to_vec(),
            downlink,
            queues: 3,
            propagation: Time::ZERO,
            host: none,
            switch: none,
            sink: none,
        }
    }

    /// `count` uplinks and the downlink, all of 1 Gbit/s.
    pub(crate) fn gigabit(count: usize) -> Self {
        Self::new(&vec![Rate::from_gbit(1); count], Rate::from_gbit(1))
    }

    pub(crate) fn build(&self) -> Network {
        let mut builder = NetworkBuilder::default();
        let mut node =
            |name: String, kind, (processing, jitter)| builder.add(Node { name, kind, processing, jitter }).unwrap();
        let switch = node("s".into(), NodeKind::Switch, self.switch);
        let sink = node("d".into(), NodeKind::Host, self.sink);
        let hosts: Vec<_> =
            (0..self.uplinks.len()).map(|index| node(format!("h{index}"), NodeKind::Host, self.host)).collect();
        let mut link = |from, to, rate| {
            let port = PortSpec::uniform(self.queues, Bytes::new(500_000));
            let (propagation, mtu) = (self.propagation, Bytes::new(1500));
            builder.add_link(LinkSpec { from, to, rate, propagation, mtu, port }).unwrap();
        };
        for (&host, &rate) in hosts.iter().zip(&self.uplinks) {
            link(host, switch, rate);
        }
        link(switch, sink, self.downlink);
        builder.build()
    }
}

/// One flow of a star.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) host: usize,
    pub(crate) uplink_queue: u8,
    pub(crate) queue: u8,
    pub(crate) rate: Rate,
    pub(crate) burst: Bytes,
}

/// From host `host` through the first queue of its uplink and queue `queue` of the downlink; Mbit/s and bytes.
pub(crate) fn sender(host: usize, queue: u8, mbit: u64, burst: u64) -> Sender {
    Sender { host, uplink_queue: 0, queue, rate: Rate::from_mbit(mbit), burst: Bytes::new(burst) }
}

/// A claim with frames of 1500 B, without the packetiser's term, with shaping; bounds are the sums of the budgets.
pub(crate) fn claim<'a>(network: &'a Network, senders: &[Sender]) -> Claim<'a> {
    let down = downlink(network);
    let budgets = network.links().map(|(id, _)| if id == down { DOWNLINK_BUDGET } else { UPLINK_BUDGET });
    let flow = |(index, sender): (usize, &Sender)| {
        let hops = vec![
            Hop { link: uplink(network, sender.host), queue: sender.uplink_queue },
            Hop { link: down, queue: sender.queue },
        ];
        PromisedFlow {
            name: format!("f{index}"),
            from: network.find_node(&format!("h{}", sender.host)).unwrap(),
            to: network.find_node("d").unwrap(),
            route: Route { hops },
            covered: 0,
            rate: sender.rate,
            burst: sender.burst,
            deadline: Time::from_millis(10),
            promised_bound: UPLINK_BUDGET + DOWNLINK_BUDGET,
        }
    };
    Claim {
        network,
        budgets: budgets.map(|budget| vec![budget; 3]).collect(),
        max_frame: vec![Bytes::new(1500); network.links().len()],
        packetiser: PacketiserTerm::Omitted,
        jitter: JitterTerm::Ordered,
        shaping: true,
        flows: senders.iter().enumerate().map(flow).collect(),
        disjoint: Vec::new(),
        claimed_queues: vec![],
        exact_claims: true,
    }
}

/// The same claim with every queue's derived figures claimed, and every derived bound promised.
pub(crate) fn with_derived_figures(mut claim: Claim<'_>) -> Claim<'_> {
    let report = check(&claim);
    let figures = |found: &QueueFinding| ClaimedQueue {
        link: found.link,
        queue: found.queue,
        delay: found.delay_rounded_up().unwrap(),
        backlog: found.backlog_rounded_up().unwrap(),
    };
    claim.claimed_queues = report.queues.iter().map(figures).collect();
    for found in &report.flows {
        claim.flows[found.index].promised_bound = Time::from_nanos(u64::try_from(found.bound_ns()).unwrap());
    }
    claim
}

/// Returns the results for a queue of the downlink.
pub(crate) fn down<'a>(claim: &Claim<'_>, report: &'a RecheckReport, queue: u8) -> &'a QueueFinding {
    report.queue(downlink(claim.network), queue).unwrap()
}

/// `s->d`.
pub(crate) fn downlink(network: &Network) -> LinkId {
    network.find_link("s->d").unwrap()
}

/// `h0->s`, `h1->s`, ...
pub(crate) fn uplink(network: &Network, host: usize) -> LinkId {
    network.find_link(&format!("h{host}->s")).unwrap()
}
