//! RACK: losses are judged by the transmission times of segments (RFC 8985, section 6).
//!
//! A segment is lost if one that was sent after it has been delivered, and a round trip and a reordering window have
//! passed since it was sent. A retransmission has a time of its own, so the same test detects a second loss.
//! [`Flight`](super::flight::Flight) has the segments and their times; this module has the rest of RACK's state.
//!
//! | text | here |
//! |---|---|
//! | 6.2, step 1: RACK.min_RTT over a window of time | [`LeastRoundTrip`] |
//! | step 2: RACK.rtt, RACK.xmit_ts, RACK.end_seq; ambiguous retransmissions do not count | `hear`, `update` |
//! | step 3: reordering, by RACK.fack | `hear` |
//! | step 4: the reordering window, larger after D-SACKs, for 16 recoveries | `window`, `on_duplicate`, `on_recovered` |
//! | step 5: losses, and the reordering timer | `Flight::judge` |
//! | 6.3: losses at a time-out | `Flight::time_out` |

use crate::clock::{Instant, PS_PER_SECOND};

/// Number of segments beyond a gap that mean a loss at once, while no reordering was seen (RFC 8985, 6.2, step 4; RFC
/// 5681, 3.2).
const DUPLICATE_THRESHOLD: u32 = 3;

/// Number of recoveries for which a larger window stays (RFC 8985, 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// Time for which the least round trip stays the least: 300 s in Linux (`tcp_min_rtt_wlen`); RFC 8985 (6.2, step 1)
/// leaves it open. In ps.
const MIN_FOR: Instant = 300 * PS_PER_SECOND;

/// The least round trip of the past [`MIN_FOR`], or up to twice that.
#[derive(Clone, Copy, Debug)]
struct LeastRoundTrip {
    current: Instant,
    previous: Instant,
    /// End of the current window of time.
    until: Instant,
}

impl LeastRoundTrip {
    #[inline]
    fn sample(&mut self, now: Instant, round_trip: Instant) {
        if now >= self.until {
            (self.previous, self.current) = (self.current, round_trip);
            self.until = now + MIN_FOR;
        }
        self.current = self.current.min(round_trip);
    }

    fn get(&self) -> Instant {
        self.current.min(self.previous)
    }
}

/// RACK state of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// Of the segment that was sent last of all that were delivered: when that was (RACK.xmit_ts).
    sent: Instant,
    /// Its number (RACK.end_seq is behind it).
    sequence: u32,
    /// Behind the highest segment that was delivered (RACK.fack).
    highest: u32,
    /// RACK.rtt; 0 before the first.
    round_trip: Instant,
    least: LeastRoundTrip,
    has_reordering: bool,
    /// RACK.reo_wnd_mult.
    multiplier: u32,
    /// RACK.reo_wnd_persist.
    persists: u8,
    /// D-SACKs count once until everything before this is acknowledged (RACK.dsack_round).
    duplicates_count_from: u32,
}

/// A transmission: when, and of which segment.
pub(crate) type Transmission = (Instant, u32);

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            sent: 0,
            sequence: 0,
            highest: 0,
            round_trip: 0,
            least: LeastRoundTrip { current: Instant::MAX, previous: Instant::MAX, until: MIN_FOR },
            has_reordering: false,
            multiplier: 1,
            persists: 0,
            duplicates_count_from: 0,
        }
    }

    /// The segment that was sent last of all that were delivered; `None` if none was.
    pub(crate) fn latest(&self) -> Option<Transmission> {
        (self.round_trip > 0).then_some((self.sent, self.sequence))
    }

    /// Adds what it remembers, relative to a time and to the first segment that has not arrived.
    pub(crate) fn add_state(&self, now: Instant, first: u32, words: &mut Vec<u64>) {
        let segments = [self.sequence, self.highest].map(|sequence| u64::from(sequence.wrapping_sub(first)));
        words.extend(segments);
        words.extend([now - self.sent, self.round_trip, self.least.current, self.least.previous]);
        words.extend([u64::from(self.has_reordering), u64::from(self.multiplier), u64::from(self.persists)]);
        words.push(u64::from(self.duplicates_count_from.saturating_sub(first)));
    }

    /// Time at which the least round trip is measured anew.
    pub(crate) fn forgets_at(&self) -> Instant {
        self.least.until
    }

    /// Accounts for time that its clock did not count: the least round trip is measured anew that much earlier.
    pub(crate) fn pass(&mut self, by: Instant) {
        self.least.until = self.least.until.saturating_sub(by);
    }

    /// RACK.rtt.
    #[inline]
    pub(crate) fn round_trip(&self) -> Instant {
        self.round_trip
    }

    /// A round trip was measured.
    #[inline]
    pub(crate) fn sample(&mut self, now: Instant, round_trip: Instant) {
        self.least.sample(now, round_trip);
    }

    /// Processes a newly acknowledged segment with its latest transmission. `echo`: time at which the acknowledged
    /// packet was sent. Returns `true` if it is a valid sample of the round trip.
    pub(crate) fn on_delivered(
        &mut self,
        now: Instant,
        echo: Instant,
        transmission: Transmission,
        is_again: bool,
    ) -> bool {
        let (sent, sequence) = transmission;
        if sequence >= self.highest {
            self.highest = sequence + 1;
        } else if !is_again {
            self.has_reordering = true;
        }
        // An acknowledgement of an earlier transmission is none of this one.
        !is_again || (echo >= sent && now - sent >= self.least.get())
    }

    /// Updates the state with the latest transmission that an acknowledgement covers.
    #[inline]
    pub(crate) fn update(&mut self, now: Instant, latest: Transmission) {
        self.round_trip = (now - latest.0).max(1);
        if latest > (self.sent, self.sequence) {
            (self.sent, self.sequence) = latest;
        }
    }

    /// Returns the time of the latest arrival's acknowledgement.
    pub(crate) fn last_delivered_at(&self) -> Instant {
        self.sent + self.round_trip
    }

    /// The same where nothing is out of order: it is also the highest.
    #[inline]
    pub(crate) fn update_in_order(&mut self, now: Instant, latest: Transmission) {
        self.highest = self.highest.max(latest.1 + 1);
        self.update(now, latest);
    }

    /// The receiver had a segment twice. All before `first` is acknowledged, and `next` is sent next.
    pub(crate) fn on_duplicate(&mut self, first: u32, next: u32) {
        if first >= self.duplicates_count_from {
            self.duplicates_count_from = next;
            self.multiplier = self.multiplier.saturating_add(1);
            self.persists = PERSISTENCE;
        }
    }

    /// All losses of an episode are repaired.
    pub(crate) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.multiplier = 1;
        }
    }

    /// Returns the time beyond a round trip that a segment may take (RACK.reo_wnd). `arrived`: segments that arrived
    /// beyond a gap.
    pub(crate) fn window(&self, is_recovering: bool, arrived: u32, smoothed: Instant) -> Instant {
        if !self.has_reordering && (is_recovering || arrived >= DUPLICATE_THRESHOLD) {
            return 0;
        }
        (self.least.get() / 4).saturating_mul(u64::from(self.multiplier)).min(smoothed)
    }
}
