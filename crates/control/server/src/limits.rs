//! Limits: of a request, of a client, of all clients together.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use wayleave_protocol::problem::{Code, Problem};

use crate::answer::problem;
use crate::read_view::Holder;

/// Maximum values.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Of a request's body.
    pub body_bytes: usize,
    /// Of a list of contracts.
    pub list_bytes: usize,
    /// Requests in a second, of one token.
    pub requests_per_second: f64,
    /// Bytes that answers to requests with an `Idempotency-Key` may take, of a tenant; of all operators and of all agents four times that.
    pub answer_bytes: u64,
    /// Bytes of events, decisions and audit of a tenant; of all operators and of all agents four times that. The
    /// oldest are deleted first.
    pub history_bytes: u64,
    /// Bytes of a tenant's requests in progress; of all operators, of all agents and of all clients together four
    /// times that.
    pub open_bytes: usize,
    /// VMs of a tenant.
    pub vms: usize,
    /// Contracts of a tenant's list that are decided together (`atomic`, `dryRun`); of an operator's four times that.
    pub together: usize,
    /// Connections at once.
    pub connections: usize,
    /// Of those, from one address.
    pub connections_of_address: usize,
    /// Additional connections on which agents wait for messages, or clients watch events.
    pub connections_waiting: usize,
    /// Watchers of events at once.
    pub watchers: usize,
    /// Tenants, and links, with metrics of their own; 0: none.
    pub metric_series: usize,
    /// Timeout for the head, and for the body, of a request.
    pub read_within: Duration,
    /// Time after which a client that reads nothing of its answer is disconnected.
    pub write_within: Duration,
    /// Maximum time without progress of the engine, or of the threads that carry requests out, before `/healthz` answers 503.
    pub silent_within: Duration,
    /// Time for open requests to complete at the end.
    pub end_within: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            list_bytes: 16 << 20,
            requests_per_second: 50_000.0,
            answer_bytes: 64 << 20,
            history_bytes: 4 << 20,
            open_bytes: 32 << 20,
            vms: 10_000,
            together: 200,
            connections: 1024,
            connections_of_address: 512,
            connections_waiting: 8192,
            watchers: 256,
            metric_series: 0,
            read_within: Duration::from_secs(30),
            write_within: Duration::from_secs(30),
            // As long as the watchdog of systemd waits (`WatchdogSec` in `packaging/systemd/wayleave.service`).
            silent_within: Duration::from_secs(30),
            end_within: Duration::from_secs(10),
        }
    }
}

impl ServerLimits {
    /// Counts a request of a client; an error if the limit is exceeded.
    pub(crate) fn take(&self, who: &Holder) -> Result<(), Box<Problem>> {
        let mut bucket = who.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // A second's worth may come at once.
        let gained = bucket.at.map_or(f64::INFINITY, |at| (now - at).as_secs_f64() * self.requests_per_second);
        let level = (bucket.level + gained).min(self.requests_per_second.max(1.0));
        bucket.at = Some(now);
        if level < 1.0 {
            bucket.level = level;
            let detail = format!("rate limit: {} requests per second for each token", self.requests_per_second);
            return Err(problem(Code::RateLimited, detail));
        }
        bucket.level = level - 1.0;
        Ok(())
    }
}
