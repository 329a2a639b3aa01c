//! What stands between the transports of one host and its network interface: for each pair a tunnel if there is one, a
//! limiter, the paths in use and their windows; for each class a root limiter.
//!
//! # How it is driven
//! Transports *pull*: a flow that could send asks whether it may ([`HostStack::admit`]), and stands in its pair's line if
//! not. The driver calls [`HostStack::advance`] for a pair, and [`HostStack::serve`] for a class, at the times that they
//! ask for; each call returns one [`Step`], which the driver carries out before it calls again. The stack never calls the
//! driver, except to ask flows what they would send ([`Flows`]).
//!
//! Flows of a pair take turns, one packet each, as do the pairs of a class.

use std::collections::VecDeque;

use wayleave_roles::{
    Bucket, ClassId, Departure, Excess, LocalFlow, Path, PathIndex, PathReport, PathUse, Slot, Tunnel,
};
use wayleave_units::Time;

use crate::bucket::TokenBucket;
use crate::clock::{self, Instant, NEVER};
use crate::paths::Paths;
use crate::tunnel::{NextPacket, TunnelState};
use crate::window::{Room, Window};

/// What waits at a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting<F, K> {
    /// A flow, for one packet of its own.
    Flow(F),
    /// A packet, with its bytes on the wire.
    Packet(K, u32),
}

/// What the stack asks of the driver's flows.
pub trait Flows<F, K> {
    /// Bytes on the wire of a flow's next packet, or more; `None` if it cannot send now.
    fn next_bytes(&self, flow: F) -> Option<u32>;

    /// Which of `departure.paths` paths the next packet takes.
    fn choose(&mut self, what: Waiting<F, K>, departure: Departure) -> u32;

    /// The number of what waits among the flows of its pair, for a path role that serves all of them.
    fn local(&self, what: Waiting<F, K>) -> LocalFlow;
}

/// What becomes of a packet that could leave at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It leaves; on this path, or on one that its flow chooses.
    Go(Option<PathIndex>),
    /// A limiter drops it.
    Drop,
    /// It waits.
    Wait,
}

/// What a pair does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<F, K> {
    /// This leaves, with tokens for so many bytes; on this path, or on one that its flow chooses. Call again.
    Go(Waiting<F, K>, u32, Option<PathIndex>),
    /// A limiter drops one packet of it. Call again.
    Drop(Waiting<F, K>, u32),
    /// It waits until this time.
    PairWaits(Instant),
    /// It waits for its class, which is to be looked at then.
    ClassWaits(ClassId, Instant),
    /// Nothing waits, or what waits needs an event.
    Rests,
}

/// What a class does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassStep<F, K> {
    /// As [`Step::Go`], of this pair. Then [`HostStack::queue_up`] for the pair, and call again.
    Go(u32, Waiting<F, K>, u32, Option<PathIndex>),
    /// As [`Step::Drop`], of this pair; go on in the same way.
    Drop(u32, Waiting<F, K>, u32),
    /// This pair has to wait for something of its own until then. Call again.
    PairWaits(u32, Instant),
    /// The class waits until this time.
    Waits(Instant),
    /// No pair waits.
    Rests,
}

/// Where a pair stands.
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
    /// The first in its line is being let go.
    Served,
}

/// One pair.
#[derive(Debug)]
struct Pair<F, K, T, P> {
    class: u32,
    bucket: Option<TokenBucket>,
    state: State,
    wake_at: Instant,
    waiting: VecDeque<Waiting<F, K>>,
    /// Bytes of packets among them.
    queued: u64,
    paths: Paths,
    /// By path; empty until one is set.
    windows: Vec<Window>,
    round_trip: Instant,
    /// The path of the next packet, once it was chosen.
    next_path: Option<PathIndex>,
    path_role: Option<P>,
    tunnel: Option<Box<TunnelState<K, T>>>,
    /// Flows that the tunnel holds back.
    held_back: Vec<F>,
}

/// One class.
#[derive(Debug, Default)]
struct Class {
    bucket: Option<TokenBucket>,
    /// Pairs that could send but for the class, in turn.
    line: VecDeque<u32>,
    wake_at: Option<Instant>,
}

