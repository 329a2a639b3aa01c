//! Step 1: throughput, per-packet delay and buffer capacity of a switch with one shared service, for every combination.
//!
//! Three hosts send to a fourth over the switch, at 100 Mbit/s as the Zodiac FX has it:
//! - a single packet: its delay, less what the two lines take, is the per-packet delay;
//! - bursts of one packet more at a time, from all three at once: the largest of which nothing is lost is the buffer capacity;
//! - that burst again: from its first packet to come out to its last, packets leave at the throughput.
//!
//! The throughput is then offered for long, as a check: nothing may be lost.

use std::sync::Arc;

use wayleave_scenarios::{FlowEndpoints, PacketKind, Scenario, ScenarioError, SharedService, StartPhase, Traffic};
use wayleave_sim::Outcome;
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::devices::{Case, Measurement, PacketScenario as Cases, SoftwareSwitch, Table};
use wayleave_topology::{Network, NetworkError, NodeId};
use wayleave_units::{Amount, Bytes, Rate, Time};

use crate::progress::Watch;

/// The ports of the Zodiac FX (slides, "small programmable hardware": 4x100M).
const LINE: Rate = Rate::from_mbit(100);

/// More packets than this no small switch holds.
const MAX_PACKETS: u64 = 4096;

/// Number of packets in the check of the throughput.
const CHECKED: u64 = 200;

/// Reason why a switch cannot be measured.
#[derive(thiserror::Error, Debug)]
pub enum BenchError {
    /// The network cannot be built.
    #[error("{0}")]
    Network(NetworkError),
    /// The simulator refuses a run.
    #[error("{0}")]
    Run(Box<ScenarioError>),
    /// Not even two packets find room, or any number does.
    #[error(
        "the buffer cannot be measured with {case}: two packets are already lost, or {MAX_PACKETS} packets are not"
    )]
    Buffer {
        /// At which combination.
        case: Case,
    },
    /// The measurement was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The measured throughput is not sustained.
    #[error("the throughput of {rate:#}, measured with {case}, is not sustained: packets are lost at this rate")]
    Throughput {
        /// At which combination.
        case: Case,
        /// Measured throughput.
        rate: Rate,
    },
}

/// Returns a switch of a simulated network that behaves as the device does with one combination.
pub fn device(device: &SoftwareSwitch, case: &Case, switch: NodeId) -> SharedService {
    let buffer = case.packet * u64::from(device.buffer(case.packet));
    SharedService { switch, rate: device.rate(case), processing: device.latency(), buffer }
}

/// Measures every combination of a scenario.
///
/// # Errors
/// The first combination that cannot be measured, or [`BenchError::Cancelled`].
pub fn benchmark(device: &SoftwareSwitch, cases: &Cases, watch: &mut Watch<'_>) -> Result<Table, BenchError> {
    let mut table = Table::default();
    let total = cases.cases().count();
    for (done, case) in (1..).zip(cases.cases()) {
        if watch.is_cancelled() {
            return Err(BenchError::Cancelled);
        }
        table.enter(case, measure(device, case)?);
        watch.items(done, total);
    }
    Ok(table)
}

/// Measures one combination.
///
/// # Errors
/// If the simulator refuses, or the measurement gives no result about the buffer.
pub fn measure(device: &SoftwareSwitch, case: Case) -> Result<Measurement, BenchError> {
    let bench = Bench::new(device, case)?;
    let lines = Amount::from(case.packet).time_at(LINE).unwrap_or(Time::MAX) * 2;
    let single = bench.burst(1)?;
    let delay = in_time(single.last_ps).saturating_sub(lines);
    let buffer = bench.capacity()?;
    let burst = bench.burst(buffer)?;
    // Rounded down, and never faster than the line.
    let bits = u128::from(case.packet.bits()) * u128::from(buffer - 1) * 1_000_000_000_000;
    let rate = (bits / u128::from((burst.last_ps - burst.first_ps).max(1))).min(u128::from(LINE.bits_per_second()));
    let throughput = Rate::from_bits_per_second(rate as u64);
    if bench.sustained(throughput)? > 0 {
        return Err(BenchError::Throughput { case, rate: throughput });
    }
    Ok(Measurement { throughput, delay, buffer: buffer as u32 })
}

/// Outcome of a burst.
struct Burst {
    lost: u64,
    /// Times when the first and the last packet left the switch, in ps after all of them were sent.
    first_ps: u64,
    last_ps: u64,
}

/// Test bench of the switch.
struct Bench {
    network: Arc<Network>,
    service: SharedService,
    senders: [NodeId; 3],
    receiver: NodeId,
    packet: Bytes,
    case: Case,
}

