//! Promises to tenants with minima and objectives, beside latency contracts, as claims for [`verify_classes`](crate::verify_classes).
//!
//! There are three claims: all tenants as on a real network, windows alone, and bandwidth contracts that meet at one
//! receiver.
//!
//! In the first, pairs may send their minima beside their windows. The amount in flight has the bound that counts
//! this, and minima and weights are checked.
//!
//! In the second nothing is sent beside windows, and only latency contracts send beside pairs. Only there a wrong
//! growth of windows is visible, since the bound of the first claim is twice theirs. This claim is only checked if
//! the growth is broken on purpose: the bound of windows alone is no promise, and two pairs exceed it by a few per
//! cent for a moment.
//!
//! In the third, the rate above minima has to be shared by weights.
//!
//! Beside them, single links are attacked with the worst demands that minima can put on them ([`crate::links`]).

use std::collections::BTreeSet;

use wayleave_scenarios::{Bursts, Competitor, Maximum, Scenario, Tenants, TenantsError};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Rate, Time};

use crate::classes::{
    ClassAttack, ClassClaim, ClassFault, ClassReport, InFlightPromise, MinimumPromise, WeightPromise,
    verify_classes_until,
};
use crate::effort::Effort;
use crate::links::{self, LinkClaim, Pattern};
use crate::maxima::{self, TestedMaximum};
use crate::run::StopCheck;
use crate::terms::{MaximumPromise, PartPromise, ReceiverContention};

/// SCC's tunnels find their levels by marks (docs/theory/scc.md), and have less until then: tolerance of a weight,
/// per cent.
const TOLERANCE: u64 = 25;

/// Windows of a few packets are whole packets, and short runs show their beginning: tolerance of the parts due by
/// minimum and weight, per cent.
const PARTS: u64 = 15;

/// Round trips after which flows of objectives have left their beginning: DCTCP doubles its window in each, from ten packets, and tunnels find
/// their levels after that. Weights are counted in the second half of a run.
const BEGINNING: u64 = 20;

/// Period of short bursts, which begin at `PHASES` different phases.
const ROUND: Time = Time::from_micros(250);
const PHASES: u64 = 12;

/// Statements about tenants.
#[derive(Clone, Debug)]
pub struct TenantsClaim {
    /// As the network has them.
    pub whole: ClassClaim,
    /// Windows without traffic beside them; absent if there are no minima.
    pub windows: Option<ClassClaim>,
    /// Bandwidth contracts that meet at one receiver; absent where no two do.
    pub contention: Option<ClassClaim>,
    /// Contracts with a maximum, which always have traffic; absent without maxima, and with a fault of other promises.
    pub at_maxima: Option<ClassClaim>,
    /// Attacks on single links.
    pub links: Vec<LinkClaim>,
    /// Weights that no run of this length can test: its first half is the beginning of their flows.
    pub untested_weights: usize,
    /// The minimum of each promise of `whole`, in its order.
    rates: Vec<Rate>,
    /// Selection of checked promises.
    watch: Watch,
    /// Maximum length of the run of `at_maxima`: as many packets as the effort allows.
    longest_at_maxima: Time,
    /// Maximum length of that run if no maximum is enforced.
    longest_without_limits: Time,
}

/// Selection of checked promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Promises,
    PromisesAndWindows,
}

/// Observations about the claim.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantsReport {
    /// Report about all tenants.
    pub whole: ClassReport,
    /// Of windows alone.
    pub windows: Option<ClassReport>,
    /// Of those that meet at one receiver.
    pub contention: Option<ClassReport>,
    /// Of contracts that send at their maxima.
    pub at_maxima: Option<ClassReport>,
    /// Of attacks on single links.
    pub links: Vec<LinkReport>,
    /// The minima, in the order of the claim.
    pub minima: Vec<TestedMinimum>,
    /// The maxima in each direction, in the order of the claim.
    pub maxima: Vec<TestedMaximum>,
    /// `true` if the runs were stopped before their end.
    pub is_stopped: bool,
}

