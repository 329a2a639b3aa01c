//! Checks of the repository itself: this crate is only its tests, which read the repository as text.
//!
//! - `tests/arrows.rs`: crates depend only downwards, by one table;
//! - `tests/machine.rs`: the agent's state machine has no clock and no socket;
//! - `tests/files.rs`: no file outgrows its reader, and none names a directory of somebody's machine;
//! - `tests/targets.rs`: no unit test is left out;
//! - `tests/documents.rs`: links lead somewhere, commands in examples exist, the changelog has its next release.
//!
//! Each check is a plain function from text to a list of faults, tested on small inputs that it must refuse.
