//! What there is to say of a request before it is handled: its verb, its parameters, its body, its answers.

/// What is done with what the address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

impl Verb {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// A parameter of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: ParamKind,
    pub(crate) help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamKind {
    /// `true` or `false`.
    Flag,
    /// A whole number from 0 to this.
    Number(u64),
    /// A whole number from 1 to this.
    Count(u64),
    /// Text.
    Text,
}

/// What a request may carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyDoc {
    /// The name of its schema.
    pub(crate) schema: &'static str,
    /// Whether it may be YAML.
    pub(crate) is_yaml: bool,
    /// Whether it may be as large as a list.
    pub(crate) is_large: bool,
}

/// What a route answers if it does what was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gives {
    pub(crate) status: u16,
    pub(crate) body: Shown,
}

/// What the body of an answer is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    /// Nothing.
    Nothing,
    /// JSON of this schema.
    One(&'static str),
    /// JSON of one of these schemas: the second one for a dry run.
    Either(&'static str, &'static str),
    /// A page of a list of this schema.
    Many(&'static str),
    /// A list of events, or a stream of them.
    Events,
    /// Any JSON.
    Any,
    /// Text of this media type.
    Text(&'static str),
}

/// An answer with this status.
pub(crate) const fn on(status: u16, body: Shown) -> Gives {
    Gives { status, body }
}
