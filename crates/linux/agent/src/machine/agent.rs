//! The agent of a node as a pure state machine: time is an argument, requests and answers are values.
//!
//! | state or event | action |
//! |---|---|
//! | no session | requests one, with the installed rules and the last session it knows of; if the controller knows a later one, it names it, and the agent retries |
//! | session | requests operations, carries them out in any order (of each serial the highest version counts), confirms |
//! | the session is over | begins another and forgets the pending operations of the old one: the new session repeats them |
//! | no answer | retries with increasing intervals; what is installed stays |
//! | an operation is not possible now | retries with increasing intervals, until it is done or a later one supersedes it |
//!
//! A session request names the previous session because it may arrive late, after another request of this agent or of
//! its predecessor. Its list of installed rules is then out of date. The controller accepts it only if no other
//! session has begun since.

use std::collections::BTreeMap;

use wayleave_protocol::agent::{Operation, Work};
use wayleave_units::Time;

use super::driver::{Driver, DriverError};

/// Request intervals of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollInterval {
    /// Between one request for operations and the next.
    pub poll_every: Time,
    /// Before something is tried a second time; doubled every time after.
    pub retry_first: Time,
    /// The longest time between two attempts.
    pub retry_most: Time,
}

impl Default for PollInterval {
    fn default() -> Self {
        Self {
            poll_every: Time::from_millis(100),
            retry_first: Time::from_millis(50),
            retry_most: Time::from_millis(5_000),
        }
    }
}

/// A request of an agent to its controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCall {
    /// Number that is unique among the agent's requests; the answer repeats it.
    pub number: u64,
    /// Kind of the request.
    pub ask: AgentRequest,
}

/// Kind of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentRequest {
    /// For a session.
    Begin {
        /// The last session of this node that the agent knows of; 0 if it knows of none.
        after: u64,
        /// Serial and version of each installed rule.
        installed: Vec<(u64, u64)>,
    },
    /// To send the pending operations.
    Operations {
        /// In this session.
        epoch: u64,
    },
    /// To record the operations that are done.
    Confirm {
        /// In this session.
        epoch: u64,
        /// Serial and version.
        done: Vec<(u64, u64)>,
    },
}

/// An answer of the controller.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentReply {
    /// The session has begun.
    Begun {
        /// Its number.
        epoch: u64,
    },
    /// Pending operations of this session.
    Operations(Vec<Operation>),
    /// It has taken note.
    Noted,
    /// The session is over, or has another number.
    Stale {
        /// Number of the latest session, if the controller names it.
        current: Option<u64>,
    },
}

/// The agent of a node.
#[derive(Debug)]
pub struct Agent<D> {
    driver: D,
    pace: PollInterval,
    session: Session,
    /// The last session of this node that is known.
    last: u64,
    /// By serial, the highest version that was asked for in this session.
    seen: BTreeMap<u64, Seen>,
    number: u64,
    /// Time of the next request, and the wait before the last one.
    ask_at: Time,
    waited: Time,
    requests: Vec<AgentCall>,
}

/// State of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session {
    /// No; one was asked for with the request of this number.
    Wanted(Option<u64>),
    /// Yes: its number, and that of the request for it.
    Open(u64, u64),
}

/// Requested state of a contract.
#[derive(Debug)]
struct Seen {
    version: u64,
    state: Progress,
}

#[derive(Debug)]
enum Progress {
    Done,
    /// Not yet: tried again at this time, and after that long the next time.
    Retry(Box<Operation>, Time, Time),
    /// It cannot be done.
    Never,
}

impl<D: Driver> Agent<D> {
    /// Of this node; it begins a session at the first [`Agent::tick`].
    pub fn new(driver: D, pace: PollInterval) -> Self {
        Self {
            driver,
            pace,
            session: Session::Wanted(None),
            last: 0,
            seen: BTreeMap::new(),
            number: 0,
            ask_at: Time::ZERO,
            waited: Time::ZERO,
            requests: Vec::new(),
        }
    }

    /// Does what is due by now.
    pub fn tick(&mut self, now: Time) {
        if self.ask_at <= now {
            self.ask(now);
        }
        let due: Vec<u64> = self.seen.iter().filter(|(_, seen)| seen.is_due(now)).map(|(&serial, _)| serial).collect();
        let done: Vec<(u64, u64)> = due.into_iter().filter_map(|serial| self.try_again(now, serial)).collect();
        self.confirm(done);
    }

    /// Returns the time at which [`Agent::tick`] next has something to do.
    pub fn due(&self) -> Time {
        let retries = self.seen.values().filter_map(|seen| match seen.state {
            Progress::Retry(_, at, _) => Some(at),
            Progress::Done | Progress::Never => None,
        });
        retries.fold(self.ask_at, Time::min)
    }

    /// Takes the requests to be sent to the controller.
    pub fn take_requests(&mut self) -> Vec<AgentCall> {
        std::mem::take(&mut self.requests)
    }

