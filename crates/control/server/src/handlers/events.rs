//! `/v1/events`: as a list, or as a continuous stream (server-sent events).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::ACCEPT;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use wayleave_protocol::problem::{Code, Problem};

use crate::account::{Account, ExceededLimit, OpenOne, streams_of};
use crate::answer::{Outcome, invalid, problem};
use crate::clock::wall;
use crate::http::call::AuthorizedRequest;
use crate::http::page::Page;
use crate::http::peer::Peer;
use crate::http::route::{HandlerResult, Reply};
use crate::metrics::Limit;
use crate::read_view::Holder;
use crate::state::Shared;

/// After this long without an event a comment is sent, so that no proxy closes the connection.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Time after which a client that reads nothing is disconnected.
const SLOW: Duration = Duration::from_secs(30);
/// Number of events that are sent in one piece.
const PIECE: usize = 256;

pub(crate) fn events(shared: Arc<Shared>, call: AuthorizedRequest) -> HandlerResult {
    Box::pin(async move {
        let accepts = call.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if accepts.contains("text/event-stream") {
            return stream(shared, &call);
        }
        shared.read(call, list).await.map(Reply::from)
    })
}

fn list(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let (after, only) = (page.after_number()?.unwrap_or(0), call.only_tenant());
    let tables = shared.view.read();
    let shown = tables.events.after(only, after);
    Ok(page.of(shown.map(|event| (event.number_for(only), event.json(only)))))
}

fn stream(shared: Arc<Shared>, call: &AuthorizedRequest) -> Result<Reply, Box<Problem>> {
    // Beyond the limit a stream is refused and not queued: a watcher could not distinguish waiting from silence.
    let permit = permit(&shared, &Account::of(call.role()))?;
    let last = match call.headers.get("last-event-id") {
        None => page_after(call)?,
        Some(value) => Some(number(value.to_str().unwrap_or_default(), "Last-Event-ID")?),
    };
    let only = call.only_tenant().map(str::to_owned);
    // Read before the client knows that the stream has begun: the stream includes the effects of the client's later
    // requests.
    let last = last.unwrap_or_else(|| shared.view.read().events.newest(only.as_deref()));
    let (who, certificate, wait) = (call.who.clone(), call.certificate.clone(), call.wait(&shared.metrics)?);
    let (pieces, body) = mpsc::channel::<Result<Bytes, Infallible>>(4);
    let (reports, ending) = (shared.view.reports.subscribe(), shared.ending.clone());
    tokio::spawn(async move {
        let _places = (permit, wait);
        let source = ViewSource { shared, who, certificate, only, last };
        Watcher { source, reports, ending, pieces, heartbeat_at: Instant::now() + HEARTBEAT }.run().await;
    });
    Ok(Reply::Stream(Body::from_stream(ReceiverStream::new(body))))
}

/// Place of one more stream of an account. Those of operators are counted apart, so that tenants cannot keep them out.
fn permit(shared: &Shared, account: &Account) -> Result<OpenOne<Account>, Box<Problem>> {
    let own = streams_of(account, shared.limits.watchers);
    let (open, all) = match account {
        Account::Operators => (&shared.watching_operators, usize::MAX),
        _ => (&shared.watchers, shared.limits.watchers),
    };
    open.take(account, own, all).map_err(|beyond| {
        shared.metrics.limited(Limit::Watchers);
        match beyond {
            ExceededLimit::Account => {
                let detail =
                    format!("{account} already has {own} event streams open, the maximum: close one, or read the list");
                problem(Code::RateLimited, detail)
            }
            ExceededLimit::All => {
                problem(Code::Unavailable, "too many event streams are open: retry later, or read the list")
            }
        }
    })
}

fn page_after(call: &AuthorizedRequest) -> Result<Option<u64>, Box<Problem>> {
    Page::read(&call.query)?.after_number()
}

fn number(text: &str, field: &str) -> Result<u64, Box<Problem>> {
    text.trim().parse().map_err(|_| invalid(field, "expected an event number"))
}

/// Next item of a stream.
enum Next {
    Events(Vec<u8>),
    Nothing,
    /// Events were missed; the number of the last one.
    Missed(u64),
}

/// Events that a client may read.
trait Source {
    /// Returns `true` if the client may still read events.
    fn is_allowed(&self) -> bool;

    /// Returns the events after those that were returned before.
    fn next(&mut self) -> Next;
}

/// Events of the readers' view.
struct ViewSource {
    shared: Arc<Shared>,
    who: Option<Arc<Holder>>,
    certificate: Option<Arc<Peer>>,
    only: Option<String>,
    /// The number of the last event that was returned.
    last: u64,
}

