//! A request to a controller and its answer, independent of the transport.

use std::time::Duration;

use wayleave_protocol::event::Event;

use crate::error::Error;

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// It is read.
    Get,
    /// Something is made or computed there.
    Post,
    /// It is created or replaced.
    Put,
    /// It ends.
    Delete,
}

impl Method {
    /// As HTTP has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A text that goes with a question.
#[derive(Clone, Debug)]
pub struct Text {
    /// The media type.
    pub media: &'static str,
    /// The text.
    pub text: String,
}

/// A question.
#[derive(Clone, Debug)]
pub struct ClientRequest {
    /// Method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// The media type that is wanted.
    pub accept: &'static str,
    /// Body of the request.
    pub body: Option<Text>,
    /// With it a question that changes something may be asked again: it is carried out once.
    pub key: Option<String>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct ClientResponse {
    /// As HTTP has it.
    pub status: u16,
    /// As it came.
    pub body: Vec<u8>,
    /// Time after which it may be retried.
    pub retry_after: Option<Duration>,
}

/// Handles an event; returns `false` to end the stream.
pub type OnEvent<'a> = dyn FnMut(Event) -> bool + 'a;

/// Transport of requests and answers.
pub trait Wire {
    /// Asks, again if that is safe and could help.
    fn ask(&self, ask: &ClientRequest) -> Result<ClientResponse, Error>;

    /// Hands on events as they happen, those after a number first.
    fn watch(&self, after: Option<u64>, on_event: &mut OnEvent<'_>) -> Result<(), Error>;

    /// Returns the human-readable location of the controller.
    fn place(&self) -> String;

    /// Returns `true` if the controller exists only for this request.
    fn is_local(&self) -> bool;
}
