//! The three applications, and their traffic over the single bottleneck.

use wayleave_scenarios::{Deadline, FlowArrivals, FlowEndpoints, FlowSizes, Reliable, Traffic, Workload};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Time};

/// Objective of an application.
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

    /// Its place among them.
    pub(super) const fn place(self) -> u8 {
        self as u8
    }

    /// As the text calls it; also the name of its traffic.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Latency => "LS",
            Self::Deadline => "DS",
            Self::Completion => "CS",
        }
    }
}

/// Start times of the latency-sensitive application's flows.
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

/// Overhead of a packet on the wire beside payload: 40 B of headers, 38 B of Ethernet with preamble and gap.
const OVERHEAD: u64 = 78;

/// Returns the mean size on the wire of flows of these sizes, in bytes: from a thousand equally likely sizes.
pub(super) fn wire_mean(sizes: &FlowSizes) -> f64 {
    const STEPS: u32 = 1_000;
    let size = |step: u32| wire(sizes.quantile((f64::from(step) + 0.5) / f64::from(STEPS))) as f64;
    (0..STEPS).map(size).sum::<f64>() / f64::from(STEPS)
}

/// Returns the size on the wire of a flow with this payload, in bytes.
pub(super) fn wire(payload: u64) -> u64 {
    payload + payload.div_ceil(SEGMENT) * OVERHEAD
}

/// Returns the traffic of an application of section II between these ends; `mbit` is its average rate on the wire, in
/// Mbit/s.
pub(super) fn traffic(application: Application, ends: FlowEndpoints<NodeId>, mbit: f64, spacing: Spacing) -> Traffic {
    let (sizes, deadline) = match application {
        Application::Latency => (FlowSizes::Fixed(SMALL), None),
        Application::Deadline => (FlowSizes::Uniform(UNIFORM.0, UNIFORM.1), Some(DEADLINES)),
        Application::Completion => (FlowSizes::Uniform(UNIFORM.0, UNIFORM.1), None),
    };
    let per_second = mbit * 1e6 / 8.0 / wire_mean(&sizes);
    let arrivals = match (application, spacing) {
        (Application::Latency, Spacing::Even) => FlowArrivals::Every(Time::from_nanos((1e9 / per_second) as u64)),
        _ => FlowArrivals::PerSecond(per_second),
    };
    let flows = Reliable { deadline, ..Reliable::new(arrivals, Some(sizes)) };
    Traffic::new(application.name(), ends, Workload::Flows(flows))
}

/// Deadlines of section VI are "exponentially distributed", no more: mean and minimum are those of PDQ (SIGCOMM 2012), from memory.
const EXPONENTIAL: Deadline = Deadline::Exponential { mean: Time::from_millis(20), min: Time::from_millis(3) };

/// Flows of section VI up to this size have a deadline: "small message application", of pFabric's and PDQ's size, from memory.
const SMALL_MESSAGES: f64 = 200_000.0;

/// Receivers of a host of section VI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receivers {
    /// Each flow to another host, drawn at random.
    Drawn,
    /// All its flows to one host, another one for each sender.
    Kept,
}

/// Returns the traffic of an application of section VI between all these hosts, with a published distribution of
/// sizes. The given rate is the average of all hosts together on the wire, in Mbit/s. Longer flows of the
/// deadline-sensitive application are a traffic of their own, without deadlines.
pub(super) fn published(
    application: Application,
    (name, receivers): (&str, Receivers),
    hosts: &[NodeId],
    mbit: f64,
) -> Vec<Traffic> {
    let Some(FlowSizes::Empirical(points)) = FlowSizes::published(name) else { return Vec::new() };
    let all = FlowSizes::Empirical(points.clone());
    let per_second = mbit * 1e6 / 8.0 / wire_mean(&all);
    let of = |name: &str, sizes: FlowSizes, share: f64, deadline: Option<Deadline>| {
        let flows = Reliable { deadline, ..Reliable::new(FlowArrivals::PerSecond(per_second * share), Some(sizes)) };
        let ends = match receivers {
            Receivers::Drawn => FlowEndpoints::Random(hosts.to_vec(), hosts.to_vec()),
            Receivers::Kept => FlowEndpoints::Permutation(hosts.to_vec()),
        };
        Traffic::new(name, ends, Workload::Flows(flows))
    };
    if application != Application::Deadline {
        return vec![of(application.name(), all, 1.0, None)];
    }
    let (small, share, large) = split(&points, SMALL_MESSAGES);
    vec![of("DS", small, share, Some(EXPONENTIAL)), of("DS long", large, 1.0 - share, None)]
}

/// A distribution up to a size, the share of flows that have no more, and the distribution beyond.
fn split(points: &[(f64, f64)], at: f64) -> (FlowSizes, f64, FlowSizes) {
    let below: Vec<(f64, f64)> = points.iter().copied().take_while(|&(size, _)| size <= at).collect();
    let above: Vec<(f64, f64)> = points.iter().copied().skip(below.len()).collect();
    let last = below.last().copied().unwrap_or((1.0, 0.0));
    let share = above.first().map_or(1.0, |&(size, share)| last.1 + (share - last.1) * (at - last.0) / (size - last.0));
    let small = below.iter().copied().chain([(at, share)]).map(|(size, upto)| (size, (upto / share).min(1.0)));
    let beyond = |(size, upto): (f64, f64)| (size, ((upto - share) / (1.0 - share)).clamp(0.0, 1.0));
    let large = [(at, share)].into_iter().chain(above).map(beyond);
    (FlowSizes::Empirical(small.collect()), share, FlowSizes::Empirical(large.collect()))
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

    #[test]
    fn a_distribution_split_in_two_parts_keeps_its_mean() {
        for name in ["web-search", "data-mining", "mapreduce"] {
            let Some(FlowSizes::Empirical(points)) = FlowSizes::published(name) else { panic!("{name}") };
            let (small, share, large) = split(&points, SMALL_MESSAGES);
            assert!(small.validate().is_ok() && large.validate().is_ok(), "{name}: {small:?} {large:?}");
            let mean = share * small.mean() + (1.0 - share) * large.mean();
            let all = FlowSizes::Empirical(points).mean();
            assert!((mean / all - 1.0).abs() < 1e-9, "{name}: {mean} and {all}");
            assert!(small.quantile(1.0) <= 200_000 && large.quantile(0.0) >= 200_000, "{name}");
        }
    }
}
