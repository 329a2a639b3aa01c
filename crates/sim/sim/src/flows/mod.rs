//! Reliable flows between hosts: their states, and the times at which they have to be handled.
//!
//! A slot is used again when its flow is over and has no packets in flight.
//!
//! | file | content |
//! |---|---|
//! | `flow` | one flow with both ends |
//! | `purpose` | purpose of a flow |
//! | `table` | all flows |
//! | `alarms` | time-outs, pacing, reordering buffers |

mod alarms;
mod flow;
mod purpose;
mod table;

pub(crate) use flow::{Flow, FlowSlot, FlowState, SAME_PATH, answer, report};
pub(crate) use purpose::{Purpose, RpcStep};
pub(crate) use table::{Flows, Start};
