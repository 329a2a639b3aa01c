//! Derivations of the recheck, and its detection of violations.
#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in tests, which does not reach their helper functions")]

mod brute_force;
mod build;
mod detection;
mod grid;
mod hand_computed;
mod properties;
mod shares;
mod size;
