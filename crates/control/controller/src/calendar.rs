//! The trusted calendar: wall-clock time with protection against forward jumps.
//!
//! A start or an end by the calendar is final: a contract that has ended has lost its reservation. So a clock that
//! jumps forward is distrusted at first, and the calendar continues from its last time by the steady clock. The new
//! time is trusted once the clock has run for a hold-down time without another jump. A clock that jumps back is
//! trusted at once: nothing ends early by it.

use wayleave_units::{Time, WallTime};

use crate::clock::Timestamps;
use crate::setup::Timeouts;

/// State of the trusted calendar, with a clock step that is not yet trusted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    /// Both clocks at the last trusted reading.
    trusted: Timestamps,
    suspected: Option<ClockStep>,
    /// Maximum advance of the clock over the steady one that is not a jump.
    jump: Time,
    /// Hold-down time after a forward jump; zero trusts every jump.
    hold_down: Time,
}

/// A clock that has jumped.
#[derive(Clone, Copy, Debug)]
struct ClockStep {
    /// Time of the first reading after the jump, by the steady clock.
    since: Time,
    /// Both clocks when they were seen last.
    seen: Timestamps,
}

impl Calendar {
    /// Continues from a trusted time.
    pub(crate) fn new(timing: &Timeouts, trusted: Timestamps) -> Self {
        Self { trusted, suspected: None, jump: timing.clock_jump, hold_down: timing.clock_hold_down }
    }

    /// Processes a reading of both clocks.
    pub(crate) fn see(&mut self, now: Timestamps) {
        let expected = after(self.trusted, now.steady);
        if self.hold_down == Time::ZERO || now.wall <= later(expected, self.jump) {
            (self.trusted, self.suspected) = (now, None);
            return;
        }
        let runs_on = |suspected: &ClockStep| {
            let expected = after(suspected.seen, now.steady);
            now.wall <= later(expected, self.jump) && expected <= later(now.wall, self.jump)
        };
        let since = self.suspected.filter(runs_on).map_or(now.steady, |suspected| suspected.since);
        if now.steady >= since + self.hold_down {
            (self.trusted, self.suspected) = (now, None);
        } else {
            self.trusted = Timestamps { steady: now.steady, wall: expected };
            self.suspected = Some(ClockStep { since, seen: now });
        }
    }

    /// Returns the trusted time.
    pub(crate) fn wall(&self) -> WallTime {
        self.trusted.wall
    }

    /// Returns the lead of the clock over the trusted time, if the clock is distrusted.
    pub(crate) fn ahead(&self) -> Option<Time> {
        let suspected = self.suspected?;
        Some(Time::from_nanos(suspected.seen.wall.as_nanos().saturating_sub(self.trusted.wall.as_nanos())))
    }

    /// Returns the steady time at which the clock will be trusted, if it is distrusted.
    pub(crate) fn hold_down_until(&self) -> Option<Time> {
        Some(self.suspected?.since + self.hold_down)
    }

    /// Returns the reading of the clock at this trusted time.
    pub(crate) fn shown_at(&self, wall: WallTime) -> WallTime {
        later(wall, self.ahead().unwrap_or(Time::ZERO))
    }
}

fn later(wall: WallTime, by: Time) -> WallTime {
    WallTime::from_nanos(wall.as_nanos().saturating_add(by.as_nanos()))
}

/// Returns the calendar time at this steady time, if both clocks advance at equal rates.
fn after(from: Timestamps, steady: Time) -> WallTime {
    later(from.wall, steady.saturating_sub(from.steady))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: u64 = 1_700_000_000;

    fn at(steady: u64, wall: u64) -> Timestamps {
        Timestamps {
            steady: Time::from_millis(steady * 1000),
            wall: WallTime::from_nanos((BEGIN + wall) * 1_000_000_000),
        }
    }

    fn calendar() -> Calendar {
        let (clock_jump, clock_hold_down) = (Time::from_millis(60_000), Time::from_millis(3_600_000));
        Calendar::new(&Timeouts { clock_jump, clock_hold_down, ..Timeouts::default() }, at(0, 0))
    }

    /// Trusted times after each of these readings, in seconds since the beginning.
    fn trusted(calendar: &mut Calendar, seen: &[(u64, u64)]) -> Vec<u64> {
        let see = |&(steady, wall): &(u64, u64)| {
            calendar.see(at(steady, wall));
            calendar.wall().as_nanos() / 1_000_000_000 - BEGIN
        };
        seen.iter().map(see).collect()
    }

    #[test]
    fn a_jump_forward_counts_after_an_hour_and_small_steps_at_once() {
        let mut calendar = calendar();
        let steps =
            [(10, 10), (20, 70), (30, 86_400), (40, 86_410), (3_629, 90_000 - 1), (3_630, 90_000), (3_640, 90_010)];
        assert_eq!(trusted(&mut calendar, &steps), [10, 70, 80, 90, 3_679, 90_000, 90_010]);
        assert_eq!(calendar.ahead(), None);
    }

    #[test]
    fn a_clock_step_that_is_corrected_was_never_trusted() {
        let mut calendar = calendar();
        assert_eq!(trusted(&mut calendar, &[(10, 90_000), (1_000, 90_990)]), [10, 1_000]);
        assert_eq!(calendar.ahead(), Some(Time::from_millis(89_990_000)));
        assert_eq!(calendar.hold_down_until(), Some(Time::from_millis(3_610_000)));
        assert_eq!(trusted(&mut calendar, &[(2_000, 2_000)]), [2_000]);
        assert_eq!((calendar.ahead(), calendar.hold_down_until()), (None, None));
    }

    #[test]
    fn a_clock_that_jumps_again_restarts_the_hold_down() {
        let mut calendar = calendar();
        let jumps = [(10, 10_000), (3_000, 20_000), (3_700, 20_700), (6_500, 1_000_000), (6_600, 23_600)];
        assert_eq!(trusted(&mut calendar, &jumps), [10, 3_000, 3_700, 6_500, 6_600]);
    }

    #[test]
    fn a_backward_step_of_the_clock_is_trusted_at_once() {
        let mut calendar = calendar();
        assert_eq!(trusted(&mut calendar, &[(1_000, 1_000), (1_010, 500), (1_020, 510)]), [1_000, 500, 510]);
    }

    #[test]
    fn without_a_hold_down_every_clock_is_trusted() {
        let timing = Timeouts { clock_hold_down: Time::ZERO, ..Timeouts::default() };
        let mut calendar = Calendar::new(&timing, at(0, 0));
        assert_eq!(trusted(&mut calendar, &[(1, 1_000_000)]), [1_000_000]);
    }
}
