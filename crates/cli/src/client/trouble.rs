//! Why a question was not answered, as sentences that say what to do.

use std::fmt::Write;
use std::io;
use std::time::Duration;

use wayleave_api::problem::{Code, FieldError, Problem};
use wayleave_formats::Source;

use crate::failure::Failure;

/// Why a question was not answered.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The controller says why.
    Problem(Box<Problem>, Option<Duration>),
    /// It was not reached, or something else went wrong.
    Failure(Failure),
}

impl Trouble {
    /// What the controller has said.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem, _) => Some(problem),
            Self::Failure(_) => None,
        }
    }

    /// Whether there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        self.problem().is_some_and(|problem| problem.code == Code::NotFound)
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Problem(problem, retry_after) => of_problem(&problem, retry_after),
            Trouble::Failure(failure) => failure,
        }
    }
}

/// What an answer says that is none.
pub(super) fn of(status: u16, body: &[u8], retry_after: Option<Duration>) -> Trouble {
    match serde_json::from_slice::<Problem>(body) {
        Ok(problem) => Trouble::Problem(Box::new(problem), retry_after),
        Err(_) => Trouble::Failure(Failure::Internal(format!(
            "this is no answer of a Wayleave server (status {status}): is the address right, and is there a proxy between?"
        ))),
    }
}

fn of_problem(problem: &Problem, retry_after: Option<Duration>) -> Failure {
    let detail = &problem.detail;
    match problem.code {
        Code::Unauthorized => Failure::Usage(format!(
            "{detail}\n  `wayleave login` saves a token; --token-file and WAYLEAVE_TOKEN_FILE name a file that has one"
        )),
        Code::Forbidden => Failure::Usage(format!(
            "{detail}\n  `wayleave status` says as whom you ask; another --context may be allowed to"
        )),
        Code::PreconditionFailed => Failure::Usage(format!("{detail}\n  somebody has changed it meanwhile")),
        Code::RateLimited => {
            let when = retry_after.map_or("later".to_owned(), |wait| format!("in {} s", wait.as_secs().max(1)));
            Failure::Internal(format!("{detail}\n  too many requests with this token: ask again {when}"))
        }
        Code::TimedOut | Code::Internal | Code::Unavailable => Failure::Internal(detail.clone()),
        _ => Failure::Usage(detail.clone()),
    }
}

/// A connection that failed.
pub(super) fn connection(place: &str, error: &ureq::Error) -> Failure {
    const WHERE: &str = "--server, WAYLEAVE_SERVER or `wayleave login` say where the server is";
    let text = match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("nobody listens at {place}: is the server running? `wayleave serve` starts one\n  {WHERE}")
        }
        ureq::Error::Io(error) if error.to_string().contains("lookup address") => {
            format!("the name of the host in {place} is not known\n  {WHERE}")
        }
        ureq::Error::HostNotFound => format!("the name of the host in {place} is not known\n  {WHERE}"),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            return Failure::Usage(format!("{place} is no address: one such as http://127.0.0.1:7480 is expected"));
        }
        ureq::Error::Timeout(_) => {
            format!("{place} did not answer in time: what was asked may have been done, and asking again does no harm")
        }
        other => {
            let cause = cause(other);
            if cause.contains("certificate") {
                format!(
                    "the server at {place} is not trusted: {cause}\n  --ca FILE names the certificate that its own was signed with"
                )
            } else if cause.contains("InvalidContentType") || cause.contains("corrupt message") {
                format!("the server at {place} does not speak TLS: try http:// in its address")
            } else {
                format!("{place} could not be asked: {cause}\n  {WHERE}")
            }
        }
    };
    Failure::Internal(text)
}

fn cause(error: &ureq::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let part = error.to_string();
        if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
        source = error.source();
    }
    text
}

/// An answer that cannot be read.
pub(super) fn unreadable(place: &str, error: &serde_json::Error) -> Failure {
    let version = env!("CARGO_PKG_VERSION");
    Failure::Internal(format!(
        "the answer of {place} cannot be read ({error}): its version may be another than {version}, which this is"
    ))
}

/// Everything that a controller has found in a file, at its places; `None` if it has found nothing there.
pub(super) fn in_file(problem: &Problem, source: &Source) -> Option<String> {
    let found: Vec<&FieldError> = problem.errors.iter().filter(|error| error.line.is_some()).collect();
    if found.is_empty() {
        return None;
    }
    let mut text = String::new();
    for (index, error) in found.into_iter().enumerate() {
        let (line, column) = (error.line.unwrap_or(1), error.column.unwrap_or(1));
        let gap = if index == 0 { "" } else { "\n\n" };
        // Writing to a string does not fail.
        let _ = write!(text, "{gap}{}", source.finding_at(line, column, &error.detail));
    }
    Some(text)
}
