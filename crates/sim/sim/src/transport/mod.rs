//! Reliable delivery: segments, acknowledgements, retransmission. Congestion control is a scheme of its own; this is what all share.
//!
//! Sequence numbers count segments. Every segment is acknowledged at once, with the segment that is expected next and
//! the block around the one that came (a first SACK block, RFC 2018), or that it had come before (D-SACK, RFC 2883);
//! acknowledgements echo when their segment was sent, so that every one is a valid sample of the round trip (RFC 7323).
//!
//! Losses are found by time: RACK-TLP (RFC 8985, `rack`, `probe`), and in the end the retransmission timer (RFC 6298,
//! `timer`). `flight` has the segments under way, `answers` what acknowledgements and timers do, `sender` what leaves.

mod answers;
mod flight;
mod probe;
mod rack;
mod ranges;
mod receiver;
mod sender;
mod sender_state;
mod timer;

pub(crate) use answers::SegmentReply;
pub(crate) use receiver::Receiver;
pub(crate) use sender::{Sender, SenderStep, Setup};
pub(crate) use sender_state::{Control, SenderState};
pub(crate) use timer::NEVER;

#[cfg(test)]
mod tests;