/// What a pair needs to open.
#[derive(Debug)]
pub struct Opening<T, P> {
    /// Its class.
    pub class: ClassId,
    /// How many candidate paths it has.
    pub paths: u32,
    /// Its round trip without queues.
    pub round_trip: Time,
    /// Its tunnel, if its scheme has tunnels.
    pub tunnel: Option<T>,
    /// What spreads its packets over paths, if its flows do not choose for themselves.
    pub path_role: Option<P>,
}

/// The stack of one host below its transports, for one scheme. `F` is a flow, `K` a packet, as the driver calls them; `T`
/// is the tunnels' role, `P` the pairs' path role, both [`Absent`](wayleave_roles::Absent) where there are none.
#[derive(Debug)]
pub struct HostStack<F, K, T, P> {
    pairs: Vec<Option<Pair<F, K, T, P>>>,
    classes: Vec<Class>,
    /// Flows that stood in a line and cannot send any more.
    gone: Vec<F>,
    /// Flows that a tunnel may take another packet of.
    offers: Vec<F>,
}

impl<F: Copy, K: Copy, T: Tunnel, P: Path> HostStack<F, K, T, P> {
    /// With so many classes.
    pub fn new(classes: usize) -> Self {
        let classes = std::iter::repeat_with(Class::default).take(classes).collect();
        Self { pairs: Vec::new(), classes, gone: Vec::new(), offers: Vec::new() }
    }

    /// A pair opens; its number is the driver's, and free.
    pub fn open(&mut self, pair: u32, opening: Opening<T, P>) {
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
            paths: Paths::new(opening.paths.max(1)),
            windows: Vec::new(),
            round_trip: clock::from_time(opening.round_trip),
            next_path: None,
            path_role: opening.path_role,
            tunnel: opening.tunnel.map(|role| Box::new(TunnelState::new(role))),
            held_back: Vec::new(),
        });
    }

    /// A pair is forgotten; nothing of it waits.
    pub fn close(&mut self, pair: u32) {
        if let Some(place) = self.pairs.get_mut(pair as usize) {
            *place = None;
        }
    }

    fn pair(&self, pair: u32) -> Option<&Pair<F, K, T, P>> {
        self.pairs.get(pair as usize)?.as_ref()
    }

    fn pair_mut(&mut self, pair: u32) -> Option<&mut Pair<F, K, T, P>> {
        self.pairs.get_mut(pair as usize)?.as_mut()
    }

    /// Flows that stood in a line and cannot send any more: they left it. To be asked for after every call.
    pub fn take_gone(&mut self) -> Vec<F> {
        std::mem::take(&mut self.gone)
    }

    /// Whether there are any of them; cheaper to ask first.
    pub fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Flows whose tunnel held them back, and may take another packet now.
    pub fn take_offers(&mut self) -> Vec<F> {
        std::mem::take(&mut self.offers)
    }

    /// Whether there are any of them.
    pub fn has_offers(&self) -> bool {
        !self.offers.is_empty()
    }

    /// Bytes of packets that wait in a pair's line, without those of its tunnel.
    pub fn queued(&self, pair: u32) -> u64 {
        self.pair(pair).map_or(0, |pair| pair.queued)
    }

    /// Whether nothing of a pair waits.
    pub fn is_idle(&self, pair: u32) -> bool {
        self.pair(pair)
            .is_none_or(|pair| pair.waiting.is_empty() && pair.tunnel.as_ref().is_none_or(|tunnel| tunnel.is_empty()))
    }

    /// A pair's tunnel.
    pub fn tunnel(&self, pair: u32) -> Option<&TunnelState<K, T>> {
        self.pair(pair)?.tunnel.as_deref()
    }

    /// The same, to change it.
    pub fn tunnel_mut(&mut self, pair: u32) -> Option<&mut TunnelState<K, T>> {
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

    /// Whether a pair waits for what a window counts to be answered, and since when nothing was sent or answered.
    pub fn waits_for_answers(&self, pair: u32) -> Option<Instant> {
        let pair = self.pair(pair).filter(|pair| pair.state == State::Blocked)?;
        let in_flight = pair.windows.iter().filter(|window| window.in_flight() > 0);
        in_flight.map(Window::active_at).max()
    }

    /// Paths that get a copy of every packet.
    pub fn copies(&self, pair: u32, now: Instant) -> Vec<PathIndex> {
        self.pair(pair).map_or_else(Vec::new, |pair| pair.paths.copies(now).collect())
    }

    /// Whether the host role has chosen the paths of a pair; only then copies go anywhere.
    pub fn is_steered(&self, pair: u32) -> bool {
        self.pair(pair).is_some_and(|pair| pair.paths.is_chosen())
    }

    /// Whether a pair's packets have to be answered, because a window counts them.
    pub fn is_windowed(&self, pair: u32) -> bool {
        self.pair(pair).is_some_and(|pair| !pair.windows.is_empty())
    }
}

