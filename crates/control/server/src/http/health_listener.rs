//! `/healthz` on a separate thread, which does not wait for the threads that execute requests.
//!
//! The thread accepts connections and peeks at their first bytes, without consuming them. It answers plain requests
//! for `/healthz`, any number of times. A connection with any other request is passed to the other threads, with all
//! bytes that it has sent.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue};
use http::{Method, Version};
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::connection_limit::ConnectionPermit;
use crate::http::dispatch;
use crate::http::write_timeout::ClientTimeouts;
use crate::state::Shared;

/// Maximum bytes of a head that is answered here. Those of probes have some hundred.
const MAX_HEAD: usize = 2048;
/// First line of such a request.
const LINE: &[u8] = b"GET /healthz HTTP/1.1\r\n";
/// Headers that a request without a body may have and that change nothing about its answer.
const HARMLESS: [&str; 7] =
    ["accept", "accept-encoding", "accept-language", "authorization", "cache-control", "pragma", "user-agent"];

/// Answers `/healthz`.
#[derive(Clone)]
pub(crate) struct HealthListener(pub(crate) Arc<Shared>);

/// A request for `/healthz`.
#[derive(Debug, PartialEq, Eq)]
struct Probe {
    /// Length of its head.
    length: usize,
    /// Nothing more comes on its connection.
    closes: bool,
}

impl Probe {
    /// Returns `None` if these bytes begin with anything else, or with only a part of a head.
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(LINE)?;
        let (mut hosts, mut closes) = (0, false);
        loop {
            let end = rest.windows(2).position(|two| two == b"\r\n")?;
            let (line, behind) = (&rest[..end], &rest[end + 2..]);
            if line.is_empty() {
                return (hosts == 1).then_some(Self { length: bytes.len() - behind.len(), closes });
            }
            let colon = line.iter().position(|&byte| byte == b':')?;
            let name = HeaderName::from_bytes(&line[..colon]).ok()?;
            let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
            if name == HOST {
                hosts += 1;
            } else if name == CONNECTION {
                closes |= value.as_bytes().eq_ignore_ascii_case(b"close");
                if !closes && !value.as_bytes().eq_ignore_ascii_case(b"keep-alive") {
                    return None;
                }
            } else if !(HARMLESS.contains(&name.as_str()) || name == CONTENT_LENGTH && value == "0") {
                return None;
            }
            rest = behind;
        }
    }
}

impl HealthListener {
    /// Answers requests for `/healthz` on a connection. Returns it when it brings something else, and `None` at its end.
    pub(crate) async fn answer(
        self,
        mut stream: TcpStream,
        taken: &Arc<ConnectionPermit>,
        timeouts: ClientTimeouts,
    ) -> Option<TcpStream> {
        let mut head = [0; MAX_HEAD];
        loop {
            let peeked = timeout(timeouts.read_within, stream.peek(&mut head)).await.ok()?;
            let count = peeked.ok().filter(|&count| count > 0)?;
            let Some(Probe { length, closes }) = Probe::read(&head[..count]) else { return Some(stream) };
            stream.read_exact(&mut head[..length]).await.ok()?;
            let bytes = self.response(taken, closes).await?;
            timeout(timeouts.write_within, stream.write_all(&bytes)).await.ok()?.ok()?;
            if closes {
                // Bytes behind the last request are not read.
                let _ = stream.shutdown().await;
                return None;
            }
        }
    }

    /// The answer as bytes: counted and logged as any other.
    async fn response(&self, taken: &Arc<ConnectionPermit>, closes: bool) -> Option<Vec<u8>> {
        let mut request = Request::new(Body::empty());
        (*request.method_mut(), *request.version_mut()) = (Method::GET, Version::HTTP_11);
        request.extensions_mut().insert(Arc::new(taken.request()));
        let (head, body) = dispatch::healthz(&self.0, request).await?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        let reason = head.status.canonical_reason().unwrap_or_default();
        let mut bytes = format!("HTTP/1.1 {} {reason}\r\ncontent-length: {}\r\n", head.status.as_u16(), body.len());
        if closes {
            bytes.push_str("connection: close\r\n");
        }
        let mut bytes = bytes.into_bytes();
        for (name, value) in &head.headers {
            for piece in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                bytes.extend_from_slice(piece);
            }
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&body);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Probe> {
        Probe::read(text.as_bytes())
    }

    #[test]
    fn a_plain_request_for_health_is_recognised_before_any_other_bytes() {
        let head = "GET /healthz HTTP/1.1\r\nHost: x\r\nUser-Agent: kube-probe/1.31\r\nAccept: */*\r\n\r\n";
        let keeps = Some(Probe { length: head.len(), closes: false });
        assert_eq!(read(head), keeps);
        assert_eq!(read(&format!("{head}GET /v1 HTTP/1.1\r\n")), keeps);
        let closes = "GET /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: Close\r\n\r\n";
        assert_eq!(read(closes), Some(Probe { length: closes.len(), closes: true }));
        assert!(!read("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n").unwrap().closes);
    }

    #[test]
    fn all_other_requests_are_left_to_the_other_threads() {
        let whole = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        for cut in 0..whole.len() {
            assert_eq!(read(&whole[..cut]), None, "a part of {cut} B");
        }
        for line in [
            "GET /healthz HTTP/1.0",
            "HEAD /healthz HTTP/1.1",
            "GET /healthz?a HTTP/1.1",
            "GET /healthzz HTTP/1.1",
            "POST /healthz HTTP/1.1",
        ] {
            assert_eq!(read(&format!("{line}\r\nhost: x\r\n\r\n")), None, "{line}");
        }
        for header in [
            "content-length: 00",
            "content-length: 5",
            "transfer-encoding: chunked",
            "expect: 100-continue",
            "upgrade: h2c",
            "connection: upgrade",
            "connection: close, te",
            "host: y",
            "a b: c",
            ": c",
            "x-unknown: 1",
            "no colon",
            " host: folded",
        ] {
            assert_eq!(read(&format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{header}\r\n\r\n")), None, "{header}");
        }
        assert_eq!(read("GET /healthz HTTP/1.1\r\n\r\n"), None, "without a host");
        assert_eq!(read("GET /healthz HTTP/1.1\nhost: x\n\n"), None, "lines that end otherwise");
        assert_eq!(read("\u{16}\u{3}\u{1}"), None, "TLS");
    }
}
