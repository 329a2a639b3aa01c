//! Drivers of the brokers of schemes (`wayleave_schemes::brokers`): one in virtual time with faults, one with sockets
//! and a clock.
//!
//! Both drive the same state machines, exchange the same bytes, and start from an equal [`BrokerConfig`]; a script of the
//! tests runs on both. Neither knows any scheme. The scheme defines the brokers of a network and their construction,
//! as for the simulator. Its `BrokerCodec` encodes their messages.
//!
//! | | |
//! |---|---|
//! | [`BrokerConfig`] | a network, its policies and a scheme, on which all brokers have to agree |
//! | [`world`] | racks in virtual time: messages lost, repeated, late and damaged, clocks that drift, brokers that crash |
//! | [`script`] | scripts that run on both |
//! | [`process`] | the broker of a machine over UDP, that of the fabric over TCP, counters and limits as lines of JSON |

pub mod process;
pub mod script;
mod setup;
pub mod world;

pub use setup::{BrokerConfig, SetupError};