// What is asked before a packet leaves, in the order of the stack.
impl<F: Copy, K: Copy, T: Tunnel, P: Path> Pair<F, K, T, P> {
    /// Whether the pair's own bucket has the tokens.
    fn tokens(&mut self, bytes: u32, now: Instant) -> Room {
        match self.bucket.as_mut().map(|bucket| bucket.ready_at(bytes, now)) {
            Some(at) if at > now => Room::Until(at),
            _ => Room::Open,
        }
    }

    /// The path of the next packet, if the stack has to know it, and whether the path takes it now.
    fn path(
        &mut self,
        what: Waiting<F, K>,
        bytes: u32,
        now: Instant,
        flows: &mut impl Flows<F, K>,
    ) -> (Option<PathIndex>, Room) {
        if self.windows.is_empty() && !self.paths.is_chosen() && self.path_role.is_none() {
            return (None, Room::Open);
        }
        let shares = self.paths.shared();
        if shares == 0 {
            return (None, Room::Closed);
        }
        let known =
            self.next_path.and_then(|path| (0..shares).find(|&at| self.paths.share(at).map(|s| s.path) == Some(path)));
        let number = known.unwrap_or_else(|| {
            let departure = Departure { bytes, paths: shares };
            let chosen = match (&mut self.path_role, shares) {
                (_, 1) => 0,
                (Some(role), _) => role.choose_for(clock::to_time(now), flows.local(what), departure),
                (None, _) => flows.choose(what, departure),
            };
            chosen.min(shares - 1)
        });
        let Some(share) = self.paths.share(number) else { return (None, Room::Closed) };
        self.next_path = Some(share.path);
        let room = match share.from {
            from if from > now => Room::Until(from),
            _ => self.windows.get(share.path.index()).map_or(Room::Open, |window| window.room(bytes, now)),
        };
        (Some(share.path), room)
    }

    fn reserve(&mut self, path: Option<PathIndex>, bytes: u32) {
        if let Some(window) = path.and_then(|path| self.windows.get_mut(path.index())) {
            window.reserve(bytes);
        }
        self.next_path = None;
    }

    fn drops(&self) -> bool {
        self.bucket.as_ref().is_some_and(|bucket| bucket.excess() == Excess::Drops)
    }
}

/// Of what is first in a pair's line.
enum Head<F, K> {
    None,
    First(Waiting<F, K>, u32, Option<u64>),
    NotBefore(Instant),
}

