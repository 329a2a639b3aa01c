//! Access to the controller: a server, or a ledger file that the same code serves without a socket.
//!
//! [`Target`] holds the options of the command line, and returns a [`Service`].

pub(crate) mod contexts;
pub(crate) mod local;
mod names;
pub(crate) mod peers;
pub(crate) mod secret;
mod setup;
pub(crate) mod show;
pub(crate) mod specs;
pub(crate) mod target;

pub(crate) use names::{Names, did_you_mean};
pub(crate) use target::Target;
pub(crate) use wayleave_client::encode;
pub(crate) use wayleave_client::{RequestError, Service, Text};
