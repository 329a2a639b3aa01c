//! What drives the brokers of schemes (`wayleave_schemes::brokers`): virtual time with faults here, sockets and a clock there.
//!
//! Both drive the same state machines with the same bytes between them, from the same [`Setup`], and a script of the tests runs on
//! both. Neither knows any scheme: which brokers a network needs and how they are constructed, the scheme says as it says it to the
//! simulator, and how their messages become bytes, its `BrokerCodec`.
//!
//! | | |
//! |---|---|
//! | [`Setup`] | a network, its policies and a scheme: what all brokers have to agree on |
//! | [`world`] | racks in virtual time: messages lost, repeated, late and damaged, clocks that drift, brokers that crash |
//! | [`script`] | what is run on both |
//! | [`process`] | the broker of a machine over UDP, that of the fabric over TCP, counters and limits as lines of JSON |

pub mod process;
pub mod script;
mod setup;
pub mod world;

pub use setup::{Setup, SetupError};
