//! The edge: at every host that has a service, a machine of the scheme, the limiters that it sets, and who waits for
//! their tokens.
//!
//! A pair is what one service of one host sends to one service of another. It opens with its first flow or packet, and
//! is forgotten when nothing was sent for a while. Hosts pull ([`crate::flows`]), so a limiter holds a flow back before
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
//! | `account` | what is counted |
//!
//! What is simulated of an edge, and what is not:
//! - Acknowledgements are neither limited nor metered: 84 B for every full segment, 5 % of the other direction.
//! - All packets of a pair are ECN capable, and the machine that receives them hears of their marks. Congestion control
//!   that does not know marks (NewReno, CUBIC) never sees them; DCTCP does.
//! - A packet that was lost anywhere is told as lost with the next one of its pair that arrives, as a gap in numbers
//!   would show it.
//! - A machine hears of a pair that it receives from when its first packet arrives.
//! - [`HostInput::Demand`](wayleave_policy::HostInput::Demand) is not told, and windows, weights, paths, probes and
//!   buckets that drop are not carried out: a scheme that asks for one ends the run ([`crate::Ending::Unsupported`]).

mod account;
mod bucket;
mod gate;
mod machine;
mod mail;
mod pairs;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use wayleave_policy::{ClassId, Share};
use wayleave_scenarios::{EdgeScheme, Scenario, Sharing};
use wayleave_schemes::edges::{AnyEdge, AnyTimer};
use wayleave_schemes::static_limits::{self, StaticLimits};
use wayleave_topology::NodeId;
use wayleave_units::Time;

use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::events::HORIZON;
use crate::processes::Process;
use crate::transport::NEVER;

pub use account::{MachineShare, MessageCounts, RackShare, ServiceShare, SharingOutcome};

use account::Account;
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

/// No edge.
const NO_EDGE: EdgeId = u32::MAX;

/// All edges of a network.
#[derive(Debug)]
pub(crate) struct Edges {
    hosts: Vec<Edge>,
    /// Per node.
    of_node: Vec<EdgeId>,
    /// Of classes, best effort among them.
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
    /// What machines want done, in order.
    todo: VecDeque<(EdgeId, Todo)>,
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
    account: Account,
    sharing: Box<Sharing>,
}

/// One host's edge.
#[derive(Debug)]
struct Edge {
    node: NodeId,
    role: AnyEdge,
    /// By [`wayleave_policy::Outgoing`].
    outgoing: Vec<PairSlot>,
    free_outgoing: Vec<u32>,
    /// By [`wayleave_policy::Incoming`].
    incoming: Vec<PairSlot>,
    free_incoming: Vec<u32>,
}

/// A class at a host.
#[derive(Debug)]
struct Place {
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
}

impl Engine {
    /// The edges of a scenario whose hosts share. Before its traffic is added.
    pub(crate) fn add_edges(&mut self, scenario: &Scenario) {
        let Some(sharing) = &scenario.sharing else { return };
        let classes = sharing.best_effort() + 1;
        let network = &scenario.network;
        let mut of_node = vec![NO_EDGE; network.nodes().len()];
        let mut hosts = Vec::new();
        let mut places = Vec::new();
        for node in network.hosts() {
            let is_here = (0..sharing.best_effort()).any(|class| sharing.is_at(class, node));
            if !is_here || self.spec.attachments[node.index()].is_none() {
                continue;
            }
            of_node[node.index()] = hosts.len() as EdgeId;
            hosts.push(Edge {
                node,
                role: role(sharing),
                outgoing: Vec::new(),
                free_outgoing: Vec::new(),
                incoming: Vec::new(),
                free_incoming: Vec::new(),
            });
            places.extend((0..classes).map(|_| Place { bucket: None, line: VecDeque::new(), wake_at: NEVER }));
        }
        let account = Account::new(scenario, &hosts.iter().map(|edge| edge.node).collect::<Vec<_>>(), |node| {
            self.spec.attachments[node.index()].map(|attachment| attachment.switch)
        });
        self.edges = Some(Box::new(Edges {
            hosts,
            of_node,
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
            account,
            sharing: Box::new(sharing.clone()),
        }));
        self.processes.push(Process::Edges);
    }

    /// The machines begin to work, and hear of their classes.
    pub(crate) fn start_edges(&mut self) {
        let Some(edges) = &self.edges else { return };
        let (hosts, best_effort) = (edges.hosts.len() as EdgeId, edges.sharing.best_effort());
        for edge in 0..hosts {
            self.tell(edge, wayleave_policy::HostInput::Started, 0);
            for class in 0..=best_effort {
                self.tell_terms(edge, class, 0);
            }
        }
        self.carry_out(0);
    }

    /// A machine hears the terms of a class that is there.
    fn tell_terms(&mut self, edge: EdgeId, class: u32, now: Instant) {
        let Some(edges) = &self.edges else { return };
        let node = edges.hosts[edge as usize].node;
        let sharing = &edges.sharing;
        let (transmit, receive) = if class == sharing.best_effort() {
            (Share::BEST_EFFORT, Share::BEST_EFFORT)
        } else if sharing.is_at(class, node) {
            let terms = |direction| {
                let terms = sharing.machine.terms(direction, None)[class as usize];
                Share { min: terms.min, max: terms.max, weight: terms.weight.get() }
            };
            (terms(wayleave_contracts::Direction::Transmit), terms(wayleave_contracts::Direction::Receive))
        } else {
            return;
        };
        self.tell(edge, wayleave_policy::HostInput::ClassSet { class: ClassId(class), transmit, receive }, now);
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
        }
    }
}

/// A machine of the scheme.
fn role(sharing: &Sharing) -> AnyEdge {
    match &sharing.scheme {
        EdgeScheme::StaticLimits(settings) => {
            let usual = static_limits::Params::default();
            let burst = settings.burst.unwrap_or(usual.burst);
            StaticLimits::new(static_limits::Params { pair: settings.pair, burst }).into()
        }
    }
}

/// As schemes count time.
fn time(now: Instant) -> Time {
    clock::to_time(now)
}
