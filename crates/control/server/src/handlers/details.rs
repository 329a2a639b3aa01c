//! Figures by tenant and by link for `/metrics`.

use std::collections::HashMap;

use wayleave_protocol::tenant::Tenant;
use wayleave_topology::{Link, LinkId};
use wayleave_units::Rate;

use crate::detail_metrics::{Details, Figures};
use crate::handlers::traffic::MeasuredRates;
use crate::read_view::TenantObject;
use crate::state::Shared;

/// Returns the figures of all tenants and links.
pub(crate) fn details(shared: &Shared) -> Details {
    Details { tenants: tenants(shared), links: links(shared) }
}

fn tenants(shared: &Shared) -> Vec<(String, Figures)> {
    let rates = MeasuredRates::of(shared, shared.load.now().0);
    let mut measured: HashMap<String, u64> = HashMap::new();
    if !rates.is_empty() {
        shared.each_contract(None, |contract| {
            let Some(rate) = rates.of_contract(contract.grant()) else { return };
            let tenant = &contract.id().tenant;
            match measured.get_mut(tenant) {
                Some(sum) => *sum = sum.saturating_add(rate),
                None => drop(measured.insert(tenant.clone(), rate)),
            }
        });
    }
    let tables = shared.view.read();
    let figures = |(name, tenant): (&String, &TenantObject)| {
        let usage = serde_json::from_slice::<Tenant>(&tenant.object.json).ok().map(|tenant| tenant.usage);
        let figures = Figures {
            reserved_bps: usage.and_then(|usage| usage.rate.parse().ok()).map(Rate::bits_per_second),
            measured_bps: measured.get(name).copied(),
            states: tables.counts.get(name).map(|counts| counts.states).unwrap_or_default(),
        };
        (name.clone(), figures)
    };
    tables.tenants.iter().map(figures).collect()
}

fn links(shared: &Shared) -> Vec<(String, Figures)> {
    let network = shared.network();
    // Before the lock of the view is taken: no thread waits for a lock while it holds another one.
    let measured = shared.measured(&network.links().map(|(id, _)| id).collect::<Vec<_>>());
    let measured = measured.into_iter().map(|measured| measured.map(|measured| measured.rate_bps));
    let tables = shared.view.read();
    let reserved = |link| {
        let capacities = &tables.figures(link)?.capacity;
        let rates = capacities.iter().map(|(_, capacity)| capacity.reserved.bits_per_second());
        Some(rates.fold(0, u64::saturating_add))
    };
    let figures = |((id, link), measured_bps): ((LinkId, &Link), Option<u64>)| {
        (link.name.clone(), Figures { reserved_bps: reserved(id), measured_bps, ..Figures::default() })
    };
    network.links().zip(measured).map(figures).collect()
}
