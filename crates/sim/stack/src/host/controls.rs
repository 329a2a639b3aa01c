//! Controls of the host role: limits, windows and paths.

use wayleave_scheme_api::{Bucket, ClassId, PathIndex, PathProbe, PathUse};

use super::{HostStack, State};
use crate::bucket::ShaperBucket;
use crate::clock::{self, Instant, NEVER};
use crate::window::Window;

// Each method returns whether the pair's `advance` is to be called.
impl<F: Copy, K: Copy> HostStack<F, K> {
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

    /// Takes a path with this round trip into use; see [`Window::set_round_trip`].
    pub fn use_path(
        &mut self,
        pair: u32,
        (path, round_trip): (PathIndex, Instant),
        purpose: PathUse,
        from: Instant,
    ) -> bool {
        let Some(state) = self.pair_mut(pair) else { return false };
        if let Some(window) = state.windows.get_mut(path.index()) {
            window.set_round_trip(round_trip);
        }
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

    /// Returns the probe that the pair's path role requests now, out of `paths` paths.
    pub fn path_probe(&mut self, pair: u32, paths: u32, now: Instant) -> Option<PathProbe> {
        self.pair_mut(pair)?.path_role.as_mut()?.probe(clock::to_time(now), paths)
    }

    /// Sets a pair in this state to `Free`. Returns `true` if it was in the state.
    fn wake(&mut self, pair: u32, state: State) -> bool {
        let Some(pair) = self.pair_mut(pair) else { return false };
        let is_so = pair.state == state;
        if is_so {
            pair.wake_at = NEVER;
            pair.state = State::Free;
        }
        is_so
    }

    pub(super) fn wake_if_blocked(&mut self, pair: u32) -> bool {
        self.wake(pair, State::Blocked) || self.wake(pair, State::Sleeps)
    }
}

/// Sets, replaces or lifts a limit.
fn set_bucket(place: &mut Option<ShaperBucket>, bucket: Option<Bucket>, frame: u32, now: Instant) {
    match (place.as_mut(), bucket) {
        (Some(old), Some(new)) => old.replace(new, frame, now),
        (None, Some(new)) => *place = Some(ShaperBucket::new(new, frame, now)),
        (_, None) => *place = None,
    }
}
