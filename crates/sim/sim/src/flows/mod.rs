//! Reliable flows between hosts: which there are, where they stand, and when they have to be looked at.
//!
//! A place is used again when its flow is over and nothing of it is on the way.
//!
//! | file | what |
//! |---|---|
//! | `flow` | one flow, both ends of it |
//! | `purpose` | why it is there |
//! | `table` | all flows |
//! | `alarms` | time-outs, pacing, reordering buffers |

mod alarms;
mod flow;
mod purpose;
mod table;

pub(crate) use flow::{Flow, FlowSlot, FlowState, answer, report};
pub(crate) use purpose::{Purpose, RpcStep};
pub(crate) use table::{Flows, Start};
