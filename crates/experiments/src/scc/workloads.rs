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

/// What an application of section II sends between these ends, so much payload a second on average, in Mbit/s.
pub(super) fn traffic(application: Application, ends: Ends<NodeId>, mbit: f64, spacing: Spacing) -> Traffic {
    let (sizes, deadline) = match application {
        Application::Latency => (FlowSizes::Fixed(SMALL), None),
        Application::Deadline => (FlowSizes::Uniform(UNIFORM.0, UNIFORM.1), Some(DEADLINES)),
        Application::Completion => (FlowSizes::Uniform(UNIFORM.0, UNIFORM.1), None),
    };
    let per_second = mbit * 1e6 / 8.0 / sizes.mean();
    let arrivals = match (application, spacing) {
        (Application::Latency, Spacing::Even) => Arrivals::Every(Time::from_nanos((1e9 / per_second) as u64)),
        _ => Arrivals::PerSecond(per_second),
    };
    let flows = Reliable { deadline, ..Reliable::new(arrivals, Some(sizes)) };
    Traffic::new(application.name(), ends, Workload::Flows(flows))
}
