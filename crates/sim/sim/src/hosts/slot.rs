//! Places of pairs.

/// A pair's place; used again when the pair is forgotten.
pub(crate) type PairSlot = u32;

/// No pair: nothing is limited.
pub(crate) const NO_PAIR: PairSlot = u32::MAX;

/// The index of a host among those that share.
pub(crate) type HostId = u32;

/// The host does not share.
pub(super) const NO_HOST: HostId = u32::MAX;
