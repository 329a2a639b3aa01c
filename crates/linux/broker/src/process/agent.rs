//! An agent as the data plane of a rack broker: its socket, and tenants in the place of services.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use wayleave_contracts::Policy;
use wayleave_schemes::services::Policies;

use super::lines::{LimitsLine, OTHER, ReportLine, ServiceLimit};
use super::{StopSignal, TURN};

/// Mapping of tenants to services: all contracts of a tenant belong to one service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantServices {
    services: BTreeMap<String, String>,
}

impl TenantServices {
    /// By these policies: the first service that names the tenant, or one that is called so.
    pub fn of(policies: Policies<'_>) -> Self {
        let services = || policies.iter().flat_map(Policy::services);
        let named = services().map(|service| (service.name.clone(), service.name.clone()));
        let mut known: BTreeMap<String, String> = named.collect();
        let of_tenants: Vec<(&String, &String)> =
            services().filter_map(|service| Some((service.tenant.as_ref()?, &service.name))).collect();
        for (tenant, service) in of_tenants.into_iter().rev() {
            known.insert(tenant.clone(), service.clone());
        }
        Self { services: known }
    }

    fn service(&self, tenant: &str) -> &str {
        self.services.get(tenant).map_or(OTHER, String::as_str)
    }

    /// A report of tenants as one of services. Tenants of no service are `other`, together.
    pub fn report(&self, line: &ReportLine) -> ReportLine {
        let mut services: BTreeMap<String, super::ServiceCounters> = BTreeMap::new();
        for (tenant, counters) in &line.services {
            let sum = services.entry(self.service(tenant).to_owned()).or_default();
            let outside = |sum: Option<u64>, before: u64, one: Option<u64>, all: u64| {
                Some(sum.unwrap_or(before).saturating_add(one.unwrap_or(all)))
            };
            sum.sent_outside = outside(sum.sent_outside, sum.sent, counters.sent_outside, counters.sent);
            sum.received_outside =
                outside(sum.received_outside, sum.received, counters.received_outside, counters.received);
            sum.sent = sum.sent.saturating_add(counters.sent);
            sum.received = sum.received.saturating_add(counters.received);
            sum.metered += counters.metered;
            sum.held += counters.held;
        }
        let limits = line.limits.as_ref().map(|limits| {
            limits.iter().map(|(tenant, limit)| (self.service(tenant).to_owned(), *limit)).collect::<BTreeMap<_, _>>()
        });
        ReportLine { at_ns: line.at_ns, services, limits }
    }

    /// Converts limits of services to limits of tenants. The limit of `other` has no tenant: several tenants would
    /// share it.
    pub fn limits(&self, line: LimitsLine) -> LimitsLine {
        let of_tenant = |(tenant, service): (&String, &String)| -> Option<(String, ServiceLimit)> {
            Some((tenant.clone(), *line.limits.get(service)?))
        };
        LimitsLine { limits: self.services.iter().filter_map(of_tenant).collect(), ..line }
    }
}

/// The agent's socket; a connection that is lost is made again.
#[derive(Clone, Debug)]
pub struct AgentSocket {
    path: PathBuf,
    stop: StopSignal,
    stream: Arc<Mutex<Option<UnixStream>>>,
}

impl AgentSocket {
    /// The agent that listens here.
    pub fn at(path: PathBuf, stop: StopSignal) -> Self {
        Self { path, stop, stream: Arc::default() }
    }

    /// Returns the agent's lines, until the broker is stopped.
    pub fn lines(&self) -> impl BufRead + Send + 'static {
        BufReader::new(Lines { agent: self.clone(), open: None })
    }

    /// Waits until the agent can be reached; `None` if the broker is stopped before.
    fn connect(&self) -> Option<UnixStream> {
        let mut is_reported = false;
        while !self.stop.is_stopped() {
            let connected = UnixStream::connect(&self.path).and_then(|stream| Ok((stream.try_clone()?, stream)));
            match connected {
                Ok((writer, reader)) => {
                    tracing::info!(path = %self.path.display(), "connected to the agent");
                    *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
                    return Some(reader);
                }
                Err(error) if !is_reported => {
                    is_reported = true;
                    tracing::warn!("cannot reach the agent at {}: {error}; retrying", self.path.display());
                }
                Err(_) => {}
            }
            std::thread::sleep(TURN);
        }
        None
    }
}

impl Write for AgentSocket {
    /// Sends limits. Limits are lost while the agent is not connected: the agent lifts all limits after a time-out
    /// without a message.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if stream.as_mut().is_some_and(|open| open.write_all(bytes).is_err()) {
            *stream = None;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Lines {
    agent: AgentSocket,
    open: Option<UnixStream>,
}

impl Read for Lines {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(stream) = self.agent.connect() else { return Ok(0) };
                self.open = Some(stream);
                continue;
            };
            match open.read(bytes) {
                Ok(read @ 1..) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => {
                    self.open = None;
                    tracing::warn!("the agent closed the connection");
                    // An end for a line that was cut; empty lines are nothing.
                    if let Some(first) = bytes.first_mut() {
                        *first = b'\n';
                        return Ok(1);
                    }
                }
            }
        }
    }
}
