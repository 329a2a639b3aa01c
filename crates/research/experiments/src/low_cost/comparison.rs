//! Loko's evaluation on simulated switches: schemes that keep their guarantees on a shared service (slides,
//! "proof-of-concept implementation and evaluation" and "scalability analysis").
//!
//! The slides print neither topology nor flows nor Silo's and QJump's parameters. They were chosen here, before the
//! comparison was run (the scalability analysis got its deadline and counting after a first try in which nothing was
//! admitted):
//! - a line of switches with two hosts each, so that a switch has at most the four ports of a Zodiac FX;
//! - 100 Mbit/s;
//! - flows between random hosts with packets of 306 B.
//!
//! Silo and QJump assume that every port forwards at line rate and has a buffer of its own. Silo has 1 ms a link: 0.1
//! ms (Chameleon, 5.1.1) at a tenth of the rate. QJump has n = 100 packets of 306 B, an epoch of 4.9 ms.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave::switch_benchmark::benchmark;
use wayleave_ledger::Model;
use wayleave_scenarios::StartPhase;
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::loko::{self, AcceptedRate, Loko, Services, SwitchAccounting};
use wayleave_schemes::admission::qjump::{self, Qjump};
use wayleave_schemes::admission::silo::{self, Silo};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::builders::{Cabling, Chain, build};
use wayleave_topology::devices::{Case, PacketScenario, SoftwareSwitch};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::checkpoint::stored;
use crate::failed::Failed;
use crate::low_cost::experiment::{PacketCounts, Trial, run};
use crate::simulator::Simulator;

/// Ranges of the random properties of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowSize {
    /// kbit/s.
    pub(crate) rate_kbit: (u64, u64),
    /// Packets of 306 B.
    pub(crate) burst_packets: (u64, u64),
    /// No packet may take longer.
    pub(crate) deadline: Time,
}

impl FlowSize {
    /// Between 50 and 400 kbit/s in bursts of one or two packets, within 40 ms.
    pub(crate) const MEDIUM: Self =
        Self { rate_kbit: (50, 400), burst_packets: (1, 2), deadline: Time::from_millis(40) };
}

/// The compared schemes.
pub(crate) const COMPARED: [&str; 3] = ["Silo", "QJump", "Loko"];

/// Results of a scheme.
#[derive(Clone, Debug)]
pub(crate) struct SchemeResult {
    /// Number of admitted requests.
    pub(crate) admitted: usize,
    /// Counts of their packets.
    pub(crate) counted: PacketCounts,
}

stored!(SchemeResult { admitted, counted });

/// Flows that a network holds, by Loko.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LokoFill {
    /// Flows that were admitted.
    pub(crate) admitted: usize,
    /// Of the fullest service, the rate in use in thousandths of the allocation.
    pub(crate) rate: u64,
    /// Of the fullest service, the bursts in use in thousandths of the allocation.
    pub(crate) burst: u64,
}

stored!(LokoFill { admitted, rate, burst });

impl LokoFill {
    /// Returns the use of a network after all requests that fit it.
    pub(crate) fn of(mut loko: Loko, requests: impl IntoIterator<Item = Request>) -> Self {
        let admitted = requests.into_iter().filter(|request| loko.admit(request).is_ok()).count();
        let (rate, burst) = loko.fullest();
        Self { admitted, rate, burst }
    }
}

/// A line of such switches with two hosts each.
///
/// # Errors
/// For no switch at all, or too many.
pub(crate) fn line(switches: u64) -> Result<Arc<Network>, Failed> {
    let cabling = Cabling { rate: Rate::from_mbit(100), ..Cabling::default() };
    let chain = Chain { switches, hosts_per_switch: 2, cabling };
    build::line(&chain).map(Arc::new).map_err(Failed::broken)
}