    /// The controller has answered the request of this number.
    pub fn answer(&mut self, now: Time, number: u64, answer: AgentReply) {
        match (answer, self.session) {
            // Not if it is as old as one that was known before: such a controller has an older ledger than another one that spoke to this agent.
            (AgentReply::Begun { epoch }, Session::Wanted(Some(wanted))) if wanted == number && epoch > self.last => {
                self.session = Session::Open(epoch, number);
                self.last = epoch;
                self.seen.clear();
                self.waited = Time::ZERO;
                self.ask(now);
            }
            // Numbers of sessions only grow, so that what comes late does no harm.
            (AgentReply::Stale { current }, Session::Wanted(wanted)) => {
                self.last = self.last.max(current.unwrap_or(0));
                if wanted == Some(number) {
                    self.session = Session::Wanted(None);
                    self.ask(now);
                }
            }
            (AgentReply::Stale { current }, Session::Open(epoch, begun)) if number > begun => {
                self.last = current.unwrap_or(epoch).max(epoch);
                self.session = Session::Wanted(None);
                self.seen.clear();
                self.waited = Time::ZERO;
                self.ask(now);
            }
            (AgentReply::Operations(operations), Session::Open(_, begun)) if number > begun => {
                self.waited = Time::ZERO;
                self.ask_at = self.ask_at.min(now + self.pace.poll_every);
                let done = operations.into_iter().filter_map(|operation| self.execute(now, operation)).collect();
                self.confirm(done);
            }
            // Late, or about something that was not asked: nothing is begun that this agent did not begin itself.
            _ => {}
        }
    }

    /// The session that has begun.
    pub fn epoch(&self) -> Option<u64> {
        match self.session {
            Session::Open(epoch, _) => Some(epoch),
            Session::Wanted(_) => None,
        }
    }

    /// Returns the driver.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// Returns a mutable reference to the driver.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    /// Consumes the agent and returns its driver, which continues to work.
    pub fn into_driver(self) -> D {
        self.driver
    }

    /// Queues the next request and sets the time of its retry if no answer arrives.
    fn ask(&mut self, now: Time) {
        let first = match self.session {
            Session::Wanted(_) => self.pace.retry_first,
            Session::Open(..) => self.pace.poll_every,
        };
        self.waited = (self.waited + self.waited).max(first).min(self.pace.retry_most.max(first));
        self.ask_at = now + self.waited;
        let ask = match self.session {
            Session::Open(epoch, _) => AgentRequest::Operations { epoch },
            Session::Wanted(_) => match self.driver.installed(now) {
                Ok(installed) => AgentRequest::Begin { after: self.last, installed },
                // The installed rules are not known, so they cannot be sent; this is retried.
                Err(_) => return,
            },
        };
        let number = self.request(ask);
        if let Session::Wanted(wanted) = &mut self.session {
            *wanted = Some(number);
        }
    }

    fn request(&mut self, ask: AgentRequest) -> u64 {
        self.number += 1;
        self.requests.push(AgentCall { number: self.number, ask });
        self.number
    }

    fn confirm(&mut self, done: Vec<(u64, u64)>) {
        if let Session::Open(epoch, _) = self.session
            && !done.is_empty()
        {
            self.request(AgentRequest::Confirm { epoch, done });
        }
    }

    /// Carries out an operation, unless a later one came first; what is done of that contract then, if it is known.
    fn execute(&mut self, now: Time, operation: Operation) -> Option<(u64, u64)> {
        let serial = operation.serial;
        match self.seen.get(&serial) {
            Some(seen) if seen.version >= operation.version => {
                matches!(seen.state, Progress::Done).then_some((serial, seen.version))
            }
            _ => self.attempt(now, operation, self.pace.retry_first),
        }
    }

    /// Performs an operation now, or schedules a retry.
    fn attempt(&mut self, now: Time, operation: Operation, wait: Time) -> Option<(u64, u64)> {
        let (serial, version) = (operation.serial, operation.version);
        let result = match &operation.work {
            Work::SetUp => self.driver.set_up(now, version),
            Work::Install { rule } => self.driver.install(now, serial, version, rule),
            Work::Remove => self.driver.remove(now, serial, version),
        };
        let is_done = result.is_ok();
        let state = match result {
            Ok(()) => Progress::Done,
            Err(DriverError::Later(_)) => Progress::Retry(Box::new(operation), now + wait, wait),
            Err(DriverError::Never(_)) => Progress::Never,
        };
        self.seen.insert(serial, Seen { version, state });
        is_done.then_some((serial, version))
    }

    fn try_again(&mut self, now: Time, serial: u64) -> Option<(u64, u64)> {
        let Progress::Retry(operation, _, waited) = &self.seen.get(&serial)?.state else { return None };
        let (operation, wait) = ((**operation).clone(), (*waited + *waited).min(self.pace.retry_most));
        self.attempt(now, operation, wait)
    }
}

impl Seen {
    fn is_due(&self, now: Time) -> bool {
        matches!(self.state, Progress::Retry(_, at, _) if at <= now)
    }
}
