//! Systems that admit contracts: contracts of clock synchronization (Table 1, CS) on the network of section 5.1, under attack, with full
//! frames of other traffic on every link; Loko's on switches that share a service.

use std::sync::Arc;

use wayleave_adversary::{AdmittedClaim, Background, Effort, Promise, verify_until};
use wayleave_contracts::{Category, RequestMix};
use wayleave_ledger::Model;
use wayleave_scenarios::{FlowEndpoints, PacketKind, Scenario, StartPhase, Traffic};
use wayleave_scheme_api::{Admission, Request};
use wayleave_schemes::admission::loko::{AcceptedRate, SwitchAccounting};
use wayleave_schemes::admitted::{AdmittedFlow, AdmittedSet};
use wayleave_schemes::registry::Scheme;
use wayleave_sim::Outcome;
use wayleave_topology::Network;
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::devices::{PacketScenario as DeviceScenario, SoftwareSwitch};
use wayleave_units::{Amount, Bytes, Rate, Time};

use super::super::system::System;
use super::rows::Tick;
use super::seen::{MAX, ObservedProperties};
use crate::failed::Failed;
use crate::low_cost::{self, FlowSize, Trial, line, requests};
use crate::simulator::Simulator;

/// As many contracts as QJump has places (5.1.1).
const CONTRACTS: usize = 32;
/// A burst of four packets, each of at most 1500 B with its overhead.
const BURST: Bytes = Bytes::new(6_000);
const BURST_PACKETS: u64 = 4;
/// Simulated time of a lone contract.
const DURATION: Time = Time::from_millis(100);

fn network() -> Result<Arc<Network>, Failed> {
    build::fat_tree(&FatTree::default()).map(Arc::new).map_err(Failed::broken)
}

/// A scheme that admits contracts.
pub(super) fn admission(
    simulator: &Simulator,
    name: &'static str,
    system: System,
) -> Result<ObservedProperties, Failed> {
    let (network, model) = (network()?, Model::default());
    let mut scheme = system.with_model(&network, model)?;
    let clocks = RequestMix::new(&network, 8, 1).filter(|contract| Category::of(contract) == Some(Category::Clock));
    let requests: Vec<Request> = clocks.take(CONTRACTS).map(|of| wayleave_schemes::request(&of, &model)).collect();
    let mut is_reserved = true;
    for request in &requests {
        // A refusal is a guarantee that is not given, not one that is broken.
        let Ok(decision) = scheme.admit(request) else { continue };
        is_reserved &= scheme.held(decision.flow).is_some_and(|held| held.demand.rate >= request.rate);
    }
    let (report, all) = attacked(simulator, &scheme, &network, &model)?;
    let packets: u64 = report.findings.iter().map(|finding| finding.packets).sum();
    let lost: u64 = report.findings.iter().map(|finding| finding.drops).sum();
    let worst = report
        .closest(&all)
        .map_or(0.0, |at| report.findings[at].delay_ps as f64 / 10.0 / all.promises[at].bound.as_nanos().max(1) as f64);
    let at_once = burst(simulator, &mut system.with_model(&network, model)?, &network, &requests[0])?;
    let lone = lone_contract(simulator, &scheme, &network)?;
    let flows = all.promises.len();
    Ok(ObservedProperties {
        name,
        ticks: [report.is_sound() && flows > 0, is_reserved && lost == 0, at_once >= BURST_PACKETS, lone >= MAX]
            .map(Tick::of),
        how: [
            format!(
                "{flows} contracts, {packets} packets, {} late, the worst at {worst:.0} % of its bound",
                report.violations.len()
            ),
            format!("{lost} lost, the rate {}", if is_reserved { "reserved" } else { "not reserved" }),
            format!("{at_once} of the {BURST_PACKETS} packets of a burst of {BURST} arrive one after another"),
            format!("alone, a contract gets {:.2} % of an idle link", 100.0 * lone),
        ],
    })
}

fn attacked(
    simulator: &Simulator,
    scheme: &Scheme,
    network: &Arc<Network>,
    model: &Model,
) -> Result<(wayleave_adversary::Verification, AdmittedClaim), Failed> {
    let promise = |flow| {
        let held = scheme.held(flow)?;
        let carried = held.route.hops.iter().map(|hop| model.largest_frame(network.link(hop.link)));
        let frame = carried.chain(held.demand.max_frame).min()?;
        let (route, rate, burst) = (held.route.clone(), held.demand.rate, held.demand.burst);
        Some(Promise { name: format!("{flow:?}"), route, rate, burst, frame, bound: held.released, today: None })
    };
    let largest = network.links().map(|(_, link)| model.largest_frame(link)).collect();
    let promises = scheme.flows().into_iter().filter_map(promise).collect();
    let claim = AdmittedClaim::new(network.clone(), Background::Saturating { largest }, promises);
    let report = verify_until(&claim, &Effort::QUICK, None, &|| simulator.is_cancelled(), |_, _| true);
    let report = report.map_err(Failed::broken)?;
    if report.stopped_of.is_some() { Err(Failed::Stopped) } else { Ok((report, claim)) }
}

