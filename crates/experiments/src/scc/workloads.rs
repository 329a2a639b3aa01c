//! The three applications, and what they send over the single bottleneck.

use wayleave_scenarios::{Arrivals, Deadline, Ends, FlowSizes, Reliable, Traffic, Workload};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Time};

/// What an application wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Application {
    /// Latency-sensitive (LS).
    Latency,
    /// Deadline-sensitive (DS).
    Deadline,
    /// Completion-sensitive (CS).
    Completion,
}

impl Application {
    /// In the order of the pairs of hosts.
    pub(super) const ALL: [Self; 3] = [Self::Latency, Self::Deadline, Self::Completion];

    /// As the text calls it; also the name of its traffic.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Latency => "LS",
            Self::Deadline => "DS",
            Self::Completion => "CS",
        }
    }
}

/// When flows of the latency-sensitive application begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spacing {
    /// As a Poisson process, as the text has them.
    Random,
    /// One after the other in even steps.
    Even,
}

/// "small (2 KB) flows" (II-B).
const SMALL: Bytes = Bytes::new(2_000);

/// "uniformly within the range 2 KB-198 KB" (II-B).
const UNIFORM: (Bytes, Bytes) = (Bytes::new(2_000), Bytes::new(198_000));

/// "deadlines in the range 5-25 ms" (II-B).
const DEADLINES: Deadline = Deadline::Uniform(Time::from_millis(5), Time::from_millis(25));

/// Payload of a full packet.
const SEGMENT: u64 = 1_460;

/// What a packet has on the wire beside payload: 40 B of headers, 38 B of Ethernet with preamble and gap.
const OVERHEAD: u64 = 78;

/// The mean of what flows of these sizes take on the wire, in bytes: by a thousand sizes, each as likely.
pub(super) fn wire_mean(sizes: &FlowSizes) -> f64 {
    const STEPS: u32 = 1_000;
    let wire = |step: u32| {
        let payload = sizes.quantile((f64::from(step) + 0.5) / f64::from(STEPS));
        (payload + payload.div_ceil(SEGMENT) * OVERHEAD) as f64
    };
    (0..STEPS).map(wire).sum::<f64>() / f64::from(STEPS)
}

/// What an application of section II sends between these ends, so much on the wire a second on average, in Mbit/s.
pub(super) fn traffic(application: Application, ends: Ends<NodeId>, mbit: f64, spacing: Spacing) -> Traffic {
    let (sizes, deadline) = match application {
        Application::Latency => (FlowSizes::Fixed(SMALL), None),
        Application::Deadline => (FlowSizes::Uniform(UNIFORM.0, UNIFORM.1), Some(DEADLINES)),
        Application::Completion => (FlowSizes::Uniform(UNIFORM.0, UNIFORM.1), None),
    };
    let per_second = mbit * 1e6 / 8.0 / wire_mean(&sizes);
    let arrivals = match (application, spacing) {
        (Application::Latency, Spacing::Even) => Arrivals::Every(Time::from_nanos((1e9 / per_second) as u64)),
        _ => Arrivals::PerSecond(per_second),
    };
    let flows = Reliable { deadline, ..Reliable::new(arrivals, Some(sizes)) };
    Traffic::new(application.name(), ends, Workload::Flows(flows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_counted_on_the_wire() {
        // Two packets; and 100 kB in 69 packets on average, of whose last one half is empty.
        assert_eq!(wire_mean(&FlowSizes::Fixed(SMALL)), 2_156.0);
        let uniform = wire_mean(&FlowSizes::Uniform(UNIFORM.0, UNIFORM.1));
        assert!((uniform - (100_000.0 + (100_000.0 / 1_460.0 + 0.5) * 78.0)).abs() < 20.0, "{uniform}");
    }
}
