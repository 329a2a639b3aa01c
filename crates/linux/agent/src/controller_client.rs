//! HTTP client of an agent for requests to its controller.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http;
use wayleave_client::{Address, CertificateStamp, Error, connection, encode};
use wayleave_protocol::agent::{Confirmations, Messages, Neighbours, Reports, Session, SessionSpec, Shares};
use wayleave_protocol::check::Tasks;
use wayleave_protocol::network::Topology;
use wayleave_protocol::problem::{Code, Problem};

/// Timeout of an answer that is not long-polled.
const ANSWER: Duration = Duration::from_secs(10);
/// Maximum time for which the controller may hold a request until there is something to do.
const WAIT: Duration = Duration::from_secs(20);
/// The same where the next controller is asked then: one that is paused accepts questions, and another one leads after some seconds.
const ANSWER_OF_SEVERAL: Duration = Duration::from_secs(3);
const WAIT_OF_SEVERAL: Duration = Duration::from_secs(5);
/// The largest answer that is read.
const LARGEST: u64 = 1 << 30;
/// Maximum number of attempts to begin a session for a node that is taken down: the second attempt knows the number
/// of the previous session.
const LEAVING: usize = 3;
const HINT: &str = "the server's URL is set in the agent's configuration";

/// Answer of the controller.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerReply<T> {
    /// This.
    Done(T),
    /// The session is over; carries the number of the latest one if the controller names it.
    Stale(Option<u64>),
}

/// A node's connection.
#[derive(Clone, Debug)]
pub struct ControllerClient {
    address: Address,
    /// Made again when the files of certificates change: they are renewed while the agent runs.
    connections: Arc<Mutex<(CertificateStamp, ureq::Agent)>>,
    /// `/v1/agents/<node>`.
    path: String,
}

impl ControllerClient {
    /// Of a node.
    ///
    /// # Errors
    /// If the certificates cannot be read.
    pub fn new(address: Address, node: &str) -> Result<Self, Error> {
        let connections = Arc::new(Mutex::new((address.stamp(), connect(&address)?)));
        Ok(Self { address, connections, path: format!("/v1/agents/{}", encode(node)) })
    }

    /// Returns the HTTP client, with the current certificates.
    fn agent(&self) -> ureq::Agent {
        let mut known = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let (stamp, agent) = &mut *known;
        let now = self.address.stamp();
        if *stamp != now {
            *stamp = now;
            match connect(&self.address) {
                Ok(other) => {
                    *agent = other;
                    tracing::info!("certificates have changed: reloading them");
                }
                Err(error) => {
                    tracing::warn!(%error, "certificates have changed but cannot be loaded: the old ones stay in use");
                }
            }
        }
        agent.clone()
    }

    /// Begins a session.
    ///
    /// # Errors
    /// If that is not known.
    pub fn begin(&self, after: u64, installed: Vec<(u64, u64)>) -> Result<ControllerReply<Session>, Error> {
        self.send("session", &SessionSpec { after, installed })
    }

    /// Returns the pending operations; long-polls until there are any.
    ///
    /// # Errors
    /// If the controller's answer is not known.
    pub fn messages(&self, epoch: u64) -> Result<ControllerReply<Messages>, Error> {
        let wait = if self.address.count() > 1 { WAIT_OF_SEVERAL } else { WAIT };
        let path = format!("{}/messages?epoch={epoch}&wait={}", self.path, wait.as_secs());
        let asked = self.address.pinned();
        let request = asked.request("GET", &path).body(()).map_err(|error| asked.no_address(&error))?;
        let agent = self.agent();
        let request = agent.configure_request(request).timeout_global(Some(answer(&self.address) + wait)).build();
        self.read(&asked, agent.run(request))
    }

    /// Confirms operations that are done.
    ///
    /// # Errors
    /// If it is not known whether the controller received this.
    pub fn confirm(&self, epoch: u64, done: Vec<(u64, u64)>) -> Result<ControllerReply<()>, Error> {
        self.send("confirmations", &Confirmations { epoch, done })
    }

    /// Reports measurements; returns the checks that are on, if any.
    ///
    /// # Errors
    /// If it is not known whether the controller received this.
    pub fn report(&self, reports: &Reports) -> Result<ControllerReply<Option<Tasks>>, Error> {
        self.send("reports", reports)
    }

    /// Reports the links that are down. The protocol has no reason: the field is named after the most frequent one.
    ///
    /// # Errors
    /// If it is not known whether the controller received this.
    pub fn see(&self, epoch: u64, down: Vec<String>) -> Result<ControllerReply<()>, Error> {
        self.send("reports", &Reports { epoch, without_carrier: Some(down), ..Reports::default() })
    }

    /// Reports that nothing is installed on the node any more, in a session that begins and ends with this report.
    ///
    /// # Errors
    /// If it is not known whether the controller received this.
    pub fn leave(&self) -> Result<(), Error> {
        let mut after = 0;
        // The controller answers a number that is out of date with the one that counts.
        for _ in 0..LEAVING {
            match self.begin(after, Vec::new())? {
                ControllerReply::Stale(current) => after = current.unwrap_or(0),
                ControllerReply::Done(Session { epoch, .. }) => {
                    return self.report(&Reports { epoch, leaves: true, ..Reports::default() }).map(|_| ());
                }
            }
        }
        Err(Error::Failed("another agent has opened a session for this node".to_owned()))
    }

