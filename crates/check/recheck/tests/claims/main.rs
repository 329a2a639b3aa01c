//! What the recheck derives, and what it finds wrong.
#![allow(clippy::unwrap_used, reason = "clippy.toml allows it in tests, which does not reach their helper functions")]

mod brute_force;
mod build;
mod detection;
mod grid;
mod hand_computed;
mod properties;
mod shares;
mod size;