/// Returns the number of packets of a burst that have arrived after twice its time on every link of the path. Packets
/// that the shaper of an admitted contract holds back arrive later. There are no other senders.
fn burst(simulator: &Simulator, scheme: &mut Scheme, network: &Arc<Network>, like: &Request) -> Result<u64, Failed> {
    let request = Request { burst: BURST, deadline: Time::from_millis(50), ..like.clone() };
    let decision = scheme.admit(&request).map_err(|refusal| Failed::broken(format!("no burst: {refusal:?}")))?;
    let held = scheme.held(decision.flow).ok_or_else(|| Failed::broken("a contract that is not held"))?;
    let sends = held.route.hops.iter().filter_map(|hop| Amount::from(BURST).time_at(network.link(hop.link).rate)).max();
    let enough = sends.unwrap_or_default() * (2 * held.route.hops.len() as u64);
    let outcome = alone(simulator, &held, network, enough)?;
    Ok(outcome.flows.iter().map(|flow| flow.delivered).sum())
}

/// Simulates a contract that always has packets to send, without other senders.
fn alone(
    simulator: &Simulator,
    held: &AdmittedFlow<'_>,
    network: &Arc<Network>,
    duration: Time,
) -> Result<Outcome, Failed> {
    let ends = held.route.hops.first().zip(held.route.hops.last());
    let (first, last) = ends.ok_or_else(|| Failed::broken("a contract without a route"))?;
    let ends = FlowEndpoints::Pairs(vec![(network.link(first.link).from, network.link(last.link).to)]);
    let kind =
        PacketKind::TokenBucket { rate: held.demand.rate, burst: held.demand.burst, phase: StartPhase::Together };
    let frame = held.demand.burst.min(Bytes::new(1_500));
    let mut scenario = Scenario::new("lone contract", network.clone(), duration);
    let mut traffic = Traffic::packets("contract", ends, kind, frame);
    traffic.route = Some(held.route.clone());
    scenario.traffic.push(traffic);
    simulator.run(&scenario, 1)
}

/// The share of an idle link that a contract gets, which always has something to send.
fn lone_contract(simulator: &Simulator, scheme: &Scheme, network: &Arc<Network>) -> Result<f64, Failed> {
    let Some(held) = scheme.flows().first().and_then(|&flow| scheme.held(flow)) else { return Ok(0.0) };
    let rate = held.route.hops.first().map_or(Rate::ZERO, |first| network.link(first.link).rate);
    let outcome = alone(simulator, &held, network, DURATION)?;
    Ok(outcome.flows.iter().map(|flow| share(flow.delivered_bytes, rate, DURATION)).sum())
}

/// Loko, on switches that share a service: contracts of the figures about it, all bursts at once.
pub(super) fn loko(simulator: &Simulator, name: &'static str) -> Result<ObservedProperties, Failed> {
    const SWITCHES: u64 = 4;
    let network = line(SWITCHES)?;
    let mut scheme = low_cost::loko(&network, AcceptedRate::FullRate, SwitchAccounting::Sound, 1)?;
    let asked = requests(&network, FlowSize::MEDIUM, 1, 400);
    let admitted: Vec<&Request> = asked.iter().filter(|request| scheme.admit(request).is_ok()).collect();
    let held: Vec<AdmittedFlow<'_>> = scheme.flows().into_iter().filter_map(|flow| scheme.held(flow)).collect();
    let is_reserved = held.iter().zip(&admitted).all(|(held, asked)| held.demand.rate >= asked.rate);
    let case = DeviceScenario::proof_of_concept().cases().next().ok_or_else(|| Failed::broken("no case"))?;
    let trial = |seed| Trial {
        device: SoftwareSwitch::ZODIAC_FX,
        case,
        burst_multiplier: 1,
        phase: StartPhase::Together,
        duration: Time::from_millis(10_000),
        seed,
    };
    let counted = low_cost::run(simulator, &network, &scheme, &trial(1))?;
    let burst = held.iter().map(|held| held.demand.burst).max().unwrap_or_default();
    let line = Rate::from_mbit(100);
    let most = held.iter().map(|held| held.demand.rate.bits_per_second()).max().unwrap_or(0);
    let conserving = most as f64 / line.bits_per_second() as f64;
    let is_kept = counted.late == 0 && counted.lost == 0 && counted.ok > 0;
    Ok(ObservedProperties {
        name,
        ticks: [is_kept, is_reserved && counted.lost == 0, is_kept && burst > case.packet, conserving >= MAX]
            .map(Tick::of),
        how: [
            format!(
                "{} contracts, {} packets, {} late, the worst at {:.0} % of its bound",
                held.len(),
                counted.ok + counted.late,
                counted.late,
                counted.longest_share as f64 / 10.0
            ),
            format!("{} lost, the rate {}", counted.lost, if is_reserved { "reserved" } else { "not reserved" }),
            format!("bursts of up to {burst}, two packets, sent at once and in time"),
            format!("a contract may send {:.2} % of an idle link at most", 100.0 * conserving),
        ],
    })
}

/// Returns the used share of a link over `duration`.
pub(super) fn share(bytes: Bytes, rate: Rate, duration: Time) -> f64 {
    bytes.bits() as f64 / (rate.bits_per_second() as f64 * duration.as_nanos() as f64 / 1e9)
}
