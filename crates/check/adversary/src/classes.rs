//! Promises of classes: minima below latency contracts, and shares of objectives, under adversaries.
//!
//! A [`ClassClaim`] is a scenario with all its tenants, and the promises in it: the time until a receiver has its
//! minimum in any window of time with demand there, the maximum in flight of the class on a link, and the parts of
//! divisions. An adversary shifts the start times of all tenants; the packets show the result. As with latency
//! contracts, a run can disprove a promise, and proves none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_scenarios::{Discipline, Scenario, ScenarioError, Sharing};
use wayleave_sim::{CarriedBytes, Outcome, RunEnd};
use wayleave_topology::{Class, LinkId, Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::fill::MAX_OVERHEAD;
use crate::run::StopCheck;
use crate::terms::{
    MaximumPromise, MaximumThroughput, MaximumThroughputs, PartPromise, ReceiverContention, TARGET_PERCENT,
    TrafficDirection, due,
};

/// Minimum of a service at a receiver: in any time `t` with demand, at least its minimum times `t - within` arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinimumPromise {
    /// Service of the promise.
    pub service: String,
    /// Receiving host.
    pub host: NodeId,
    /// Theta.
    pub within: Time,
}

/// Maximum that pairs with windows have in flight on a link: the assumption under which a packet of the class is in
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightPromise {
    /// Link of the promise.
    pub link: LinkId,
    /// Maximum amount in flight.
    pub most: Bytes,
}

/// A division's part of the total of all these divisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharePromise {
    /// Service of the promise.
    pub service: String,
    /// Only ratios count.
    pub weight: u64,
}

/// At a receiver, of one division that always has something to send there: at least this rate arrives, from the time on from which it is counted what pairs
/// carry (`record.carried_from`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightPromise {
    /// Service of the promise.
    pub service: String,
    /// Host of the promise.
    pub host: NodeId,
    /// Its weight.
    pub rate: Rate,
}

/// Promises to the classes of a scenario.
#[derive(Clone, Debug)]
pub struct ClassClaim {
    /// The network, its ports and hosts, and the traffic of all tenants.
    pub scenario: Scenario,
    /// Minima.
    pub minima: Vec<MinimumPromise>,
    /// Bounds of the amounts in flight.
    pub in_flight: Vec<InFlightPromise>,
    /// Parts of objectives that compete everywhere.
    pub shares: Vec<SharePromise>,
    /// Weights of objectives at hosts.
    pub weights: Vec<WeightPromise>,
    /// Maxima of the traffic that hosts send and receive from `record.carried_from` on.
    pub maxima: Vec<MaximumPromise>,
    /// Services that meet at a host and send there without end.
    pub contention: Option<ReceiverContention>,
    /// Tolerance for a division's part in both directions, and for its weight downwards, per cent.
    pub tolerance_percent: u64,
}

/// One thing that is wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassFault {
    /// At every port the weights of the queues below the strict ones are in reverse order.
    WeightsReversed,
    /// Minima were promised as if nothing were reserved above them.
    ResidualForgotten,
    /// Windows rise as far as the load of a link seems to let them.
    StepsUnlimited,
    /// Best effort is sent in the queue of the guaranteed class.
    ClassLeaked,
    /// Maxima are not enforced.
    MaxIgnored,
    /// The rate above minima is shared in proportion to minima.
    WeightIgnored,
}

/// Something that was promised and not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClassBreach {
    /// A minimum was missed for longer than promised.
    Minimum {
        /// The broken promise.
        promise: MinimumPromise,
        /// Observed lag.
        lag: Time,
    },
    /// More was in flight.
    InFlight {
        /// The broken promise.
        promise: InFlightPromise,
        /// Observed amount in flight.
        seen: Bytes,
    },
    /// A division had another part, per mille of the total of all divisions.
    Share {
        /// The broken promise.
        promise: SharePromise,
        /// Due part.
        due: u64,
        /// Observed part.
        got: u64,
    },
    /// A division had less than its weight somewhere.
    Weight {
        /// The broken promise.
        promise: WeightPromise,
        /// Observed rate.
        got: Rate,
    },
    /// A service exceeded its maximum.
    Maximum {
        /// The broken promise.
        promise: MaximumPromise,
        /// In which direction.
        direction: TrafficDirection,
        /// Observed rate.
        got: Rate,
    },
    /// Above minima a service had another part than by weight.
    Part {
        /// Service with the wrong part.
        service: String,
        /// Host where several services met.
        host: NodeId,
        /// Due rate by minimum, weight and maximum.
        due: Rate,
        /// Observed rate.
        got: Rate,
    },
}

