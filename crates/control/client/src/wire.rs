//! A question to a controller and its answer, whoever carries them.

use std::time::Duration;

use wayleave_protocol::event::Event;

use crate::error::Error;

/// What is done with what the path names.
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
    /// What is done.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// The media type that is wanted.
    pub accept: &'static str,
    /// What goes with it.
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
    /// When it may be asked again.
    pub retry_after: Option<Duration>,
}

/// Handles an event; returns `false` to end the stream.
pub type OnEvent<'a> = dyn FnMut(Event) -> bool + 'a;

/// Who carries questions and answers.
pub trait Wire {
    /// Asks, again if that is safe and could help.
    fn ask(&self, ask: &ClientRequest) -> Result<ClientResponse, Error>;

    /// Hands on events as they happen, those after a number first.
    fn watch(&self, after: Option<u64>, on_event: &mut OnEvent<'_>) -> Result<(), Error>;

    /// Where the controller is, for people.
    fn place(&self) -> String;

    /// Whether it is there only for this question.
    fn is_local(&self) -> bool;
}
