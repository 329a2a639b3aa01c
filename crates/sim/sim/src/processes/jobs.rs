//! Jobs begin, compute and send.

use std::cmp::Reverse;

use super::table::{Opening, Process, Processes};
use crate::clock::Instant;
use crate::fabric::NetworkState;
use crate::flows::{Purpose, RpcStep};
use crate::ideal::PortUse;
use crate::jobs::JobStep;

/// Pending event of a job that has not begun: the number of no operation.
pub(super) const BEGINNING: u32 = u32::MAX;

/// Action of a job that other components carry out.
#[derive(Debug)]
pub(crate) enum JobAction {
    /// An iteration begins.
    Begins,
    /// A message leaves.
    Open(Opening),
    /// An iteration is over, which takes at least `ideal` alone; with the last one the job, which began then.
    Ends { iteration: Purpose, ideal: Instant, first: Option<Instant> },
}

impl Processes {
    /// Handles the start of a job, or the end of a computation of one of its ranks.
    pub(crate) fn job_due(&mut self, traffic: u32, what: u32, now: Instant) {
        match &mut self.traffic[traffic as usize].job {
            Some(job) if what == BEGINNING => job.begin(now),
            Some(job) => job.computed(what),
            None => {}
        }
    }

    /// All of a message has come to its receiver, which would have taken `ideal` alone.
    pub(crate) fn message_delivered(&mut self, message: &Purpose, ideal: Instant) {
        if let Some(job) = &mut self.traffic[message.traffic as usize].job {
            job.delivered(message.pair, ideal);
        }
    }

    /// All of a message is acknowledged, which would have taken `ideal` alone, and would have used these ports.
    pub(crate) fn message_ended(&mut self, message: &Purpose, ideal: Instant, ports: [PortUse; 2]) {
        if let Some(job) = &mut self.traffic[message.traffic as usize].job {
            job.acknowledged(message.pair, ideal, ports);
        }
    }

    /// Returns the next action of a job, until it waits.
    pub(crate) fn next_job_action(
        &mut self,
        traffic: u32,
        fabric: &mut NetworkState,
        now: Instant,
    ) -> Option<JobAction> {
        loop {
            let spec = &mut self.traffic[traffic as usize];
            let job = spec.job.as_mut()?;
            match job.next(now, spec.stop)? {
                JobStep::Begins => return Some(JobAction::Begins),
                JobStep::Message { operation, from, to, bytes } => {
                    let (step, ends) = (RpcStep::Message, (from, to));
                    let purpose = Purpose { traffic, step, began: now, bytes, pair: operation, ends, ..Purpose::NONE };
                    return Some(JobAction::Open(Opening { from, to, queue: spec.queue, purpose }));
                }
                JobStep::Computes { operation, until } => {
                    let number = job.process;
                    if let Process::Job { due, .. } = &mut self.all[number] {
                        due.push(Reverse((until, operation)));
                    }
                    self.put(number, until, fabric, now);
                }
                JobStep::Ends { began, ideal, first } => {
                    let iteration = Purpose { traffic, began, bytes: job.payload(), ..Purpose::NONE };
                    return Some(JobAction::Ends { iteration, ideal, first });
                }
            }
        }
    }

    /// The iterations that are not over when the run ends.
    pub(crate) fn open_iterations(&self) -> impl Iterator<Item = Purpose> {
        (0..).zip(&self.traffic).filter_map(|(traffic, spec)| {
            let job = spec.job.as_ref()?;
            let (began, bytes) = (job.open_since()?, job.payload());
            Some(Purpose { traffic, began, bytes, ..Purpose::NONE })
        })
    }
}