impl<F: Copy, K: Copy, T: Tunnel, P: Path> HostStack<F, K, T, P> {
    /// Whether a packet that comes now may leave at once: nothing waits before it, and there are tokens and room. What
    /// may leave has its tokens taken.
    pub fn admit(
        &mut self,
        pair: u32,
        what: Waiting<F, K>,
        bytes: u32,
        now: Instant,
        flows: &mut impl Flows<F, K>,
    ) -> Verdict {
        let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { return Verdict::Go(None) };
        let class = &mut self.classes[state.class as usize];
        if state.state != State::Free || !class.line.is_empty() {
            return Verdict::Wait;
        }
        if state.tokens(bytes, now) != Room::Open {
            return if state.drops() { Verdict::Drop } else { Verdict::Wait };
        }
        let (path, room) = state.path(what, bytes, now, flows);
        if room != Room::Open {
            return Verdict::Wait;
        }
        if class.bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now) {
            return if class.drops() { Verdict::Drop } else { Verdict::Wait };
        }
        take(state, class, bytes, now);
        state.reserve(path, bytes);
        Verdict::Go(path)
    }

    /// Something waits at a pair. Whether [`Self::advance`] is to be called.
    pub fn wait(&mut self, pair: u32, what: Waiting<F, K>) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        if let Waiting::Packet(_, bytes) = what {
            state.queued += u64::from(bytes);
        }
        state.waiting.push_back(what);
        state.state == State::Free
    }

    /// Whether [`Self::advance`] is to be called because a packet came into a pair's tunnel.
    pub fn is_free(&self, pair: u32) -> bool {
        self.pair(pair).is_some_and(|pair| pair.state == State::Free)
    }

    /// What a pair does next, which stands nowhere: when something waits that did not before, when its time has come,
    /// and after a [`Step::Go`] or [`Step::Drop`].
    pub fn advance(&mut self, pair: u32, now: Instant, flows: &mut impl Flows<F, K>) -> Step<F, K> {
        let (what, bytes, number) = match self.head(pair, now, flows) {
            Head::None => {
                self.stand(pair, State::Free);
                return Step::Rests;
            }
            Head::NotBefore(at) => return self.sleep(pair, at),
            Head::First(what, bytes, number) => (what, bytes, number),
        };
        let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { return Step::Rests };
        if let Room::Until(at) = state.tokens(bytes, now) {
            if state.drops() {
                return Step::Drop(self.leave(pair, what, number, now), bytes);
            }
            return self.sleep(pair, at);
        }
        let (path, room) = state.path(what, bytes, now, flows);
        match room {
            Room::Open => {}
            Room::Until(at) => return self.sleep(pair, at),
            Room::Closed => {
                state.state = State::Blocked;
                return Step::Rests;
            }
        }
        let number_of_class = state.class;
        let class = &mut self.classes[number_of_class as usize];
        let lacks = class.bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now);
        if lacks && class.drops() {
            return Step::Drop(self.leave(pair, what, number, now), bytes);
        }
        if lacks || !class.line.is_empty() {
            state.state = State::InLine;
            class.line.push_back(pair);
            let class = ClassId(number_of_class);
            return self.class_wake(class, now, flows).map_or(Step::Rests, |at| Step::ClassWaits(class, at));
        }
        take(state, class, bytes, now);
        state.reserve(path, bytes);
        Step::Go(self.leave(pair, what, number, now), bytes, path)
    }

    /// What a class does next whose time has come, or whose bucket is another.
    pub fn serve(&mut self, class: ClassId, now: Instant, flows: &mut impl Flows<F, K>) -> ClassStep<F, K> {
        loop {
            let Some(&pair) = self.classes.get(class.index()).and_then(|class| class.line.front()) else {
                return ClassStep::Rests;
            };
            let head = self.head(pair, now, flows);
            let state = &mut self.classes[class.index()];
            let mut lacks = false;
            if let Head::First(_, bytes, _) = head {
                lacks = state.bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now);
                if lacks && !state.drops() {
                    return self.class_wake(class, now, flows).map_or(ClassStep::Rests, ClassStep::Waits);
                }
            }
            state.line.pop_front();
            self.stand(pair, State::Free);
            let (what, bytes, number) = match head {
                Head::None => continue,
                Head::NotBefore(at) => {
                    self.sleep(pair, at);
                    return ClassStep::PairWaits(pair, at);
                }
                Head::First(what, bytes, number) => (what, bytes, number),
            };
            let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { continue };
            if let Room::Until(at) = state.tokens(bytes, now) {
                if state.drops() {
                    return ClassStep::Drop(pair, self.leave(pair, what, number, now), bytes);
                }
                self.sleep(pair, at);
                return ClassStep::PairWaits(pair, at);
            }
            let (path, room) = state.path(what, bytes, now, flows);
            match room {
                Room::Open => {}
                Room::Until(at) => {
                    self.sleep(pair, at);
                    return ClassStep::PairWaits(pair, at);
                }
                Room::Closed => {
                    state.state = State::Blocked;
                    continue;
                }
            }
            if lacks {
                return ClassStep::Drop(pair, self.leave(pair, what, number, now), bytes);
            }
            take(state, &mut self.classes[class.index()], bytes, now);
            state.reserve(path, bytes);
            return ClassStep::Go(pair, self.leave(pair, what, number, now), bytes, path);
        }
    }

    /// A pair that had its turn in its class goes to the end of the line, if something waits there that could leave but
    /// for the class. When it is to be looked at otherwise.
    pub fn queue_up(&mut self, pair: u32, now: Instant, flows: &mut impl Flows<F, K>) -> Option<Instant> {
        self.stand(pair, State::Free);
        let (what, bytes) = match self.head(pair, now, flows) {
            Head::None => return None,
            Head::NotBefore(at) => {
                self.sleep(pair, at);
                return Some(at);
            }
            Head::First(what, bytes, _) => (what, bytes),
        };
        let state = self.pair_mut(pair)?;
        let mut room = state.tokens(bytes, now);
        if room == Room::Open {
            room = state.path(what, bytes, now, flows).1;
        }
        match room {
            Room::Until(at) => {
                self.sleep(pair, at);
                Some(at)
            }
            Room::Closed => {
                state.state = State::Blocked;
                None
            }
            Room::Open => {
                state.state = State::InLine;
                let class = state.class;
                self.classes[class as usize].line.push_back(pair);
                None
            }
        }
    }

    /// A pair's time has come; whether [`Self::advance`] is to be called. Out of date if it was to be looked at earlier.
    pub fn on_pair_wake(&mut self, pair: u32, at: Instant) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        let is_due = state.wake_at == at && state.state == State::Sleeps;
        if is_due {
            state.wake_at = NEVER;
            state.state = State::Free;
        }
        is_due
    }

    /// A class' time has come; whether [`Self::serve`] is to be called.
    pub fn on_class_wake(&mut self, class: ClassId, at: Instant) -> bool {
        let Some(state) = self.classes.get_mut(class.index()) else { return false };
        let is_due = state.wake_at == Some(at);
        if is_due {
            state.wake_at = None;
        }
        is_due
    }

    /// What is first in a pair's line. Flows that cannot send any more leave it.
    fn head(&mut self, pair: u32, now: Instant, flows: &impl Flows<F, K>) -> Head<F, K> {
        let Self { pairs, gone, .. } = self;
        let Some(Some(pair)) = pairs.get_mut(pair as usize) else { return Head::None };
        if let Some(tunnel) = &mut pair.tunnel {
            match tunnel.next(now) {
                NextPacket::None => {}
                NextPacket::NotBefore(at) => return Head::NotBefore(at),
                NextPacket::At(number) => {
                    if let (Some((packet, _)), Some(bytes)) = (tunnel.peek(number), tunnel.bytes(number)) {
                        return Head::First(Waiting::Packet(packet, bytes), bytes, Some(number));
                    }
                }
            }
        }
        loop {
            match pair.waiting.front() {
                None => return Head::None,
                Some(&what @ Waiting::Packet(_, bytes)) => return Head::First(what, bytes, None),
                Some(&what @ Waiting::Flow(flow)) => match flows.next_bytes(flow) {
                    Some(bytes) => return Head::First(what, bytes, None),
                    None => {
                        pair.waiting.pop_front();
                        gone.push(flow);
                    }
                },
            }
        }
    }

    /// The first of a pair's line leaves it.
    fn leave(&mut self, pair: u32, what: Waiting<F, K>, number: Option<u64>, now: Instant) -> Waiting<F, K> {
        let Self { pairs, offers, .. } = self;
        let Some(Some(state)) = pairs.get_mut(pair as usize) else { return what };
        state.state = State::Served;
        state.next_path = None;
        match (number, &mut state.tunnel) {
            (Some(number), Some(tunnel)) => {
                tunnel.take(now, number);
                offers.append(&mut state.held_back);
            }
            _ => {
                state.waiting.pop_front();
                if let Waiting::Packet(_, bytes) = what {
                    state.queued -= u64::from(bytes);
                }
            }
        }
        what
    }

    fn stand(&mut self, pair: u32, state: State) {
        if let Some(pair) = self.pair_mut(pair) {
            pair.state = state;
        }
    }

    fn sleep(&mut self, pair: u32, at: Instant) -> Step<F, K> {
        if let Some(pair) = self.pair_mut(pair) {
            pair.state = State::Sleeps;
            pair.wake_at = at;
        }
        Step::PairWaits(at)
    }

    /// When a class is to be looked at whose first pair lacks tokens, if that is not known yet.
    fn class_wake(&mut self, class: ClassId, now: Instant, flows: &impl Flows<F, K>) -> Option<Instant> {
        let state = &self.classes[class.index()];
        if state.wake_at.is_some() {
            return None;
        }
        let &first = state.line.front()?;
        let bytes = match self.head(first, now, flows) {
            Head::First(_, bytes, _) => bytes,
            // Found at once.
            Head::None | Head::NotBefore(_) => 0,
        };
        let state = &mut self.classes[class.index()];
        let at = state.bucket.as_mut().map_or(now, |bucket| bucket.ready_at(bytes, now));
        state.wake_at = Some(at);
        Some(at)
    }
}

