//! The edge: at every host that has a service, a machine of the scheme, the limiters that it sets, and who waits for
//! their tokens.
//!
//! A pair is what one service of one endpoint (a host or a virtual machine) sends to one service of another. It opens
//! with its first flow or packet, and is forgotten when nothing was sent for a while. Hosts pull ([`crate::flows`]), so a limiter holds a flow back before
//! a segment is made: a flow whose pair or class lacks tokens stands in line, and one wake at the time when the tokens
//! suffice lets the first of the line go. Flows of a pair take turns, as do the pairs of a class.
//!
//! | module | what |
//! |---|---|
//! | `bucket` | token buckets, exact to the bit and picosecond |
//! | `pairs` | pairs open, are found, and are forgotten |
//! | `gate` | tokens are taken, flows and packets wait and are let go |
//! | `machine` | what machines hear, and what they want done |
//! | `mail` | messages travel as packets |
//! | `brokers` | those of racks and of the fabric, and what changes on the way |
//! | `roles` | a machine or a broker of a scheme, from a scenario |
//! | `account` | what is counted |
//!
//! What is simulated of an edge, and what is not:
//! - Acknowledgements are neither limited nor metered: 84 B for every full segment, 5 % of the other direction.
//! - All packets of a pair are ECN capable, and the machine that receives them hears of their marks. Congestion control
//!   that does not know marks (NewReno, CUBIC) never sees them; DCTCP does.
//! - A packet that was lost anywhere is told as lost with the next one of its pair that arrives, as a gap in numbers
//!   would show it.
//! - A machine hears of a pair that it receives from when its first packet arrives.
//! - A pair wants to send while a flow of it is open whose application is not switched off, or a packet of it waits for
//!   tokens ([`HostInput::Demand`]).
//! - Windows, weights, paths, probes and buckets that drop are not carried out: a scheme that asks for one ends the run
//!   ([`crate::Ending::Unsupported`]).
//! - Messages between a machine and its own rack broker take no time. All others are packets, and those of the fabric
//!   broker where it is at a host; they may be lost in full queues.

mod account;
mod brokers;
mod bucket;
mod gate;
mod machine;
mod mail;
mod pairs;
mod roles;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use rand::rngs::ChaCha8Rng;
use wayleave_contracts::Direction;
use wayleave_roles::{ClassId, HostInput, Share};
use wayleave_scenarios::{Scenario, Sharing};
use wayleave_schemes::edges::{AnyEdge, AnyTimer};
use wayleave_schemes::parley::Services;
use wayleave_topology::NodeId;
use wayleave_units::Time;

use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::events::HORIZON;
use crate::processes::Process;
use crate::random;
use crate::transport::NEVER;

pub use account::{MachineShare, MessageCounts, RackShare, ServiceShare, SharingOutcome};

use account::Account;
use brokers::Brokers;
use bucket::TokenBucket;
use machine::Todo;
use mail::Mail;
use pairs::{Pair, PairKey, SourcePair};

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
    /// Per node.
    of_node: Vec<EdgeId>,
    /// The classes by number; the first one is best effort.
    services: Services,
    classes: u32,
    /// Per edge and class.
    places: Vec<Place>,
    pairs: Vec<Pair>,
    vacant: Vec<PairSlot>,
    known: HashMap<PairKey, PairSlot>,
    /// How many pairs were opened.
    opened: u64,
    /// By the statistics of a packet source.
    sources: Vec<Option<SourcePair>>,
    /// What machines and brokers want done, in order.
    todo: VecDeque<Todo>,
    wakes: BinaryHeap<Reverse<(Instant, u64, Wake)>>,
    armed: u64,
    /// When the event of the next wake stands; zero while wakes are dealt with.
    wakes_at: Instant,
    /// The number of their process.
    process: usize,
    /// Timers that are armed, and free places among them.
    timers: Vec<AnyTimer>,
    free_timers: Vec<u32>,
    mail: Mail,
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
    role: AnyEdge,
    /// By [`wayleave_roles::Outgoing`].
    outgoing: Vec<PairSlot>,
    free_outgoing: Vec<u32>,
    /// By [`wayleave_roles::Incoming`].
    incoming: Vec<PairSlot>,
    free_incoming: Vec<u32>,
}

/// A class at a host.
#[derive(Debug)]
struct Place {
    /// Whether the class is at the host.
    is_here: bool,
    /// The root limiter.
    bucket: Option<TokenBucket>,
    /// Pairs that have their own tokens and wait for those of the class, in turn.
    line: VecDeque<PairSlot>,
    /// When the line is looked at.
    wake_at: Instant,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    /// A pair has the tokens for its first in line.
    Pair(PairSlot),
    /// A class has.
    Line(u32),
    /// A machine's timer, by its place.
    Timer(EdgeId, u32),
    /// Whether a pair is still in use.
    Idle(PairSlot, u32),
    /// A message that was held back.
    Letter(u32),
    /// Something changes, by its place in the scenario.
    Event(u32),
}

impl Engine {
    /// The edges of a scenario whose hosts share. Before its traffic is added.
    pub(crate) fn add_edges(&mut self, scenario: &Scenario) {
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
            sharing.scheme.has_brokers()
                || services.classes().any(|class| class != Services::OTHER && is_here(class, *node))
        };
        let nodes: Vec<NodeId> = nodes.into_iter().filter(has_edge).collect();
        let mut of_node = vec![NO_EDGE; network.nodes().len()];
        let mut hosts = Vec::new();
        let mut places = Vec::new();
        for &node in &nodes {
            of_node[node.index()] = hosts.len() as EdgeId;
            hosts.push(Edge {
                node,
                role: roles::edge(scenario, sharing, &services, node, hosts.len() as EdgeId, &mut rng),
                outgoing: Vec::new(),
                free_outgoing: Vec::new(),
                incoming: Vec::new(),
                free_incoming: Vec::new(),
            });
            places.extend(services.classes().map(|class| Place {
                is_here: is_here(class, node),
                bucket: None,
                line: VecDeque::new(),
                wake_at: NEVER,
            }));
        }
        let switch_of = |node: NodeId| self.spec.attachments[node.index()].map(|attachment| attachment.switch);
        self.edges = Some(Box::new(Edges {
            account: Account::new(scenario, &services, &nodes, switch_of),
            brokers: Brokers::new(scenario, sharing, &services, &nodes),
            hosts,
            of_node,
            services,
            classes,
            places,
            pairs: Vec::new(),
            vacant: Vec::new(),
            known: HashMap::new(),
            opened: 0,
            sources: Vec::new(),
            todo: VecDeque::new(),
            wakes: BinaryHeap::new(),
            armed: 0,
            wakes_at: NEVER,
            process: self.processes.len(),
            timers: Vec::new(),
            free_timers: Vec::new(),
            mail: Mail::default(),
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
            self.tell(edge, HostInput::Started, 0);
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
        let here =
            edges.services.classes().filter(|class| edges.places[(edge * edges.classes + class.0) as usize].is_here);
        let inputs: Vec<_> = here.map(of).collect();
        for input in inputs {
            self.tell(edge, input, now);
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
            Wake::Line(place) => self.on_line_wake(place, at, now),
            Wake::Timer(edge, timer) => self.on_timer(edge, timer, now),
            Wake::Idle(pair, epoch) => self.on_idle_wake(pair, epoch, now),
            Wake::Letter(letter) => self.send_letter(letter, now),
            Wake::Event(event) => self.on_event(event as usize, now),
        }
    }
}

/// As schemes count time.
fn time(now: Instant) -> Time {
    clock::to_time(now)
}
