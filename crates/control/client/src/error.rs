//! Errors of reaching a controller, as sentences with a remedy.

use std::io;

/// Reason that a controller was not reached.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Invalid argument, with the expected form.
    #[error("{0}")]
    Usage(String),
    /// Something that should work did not.
    #[error("{0}")]
    Failed(String),
}

/// Returns the error of a failed connection; `place` is the address, `hint` explains the source of addresses.
pub fn connection(place: &str, error: &ureq::Error, hint: &str) -> Error {
    let text = match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            format!("connection refused: {place}. Is the server running? `wayleave serve` starts it\n  {hint}")
        }
        ureq::Error::Io(error) if error.to_string().contains("lookup address") => {
            format!("cannot resolve the host name in {place}\n  {hint}")
        }
        ureq::Error::HostNotFound => format!("cannot resolve the host name in {place}\n  {hint}"),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            return Error::Usage(format!("{place} is not a server URL: expected one such as http://127.0.0.1:7480"));
        }
        ureq::Error::Timeout(_) => {
            format!("{place} did not answer in time: the request may have been carried out; it is safe to retry")
        }
        other => other_error(place, &cause(other), hint),
    };
    Error::Failed(text)
}

fn other_error(place: &str, cause: &str, hint: &str) -> String {
    if cause.contains("certificate") {
        format!(
            "the certificate of {place} is not trusted: {cause}\n  --ca FILE, or `ca` in an agent's configuration, names the CA certificate"
        )
    } else if cause.contains("InvalidContentType") || cause.contains("corrupt message") {
        format!("the server at {place} does not use TLS: try http:// in its URL")
    } else if cause.contains("invalid HTTP version") {
        format!("the server at {place} does not accept plain HTTP: try https:// in its URL")
    } else {
        format!("request to {place} failed: {cause}\n  {hint}")
    }
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
