//! Packets that leave a host, wait in its stack, or are answered: tokens, paths and windows.

use wayleave_scheme_api::{ClassId, Departure, ExcessAction, IntHop, PathIndex, PathReport};

use super::{AdmitOutcome, Class, ClassStep, FlowQueries, HostStack, Pair, PairBacklog, PairStep, State};
use crate::clock::{self, Instant, NEVER};
use crate::tunnel::NextPacket;
use crate::window::WindowCheck;

// Checks before a packet leaves, in the order of the stack.
impl<F: Copy, K: Copy> Pair<F, K> {
    /// Checks if the pair's own bucket has the tokens.
    fn tokens(&mut self, bytes: u32, now: Instant) -> WindowCheck {
        match self.bucket.as_mut().map(|bucket| bucket.ready_at(bytes, now)) {
            Some(at) if at > now => WindowCheck::Until(at),
            _ => WindowCheck::Open,
        }
    }

    /// Returns the path of the next packet, if the stack has to know it, and the path's room for the packet now.
    fn path(
        &mut self,
        what: PairBacklog<F, K>,
        bytes: u32,
        now: Instant,
        flows: &mut impl FlowQueries<F, K>,
    ) -> (Option<PathIndex>, WindowCheck) {
        if self.windows.is_empty() && !self.paths.is_chosen() && self.path_role.is_none() {
            return (None, WindowCheck::Open);
        }
        let shares = self.paths.shared();
        if shares == 0 {
            return (None, WindowCheck::Closed);
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
        let Some(share) = self.paths.share(number) else { return (None, WindowCheck::Closed) };
        self.next_path = Some(share.path);
        let room = match share.from {
            from if from > now => WindowCheck::Until(from),
            _ => self.windows.get(share.path.index()).map_or(WindowCheck::Open, |window| window.check(bytes, now)),
        };
        (Some(share.path), room)
    }

    fn reserve(&mut self, path: Option<PathIndex>, bytes: u32, now: Instant) {
        if let Some(window) = path.and_then(|path| self.windows.get_mut(path.index())) {
            window.reserve(bytes, now);
        }
        self.next_path = None;
    }

    fn drops(&self) -> bool {
        self.bucket.as_ref().is_some_and(|bucket| bucket.excess() == ExcessAction::Drops)
    }
}

/// First item in a pair's line.
enum Head<F, K> {
    None,
    First(PairBacklog<F, K>, u32, Option<u64>),
    NotBefore(Instant),
}

impl<F: Copy, K: Copy> HostStack<F, K> {
    /// Returns `Go` if a new packet may leave at once: nothing waits before it, and there are tokens and room. Its
    /// tokens are then taken.
    pub fn admit(
        &mut self,
        pair: u32,
        what: PairBacklog<F, K>,
        bytes: u32,
        now: Instant,
        flows: &mut impl FlowQueries<F, K>,
    ) -> AdmitOutcome {
        let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { return AdmitOutcome::Go(None) };
        let class = &mut self.classes[state.class as usize];
        if state.state != State::Free || !class.line.is_empty() {
            return AdmitOutcome::Wait;
        }
        if state.tokens(bytes, now) != WindowCheck::Open {
            return if state.drops() { AdmitOutcome::Drop } else { AdmitOutcome::Wait };
        }
        let (path, room) = state.path(what, bytes, now, flows);
        if room != WindowCheck::Open {
            return AdmitOutcome::Wait;
        }
        if class.bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now) {
            return if class.drops() { AdmitOutcome::Drop } else { AdmitOutcome::Wait };
        }
        take(state, class, bytes, now);
        state.reserve(path, bytes, now);
        AdmitOutcome::Go(path)
    }