/// Returns `count` requests between random hosts.
pub(crate) fn requests(network: &Network, size: FlowSize, seed: u64, count: usize) -> Vec<Request> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let hosts: Vec<NodeId> = network.hosts().collect();
    let packet = Bytes::new(306);
    let mut one = || {
        let from = rng.random_range(0..hosts.len());
        // Another one than the sender.
        let to = (from + rng.random_range(1..hosts.len())) % hosts.len();
        Request {
            from: hosts[from],
            to: hosts[to],
            rate: Rate::from_bits_per_second(rng.random_range(size.rate_kbit.0..=size.rate_kbit.1) * 1_000),
            burst: packet * rng.random_range(size.burst_packets.0..=size.burst_packets.1),
            deadline: size.deadline,
            max_frame: Some(packet),
            route: None,
            protection: 1,
        }
    };
    (0..count).map(|_| one()).collect()
}

/// Returns Loko after steps 0 to 3, with the buffer of every switch multiplied by `buffer`.
///
/// # Errors
/// If the modelled switch cannot be measured or allocated.
pub(crate) fn loko(
    network: &Arc<Network>,
    share: AcceptedRate,
    counting: SwitchAccounting,
    buffer: u64,
) -> Result<Loko, Failed> {
    let scenario = PacketScenario::proof_of_concept();
    let table =
        benchmark(&SoftwareSwitch::ZODIAC_FX, &scenario, &mut wayleave::Watch::none()).map_err(Failed::broken)?;
    let measured = loko::ServiceModel::of(&table, &scenario).map_err(Failed::broken)?;
    let model = loko::ServiceModel { buffer: measured.buffer * buffer, ..measured };
    let params = loko::Params { model, share, services: Services::PerSwitch, counting };
    Loko::new(network.clone(), params).map_err(Failed::broken)
}

/// Compares Silo, QJump and Loko, each with its admitted flows of one list, until each has sent about `packets`
/// packets. Returns their results in the order of [`COMPARED`].
///
/// # Errors
/// If something cannot be built or simulated.
pub(crate) fn compare(
    simulator: &Simulator,
    switches: u64,
    seed: u64,
    packets: u64,
) -> Result<Vec<SchemeResult>, Failed> {
    let network = line(switches)?;
    let list = requests(&network, FlowSize::MEDIUM, seed, 400);
    let budget = Time::from_millis(1);
    let silo = Silo::new(network.clone(), Model::PUBLISHED, silo::Params { budget, ..silo::Params::default() })
        .map_err(Failed::broken)?;
    let params = qjump::Params { applications: 100, packet: Bytes::new(306), ..qjump::Params::default() };
    let qjump = Qjump::new(network.clone(), Model::PUBLISHED, params);
    let loko = loko(&network, AcceptedRate::FullRate, SwitchAccounting::Sound, 1)?;
    let schemes: [Scheme; 3] = [silo.into(), qjump.into(), loko.into()];
    let fared = schemes.into_iter().map(|mut scheme| {
        simulator.check()?;
        let admitted = list.iter().filter(|request| scheme.admit(request).is_ok()).count();
        let counted = run(simulator, &network, &scheme, &trial(&scheme, packets, 1, seed)?)?;
        Ok(SchemeResult { admitted, counted })
    });
    fared.collect()
}

/// Lets Loko's flows send a multiple of their burst, for every multiplier from 1 to 11 (the slides' axis).
///
/// # Errors
/// If something cannot be built or simulated.
pub(crate) fn burst(
    simulator: &Simulator,
    switches: u64,
    seed: u64,
    packets: u64,
) -> Result<Vec<(u64, PacketCounts)>, Failed> {
    let network = line(switches)?;
    let mut loko = loko(&network, AcceptedRate::FullRate, SwitchAccounting::Sound, 1)?;
    for request in requests(&network, FlowSize::MEDIUM, seed, 400) {
        let _ = loko.admit(&request);
    }
    let one = |multiplier| {
        let trial = trial(&loko, packets, multiplier, seed)?;
        Ok((multiplier, run(simulator, &network, &loko, &trial)?))
    };
    (1..=11).map(one).collect()
}

