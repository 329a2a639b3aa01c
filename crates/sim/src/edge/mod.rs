//! The edge: at every host that has a service, a machine of each scheme, and what it sets carried out by the
//! [stack](wayleave_stack).
//!
//! A pair is what one service of one endpoint (a host or a virtual machine) sends to one service of another. It opens with its first flow or packet, and
//! is forgotten when nothing was sent for a while. Hosts pull ([`crate::flows`]), so a limiter or a window holds a flow
//! back before a segment is made, unless its pair has a tunnel: tunnels hold packets.
//!
//! | module | what |
//! |---|---|
//! | `pairs` | pairs open, are found, and are forgotten |
//! | `gate` | flows and packets pass the stack of their host, or wait there |
//! | `tunnels` | segments enter tunnels, acknowledgements pass them, decision slots |
//! | `machine` | what machines hear, and what they want done |
//! | `paths` | paths of packets, copies, and what comes back of them |
//! | `probes` | probes and answers travel as packets |
//! | `messages` | so do messages |
//! | `brokers` | those that the schemes ask for, and what changes on the way |
//! | `roles` | a machine or a broker of a scheme, from a scenario |
//! | `account` | what is counted |
//!
//! What is simulated of an edge, and how:
//! - Acknowledgements are neither limited nor metered: 84 B for every full segment, 5 % of the other direction.
//! - All packets of a pair are ECN capable, and the machine that receives them hears of their marks. Congestion control
//!   that does not know marks (NewReno, CUBIC) never sees them; DCTCP does. A tunnel replaces what transports hear of
//!   marks by what it says itself.
//! - A packet that was lost anywhere is told as lost with the next one of its pair that arrives, as a gap in numbers
//!   would show it. What a tunnel or a limiter drops never had a number.
//! - A machine hears of a pair that it receives from when its first packet or probe arrives.
//! - A pair wants to send while a flow of it is open whose application is not switched off, or a packet of it waits
//!   ([`HostInput::Demand`]).
//! - Where a window counts, acknowledgements bring back what the pair had sent; packets that nobody acknowledges are
//!   answered by a frame of the smallest size. A window whose last packets were lost opens again when a transport of the
//!   pair times out, and at the latest when nothing was sent or answered for 10 ms.
//! - Ports write telemetry where the scenario says so; probes collect it on the way there and carry it back.
//! - Messages between a machine and a broker at the same host take no time. All others are packets, which may be lost in
//!   full queues; those of a broker outside of the network take the time that its scheme says.

mod account;
mod brokers;
mod gate;
mod machine;
mod messages;
mod pairs;
pub(crate) mod paths;
mod probes;
mod roles;
mod tunnels;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use rand::rngs::ChaCha8Rng;
use wayleave_contracts::Direction;
use wayleave_roles::{ClassId, HostInput, Share};
use wayleave_scenarios::{Scenario, Sharing};
use wayleave_schemes::brokers::BrokerNetwork;
use wayleave_schemes::custom::{AnyPairPath, AnyTunnel};
use wayleave_schemes::duplicates::Filter;
use wayleave_schemes::edges::{AnyEdge, AnyTimer};
use wayleave_schemes::services::Services;
use wayleave_stack::HostStack;
use wayleave_topology::NodeId;
use wayleave_units::Time;

use crate::clock::{self, Instant};
use crate::custom::Custom;
use crate::engine::Engine;
use crate::events::HORIZON;
use crate::fabric::Step;
use crate::flows::FlowSlot;
use crate::packet::PacketId;
use crate::processes::Process;
use crate::random;
use crate::transport::NEVER;

pub use account::{MachineShare, MessageCounts, RackShare, ServiceShare, SharingOutcome, TunnelOutcome};

use account::Account;
use brokers::Brokers;
use machine::Action;
use messages::Messages;
use pairs::{Pair, PairKey, SourcePair};
use roles::Scheme;

/// The stack of a host: flows by their places, packets with their first step.
type Stack = HostStack<FlowSlot, (PacketId, Step), AnyTunnel, AnyPairPath>;

/// A pair's place; used again when the pair is forgotten.
pub(crate) type PairSlot = u32;

/// No pair: nothing is limited.
pub(crate) const NO_PAIR: PairSlot = u32::MAX;

/// The number of a host's edge.
type EdgeId = u32;

/// The purpose of the edges' random numbers; those of traffic are below.
const EDGES: u64 = 1 << 40;

/// No edge.
const NO_EDGE: EdgeId = u32::MAX;

