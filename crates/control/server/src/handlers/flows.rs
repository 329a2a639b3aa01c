//! `/v1/flows`: measured and reserved rates from tenants over links to hosts.
//!
//! Rates follow from reports of every second, so no table holds them: all contracts are looked through.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wayleave_contracts::{Contract, Endpoints};
use wayleave_controller::State;
use wayleave_protocol::load::{FlowEdge, FlowElement, FlowElementKind, Flows};
use wayleave_topology::{LinkId, NodeId};

use crate::answer::{HttpReply, Outcome};
use crate::handlers::lists;
use crate::handlers::traffic::counting_hosts;
use crate::http::call::AuthorizedRequest;
use crate::load::reserved_bps;
use crate::rendered::ContractObject;
use crate::state::Shared;

/// Number of paths shown by default.
const PATHS: u64 = 20;

/// A tenant, a link, and the host behind it.
type Path = (String, LinkId, NodeId);

/// Rates on a path or an edge.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    measured: Option<u64>,
    /// Contracts whose rate is not known here.
    unmeasured: u64,
    reserved: u64,
}

impl Rates {
    /// Of one contract.
    fn new(measured: Option<u64>, reserved: u64) -> Self {
        Self { measured, unmeasured: u64::from(measured.is_none()), reserved }
    }

    fn add(&mut self, other: Self) {
        self.measured = match (self.measured, other.measured) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.unmeasured += other.unmeasured;
        self.reserved = self.reserved.saturating_add(other.reserved);
    }
}

pub(crate) fn get(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let limit = call.query.number("limit").unwrap_or(PATHS);
    let tenant = lists::tenant(shared, call)?;
    let is_tenants = call.only_tenant().is_some();
    let flows = shared.flows(tenant.as_deref(), is_tenants, usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(HttpReply::json(200, &flows))
}

impl Shared {
    /// Names of links are hidden from tenants: their flows pass one unnamed link.
    fn flows(&self, only: Option<&str>, is_tenants: bool, limit: usize) -> Flows {
        let mut flows = Flows::default();
        let mut paths: HashMap<Path, Rates> = HashMap::new();
        let used = self.used_links();
        self.each_contract(only, |contract| {
            if contract.state() == State::Released {
                return;
            }
            flows.contracts += 1;
            let grant = contract.grant();
            let hosts = counting_hosts(&grant.order.contract);
            let names = hosts.iter().map(|&host| self.network().node(host).name.as_str());
            let counters = self.counted.counters(self.load.now().0, names, grant.serial);
            // The sum of some hosts is not the rate of all.
            let measured = counters.rate_bps.filter(|_| counters.reporting == counters.hosts);
            flows.measured += u64::from(measured.is_some());
            for ((link, host), rates) in self.parts(contract, measured, &used) {
                paths.entry((contract.id().tenant.clone(), link, host)).or_default().add(rates);
            }
        });
        let mut paths: Vec<(Path, Rates)> = paths.into_iter().collect();
        paths.sort_by(|(path, rates), (other, others)| {
            let order = |rates: &Rates| Reverse((rates.measured, rates.reserved));
            order(rates).cmp(&order(others)).then_with(|| path.cmp(other))
        });
        flows.omitted = paths.len().saturating_sub(limit) as u64;
        paths.truncate(limit);
        flows.edges = self.edges(paths, is_tenants);
        flows
    }

    /// Returns the reserved part of each link in millionths; 0 where it is unknown.
    fn used_links(&self) -> Vec<u64> {
        let tables = self.view.read();
        let used = |link| tables.figures(link).map_or(0, crate::links::LinkFigures::used_ppm);
        self.network().links().map(|(link, _)| used(link)).collect()
    }

    /// Returns the links and hosts that a contract passes, with its rates there.
    fn parts(&self, contract: &ContractObject, measured: Option<u64>, used: &[u64]) -> Vec<((LinkId, NodeId), Rates)> {
        let contract_terms = &contract.grant().order.contract;
        let pair = match contract_terms {
            Contract::Latency(terms) => Some(terms.to),
            Contract::Bandwidth(terms) => match &terms.between {
                Endpoints::Pair(_, to) => Some(*to),
                Endpoints::Hose(_) => None,
            },
            Contract::Objective(_) | Contract::BestEffort(_) => None,
        };
        if let Some(to) = pair {
            let used = |link: &LinkId| used.get(link.index()).copied().unwrap_or(0);
            let fullest = contract.links().max_by_key(|link| (used(link), Reverse(*link)));
            let rates = Rates::new(measured, reserved_bps(contract_terms));
            // Without a link, sender and receiver are on one host, or the contract has no place now.
            return fullest.map(|link| ((link, to), rates)).into_iter().collect();
        }
        let members = contract_terms.hosts();
        let of_each = Rates::new(None, reserved_bps(contract_terms) / (members.len() as u64).max(1));
        // Agents count packets where they are sent: rates into the members' hosts are not known.
        let into = |host: NodeId| Some(((*self.network().links_into(host).first()?, host), of_each));
        members.into_iter().filter_map(into).collect()
    }

    fn edges(&self, paths: Vec<(Path, Rates)>, is_tenants: bool) -> Vec<FlowEdge> {
        let element = |kind, name: &str| FlowElement { kind, name: name.to_owned() };
        let mut edges: BTreeMap<(FlowElement, FlowElement), Rates> = BTreeMap::new();
        for ((tenant, link, host), rates) in paths {
            let tenant = element(FlowElementKind::Tenant, &tenant);
            let link = if is_tenants { "network" } else { &self.network().link(link).name };
            let link = element(FlowElementKind::Link, link);
            let host = element(FlowElementKind::Host, &self.network().node(host).name);
            edges.entry((tenant, link.clone())).or_default().add(rates);
            edges.entry((link, host)).or_default().add(rates);
        }
        let shape = |((from, to), rates): ((FlowElement, FlowElement), Rates)| FlowEdge {
            from,
            to,
            rate_bps: rates.measured,
            unmeasured: rates.unmeasured,
            reserved_bps: rates.reserved,
        };
        edges.into_iter().map(shape).collect()
    }
}
