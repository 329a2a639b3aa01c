//! Promises of the other kinds under test: minima, what is in flight, weights of objectives, with all tenants on the network.

mod maxima;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use wayleave_adversary::{
    ClassAttack, ClassBreach, ClassFault, Effort, LinkReport, MinimumPromise, TenantsClaim, TenantsReport,
    TestedMinimum, verify_tenants_until,
};
use wayleave_contracts::{Contract, LatencyContract};
use wayleave_explain::DecidedContract;
use wayleave_explain::human::count;
use wayleave_scenarios::{LatencyTenant, SharingTenant, Tenants};
use wayleave_scheme_api::{Decision, ShareDecision};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::{Class, FlowId, HopDistances, LinkId, Network, NodeId, ShortBuffer};
use wayleave_units::{Bytes, Time};

use super::class_document::{KindsJson, LinkJson, MinimumJson};
use crate::error::Error;
use crate::plan::{Released, Sink};
use crate::progress::Watch;
use crate::session::Session;

/// Contracts of every kind that were admitted.
#[derive(Clone, Debug, Default)]
pub struct ClassContracts {
    latency: Vec<(LatencyContract, FlowId)>,
    sharing: Vec<SharingTenant>,
}

impl Sink for ClassContracts {
    fn decided(&mut self, _: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        match decided {
            DecidedContract::Flow(flow) => {
                if let Ok(decision) = flow.decision {
                    self.add_latency(flow.contract, decision);
                }
            }
            DecidedContract::Share(share) => {
                if let Ok(decision) = share.decision {
                    self.add_share(share.contract, decision.as_ref());
                }
            }
        }
        Ok(())
    }

    fn released(&mut self, _: &Released<'_>) -> Result<(), Error> {
        Ok(())
    }
}

impl ClassContracts {
    pub(crate) fn add_latency(&mut self, contract: &LatencyContract, decision: &Decision) {
        self.latency.push((contract.clone(), decision.flow));
    }

    pub(crate) fn add_share(&mut self, contract: &Contract, decision: Option<&ShareDecision>) {
        let within = decision.and_then(|decision| decision.within);
        let route = decision.and_then(|decision| decision.route.clone());
        self.sharing.push(SharingTenant { contract: contract.clone(), within, route });
    }

    /// Returns all tenants in their final state; `None` if all contracts are about latency.
    ///
    /// # Errors
    /// If the network has no classes.
    pub fn tenants(&self, session: &Session) -> Result<Option<Tenants>, Error> {
        let Some(ledger) = session.ledger().filter(|_| !self.sharing.is_empty()) else { return Ok(None) };
        let links = session.network.links().filter_map(|(id, _)| Some((*ledger.shared_link(id)?, ledger.residual(id))));
        let mut tenants = Tenants::new(&session.network, links.collect()).map_err(usage)?;
        for (contract, flow) in &self.latency {
            let Some(held) = session.scheme.held(*flow) else { continue };
            let (route, rate, burst) = (held.route.clone(), held.demand.rate, held.demand.burst);
            tenants.add_latency(LatencyTenant { contract: contract.clone(), route, rate, burst });
        }
        self.sharing.iter().for_each(|tenant| tenants.add(tenant.clone()));
        Ok(Some(tenants))
    }
}

fn usage(error: impl ToString) -> Error {
    Error::Usage(error.to_string())
}

/// Observations about the promises of the other kinds.
#[derive(Clone, Debug)]
pub struct ClassVerification {
    network: Network,
    claim: TenantsClaim,
    report: TenantsReport,
    /// Injected fault, and `true` if it changed anything.
    fault: Option<(ClassFault, bool)>,
    /// Bandwidth contracts that pass a port whose buffer may be too small.
    unknown: BTreeSet<String>,
    /// Bandwidth contracts with a weight that met no other contract in any run.
    unmet: Vec<String>,
    /// Bandwidth contracts with a weight of their own; others are weighted by their minima.
    weighted: BTreeSet<String>,
    /// Number of objectives.
    objectives: usize,
}

/// Outcome of an injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassFaultOutcome {
    /// A promise was broken.
    ByPackets,
    /// None was.
    ByNobody,
    /// It changes nothing here.
    NoEffect,
}

