//! The agent of a node as a pure state machine: time is an argument, requests and answers are values.
//!
//! | it | does |
//! |---|---|
//! | has no session | asks for one, with what is installed and the last session it knows of; a controller that knows a later one says so, and it asks again |
//! | has a session | asks for operations, carries them out in any order (of each serial the highest version counts), confirms |
//! | hears that its session is over | begins another; what it had to do of the old one it forgets, the new one tells it again |
//! | hears nothing | asks again, more and more rarely; what is installed stays |
//! | cannot do something now | tries again, more and more rarely, until it is done or something later is to be done |
//!
//! Why a session names the one before: a request for a session may come late, after another one of the same agent or of the agent before
//! it, and what it says is installed is not true any more. The controller takes it only if no other session has begun since.

use std::collections::BTreeMap;

use wayleave_protocol::agent::{Operation, Work};
use wayleave_units::Time;

use super::driver::{Driver, DriverError};

/// How often an agent asks.
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

/// What an agent asks of its controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Of this agent, no two have the same; the answer says it again.
    pub number: u64,
    /// What.
    pub ask: AgentRequest,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentRequest {
    /// For a session.
    Begin {
        /// The last session of this node that the agent knows of; 0 if it knows of none.
        after: u64,
        /// Serial and version of what is installed.
        installed: Vec<(u64, u64)>,
    },
    /// What there is to do.
    Operations {
        /// In this session.
        epoch: u64,
    },
    /// To take note of what is done.
    Confirm {
        /// In this session.
        epoch: u64,
        /// Serial and version.
        done: Vec<(u64, u64)>,
    },
}

/// What the controller answers.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentReply {
    /// The session has begun.
    Begun {
        /// Its number.
        epoch: u64,
    },
    /// What there is to do in this session.
    Operations(Vec<Operation>),
    /// It has taken note.
    Noted,
    /// The session is over, or has another number.
    Stale {
        /// The last one that has begun, if the controller says.
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
    /// When the controller is asked next, and how long it was waited for the last time.
    ask_at: Time,
    waited: Time,
    requests: Vec<Request>,
}

/// Whether a session has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session {
    /// No; one was asked for with the request of this number.
    Wanted(Option<u64>),
    /// Yes: its number, and that of the request for it.
    Open(u64, u64),
}

/// What was asked for of a contract.
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

    /// When [`Agent::tick`] has something to do.
    pub fn due(&self) -> Time {
        let retries = self.seen.values().filter_map(|seen| match seen.state {
            Progress::Retry(_, at, _) => Some(at),
            Progress::Done | Progress::Never => None,
        });
        retries.fold(self.ask_at, Time::min)
    }

    /// What is to be sent to the controller.
    pub fn take_requests(&mut self) -> Vec<Request> {
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

    /// What it drives.
    pub fn driver(&self) -> &D {
        &self.driver
    }

    /// The same, to be changed from outside.
    pub fn driver_mut(&mut self) -> &mut D {
        &mut self.driver
    }

    /// The agent is gone; what it drove goes on.
    pub fn into_driver(self) -> D {
        self.driver
    }

    /// Asks for what is needed next, and says when to ask again if nothing is heard.
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
                // What is not known cannot be said; it is tried again.
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
        self.requests.push(Request { number: self.number, ask });
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

    /// Does it now, or says when it is tried again.
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