/// The outcome of an attack on a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkReport {
    /// The link.
    pub link: LinkId,
    /// The demands over time.
    pub pattern: Pattern,
    /// The sum of the minima that sent over the link together.
    pub demand: Rate,
    /// The numbers of the minima that were asked for.
    pub minima: Vec<usize>,
    /// Observations about them, and about the other promises.
    pub report: ClassReport,
}

/// The worst that was seen of a minimum. A field is `None` where no run tested it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestedMinimum {
    /// The longest lag.
    pub lag: Option<Time>,
    /// The lowest rate under a demand without end, per mille of the minimum.
    pub rate: Option<u64>,
    /// The attack on a link with the longest lag.
    pub by: Option<(LinkId, Pattern)>,
    /// The longest lag that a run could have shown: one that lasts as long as the demand. A promise of a longer time is not tested.
    pub could: Time,
}

impl TenantsReport {
    /// Returns `true` if no promise was broken.
    pub fn is_sound(&self) -> bool {
        self.reports().all(ClassReport::is_sound)
    }

    /// Returns the observations of each run.
    pub fn reports(&self) -> impl Iterator<Item = &ClassReport> + Clone {
        let links = self.links.iter().map(|attacked| &attacked.report);
        let runs = [Some(&self.whole), self.windows.as_ref(), self.contention.as_ref(), self.at_maxima.as_ref()];
        runs.into_iter().flatten().chain(links)
    }
}

impl TenantsClaim {
    /// Returns the promises to tenants that send at their limits for `duration`.
    ///
    /// # Errors
    /// If the tenants cannot be on one network.
    pub fn of(tenants: &Tenants, duration: Time) -> Result<Self, TenantsError> {
        let mut scenario = Scenario::new("tenants", tenants.network().clone(), duration);
        tenants.set_up(&mut scenario)?;
        scenario.traffic = tenants.senders(duration, Bursts::Long, &BTreeSet::new());
        scenario.record.carried_from = Time::from_nanos(duration.as_nanos() / 2);
        let in_flight =
            |all: Vec<_>| all.into_iter().map(|(link, most)| InFlightPromise { link, most }).collect::<Vec<_>>();
        let minimum = |minimum: wayleave_scenarios::Minimum| MinimumPromise {
            service: minimum.name,
            host: minimum.host,
            within: minimum.within,
        };
        let weight = |weight: wayleave_scenarios::Weight| WeightPromise {
            service: weight.name,
            host: weight.host,
            rate: weight.rate,
        };
        let maximum =
            |Maximum { name, host, max, burst, limits }| MaximumPromise { service: name, host, max, burst, limits };
        let all: Vec<WeightPromise> = tenants.weights().into_iter().map(weight).collect();
        let beginning = tenants.round_trip().as_nanos().saturating_mul(BEGINNING);
        let has_begun = beginning <= duration.as_nanos() / 2;
        let (weights, untested_weights) = match has_begun {
            true => (all, 0),
            false => (Vec::new(), all.len()),
        };
        let whole = ClassClaim {
            scenario,
            minima: tenants.minima().into_iter().map(minimum).collect(),
            in_flight: in_flight(tenants.held()),
            shares: Vec::new(),
            weights,
            maxima: tenants.maxima().into_iter().map(maximum).collect(),
            contention: None,
            tolerance_percent: TOLERANCE,
        };
        let mut windows = ClassClaim {
            minima: Vec::new(),
            weights: Vec::new(),
            maxima: Vec::new(),
            in_flight: in_flight(tenants.in_windows()),
            ..whole.clone()
        };
        // Without services that send below their limits: the capacity that the others leave must appear free.
        let minima: BTreeSet<&str> = whole.minima.iter().map(|promise| promise.service.as_str()).collect();
        let latency = tenants.latency_service();
        windows.scenario.traffic = tenants.senders(duration, Bursts::Short, &BTreeSet::new());
        windows.scenario.traffic.retain(|traffic| {
            traffic.service.as_ref().is_some_and(|service| *service == latency || minima.contains(service.as_str()))
        });
        let sharing = windows.scenario.sharing.as_mut();
        let is_there = sharing.is_some_and(|sharing| sharing.set_word("ufab", "fullWindowRate", "nothing"));
        let competitors = tenants.competitors().filter(|_| has_begun);
        let contention =
            competitors.map(|(host, competitors)| receiver_contention(&whole, tenants, host, &competitors));
        let rates = tenants.minima().into_iter().map(|minimum| minimum.min).collect();
        let windows = is_there.then_some(windows);
        let (links, watch) = (Vec::new(), Watch::Promises);
        let (at_maxima, longest_at_maxima, longest_without_limits) = (None, Time::ZERO, Time::ZERO);
        Ok(Self {
            whole,
            windows,
            contention,
            at_maxima,
            links,
            untested_weights,
            rates,
            watch,
            longest_at_maxima,
            longest_without_limits,
        })
    }

