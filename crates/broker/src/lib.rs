//! What drives Parley's brokers (`wayleave_schemes::parley`): virtual time with faults here, sockets and a clock there.
//!
//! Both drive the same state machines with the same bytes between them, from the same [`Setup`], and a script of the tests runs on
//! both.
//!
//! | | |
//! |---|---|
//! | [`Setup`] | a network and its policies: what all brokers have to agree on |
//! | [`world`] | racks in virtual time: messages lost, repeated, late and damaged, clocks that drift, brokers that crash |

mod setup;
pub mod world;

pub use setup::{Setup, SetupError};