// What the host role sets, and what comes back from the network. Each returns whether the pair's `advance` is to be
// called.
impl<F: Copy, K: Copy, T: Tunnel, P: Path> HostStack<F, K, T, P> {
    /// Sets, replaces or lifts a pair's limiter. `frame` is the largest on the wire: a burst below it would let nothing
    /// through.
    pub fn limit_pair(&mut self, pair: u32, bucket: Option<Bucket>, frame: u32, now: Instant) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        set_bucket(&mut state.bucket, bucket, frame, now);
        if let Some(tunnel) = &mut state.tunnel {
            tunnel.set_rate(clock::to_time(now), bucket.map(|bucket| bucket.rate));
        }
        self.wake(pair, State::Sleeps)
    }

    /// Sets, replaces or lifts the root limiter of a class; [`Self::serve`] is to be called then.
    pub fn limit_class(&mut self, class: ClassId, bucket: Option<Bucket>, frame: u32, now: Instant) -> bool {
        let Some(state) = self.classes.get_mut(class.index()) else { return false };
        set_bucket(&mut state.bucket, bucket, frame, now);
        state.wake_at = None;
        true
    }

    /// Sets or lifts the window of a pair on a path.
    pub fn set_window(&mut self, pair: u32, path: PathIndex, window: Option<u64>) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        if path.0 >= state.paths.count() {
            return false;
        }
        if state.windows.is_empty() {
            state.windows = vec![Window::default(); state.paths.count() as usize];
        }
        if let Some(place) = state.windows.get_mut(path.index()) {
            place.set(window);
        }
        self.wake_if_blocked(pair)
    }

    /// Takes a path into use.
    pub fn use_path(&mut self, pair: u32, path: PathIndex, purpose: PathUse, from: Instant) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        state.paths.use_path(path, purpose, from);
        state.next_path = None;
        self.wake_if_blocked(pair)
    }

    /// Takes a path out of use.
    pub fn leave_path(&mut self, pair: u32, path: PathIndex) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        state.paths.leave(path);
        state.next_path = None;
        self.wake_if_blocked(pair)
    }

    /// The candidate paths are others: windows are forgotten, and all are in use until the host role chooses.
    pub fn replace_paths(&mut self, pair: u32, count: u32, now: Instant) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        state.paths.replaced(count.max(1));
        state.windows.clear();
        state.next_path = None;
        if let Some(role) = &mut state.path_role {
            role.on_paths_changed(clock::to_time(now));
        }
        self.wake_if_blocked(pair)
    }

    /// A packet leaves that had been let go with `granted` bytes on `path`. What its answer has to bring back, if a
    /// window counts it.
    pub fn sent(&mut self, pair: u32, path: PathIndex, bytes: u32, granted: u32, now: Instant) -> Option<u64> {
        let state = self.pair_mut(pair)?;
        let round_trip = state.round_trip;
        let window = state.windows.get_mut(path.index())?;
        Some(window.send(bytes, granted, round_trip, now))
    }

    /// What was let go with so many bytes sent only `used` of them, or was not sent at all.
    pub fn put_back(&mut self, pair: u32, granted: u32, used: u32) {
        let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { return };
        let class = &mut self.classes[state.class as usize];
        for bucket in [&mut state.bucket, &mut class.bucket].into_iter().flatten() {
            bucket.put_back(granted - used.min(granted));
        }
    }

    /// What was let go on a path will not be sent.
    pub fn release(&mut self, pair: u32, path: PathIndex, granted: u32) -> bool {
        let window = self.pair_mut(pair).and_then(|pair| pair.windows.get_mut(path.index()));
        if let Some(window) = window {
            window.release(granted);
        }
        self.wake_if_blocked(pair)
    }

    /// A packet of a path was answered, which brought back `sent`.
    pub fn answered(&mut self, pair: u32, path: PathIndex, sent: u64, now: Instant) -> bool {
        let window = self.pair_mut(pair).and_then(|pair| pair.windows.get_mut(path.index()));
        window.is_some_and(|window| window.answer(sent, now)) && self.wake_if_blocked(pair)
    }

    /// What is in flight of a pair will not be answered any more: a transport found that by a time-out.
    pub fn forget_in_flight(&mut self, pair: u32) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        let is_new = state.windows.iter_mut().fold(false, |is_new, window| window.forget() | is_new);
        is_new && self.wake_if_blocked(pair)
    }

    /// What an acknowledgement told of a path, for the pair's path role.
    pub fn on_path_report(&mut self, pair: u32, report: PathReport, now: Instant) {
        if let Some(role) = self.pair_mut(pair).and_then(|pair| pair.path_role.as_mut()) {
            role.on_report(clock::to_time(now), report);
        }
    }

    /// What the ports of a path wrote, for the pair's path role.
    pub fn on_path_telemetry(&mut self, pair: u32, path: u32, hops: &[wayleave_roles::IntHop], now: Instant) {
        if let Some(role) = self.pair_mut(pair).and_then(|pair| pair.path_role.as_mut()) {
            role.on_telemetry(clock::to_time(now), path, hops);
        }
    }

    /// A pair that stands like this stands nowhere now.
    fn wake(&mut self, pair: u32, state: State) -> bool {
        let Some(pair) = self.pair_mut(pair) else { return false };
        let is_so = pair.state == state;
        if is_so {
            pair.wake_at = NEVER;
            pair.state = State::Free;
        }
        is_so
    }

    fn wake_if_blocked(&mut self, pair: u32) -> bool {
        self.wake(pair, State::Blocked) || self.wake(pair, State::Sleeps)
    }
}

impl Class {
    fn drops(&self) -> bool {
        self.bucket.as_ref().is_some_and(|bucket| bucket.excess() == Excess::Drops)
    }
}

/// Takes the tokens of a packet that leaves.
fn take<F, K, T, P>(pair: &mut Pair<F, K, T, P>, class: &mut Class, bytes: u32, now: Instant) {
    for bucket in [&mut pair.bucket, &mut class.bucket].into_iter().flatten() {
        bucket.take(bytes, now);
    }
}

/// Sets, replaces or lifts a limit.
fn set_bucket(place: &mut Option<TokenBucket>, bucket: Option<Bucket>, frame: u32, now: Instant) {
    match (place.as_mut(), bucket) {
        (Some(old), Some(new)) => old.replace(new, frame, now),
        (None, Some(new)) => *place = Some(TokenBucket::new(new, frame, now)),
        (_, None) => *place = None,
    }
}
