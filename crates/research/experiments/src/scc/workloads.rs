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

/// "deadlines are exponentially distributed using guidelines from [20]" (VI), which has no numbers in this text: the middle one of the means
/// 20, 30 and 40 ms that D3 and D2TCP have, and no less than 3 ms, as there.
const EXPONENTIAL: Deadline = Deadline::Exponential { mean: Time::from_millis(30), min: Time::from_millis(3) };

/// Largest small message, in bytes: of pFabric's and PDQ's size, from memory.
const SMALL_MESSAGES: f64 = 200_000.0;

/// Flows of the deadline-sensitive application of section VI that have a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeadlineFlows {
    /// "Class-I traffic belongs to deadline-sensitive small message application" (VI): those up to [`SMALL_MESSAGES`].
    SmallMessages,
    /// All of them, as another reading.
    All,
}

impl DeadlineFlows {
    /// Returns the deadlines in per cent that no system keeps: flows of these sizes miss them on a link of 1 Gbit/s of their own.
    pub(super) fn unavoidable(self, sizes: &FlowSizes) -> f64 {
        const STEPS: u32 = 10_000;
        let Deadline::Exponential { mean, min } = EXPONENTIAL else { return f64::NAN };
        let missed = |time: f64| match time {
            time if time <= min.as_nanos() as f64 => 0.0,
            time => 1.0 - (-time / mean.as_nanos() as f64).exp(),
        };
        let all = (0..STEPS).map(|step| sizes.quantile((f64::from(step) + 0.5) / f64::from(STEPS)));
        let counted: Vec<u64> = all.filter(|&size| self == Self::All || size as f64 <= SMALL_MESSAGES).collect();
        let hopeless: f64 = counted.iter().map(|&size| missed(wire(size) as f64 * 8.0)).sum();
        100.0 * hopeless / counted.len() as f64
    }
}

/// Receivers of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receivers {
    /// Each flow to another host, drawn at random.
    Drawn,
    /// All its flows to one host, another one for each sender.
    Kept,
}

impl Receivers {
    /// Returns the senders and receivers of flows between all these hosts.
    pub(super) fn ends(self, hosts: &[NodeId]) -> FlowEndpoints<NodeId> {
        match self {
            Self::Drawn => FlowEndpoints::Random(hosts.to_vec(), hosts.to_vec()),
            Self::Kept => FlowEndpoints::Permutation(hosts.to_vec()),
        }
    }
}

/// Returns the traffic of an application of section VI between these ends, with a published distribution of sizes. The given rate is the
/// average of all hosts together on the wire, in Mbit/s. Flows of the deadline-sensitive application without a deadline are a traffic of
/// their own.
pub(super) fn published(
    application: Application,
    (name, ends, deadlines): (&str, &FlowEndpoints<NodeId>, DeadlineFlows),
    mbit: f64,
) -> Vec<Traffic> {
    let Some(FlowSizes::Empirical(points)) = FlowSizes::published(name) else { return Vec::new() };
    let all = FlowSizes::Empirical(points.clone());
    let per_second = mbit * 1e6 / 8.0 / wire_mean(&all);
    let of = |name: &str, sizes: FlowSizes, share: f64, deadline: Option<Deadline>| {
        let flows = Reliable { deadline, ..Reliable::new(FlowArrivals::PerSecond(per_second * share), Some(sizes)) };
        Traffic::new(name, ends.clone(), Workload::Flows(flows))
    };
    match (application, deadlines) {
        (Application::Deadline, DeadlineFlows::SmallMessages) => {}
        (Application::Deadline, DeadlineFlows::All) => return vec![of("DS", all, 1.0, Some(EXPONENTIAL))],
        _ => return vec![of(application.name(), all, 1.0, None)],
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

    /// Small messages take 1.7 ms at most, and deadlines are at least 3 ms.
    #[test]
    fn small_messages_can_keep_their_deadlines() {
        for name in ["web-search", "data-mining", "mapreduce"] {
            let sizes = FlowSizes::published(name).unwrap();
            assert_eq!(DeadlineFlows::SmallMessages.unavoidable(&sizes), 0.0, "{name}");
        }
        let sizes = FlowSizes::Fixed(Bytes::new(73_000_000));
        assert!(DeadlineFlows::All.unavoidable(&sizes) > 99.9, "615 ms");
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
