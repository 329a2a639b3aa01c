//! Statements of a plan about minima, objectives and best effort.

use std::collections::{BTreeMap, HashMap, HashSet};

use wayleave_adversary::{AdmittedClaim, Discrepancy, Statement};
use wayleave_contracts::{
    BandwidthContract, BestEffortContract, BucketDemand, Contract, Endpoints, FlowObjective, LatencyContract,
    ObjectiveContract,
};
use wayleave_ledger::{Ledger, Model, PathSpread, ReservedShare};
use wayleave_recheck::{HeldShare, HoseCharge, PromisedShare, StatedCertainty};
use wayleave_scenarios::{LatencyTenant, SharingTenant, Tenants};
use wayleave_schemes::admission::fabric::Settings;
use wayleave_topology::{Hop, Network, NodeId, Route};
use wayleave_units::{Rate, Time};

use super::document::{Entry, Reader, time};
use crate::error::Error;

/// Tenants with minima, objectives and best effort, as a plan leaves them in the end.
#[derive(Clone, Debug, Default)]
pub struct PlannedClasses {
    /// In the order in which they came.
    sharing: BTreeMap<usize, (SharingTenant, Option<PromisedShare>)>,
    by_name: HashMap<String, usize>,
    came: usize,
    /// Requests of latency contracts, if available.
    contracts: HashMap<String, LatencyContract>,
}

impl PlannedClasses {
    /// Adds a tenant, in the place of one of the same name if there is one.
    pub(super) fn add(&mut self, tenant: SharingTenant, share: Option<PromisedShare>) {
        let name = tenant.contract.name().to_owned();
        self.came += 1;
        let place = *self.by_name.entry(name).or_insert(self.came);
        self.sharing.insert(place, (tenant, share));
    }

    /// Sets the certainty that a contract has in the end.
    pub(super) fn set_certainty(&mut self, name: &str, certainty: Option<StatedCertainty>) {
        let place = self.by_name.get(name).and_then(|place| self.sharing.get_mut(place));
        if let Some((_, Some(share))) = place {
            share.certainty = certainty;
        }
    }

    /// Removes the tenant of this name; returns `true` if there was one.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.by_name.remove(name).is_some_and(|place| self.sharing.remove(&place).is_some())
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sharing.is_empty()
    }

    /// Returns the stated promises of classes below the latency queues.
    pub(super) fn shares(&self) -> Vec<PromisedShare> {
        self.sharing.values().filter_map(|(_, share)| share.clone()).collect()
    }

    pub(super) fn know(&mut self, contract: &LatencyContract) {
        self.contracts.insert(contract.name.clone(), contract.clone());
    }

    /// Returns all tenants on the network, with the routes and bursts of latency contracts from a claim.
    ///
    /// # Errors
    /// If the network has no classes.
    pub fn tenants(&self, statement: &Statement, claim: &AdmittedClaim, model: &Model) -> Result<Tenants, Error> {
        let network = &statement.network;
        let mut budgets = vec![Vec::new(); network.links().len()];
        statement.queues.iter().for_each(|given| budgets[given.link.index()].push(given.budget));
        let usage = |error: &dyn ToString| Error::Usage(error.to_string());
        let ledger = Ledger::new(network.clone(), *model, budgets).map_err(|error| usage(&error))?;
        let mut ledger =
            ledger.with_shares(Settings::default().guaranteed_budget, wayleave_ledger::HoseCharge::default());
        // Copies of protected contracts take other links as well.
        for promise in &claim.promises {
            let demand = BucketDemand { rate: promise.rate, burst: promise.burst, max_frame: Some(promise.frame) };
            ledger.reserve(demand, promise.route.clone());
        }
        // The round trip of a link is that of the pairs that may use it.
        for (_, promised) in self.sharing.values() {
            promised.iter().for_each(|promised| _ = ledger.reserve_share(share(promised)));
        }
        let links = network.links().filter_map(|(id, _)| Some((*ledger.shared_link(id)?, ledger.residual(id))));
        let mut tenants = Tenants::new(network, links.collect()).map_err(|error| usage(&error))?;
        let copies: HashSet<usize> =
            claim.protected.iter().flat_map(|one| one.routes.iter().skip(1).copied()).collect();
        for promise in (0..).zip(&claim.promises).filter_map(|(number, one)| (!copies.contains(&number)).then_some(one))
        {
            let (Some(first), Some(last)) = (promise.route.hops.first(), promise.route.hops.last()) else { continue };
            let stated = || {
                LatencyContract::new(
                    promise.name.clone(),
                    network.link(first.link).from,
                    network.link(last.link).to,
                    promise.rate,
                    promise.burst,
                    promise.bound,
                )
            };
            tenants.add_latency(LatencyTenant {
                contract: self.contracts.get(&promise.name).cloned().unwrap_or_else(stated),
                route: promise.route.clone(),
                rate: promise.rate,
                burst: promise.burst,
            });
        }
        self.sharing.values().for_each(|(tenant, _)| tenants.add(tenant.clone()));
        Ok(tenants)
    }
}