/// Lets all tenants send at their limits, and checks the promises of those with minima and objectives. More effort
/// means longer runs and more start times. Nothing is known about minima that pass a port whose buffer may be too
/// small (`short`). If they are late, no promise is broken, and [`ClassVerification::unknown`] counts them. A
/// cancellation keeps complete runs.
///
/// # Errors
/// If the tenants cannot be simulated together.
pub fn verify_kinds(
    tenants: &Tenants,
    effort: &Effort,
    fault: Option<ClassFault>,
    short: &[ShortBuffer],
    watch: &mut Watch<'_>,
) -> Result<ClassVerification, Error> {
    let (millis, shifts) = match effort.seeds {
        seeds if seeds <= Effort::QUICK.seeds => (8, 0),
        seeds if seeds <= Effort::USUAL.seeds => (16, 2),
        _ => (32, 7),
    };
    let mut claim = TenantsClaim::of(tenants, lasting(tenants, Time::from_millis(millis), effort)).map_err(usage)?;
    claim.attack_links(tenants, effort);
    claim.attack_maxima(tenants, effort);
    let fault = fault.map(|fault| (fault, claim.break_by(fault)));
    let shifted = |seed| ClassAttack::Shifted { seed: effort.seed + seed, most: Time::from_millis(1) };
    let attacks: Vec<ClassAttack> = [ClassAttack::AsClaimed].into_iter().chain((0..shifts).map(shifted)).collect();
    let attacks = if fault.is_some_and(|(_, changes)| !changes) { &[][..] } else { &attacks[..] };
    let cancel = watch.cancel();
    let is_stopped = || cancel.is_cancelled();
    let report = verify_tenants_until(&claim, attacks, effort.seed, &is_stopped).map_err(usage)?;
    let unknown = users(tenants, short);
    let has_weight =
        |tenant: &&SharingTenant| matches!(&tenant.contract, Contract::Bandwidth(terms) if terms.weight.is_some());
    let weighted = tenants.sharing().iter().filter(has_weight).map(|tenant| tenant.contract.name().to_owned());
    let weighted: Vec<String> = weighted.collect();
    let unmet = without_contention(&weighted, &claim);
    let weighted = weighted.into_iter().collect();
    let objectives =
        tenants.sharing().iter().filter(|tenant| matches!(tenant.contract, Contract::Objective(_))).count();
    let network = (**tenants.network()).clone();
    Ok(ClassVerification { network, claim, report, fault, unknown, unmet, weighted, objectives })
}

/// Returns the contracts that are not among those that meet at one receiver.
fn without_contention(weighted: &[String], claim: &TenantsClaim) -> Vec<String> {
    let parts = claim.contention.iter().filter_map(|claim| claim.contention.as_ref()).flat_map(|met| &met.parts);
    let met: BTreeSet<&String> = parts.map(|part| &part.service).collect();
    weighted.iter().filter(|name| !met.contains(name)).cloned().collect()
}

/// The bandwidth contracts whose packets may pass one of these ports.
fn users(tenants: &Tenants, short: &[ShortBuffer]) -> BTreeSet<String> {
    let network = tenants.network();
    let links: BTreeSet<LinkId> = short.iter().map(|short| short.link).collect();
    let pass = |tenant: &&SharingTenant| match (&tenant.contract, &tenant.route) {
        (Contract::Bandwidth(_), Some(route)) => route.hops.iter().any(|hop| links.contains(&hop.link)),
        (Contract::Bandwidth(bandwidth), None) => {
            let hosts = bandwidth.between.hosts();
            hosts.iter().any(|&to| {
                let distances = HopDistances::to(network, to);
                let passes =
                    |from| distances.shortest_path_links(network, from).iter().any(|link| links.contains(link));
                hosts.iter().any(|&from| from != to && passes(from))
            })
        }
        _ => false,
    };
    let users = tenants.sharing().iter().filter(|_| !links.is_empty()).filter(pass);
    users.map(|tenant| tenant.contract.name().to_owned()).collect()
}

/// Length of a run, as a multiple of the longest promise. Hoses keep one pattern for a quarter of the run, long
/// enough to show a lag beyond the promise.
const PROMISES_OF_A_RUN: u64 = 8;

/// Links of a path, for the work of a run.
const LINKS_OF_A_PATH: u128 = 4;

/// Packets that a run of the other kinds may put on links, as a multiple of those of a run for latency.
const WORK: u128 = 16;

/// Time of a run: several of the longest promise, as far as the effort allows; promises that are longer than the run are not tested.
fn lasting(tenants: &Tenants, least: Time, effort: &Effort) -> Time {
    let network = tenants.network();
    let longest = tenants.minima().iter().map(|minimum| minimum.within).max().unwrap_or(Time::ZERO);
    let wanted = longest.as_nanos().saturating_mul(PROMISES_OF_A_RUN);
    let frames_per_second = |link: &LinkId| {
        let link = network.link(*link);
        u128::from(link.rate.bits_per_second()) / u128::from(8 * link.mtu.get().max(1))
    };
    let sent: u128 = network.hosts().flat_map(|host| network.links_from(host)).map(frames_per_second).sum();
    let most = u128::from(effort.packet_hops) * WORK * 1_000_000_000 / (sent * LINKS_OF_A_PATH).max(1);
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    least.max(Time::from_nanos(wanted.min(most)))
}

