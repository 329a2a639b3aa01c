//! Places of pairs.

/// A pair's place; used again when the pair is forgotten.
pub(crate) type PairSlot = u32;

/// No pair: nothing is limited.
pub(crate) const NO_PAIR: PairSlot = u32::MAX;

/// The number of a host's edge.
pub(crate) type EdgeId = u32;

/// No edge.
pub(super) const NO_EDGE: EdgeId = u32::MAX;
