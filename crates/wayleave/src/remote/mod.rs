//! A controller, asked over HTTP or in this process: the same questions, the same answers.
//!
//! A [`Service`] asks in the types of crate `protocol`; behind it is a [`Wire`]: a server, or whatever else carries questions and
//! answers.

mod file;
mod http;
mod names;
mod service;
mod specs;
mod trouble;
mod wire;

use serde::Serialize;

pub use file::write as write_specs;
pub use names::{Names, did_you_mean};
pub use service::Service;
pub use specs::{Document, Listed, read as read_specs};
pub use trouble::Trouble;
pub use wire::{Ask, Method, OnEvent, Text, Told, Wire};

/// A value of the interface that is one word, as it stands in JSON.
pub fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
