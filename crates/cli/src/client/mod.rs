//! A controller, asked over HTTP or opened in this process: the same questions, the same answers.
//!
//! [`Target`] is what the command line says about where the controller is. It gives a [`Service`], which asks in the words of
//! crate `api`; behind it is a [`wire::Wire`]: a server, or a ledger file that the same code serves without a socket.

pub(crate) mod contexts;
mod http;
pub(crate) mod local;
pub(crate) mod names;
pub(crate) mod secret;
mod service;
mod setup;
pub(crate) mod show;
pub(crate) mod specs;
pub(crate) mod target;
mod trouble;
pub(crate) mod wire;

pub(crate) use service::Service;
pub(crate) use target::Target;
pub(crate) use trouble::Trouble;
pub(crate) use wayleave_protocol::client::encode;
