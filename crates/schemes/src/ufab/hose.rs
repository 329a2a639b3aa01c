//! The terms of a class, and what of its weight and its maxima belongs to a part of its minimum.

use wayleave_roles::Share;
use wayleave_units::Rate;

/// The terms of a class, of which a pair has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hose {
    /// What it is given to send.
    pub(super) transmit: Share,
    /// What it is given to receive, at every host.
    pub(super) receive: Share,
}

impl Hose {
    /// For a class of which nothing was said.
    pub(super) const UNKNOWN: Self = Self { transmit: Share::BEST_EFFORT, receive: Share::BEST_EFFORT };

    /// The weight of this part of the minimum.
    pub(super) fn weight(&self, part: u64) -> u64 {
        let min = self.transmit.min.bits_per_second();
        scaled(u64::from(self.transmit.weight), part, min).max(1)
    }

    /// The part of both maxima that belongs to this part of the minimum, in bit/s.
    pub(super) fn most(&self, part: u64) -> Option<u64> {
        let of = |share: &Share| {
            let max = share.max?.bits_per_second();
            Some(scaled(max, part, share.min.bits_per_second()).min(max))
        };
        of(&self.transmit).into_iter().chain(of(&self.receive)).min()
    }

    /// The part of what a receiver may get that belongs to this part of its minimum; all of it where there is no minimum.
    pub(super) fn limit(&self, part: u64) -> Option<Rate> {
        let max = self.receive.max?.bits_per_second();
        Some(Rate::from_bits_per_second(scaled(max, part, self.receive.min.bits_per_second()).clamp(1, max)))
    }
}

/// `of * part / whole`; all of it where there is no whole.
fn scaled(of: u64, part: u64, whole: u64) -> u64 {
    let scaled = (u128::from(of) * u128::from(part)).checked_div(u128::from(whole));
    scaled.map_or(of, |scaled| u64::try_from(scaled).unwrap_or(u64::MAX))
}
