//! What happens of itself: packets of sources, flows that begin, links that fail.
//!
//! [`Processes`] says what happens at a time, a [`ProcessAction`], and whoever drives it carries it out.
//!
//! | file | what |
//! |---|---|
//! | `table` | all processes, and what is due |
//! | `begin` | flows and requests begin, and what follows when they are complete |
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
