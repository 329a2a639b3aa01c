//! Explanations of Loko's decisions: usage of the services along the route.

use wayleave_scheme_api::{Allocated, Refusal, Value};
use wayleave_topology::{FlowId, Hop, Network, NodeId};
use wayleave_units::{Bytes, Human, Rate};

use super::Loko;
use super::admission::{LINE, SERVICE};
use crate::admitted::{AdmittedSet, Term};
use crate::explanation::{Rows, Section};

/// Returns the text of a refusal.
pub(super) fn refusal(network: &Network, refusal: &Refusal) -> Option<String> {
    if let Refusal::Allocation { switch, limit, .. } = refusal {
        Some(allocation(network, *switch, limit))
    } else {
        None
    }
}

/// Returns the text that explains which part of a switch's allocation is exhausted (Loko).
fn allocation(network: &Network, switch: NodeId, limit: &Allocated) -> String {
    let name = &network.node(switch).name;
    match limit {
        Allocated::Rate { asked, left } => {
            format!(
                "switch {name} has {} left of the rate that it was allocated, but {} is required",
                left.down(),
                asked.up()
            )
        }
        Allocated::Burst { asked, left } => format!(
            "switch {name} has {} left of the burst that its buffer allows, but {} is required",
            left.down(),
            asked.up()
        ),
    }
}

pub(super) fn term(network: &Network, term: Term) -> Option<String> {
    match term {
        Term::OwnOfNode(SERVICE, node, _) => Some(format!("service of {} at full allocation", network.node(node).name)),
        Term::OwnOfLink(LINE, link, _) => Some(format!("line {}", network.link(link).name)),
        _ => None,
    }
}

pub(super) fn admitted(loko: &Loko, flow: FlowId) -> Section {
    let hops = loko.held(flow).into_iter().flat_map(|held| held.route.hops.iter().copied()).collect::<Vec<_>>();
    services(loko, &hops)
}

pub(super) fn refused(loko: &Loko, refusal: &Refusal) -> Option<Section> {
    if let Refusal::Allocation { route, .. } = refusal { Some(services(loko, &route.hops)) } else { None }
}

/// Returns the usage of the services along the route against their allocations.
fn services(loko: &Loko, hops: &[Hop]) -> Section {
    let (model, allocation) = (&loko.params().model, loko.allocation());
    let (rate, time) = (model.rate.down(), model.processing.up());
    let title = format!("Services on the route: R = {rate}, T = {time}, a buffer of {:#}", model.buffer);
    let (rate, burst, delay) = (allocation.rate.down(), allocation.burst.down(), allocation.delay.up());
    let accepts =
        format!("each accepts a total of {rate} with bursts of {burst}, and delays packets by at most {delay}");
    let row = |&hop: &Hop| {
        let used = loko.in_use(hop);
        let switch = loko.network().node(loko.network().link(hop.link).from).name.clone();
        vec![switch, Rate::from_bits_per_second(used.rate).up(), format!("{:#}", used.burst), used.flows.to_string()]
    };
    let rows = hops.iter().skip(1).map(row).collect();
    let head = vec!["switch", "rate in use", "burst in use", "flows"];
    Section { title, lines: vec![accepts], table: Some(Rows { head, rows }), sentence: None }
}

/// Returns the measured model, the allocation and its usage.
pub(super) fn granted_shares(loko: &Loko) -> Value {
    let (model, allocation, network) = (&loko.params().model, loko.allocation(), loko.network());
    let used = loko.in_use_by_switch().map(|(switch, link, used)| {
        let mut record = vec![("switch", Value::Text(network.node(switch).name.clone()))];
        // Of a service a port.
        record.extend(link.map(|link| ("link", Value::Text(network.link(link).name.clone()))));
        record.push(("rate", Value::Rate(Rate::from_bits_per_second(used.rate))));
        record.push((
            "burst",
            Value::Bytes(Bytes::new(u64::try_from(used.burst.bytes_rounded_up()).unwrap_or(u64::MAX))),
        ));
        record.push(("flows", Value::Count(used.flows.into())));
        Value::Record(record)
    });
    Value::Record(vec![
        ("rate", Value::Rate(model.rate)),
        ("processing", Value::Time(model.processing)),
        ("buffer", Value::Bytes(model.buffer)),
        ("allocated_rate", Value::Rate(allocation.rate)),
        ("allocated_burst", Value::Bytes(allocation.burst)),
        ("delay", Value::Time(allocation.delay)),
        ("in_use", Value::List(used.collect())),
    ])
}
