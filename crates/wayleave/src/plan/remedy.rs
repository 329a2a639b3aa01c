//! Delay budgets of single ports with which one refused contract is admitted: `explain` prints them, ready to be pasted.
//!
//! Every candidate is tried: the contracts before the refused one are decided again with these budgets, and as many of
//! them must be admitted as before. `BudgetAdvice` searches budgets of all ports for a whole list.

use std::collections::BTreeMap;

use serde::Serialize;
use wayleave_contracts::{Contract, LatencyContract};
use wayleave_scheme_api::{Binding, Refusal};
use wayleave_schemes::admitted::AdmittedSet as _;
use wayleave_schemes::placement::Placement;
use wayleave_schemes::reservations::paths;
use wayleave_schemes::routing::RouteQuery;
use wayleave_topology::{Hop, LinkId, MAX_BUDGET, NodeKind, Route};
use wayleave_units::Time;

use crate::contracts::Contracts;
use crate::error::Error;
use crate::network::Network;
use crate::schemes::PlanOptions;
use crate::session::Session;

/// Maximum number of decisions of a search: a moment, also for long lists.
const MAX_DECISIONS: usize = 20_000;
/// Maximum number of shortest paths that are inspected.
const MAX_PATHS: usize = 16;
/// Maximum number of budgets that are raised one after the other.
const MAX_RAISES: usize = 8;

/// Maximum number of contracts of a list for which budgets are searched.
const MAX_SEARCHES: usize = 4;

/// Place of the budgets in the description of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetPlace {
    /// Keys of a link in a topology file.
    Link,
    /// Keys of a builder, for all ports of hosts or of switches.
    Builder,
}

/// Delay budgets of a port, highest priority first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PortBudgets {
    /// Link to which the port sends.
    pub link: String,
    /// `budgets`, or `hostBudgets` for a port of a host.
    pub key: &'static str,
    /// The budgets, one for each queue for latency contracts.
    #[serde(rename = "budgets_ns", serialize_with = "nanos")]
    pub budgets: Vec<Time>,
}

/// Delay budgets of a few ports with which a refused contract is admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BudgetRemedy {
    /// The ports.
    pub ports: Vec<PortBudgets>,
    /// Delay bound of the contract with them.
    #[serde(rename = "bound_ns", serialize_with = "one")]
    pub bound: Time,
    /// Number of contracts before it that are admitted with them.
    pub admitted: u64,
}

fn nanos<S: serde::Serializer>(times: &[Time], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(times.iter().map(|time| time.as_nanos()))
}

fn one<S: serde::Serializer>(time: &Time, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.as_nanos())
}

/// New budgets of links.
type Changes = BTreeMap<LinkId, Vec<Time>>;

/// Result of a candidate.
enum Trial {
    Admitted(Time),
    Refused(Refusal),
    /// An earlier contract is refused.
    Displaces,
}

struct Search<'a> {
    session: &'a Session,
    earlier: &'a [&'a Contract],
    contract: &'a LatencyContract,
    place: BudgetPlace,
    /// Number of earlier contracts that were admitted.
    admitted: u64,
    trials: usize,
}

impl BudgetRemedy {
    /// Returns budgets with which a contract is admitted after `earlier` ones, of which `admitted` were admitted; `None`
    /// if the refusal does not depend on budgets, or a short search finds none.
    ///
    /// # Errors
    /// If the network cannot be rebuilt, which would be a mistake here.
    pub fn search(
        session: &Session,
        (earlier, admitted): (&[&Contract], u64),
        (contract, refusal): (&LatencyContract, &Refusal),
        place: BudgetPlace,
    ) -> Result<Option<Self>, Error> {
        let Some(placement) = session.scheme().queues().filter(|_| refusal.depends_on_budgets()) else {
            return Ok(None);
        };
        let trials = MAX_DECISIONS / (earlier.len() + 1);
        let mut search = Search { session, earlier, contract, place, admitted, trials };
        match refusal.innermost() {
            Refusal::Blocked { .. } => search.raise(placement, refusal),
            Refusal::Deadline { .. } => {
                let query = RouteQuery::of(&session.request(contract));
                let first =
                    |links: Vec<LinkId>| Route { hops: links.iter().map(|&link| Hop { link, queue: 0 }).collect() };
                let routes = paths(placement, &query, MAX_PATHS).paths.into_iter().map(|path| first(path.links));
                let fastest = routes.min_by_key(|route| placement.bound(route));
                fastest.map_or(Ok(None), |route| search.lower(placement, &route))
            }
            Refusal::TooSlow { route, .. } => search.lower(placement, route),
            _ => Ok(None),
        }
    }