    /// Adds a run in which all contracts with a maximum always have traffic.
    pub fn attack_maxima(&mut self, tenants: &Tenants, effort: &Effort) {
        let (claim, longest) = maxima::attack(tenants, &self.whole, effort).unzip();
        (self.at_maxima, self.longest_at_maxima) = (claim, longest.unwrap_or_default());
        self.longest_without_limits = maxima::most_without_limits(&self.whole, effort);
    }

    /// Adds attacks on single links, in the number given by the effort, those with the smallest margin for minima
    /// first.
    pub fn attack_links(&mut self, tenants: &Tenants, effort: &Effort) {
        self.links = links::attacks(tenants, &self.whole, effort.links());
    }

    /// Also checks windows alone.
    pub fn watch_windows(&mut self) {
        self.watch = Watch::PromisesAndWindows;
    }

    /// Injects a fault into it; returns `true` if it changes anything.
    pub fn break_by(&mut self, fault: ClassFault) -> bool {
        if fault == ClassFault::StepsUnlimited {
            self.watch_windows();
        }
        // The other runs show every other fault.
        let mut at_maxima = self.at_maxima.take().filter(|_| fault == ClassFault::MaxIgnored);
        let mut maxima = false;
        if let Some(claim) = &mut at_maxima {
            let longest = self.longest_without_limits.max(self.whole.scenario.duration);
            self.longest_at_maxima = self.longest_at_maxima.min(longest);
            maxima::set_duration(claim, claim.scenario.duration.min(longest));
            maxima = fault.put_into(claim);
        }
        self.at_maxima = at_maxima;
        let whole = fault.put_into(&mut self.whole);
        let windows = self.windows.as_mut().is_some_and(|windows| fault.put_into(windows));
        let contention = self.contention.as_mut().is_some_and(|contention| fault.put_into(contention));
        let mut links = false;
        self.links.iter_mut().for_each(|attack| links |= fault.put_into(&mut attack.claim));
        whole | windows | contention | links | maxima
    }
}

/// Returns a claim with only the contracts that meet at a host.
fn receiver_contention(whole: &ClassClaim, tenants: &Tenants, host: NodeId, competitors: &[Competitor]) -> ClassClaim {
    let mut scenario = whole.scenario.clone();
    scenario.traffic = tenants.receiver_contention(host, competitors);
    let part = |Competitor { name, min, weight, max, round_trip, .. }: &Competitor| PartPromise {
        service: name.clone(),
        min: *min,
        weight: *weight,
        max: *max,
        round_trip: *round_trip,
    };
    let maxima = whole.maxima.iter().filter(|promise| promise.host == host).cloned().collect();
    ClassClaim {
        scenario,
        minima: Vec::new(),
        in_flight: Vec::new(),
        shares: Vec::new(),
        weights: Vec::new(),
        maxima,
        contention: Some(ReceiverContention { host, parts: competitors.iter().map(part).collect() }),
        tolerance_percent: PARTS,
    }
}

/// Checks every promise under each of the attacks.
///
/// # Errors
/// If the scenario is invalid.
pub fn verify_tenants(
    claim: &TenantsClaim,
    attacks: &[ClassAttack],
    seed: u64,
) -> Result<TenantsReport, wayleave_scenarios::ScenarioError> {
    verify_tenants_until(claim, attacks, seed, &|| false)
}

