//! Keys: time above, actor below.

use crate::clock::Instant;

/// Who acts.
pub(crate) type Actor = u32;

/// Bits of an actor's number.
pub(super) const ACTOR_BITS: u32 = 22;

/// How many actors there can be.
pub(crate) const MAX_ACTORS: usize = 1 << ACTOR_BITS;

/// No event is put later than this after the present: 2.2 s. Whoever waits longer wakes up and waits again.
pub(crate) const HORIZON: Instant = 1 << (63 - ACTOR_BITS);

/// No key: behind all others.
pub(super) const NONE: u64 = u64::MAX;

/// Of an event that is so long after the time from which keys count.
#[inline]
pub(super) fn key(after: Instant, actor: Actor) -> u64 {
    after << ACTOR_BITS | u64::from(actor)
}

/// Whose it is.
#[inline]
pub(super) fn actor_of(key: u64) -> Actor {
    (key & (MAX_ACTORS as u64 - 1)) as Actor
}
