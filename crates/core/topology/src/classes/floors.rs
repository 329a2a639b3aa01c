//! Guarantees of a link to pairs that send their minima although their windows are full.
//!
//! Windows alone keep no minimum below bursts. While a latency contract sends, no packet is acknowledged, and a
//! window of `C' T` gives less than `C'` by the part of time in which that happens. So a pair sends its minimum `B`
//! open-loop, and the rate above the minimum by its window. In terms of network calculus, the arrivals at the link in
//! any time `t`, beyond packets that windows release, are at most
//!
//! ```text
//! I + N Lmax + t sum B          N pairs, each with one packet of its minimum that may be early, or in flight on a window below a packet
//! ```
//!
//! and since `sum B <= g R'`, the minima add nothing to the wait of a packet, only to the amount in flight:
//!
//! ```text
//! d     = ((I + N Lmax) / g + S' + H_g) / R'
//! held  = I + N Lmax + (T + d) sum B
//! queue = I + N Lmax + sum B (S' + H_g) / R'      the maximum queue of the link itself: minima arrive until the class is served, and later they leave as fast
//! Theta = d + 2 T + token period + Lmax / B
//! ```
//!
//! A packet of a pair waits behind the windows of others, since the class is one queue: so `Theta` includes `d`, and
//! not the latency of the class alone.

use wayleave_units::{Amount, Bytes, Rate, Time};

use super::{Class, SharedLink, StrictResidual};
use crate::network::LinkId;

/// A switch port whose buffer is smaller than the maximum queue of minima: packets may be dropped, and the lateness
/// of a minimum is then unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortBuffer {
    /// The link that the port sends on.
    pub link: LinkId,
    /// Buffer of the queue of the guaranteed class.
    pub buffer: Bytes,
    /// The most that may wait there ([`SharedLink::longest_queue`]).
    pub needed: Bytes,
}

const NANOBITS_PER_BYTE: i128 = 8_000_000_000;

impl SharedLink {
    /// Returns `d`: the maximum wait of a packet of the guaranteed class, with `pairs` pairs; rounded up. `None` if
    /// nothing is left for the class.
    pub fn longest_wait(&self, residual: &StrictResidual, pairs: u64) -> Option<Time> {
        let frames = Bytes::new(self.frame.get().saturating_mul(pairs));
        let service = self.service(Class::Guaranteed, residual);
        let own = self.in_flight(residual) + Amount::from(frames);
        let queued = own.nanobits() * i128::from(service.quanta) / i128::from(service.quantum.max(1)) + 1;
        (service.debt + Amount::from_nanobits(queued)).time_at(residual.rate)
    }

    /// Returns the maximum amount in flight of `pairs` pairs with these minima in total, rounded up.
    pub fn held(&self, residual: &StrictResidual, pairs: u64, minima: Rate) -> Option<Amount> {
        let frames = Bytes::new(self.frame.get().saturating_mul(pairs));
        let time = self.longest_wait(residual, pairs)?.checked_add(self.round_trip)?;
        let open = i128::from(minima.bits_per_second()) * i128::from(time.as_nanos());
        Some(self.in_flight(residual) + Amount::from(frames) + Amount::from_nanobits(open))
    }

    /// Returns `queue`: the maximum queue of the guaranteed class, with `pairs` pairs that send this rate
    /// independently of their windows; rounded up. `None` if nothing is left for the class.
    pub fn longest_queue(&self, residual: &StrictResidual, pairs: u64, minima: Rate) -> Option<Bytes> {
        let frames = Bytes::new(self.frame.get().saturating_mul(pairs));
        let blocked = self.service(Class::Guaranteed, residual).latency()?;
        let open = i128::from(minima.bits_per_second()) * i128::from(blocked.as_nanos());
        let nanobits = (self.in_flight(residual) + Amount::from(frames) + Amount::from_nanobits(open)).nanobits();
        Some(Bytes::new(u64::try_from((nanobits + NANOBITS_PER_BYTE - 1) / NANOBITS_PER_BYTE).unwrap_or(u64::MAX)))
    }

    /// Returns `Theta`: one of `pairs` pairs, always with packets to send, gets its minimum `B (t - Theta)` in any
    /// time `t`; rounded up.
    pub fn lateness(&self, residual: &StrictResidual, pairs: u64, minimum: Rate, token_period: Time) -> Option<Time> {
        let frame = Amount::from(self.frame).time_at(minimum)?;
        let wait = self.longest_wait(residual, pairs)?;
        [self.round_trip, self.round_trip, token_period, frame].into_iter().try_fold(wait, Time::checked_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Classes;

    /// The example of [`SharedLink`] with 14 pairs of 200 Mbit/s, by hand: I = 326,800 bits and 14 frames of 12,496; (501,744 / 0.6 + 800,992 + 83,306.7) /
    /// 6000 = 286.757 us; 501,744 + 2.8 (20 + 286.757) us = 1,360,664 bits; a frame takes 62.48 us at 200 Mbit/s.
    #[test]
    fn bounds_with_minima_are_those_computed_by_hand() {
        let (line, reserved) = (Rate::from_gbit(10), Rate::from_gbit(4));
        let (frame, round_trip) = (Bytes::new(1_562), Time::from_micros(20));
        let link = SharedLink { classes: Classes::default(), line, frame, round_trip };
        let residual =
            StrictResidual::below(line, Amount::from(Bytes::new(3_124)), reserved, Amount::from(Bytes::new(97_000)));
        assert_eq!(link.longest_wait(&residual, 14), Some(Time::from_nanos(286_757)));
        let held = link.held(&residual, 14, Rate::from_mbit(2_800)).unwrap();
        assert_eq!(held.nanobits() / 1_000_000_000, 1_360_663);
        // 501,744 + 2.8 * (800.992 + 83.307) / 6 = 914,417 bits.
        assert_eq!(link.longest_queue(&residual, 14, Rate::from_mbit(2_800)), Some(Bytes::new(114_303)));
        let theta = link.lateness(&residual, 14, Rate::from_mbit(200), Time::from_micros(32));
        assert_eq!(theta, Some(Time::from_nanos(286_757 + 40_000 + 32_000 + 62_480)));
        assert_eq!(link.longest_wait(&StrictResidual { rate: Rate::ZERO, ..residual }, 1), None);
    }
}