/// Checks every promise as [`verify_tenants`] does, until `is_stopped` returns `true`. Claims whose run was not
/// complete then have no report.
///
/// # Errors
/// As [`verify_tenants`].
pub fn verify_tenants_until(
    claim: &TenantsClaim,
    attacks: &[ClassAttack],
    seed: u64,
    is_stopped: StopCheck<'_>,
) -> Result<TenantsReport, wayleave_scenarios::ScenarioError> {
    let tested = |claim: &ClassClaim, attacks: &[ClassAttack]| {
        let report = verify_classes_until(claim, attacks, seed, is_stopped)?;
        // Without attacks, each claim has a report without runs.
        Ok(Some(report).filter(|report| report.runs == attacks.len() || report.runs > 0))
    };
    let whole = verify_classes_until(&claim.whole, attacks, seed, is_stopped)?;
    // An overshoot needs a burst that ends at the moment when many pairs are answered: many phases are tried.
    let shifted = |phase| ClassAttack::Shifted { seed: seed.wrapping_add(phase), most: ROUND };
    let phases: Vec<ClassAttack> = (0..PHASES).map(shifted).collect();
    let windows = claim.windows.as_ref().filter(|_| claim.watch == Watch::PromisesAndWindows);
    let windows = windows.and_then(|windows| tested(windows, &phases).transpose()).transpose()?;
    let once = &attacks[..attacks.len().min(1)];
    let contention = claim.contention.as_ref().and_then(|claim| tested(claim, once).transpose()).transpose()?;
    let at_maxima = claim.at_maxima.as_ref().map(|at_maxima| {
        let mut at_maxima = at_maxima.clone();
        maxima::run_until_tested(at_maxima.scenario.duration, claim.longest_at_maxima, |duration| {
            maxima::set_duration(&mut at_maxima, duration);
            tested(&at_maxima, once)
        })
    });
    let at_maxima = at_maxima.transpose()?.flatten();
    let mut links = Vec::new();
    // If nothing is tried because a fault has no effect, links are not attacked either.
    for LinkClaim { link, pattern, demand, minima, claim } in claim.links.iter().filter(|_| !once.is_empty()) {
        let (link, pattern, demand, minima) = (*link, *pattern, *demand, minima.clone());
        let Some(report) = tested(claim, once)? else { break };
        links.push(LinkReport { link, pattern, demand, minima, report });
    }
    let minima = tested_minima(claim, &whole, &links);
    let (maxima, is_stopped) = (Vec::new(), is_stopped());
    let mut report = TenantsReport { whole, windows, contention, at_maxima, links, minima, maxima, is_stopped };
    report.maxima = maxima::tested(&claim.whole, report.reports());
    Ok(report)
}

/// Returns the worst of every minimum over all runs.
fn tested_minima(claim: &TenantsClaim, whole: &ClassReport, links: &[LinkReport]) -> Vec<TestedMinimum> {
    let per_mille = |part: u64, of: u64| u64::try_from(u128::from(part) * 1_000 / u128::from(of.max(1))).ok();
    let of = |(number, promise): (usize, &MinimumPromise)| {
        let duration = claim.whole.scenario.duration;
        // A lag is at most as long as the demand: of a hose a pattern, unless a link is attacked all the time.
        let is_steady = |attack: &LinkReport| attack.pattern == Pattern::Steady && attack.minima.contains(&number);
        let could = if links.iter().any(is_steady) { duration } else { Tenants::pattern(duration) };
        let mut tested = TestedMinimum { could, ..TestedMinimum::default() };
        if promise.within >= could {
            return tested;
        }
        if whole.runs > 0 {
            tested.lag = whole.lags.get(number).copied();
        }
        let mut worst = None;
        for attack in links {
            let Some(place) = attack.minima.iter().position(|&other| other == number) else { continue };
            let lag = attack.report.lags.get(place).copied();
            if lag > worst || tested.by.is_none() {
                worst = lag;
                tested.by = Some((attack.link, attack.pattern));
            }
            if attack.pattern == Pattern::Steady {
                let min = claim.rates.get(number).map_or(0, |rate| rate.bits_per_second());
                let rate = attack.report.rates.get(place).and_then(|got| per_mille(got.bits_per_second(), min));
                tested.rate = tested.rate.into_iter().chain(rate).min();
            }
        }
        tested.lag = tested.lag.max(worst);
        tested
    };
    claim.whole.minima.iter().enumerate().map(of).collect()
}