/// Returns the number of flows that networks of these sizes hold, and the resource that is exhausted first.
///
/// # Errors
/// Returns an error if something cannot be built, or the measurement is cancelled.
pub(crate) fn scalability(
    simulator: &Simulator,
    sizes: &[u64],
    size: FlowSize,
    counting: SwitchAccounting,
    seed: u64,
    buffer: u64,
) -> Result<Vec<LokoFill>, Failed> {
    let one = |&switches: &u64| {
        simulator.check()?;
        let network = line(switches)?;
        let loko = loko(&network, AcceptedRate::FullRate, counting, buffer)?;
        Ok(LokoFill::of(loko, requests(&network, size, seed, 2_000)))
    };
    sizes.iter().map(one).collect()
}

fn trial(scheme: &impl AdmittedSet, packets: u64, burst_multiplier: u64, seed: u64) -> Result<Trial, Failed> {
    let case: Case = PacketScenario::proof_of_concept().cases().next().ok_or_else(|| Failed::broken("no case"))?;
    let held = scheme.flows().into_iter().filter_map(|flow| Some(scheme.held(flow)?.demand.rate));
    let rate: u64 = held.map(Rate::bits_per_second).sum();
    let nanos = u128::from(packets) * u128::from(case.packet.bits()) * 1_000_000_000 / u128::from(rate.max(1));
    let duration = Time::from_nanos(u64::try_from(nanos).map_or(u64::MAX, |nanos| nanos.min(86_400_000_000_000)));
    let device = SoftwareSwitch::ZODIAC_FX;
    Ok(Trial { device, case, burst_multiplier, phase: StartPhase::Together, duration, seed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_shared_service_only_loko_keeps_its_guarantees() {
        for seed in 1..=3 {
            let fared = compare(&Simulator::default(), 4, seed, 20_000).unwrap();
            for (scheme, SchemeResult { admitted, counted }) in COMPARED.iter().zip(&fared) {
                println!("seed {seed}: {scheme} admits {admitted}: {counted}");
                let kept = counted.late == 0 && counted.lost == 0;
                assert_eq!(kept, *scheme == "Loko", "seed {seed}: {scheme}: {counted}");
                assert!(counted.ok + counted.late > 1_000 && *admitted > 3, "seed {seed}: {scheme}");
            }
            assert!(fared[..2].iter().all(|fared| fared.counted.lost > 1_000 && fared.counted.late > 100));
        }
    }

    #[test]
    fn bursts_above_the_contract_break_guarantees_that_hold_within_it() {
        let all = burst(&Simulator::default(), 4, 1, 20_000).unwrap();
        all.iter().for_each(|(multiplier, counted)| println!("{multiplier}: {counted}, {}", counted.longest_share));
        assert_eq!((all[0].1.late, all[0].1.lost), (0, 0));
        assert!(all[0].1.longest_share < 1_000);
        assert!(all.last().unwrap().1.lost > 0);
        assert!(all.windows(2).all(|pair| pair[0].1.lost <= pair[1].1.lost));
    }

    #[test]
    fn longer_lines_hold_more_flows_and_use_up_bursts_before_rates() {
        let sizes = [2, 4, 6, 8, 10, 12, 14];
        let patient = FlowSize { deadline: Time::from_millis(100_000), ..FlowSize::MEDIUM };
        let of = |counting, buffer| scalability(&Simulator::default(), &sizes, patient, counting, 1, buffer).unwrap();
        let (scarce, plenty) = (of(SwitchAccounting::Published, 1), of(SwitchAccounting::Published, 100));
        scarce.iter().chain(&plenty).for_each(|filled| println!("{filled:?}"));
        assert!(scarce.iter().all(|filled| filled.burst > filled.rate && filled.burst > 800));
        // The slides: with an artificially increased buffer the rate is used up.
        assert!(plenty.iter().all(|filled| filled.rate > filled.burst && filled.rate > 900));
    }
}
