//! Jobs: where each is in its graph, and which iteration it is in.

use std::sync::Arc;

use wayleave_scenarios::{Endpoint, Job, JobGraph, JobProgress, OperationAction, OperationStep};

use crate::clock::{self, Instant};
use crate::ideal::{PortLoads, PortUse};

/// A job during a run.
#[derive(Debug)]
pub(crate) struct JobRun {
    graph: Arc<JobGraph>,
    ranks: Vec<Endpoint>,
    progress: JobProgress,
    /// Ports of hosts, with the messages of the iteration that are acknowledged.
    ports: PortLoads,
    /// The number of the process that has its timers.
    pub(crate) process: usize,
    /// Iterations that have not begun.
    left: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has not begun, or its last iteration is over.
    Idle,
    /// Between two iterations; the first began then.
    Between { first: Instant },
    /// An iteration began.
    Running { first: Instant, began: Instant },
}

/// Next step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobStep {
    /// An iteration begins.
    Begins,
    /// A message leaves.
    Message { operation: u32, from: Endpoint, to: Endpoint, bytes: u64 },
    /// A rank is busy until then.
    Computes { operation: u32, until: Instant },
    /// An iteration is over that began then, and that takes at least `ideal` alone. If it was the last one: when the first began.
    Ends { began: Instant, ideal: Instant, first: Option<Instant> },
}

impl JobRun {
    pub(crate) fn new(job: &Job, process: usize) -> Self {
        Self {
            progress: JobProgress::new(job.graph()),
            ports: PortLoads::default(),
            graph: Arc::clone(job.graph()),
            ranks: job.ranks().to_vec(),
            process,
            left: job.iterations(),
            state: State::Idle,
        }
    }

    /// The job begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.state = State::Between { first: now };
    }

    /// Returns the next step at a time, until there is none. No iteration begins from `stop` on.
    pub(crate) fn next(&mut self, now: Instant, stop: Instant) -> Option<JobStep> {
        let (first, began) = match self.state {
            State::Idle => return None,
            State::Between { first } if now < stop => {
                self.left -= 1;
                self.progress = JobProgress::new(&self.graph);
                self.ports.clear();
                self.state = State::Running { first, began: now };
                return Some(JobStep::Begins);
            }
            State::Between { .. } => return None,
            State::Running { first, began } => (first, began),
        };
        while let Some(step) = self.progress.next(&self.graph) {
            let (OperationStep::Send(operation) | OperationStep::Compute(operation)) = step;
            let spec = self.graph.operations()[operation as usize];
            match spec.action {
                OperationAction::Send { to, size, .. } => {
                    let [from, to] = [spec.rank, to].map(|rank| self.ranks[rank as usize]);
                    if from.host != to.host {
                        // A flow has at least one byte.
                        return Some(JobStep::Message { operation, from, to, bytes: size.get().max(1) });
                    }
                    self.delivered(operation, 0);
                    self.progress.ended(&self.graph, operation, 0);
                }
                OperationAction::Compute(time) => {
                    return Some(JobStep::Computes { operation, until: now.saturating_add(clock::from_time(time)) });
                }
                OperationAction::Receive { .. } => {}
            }
        }
        if !self.progress.is_over() {
            return None;
        }
        let is_last = self.left == 0;
        self.state = if is_last { State::Idle } else { State::Between { first } };
        let ideal = self.progress.longest().max(self.ports.longest());
        Some(JobStep::Ends { began, ideal, first: is_last.then_some(first) })
    }

    /// All of a message has come to its receiver.
    pub(crate) fn delivered(&mut self, operation: u32, ideal: Instant) {
        self.progress.delivered(&self.graph, operation, ideal);
    }

    /// A message is acknowledged, which would have taken `ideal` alone, and would have used these ports.
    pub(crate) fn acknowledged(&mut self, operation: u32, ideal: Instant, ports: [PortUse; 2]) {
        let earliest = self.progress.earliest(operation);
        ports.into_iter().for_each(|port| self.ports.add(earliest, port));
        self.progress.ended(&self.graph, operation, ideal);
    }

    /// A rank has computed.
    pub(crate) fn computed(&mut self, operation: u32) {
        if let OperationAction::Compute(time) = self.graph.operations()[operation as usize].action {
            self.progress.ended(&self.graph, operation, clock::from_time(time));
        }
    }

    /// The payload of an iteration.
    pub(crate) fn payload(&self) -> u64 {
        self.graph.payload()
    }

    /// Returns the start of the iteration that is not over.
    pub(crate) fn open_since(&self) -> Option<Instant> {
        match self.state {
            State::Running { began, .. } => Some(began),
            State::Idle | State::Between { .. } => None,
        }
    }
}