impl fmt::Display for ClassBreach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minimum { promise: MinimumPromise { within, .. }, lag } => {
                write!(f, "throughput lagged {lag:#} behind its minimum; the stated time is {within:#}")
            }
            Self::InFlight { promise: InFlightPromise { most, .. }, seen } => {
                write!(f, "{seen:#} in flight, above the bound of {most:#}")
            }
            Self::Share { due, got, .. } => write!(f, "it got {got} of 1000 parts; its share is {due}"),
            Self::Weight { promise: WeightPromise { rate, .. }, got } => {
                write!(f, "it got {got:#}; its weight is {rate:#}")
            }
            Self::Maximum { promise: MaximumPromise { max, .. }, direction, got } => {
                write!(f, "it {direction} {got:#}; its maximum is {max:#}")
            }
            Self::Part { due, got, .. } => {
                write!(f, "it got {got:#} on a shared link; its fair share by minimum and weight is {due:#}")
            }
        }
    }
}

/// Action of an adversary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassAttack {
    /// All tenants begin at the times of the scenario.
    AsClaimed,
    /// Every tenant begins later, by a time up to this that is drawn.
    Shifted {
        /// Of the draws.
        seed: u64,
        /// The longest.
        most: Time,
    },
}

/// Observations about all promises.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassReport {
    /// Broken promises, with the attack that shows each.
    pub breaches: Vec<(ClassAttack, ClassBreach)>,
    /// The number of minima, maxima and parts by weight. Of objectives nothing is promised that a run can show.
    pub promises: usize,
    /// Number of runs.
    pub runs: usize,
    /// Largest observed lag relative to its promise, per mille.
    pub largest_lag: u64,
    /// Largest observed amount in flight relative to its promise, per mille.
    pub largest_in_flight: u64,
    /// The smallest part of a weight that was seen, per mille.
    pub smallest_weight: Option<u64>,
    /// The largest part of a maximum that was seen, per mille.
    pub largest_of_maximum: Option<u64>,
    /// Throughput at each maximum in the run that tests it best, by contract, host and direction.
    pub maxima: MaximumThroughputs,
    /// Largest shortfall from a part due by minimum and weight, per mille.
    pub farthest_from_part: Option<u64>,
    /// The longest lag of each minimum, in the order of the claim.
    pub lags: Vec<Time>,
    /// The least that each minimum got from the time on from which it is counted what pairs carry, in the order of the claim;
    /// empty without a run.
    pub rates: Vec<Rate>,
    /// Packets of minima that found no room, by the link whose buffer was full.
    pub drops: BTreeMap<LinkId, u64>,
    /// Services whose part by weight no run could have shown to be missed: a maximum or the minimum decides it, it is
    /// smaller than whole frames of the others, a part by minima is as large within the tolerance, or windows had no
    /// time to grow to it.
    pub blind_parts: BTreeSet<String>,
}

impl ClassReport {
    /// Returns `true` if no promise was broken.
    pub fn is_sound(&self) -> bool {
        self.breaches.is_empty()
    }
}

