//! Lists of links and tenants as CSV.

use wayleave_protocol::network::{Link, QueueClass};
use wayleave_protocol::tenant::Tenant;
use wayleave_units::{Bytes, Rate};

use crate::answer::HttpReply;
use crate::http::csv::Csv;

/// Classes whose rates are columns, with their names there.
const CLASSES: [QueueClass; 3] = [QueueClass::Latency, QueueClass::Guaranteed, QueueClass::Objective];

/// Returns the list of links.
pub(crate) fn links(links: impl Iterator<Item = Link>) -> HttpReply {
    let mut csv = Csv::new(&[
        "name",
        "from",
        "to",
        "state",
        "reason",
        "rateBps",
        "usedPpm",
        "routes",
        "latencyReservedBps",
        "latencyAvailableBps",
        "guaranteedReservedBps",
        "guaranteedAvailableBps",
        "objectiveReservedBps",
        "objectiveAvailableBps",
        "measuredBps",
    ]);
    for link in links {
        csv.text(&link.name);
        csv.text(&link.from);
        csv.text(&link.to);
        csv.text(link.state.name());
        csv.value(link.down_reason);
        csv.value(Some(link.rate_bps));
        csv.value(link.used_ppm);
        csv.value(link.routes);
        for class in CLASSES {
            let capacity = link.capacity.iter().flatten().find(|capacity| capacity.class == class);
            csv.value(capacity.map(|capacity| capacity.reserved_bps));
            csv.value(capacity.map(|capacity| capacity.available_bps));
        }
        csv.value(link.measured.map(|measured| measured.rate_bps));
        csv.end_line();
    }
    csv.into_reply()
}

/// Returns the list of tenants, from their documents. A quota that is not limited is an empty field.
pub(crate) fn tenants<'a>(documents: impl Iterator<Item = &'a [u8]>) -> HttpReply {
    let mut csv =
        Csv::new(&["name", "rateBps", "burstBytes", "contracts", "quotaRateBps", "quotaBurstBytes", "quotaContracts"]);
    let rate = |text: &String| text.parse().ok().map(Rate::bits_per_second);
    let bytes = |text: &String| text.parse().ok().map(Bytes::get);
    for Tenant { name, quota, usage, .. } in documents.filter_map(|text| serde_json::from_slice(text).ok()) {
        csv.text(&name);
        csv.value(rate(&usage.rate));
        csv.value(bytes(&usage.burst));
        csv.value(Some(usage.contracts));
        csv.value(quota.rate.as_ref().and_then(rate));
        csv.value(quota.burst.as_ref().and_then(bytes));
        csv.value(quota.contracts);
        csv.end_line();
    }
    csv.into_reply()
}
