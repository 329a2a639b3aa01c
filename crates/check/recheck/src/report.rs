//! Derived results for every queue and flow, and the violations.

use std::fmt;

use num_rational::BigRational;
use wayleave_topology::LinkId;
use wayleave_units::{Bytes, Time, count};

use crate::exact::{bytes_rounded_up, time_rounded_up};
use crate::violation::BrokenPromise;

/// The outcome of a check.
#[derive(Clone, Debug, Default)]
pub struct RecheckReport {
    /// Every queue that holds a flow, by link and queue. Every other queue has delay 0 and backlog 0.
    pub queues: Vec<QueueFinding>,
    /// Every flow with a valid route, in the order of the claim.
    pub flows: Vec<FlowFinding>,
    /// All that does not hold: flows in the order of the claim, then links, then claimed figures.
    pub violations: Vec<BrokenPromise>,
}

/// Delay and backlog of one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueFinding {
    /// The link.
    pub link: LinkId,
    /// Its queue: 0 is the highest priority.
    pub queue: u8,
    /// The longest delay, exactly; `None` is without bound.
    pub delay_ns: Option<BigRational>,
    /// The largest backlog, exactly; `None` is without bound.
    pub backlog_bytes: Option<BigRational>,
    /// Number of flows that it holds.
    pub flows: usize,
}

/// Maximum end-to-end delay of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFinding {
    /// Its place in the claim.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The budgets of its queues.
    pub queueing_ns: u128,
    /// Of its links.
    pub propagation_ns: u128,
    /// Processing of its source host and of every switch on its path.
    pub processing_ns: u128,
}

impl RecheckReport {
    /// Returns `true` if there is no violation.
    pub fn is_sound(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the results for a queue; `None` if it holds no flow.
    pub fn queue(&self, link: LinkId, queue: u8) -> Option<&QueueFinding> {
        let index = self.queues.binary_search_by_key(&(link, queue), |found| (found.link, found.queue)).ok()?;
        self.queues.get(index)
    }
}

impl QueueFinding {
    /// The longest delay in whole ns, rounded up; `None` if it is without bound (or past the range of a time).
    pub fn delay_rounded_up(&self) -> Option<Time> {
        self.delay_ns.as_ref().and_then(time_rounded_up)
    }

    /// The largest backlog in whole bytes, rounded up; `None` if it is without bound (or past the range of a size).
    pub fn backlog_rounded_up(&self) -> Option<Bytes> {
        self.backlog_bytes.as_ref().and_then(bytes_rounded_up)
    }
}

impl FlowFinding {
    /// The bound, end to end.
    pub fn bound_ns(&self) -> u128 {
        self.queueing_ns + self.propagation_ns + self.processing_ns
    }
}

impl fmt::Display for RecheckReport {
    /// Writes one line with the number of checks, and one for each violation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (queues, flows) = (count(self.queues.len(), "queue"), count(self.flows.len(), "flow"));
        write!(f, "{queues} and {flows} checked: ")?;
        match self.violations.len() {
            0 => return write!(f, "everything holds"),
            many => write!(f, "{}", count(many, "violation"))?,
        }
        self.violations.iter().try_for_each(|violation| write!(f, "\n{violation}"))
    }
}
