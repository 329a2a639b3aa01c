//! `/v1/traffic` and `/v1/contracts/{contract}/traffic`: counters of contracts, as agents report them.
//!
//! The order follows from reports of every second, so no table holds it: contracts are looked through, and those that send most kept.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use wayleave_contracts::{Contract, Endpoints};
use wayleave_controller::{AdmittedContract, Id, State};
use wayleave_protocol::agent::Traffic;
use wayleave_protocol::traffic::{ContractCounters, ContractTraffic, TopTraffic};
use wayleave_topology::NodeId;

use crate::answer::{HttpReply, Outcome, not_found};
use crate::first_of::FirstOf;
use crate::handlers::lists::tenant;
use crate::http::call::AuthorizedRequest;
use crate::http::page::Page;
use crate::rendered::ContractObject;
use crate::state::Shared;

pub(crate) async fn of_contract(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let id = call.id("contract")?;
    let contract = shared.view.read().contract(&id).cloned();
    let Some(contract) = contract else { return Err(not_found("contract", &id.to_string())) };
    let counters = shared.counters(contract.grant(), call.only_tenant().is_some());
    Ok(HttpReply::json(200, &counters))
}

pub(crate) fn top(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let limit = Page::read(&call.query)?.limit;
    let tenant = tenant(shared, call)?;
    Ok(HttpReply::json(200, &shared.top(tenant.as_deref(), call.only_tenant().is_some(), limit)))
}

/// Place of a contract among all: the highest known rate first, unknown rates last.
type Place = (Reverse<Option<u64>>, Arc<Id>);

impl Shared {
    /// Returns the counters of a contract; without its number for tenants, since numbers would reveal how many
    /// contracts others have.
    pub(crate) fn counters(&self, grant: &AdmittedContract, is_tenants: bool) -> ContractTraffic {
        let hosts = counting_hosts(&grant.order.contract);
        let names = hosts.iter().map(|&host| self.network().node(host).name.as_str());
        let mut counters = self.counted.counters(self.load.now().0, names, grant.serial);
        if let Some(traffic) = counters.traffic.as_mut().filter(|_| is_tenants) {
            *traffic = Traffic { serial: 0, ..std::mem::take(traffic) };
        }
        counters
    }

    fn top(&self, only: Option<&str>, is_tenants: bool, limit: usize) -> TopTraffic {
        let mut top = TopTraffic::default();
        let mut first = FirstOf::new(limit);
        self.each_contract(only, |contract| {
            if contract.state() == State::Released {
                return;
            }
            let counters = self.counters(contract.grant(), is_tenants);
            top.contracts += 1;
            // A lower bound of 0 is no measurement.
            let is_known = |rate: &u64| *rate > 0 || counters.reporting == counters.hosts;
            if let Some(rate) = counters.rate_bps.filter(is_known) {
                top.measured += 1;
                top.partial += u64::from(counters.reporting < counters.hosts);
                top.rate_bps = Some(top.rate_bps.unwrap_or(0).saturating_add(rate));
            }
            let place = (Reverse(counters.rate_bps), contract.id().clone());
            first.add(place, || (contract.clone(), counters));
        });
        let shown = |(_, (contract, counters)): (Place, (Arc<ContractObject>, ContractTraffic))| ContractCounters {
            contract: contract.document(self.network(), is_tenants),
            counters,
        };
        top.items = first.into_sorted().into_iter().map(shown).collect();
        top.omitted = top.contracts - top.items.len() as u64;
        top
    }
}

/// Measured rates of all contracts at one time.
pub(crate) struct MeasuredRates(HashMap<u64, Vec<(NodeId, u64)>>);

impl MeasuredRates {
    pub(crate) fn of(shared: &Shared, now: Instant) -> Self {
        if !shared.receives_reports() {
            return Self(HashMap::new());
        }
        Self(shared.counted.rates(now, |name| shared.network().find_node(name)))
    }

    /// Returns `true` if no host has reported a rate.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the sum over the hosts that count the packets of a contract; `None` if none of them has reported.
    pub(crate) fn of_contract(&self, grant: &AdmittedContract) -> Option<u64> {
        self.of_hosts(grant).0
    }

    /// Returns the sum over the hosts that count the packets of a contract, the number of hosts in the sum, and of all.
    pub(crate) fn of_hosts(&self, grant: &AdmittedContract) -> (Option<u64>, usize, usize) {
        let hosts = counting_hosts(&grant.order.contract);
        let rates = self.0.get(&grant.serial).into_iter().flatten();
        let known: Vec<u64> = rates.filter(|(host, _)| hosts.contains(host)).map(|&(_, rate)| rate).collect();
        (known.iter().copied().reduce(u64::saturating_add), known.len(), hosts.len())
    }
}

/// Returns the hosts whose agents count the packets of a contract: of a pair only its sender.
pub(crate) fn counting_hosts(contract: &Contract) -> BTreeSet<NodeId> {
    match contract {
        Contract::Latency(latency) => BTreeSet::from([latency.from]),
        Contract::Bandwidth(bandwidth) => match &bandwidth.between {
            Endpoints::Pair(from, _) => BTreeSet::from([*from]),
            Endpoints::Hose(members) => members.iter().copied().collect(),
        },
        Contract::Objective(objective) => objective.members.iter().copied().collect(),
        Contract::BestEffort(_) => BTreeSet::new(),
    }
}
