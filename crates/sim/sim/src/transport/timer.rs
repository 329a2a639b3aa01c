//! The retransmission timer of RFC 6298: its time-out and its expiry.
//!
//! | text | here |
//! |---|---|
//! | 2.1: 1 s before the first sample | `first`, which a scenario may change |
//! | 2.2, 2.3: SRTT, RTTVAR; alpha 1/8, beta 1/4 | `sample` |
//! | 2.4: the shortest time-out | `least`: 1 s in the text, 10 ms unless the scenario sets another |
//! | 2.5: the longest, at least 60 s | [`LONGEST`] |
//! | 3, Karn's algorithm | every acknowledgement has the transmission time of its segment, so that every sample is valid |
//! | 5.1: sending starts it, unless it runs | `start` |
//! | 5.2: it stops when nothing is outstanding | `stop` |
//! | 5.3: an acknowledgement of new data in order restarts it | `restart` |
//! | 5.5: it backs off; a sample ends that | `back_off`, `end_backoff` |
//!
//! Deviations:
//! - Every acknowledgement is a sample, as in Linux; the text requires at least one in a round trip, and RFC 7323
//!   (appendix G) would weigh several less.
//! - Congestion control may fix the time-out (pFabric): then it does not depend on round trips, and does not back
//!   off.
//! - G, the granularity of the clock, is a tenth of the shortest time-out and at most 1 ms (the text leaves it open;
//!   1 ms is a tick of Linux). If round trips are all equal and longer than the shortest time-out, the timer would
//!   otherwise expire together with the acknowledgement.

use crate::clock::{Instant, PS_PER_SECOND};

/// A timer that does not run.
pub(crate) const NEVER: Instant = Instant::MAX;

/// No time-out is longer (2.5), in ps.
pub(crate) const LONGEST: Instant = 60 * PS_PER_SECOND;

/// G is not coarser than a tick of Linux, in ps.
const COARSEST: Instant = PS_PER_SECOND / 1000;

/// The timer of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmissionTimer {
    /// Expiry time.
    at: Instant,
    /// SRTT; 0 before the first sample.
    smoothed: Instant,
    /// RTTVAR.
    variation: Instant,
    least: Instant,
    first: Instant,
    /// G.
    granularity: Instant,
    /// The only time-out that there is; 0 if it follows round trips.
    fixed: Instant,
    /// Number of expiries in a row.
    backoff: u32,
}

impl RetransmissionTimer {
    /// With its shortest time-out, and the one before the first sample.
    pub(crate) fn new(least: Instant, first: Instant) -> Self {
        let granularity = (least / 10).min(COARSEST);
        Self { at: NEVER, smoothed: 0, variation: 0, least, first, granularity, fixed: 0, backoff: 0 }
    }

    /// From now on there is only this time-out; `None`: it follows round trips.
    pub(crate) fn fix(&mut self, timeout: Option<Instant>) {
        self.fixed = timeout.map_or(0, |timeout| timeout.max(1));
    }

    /// Returns `true` if the time-out is fixed.
    #[inline]
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed > 0
    }

    /// Returns the expiry time; [`NEVER`] if it does not run.
    #[inline]
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// Adds the expiry time, relative to a time, and the values that determine it.
    pub(crate) fn add_state(&self, now: Instant, words: &mut Vec<u64>) {
        words.extend([self.at.wrapping_sub(now), self.smoothed, self.variation, u64::from(self.backoff)]);
    }

    /// SRTT; 0 before the first sample.
    #[inline]
    pub(crate) fn smoothed(&self) -> Instant {
        self.smoothed
    }

    /// G.
    #[inline]
    pub(crate) fn granularity(&self) -> Instant {
        self.granularity
    }

    /// A round trip was measured.
    #[inline]
    pub(crate) fn sample(&mut self, round_trip: Instant) {
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (round_trip.max(1), round_trip / 2);
        } else {
            self.variation = (3 * self.variation + self.smoothed.abs_diff(round_trip)) / 4;
            self.smoothed = (7 * self.smoothed + round_trip) / 8;
        }
    }

    /// RTO.
    #[inline]
    pub(crate) fn timeout(&self) -> Instant {
        if self.is_fixed() {
            return self.fixed;
        }
        let base =
            if self.smoothed == 0 { self.first } else { self.smoothed + self.granularity.max(4 * self.variation) };
        let base = base.max(self.least).min(LONGEST);
        if self.backoff == 0 {
            return base;
        }
        // Twenty doublings of a nanosecond are a millisecond, of 60 us more than a minute; more would overflow.
        base.checked_mul(1 << self.backoff.min(20)).map_or(LONGEST, |timeout| timeout.min(LONGEST))
    }

    #[inline]
    pub(crate) fn start(&mut self, now: Instant) {
        if self.at == NEVER {
            self.restart(now);
        }
    }

    #[inline]
    pub(crate) fn restart(&mut self, now: Instant) {
        self.at = now + self.timeout();
    }

    #[inline]
    pub(crate) fn stop(&mut self) {
        self.at = NEVER;
    }

    /// Backs off after an expiry.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// A sample of new data came.
    #[inline]
    pub(crate) fn end_backoff(&mut self) {
        self.backoff = 0;
    }
}
