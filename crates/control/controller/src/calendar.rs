//! The calendar as far as it is believed.
//!
//! What starts or ends by the calendar does so for good: a contract that has ended has lost its place. So a clock that jumps forward is
//! doubted at first, and the calendar goes on from where it was by the steady clock. It is believed once it has run on without another
//! jump for a while. A clock that jumps back is believed at once: nothing ends early by it.

use wayleave_units::{Time, WallTime};

use crate::clock::Timestamps;
use crate::setup::Timing;

/// What is believed, and what is doubted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    /// Both clocks, as far as they are believed.
    believed: Timestamps,
    doubt: Option<Doubt>,
    /// A clock may go on by so much more than the steady one.
    jump: Time,
    /// So long it is doubted if it does; zero if it never is.
    lasts: Time,
}

/// A clock that has jumped.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// When it was seen first, by the steady clock.
    since: Time,
    /// Both clocks when they were seen last.
    seen: Timestamps,
}

impl Calendar {
    /// Goes on from a time that was believed.
    pub(crate) fn new(timing: &Timing, believed: Timestamps) -> Self {
        Self { believed, doubt: None, jump: timing.clock_jump, lasts: timing.clock_doubt }
    }

    /// The clocks have gone on.
    pub(crate) fn see(&mut self, now: Timestamps) {
        let expected = after(self.believed, now.steady);
        if self.lasts == Time::ZERO || now.wall <= later(expected, self.jump) {
            (self.believed, self.doubt) = (now, None);
            return;
        }
        let runs_on = |doubt: &Doubt| {
            let expected = after(doubt.seen, now.steady);
            now.wall <= later(expected, self.jump) && expected <= later(now.wall, self.jump)
        };
        let since = self.doubt.filter(runs_on).map_or(now.steady, |doubt| doubt.since);
        if now.steady >= since + self.lasts {
            (self.believed, self.doubt) = (now, None);
        } else {
            self.believed = Timestamps { steady: now.steady, wall: expected };
            self.doubt = Some(Doubt { since, seen: now });
        }
    }

    /// The time that is believed.
    pub(crate) fn wall(&self) -> WallTime {
        self.believed.wall
    }

    /// By how much the clock is ahead of what is believed, if it is doubted.
    pub(crate) fn ahead(&self) -> Option<Time> {
        let doubt = self.doubt?;
        Some(Time::from_nanos(doubt.seen.wall.as_nanos().saturating_sub(self.believed.wall.as_nanos())))
    }

    /// When the clock will be believed, by the steady one, if it is doubted.
    pub(crate) fn doubted_until(&self) -> Option<Time> {
        Some(self.doubt?.since + self.lasts)
    }

    /// What the clock shows when the calendar is there.
    pub(crate) fn shown_at(&self, wall: WallTime) -> WallTime {
        later(wall, self.ahead().unwrap_or(Time::ZERO))
    }
}

fn later(wall: WallTime, by: Time) -> WallTime {
    WallTime::from_nanos(wall.as_nanos().saturating_add(by.as_nanos()))
}

/// What the calendar shows at this steady time if it goes on evenly.
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
        let (clock_jump, clock_doubt) = (Time::from_millis(60_000), Time::from_millis(3_600_000));
        Calendar::new(&Timing { clock_jump, clock_doubt, ..Timing::default() }, at(0, 0))
    }

    /// Seconds since the beginning that are believed after each of these.
    fn believed(calendar: &mut Calendar, seen: &[(u64, u64)]) -> Vec<u64> {
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
        assert_eq!(believed(&mut calendar, &steps), [10, 70, 80, 90, 3_679, 90_000, 90_010]);
        assert_eq!(calendar.ahead(), None);
    }

    #[test]
    fn a_clock_that_is_put_right_was_never_believed() {
        let mut calendar = calendar();
        assert_eq!(believed(&mut calendar, &[(10, 90_000), (1_000, 90_990)]), [10, 1_000]);
        assert_eq!(calendar.ahead(), Some(Time::from_millis(89_990_000)));
        assert_eq!(calendar.doubted_until(), Some(Time::from_millis(3_610_000)));
        assert_eq!(believed(&mut calendar, &[(2_000, 2_000)]), [2_000]);
        assert_eq!((calendar.ahead(), calendar.doubted_until()), (None, None));
    }

    #[test]
    fn a_clock_that_goes_on_jumping_is_doubted_anew() {
        let mut calendar = calendar();
        let jumps = [(10, 10_000), (3_000, 20_000), (3_700, 20_700), (6_500, 1_000_000), (6_600, 23_600)];
        assert_eq!(believed(&mut calendar, &jumps), [10, 3_000, 3_700, 6_500, 6_600]);
    }

    #[test]
    fn a_clock_that_jumps_back_is_believed_at_once() {
        let mut calendar = calendar();
        assert_eq!(believed(&mut calendar, &[(1_000, 1_000), (1_010, 500), (1_020, 510)]), [1_000, 500, 510]);
    }

    #[test]
    fn without_doubt_every_clock_is_believed() {
        let timing = Timing { clock_doubt: Time::ZERO, ..Timing::default() };
        let mut calendar = Calendar::new(&timing, at(0, 0));
        assert_eq!(believed(&mut calendar, &[(1, 1_000_000)]), [1_000_000]);
    }
}
