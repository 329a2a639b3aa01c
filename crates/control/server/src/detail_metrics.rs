//! Metrics by tenant and by link, for servers that are started with a number of series (`--metric-series`).
//!
//! The tenants and links with the highest reserved rates have series of their own. All others are summed as `other`.
//! The order is that of reservations, not of measured rates: series that come and go with every scrape cost Prometheus
//! more than they are worth.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use wayleave_controller::State;
use wayleave_protocol::tenant::Tenant;
use wayleave_units::Rate;

use crate::handlers::traffic::MeasuredRates;
use crate::state::Shared;

/// Label of the sum of all that have no series of their own. A tenant or link of this name is always part of the sum.
const OTHER: &str = "other";

type Level = Gauge<f64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TenantLabels {
    tenant: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TenantStateLabels {
    tenant: String,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LinkLabels {
    link: String,
}

/// Metrics with the names of tenants and links.
pub(crate) struct DetailMetrics {
    /// Maximum number of tenants, and of links, with series of their own.
    most: usize,
    contracts: Family<TenantStateLabels, Gauge>,
    tenant_reserved: Family<TenantLabels, Level>,
    tenant_measured: Family<TenantLabels, Level>,
    link_reserved: Family<LinkLabels, Level>,
}

/// Figures of a tenant or a link.
#[derive(Clone, Debug, Default, PartialEq)]
struct Figures {
    reserved_bps: Option<u64>,
    /// Sum of what agents have counted; `None` if they have counted nothing.
    measured_bps: Option<u64>,
    states: [u64; State::ALL.len()],
}

impl Figures {
    /// Adds another one. A sum with an unknown reservation is unknown; a sum of counters has those that are known.
    fn add(&mut self, other: &Self) {
        self.reserved_bps = self.reserved_bps.zip(other.reserved_bps).map(|(one, other)| one.saturating_add(other));
        self.measured_bps = match (self.measured_bps, other.measured_bps) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.states.iter_mut().zip(other.states).for_each(|(one, other)| *one += other);
    }
}

/// Returns at most `most` items with their names, the highest reservations first, and the sum of the others.
fn first_and_rest(mut items: Vec<(String, Figures)>, most: usize) -> Vec<(String, Figures)> {
    items.sort_by(|(one, of_one), (other, of_other)| {
        let rank = |name: &String, figures: &Figures| (name == OTHER, Reverse(figures.reserved_bps));
        rank(one, of_one).cmp(&rank(other, of_other)).then_with(|| one.cmp(other))
    });
    let own = items.iter().take(most).filter(|(name, _)| name != OTHER).count();
    let rest = items.split_off(own);
    let sum = rest.into_iter().map(|(_, figures)| figures).reduce(|mut sum, figures| {
        sum.add(&figures);
        sum
    });
    items.extend(sum.map(|sum| (OTHER.to_owned(), sum)));
    items
}

impl DetailMetrics {
    /// Registers the metrics; `None` without series.
    pub(crate) fn register(most: usize, registry: &mut Registry) -> Option<Self> {
        if most == 0 {
            return None;
        }
        let metrics = Self {
            most,
            contracts: Family::default(),
            tenant_reserved: Family::default(),
            tenant_measured: Family::default(),
            link_reserved: Family::default(),
        };
        let rate = || Unit::Other("bits_per_second".to_owned());
        let help = "Contracts of a tenant by state";
        registry.register("tenant_contracts", help, metrics.contracts.clone());
        let help = "Rates and minima of a tenant's contracts, as its quota counts them";
        registry.register_with_unit("tenant_reserved", help, rate(), metrics.tenant_reserved.clone());
        let help = "Rate that agents have counted of a tenant's contracts";
        registry.register_with_unit("tenant_measured", help, rate(), metrics.tenant_measured.clone());
        let help = "Rate reserved on a link, by contracts of all kinds";
        registry.register_with_unit("link_reserved", help, rate(), metrics.link_reserved.clone());
        Some(metrics)
    }

    /// Replaces all figures by those of now.
    pub(crate) fn update(&self, shared: &Shared) {
        self.contracts.clear();
        self.tenant_reserved.clear();
        self.tenant_measured.clear();
        self.link_reserved.clear();
        for (tenant, figures) in first_and_rest(tenants(shared), self.most) {
            for (state, count) in State::ALL.iter().zip(figures.states) {
                let labels = TenantStateLabels { tenant: tenant.clone(), state: state.name() };
                self.contracts.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
            }
            let labels = TenantLabels { tenant };
            set(&self.tenant_reserved, &labels, figures.reserved_bps);
            set(&self.tenant_measured, &labels, figures.measured_bps);
        }
        for (link, figures) in first_and_rest(links(shared), self.most) {
            set(&self.link_reserved, &LinkLabels { link }, figures.reserved_bps);
        }
    }
}

/// An unknown value has no series.
fn set<L: Clone + std::hash::Hash + Eq>(family: &Family<L, Level>, labels: &L, value: Option<u64>) {
    if let Some(value) = value {
        family.get_or_create(labels).set(value as f64);
    }
}

fn tenants(shared: &Shared) -> Vec<(String, Figures)> {
    let rates = MeasuredRates::of(shared, Instant::now());
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
    let figures = |(name, object): (&String, &crate::rendered::Object)| {
        let usage = serde_json::from_slice::<Tenant>(&object.json).ok().map(|tenant| tenant.usage);
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
    let tables = shared.view.read();
    let reserved = |link| {
        let capacities = &tables.figures(link)?.capacity;
        let rates = capacities.iter().map(|(_, capacity)| capacity.reserved.bits_per_second());
        Some(rates.fold(0, u64::saturating_add))
    };
    let links = shared.network().links();
    links.map(|(id, link)| (link.name.clone(), Figures { reserved_bps: reserved(id), ..Figures::default() })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(reserved_bps: Option<u64>, measured_bps: Option<u64>) -> Figures {
        Figures { reserved_bps, measured_bps, states: [1, 0, 0, 0, 0, 0] }
    }

    fn shown(items: &[(&str, Option<u64>, Option<u64>)], most: usize) -> Vec<(String, Option<u64>, Option<u64>, u64)> {
        let items = items.iter().map(|&(name, reserved, measured)| (name.to_owned(), figures(reserved, measured)));
        let first = first_and_rest(items.collect(), most).into_iter();
        first.map(|(name, of)| (name, of.reserved_bps, of.measured_bps, of.states[0])).collect()
    }

    #[test]
    fn the_rest_is_one_series_and_a_name_other_is_part_of_it() {
        let tenants =
            [("a", Some(1), None), ("other", Some(9), Some(4)), ("b", Some(5), Some(2)), ("c", Some(5), None)];
        let own = |name: &str, reserved, measured| (name.to_owned(), Some(reserved), measured, 1);
        let sum = |reserved, count| ("other".to_owned(), Some(reserved), Some(4), count);
        assert_eq!(shown(&tenants, 2), [own("b", 5, Some(2)), own("c", 5, None), sum(10, 2)]);
        assert_eq!(shown(&tenants, 9), [own("b", 5, Some(2)), own("c", 5, None), own("a", 1, None), sum(9, 1)]);
        assert_eq!(shown(&tenants[..1], 1), [own("a", 1, None)], "nothing is left for a sum");
        assert_eq!(shown(&[], 3), []);
    }

    #[test]
    fn a_sum_with_an_unknown_reservation_is_unknown() {
        let links = [("a", Some(7), None), ("b", Some(3), None), ("c", None, None)];
        assert_eq!(shown(&links, 1)[1], ("other".to_owned(), None, None, 2));
    }
}
