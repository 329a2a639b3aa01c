//! Do the roles fit the systems? Skeletons of all five, and of the transports and baselines that their evaluations
//! need, compile against the roles and carry one packet through the whole stack.
//!
//! A skeleton has the types of its system, its messages and its timers, and takes a fixed simple decision wherever the
//! system has an algorithm. It goes away when the real room comes: `crates/schemes/src/<name>/`. Nothing here is used
//! outside this test.
//!
//! Each test holds the log of all layers against what the system's text says they do, in order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod baselines;
mod chameleon;
mod elasticswitch;
mod eyeq;
mod loko;
mod parley;
mod scc;
mod stack;
mod transports;
mod ufab;
