//! Errors as RFC 9457 problems (`application/problem+json`).

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of a [`Problem`].
pub const MEDIA_TYPE: &str = "application/problem+json";

/// An error.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[error("{}: {}", .code, .detail)]
pub struct Problem {
    /// A stable name of the sort of problem: `urn:wayleave:problem:` and its code in lower case.
    #[serde(rename = "type")]
    pub kind: String,
    /// A short text for the sort of problem.
    pub title: String,
    /// The status code.
    pub status: u16,
    /// Description of this occurrence, and the remedy.
    pub detail: String,
    /// A stable code for programs.
    pub code: Code,
    /// Everything that is wrong with the text that was sent, with its places.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub errors: Vec<FieldError>,
    /// The decision that refused: `/v1/decisions/{decision}` and its `/explanation`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<u64>,
    /// The revision of the object as it is, where another one was expected.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub revision: Option<u64>,
    /// Address of the cluster's leader, if there is one and this controller is not it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leader: Option<String>,
    /// The last session of the node, for an agent that speaks for another one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epoch: Option<u64>,
}

/// One thing that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// Counted from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<usize>,
    /// In characters, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub column: Option<usize>,
    /// The key or the query parameter, where one is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub field: Option<String>,
    /// Description of the error, and the expected form.
    pub detail: String,
}

// The text is a `tt`: with a `literal`, the derived schema would not see the name, and the document would differ.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $text:tt $status:literal $title:literal),* $(,)?) => {
        /// The stable codes of problems.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        pub enum Code { $($(#[$doc])* #[serde(rename = $text)] $name),* }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// As it is sent.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The status that it comes with.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status),* }
            }

            /// A short text.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),* }
            }
        }
    };
}

codes! {
    /// Refused: no route joins the ends.
    NoPath "NO_PATH" 409 "No route",
    /// Refused: too little rate is left.
    Rate "RATE" 409 "Insufficient rate",
    /// Refused: every route could take longer than the deadline.
    Latency "LATENCY" 409 "Deadline not achievable",
    /// Refused: a buffer could run over.
    Buffer "BUFFER" 409 "Buffer overflow possible",
    /// Refused: the tenant has as much as it may have.
    Quota "QUOTA" 409 "Quota exceeded",
    /// Refused: what was asked is not offered.
    Policy "POLICY" 409 "Not supported",
    /// Not executed, because another contract in the list was refused.
    WithOthers "WITH_OTHERS" 409 "Another contract in the list was refused",
    /// The object is in use, or has changed.
    Conflict "CONFLICT" 409 "Conflict",
    /// An agent speaks for a session that is over.
    StaleEpoch "STALE_EPOCH" 409 "Session closed",
    /// Changed since it was read, or already exists.
    PreconditionFailed "PRECONDITION_FAILED" 412 "Precondition failed",
    /// The text or a parameter does not make sense.
    Invalid "INVALID" 400 "Invalid request",
    /// No token, or an unknown one.
    Unauthorized "UNAUTHORIZED" 401 "Authentication required",
    /// The token does not allow it.
    Forbidden "FORBIDDEN" 403 "Not allowed",
    /// There is no such thing, or it is not yours.
    NotFound "NOT_FOUND" 404 "Not found",
    /// The address is right, and cannot be used so.
    MethodNotAllowed "METHOD_NOT_ALLOWED" 405 "Method not allowed",
    /// None of the media types that were asked for is offered.
    NotAcceptable "NOT_ACCEPTABLE" 406 "Media type not available",
    /// The controller follows another one, which has to be asked.
    NotLeader "NOT_LEADER" 421 "Not the leader",
    /// The client took too long.
    TimedOut "TIMED_OUT" 408 "Request timeout",
    /// More than is accepted.
    TooLarge "TOO_LARGE" 413 "Request too large",
    /// Neither JSON nor YAML.
    UnsupportedMediaType "UNSUPPORTED_MEDIA_TYPE" 415 "Unsupported media type",
    /// The key was used for another request.
    IdempotencyMismatch "IDEMPOTENCY_MISMATCH" 422 "Idempotency key reused",
    /// Too many requests.
    RateLimited "RATE_LIMITED" 429 "Too many requests",
    /// A mistake in the server.
    Internal "INTERNAL" 500 "Internal server error",
    /// The controller cannot write, or has not begun yet.
    Unavailable "UNAVAILABLE" 503 "Controller unavailable",
}

impl Code {
    /// The code of this text.
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.text() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Problem {
    /// With the usual status and title of its code.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:wayleave:problem:{}", code.text().to_lowercase().replace('_', "-")),
            title: code.title().to_owned(),
            status: code.status(),
            detail: detail.into(),
            code,
            errors: Vec::new(),
            decision: None,
            revision: None,
            epoch: None,
            leader: None,
        }
    }
}
