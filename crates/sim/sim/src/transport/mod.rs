//! Reliable delivery: segments, acknowledgements, retransmission. All transports share it; congestion control is a
//! separate scheme.
//!
//! Sequence numbers count segments. Every segment is acknowledged at once, with the segment that is expected next.
//! The acknowledgement also has the block around the arrived segment (a first SACK block, RFC 2018), or reports that
//! it had arrived before (D-SACK, RFC 2883). Acknowledgements echo the time at which their segment was sent, so that
//! every one is a valid sample of the round trip (RFC 7323). Losses are detected by time: RACK-TLP (RFC 8985, `rack`,
//! `probe`), and in the end the retransmission timer (RFC 6298, `timer`). `flight` has the segments in flight,
//! `sender` the transmissions and the effects of acknowledgements, `recovery` losses and timers.

mod flight;
mod probe;
mod rack;
mod ranges;
mod receiver;
mod recovery;
mod sender;
mod sender_state;
mod timer;

pub(crate) use receiver::Receiver;
pub(crate) use sender::{SegmentReply, Sender, SenderStep, Setup};
pub(crate) use sender_state::{Control, SenderState};
pub(crate) use timer::NEVER;

#[cfg(test)]
mod tests;