/// All edges of a network.
#[derive(Debug)]
pub(crate) struct Edges {
    hosts: Vec<Edge>,
    /// The node of each of them.
    nodes: Vec<NodeId>,
    /// Per node.
    of_node: Vec<EdgeId>,
    /// The classes by number; the first one is best effort.
    services: Services,
    classes: u32,
    /// Per class, the number of its scheme.
    scheme_of: Vec<u8>,
    schemes: Vec<Scheme>,
    /// Per edge and class: whether the class is at the host.
    is_here: Vec<bool>,
    pairs: Vec<Pair>,
    vacant: Vec<PairSlot>,
    known: HashMap<PairKey, PairSlot>,
    /// How many pairs were opened.
    opened: u64,
    /// By the statistics of a packet source.
    sources: Vec<Option<SourcePair>>,
    /// What machines and brokers want done, in order.
    actions: VecDeque<Action>,
    wakes: BinaryHeap<Reverse<(Instant, u64, Wake)>>,
    armed: u64,
    /// When the event of the next wake stands; zero while wakes are dealt with.
    wakes_at: Instant,
    /// The number of their process.
    process: usize,
    /// Timers that are armed, with the number of their scheme, and free places among them.
    timers: Vec<(u8, AnyTimer)>,
    free_timers: Vec<u32>,
    messages: Messages,
    /// What removes duplicates of sources whose packets are copied, by their statistics.
    filters: HashMap<u32, Filter>,
    brokers: Brokers,
    account: Account,
    sharing: Box<Sharing>,
    /// Of every port, for messages.
    queue: u8,
    /// For faults of messages, and for when machines report first.
    rng: ChaCha8Rng,
}

/// One host's edge.
#[derive(Debug)]
struct Edge {
    node: NodeId,
    /// One for each scheme.
    roles: Vec<AnyEdge>,
    stack: Stack,
    /// By [`wayleave_roles::Outgoing`].
    outgoing: Vec<PairSlot>,
    free_outgoing: Vec<u32>,
    /// By [`wayleave_roles::Incoming`].
    incoming: Vec<PairSlot>,
    free_incoming: Vec<u32>,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// What a pair waits for is there.
    Pair(PairSlot),
    /// What a class waits for is there, by its edge and number.
    Class(EdgeId, u32),
    /// A machine's timer, by its place.
    Timer(EdgeId, u32),
    /// Whether a pair is still in use.
    Idle(PairSlot, u32),
    /// A message that was held back.
    Message(u32),
    /// Something changes, by its place in the scenario.
    Event(u32),
    /// A broker's timer, by its place.
    BrokerTimer(u32, u32),
    /// A decision slot of a pair's tunnel begins.
    Slot(PairSlot, u32),
    /// Whether a window waits for answers that will not come.
    Silence(PairSlot, u32),
}

impl Engine {
    /// The edges of a scenario whose hosts share. Before its traffic is added.
    pub(crate) fn add_edges(&mut self, scenario: &Scenario, custom: &Custom<'_>) {
        let Some(sharing) = &scenario.sharing else { return };
        // A scenario that was validated has not too many.
        let Ok(services) = Services::new(roles::policies(sharing)) else { return };
        let classes = services.len() as u32;
        let network = &scenario.network;
        let mut rng = random::generator(self.spec.seed, EDGES);
        let nodes: Vec<NodeId> =
            network.hosts().filter(|&node| self.spec.attachments[node.index()].is_some()).collect();
        let is_here = |class: ClassId, node| services.name(class).is_none_or(|name| sharing.is_at(name, node));
        // Where there are brokers they count every machine of a rack.
        let has_edge = |node: &NodeId| {
            sharing.has_brokers() || services.classes().any(|class| class != Services::OTHER && is_here(class, *node))
        };
        let nodes: Vec<NodeId> = nodes.into_iter().filter(has_edge).collect();
        let scheme_of = |class| services.name(class).map_or(0, |name| sharing.scheme_of(name)) as u8;
        let scheme_of: Vec<u8> = services.classes().map(scheme_of).collect();
        let schemes: Vec<Scheme> = sharing.schemes().map(|kind| Scheme::new(kind, custom)).collect();
        let policies = roles::policies(sharing);
        let brokers = Brokers::new(&schemes, &BrokerNetwork { network, policies, services: &services, hosts: &nodes });
        let mut of_node = vec![NO_EDGE; network.nodes().len()];
        let mut hosts = Vec::new();
        let mut here = Vec::new();
        for &node in &nodes {
            of_node[node.index()] = hosts.len() as EdgeId;
            let role = |(number, scheme)| {
                roles::edge(scenario, sharing, &services, (scheme, brokers.of(number)), node, &mut rng)
            };
            hosts.push(Edge {
                node,
                roles: schemes.iter().enumerate().map(role).collect(),
                stack: Stack::new(classes as usize),
                outgoing: Vec::new(),
                free_outgoing: Vec::new(),
                incoming: Vec::new(),
                free_incoming: Vec::new(),
            });
            here.extend(services.classes().map(|class| is_here(class, node)));
        }
        let switch_of = |node: NodeId| self.spec.attachments[node.index()].map(|attachment| attachment.switch);
        self.edges = Some(Box::new(Edges {
            account: Account::new(scenario, &services, &nodes, switch_of),
            brokers,
            nodes,
            hosts,
            of_node,
            services,
            classes,
            scheme_of,
            schemes,
            is_here: here,
            pairs: Vec::new(),
            vacant: Vec::new(),
            known: HashMap::new(),
            opened: 0,
            sources: Vec::new(),
            actions: VecDeque::new(),
            wakes: BinaryHeap::new(),
            armed: 0,
            wakes_at: NEVER,
            process: self.processes.len(),
            timers: Vec::new(),
            free_timers: Vec::new(),
            messages: Messages::default(),
            filters: HashMap::new(),
            sharing: Box::new(sharing.clone()),
            queue: sharing.queue.unwrap_or_else(|| scenario.lowest_queue()),
            rng,
        }));
        self.processes.push(Process::Edges);
    }

