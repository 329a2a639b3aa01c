//! The end of a run.

use std::collections::HashSet;

use super::Engine;
use crate::clock;
use crate::flows::RpcStep;
use crate::outcome::{Outcome, RunEnd};

impl Engine {
    /// Returns the results of the run.
    pub(crate) fn outcome(mut self, name: &str, seed: u64, ending: RunEnd) -> Outcome {
        let forward = self.finish_forward();
        self.fabric.catch_up_all(self.now);
        let simulated = clock::to_time(self.now);
        let counted = simulated.saturating_sub(self.stats.warmup());
        self.note_unfinished();
        let is_shared = self.hosts.is_shared();
        let sharing = is_shared.then(|| self.hosts.outcome(&self.flows, self.now));
        let (queues, services) = (self.fabric.queue_outcomes(), self.fabric.service_outcomes());
        let links = self.fabric.link_outcomes(counted, self.now);
        let (traffic, flows) = self.stats.outcomes(self.processes.names());
        Outcome {
            name: name.to_owned(),
            seed,
            simulated,
            counted,
            ending,
            hops: self.fabric.hops(),
            events: self.events,
            peak_packets: self.fabric.peak_packets(),
            packet_memory: self.fabric.memory(),
            traffic,
            flows,
            queues,
            services,
            links,
            sharing,
            forward,
            recording: self.fabric.take_recording(self.now),
        }
    }

    /// Records flows that are still running or wait for a connection, and requests that are not answered yet.
    fn note_unfinished(&mut self) {
        // A request may have several parts in flight, and is unfinished once.
        let mut requests = HashSet::new();
        for flow in self.flows.iter().filter(|flow| flow.is_open()) {
            let is_complete = flow.sender.segments() == Some(flow.receiver.expected());
            let purpose = &flow.purpose;
            if purpose.step == RpcStep::Message {
                continue;
            }
            let is_counted = !is_complete && purpose.bytes != u64::MAX && self.stats.counts(purpose.began);
            if is_counted && (purpose.step == RpcStep::None || requests.insert((purpose.traffic, purpose.pair))) {
                self.stats.unfinished(purpose, self.now);
            }
        }
        for iteration in self.processes.open_iterations() {
            if self.stats.counts(iteration.began) {
                self.stats.unfinished(&iteration, self.now);
            }
        }
        for (traffic, flow) in self.processes.waiting() {
            self.stats.waiting(traffic, &flow, self.now);
        }
    }
}
