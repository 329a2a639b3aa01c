//! Activity of a traffic, and the clock that stops while it is inactive.
//!
//! The actions of a traffic are timed by its active time: a source of packets that was off resumes where it stopped.
//! [`Schedule::active`] is that clock, [`Schedule::real`] its inverse.

use wayleave_scenarios as scenarios;

use crate::clock::{self, Instant};
use crate::transport::NEVER;

/// Periods of being on.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// In order of time; at least one.
    periods: Vec<Period>,
}

#[derive(Clone, Copy, Debug)]
struct Period {
    from: Instant,
    on: Instant,
    /// [`NEVER`] if it is on once.
    off: Instant,
    /// Start of the next period.
    end: Instant,
    /// Time for which the traffic was on before this period.
    before: Instant,
}

impl Period {
    /// Returns the time for which it is on in its first `elapsed` ps.
    fn active(&self, elapsed: Instant) -> Instant {
        let cycle = self.on.saturating_add(self.off);
        elapsed / cycle * self.on + (elapsed % cycle).min(self.on)
    }
}

impl Schedule {
    /// Of a schedule that was validated.
    pub(crate) fn new(schedule: &scenarios::Schedule) -> Self {
        let mut periods: Vec<Period> = Vec::new();
        for period in &schedule.periods {
            let from = clock::from_time(period.from);
            let before = match periods.last_mut() {
                None => 0,
                Some(last) => {
                    last.end = from;
                    last.before + last.active(from - last.from)
                }
            };
            let off = period.off.map_or(NEVER, clock::from_time);
            periods.push(Period { from, on: clock::from_time(period.on).max(1), off, end: NEVER, before });
        }
        Self { periods }
    }

    fn at(&self, now: Instant) -> Option<&Period> {
        self.periods[..self.periods.partition_point(|period| period.from <= now)].last()
    }

    /// Returns the time for which it has been on until now.
    pub(crate) fn active(&self, now: Instant) -> Instant {
        self.at(now).map_or(0, |period| period.before + period.active(now - period.from))
    }

    /// Returns `true` if it is on from now on.
    pub(crate) fn is_on(&self, now: Instant) -> bool {
        self.at(now).is_some_and(|period| (now - period.from) % period.on.saturating_add(period.off) < period.on)
    }

    /// Returns the time at which it is on after an active time of `active`; [`NEVER`] if it never is.
    pub(crate) fn real(&self, active: Instant) -> Instant {
        let at = self.periods.partition_point(|period| period.before <= active);
        let Some(period) = at.checked_sub(1).map(|at| &self.periods[at]) else { return NEVER };
        let (spent, on) = (active - period.before, period.on);
        let cycles = u128::from(spent / on) * (u128::from(on) + u128::from(period.off));
        let real = u128::from(period.from) + cycles + u128::from(spent % on);
        Instant::try_from(real).ok().filter(|&real| real < period.end).unwrap_or(NEVER)
    }

    /// Returns the time at which its active time reaches `active`: as [`Self::real`], but at the end of a period that
    /// end.
    pub(crate) fn reached(&self, active: Instant) -> Instant {
        active.checked_sub(1).map_or(0, |before| self.real(before).saturating_add(1))
    }

    /// Returns the first time at which it is on, from now on.
    pub(crate) fn next_on(&self, now: Instant) -> Instant {
        if self.is_on(now) { now } else { self.real(self.active(now)) }
    }

    /// Returns the time of the next switch on or off after now.
    pub(crate) fn next_switch(&self, now: Instant) -> Instant {
        let Some(period) = self.at(now) else { return self.periods.first().map_or(NEVER, |first| first.from) };
        if period.off == 0 {
            return period.end;
        }
        let cycle = period.on.saturating_add(period.off);
        let into = (now - period.from) % cycle;
        let left = if into < period.on { period.on - into } else { cycle - into };
        now.saturating_add(left).min(period.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_scenarios::Period as Spec;
    use wayleave_units::Time;

    /// In ns: on from 10 to 14, from 20 to 24, ..., until 45; on from 45 to 47 and off; always on from 60 on.
    fn schedule() -> Schedule {
        let ns = Time::from_nanos;
        let periods = vec![
            Spec { from: ns(10), on: ns(4), off: Some(ns(6)) },
            Spec { from: ns(45), on: ns(2), off: None },
            Spec { from: ns(60), on: ns(1), off: Some(ns(0)) },
        ];
        Schedule::new(&scenarios::Schedule { periods })
    }

    #[test]
    fn the_clock_of_a_schedule_stops_while_it_is_off() {
        let schedule = schedule();
        // Four periods of 4 ns before 45, of which the last ends at 44.
        let at = [0, 10, 12, 14, 19, 21, 44, 45, 46, 50, 60, 75];
        let active = [0, 0, 2, 4, 4, 5, 16, 16, 17, 18, 18, 33];
        assert_eq!(at.map(|ns| schedule.active(ns * 1_000)), active.map(|ns| ns * 1_000));
        let is_on = [false, true, true, false, false, true, false, true, true, false, true, true];
        assert_eq!(at.map(|ns| schedule.is_on(ns * 1_000)), is_on);
    }

    #[test]
    fn an_event_due_at_the_end_of_a_period_is_due_at_the_start_of_the_next() {
        let schedule = schedule();
        let active = [0, 2, 4, 5, 8, 16, 17, 18, 33];
        let real = [10, 12, 20, 21, 30, 45, 46, 60, 75];
        assert_eq!(active.map(|ns| schedule.real(ns * 1_000)), real.map(|ns| ns * 1_000));
        assert_eq!([4, 5, 16].map(|ns| schedule.reached(ns * 1_000)), [14_000, 21_000, 44_000]);
        let at = [0, 12, 14, 44, 50].map(|ns| schedule.next_on(ns * 1_000));
        assert_eq!(at, [10_000, 12_000, 20_000, 45_000, 60_000]);
    }

    #[test]
    fn a_schedule_switches_at_the_ends_of_periods_and_at_new_entries() {
        let schedule = schedule();
        let at = [0, 10, 14, 41, 44, 45, 47].map(|ns| schedule.next_switch(ns * 1_000));
        assert_eq!(at, [10_000, 14_000, 20_000, 44_000, 45_000, 47_000, 60_000]);
        assert_eq!(schedule.next_switch(60_000), NEVER);
    }

    #[test]
    fn a_single_period_is_never_repeated() {
        let once = scenarios::Schedule { periods: vec![Spec { from: Time::ZERO, on: Time::from_nanos(5), off: None }] };
        let once = Schedule::new(&once);
        assert_eq!([once.real(4_999), once.real(5_000), once.real(NEVER)], [4_999, NEVER, NEVER]);
        assert_eq!((once.next_on(6_000), once.next_switch(6_000)), (NEVER, NEVER));
    }
}
