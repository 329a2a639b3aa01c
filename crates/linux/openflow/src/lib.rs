//! OpenFlow 1.3 as bytes (OpenFlow Switch Specification 1.3.5, section 7): the messages that a controller and a
//! switch need for tables, queues and the state of ports: [`OpenFlowMessage::encode`], [`OpenFlowMessage::decode`], and [`MessageReader`] to
//! cut a stream. A [`Client`] sends requests to a switch over any stream, and [`Changes`] computes the necessary
//! changes of its rules. No sockets.
//!
//! ```
//! use wayleave_openflow::{FlowAction, FlowMod, Instruction, FlowMatch, OpenFlowMessage};
//! let rule = FlowMod {
//!     priority: 100,
//!     fields: FlowMatch { vlan: Some(10), ..FlowMatch::default() },
//!     instructions: vec![Instruction::Apply(vec![FlowAction::PopVlan, FlowAction::SetQueue(2), FlowAction::Output(7)])],
//!     ..FlowMod::default()
//! };
//! let bytes = OpenFlowMessage::FlowMod(rule.clone()).encode(1)?;
//! assert_eq!(OpenFlowMessage::decode(&bytes)?, (1, OpenFlowMessage::FlowMod(rule)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Other actions, instructions, fields and messages are kept as bytes, so that rules of others can be read and are
//! never confused with own ones.

mod client;
mod flow;
mod frames;
mod message;
mod read;
mod rules;

pub use client::{Client, ClientError};
pub use flow::{FlowAction, FlowCommand, FlowEntry, FlowMatch, FlowMod, Instruction, Oxm};
pub use frames::MessageReader;
pub use message::{ErrorMessage, Features, OpenFlowMessage, OpenFlowPort};
pub use rules::Changes;

/// The version in every header.
pub const VERSION: u8 = 4;
/// Bytes of a header.
pub const HEADER: usize = 8;
/// Any port, group or buffer; none.
pub const ANY: u32 = 0xffff_ffff;
/// All tables, in a deletion and in a question.
pub const ALL_TABLES: u8 = 0xff;
/// The switch itself, as a port (`OFPP_LOCAL`).
pub const LOCAL: u32 = 0xffff_fffe;

/// Bytes that are no message.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Another protocol, or another version of OpenFlow.
    #[error("version {0} in a header: expected {VERSION} (OpenFlow 1.3)")]
    Version(u8),
    /// A length that cannot be.
    #[error("{what} of {length} bytes: expected {expected}")]
    Length {
        /// Kind of the element.
        what: &'static str,
        /// Declared or actual length.
        length: usize,
        /// Expected length.
        expected: &'static str,
    },
    /// A value that the specification does not have.
    #[error("{value} is not a valid {what}")]
    Value {
        /// Kind of the element.
        what: &'static str,
        /// The value.
        value: u32,
    },
}

/// A message that does not fit into its length of 16 bits.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
#[error("message or part of {0} bytes: the limit of OpenFlow is 65535")]
pub struct TooLong(pub usize);
