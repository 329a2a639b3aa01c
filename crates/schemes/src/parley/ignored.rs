//! What a broker did not heed, and why.

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Messages of other policies.
    pub epoch: u64,
    /// Messages that are older than what is known.
    pub serial: u64,
    /// Messages from or for others, or about what no broker is told.
    pub stranger: u64,
}
