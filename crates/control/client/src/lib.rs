//! A client of the REST interface: address of the controller, token, certificates, requests, and errors that name the remedy.
//!
//! A [`Service`] sends requests in the types of crate `protocol` over a [`Wire`]: HTTP, or a controller in this process. The command line uses it;
//! agents of nodes use [`Address`] and the secrets, and send their own requests.

mod address;
mod error;
mod http;
mod path;
mod request_error;
mod secret;
mod service;
mod wire;

use serde::Serialize;

pub use address::{Address, CONNECT, CertificateStamp, OwnCertificate, url};
pub use error::{Error, connection};
pub use path::encode;
pub use request_error::RequestError;
pub use secret::{key, read_password, read_token, token_in};
pub use service::Service;
pub use wire::{ClientRequest, ClientResponse, Method, OnEvent, Text, Wire};

/// Returns the word that an enum of the interface has in JSON.
pub fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