impl Source for ViewSource {
    /// Returns `true` if its token, and the certificate that acts as the token, are still valid.
    fn is_allowed(&self) -> bool {
        if self.certificate.as_ref().is_some_and(|certificate| !certificate.is_good()) {
            return false;
        }
        let Some(who) = self.who.as_ref().filter(|who| !who.is_insider()) else { return true };
        let is_known = self.shared.view.read().holders.contains_key(&who.hash);
        is_known && who.expires.is_none_or(|expires| expires > wall())
    }

    fn next(&mut self) -> Next {
        let (tables, only) = (self.shared.view.read(), self.only.as_deref());
        if tables.events.misses(only, self.last) {
            return Next::Missed(tables.events.newest(only));
        }
        let mut piece = Vec::new();
        for event in tables.events.after(only, self.last).take(PIECE) {
            self.last = event.number_for(only);
            piece.extend_from_slice(format!("id: {}\nevent: {}\ndata: ", self.last, event.kind).as_bytes());
            piece.extend_from_slice(&event.json(only));
            piece.extend_from_slice(b"\n\n");
        }
        if piece.is_empty() { Next::Nothing } else { Next::Events(piece) }
    }
}

struct Watcher<S> {
    source: S,
    /// Changes with every event of any tenant.
    reports: watch::Receiver<u64>,
    ending: watch::Receiver<bool>,
    pieces: mpsc::Sender<Result<Bytes, Infallible>>,
    /// Time of the next heartbeat, unless something else is sent before.
    heartbeat_at: Instant,
}

impl<S: Source> Watcher<S> {
    async fn run(mut self) {
        if self.send(b": events of wayleave\n\n".to_vec()).await.is_none() {
            return;
        }
        loop {
            self.reports.borrow_and_update();
            // The end of a token is an event, too, so that this is checked when it occurs.
            if !self.source.is_allowed() {
                return;
            }
            let sent = match self.source.next() {
                Next::Events(piece) => self.send(piece).await,
                Next::Missed(last) => {
                    let reset = format!("id: {last}\nevent: reset\ndata: {{\"number\":{last},\"type\":\"reset\"}}\n\n");
                    self.send(reset.into_bytes()).await;
                    return;
                }
                Next::Nothing => self.wait().await,
            };
            if sent.is_none() {
                return;
            }
        }
    }

    /// Waits for events, and sends a heartbeat when it is due; `None` if the client has disconnected.
    async fn wait(&mut self) -> Option<()> {
        if *self.ending.borrow() {
            return None;
        }
        tokio::select! {
            changed = self.reports.changed() => changed.ok(),
            _ = self.ending.changed() => None,
            () = self.pieces.closed() => None,
            () = tokio::time::sleep_until(self.heartbeat_at) => self.send(b": still here\n\n".to_vec()).await,
        }
    }

    async fn send(&mut self, piece: Vec<u8>) -> Option<()> {
        self.heartbeat_at = Instant::now() + HEARTBEAT;
        self.pieces.send_timeout(Ok(piece.into()), SLOW).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of a client, by the time since the begin.
    struct Own {
        began: Instant,
        left: Vec<Duration>,
    }

    impl Source for Own {
        fn is_allowed(&self) -> bool {
            true
        }

        fn next(&mut self) -> Next {
            match self.left.first() {
                Some(at) if self.began.elapsed() >= *at => {
                    self.left.remove(0);
                    Next::Events(b"event".to_vec())
                }
                _ => Next::Nothing,
            }
        }
    }

    /// Others have an event every 700 ms: a heartbeat that each of them delays is never sent.
    #[tokio::test(start_paused = true)]
    async fn a_heartbeat_is_sent_15_seconds_after_the_last_piece_despite_events_of_other_tenants() {
        let ((others, reports), (_end, ending)) = (watch::channel(0), watch::channel(false));
        let (pieces, mut body) = mpsc::channel(4);
        let began = Instant::now();
        let source = Own { began, left: vec![Duration::from_millis(21_000)] };
        tokio::spawn(Watcher { source, reports, ending, pieces, heartbeat_at: began + HEARTBEAT }.run());
        tokio::spawn(async move {
            while others.send(0).is_ok() {
                tokio::time::sleep(Duration::from_millis(700)).await;
            }
        });
        let mut received = Vec::new();
        for _ in 0..5 {
            let piece = tokio::time::timeout(4 * HEARTBEAT, body.recv()).await.expect("nothing was sent");
            received.push((began.elapsed().as_secs(), piece.unwrap().unwrap()));
        }
        let expected = [(0, ": events of wayleave\n\n"), (15, ": still here\n\n"), (21, "event")];
        let later = [(36, ": still here\n\n"), (51, ": still here\n\n")];
        let expected: Vec<(u64, Bytes)> =
            expected.into_iter().chain(later).map(|(second, text)| (second, Bytes::from(text))).collect();
        assert_eq!(received, expected);
    }
}