impl Bench {
    fn new(device: &SoftwareSwitch, case: Case) -> Result<Self, BenchError> {
        let network = build::star(4, Cabling { rate: LINE, ..Cabling::default() }).map_err(BenchError::Network)?;
        let switch = network.switches().next().unwrap_or(NodeId(0));
        let [a, b, c, receiver] = first_four(&network);
        let service = self::device(device, &case, switch);
        let senders = [a, b, c];
        Ok(Self { network: Arc::new(network), service, senders, receiver, packet: case.packet, case })
    }

    /// That many packets at once, from all ports in turn.
    fn burst(&self, packets: u64) -> Result<Burst, BenchError> {
        let mut traffic = Vec::new();
        for (port, &sender) in (0..).zip(&self.senders) {
            let own = (packets + 2 - port) / 3;
            if own > 0 {
                let burst = self.packet * own;
                // So slow that nothing follows the burst.
                let kind =
                    PacketKind::TokenBucket { rate: Rate::from_bits_per_second(1), burst, phase: StartPhase::Together };
                traffic.push(self.sends(sender, kind, Time::from_nanos(1)));
            }
        }
        let outcome = self.run(traffic)?;
        let delays = || outcome.flows.iter().map(|flow| &flow.delay);
        Ok(Burst {
            lost: outcome.flows.iter().map(|flow| flow.drops).sum(),
            first_ps: delays().filter_map(|delay| delay.min()).min().unwrap_or(0),
            last_ps: delays().filter_map(|delay| delay.max()).max().unwrap_or(0),
        })
    }

    /// The largest burst of which nothing is lost.
    fn capacity(&self) -> Result<u64, BenchError> {
        let mut held = 1;
        while self.burst(held + 1)?.lost == 0 {
            held += 1;
            if held == MAX_PACKETS {
                return Err(self.no_buffer());
            }
        }
        if held > 1 { Ok(held) } else { Err(self.no_buffer()) }
    }

    fn no_buffer(&self) -> BenchError {
        BenchError::Buffer { case: self.case }
    }

    /// Returns the losses when a rate is offered for a long time.
    fn sustained(&self, rate: Rate) -> Result<u64, BenchError> {
        let kind = PacketKind::TokenBucket { rate, burst: self.packet, phase: StartPhase::Together };
        let long = Amount::from(self.packet * CHECKED).time_at(rate).unwrap_or(Time::MAX);
        let outcome = self.run(vec![self.sends(self.senders[0], kind, long)])?;
        Ok(outcome.flows.iter().map(|flow| flow.drops).sum())
    }

    fn sends(&self, sender: NodeId, kind: PacketKind, stop: Time) -> Traffic {
        let ends = FlowEndpoints::Pairs(vec![(sender, self.receiver)]);
        let mut traffic = Traffic::packets(&format!("port {}", sender.0), ends, kind, self.packet);
        traffic.stop = Some(stop);
        traffic
    }

    fn run(&self, traffic: Vec<Traffic>) -> Result<Outcome, BenchError> {
        let mut scenario = Scenario::new("benchmark", self.network.clone(), Time::from_millis(10_000));
        scenario.shared_services = vec![self.service];
        scenario.traffic = traffic;
        wayleave_sim::run(&scenario, 1, |_| true).map_err(|error| BenchError::Run(Box::new(error)))
    }
}

fn first_four(network: &Network) -> [NodeId; 4] {
    let mut hosts = network.hosts();
    [(); 4].map(|()| hosts.next().unwrap_or(NodeId(0)))
}

/// ps in whole ns, rounded up.
fn in_time(ps: u64) -> Time {
    Time::from_nanos(ps.div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_black_box_benchmark_recovers_the_parameters_of_the_model() {
        let zodiac = SoftwareSwitch::ZODIAC_FX;
        // Every match type and size once, and both ends of the tables.
        let mut cases: Vec<Case> = Cases::proof_of_concept().cases().collect();
        let whole = Cases::whole();
        cases.extend(whole.cases().step_by(97));
        for case in cases {
            let shown = measure(&zodiac, case).unwrap();
            let given = (zodiac.rate(&case), zodiac.service(&case) + zodiac.latency(), zodiac.buffer(case.packet));
            assert_eq!(shown.buffer, given.2, "{case}");
            assert!(shown.delay >= given.1 && shown.delay <= given.1 + Time::from_nanos(2), "{case}: {shown:?}");
            let off = shown.throughput.bits_per_second().abs_diff(given.0.bits_per_second());
            assert!(off <= 20, "{case}: {shown:?} {}", given.0);
        }
    }

    #[test]
    fn one_tenth_above_the_throughput_is_lost() {
        let case = Cases::proof_of_concept().cases().next().unwrap();
        let bench = Bench::new(&SoftwareSwitch::ZODIAC_FX, case).unwrap();
        let rate = SoftwareSwitch::ZODIAC_FX.rate(&case).bits_per_second();
        assert_eq!(bench.sustained(Rate::from_bits_per_second(rate)).unwrap(), 0);
        assert!(bench.sustained(Rate::from_bits_per_second(rate / 10 * 11)).unwrap() > 5);
    }
}
