//! A question to a controller and its answer, whoever carries them.

use std::time::Duration;

use wayleave_protocol::event::Event;

use crate::failure::Failure;

/// What is done with what the path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    pub(crate) const fn name(self) -> &'static str {
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
pub(crate) struct Text {
    pub(crate) media: &'static str,
    pub(crate) text: String,
}

/// A question.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    /// The media type that is wanted.
    pub(crate) accept: &'static str,
    pub(crate) body: Option<Text>,
    /// With it a question that changes something may be asked again: it is carried out once.
    pub(crate) key: Option<String>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// When it may be asked again.
    pub(crate) retry_after: Option<Duration>,
}

/// What a watcher does with an event; false ends the watching.
pub(crate) type OnEvent<'a> = dyn FnMut(Event) -> Result<bool, Failure> + 'a;

/// Who carries questions and answers.
pub(crate) trait Wire {
    /// Asks, again if that is safe and could help.
    fn ask(&self, ask: &Ask) -> Result<Told, Failure>;

    /// Hands on events as they happen, those after a number first.
    fn watch(&self, after: Option<u64>, on_event: &mut OnEvent<'_>) -> Result<(), Failure>;

    /// Where the controller is, for people.
    fn place(&self) -> String;

    /// Whether it is there only for this question.
    fn is_local(&self) -> bool;
}
