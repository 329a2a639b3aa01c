//! The stack between the transports of one host and its network interface. It has for each pair a tunnel if there is
//! one, a limiter, the paths in use and their windows; for each class a root limiter.
//!
//! # Driver interface
//!
//! Transports *pull*: a flow that could send asks if it may ([`HostStack::admit`]), and is queued in its pair's line
//! if not. The driver calls [`HostStack::advance`] for a pair, and [`HostStack::serve`] for a class, at the times
//! that they return. Each call returns one [`Step`], which the driver carries out before it calls again. The stack
//! never calls the driver, except to query flows for their next packets ([`Flows`]).
//!
//! Flows of a pair take turns, one packet each, as do the pairs of a class.

mod admit;
mod controls;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use wayleave_scheme_api::{ClassId, CustomPath, CustomTunnel, Departure, LocalFlow, PathIndex, Slot};
use wayleave_units::Time;

use crate::bucket::ShaperBucket;
use crate::clock::{self, Instant, NEVER};
use crate::paths::CandidatePaths;
use crate::tunnel::TunnelState;
use crate::window::Window;

/// Item that waits at a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairBacklog<F, K> {
    /// A flow, for one packet of its own.
    Flow(F),
    /// A packet, with its bytes on the wire.
    Packet(K, u32),
}

/// Queries of the stack to the driver's flows.
pub trait FlowQueries<F, K> {
    /// Bytes on the wire of a flow's next packet, or more; `None` if it cannot send now.
    fn next_bytes(&self, flow: F) -> Option<u32>;

    /// Returns the path of the next packet, out of `departure.paths`.
    fn choose(&mut self, what: PairBacklog<F, K>, departure: Departure) -> u32;

    /// Returns the number of a waiting item among the flows of its pair, for a path role that serves all of them.
    fn local(&self, what: PairBacklog<F, K>) -> LocalFlow;
}

/// Decision on a packet that could leave at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmitOutcome {
    /// It leaves; on this path, or on one that its flow chooses.
    Go(Option<PathIndex>),
    /// A limiter drops it.
    Drop,
    /// It waits.
    Wait,
}

/// Next step of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairStep<F, K> {
    /// This item leaves, with tokens for this number of bytes; on this path, or on one that its flow chooses. Call
    /// again.
    Go(PairBacklog<F, K>, u32, Option<PathIndex>),
    /// A limiter drops one packet of this item. Call again.
    Drop(PairBacklog<F, K>, u32),
    /// It waits until this time.
    PairWaits(Instant),
    /// It waits for its class, which is to be served at that time.
    ClassWaits(ClassId, Instant),
    /// Nothing waits, or the waiting item needs an event.
    Idle,
}

/// Next step of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassStep<F, K> {
    /// As [`PairStep::Go`], of this pair. Then [`HostStack::queue_up`] for the pair, and call again.
    Go(u32, PairBacklog<F, K>, u32, Option<PathIndex>),
    /// As [`PairStep::Drop`], of this pair; continue as after `Go`.
    Drop(u32, PairBacklog<F, K>, u32),
    /// This pair has to wait for something of its own until then. Call again.
    PairWaits(u32, Instant),
    /// The class waits until this time.
    Waits(Instant),
    /// No pair waits.
    Idle,
}

/// State of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing waits.
    Free,
    /// It waits for a time: for its own tokens, a pause of its window, its path, its tunnel.
    Sleeps,
    /// It waits for room in a window, or for a path.
    Blocked,
    /// It waits for its turn in its class.
    InLine,
    /// A packet of its tunnel could leave, but waits for its turn at the interface.
    AtInterface,
    /// The first in its line is being let go.
    Dequeued,
}

/// One pair.
#[derive(Debug)]
struct Pair<F, K> {
    class: u32,
    bucket: Option<ShaperBucket>,
    state: State,
    wake_at: Instant,
    waiting: VecDeque<PairBacklog<F, K>>,
    /// Bytes of packets among them.
    queued: u64,
    paths: CandidatePaths,
    /// By path; empty until one is set.
    windows: Vec<Window>,
    round_trip: Instant,
    /// The path of the next packet, once it was chosen.
    next_path: Option<PathIndex>,
    path_role: Option<CustomPath>,
    tunnel: Option<Box<TunnelState<K>>>,
    /// Flows that the tunnel holds back.
    held_back: Vec<F>,
}

/// One class.
#[derive(Debug, Default)]
struct Class {
    bucket: Option<ShaperBucket>,
    /// Pairs that could send but for the class, in turn.
    line: VecDeque<u32>,
    wake_at: Option<Instant>,
}

/// Parameters of a pair that opens.
#[derive(Debug)]
pub struct Opening {
    /// Its class.
    pub class: ClassId,
    /// Number of its candidate paths.
    pub paths: u32,
    /// Its round trip without queues.
    pub round_trip: Time,
    /// Its tunnel, if its scheme has tunnels.
    pub tunnel: Option<CustomTunnel>,
    /// Path role for its packets, if its flows do not choose for themselves.
    pub path_role: Option<CustomPath>,
}

