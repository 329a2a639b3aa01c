//! A server over HTTP: timeouts, retries, and a stream of events that resumes after an interruption.

use std::cell::Cell;
use std::io::{BufRead, BufReader, ErrorKind};
use std::time::{Duration, Instant};

use ureq::{Agent, http};
use wayleave_protocol::event::Event;
use wayleave_protocol::problem::Problem;

use super::address::Address;
use super::request_error;
use super::wire::{ClientRequest, ClientResponse, Method, OnEvent, Wire};
use crate::error::Error;

/// Timeout of an answer: large lists and hypothetical questions take seconds.
const ANSWER: Duration = Duration::from_secs(120);
/// Maximum silence of a stream of events: servers send at least a comment about every 15 s.
const SILENCE: Duration = Duration::from_secs(60);
/// Maximum number of attempts of a request.
const TRIES: u32 = 4;
/// Pause before the second attempt; doubled before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// A server that asks for more patience is not waited for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Time for which the controllers of a cluster are tried in turn: another one leads after some seconds.
const FAIL_OVER: Duration = Duration::from_secs(20);
/// The largest answer that is read.
const LARGEST: u64 = 1 << 30;

/// A server.
pub(super) struct Http {
    address: Address,
    agent: Agent,
    streams: Agent,
}

impl Http {
    pub(super) fn new(address: Address) -> Result<Self, Error> {
        let agent = address.connections()?.timeout_global(Some(ANSWER)).build().new_agent();
        let streams = address.connections()?.timeout_recv_response(Some(ANSWER)).timeout_per_read(Some(SILENCE));
        let streams = streams.build().new_agent();
        Ok(Self { address, agent, streams })
    }

    fn request<B>(&self, ask: &ClientRequest, body: B) -> Result<http::Request<B>, Error> {
        let mut request = self.address.request(ask.method.name(), &ask.path).header("accept", ask.accept);
        if let Some(key) = &ask.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = &ask.body {
            request = request.header("content-type", body.media);
        }
        request.body(body).map_err(|error| self.address.no_address(&error))
    }

    fn once(&self, ask: &ClientRequest) -> Result<Result<ClientResponse, ureq::Error>, Error> {
        let answered = match &ask.body {
            Some(body) => self.agent.run(self.request(ask, body.text.as_bytes())?),
            // A POST without content has an empty body, since the server expects a length.
            None if ask.method == Method::Post => self.agent.run(self.request(ask, "")?),
            None => self.agent.run(self.request(ask, ())?),
        };
        let read = answered.and_then(|mut response| {
            let retry_after = retry_after(&response);
            let body = response.body_mut().with_config().limit(LARGEST).read_to_vec()?;
            Ok(ClientResponse { status: response.status().as_u16(), body, retry_after })
        });
        Ok(read)
    }

    /// Turns to another controller of the cluster, if that one may answer, after this pause.
    fn elsewhere(&self, ask: &ClientRequest, answer: &Result<ClientResponse, ureq::Error>) -> Option<Duration> {
        let leader = match answer {
            Ok(answer) if answer.status == 421 => serde_json::from_slice::<Problem>(&answer.body).ok()?.leader,
            Ok(answer) if answer.status == 503 && may_repeat(ask) => None,
            // Nothing was asked, or it may be asked twice.
            Err(error) if request_error::is_unreached(error) || may_repeat(ask) => None,
            _ => return None,
        };
        (self.address.count() > 1).then(|| {
            self.address.move_on(self.address.current(), leader.as_deref());
            if leader.is_some() { Duration::ZERO } else { FIRST_PAUSE }
        })
    }

    /// Reads one stream; `Ok(true)` if it broke off and can be taken up again after `last`. Only the first has to begin.
    fn stream(&self, last: &Cell<Option<u64>>, is_first: bool, on_event: &mut OnEvent<'_>) -> Result<bool, Error> {
        let ask = ClientRequest {
            method: Method::Get,
            path: "/v1/events".to_owned(),
            accept: "text/event-stream",
            body: None,
            key: None,
        };
        let mut request = self.request(&ask, ())?;
        if let Some(last) = last.get() {
            request.headers_mut().insert("last-event-id", http::HeaderValue::from(last));
        }
        let mut response = match self.streams.run(request) {
            Ok(response) => response,
            Err(_) if !is_first => return Ok(true),
            Err(error) => return Err(request_error::connection(&self.place(), &error)),
        };
        if response.status().as_u16() != 200 {
            let body = response.body_mut().read_to_vec().unwrap_or_default();
            return match response.status().as_u16() {
                503 | 429 if !is_first => Ok(true),
                status => Err(request_error::of(status, &body, None).into()),
            };
        }
        let mut data = String::new();
        for line in BufReader::new(response.body_mut().with_config().limit(u64::MAX).reader()).lines() {
            let Ok(line) = line else { break };
            if let Some(part) = line.strip_prefix("data:") {
                data += part.strip_prefix(' ').unwrap_or(part);
            } else if line.is_empty() && !data.is_empty() {
                let event = serde_json::from_str::<Event>(&std::mem::take(&mut data));
                let event = event.map_err(|error| request_error::unreadable(&self.place(), &error))?;
                last.set(Some(event.number));
                if !on_event(event) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

fn retry_after<T>(response: &http::Response<T>) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns `true` if the request cannot have been executed, or is idempotent.
fn may_repeat(ask: &ClientRequest) -> bool {
    ask.method != Method::Post || ask.key.is_some()
}

/// Returns the pause before a retry could help; `None` if it cannot.
fn retry_pause(answer: &Result<ClientResponse, ureq::Error>, pause: Duration) -> Option<Duration> {
    match answer {
        Ok(answer) if matches!(answer.status, 429 | 503) => Some(answer.retry_after.unwrap_or(pause)),
        // A broken connection is retried; a connection that was never established is reported at once.
        Err(ureq::Error::Io(error)) => match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => Some(pause),
            ErrorKind::UnexpectedEof => Some(pause),
            _ => None,
        },
        _ => None,
    }
}

impl Wire for Http {
    fn ask(&self, ask: &ClientRequest) -> Result<ClientResponse, Error> {
        let (mut pause, mut tries) = (FIRST_PAUSE, if may_repeat(ask) { TRIES } else { 1 });
        let began = Instant::now();
        loop {
            let answer = self.once(ask)?;
            if began.elapsed() < FAIL_OVER
                && let Some(wait) = self.elsewhere(ask, &answer)
            {
                std::thread::sleep(wait);
                continue;
            }
            tries -= 1;
            match retry_pause(&answer, pause).filter(|wait| tries > 0 && *wait <= LONGEST_PAUSE) {
                Some(wait) => std::thread::sleep(wait),
                None => return answer.map_err(|error| request_error::connection(&self.place(), &error)),
            }
            pause *= 2;
        }
    }

    fn watch(&self, after: Option<u64>, on_event: &mut OnEvent<'_>) -> Result<(), Error> {
        let last = Cell::new(after);
        let (mut pause, mut is_first) = (FIRST_PAUSE, true);
        loop {
            let before = last.get();
            if !self.stream(&last, is_first, on_event)? {
                return Ok(());
            }
            is_first = false;
            // The controller may be gone; of several another one has the same events.
            self.address.move_on(self.address.current(), None);
            // A stream that has delivered an event resets the pause.
            pause = if last.get() == before { (pause * 2).min(LONGEST_PAUSE) } else { FIRST_PAUSE };
            std::thread::sleep(pause);
        }
    }

    fn place(&self) -> String {
        self.address.url.clone()
    }

    fn is_local(&self) -> bool {
        false
    }
}
