//! Description of a request, independent of its handler: its verb, its parameters, its body, its answers.

use std::borrow::Cow;

use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

/// Method of a request.
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
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text.
    Text,
}

/// A type of the interface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Typed {
    name: fn() -> Cow<'static, str>,
    /// Adds its schema and those that it refers to.
    pub(crate) collect: fn(&mut Vec<NamedSchema>),
}

/// A schema with its name.
pub(crate) type NamedSchema = (String, RefOr<Schema>);

impl Typed {
    pub(crate) const fn of<T: ToSchema>() -> Self {
        Self { name: T::name, collect: collect::<T> }
    }

    pub(crate) fn name(self) -> String {
        (self.name)().into_owned()
    }
}

fn collect<T: ToSchema>(all: &mut Vec<NamedSchema>) {
    all.push((T::name().into_owned(), T::schema()));
    T::schemas(all);
}

/// A document that files have, too: `kind: Contracts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    Contracts,
    Policy,
}

impl Document {
    /// Name of its schema.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Contracts => "ContractsDocument",
            Self::Policy => "PolicyDocument",
        }
    }
}

/// Body of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestBody {
    Typed(Typed),
    Document(Document),
}

impl RequestBody {
    /// Name of its schema.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Typed(typed) => typed.name(),
            Self::Document(document) => document.name().to_owned(),
        }
    }
}

/// Body of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyDoc {
    pub(crate) is: RequestBody,
    /// `true` if it may be YAML.
    pub(crate) is_yaml: bool,
    /// `true` if it may be as large as a list.
    pub(crate) is_large: bool,
}

/// Answer of a route to a successful request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SuccessResponse {
    pub(crate) status: u16,
    pub(crate) body: ResponseBody,
}

/// Body of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResponseBody {
    /// Nothing.
    Nothing,
    /// JSON of this type.
    One(Typed),
    /// JSON of one of these types: the second one for a dry run.
    Either(Typed, Typed),
    /// A page of a list of this type.
    Many(Typed),
    /// The same; for `format=csv` the whole list as text.
    ManyOrCsv(Typed),
    /// A list of events, or a stream of them.
    Events,
    /// Any JSON.
    Any,
    /// Text of this media type.
    Text(&'static str),
    /// Text of one of these media types, by the `Accept` header.
    Texts(&'static [&'static str]),
}

/// JSON of a type.
pub(crate) const fn one<T: ToSchema>() -> ResponseBody {
    ResponseBody::One(Typed::of::<T>())
}

/// JSON of one of two types: the second one for a dry run.
pub(crate) const fn either<T: ToSchema, U: ToSchema>() -> ResponseBody {
    ResponseBody::Either(Typed::of::<T>(), Typed::of::<U>())
}

/// A page of a list.
pub(crate) const fn many<T: ToSchema>() -> ResponseBody {
    ResponseBody::Many(Typed::of::<T>())
}

/// A page of a list, or the whole list as CSV.
pub(crate) const fn many_or_csv<T: ToSchema>() -> ResponseBody {
    ResponseBody::ManyOrCsv(Typed::of::<T>())
}

/// An answer with this status.
pub(crate) const fn on(status: u16, body: ResponseBody) -> SuccessResponse {
    SuccessResponse { status, body }
}
