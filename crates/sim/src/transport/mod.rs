//! Reliable delivery: segments, acknowledgements, retransmission. Congestion control is a scheme of its own; this is what all share.
//!
//! Sequence numbers count segments. Every segment is acknowledged at once, with the segment that is expected next and
//! the block around the one that came (a first SACK block, RFC 2018); acknowledgements echo when their segment was sent,
//! so that every one is a valid sample of the round trip (RFC 7323).

mod receiver;
mod scoreboard;
mod sender;

pub(crate) use receiver::Receiver;
pub(crate) use sender::{Answer, NEVER, Next, Sender, Setup};

#[cfg(test)]
mod tests;