    /// Returns the first contract of a list that a short search can help, with budgets that admit it after those before
    /// it. The session gives network, scheme and model.
    ///
    /// # Errors
    /// If the network cannot be rebuilt, which would be a mistake here.
    pub fn of_first<'c>(
        session: &Session,
        contracts: &'c Contracts,
        place: BudgetPlace,
    ) -> Result<Option<(&'c str, Self)>, Error> {
        let all: Vec<&Contract> = contracts.all().map(|(_, contract)| contract).collect();
        let options = PlanOptions::default().with_scheme(session.options().clone()).with_model(*session.model());
        let mut session = Session::open(&session.to_network(), &options)?;
        let (mut admitted, mut searches) = (0, 0);
        for (at, contract) in all.iter().enumerate() {
            let refusal = match contract.as_latency() {
                Some(latency) => session.admit(latency).decision.err().map(|refusal| (latency, refusal)),
                None => {
                    admitted += u64::from(session.admit_share(contract).0.is_ok());
                    continue;
                }
            };
            let Some((latency, refusal)) = refusal else {
                admitted += 1;
                continue;
            };
            if refusal.depends_on_budgets() && searches < MAX_SEARCHES {
                searches += 1;
                let remedy = Self::search(&session, (&all[..at], admitted), (latency, &refusal), place)?;
                if let Some(remedy) = remedy {
                    return Ok(Some((latency.name.as_str(), remedy)));
                }
            }
        }
        Ok(None)
    }

    /// Returns a line for each port, to be pasted.
    pub fn lines(&self, place: BudgetPlace) -> Vec<String> {
        let list =
            |budgets: &[Time], between: &str| budgets.iter().map(Time::to_string).collect::<Vec<_>>().join(between);
        let line = |port: &PortBudgets| match place {
            BudgetPlace::Link => format!("link {}: {}: [{}]", port.link, port.key, list(&port.budgets, ", ")),
            BudgetPlace::Builder => format!("{}={}", port.key, list(&port.budgets, "+")),
        };
        self.ports.iter().map(line).collect()
    }
}

