//! Where the controller is: a server, or a ledger file that the same code serves without a socket.
//!
//! [`Target`] is what the command line says about it, and gives a [`Service`].

pub(crate) mod contexts;
pub(crate) mod local;
pub(crate) mod peers;
pub(crate) mod secret;
mod setup;
pub(crate) mod show;
pub(crate) mod target;

pub(crate) use target::Target;
pub(crate) use wayleave::remote::{Service, Trouble};
pub(crate) use wayleave_protocol::client::encode;