/// A promised share as the ledger holds it.
pub(super) fn share(promised: &PromisedShare) -> ReservedShare {
    let (min, is_timed) = (promised.min, promised.there_within.is_some());
    match &promised.held {
        HeldShare::Pair(_, _, route) => ReservedShare::Pair { min, route: route.clone(), is_timed },
        HeldShare::Link(link) => {
            let route = Route { hops: vec![Hop { link: *link, queue: 0 }] };
            ReservedShare::Pair { min, route, is_timed }
        }
        HeldShare::Hose { members, charge } => {
            let spread = match charge {
                HoseCharge::EvenSplits => PathSpread::AllPaths,
                HoseCharge::ChosenPaths | HoseCharge::EveryPath => PathSpread::OnePath,
            };
            ReservedShare::Hose { min, members: members.clone(), spread, is_timed }
        }
        HeldShare::Objective(members) => ReservedShare::Objective { weight: min, members: members.clone() },
    }
}

/// Returns `true` unless a pair has a route that does not join its hosts.
pub(super) fn is_possible(network: &Network, promised: &PromisedShare) -> bool {
    let HeldShare::Pair(from, to, route) = &promised.held else { return true };
    route.hops.iter().all(|hop| hop.link.index() < network.links().len()) && route.validate(network, *from, *to).is_ok()
}