impl ClassFault {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::WeightsReversed,
        Self::ResidualForgotten,
        Self::StepsUnlimited,
        Self::ClassLeaked,
        Self::MaxIgnored,
        Self::WeightIgnored,
    ];

    /// Returns the name on command lines and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WeightsReversed => "weights-reversed",
            Self::ResidualForgotten => "residual-forgotten",
            Self::StepsUnlimited => "steps-unlimited",
            Self::ClassLeaked => "class-leaked",
            Self::MaxIgnored => "max-ignored",
            Self::WeightIgnored => "weight-ignored",
        }
    }

    /// Injects the fault into a claim; returns `true` if it changes anything.
    pub fn put_into(self, claim: &mut ClassClaim) -> bool {
        let before = claim.scenario.clone();
        let scenario = &mut claim.scenario;
        match self {
            Self::WeightsReversed => {
                for ports in [&mut scenario.switches, &mut scenario.hosts] {
                    if let Discipline::StrictOverWeighted { weights, .. } = &mut ports.discipline {
                        weights.reverse();
                    }
                }
                before.switches.discipline != scenario.switches.discipline
            }
            Self::ResidualForgotten => {
                let least = least_residual_percent(&before);
                let Some(sharing) = &mut scenario.sharing else { return false };
                scenario.reserved.clear();
                sharing.scale_minima(&before.network, 10_000 / least.max(1)) && least < 100
            }
            Self::StepsUnlimited => {
                scenario.sharing.as_mut().is_some_and(|sharing| sharing.set_word("ufab", "windowIncrease", "free"))
            }
            Self::ClassLeaked => {
                let Discipline::StrictOverWeighted { strict, .. } = before.switches.discipline else { return false };
                let lowest = before.lowest_queue();
                let leaks = scenario.traffic.iter_mut().filter(|traffic| traffic.queue.unwrap_or(lowest) == lowest);
                leaks.map(|traffic| traffic.queue = Some(strict)).count() > 0
            }
            Self::MaxIgnored => {
                scenario.sharing.as_mut().is_some_and(|sharing| sharing.lift_maxima(&before.network))
                    && !claim.maxima.is_empty()
            }
            Self::WeightIgnored => {
                let by_minima = |sharing: &mut Sharing| sharing.set_word("ufab", "excessSharing", "minima");
                scenario.sharing.as_mut().is_some_and(by_minima)
                    && claim.contention.as_ref().is_some_and(ReceiverContention::has_weights)
            }
        }
    }
}

/// Returns the residual rate of the link with the most traffic above its classes, per cent.
fn least_residual_percent(scenario: &Scenario) -> u64 {
    let network: &Network = &scenario.network;
    let part = |(id, link): (LinkId, &wayleave_topology::Link)| {
        u128::from(scenario.residual(id).bits_per_second()) * 100 / u128::from(link.rate.bits_per_second().max(1))
    };
    network.links().map(part).min().and_then(|part| u64::try_from(part).ok()).unwrap_or(100)
}

/// Checks every promise of a claim under each of the attacks; the first is the unchanged scenario.
///
/// # Errors
/// If the scenario is invalid.
pub fn verify_classes(claim: &ClassClaim, attacks: &[ClassAttack], seed: u64) -> Result<ClassReport, ScenarioError> {
    verify_classes_until(claim, attacks, seed, &|| false)
}

/// Checks every promise as [`verify_classes`] does, until `is_stopped` returns `true`; an incomplete run is not counted.
pub(crate) fn verify_classes_until(
    claim: &ClassClaim,
    attacks: &[ClassAttack],
    seed: u64,
    is_stopped: StopCheck<'_>,
) -> Result<ClassReport, ScenarioError> {
    let parts = claim.contention.as_ref().map_or(0, |contention| contention.parts.len());
    let promises = claim.minima.len() + claim.maxima.len() + parts;
    let mut report = ClassReport { promises, lags: vec![Time::ZERO; claim.minima.len()], ..ClassReport::default() };
    for &attack in attacks.iter().take_while(|_| !is_stopped()) {
        let mut scenario = claim.scenario.clone();
        scenario.record.promises = true;
        if let ClassAttack::Shifted { seed, most } = attack {
            shift(&mut scenario, seed, most);
        }
        let outcome = wayleave_sim::run(&scenario, seed, |_| !is_stopped())?;
        if outcome.ending == RunEnd::Stopped {
            break;
        }
        report.runs += 1;
        let queue = scenario.network.classes().map(|classes| classes.queue_of(Class::Guaranteed));
        for full in outcome.queues.iter().filter(|one| Some(one.queue) == queue && one.counts.drops > 0) {
            *report.drops.entry(full.link).or_default() += full.counts.drops;
        }
        check_outcome(claim, attack, &outcome, &mut report);
        weigh(claim, attack, &outcome, &mut report);
        check_maxima(claim, attack, &outcome, &mut report);
        check_parts(claim, attack, &outcome, &mut report);
    }
    Ok(report)
}

