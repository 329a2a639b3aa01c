//! What the host role sets, and what comes back from the network.

use wayleave_scheme_api::{Bucket, ClassId, IntHop, Path, PathIndex, PathProbe, PathReport, PathUse, Tunnel};

use super::{HostStack, State};
use crate::bucket::TokenBucket;
use crate::clock::{self, Instant, NEVER};
use crate::window::Window;

// Each method returns whether the pair's `advance` is to be called.
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

    /// The rate at which packets leave on a path although its window is full; a path without a window has none.
    pub fn set_floor(&mut self, pair: u32, path: PathIndex, bits_per_second: u64, now: Instant) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        let round_trip = state.round_trip;
        if let Some(window) = state.windows.get_mut(path.index()) {
            window.set_floor(bits_per_second, round_trip, now);
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
    pub fn on_path_telemetry(&mut self, pair: u32, path: u32, hops: &[IntHop], now: Instant) {
        if let Some(role) = self.pair_mut(pair).and_then(|pair| pair.path_role.as_mut()) {
            role.on_telemetry(clock::to_time(now), path, hops);
        }
    }

    /// What the pair's path role wants probed now, of so many paths.
    pub fn path_probe(&mut self, pair: u32, paths: u32, now: Instant) -> Option<PathProbe> {
        self.pair_mut(pair)?.path_role.as_mut()?.probe(clock::to_time(now), paths)
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

/// Sets, replaces or lifts a limit.
fn set_bucket(place: &mut Option<TokenBucket>, bucket: Option<Bucket>, frame: u32, now: Instant) {
    match (place.as_mut(), bucket) {
        (Some(old), Some(new)) => old.replace(new, frame, now),
        (None, Some(new)) => *place = Some(TokenBucket::new(new, frame, now)),
        (_, None) => *place = None,
    }
}
