//! What can be set.

use wayleave_units::{Bytes, Rate};

/// The limits that no policy names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Of every pair that leaves a machine; none by default.
    pub pair: Option<Rate>,
    /// Of every bucket: 64 kB (Parley, section 4, the experiment of Fig. 9).
    pub burst: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self { pair: None, burst: Bytes::new(64_000) }
    }
}
