//! Events without external cause: packets of sources, flows that begin, links that fail.
//!
//! [`Processes`] returns the action at a time, a [`ProcessAction`], which its driver carries out.
//!
//! | file | content |
//! |---|---|
//! | `table` | all processes, and their due actions |
//! | `begin` | starts of flows and requests, and the actions after their completion |
//! | `jobs` | messages that depend on one another |
//! | `traffic` | one kind of traffic |
//! | `build` | from a scenario's traffic to sources and arrivals of flows |

mod begin;
mod build;
mod jobs;
mod table;
mod traffic;

pub(crate) use build::{Builder, MAX_COUNTED_PAIRS};
pub(crate) use jobs::JobAction;
pub(crate) use table::{Emission, Opening, ProcessAction, Processes, Wakeup};