    /// Queues an item at a pair. Returns `true` if [`Self::advance`] is to be called.
    pub fn wait(&mut self, pair: u32, what: PairBacklog<F, K>) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        if let PairBacklog::Packet(_, bytes) = what {
            state.queued += u64::from(bytes);
        }
        state.waiting.push_back(what);
        state.state == State::Free
    }

    /// Returns `true` if [`Self::advance`] is to be called because a packet came into a pair's tunnel.
    pub fn is_free(&self, pair: u32) -> bool {
        self.pair(pair).is_some_and(|pair| pair.state == State::Free)
    }

    /// Returns the tunnel packet, with its bytes, that a pair in state `Free` could send now if it had its turn at
    /// the interface.
    pub fn next_of_tunnel(&mut self, pair: u32, now: Instant, flows: &impl FlowQueries<F, K>) -> Option<(K, u32)> {
        let Some(Some(state)) = self.pairs.get(pair as usize) else { return None };
        if state.tunnel.is_none() || state.state != State::Free {
            return None;
        }
        let Head::First(PairBacklog::Packet(packet, bytes), ..) = self.head(pair, now, flows) else { return None };
        let state = self.pair_mut(pair)?;
        (state.tokens(bytes, now) == WindowCheck::Open).then_some((packet, bytes))
    }

    /// Marks a pair as queued at the interface until its turn.
    pub fn queue_at_interface(&mut self, pair: u32) {
        self.enqueue(pair, State::AtInterface);
    }

    /// Handles a pair's turn at the interface. Returns `true` if the pair is queued there; then [`Self::advance`] is
    /// to be called.
    pub fn take_turn(&mut self, pair: u32) -> bool {
        let Some(state) = self.pair_mut(pair).filter(|pair| pair.state == State::AtInterface) else { return false };
        state.state = State::Free;
        true
    }

    /// Returns the next step of a pair in state `Free`. To be called when a new item waits, when its time has come,
    /// and after a [`PairStep::Go`] or [`PairStep::Drop`].
    pub fn advance(&mut self, pair: u32, now: Instant, flows: &mut impl FlowQueries<F, K>) -> PairStep<F, K> {
        let (what, bytes, number) = match self.head(pair, now, flows) {
            Head::None => {
                self.enqueue(pair, State::Free);
                return PairStep::Idle;
            }
            Head::NotBefore(at) => return self.sleep(pair, at),
            Head::First(what, bytes, number) => (what, bytes, number),
        };
        let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { return PairStep::Idle };
        if let WindowCheck::Until(at) = state.tokens(bytes, now) {
            if state.drops() {
                return PairStep::Drop(self.leave(pair, what, number, now), bytes);
            }
            return self.sleep(pair, at);
        }
        let (path, room) = state.path(what, bytes, now, flows);
        match room {
            WindowCheck::Open => {}
            WindowCheck::Until(at) => return self.sleep(pair, at),
            WindowCheck::Closed => {
                state.state = State::Blocked;
                return PairStep::Idle;
            }
        }
        let number_of_class = state.class;
        let class = &mut self.classes[number_of_class as usize];
        let lacks = class.bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now);
        if lacks && class.drops() {
            return PairStep::Drop(self.leave(pair, what, number, now), bytes);
        }
        if lacks || !class.line.is_empty() {
            state.state = State::InLine;
            class.line.push_back(pair);
            let class = ClassId(number_of_class);
            return self.class_wake(class, now, flows).map_or(PairStep::Idle, |at| PairStep::ClassWaits(class, at));
        }
        take(state, class, bytes, now);
        state.reserve(path, bytes, now);
        PairStep::Go(self.leave(pair, what, number, now), bytes, path)
    }

    /// Returns the next step of a class whose time has come, or whose bucket has changed.
    pub fn serve(&mut self, class: ClassId, now: Instant, flows: &mut impl FlowQueries<F, K>) -> ClassStep<F, K> {
        loop {
            let Some(&pair) = self.classes.get(class.index()).and_then(|class| class.line.front()) else {
                return ClassStep::Idle;
            };
            let head = self.head(pair, now, flows);
            let state = &mut self.classes[class.index()];
            let mut lacks = false;
            if let Head::First(_, bytes, _) = head {
                lacks = state.bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now);
                if lacks && !state.drops() {
                    return self.class_wake(class, now, flows).map_or(ClassStep::Idle, ClassStep::Waits);
                }
            }
            state.line.pop_front();
            self.enqueue(pair, State::Free);
            let (what, bytes, number) = match head {
                Head::None => continue,
                Head::NotBefore(at) => {
                    self.sleep(pair, at);
                    return ClassStep::PairWaits(pair, at);
                }
                Head::First(what, bytes, number) => (what, bytes, number),
            };
            let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { continue };
            if let WindowCheck::Until(at) = state.tokens(bytes, now) {
                if state.drops() {
                    return ClassStep::Drop(pair, self.leave(pair, what, number, now), bytes);
                }
                self.sleep(pair, at);
                return ClassStep::PairWaits(pair, at);
            }
            let (path, room) = state.path(what, bytes, now, flows);
            match room {
                WindowCheck::Open => {}
                WindowCheck::Until(at) => {
                    self.sleep(pair, at);
                    return ClassStep::PairWaits(pair, at);
                }
                WindowCheck::Closed => {
                    state.state = State::Blocked;
                    continue;
                }
            }
            if lacks {
                return ClassStep::Drop(pair, self.leave(pair, what, number, now), bytes);
            }
            take(state, &mut self.classes[class.index()], bytes, now);
            state.reserve(path, bytes, now);
            return ClassStep::Go(pair, self.leave(pair, what, number, now), bytes, path);
        }
    }

    /// Moves a pair that had its turn in its class to the end of the line, if it has an item that only waits for the
    /// class. Otherwise returns the time at which the pair is to be checked.
    pub fn queue_up(&mut self, pair: u32, now: Instant, flows: &mut impl FlowQueries<F, K>) -> Option<Instant> {
        self.enqueue(pair, State::Free);
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
        if room == WindowCheck::Open {
            room = state.path(what, bytes, now, flows).1;
        }
        match room {
            WindowCheck::Until(at) => {
                self.sleep(pair, at);
                Some(at)
            }
            WindowCheck::Closed => {
                state.state = State::Blocked;
                None
            }
            WindowCheck::Open => {
                state.state = State::InLine;
                let class = state.class;
                self.classes[class as usize].line.push_back(pair);
                None
            }
        }
    }

    /// Handles the wake-up time of a pair. Returns `true` if [`Self::advance`] is to be called. A wake-up is out of
    /// date if an earlier one was set.
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

    /// Records a packet that leaves and had been granted `granted` bytes on `path`. Returns the count that its answer
    /// has to bring back, if a window counts it.
    pub fn sent(&mut self, pair: u32, path: PathIndex, bytes: u32, granted: u32, now: Instant) -> Option<u64> {
        let state = self.pair_mut(pair)?;
        let round_trip = state.round_trip;
        let window = state.windows.get_mut(path.index())?;
        Some(window.send(bytes, granted, round_trip, now))
    }

    /// Returns tokens to the buckets: of `granted` bytes only `used` were sent, or none.
    pub fn put_back(&mut self, pair: u32, granted: u32, used: u32) {
        let Some(Some(state)) = self.pairs.get_mut(pair as usize) else { return };
        let class = &mut self.classes[state.class as usize];
        for bucket in [&mut state.bucket, &mut class.bucket].into_iter().flatten() {
            bucket.put_back(granted - used.min(granted));
        }
    }

    /// Releases a grant on a path that will not be used.
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

    /// Forgets a pair's packets in flight, which will not be answered: a transport detected that by a time-out.
    pub fn forget_in_flight(&mut self, pair: u32) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        let is_new = state.windows.iter_mut().fold(false, |is_new, window| window.forget() | is_new);
        is_new && self.wake_if_blocked(pair)
    }

    /// Passes an acknowledgement's report on a path to the pair's path role.
    pub fn on_path_report(&mut self, pair: u32, report: PathReport, now: Instant) {
        if let Some(role) = self.pair_mut(pair).and_then(|pair| pair.path_role.as_mut()) {
            role.on_report(clock::to_time(now), report);
        }
    }

    /// Passes the telemetry of a path's ports to the pair's path role.
    pub fn on_path_telemetry(&mut self, pair: u32, path: u32, hops: &[IntHop], now: Instant) {
        if let Some(role) = self.pair_mut(pair).and_then(|pair| pair.path_role.as_mut()) {
            role.on_telemetry(clock::to_time(now), path, hops);
        }
    }

    /// Returns the first item in a pair's line. Flows that cannot send any more leave it.
    fn head(&mut self, pair: u32, now: Instant, flows: &impl FlowQueries<F, K>) -> Head<F, K> {
        let Self { pairs, gone, .. } = self;
        let Some(Some(pair)) = pairs.get_mut(pair as usize) else { return Head::None };
        if let Some(tunnel) = &mut pair.tunnel {
            match tunnel.next(now) {
                NextPacket::None => {}
                NextPacket::NotBefore(at) => return Head::NotBefore(at),
                NextPacket::At(number) => {
                    if let (Some((packet, _)), Some(bytes)) = (tunnel.peek(number), tunnel.bytes(number)) {
                        return Head::First(PairBacklog::Packet(packet, bytes), bytes, Some(number));
                    }
                }
            }
        }
        loop {
            match pair.waiting.front() {
                None => return Head::None,
                Some(&what @ PairBacklog::Packet(_, bytes)) => return Head::First(what, bytes, None),
                Some(&what @ PairBacklog::Flow(flow)) => match flows.next_bytes(flow) {
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
    fn leave(&mut self, pair: u32, what: PairBacklog<F, K>, number: Option<u64>, now: Instant) -> PairBacklog<F, K> {
        let Self { pairs, offers, .. } = self;
        let Some(Some(state)) = pairs.get_mut(pair as usize) else { return what };
        state.state = State::Dequeued;
        state.next_path = None;
        match (number, &mut state.tunnel) {
            (Some(number), Some(tunnel)) => {
                tunnel.take(now, number);
                offers.append(&mut state.held_back);
            }
            _ => {
                state.waiting.pop_front();
                if let PairBacklog::Packet(_, bytes) = what {
                    state.queued -= u64::from(bytes);
                }
            }
        }
        what
    }

    fn enqueue(&mut self, pair: u32, state: State) {
        if let Some(pair) = self.pair_mut(pair) {
            pair.state = state;
        }
    }

    fn sleep(&mut self, pair: u32, at: Instant) -> PairStep<F, K> {
        if let Some(pair) = self.pair_mut(pair) {
            pair.state = State::Sleeps;
            pair.wake_at = at;
        }
        PairStep::PairWaits(at)
    }

    /// Returns the time at which a class whose first pair lacks tokens is to be checked, if that is not known yet.
    fn class_wake(&mut self, class: ClassId, now: Instant, flows: &impl FlowQueries<F, K>) -> Option<Instant> {
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

impl Class {
    fn drops(&self) -> bool {
        self.bucket.as_ref().is_some_and(|bucket| bucket.excess() == ExcessAction::Drops)
    }
}

/// Takes the tokens of a packet that leaves.
fn take<F, K>(pair: &mut Pair<F, K>, class: &mut Class, bytes: u32, now: Instant) {
    for bucket in [&mut pair.bucket, &mut class.bucket].into_iter().flatten() {
        bucket.take(bytes, now);
    }
}
