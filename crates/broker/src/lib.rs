//! What drives Parley's brokers (`wayleave_schemes::parley`): virtual time with faults here, sockets and a clock there.
//!
//! Both drive the same state machines with the same bytes between them, from the same [`Setup`], and a script of the tests runs on
//! both.
//!
//! | | |
//! |---|---|
//! | [`Setup`] | a network and its policies: what all brokers have to agree on |
//! | [`world`] | racks in virtual time: messages lost, repeated, late and damaged, clocks that drift, brokers that crash |
//! | [`script`] | what is run on both |
//! | [`process`] | a rack broker over UDP, a fabric broker over TCP, counters and limits as lines of JSON |

pub mod process;
pub mod script;
mod setup;
pub mod world;

pub use setup::{Setup, SetupError};
