//! Keys: time above, actor below.

use crate::clock::Instant;

/// Number of the actor of an event.
pub(crate) type Actor = u32;

/// Bits of an actor's number.
pub(super) const ACTOR_BITS: u32 = 22;

/// Maximum number of actors.
pub(crate) const MAX_ACTORS: usize = 1 << ACTOR_BITS;

/// Maximum time of an event after the present: 2.2 s. An actor that waits longer wakes up and waits again.
pub(crate) const HORIZON: Instant = 1 << (63 - ACTOR_BITS);

/// No key: behind all others.
pub(super) const NONE: u64 = u64::MAX;

/// Returns the key of an event that is `after` later than the time from which keys count.
#[inline]
pub(super) fn key(after: Instant, actor: Actor) -> u64 {
    after << ACTOR_BITS | u64::from(actor)
}

/// Returns the actor of a key.
#[inline]
pub(super) fn actor_of(key: u64) -> Actor {
    (key & (MAX_ACTORS as u64 - 1)) as Actor
}
