//! Duplicate removal at a receiver: of the copies of a packet that arrive over disjoint routes, the first one counts.
//!
//! Chameleon (CoNEXT 2020), section 4.2.2, asks for "a duplicate removal strategy" and leaves it open. This is the
//! vector recovery algorithm of IEEE 802.1CB-2017 (frame replication and elimination for reliability), section
//! 7.4.3.4: a window of sequence numbers that ends at the highest one seen, with a bit for each that was accepted.
//!
//! | standard | here |
//! |---|---|
//! | `RecovSeqNum` | the highest number accepted |
//! | `frerSeqRcvyHistoryLength`, `SequenceHistory` | [`Filter::new`]'s `window`, one bit per number |
//! | `RecovSeqSpace` | 65,536: numbers are of 16 bits |
//! | `frerSeqRcvyResetMSec`, `TakeAny` | `reset`: after this time without an accepted packet, any number is accepted |
//! | `frerCpsSeqRcvyPassedPackets`, `DiscardedPackets`, `OutOfOrderPackets`, `RoguePackets` | [`DuplicateCounts`] |
//!
//! [`window`] computes the length of the history: it must still contain a copy that is late by the difference of two
//! routes' delays. Deviations: time is an argument, so the reset is a comparison and not a count of ticks; there is
//! no individual recovery, and packets without a number are not processed here.

#[cfg(test)]
mod tests;

use wayleave_units::{Bytes, Rate, Time};

/// The longest history: a copy that is further behind could be taken for one that is ahead.
pub const MAX_WINDOW: u16 = 1 << 15;
/// The shortest history (IEEE 802.1CB-2017, section 10.4.1.6).
pub const MIN_WINDOW: u16 = 2;

/// Decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateCheck {
    /// It is the first copy: hand it up.
    Accept,
    /// A duplicate, or a number too far from the current ones to decide.
    Discard,
}

/// Packet counters of a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DuplicateCounts {
    /// Packets that were handed up.
    pub passed: u64,
    /// Packets that were discarded, rogues among them.
    pub discarded: u64,
    /// Packets that were handed up, and whose number did not follow the highest one before.
    pub out_of_order: u64,
    /// Packets whose number lay outside of the window.
    pub rogue: u64,
    /// Number of resets after which any number was accepted.
    pub resets: u64,
}

/// One flow's filter.
///
/// ```
/// use wayleave_schemes::duplicates::{Filter, DuplicateCheck};
/// use wayleave_units::Time;
///
/// let mut filter = Filter::new(8, Time::from_millis(10));
/// assert_eq!(filter.on_packet(Time::ZERO, 65_535), DuplicateCheck::Accept);
/// assert_eq!(filter.on_packet(Time::ZERO, 0), DuplicateCheck::Accept);
/// assert_eq!(filter.on_packet(Time::ZERO, 65_535), DuplicateCheck::Discard);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// A ring of bits, one for each number of the window; that of a number is its remainder.
    history: Vec<u64>,
    window: u16,
    reset: Time,
    state: State,
    counts: DuplicateCounts,
}

/// State of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The next packet is accepted with any number (`TakeAny`).
    Fresh,
    /// The highest number, and when a packet was accepted last.
    Running { highest: u16, accepted: Time },
}

impl Filter {
    /// A filter that remembers `window` numbers, from [`MIN_WINDOW`] to [`MAX_WINDOW`] (it is brought in between), and
    /// begins again when nothing was accepted for `reset`.
    pub fn new(window: u16, reset: Time) -> Self {
        let window = window.clamp(MIN_WINDOW, MAX_WINDOW);
        // A power of two divides the number space, so that the ring wraps where the numbers wrap.
        let bits = usize::from(window).next_power_of_two().max(64);
        Self { history: vec![0; bits / 64], window, reset, state: State::Fresh, counts: DuplicateCounts::default() }
    }

    /// Returns the packet counters.
    pub fn counts(&self) -> DuplicateCounts {
        self.counts
    }

    /// A packet with this number has come.
    pub fn on_packet(&mut self, now: Time, number: u16) -> DuplicateCheck {
        let State::Running { highest, accepted } = self.state else { return self.begin(now, number) };
        if now.saturating_sub(accepted) > self.reset {
            self.counts.resets += 1;
            return self.begin(now, number);
        }
        let ahead = number.wrapping_sub(highest);
        let behind = highest.wrapping_sub(number);
        if ahead > 0 && ahead < self.window {
            for passed in 1..ahead {
                self.set(highest.wrapping_add(passed), false);
            }
            self.counts.out_of_order += u64::from(ahead > 1);
            return self.accept(now, number, number);
        }
        if behind < self.window {
            if self.is_set(number) {
                self.counts.discarded += 1;
                return DuplicateCheck::Discard;
            }
            self.counts.out_of_order += 1;
            return self.accept(now, number, highest);
        }
        self.counts.rogue += 1;
        self.counts.discarded += 1;
        DuplicateCheck::Discard
    }

    fn begin(&mut self, now: Time, number: u16) -> DuplicateCheck {
        self.history.fill(0);
        self.accept(now, number, number)
    }

    fn accept(&mut self, now: Time, number: u16, highest: u16) -> DuplicateCheck {
        self.set(number, true);
        self.state = State::Running { highest, accepted: now };
        self.counts.passed += 1;
        DuplicateCheck::Accept
    }

    fn place(&self, number: u16) -> (usize, u64) {
        let bit = usize::from(number) % (64 * self.history.len());
        (bit / 64, 1 << (bit % 64))
    }

    fn is_set(&self, number: u16) -> bool {
        let (word, bit) = self.place(number);
        self.history[word] & bit != 0
    }

    fn set(&mut self, number: u16, is_accepted: bool) {
        let (word, bit) = self.place(number);
        if is_accepted {
            self.history[word] |= bit;
        } else {
            self.history[word] &= !bit;
        }
    }
}

/// Returns the necessary length of a filter's history. During `skew`, the maximum delay of one copy behind another, a
/// flow sends no more than `burst + rate skew` bytes in frames of at least `frame`. Returns `None` if that exceeds
/// the number space.
///
/// ```
/// use wayleave_schemes::duplicates::window;
/// use wayleave_units::{Bytes, Rate, Time};
///
/// // 10 frames at once, and one more in 0.672 ms.
/// let (rate, burst) = (Rate::from_mbit(1), Bytes::new(840));
/// assert_eq!(window(rate, burst, Time::from_micros(672), Bytes::new(84)), Some(12));
/// assert_eq!(window(Rate::from_gbit(10), burst, Time::from_millis(24), Bytes::new(84)), None);
/// ```
pub fn window(rate: Rate, burst: Bytes, skew: Time, frame: Bytes) -> Option<u16> {
    let nanobits =
        u128::from(burst.get()) * 8_000_000_000 + u128::from(rate.bits_per_second()) * u128::from(skew.as_nanos());
    let frames = nanobits / (u128::from(frame.get().max(1)) * 8_000_000_000);
    // The last of them is the highest number, and the copy in question is beside them.
    u16::try_from(frames + 1).ok().filter(|&window| window <= MAX_WINDOW).map(|window| window.max(MIN_WINDOW))
}