    /// The class of a service by its name; best effort without one.
    pub(crate) fn class_of(&self, service: Option<&str>) -> u32 {
        let services = self.edges.as_deref().map(|edges| &edges.services);
        let class = services.zip(service).and_then(|(services, service)| services.class(service));
        class.unwrap_or(Services::OTHER).0
    }

    /// The machines begin to work, and hear of their classes; so do the brokers.
    pub(crate) fn start_edges(&mut self) {
        let Some(edges) = self.edges.as_deref() else { return };
        let events: Vec<Time> = edges.sharing.events.iter().map(|event| event.at).collect();
        for edge in 0..edges.hosts.len() as EdgeId {
            for scheme in 0..self.edges.as_deref().map_or(0, |edges| edges.schemes.len()) {
                self.tell(edge, scheme as u8, HostInput::Started, 0);
            }
            self.tell_terms(edge, 0);
        }
        self.start_brokers();
        for (event, at) in events.into_iter().enumerate() {
            self.arm(clock::from_time(at), Wake::Event(event as u32));
        }
        self.carry_out(0);
    }

    /// A machine hears the terms of the classes that are there.
    fn tell_terms(&mut self, edge: EdgeId, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let policy = &edges.sharing.machine;
        let [transmit, receive] = Direction::ALL.map(|direction| policy.terms(direction, None));
        let share = |place: Option<usize>, terms: &[wayleave_sharing::Terms]| {
            place.map_or(Share::BEST_EFFORT, |place| {
                let terms = terms[place];
                Share { min: terms.min, max: terms.max, weight: terms.weight.get() }
            })
        };
        let of = |class: ClassId| {
            let named = |name: &str| policy.services().iter().position(|service| service.name == name);
            let place = edges.services.name(class).and_then(named);
            HostInput::ClassSet { class, transmit: share(place, &transmit), receive: share(place, &receive) }
        };
        let here = edges.services.classes().filter(|class| edges.is_here[(edge * edges.classes + class.0) as usize]);
        let inputs: Vec<_> = here.map(|class| (edges.scheme_of[class.index()], of(class))).collect();
        for (scheme, input) in inputs {
            self.tell(edge, scheme, input, now);
        }
    }

    /// Something will happen at the edges at a time.
    fn arm(&mut self, at: Instant, what: Wake) {
        if at == NEVER {
            return;
        }
        let Some(edges) = self.edges.as_deref_mut() else { return };
        edges.armed += 1;
        edges.wakes.push(Reverse((at, edges.armed, what)));
        if at < edges.wakes_at {
            self.schedule_wake(at);
        }
    }

    /// Puts the event of the next wake.
    fn schedule_wake(&mut self, at: Instant) {
        let now = self.now;
        let Some(edges) = self.edges.as_deref_mut() else { return };
        edges.wakes_at = at.clamp(now, now + HORIZON / 2);
        let (at, number) = (edges.wakes_at, edges.process);
        let actor = self.process_actor(number);
        self.fabric.events.put(at, actor);
    }

    /// What is due at the edges happens.
    pub(crate) fn wake_edges(&mut self, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        if edges.wakes_at != now {
            return;
        }
        edges.wakes_at = 0;
        while let Some(what) = self.due_wake(now) {
            self.on_wake(what.0, what.1, now);
        }
        let Some(edges) = self.edges.as_deref_mut() else { return };
        edges.wakes_at = NEVER;
        if let Some(&Reverse((at, ..))) = edges.wakes.peek() {
            self.schedule_wake(at);
        }
    }

    fn due_wake(&mut self, now: Instant) -> Option<(Instant, Wake)> {
        let edges = self.edges.as_deref_mut()?;
        edges.wakes.peek().filter(|Reverse((at, ..))| *at <= now)?;
        edges.wakes.pop().map(|Reverse((at, _, what))| (at, what))
    }

    fn on_wake(&mut self, at: Instant, what: Wake, now: Instant) {
        match what {
            Wake::Pair(pair) => self.on_pair_wake(pair, at, now),
            Wake::Class(edge, class) => self.on_class_wake(edge, class, at, now),
            Wake::Timer(edge, timer) => self.on_timer(edge, timer, now),
            Wake::Idle(pair, epoch) => self.on_idle_wake(pair, epoch, now),
            Wake::Message(message) => self.send_held(message, now),
            Wake::Event(event) => self.on_event(event as usize, now),
            Wake::BrokerTimer(broker, timer) => self.on_broker_timer(broker, timer, now),
            Wake::Slot(pair, epoch) => self.on_slot(pair, epoch, now),
            Wake::Silence(pair, epoch) => self.on_silence(pair, epoch, now),
        }
    }
}

/// As schemes count time.
fn time(now: Instant) -> Time {
    clock::to_time(now)
}