/// The stack of one host below its transports, for one scheme. `F` is a flow, `K` a packet, as the driver calls
/// them.
#[derive(Debug)]
pub struct HostStack<F, K> {
    pairs: Vec<Option<Pair<F, K>>>,
    classes: Vec<Class>,
    /// Flows that were in a line and cannot send any more.
    gone: Vec<F>,
    /// Flows that a tunnel may take another packet of.
    offers: Vec<F>,
}

impl<F: Copy, K: Copy> HostStack<F, K> {
    /// Creates a stack with `classes` classes.
    pub fn new(classes: usize) -> Self {
        let classes = std::iter::repeat_with(Class::default).take(classes).collect();
        Self { pairs: Vec::new(), classes, gone: Vec::new(), offers: Vec::new() }
    }

    /// A pair opens; its number is the driver's, and free.
    pub fn open(&mut self, pair: u32, opening: Opening) {
        let at = pair as usize;
        if self.pairs.len() <= at {
            self.pairs.resize_with(at + 1, || None);
        }
        self.pairs[at] = Some(Pair {
            class: opening.class.0,
            bucket: None,
            state: State::Free,
            wake_at: NEVER,
            waiting: VecDeque::new(),
            queued: 0,
            paths: CandidatePaths::new(opening.paths.max(1)),
            windows: Vec::new(),
            round_trip: clock::from_time(opening.round_trip),
            next_path: None,
            path_role: opening.path_role,
            tunnel: opening.tunnel.map(|role| Box::new(TunnelState::new(role))),
            held_back: Vec::new(),
        });
    }

    /// Closes a pair, which has no waiting items.
    pub fn close(&mut self, pair: u32) {
        if let Some(place) = self.pairs.get_mut(pair as usize) {
            *place = None;
        }
    }

    fn pair(&self, pair: u32) -> Option<&Pair<F, K>> {
        self.pairs.get(pair as usize)?.as_ref()
    }

    fn pair_mut(&mut self, pair: u32) -> Option<&mut Pair<F, K>> {
        self.pairs.get_mut(pair as usize)?.as_mut()
    }

    /// Returns the flows that were in a line, cannot send any more and left the line. To be called after every call.
    pub fn take_gone(&mut self) -> Vec<F> {
        std::mem::take(&mut self.gone)
    }

    /// Returns `true` if there are any of them; cheaper to check first.
    pub fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Flows whose tunnel held them back, and may take another packet now.
    pub fn take_offers(&mut self) -> Vec<F> {
        std::mem::take(&mut self.offers)
    }

    /// Returns `true` if there are any of them.
    pub fn has_offers(&self) -> bool {
        !self.offers.is_empty()
    }

    /// Bytes of packets that wait in a pair's line, without those of its tunnel.
    pub fn queued(&self, pair: u32) -> u64 {
        self.pair(pair).map_or(0, |pair| pair.queued)
    }

    /// Bytes of packets that wait at a pair, with those of its tunnel.
    pub fn held(&self, pair: u32) -> u64 {
        let tunnel = self.tunnel(pair).map_or(0, |tunnel| tunnel.counts().queued.get());
        self.queued(pair) + tunnel
    }

    /// Returns `true` if a pair has no waiting items.
    pub fn is_idle(&self, pair: u32) -> bool {
        self.pair(pair)
            .is_none_or(|pair| pair.waiting.is_empty() && pair.tunnel.as_ref().is_none_or(|tunnel| tunnel.is_empty()))
    }

    /// A pair's tunnel.
    pub fn tunnel(&self, pair: u32) -> Option<&TunnelState<K>> {
        self.pair(pair)?.tunnel.as_deref()
    }

    /// Returns a pair's tunnel mutably.
    pub fn tunnel_mut(&mut self, pair: u32) -> Option<&mut TunnelState<K>> {
        self.pair_mut(pair)?.tunnel.as_deref_mut()
    }

    /// A flow is held back by its tunnel: [`Self::take_offers`] names it when a packet has left.
    pub fn hold_back(&mut self, pair: u32, flow: F) {
        if let Some(pair) = self.pair_mut(pair) {
            pair.held_back.push(flow);
        }
    }

    /// A decision slot of a pair's tunnel begins.
    pub fn tunnel_slot(&mut self, pair: u32, now: Instant) -> Option<Slot> {
        self.tunnel_mut(pair)?.slot(now)
    }

    /// The window of a path, if the pair has windows.
    pub fn window(&self, pair: u32, path: PathIndex) -> Option<&Window> {
        self.pair(pair)?.windows.get(path.index())
    }

    /// Returns the time of the last packet or answer, if a pair waits for answers that a window counts.
    pub fn waits_for_answers(&self, pair: u32) -> Option<Instant> {
        let pair = self.pair(pair).filter(|pair| pair.state == State::Blocked)?;
        let in_flight = pair.windows.iter().filter(|window| window.in_flight() > 0);
        in_flight.map(Window::active_at).max()
    }

    /// Paths that get a copy of every packet.
    pub fn copies(&self, pair: u32, now: Instant) -> Vec<PathIndex> {
        self.pair(pair).map_or_else(Vec::new, |pair| pair.paths.copies(now).collect())
    }

    /// Returns `true` if the host role has chosen the paths of a pair; only then copies are sent.
    pub fn is_steered(&self, pair: u32) -> bool {
        self.pair(pair).is_some_and(|pair| pair.paths.is_chosen())
    }
}