impl ClassVerification {
    /// Returns `true` if no promise was broken.
    pub fn is_sound(&self) -> bool {
        self.breaches().is_empty()
    }

    /// Returns `true` if the runs were stopped before their end: every promise is tested in part, or not at all.
    pub fn is_stopped(&self) -> bool {
        self.report.is_stopped
    }

    /// Returns the number of minima, maxima and given weights that no run tested.
    pub fn untested(&self) -> usize {
        let minima = self.report.minima.iter().filter(|tested| tested.lag.is_none()).count();
        let blind = self.blind().filter(|name| self.weighted.contains(*name)).count();
        minima + self.untested_maxima() + self.unmet.len() + blind + self.weights_without_run()
    }

    /// Returns the number of given weights whose run was stopped before its end.
    fn weights_without_run(&self) -> usize {
        match self.report.contention {
            Some(_) => 0,
            None => self.weighted.len() - self.unmet.len(),
        }
    }

    /// Returns the bandwidth contracts whose part by weight no run could have shown to be missed.
    fn blind(&self) -> impl Iterator<Item = &String> {
        self.report.contention.iter().flat_map(|report| &report.blind_parts)
    }

    /// Returns their number.
    fn blind_weights(&self) -> usize {
        self.blind().count()
    }

    /// Returns the outcome of the injected fault; `None` if no fault was injected.
    pub fn noticed(&self) -> Option<ClassFaultOutcome> {
        let (_, changes) = self.fault?;
        Some(match (changes, self.report.is_sound()) {
            (false, _) => ClassFaultOutcome::NoEffect,
            (true, false) => ClassFaultOutcome::ByPackets,
            (true, true) => ClassFaultOutcome::ByNobody,
        })
    }

    /// Every broken promise as a sentence.
    pub fn breaches(&self) -> Vec<String> {
        self.sentences(|breach| !self.is_condition(breach))
    }

    /// Contracts whose minimum or weight was missed where nothing is known of them, since a buffer may be too small.
    pub fn unknown(&self) -> usize {
        let breaches = self.report.reports().flat_map(|report| &report.breaches);
        let missed = breaches.filter(|(_, breach)| self.is_condition(breach)).filter_map(|(_, breach)| service(breach));
        missed.collect::<BTreeSet<_>>().len()
    }

    /// Returns `true` for a breach of a condition that is not promised. Times of minima depend on the traffic in
    /// flight, which is not promised itself. Where a buffer may be too small, nothing is known about them. An
    /// objective's weight is not promised to be attained. With an injected fault, all breaches count except those
    /// about traffic in flight.
    fn is_condition(&self, breach: &ClassBreach) -> bool {
        match breach {
            ClassBreach::InFlight { .. } => true,
            _ if self.fault.is_some() => false,
            ClassBreach::Weight { .. } | ClassBreach::Share { .. } => true,
            _ => service(breach).is_some_and(|service| self.unknown.contains(service)),
        }
    }

    /// Every condition of a promise that was not met, as a sentence. That breaks no promise by itself.
    pub fn conditions(&self) -> Vec<String> {
        let mut full: BTreeMap<LinkId, u64> = BTreeMap::new();
        for (&link, &drops) in self.report.reports().flat_map(|report| &report.drops) {
            *full.entry(link).or_default() += drops;
        }
        let queue = self.network.classes().map_or(0, |classes| usize::from(classes.queue_of(Class::Guaranteed)));
        let sentence = |(link, drops)| {
            let link = self.network.link(link);
            let queues = &self.network.port(link.port).queues;
            let buffer = queues.get(queue).or(queues.last()).map_or(Bytes::ZERO, |queue| queue.buffer);
            let packets = count(drops, "packet");
            format!(
                "all contracts with a minimum on {}: {packets} did not fit into its buffer of {buffer:#}",
                link.name
            )
        };
        self.sentences(|breach| self.is_condition(breach)).into_iter().chain(full.into_iter().map(sentence)).collect()
    }

    fn sentences(&self, shown: impl Fn(&ClassBreach) -> bool) -> Vec<String> {
        let breaches = self.report.reports().flat_map(|report| &report.breaches);
        let sentences = breaches.filter(|(_, breach)| shown(breach)).map(|(_, breach)| self.sentence(breach));
        let mut seen = BTreeSet::new();
        sentences.filter(|sentence| seen.insert(sentence.clone())).collect()
    }

