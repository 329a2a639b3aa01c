//! What can be set.

use wayleave_roles::{Kind, params};
use wayleave_units::{Bytes, Rate};

/// Of every bucket: 64 kB (Parley, section 4, the experiment of Fig. 9).
const BURST: Bytes = Bytes::new(64_000);

params! {
    /// The limits that no policy names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Of every pair of hosts and services.
        pub pair: Option<Rate> = None, "pair", Kind::RATE, "Parley, section 4: where senders are limited one by one",
            { default: "none" };
        /// Of every bucket.
        pub burst: Option<Bytes> = None, "burst", Kind::BYTES, "Parley, section 4, the experiment of Fig. 9",
            { default: "64kB" };
    }
}

impl Params {
    /// Of every bucket.
    pub(super) fn burst(&self) -> Bytes {
        self.burst.unwrap_or(BURST)
    }
}
