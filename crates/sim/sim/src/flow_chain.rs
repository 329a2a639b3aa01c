//! Tasks: the flows of a traffic that follow one flow of another, and their results.

use rand::Rng;
use wayleave_scenarios::{DependentFlows, Endpoint, FlowEndpoints, Onward};

use crate::clock::Instant;
use crate::ideal::{PortLoad, PortUse};
use crate::random;

/// The tasks of a traffic that follows another one.
#[derive(Debug)]
pub(crate) struct Chains {
    to: Onward,
    receivers: Vec<Endpoint>,
    tasks: Vec<Task>,
    vacant: Vec<u32>,
}

/// One task.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// Start of the first flow of its chain.
    origin: Instant,
    /// Flows that are not complete.
    missing: u32,
    /// Payload of those that are.
    bytes: u64,
    /// Time that the longest of them would have taken alone.
    longest: Instant,
    /// Port of the sender, which all of them leave by.
    sender: PortLoad,
}

/// A task is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskEnd {
    pub(crate) origin: Instant,
    pub(crate) bytes: u64,
    pub(crate) ideal: Instant,
}

impl Chains {
    pub(crate) fn new(after: &DependentFlows, ends: &FlowEndpoints<Endpoint>) -> Self {
        // A scenario that was validated has receivers to draw from.
        let receivers = match ends {
            FlowEndpoints::Random(_, to) => to.clone(),
            _ => Vec::new(),
        };
        Self { to: after.to, receivers, tasks: Vec::new(), vacant: Vec::new() }
    }

    /// Handles a complete flow from the first to the second endpoint. Returns the task that begins, and the receivers
    /// of its flows.
    pub(crate) fn begin(
        &mut self,
        (sender, receiver): (Endpoint, Endpoint),
        origin: Instant,
        rng: &mut impl Rng,
    ) -> (u32, Vec<Endpoint>) {
        let to = match self.to {
            Onward::Sender => vec![sender],
            Onward::Drawn(count) => {
                let mut others: Vec<Endpoint> =
                    self.receivers.iter().filter(|other| other.host != receiver.host).copied().collect();
                let count = others.len().min(count as usize);
                for at in 0..count {
                    let other = at + random::below(rng, (others.len() - at) as u32) as usize;
                    others.swap(at, other);
                }
                others.truncate(count);
                others
            }
        };
        let task = Task { origin, missing: to.len() as u32, bytes: 0, longest: 0, sender: PortLoad::NONE };
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.tasks.push(task);
            (self.tasks.len() - 1) as u32
        });
        self.tasks[place as usize] = task;
        (place, to)
    }

    /// Returns the start of the first flow in the chain of a task.
    pub(crate) fn origin(&self, task: u32) -> Instant {
        self.tasks[task as usize].origin
    }

    /// Counts a complete flow of a task, which would have taken `ideal` alone and used its sender's port so. Returns the task if all its flows are complete.
    pub(crate) fn completed(&mut self, place: u32, bytes: u64, ideal: Instant, sender: PortUse) -> Option<TaskEnd> {
        let task = &mut self.tasks[place as usize];
        task.bytes += bytes;
        task.longest = task.longest.max(ideal);
        task.sender.add(0, sender);
        task.missing = task.missing.saturating_sub(1);
        if task.missing > 0 {
            return None;
        }
        self.vacant.push(place);
        let Task { origin, bytes, longest, sender, .. } = *task;
        Some(TaskEnd { origin, bytes, ideal: longest.max(sender.longest()) })
    }
}