    fn sentence(&self, breach: &ClassBreach) -> String {
        let node = |node| &self.network.node(node).name;
        let whose = match breach {
            ClassBreach::Minimum { promise, .. } => format!("{} at {}", promise.service, node(promise.host)),
            ClassBreach::Weight { promise, .. } => format!("{} at {}", promise.service, node(promise.host)),
            ClassBreach::Maximum { promise, .. } => format!("{} at {}", promise.service, node(promise.host)),
            ClassBreach::Part { service, host, .. } => format!("{service} at {}", node(*host)),
            ClassBreach::Share { promise, .. } => promise.service.clone(),
            ClassBreach::InFlight { promise, .. } => {
                format!("all contracts with a minimum on {}", self.network.link(promise.link).name)
            }
        };
        format!("{whose}: {breach}")
    }

    fn runs(&self) -> usize {
        self.report.reports().map(|report| report.runs).sum()
    }

    /// Returns the number of checked promises, without weights that could not have been missed.
    pub fn promises(&self) -> usize {
        // Attacks on links are about promises that are counted with all tenants.
        let TenantsReport { whole, windows, contention, .. } = &self.report;
        let reports = [Some(whole), windows.as_ref(), contention.as_ref()].into_iter().flatten();
        reports.map(|report| report.promises).sum::<usize>() - self.blind_weights()
    }

    /// Returns the number of bandwidth contracts that meet at one receiver.
    fn parts(&self) -> usize {
        let contention = self.claim.contention.as_ref().and_then(|claim| claim.contention.as_ref());
        contention.map_or(0, |contention| contention.parts.len())
    }

    /// Returns the attacks on links for documents.
    fn link_shapes(&self) -> Vec<LinkJson> {
        let of = |attack: &LinkReport| LinkJson {
            link: self.network.link(attack.link).name.clone(),
            pattern: attack.pattern.name(),
            demand_bps: attack.demand.bits_per_second(),
            minima: attack.minima.len(),
            largest_lag_per_mille: attack.report.largest_lag,
            violations: attack.report.breaches.len(),
        };
        self.report.links.iter().map(of).collect()
    }

    /// Returns every minimum with its worst observation, for documents.
    fn minimum_shapes(&self) -> Vec<MinimumJson> {
        let of = |(promise, tested): (&MinimumPromise, &TestedMinimum)| MinimumJson {
            contract: promise.service.clone(),
            host: self.network.node(promise.host).name.clone(),
            within_ns: promise.within.as_nanos(),
            lag_ns: tested.lag.map(|lag| lag.as_nanos()),
            could_show_ns: tested.could.as_nanos(),
            least_rate_per_mille: tested.rate,
            attack: match tested.by {
                Some((link, pattern)) => format!("{pattern} on {}", self.network.link(link).name),
                None => "not tested".to_owned(),
            },
        };
        self.claim.whole.minima.iter().zip(&self.report.minima).map(of).collect()
    }

    /// The largest part of a maximum that was seen, per mille.
    fn largest_of_maximum(&self) -> Option<u64> {
        self.report.reports().filter_map(|report| report.largest_of_maximum).max()
    }

    /// Returns the node where bandwidth contracts met, and the largest deviation of a contract from its due share,
    /// per mille.
    fn farthest_from_part(&self) -> Option<(NodeId, u64)> {
        let host = self.claim.contention.as_ref()?.contention.as_ref()?.host;
        Some((host, self.report.contention.as_ref()?.farthest_from_part?))
    }

    /// For documents.
    pub(super) fn shape(&self) -> KindsJson {
        let has_lag = self.report.minima.iter().any(|tested| tested.lag.is_some());
        let has_bound = !self.claim.whole.in_flight.is_empty();
        KindsJson {
            promises: self.promises(),
            runs: self.runs(),
            stopped: self.is_stopped(),
            broken: self.fault.map(|(fault, _)| fault.name()),
            largest_lag_per_mille: has_lag.then_some(self.report.whole.largest_lag),
            largest_in_flight_per_mille: (has_bound && self.report.whole.runs > 0)
                .then_some(self.report.whole.largest_in_flight),
            windows_in_flight_per_mille: self.report.windows.as_ref().map(|windows| windows.largest_in_flight),
            smallest_weight_per_mille: self.report.whole.smallest_weight,
            largest_of_maximum_per_mille: self.largest_of_maximum(),
            farthest_from_part_per_mille: self.farthest_from_part().map(|(_, farthest)| farthest),
            untested_weights: self.blind_weights(),
            untested_objectives: self.objectives,
            links: self.link_shapes(),
            minima: self.minimum_shapes(),
            maxima: self.maximum_shapes(),
            weights_without_contention: self.unmet.clone(),
            conditions: self.conditions(),
            violations: self.breaches(),
        }
    }
}

/// The bandwidth contract whose minimum or weight was missed.
fn service(breach: &ClassBreach) -> Option<&str> {
    match breach {
        ClassBreach::Minimum { promise, .. } => Some(&promise.service),
        ClassBreach::Part { service, .. } => Some(service),
        _ => None,
    }
}

/// `1 maximum`, `2 maxima`.
fn count_of(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