    /// The network.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn topology(&self) -> Result<Topology, Error> {
        let asked = self.address.pinned();
        let request = asked.request("GET", "/v1/topology").body(()).map_err(|error| asked.no_address(&error))?;
        match self.read(&asked, self.agent().run(request))? {
            ControllerReply::Done(topology) => Ok(topology),
            ControllerReply::Stale(_) => Err(self.unreadable("expected a topology")),
        }
    }

    /// Returns the locations of VMs and the failed elements, with an entity tag; `None` if `tag` is still current.
    ///
    /// # Errors
    /// If it cannot be fetched.
    pub fn neighbours(&self, tag: Option<&str>) -> Result<Option<(String, Neighbours)>, Error> {
        self.tagged("neighbours", tag)
    }

    /// The contracts of other kinds than latency on the node, with a tag of them; `None` if the tag is still this.
    ///
    /// # Errors
    /// If they cannot be had.
    pub fn shares(&self, tag: Option<&str>) -> Result<Option<(String, Shares)>, Error> {
        self.tagged("shares", tag)
    }

    /// Fetches a resource below the node's path, with its entity tag; `None` if `tag` is still current.
    fn tagged<T: DeserializeOwned>(&self, what: &str, tag: Option<&str>) -> Result<Option<(String, T)>, Error> {
        let asked = self.address.pinned();
        let request = asked.request("GET", &format!("{}/{what}", self.path));
        let request = match tag {
            Some(tag) => request.header("if-none-match", tag),
            None => request,
        };
        let request = request.body(()).map_err(|error| asked.no_address(&error))?;
        let answer = match self.agent().run(request) {
            Err(error) => return self.read(&asked, Err(error)).map(|_: ControllerReply<T>| None),
            Ok(answer) => answer,
        };
        if answer.status().as_u16() == 304 {
            return Ok(None);
        }
        let tag = answer.headers().get("etag").and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
        match self.read(&asked, Ok(answer))? {
            ControllerReply::Done(found) => Ok(Some((tag, found))),
            ControllerReply::Stale(_) => Err(self.unreadable(&format!("expected {what}"))),
        }
    }

    fn send<T: DeserializeOwned>(&self, what: &str, body: &impl Serialize) -> Result<ControllerReply<T>, Error> {
        let text = serde_json::to_string(body).map_err(|error| Error::Failed(error.to_string()))?;
        let asked = self.address.pinned();
        let request = asked.request("POST", &format!("{}/{what}", self.path));
        let request = request.header("content-type", "application/json").body(text);
        self.read(&asked, self.agent().run(request.map_err(|error| asked.no_address(&error))?))
    }

    /// Reads the answer of the controller at `asked`.
    fn read<T: DeserializeOwned>(
        &self,
        asked: &Address,
        answered: Result<http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<ControllerReply<T>, Error> {
        let read = answered.and_then(|mut answer| {
            let body = answer.body_mut().with_config().limit(LARGEST).read_to_vec()?;
            Ok((answer.status().as_u16(), body))
        });
        // Of several controllers the next one may answer.
        let (status, body) = read.map_err(|error| {
            let message = connection(asked.current(), &error, HINT);
            self.address.move_on(asked.current(), None);
            message
        })?;
        if status < 300 {
            let body = if body.is_empty() { b"null".as_slice() } else { &body };
            return serde_json::from_slice(body)
                .map(ControllerReply::Done)
                .map_err(|error| self.unreadable(&error.to_string()));
        }
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if problem.code == Code::StaleEpoch => Ok(ControllerReply::Stale(problem.epoch)),
            Ok(problem) if matches!(problem.code, Code::Unauthorized | Code::Forbidden | Code::NotFound) => {
                let text = match self.address.certificate {
                    None => {
                        "is this the token of this node's agent? `wayleave token create --role agent --node NODE` creates one"
                    }
                    Some(_) => {
                        "`wayleave token create --role agent --node NODE --certificate NAME` authorizes a certificate of that name for the node"
                    }
                };
                Err(Error::Usage(format!("{}; {text}", problem.detail)))
            }
            Ok(problem) => {
                if matches!(problem.code, Code::NotLeader | Code::Unavailable) {
                    self.address.move_on(asked.current(), problem.leader.as_deref());
                }
                Err(Error::Failed(problem.detail))
            }
            Err(_) => Err(self.unreadable(&format!("status {status}"))),
        }
    }

    fn unreadable(&self, why: &str) -> Error {
        let version = env!("CARGO_PKG_VERSION");
        Error::Failed(format!(
            "cannot parse the response of {} ({why}): its version may differ from this agent's, {version}",
            self.address.url
        ))
    }
}

fn answer(address: &Address) -> Duration {
    if address.count() > 1 { ANSWER_OF_SEVERAL } else { ANSWER }
}

fn connect(address: &Address) -> Result<ureq::Agent, Error> {
    Ok(address.connections()?.timeout_global(Some(answer(address))).build().new_agent())
}
