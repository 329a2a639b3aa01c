//! Detection of silent paths: a path with packets that stay unacknowledged for long is left out, and tried again with
//! one flowcell at a time.
//!
//! This is not in the paper, where a controller learns of failed links and changes the paths of hosts (section 3.3).
//! Without such notifications, every path of a flow would lose its part of the packets for good.

use wayleave_units::Time;

/// Multiple of the silence after which a path that is left out is tried again.
const RETRY: u64 = 10;

/// Known state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No packets wait for an acknowledgement since the last one.
    Answered,
    /// Nothing was acknowledged since then, when something was sent.
    Waiting(Time),
    /// Left out until then.
    Silent(Time),
}

/// The paths of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SilenceMonitor {
    silence: Time,
    paths: Vec<State>,
}

impl SilenceMonitor {
    pub(super) fn new(silence: Time) -> Self {
        Self { silence, paths: Vec::new() }
    }

    /// Returns the first of `paths` paths, from `first` on, that is not left out; `first` if all of them are. Records
    /// that a packet is sent along it now.
    pub(super) fn next(&mut self, now: Time, first: u32, paths: u32) -> u32 {
        self.paths.resize(paths as usize, State::Answered);
        let turns = (0..paths).map(|turn| (first + turn) % paths.max(1));
        let chosen = turns.into_iter().find(|&path| self.is_open(now, path)).unwrap_or(first);
        self.sent(now, chosen);
        chosen
    }

    /// Something is sent along a path.
    pub(super) fn sent(&mut self, now: Time, path: u32) {
        if let Some(state @ State::Answered) = self.paths.get_mut(path as usize) {
            *state = State::Waiting(now);
        }
    }

    /// Something that went along a path is acknowledged.
    pub(super) fn on_answer(&mut self, path: u32) {
        if let Some(state) = self.paths.get_mut(path as usize) {
            *state = State::Answered;
        }
    }

    /// The set of paths has changed.
    pub(super) fn forget(&mut self) {
        self.paths.clear();
    }

    fn is_open(&mut self, now: Time, path: u32) -> bool {
        let again = now + Time::from_nanos(self.silence.as_nanos().saturating_mul(RETRY));
        let Some(state) = self.paths.get_mut(path as usize) else { return true };
        match *state {
            State::Waiting(since) if now.saturating_sub(since) > self.silence => {
                *state = State::Silent(again);
                false
            }
            State::Answered | State::Waiting(_) => true,
            State::Silent(until) if now < until => false,
            State::Silent(_) => {
                *state = State::Silent(again);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_path_without_answers_is_skipped_and_tried_later() {
        let mut paths = SilenceMonitor::new(ms(2));
        assert_eq!([0, 1, 2].map(|first| paths.next(ms(0), first, 3)), [0, 1, 2]);
        paths.on_answer(0);
        paths.on_answer(2);
        // 2 ms are not yet silence.
        assert_eq!(paths.next(ms(2), 1, 3), 1);
        assert_eq!([paths.next(ms(3), 1, 3), paths.next(ms(3), 1, 3)], [2, 2]);
        paths.on_answer(2);
        assert_eq!(paths.next(ms(22), 1, 3), 2, "10 times 2 ms after it was left out");
        assert_eq!(paths.next(ms(23), 1, 3), 1, "one more try");
        paths.on_answer(2);
        assert_eq!(paths.next(ms(23), 1, 3), 2, "only one");
        paths.on_answer(1);
        assert_eq!(paths.next(ms(24), 1, 3), 1, "it answers");
    }

    #[test]
    fn if_no_path_answers_all_are_used_in_turn() {
        let mut paths = SilenceMonitor::new(ms(2));
        assert_eq!([0, 1].map(|first| paths.next(ms(0), first, 2)), [0, 1]);
        assert_eq!([0, 1, 0, 1].map(|first| paths.next(ms(5), first, 2)), [0, 1, 0, 1]);
        paths.forget();
        assert_eq!(paths.next(ms(5), 0, 2), 0);
    }
}
