//! Errors of requests, as sentences with a remedy.

use std::time::Duration;

use wayleave_protocol::problem::{Code, Problem};
use wayleave_units::escaped;

use crate::error::Error;

/// Reason that a request was not answered.
#[derive(Debug)]
pub enum RequestError {
    /// Problem returned by the controller.
    Problem(Box<Problem>, Option<Duration>),
    /// It was not reached, or something else went wrong.
    Failed(Error),
}

impl RequestError {
    /// Returns the controller's problem, if it returned one.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem, _) => Some(problem),
            Self::Failed(_) => None,
        }
    }

    /// Returns `true` if the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.problem().is_some_and(|problem| problem.code == Code::NotFound)
    }
}

impl From<Error> for RequestError {
    fn from(failure: Error) -> Self {
        Self::Failed(failure)
    }
}

impl From<RequestError> for Error {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Problem(problem, retry_after) => of_problem(&problem, retry_after),
            RequestError::Failed(failure) => failure,
        }
    }
}

/// Returns the error of an answer that is no success.
pub(super) fn of(status: u16, body: &[u8], retry_after: Option<Duration>) -> RequestError {
    match serde_json::from_slice::<Problem>(body) {
        Ok(problem) => RequestError::Problem(Box::new(on_one_line(problem)), retry_after),
        Err(_) => RequestError::Failed(Error::Failed(format!(
            "the response is not from a Wayleave server (status {status}): check the URL, and any proxy in between"
        ))),
    }
}

/// Returns a problem whose sentences cannot begin a new line: they may have names that others have chosen.
fn on_one_line(mut problem: Problem) -> Problem {
    let sentences = problem.errors.iter_mut().map(|error| &mut error.detail);
    for sentence in sentences.chain([&mut problem.detail]) {
        *sentence = escaped(sentence).into_owned();
    }
    problem
}

fn of_problem(problem: &Problem, retry_after: Option<Duration>) -> Error {
    let detail = &problem.detail;
    match problem.code {
        Code::Unauthorized => Error::Usage(format!(
            "{detail}\n  `wayleave login` saves a token; --token-file and WAYLEAVE_TOKEN_FILE name a token file"
        )),
        Code::Forbidden => {
            Error::Usage(format!("{detail}\n  `wayleave status` shows your role; another --context may have access"))
        }
        Code::PreconditionFailed => {
            Error::Usage(format!("{detail}\n  it was changed by another client; read it again"))
        }
        Code::RateLimited => {
            let when = retry_after.map_or("later".to_owned(), |wait| format!("in {} s", wait.as_secs().max(1)));
            Error::Failed(format!("{detail}\n  too many requests with this token: retry {when}"))
        }
        Code::TimedOut | Code::Internal | Code::Unavailable => Error::Failed(detail.clone()),
        _ => Error::Usage(detail.clone()),
    }
}

/// A connection that failed.
pub(super) fn connection(place: &str, error: &ureq::Error) -> Error {
    const WHERE: &str = "set the server with --server, WAYLEAVE_SERVER or `wayleave login`";
    super::error::connection(place, error, WHERE)
}

/// An answer that cannot be read.
pub(super) fn unreadable(place: &str, error: &serde_json::Error) -> Error {
    let version = env!("CARGO_PKG_VERSION");
    Error::Failed(format!(
        "cannot parse the response of {place} ({error}): its version may differ from this client's, {version}"
    ))
}

/// Returns `true` if the server was not reached, so that it received no request.
pub(super) fn is_unreached(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::Io(io) => io.kind() == std::io::ErrorKind::ConnectionRefused,
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => true,
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => true,
        _ => false,
    }
}
