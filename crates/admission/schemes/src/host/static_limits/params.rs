//! Settings of fixed limits.

use wayleave_scheme_api::{ValueKind, params};
use wayleave_units::{Bytes, Rate};

params! {
    /// The limits that no policy names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Rate limit of each pair of hosts and services.
        pub pair_rate: Option<Rate> = None, "pairRate", ValueKind::RATE, "Parley, section 4: where senders are limited one by one",
            { default: "none" };
        /// Burst of each token bucket.
        pub burst: Bytes = Bytes::new(64_000), "burst", ValueKind::BYTES, "Parley, section 4, the experiment of Fig. 9";
    }
}