impl Reader<'_> {
    /// Adds a contract that is stated as admitted, and its reservation.
    pub(super) fn share(
        &self,
        entry: &Entry,
        findings: &mut Vec<Discrepancy>,
    ) -> Result<(SharingTenant, Option<PromisedShare>), String> {
        let mut contract = self.stated(entry)?;
        if let Some(contracts) = &self.contracts {
            let name = entry.name.as_str();
            let unknown = || format!("\"{name}\" is admitted, but is not among the contracts that were given");
            let asked = *contracts.get(name).ok_or_else(unknown)?;
            findings.extend(self.differences(&contract, asked));
            contract = asked.clone();
        }
        let within = entry.share.there_within_ns.map(|within| time(within, &entry.name)).transpose()?;
        if let Contract::Bandwidth(BandwidthContract { name, within: Some(asked), .. }) = &contract
            && within.is_none_or(|within| within > *asked)
        {
            let given = within.map_or_else(|| "no time".to_owned(), |within| format!("{within:#}"));
            findings.push(asked_for(name, "a minimum reached within", given, format!("{asked:#}")));
        }
        let share = self.held(entry, &contract)?.map(|share| PromisedShare { there_within: within, ..share });
        // A forged route is named by the recheck; packets cannot take it.
        let possible = share.as_ref().filter(|share| is_possible(self.network, share));
        let route = possible.and_then(|share| match &share.held {
            HeldShare::Pair(_, _, route) => Some(route.clone()),
            _ => None,
        });
        Ok((SharingTenant { contract, within, route }, share))
    }

    /// Returns the request of a contract as stated in the plan.
    fn stated(&self, entry: &Entry) -> Result<Contract, String> {
        let (name, terms) = (entry.name.clone(), &entry.share);
        let missing = |what: &str| format!("\"{}\" is admitted, but has no {what}", entry.name);
        let members: Vec<NodeId> = terms.members.iter().map(|name| self.node(name)).collect::<Result<_, _>>()?;
        let rate = |bits: u64| {
            let rate = Some(Rate::from_bits_per_second(bits)).filter(|&rate| rate <= Rate::MAX);
            rate.ok_or_else(|| format!("\"{}\" has a rate above {:#}", entry.name, Rate::MAX))
        };
        let min = || rate(terms.min_bps.ok_or_else(|| missing("minimum"))?);
        let contract = match terms.kind.as_deref().unwrap_or_default() {
            "bandwidth" => {
                let between = match (terms.between.as_deref(), &members[..]) {
                    (Some("pair"), &[from, to]) => Endpoints::Pair(from, to),
                    (Some("hose"), _) => Endpoints::Hose(members),
                    _ => return Err(missing("`between` that fits its members")),
                };
                Contract::Bandwidth(BandwidthContract {
                    name,
                    tenant: None,
                    between,
                    min: min()?,
                    max: terms.max_bps.map(rate).transpose()?,
                    weight: terms.weight,
                    within: terms.within_ns.map(|within| time(within, &entry.name)).transpose()?,
                })
            }
            "objective" => {
                let aim = terms.objective.as_deref().unwrap_or_default();
                let known = FlowObjective::NAMED.into_iter().find(|(known, _)| *known == aim);
                Contract::Objective(ObjectiveContract {
                    name,
                    tenant: None,
                    objective: known.ok_or_else(|| missing("objective"))?.1,
                    deadline: entry.deadline_ns.map(|deadline| time(deadline, &entry.name)).transpose()?,
                    members,
                    min: min()?,
                })
            }
            "best-effort" => Contract::BestEffort(BestEffortContract {
                name,
                tenant: None,
                members,
                max: terms.max_bps.map(rate).transpose()?,
            }),
            other => return Err(format!("\"{name}\" is of unknown kind \"{other}\"")),
        };
        let valid = match &contract {
            Contract::Bandwidth(contract) => contract.validate(self.network),
            Contract::Objective(contract) => contract.validate(self.network),
            Contract::BestEffort(contract) => contract.validate(self.network),
            Contract::Latency(_) => Ok(()),
        };
        valid.map_err(|error| format!("\"{}\": {error}", entry.name))?;
        Ok(contract)
    }

    /// Returns the promise of a contract's minimum and its location; `None` for best effort and latency.
    fn held(&self, entry: &Entry, contract: &Contract) -> Result<Option<PromisedShare>, String> {
        let (min, held) = match contract {
            Contract::Bandwidth(contract) => match &contract.between {
                Endpoints::Pair(from, to) => {
                    let missing = || format!("\"{}\" is admitted, but has no route", entry.name);
                    let route = self.route(entry.route.as_ref().ok_or_else(missing)?)?;
                    (contract.min, HeldShare::Pair(*from, *to, route))
                }
                Endpoints::Hose(members) => {
                    let charge = self.charge;
                    (contract.min, HeldShare::Hose { members: members.clone(), charge })
                }
            },
            Contract::Objective(contract) => (contract.min, HeldShare::Objective(contract.members.clone())),
            Contract::BestEffort(_) | Contract::Latency(_) => return Ok(None),
        };
        Ok(Some(PromisedShare { name: entry.name.clone(), min, held, there_within: None, certainty: None }))
    }

    /// Returns the differences between a stated request and the contract.
    fn differences(&self, stated: &Contract, asked: &Contract) -> Vec<Discrepancy> {
        let (given, here) = (words(self.network, stated), words(self.network, asked));
        let differ = given.into_iter().zip(here).filter(|((_, given), (_, here))| given != here);
        differ.map(|((what, given), (_, here))| asked_for(stated.name(), what, given, here)).collect()
    }
}

fn asked_for(name: &str, what: &'static str, stated: String, contract: String) -> Discrepancy {
    Discrepancy::Asked { name: name.to_owned(), what, stated, contract }
}

/// The terms of a contract, in the same order for all kinds.
fn words(network: &Network, contract: &Contract) -> [(&'static str, String); 6] {
    let none = || "nothing".to_owned();
    let (min, max, weight, within) = match contract {
        Contract::Bandwidth(contract) => (Some(contract.min), contract.max, contract.weight, contract.within),
        Contract::Objective(contract) => (Some(contract.min), None, None, contract.deadline),
        Contract::BestEffort(contract) => (None, contract.max, None, None),
        Contract::Latency(_) => (None, None, None, None),
    };
    let kind = match contract {
        Contract::Objective(contract) => contract.objective.name(),
        Contract::Bandwidth(BandwidthContract { between: Endpoints::Pair(..), .. }) => "bandwidth of a pair",
        Contract::Bandwidth(_) => "bandwidth of a hose",
        Contract::BestEffort(_) => "best effort",
        Contract::Latency(_) => "a latency contract",
    };
    let hosts = contract.hosts();
    let names: Vec<&str> = hosts.iter().map(|&host| network.node(host).name.as_str()).collect();
    let rate = |rate: Option<Rate>| rate.map_or_else(none, |rate| format!("{rate:#}"));
    [
        ("the kind", kind.to_owned()),
        ("hosts:", names.join(", ")),
        ("a minimum of", rate(min)),
        ("at most", rate(max)),
        ("a weight of", weight.map_or_else(none, |weight| weight.to_string())),
        ("a time of", within.map_or_else(none, |within: Time| format!("{within:#}"))),
    ]
}
