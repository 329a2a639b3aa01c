//! Algorithm 2: what is shortest goes first, and weighs most. W' is kept by [`super::session`] as packets pass.

use super::session::Session;
use super::turns::Claim;

/// A session has no part of a slot: only the order counts.
pub(super) fn claim(session: &Session) -> Claim {
    Claim { rate: 0, rank: None, spare: order(session.left()) }
}

/// Returns the order of a session with `left` bytes left.
pub(super) fn order(left: u64) -> (u8, u64) {
    (0, left)
}