/// Shifts the start times of all tenants to later ones. Traffics with equal names up to a space are one tenant, and
/// keep their distances: otherwise the tenant would exceed its limits.
fn shift(scenario: &mut Scenario, seed: u64, most: Time) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut by: BTreeMap<String, Time> = BTreeMap::new();
    for traffic in &mut scenario.traffic {
        let tenant = traffic.name.split(' ').next().unwrap_or_default().to_owned();
        let draw = || Time::from_nanos(random.random_range(0..=most.as_nanos()));
        let by = *by.entry(tenant).or_insert_with(draw);
        traffic.start += by;
        traffic.stop = traffic.stop.map(|stop| stop + by);
    }
    let end = scenario.duration;
    scenario.traffic.retain(|traffic| traffic.start < end);
}

fn check_outcome(claim: &ClassClaim, attack: ClassAttack, outcome: &Outcome, report: &mut ClassReport) {
    let Some(sharing) = &outcome.sharing else { return };
    for (number, promise) in claim.minima.iter().enumerate() {
        let machines = sharing.service(&promise.service).map_or(&[][..], |service| &service.machines);
        let lag = machines.iter().find(|machine| machine.host == promise.host).and_then(|at| at.receive_lag.as_ref());
        // A promise that nothing measures is not kept.
        let lag = lag.map_or(Time::MAX, |lag| Time::from_nanos(lag.longest().div_ceil(1_000)));
        report.lags[number] = report.lags[number].max(lag);
        let got = carried(claim, outcome, &promise.service, promise.host, TrafficDirection::Received);
        match report.rates.get_mut(number) {
            Some(rate) => *rate = got.min(*rate),
            None => report.rates.push(got),
        }
        report.largest_lag = report.largest_lag.max(per_mille(lag.as_nanos(), promise.within.as_nanos()));
        if lag > promise.within {
            report.breaches.push((attack, ClassBreach::Minimum { promise: promise.clone(), lag }));
        }
    }
    for &promise in &claim.in_flight {
        let seen = sharing.in_flight.iter().find(|(link, _)| *link == promise.link).map_or(Bytes::ZERO, |seen| seen.1);
        report.largest_in_flight = report.largest_in_flight.max(per_mille(seen.get(), promise.most.get()));
        if seen > promise.most {
            report.breaches.push((attack, ClassBreach::InFlight { promise, seen }));
        }
    }
    let received = |promise: &SharePromise| {
        let machines = sharing.service(&promise.service).map_or(&[][..], |service| &service.machines);
        machines.iter().map(|machine| machine.received.get()).sum::<u64>()
    };
    let all: u64 = claim.shares.iter().map(received).sum();
    let weights: u64 = claim.shares.iter().map(|promise| promise.weight).sum();
    for promise in &claim.shares {
        let (due, got) = (per_mille(promise.weight, weights), per_mille(received(promise), all));
        if got.abs_diff(due) * 100 > due * claim.tolerance_percent {
            report.breaches.push((attack, ClassBreach::Share { promise: promise.clone(), due, got }));
        }
    }
}

/// Compares the traffic of divisions at hosts with their promises.
fn weigh(claim: &ClassClaim, attack: ClassAttack, outcome: &Outcome, report: &mut ClassReport) {
    let Some(sharing) = &outcome.sharing else { return };
    for promise in &claim.weights {
        let here = |path: &&CarriedBytes| path.to == promise.host && path.service.as_ref() == Some(&promise.service);
        let bytes: u64 = sharing.carried.iter().filter(here).map(|path| path.bytes.get()).sum();
        let got = rate(claim, outcome, bytes);
        let part = per_mille(got.bits_per_second(), promise.rate.bits_per_second());
        report.smallest_weight = Some(report.smallest_weight.map_or(part, |least| least.min(part)));
        if part < 1_000 - 10 * claim.tolerance_percent.min(100) {
            report.breaches.push((attack, ClassBreach::Weight { promise: promise.clone(), got }));
        }
    }
}

/// Bytes that were carried since `record.carried_from`, as a rate.
fn rate(claim: &ClassClaim, outcome: &Outcome, bytes: u64) -> Rate {
    let counted = outcome.simulated.saturating_sub(claim.scenario.record.carried_from).as_nanos();
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(counted.max(1));
    Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
}

