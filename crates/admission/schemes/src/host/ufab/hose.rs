//! The terms of a class, and the part of its weight that belongs to a part of its minimum.

use wayleave_scheme_api::Share;

/// The terms of a class, of which a pair has a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hose {
    /// Share for sending.
    pub(super) transmit: Share,
    /// Share for receiving, at every host.
    pub(super) receive: Share,
}

impl Hose {
    /// Hose of a class without configuration.
    pub(super) const UNKNOWN: Self = Self { transmit: Share::BEST_EFFORT, receive: Share::BEST_EFFORT };

    /// The weight of this part of the minimum.
    pub(super) fn weight(&self, part: u64) -> u64 {
        let min = self.transmit.min.bits_per_second();
        scaled(u64::from(self.transmit.weight), part, min).max(1)
    }
}

/// Returns `of * part / whole`; `of` if `whole` is zero.
fn scaled(of: u64, part: u64, whole: u64) -> u64 {
    let scaled = (u128::from(of) * u128::from(part)).checked_div(u128::from(whole));
    scaled.map_or(of, |scaled| u64::try_from(scaled).unwrap_or(u64::MAX))
}
