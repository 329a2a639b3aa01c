//! The flows that a scheme has admitted, on a network whose switches share a service each: how many packets come in time, late,
//! or not at all.

use std::fmt;
use std::sync::Arc;

use wayleave::switch_benchmark::device;
use wayleave_scenarios::{FlowEndpoints, PacketKind, Scenario, StartPhase, Traffic};
use wayleave_schemes::admitted::{AdmittedFlow, AdmittedSet};
use wayleave_topology::Network;
use wayleave_topology::devices::{Case, SoftwareSwitch};
use wayleave_units::{Bytes, Rate, Time};

use crate::checkpoint::stored;
use crate::failed::Failed;
use crate::simulator::Simulator;

/// Traffic of a trial, and its duration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// Every switch is this device.
    pub(crate) device: SoftwareSwitch,
    /// Under this combination; all packets have its size.
    pub(crate) case: Case,
    /// Multiple of their burst that flows send at once (slides, "burst multiplier").
    pub(crate) burst_multiplier: u64,
    /// All bursts at once, or each at random.
    pub(crate) phase: StartPhase,
    /// Duration of sending.
    pub(crate) duration: Time,
    /// Of the random phases.
    pub(crate) seed: u64,
}

/// Counts of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketCounts {
    /// They came within what was promised to their flows.
    pub(crate) ok: u64,
    /// They came later; with histograms that count to within a few per cent, only those that are surely late.
    pub(crate) late: u64,
    /// They found no room in a buffer.
    pub(crate) lost: u64,
    /// The longest that a packet took.
    pub(crate) longest: Time,
    /// Maximum delay of a packet, in thousandths of its flow's promise.
    pub(crate) longest_share: u64,
}

stored!(PacketCounts { ok, late, lost, longest, longest_share });

impl fmt::Display for PacketCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ok, late, lost, longest, .. } = self;
        write!(f, "{ok} in time, {late} late, {lost} lost, longest {longest}")
    }
}

/// Lets everything that a scheme has admitted send at its token buckets.
///
/// # Errors
/// Returns an error if the scenario is invalid or the measurement is cancelled.
pub(crate) fn run(
    simulator: &Simulator,
    network: &Arc<Network>,
    scheme: &impl AdmittedSet,
    trial: &Trial,
) -> Result<PacketCounts, Failed> {
    let flows: Vec<AdmittedFlow<'_>> = scheme.flows().into_iter().filter_map(|flow| scheme.held(flow)).collect();
    let mut scenario = Scenario::new("trial", network.clone(), trial.duration + Time::from_millis(60_000));
    scenario.shared_services = network.switches().map(|switch| device(&trial.device, &trial.case, switch)).collect();
    scenario.traffic =
        flows.iter().enumerate().filter_map(|(number, held)| traffic(network, trial, number, held)).collect();
    let outcome = simulator.run(&scenario, trial.seed)?;
    let mut counted = PacketCounts::default();
    for flow in &outcome.flows {
        let bound_ps = flows[flow.traffic].released.as_nanos().saturating_mul(1_000);
        // A bucket may lie on both sides of the bound; the longest is known exactly.
        let surely = flow.delay.iter().filter(|bucket| bucket.low > bound_ps).map(|bucket| bucket.count).sum::<u64>();
        let late = if flow.delay.max() > Some(bound_ps) { surely.max(1) } else { 0 };
        counted.late += late;
        counted.ok += flow.delivered - late;
        counted.lost += flow.drops;
        let longest = flow.delay.max().unwrap_or(0);
        counted.longest = counted.longest.max(Time::from_nanos(longest.div_ceil(1_000)));
        let share = u128::from(longest) * 1_000 / u128::from(bound_ps.max(1));
        counted.longest_share = counted.longest_share.max(u64::try_from(share).unwrap_or(u64::MAX));
    }
    Ok(counted)
}

fn traffic(network: &Network, trial: &Trial, number: usize, held: &AdmittedFlow<'_>) -> Option<Traffic> {
    let (first, last) = (held.route.hops.first()?, held.route.hops.last()?);
    let ends = FlowEndpoints::Pairs(vec![(network.link(first.link).from, network.link(last.link).to)]);
    let packet = trial.case.packet;
    let burst = Bytes::new(held.demand.burst.get().saturating_mul(trial.burst_multiplier)).max(packet);
    let rate = held.demand.rate.max(Rate::from_bits_per_second(1));
    let kind = PacketKind::TokenBucket { rate, burst, phase: trial.phase };
    let mut traffic = Traffic::packets(&format!("flow {number}"), ends, kind, packet);
    traffic.stop = Some(trial.duration);
    traffic.route = Some(held.route.clone());
    Some(traffic)
}