fn per_mille(part: u64, of: u64) -> u64 {
    u64::try_from(u128::from(part) * 1_000 / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

/// Excess over a maximum that is no breach, per cent: a receiver's limit is divided among its senders anew in each round trip.
const TURNS: u64 = 5;

/// Number of frames of one pair that a window of time may count beside its rate: limiters send whole frames, one may
/// be on the line at the beginning of the window, and one more than the rate is in its end.
pub(crate) const FRAMES_OF_PAIR: u64 = 2;

/// Compares the sent and received traffic of hosts with maxima.
fn check_maxima(claim: &ClassClaim, attack: ClassAttack, outcome: &Outcome, report: &mut ClassReport) {
    let free = FreeCapacity::of(claim, outcome);
    for promise in &claim.maxima {
        for &direction in promise.directions() {
            let got = carried(claim, outcome, &promise.service, promise.host, direction);
            let frames = frames_of(claim, outcome, &promise.service, promise.host, direction);
            let beside = frames.saturating_add(promise.burst.get());
            let beside = rate(claim, outcome, beside);
            let part =
                |rate: Rate| per_mille(rate.saturating_sub(beside).bits_per_second(), promise.max.bits_per_second());
            let paths = paths_at(outcome, &promise.service, promise.host, direction);
            let free = paths.map(|path| free.on(&path.links)).max().unwrap_or(Rate::ZERO);
            let seen = MaximumThroughput { carried: part(got), able: part(got + free) };
            report.largest_of_maximum = report.largest_of_maximum.max(Some(seen.carried));
            let place = (promise.service.clone(), promise.host, direction);
            report.maxima.entry(place).and_modify(|best| *best = best.better(seen)).or_insert(seen);
            if seen.carried > 1_000 + 10 * TURNS {
                report.breaches.push((attack, ClassBreach::Maximum { promise: promise.clone(), direction, got }));
            }
        }
    }
}

/// Capacity of links that a run left free for classes.
struct FreeCapacity<'a> {
    claim: &'a ClassClaim,
    /// Carried traffic, in bit/s.
    loads: BTreeMap<LinkId, u64>,
}

impl<'a> FreeCapacity<'a> {
    fn of(claim: &'a ClassClaim, outcome: &Outcome) -> Self {
        let mut loads: BTreeMap<LinkId, u64> = BTreeMap::new();
        for path in outcome.sharing.iter().flat_map(|sharing| &sharing.carried) {
            let load = rate(claim, outcome, path.bytes.get()).bits_per_second();
            path.links.iter().for_each(|&link| *loads.entry(link).or_default() += load);
        }
        Self { claim, loads }
    }

    /// Returns the least free capacity of these links: the target of classes on what is not reserved, without the
    /// load.
    fn on(&self, links: &[LinkId]) -> Rate {
        let free = |&link: &LinkId| {
            let target = self.claim.scenario.residual(link).bits_per_second() / 100 * TARGET_PERCENT;
            target.saturating_sub(self.loads.get(&link).copied().unwrap_or(0))
        };
        Rate::from_bits_per_second(links.iter().map(free).min().unwrap_or(0))
    }
}

/// Number of round trips in which a window grows to its due size, as a multiple of those needed with immediate
/// answers; also the number until all windows that share a link have settled.
const RAMPS: u64 = 2;
const SETTLED: u64 = 20;

/// Part of a maximum, per cent, from which on the maximum decides the due rate instead of the weight: the tolerance of
/// parts and whole frames hide a smaller distance.
const CAPPED_PERCENT: u64 = 85;

/// Compares the rates of services that met with their due rates.
fn check_parts(claim: &ClassClaim, attack: ClassAttack, outcome: &Outcome, report: &mut ClassReport) {
    let Some(contention) = &claim.contention else { return };
    let ReceiverContention { host, parts } = contention;
    let got: Vec<u64> = parts
        .iter()
        .map(|part| carried(claim, outcome, &part.service, *host, TrafficDirection::Received).bits_per_second())
        .collect();
    let frame = largest_frame(claim, *host);
    // A service may exceed its part since its windows are whole frames.
    let rounded = |part: &PartPromise, due: u64| {
        let frames = u128::from(frame) * 8_000_000_000 / u128::from(part.round_trip.as_nanos().max(1));
        let most = part.max.map_or(u64::MAX, |max| max.bits_per_second().saturating_sub(due));
        u64::try_from(frames).unwrap_or(u64::MAX).min(most)
    };
    let (due, by_minima) = (due(parts, got.iter().sum()), contention.due_by_minima(got.iter().sum()));
    let all_rounded = parts.iter().zip(&due).map(|(part, &due)| rounded(part, due)).fold(0, u64::saturating_add);
    let since = claim.scenario.record.carried_from;
    // A maximum decides the part of a service that is close to it. Weights decide between two other services at least.
    let is_capped =
        |part: &PartPromise, due: u64| part.max.is_some_and(|max| due >= max.bits_per_second() / 100 * CAPPED_PERCENT);
    let open = parts.iter().zip(&due).filter(|(part, due)| !is_capped(part, **due)).count();
    for (((part, due), &got), by_minima) in parts.iter().zip(due).zip(&got).zip(by_minima) {
        // A service above its part breaks no promise: another one is below its part then.
        let frames = frames_of(claim, outcome, &part.service, *host, TrafficDirection::Received);
        let frames = rate(claim, outcome, frames).bits_per_second();
        let short = due.saturating_sub(got).saturating_sub(frames);
        // The tolerance has room for windows that are whole frames, up to this.
        let others = all_rounded.saturating_sub(rounded(part, due));
        // A window that begins with a minimum grows by it in a round trip.
        let steps = due / part.min.bits_per_second().max(1) * RAMPS + SETTLED;
        let is_growing = part.round_trip.as_nanos().saturating_mul(steps) > since.as_nanos();
        let above = due.saturating_sub(part.min.bits_per_second());
        let is_decided_otherwise =
            open < 2 || is_capped(part, due) || per_mille(above, due) <= 10 * claim.tolerance_percent;
        // A part by minima, with weights ignored, would be within the tolerance.
        let lost = due.saturating_sub(by_minima).saturating_sub(frames);
        let is_given = per_mille(due.saturating_sub(by_minima), due) > 0;
        let is_hidden = is_given && per_mille(lost, due) <= per_mille(others, due).max(10 * claim.tolerance_percent);
        if others >= due || is_growing || is_decided_otherwise || is_hidden {
            report.blind_parts.insert(part.service.clone());
        }
        if is_growing {
            continue;
        }
        let (short, others) = (per_mille(short, due), per_mille(others, due));
        report.farthest_from_part = report.farthest_from_part.max(Some(short));
        if short > others.max(10 * claim.tolerance_percent) {
            let [due, got] = [due, got].map(Rate::from_bits_per_second);
            report.breaches.push((attack, ClassBreach::Part { service: part.service.clone(), host: *host, due, got }));
        }
    }
}

fn carried(claim: &ClassClaim, outcome: &Outcome, service: &str, host: NodeId, direction: TrafficDirection) -> Rate {
    rate(claim, outcome, paths_at(outcome, service, host, direction).map(|path| path.bytes.get()).sum())
}

/// Bytes that pairs of a service carried from or to a host, by pair and path.
fn paths_at<'a>(
    outcome: &'a Outcome,
    service: &str,
    host: NodeId,
    direction: TrafficDirection,
) -> impl Iterator<Item = &'a CarriedBytes> {
    let carried = outcome.sharing.iter().flat_map(|sharing| &sharing.carried);
    carried.filter(move |path| {
        let end = match direction {
            TrafficDirection::Sent => path.from,
            TrafficDirection::Received => path.to,
        };
        end == host && path.service.as_deref() == Some(service)
    })
}

/// Bytes of [`FRAMES_OF_PAIR`] largest frames for each pair of a service at a host.
fn frames_of(claim: &ClassClaim, outcome: &Outcome, service: &str, host: NodeId, direction: TrafficDirection) -> u64 {
    let pairs: BTreeSet<(NodeId, NodeId)> =
        paths_at(outcome, service, host, direction).map(|path| (path.from, path.to)).collect();
    largest_frame(claim, host) * FRAMES_OF_PAIR * pairs.len() as u64
}

/// The largest frame on links of a host, in bytes on the wire.
pub(crate) fn largest_frame(claim: &ClassClaim, host: NodeId) -> u64 {
    let network = &claim.scenario.network;
    let links = network.links_from(host).iter().chain(network.links_into(host));
    links.map(|&link| network.link(link).mtu.get() + MAX_OVERHEAD).max().unwrap_or(0)
}