impl Search<'_> {
    /// Raises each budget that blocks the contract to the delay bound that would result.
    fn raise(&mut self, placement: &Placement, refusal: &Refusal) -> Result<Option<BudgetRemedy>, Error> {
        let (mut changes, mut refusal) = (Changes::new(), refusal.clone());
        for _ in 0..MAX_RAISES {
            let Refusal::Blocked { binding: Binding::Delay { link, queue, bound, .. }, .. } = refusal.innermost()
            else {
                return Ok(None);
            };
            let raised = rounded_up(*bound);
            if raised > MAX_BUDGET {
                return Ok(None);
            }
            let budgets = changes.entry(*link).or_insert_with(|| placement.ledger().budgets(*link).collect());
            budgets.iter_mut().skip(usize::from(*queue)).for_each(|budget| *budget = (*budget).max(raised));
            match self.attempt(&changes)? {
                Trial::Admitted(bound) => return Ok(Some(self.remedy(&changes, bound))),
                Trial::Refused(next) => refusal = next,
                Trial::Displaces => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Lowers budgets on a route until its bound is the deadline: first in proportion to what the present contracts
    /// leave of each, then of one port alone, then in proportion to the budgets.
    fn lower(&mut self, placement: &Placement, route: &Route) -> Result<Option<BudgetRemedy>, Error> {
        let excess = placement.bound(route).saturating_sub(self.contract.deadline).as_nanos();
        let ledger = placement.ledger();
        let budgets: Vec<u64> = route.hops.iter().map(|&hop| ledger.budget(hop).as_nanos()).collect();
        let unused = |(&hop, &budget): (&Hop, &u64)| {
            let report = ledger.report(hop.link).into_iter().nth(usize::from(hop.queue));
            let bound = report.and_then(|report| report.delay_bound());
            bound.map_or(0, |bound| budget.saturating_sub(bound.as_nanos()))
        };
        let unused: Vec<u64> = route.hops.iter().zip(&budgets).map(unused).collect();
        let alone = |at: usize| (0..budgets.len()).map(|other| u64::from(other == at)).collect::<Vec<_>>();
        let mut ports: Vec<usize> = (0..budgets.len()).collect();
        ports.sort_by_key(|&at| std::cmp::Reverse(unused[at]));
        let parts = [unused.clone()].into_iter().chain(ports.into_iter().map(alone)).chain([budgets.clone()]);
        for parts in parts {
            let Some(changes) = lowered(placement, route, excess, &parts) else { continue };
            if let Trial::Admitted(bound) = self.attempt(&changes)? {
                return Ok(Some(self.remedy(&changes, bound)));
            }
        }
        Ok(None)
    }

    fn remedy(&self, changes: &Changes, bound: Time) -> BudgetRemedy {
        let network = self.session.network();
        let port = |(link, budgets): (&LinkId, &Vec<Time>)| {
            let link = network.link(*link);
            let is_host = network.node(link.from).kind == NodeKind::Host;
            let key = if is_host { "hostBudgets" } else { "budgets" };
            PortBudgets { link: link.name.clone(), key, budgets: budgets.clone() }
        };
        let mut ports: Vec<PortBudgets> = changes.iter().map(port).collect();
        if self.place == BudgetPlace::Builder {
            ports.dedup_by(|one, other| one.key == other.key);
        }
        BudgetRemedy { ports, bound, admitted: self.admitted }
    }

    /// Decides the contracts again with changed budgets.
    fn attempt(&mut self, changes: &Changes) -> Result<Trial, Error> {
        if self.trials == 0 {
            return Ok(Trial::Displaces);
        }
        self.trials -= 1;
        let network = self.applied(changes)?;
        let options = PlanOptions::default().with_scheme(self.session.options().clone());
        let mut session = Session::open(&network, &options.with_model(*self.session.model()))?;
        let mut admitted = 0;
        for contract in self.earlier {
            admitted += u64::from(match contract.as_latency() {
                Some(contract) => session.try_admit(contract),
                None => session.admit_share(contract).0.is_ok(),
            });
        }
        if admitted < self.admitted {
            return Ok(Trial::Displaces);
        }
        Ok(match session.admit(self.contract).decision {
            Ok(decision) => Trial::Admitted(decision.bound),
            Err(refusal) => Trial::Refused(refusal),
        })
    }

    /// Returns the network with changed budgets, as a topology has it after they are pasted: a cable between switches
    /// has the budgets in both directions, and a builder has them for all ports of a kind.
    fn applied(&self, changes: &Changes) -> Result<Network, Error> {
        let network = self.session.network();
        let kind = |link: LinkId| network.node(network.link(link).from).kind;
        let mut all = changes.clone();
        for (&link, budgets) in changes {
            let is_affected = |other: LinkId| match self.place {
                BudgetPlace::Builder => kind(other) == kind(link),
                BudgetPlace::Link => is_reverse(network, link, other) && kind(other) == kind(link),
            };
            let others = network.links().map(|(other, _)| other).filter(|&other| is_affected(other));
            for other in others {
                all.entry(other).or_insert_with(|| budgets.clone());
            }
        }
        let changed = network.with_ports_of_links(|link, port| {
            let Some(budgets) = all.get(&link) else { return };
            for (at, queue) in port.queues.iter_mut().enumerate() {
                queue.budget = budgets.get(at).copied();
            }
        });
        let changed = changed.map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Network::new(self.session.topology(), changed))
    }
}

/// Returns `true` if two links are the directions of one cable, or of parallel ones.
fn is_reverse(network: &wayleave_topology::Network, link: LinkId, other: LinkId) -> bool {
    let (link, other) = (network.link(link), network.link(other));
    (link.from, link.to) == (other.to, other.from)
}

/// Returns the budgets of a route's queues, lowered by parts of an excess; `None` if nothing remains of one.
fn lowered(placement: &Placement, route: &Route, excess: u64, parts: &[u64]) -> Option<Changes> {
    let sum: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    let mut changes = Changes::new();
    for (hop, &part) in route.hops.iter().zip(parts).filter(|(_, part)| **part > 0) {
        let reduction = (u128::from(excess) * u128::from(part)).div_ceil(sum);
        let budget = placement.ledger().budget(*hop).as_nanos().checked_sub(u64::try_from(reduction).ok()?)?;
        let lowered = Time::from_nanos(budget - budget % GRANULE);
        let mut budgets: Vec<Time> = placement.ledger().budgets(hop.link).collect();
        budgets.iter_mut().take(usize::from(hop.queue) + 1).for_each(|budget| *budget = (*budget).min(lowered));
        changes.insert(hop.link, budgets);
    }
    let is_positive = changes.values().flatten().all(|&budget| budget > Time::ZERO);
    (is_positive && !changes.is_empty()).then_some(changes)
}

/// Lowered budgets are multiples of this number of nanoseconds.
const GRANULE: u64 = 100;

/// Rounds up to three digits.
fn rounded_up(time: Time) -> Time {
    let nanos = time.as_nanos();
    let unit = 10_u64.pow(nanos.checked_ilog10().unwrap_or(0).saturating_sub(2));
    Time::from_nanos(nanos.div_ceil(unit).saturating_mul(unit))
}
