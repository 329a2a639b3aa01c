//! Contracts: `kind: Contracts` in YAML or JSON, and CSV.

mod any;
mod collector;
mod csv;
mod field;
mod kinds;
mod list;
mod matching;
mod places;
mod terms;
mod text;
mod written;

pub use field::ContractField;
pub(crate) use field::FieldSpans;
#[cfg(test)]
pub(crate) use kinds::{BANDWIDTH, BEST_EFFORT, OBJECTIVE};
pub(crate) use list::finding;
pub use list::{ContractItems, ContractList, MixedList, OrderList, WrittenList};
#[cfg(test)]
pub(crate) use matching::MATCH;
pub(crate) use matching::read as read_match;
pub use places::{Addressed, VmLocations};
#[cfg(test)]
pub(crate) use terms::CONTRACT;
pub(crate) use terms::{Terms, hop};
pub(crate) use text::{Text, text_of};
pub use written::{WrittenBody, WrittenContract};

use std::collections::HashMap;

use collector::{Check, Collector, Scope};
use wayleave_contracts::ContractRequest;
use wayleave_topology::Network;

use crate::document::{self, DocumentKind};
use crate::fields::{Fields, Shape};
use crate::problem::{InputErrors, Problems};
use crate::source::Source;
use crate::tree::Value;

pub(crate) const CONTRACTS_SPEC: Shape = Shape { what: "the spec of Contracts", keys: &["contracts"] };

/// Reads contracts: CSV if the name of the source ends in `.csv`, otherwise YAML or JSON.
///
/// Fields that only a controller needs (priority, times, match) are checked and left out: contracts are decided as if
/// all were present at once. [`read_orders`] keeps these fields.
///
/// ```
/// use wayleave_formats::{Source, parse_builder, read_contracts};
/// let network = parse_builder("star:hosts=2")?.network;
/// let csv = "name,from,to,rate,burst,deadline\nptp,h1,h2,220kbit,300B,2ms\n";
/// let list = read_contracts(&Source::new("contracts.csv", csv), &network)?;
/// assert_eq!(list.contracts()[0].name, "ptp");
/// assert_eq!((list.locate(0, "deadline").line, list.locate(0, "deadline").column), (2, 24));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// All problems of the file, in order of position.
pub fn read_contracts(source: &Source, network: &Network) -> Result<ContractList, InputErrors> {
    let check = |terms: &Terms<'_>, problems: &mut Problems<'_>| terms.check(network, problems);
    read_list(source, Addressed::default(), Scope::File, &check)
}

/// Reads contracts of every kind: latency contracts as [`read_contracts`] does, and those with `bandwidth`, `objective` or
/// `bestEffort`.
///
/// ```
/// use wayleave_contracts::ContractKind;
/// use wayleave_formats::{Source, parse_builder, read_contracts_of_all_kinds};
/// let network = parse_builder("star:hosts=3")?.network;
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Contracts
/// spec:
///   contracts:
///     - { name: ptp, from: h1, to: h2, rate: 220kbit, burst: 300B, deadline: 2ms, excess: demote }
///     - { name: db, tenant: acme, bandwidth: { hose: [h1, h2, h3], min: 200Mbit, within: 3ms } }
///     - { name: search, objective: { deadline: 20ms, members: [h2, h3], weight: 100Mbit } }
/// ";
/// let list = read_contracts_of_all_kinds(&Source::new("mixed.yaml", text), &network)?;
/// assert_eq!(list.contracts()[1].kind(), ContractKind::Bandwidth);
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_contracts_of_all_kinds(source: &Source, network: &Network) -> Result<MixedList, InputErrors> {
    let check = |terms: &Terms<'_>, problems: &mut Problems<'_>| terms.check_any(network, problems);
    read_list(source, Addressed::default(), Scope::File, &check)
}

/// Reads the same file for a controller: ends may be VMs, and names are unique for each tenant rather than in the
/// file. `given` may contain the tenant of the contracts.
///
/// # Errors
/// All problems of the file, in order of position.
pub fn read_orders(
    source: &Source,
    network: &Network,
    places: &dyn VmLocations,
    given: Addressed<'_>,
) -> Result<OrderList, InputErrors> {
    let check = |terms: &Terms<'_>, problems: &mut Problems<'_>| terms.order(network, places, problems);
    read_list(source, Addressed { name: None, ..given }, Scope::Tenant, &check)
}

/// Reads a single contract without an enclosing document, in JSON or YAML.
///
/// ```
/// use wayleave_formats::{Addressed, Source, parse_builder, read_order};
/// let network = parse_builder("star:hosts=2")?.network;
/// let body = r#"{"from": "h1", "to": "h2", "rate": "1Mbit", "burst": "1500B", "deadline": "2ms", "priority": 80}"#;
/// let given = Addressed { tenant: Some("acme"), name: Some("ptp-1") };
/// let order = read_order(&Source::new("body", body), &network, &network, given)?;
/// assert_eq!((order.name(), order.priority.get()), ("ptp-1", 80));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the text, in order of place.
pub fn read_order(
    source: &Source,
    network: &Network,
    places: &dyn VmLocations,
    given: Addressed<'_>,
) -> Result<ContractRequest, InputErrors> {
    let mut problems = Problems::new(source);
    let terms = document::read_bare(source.text(), &mut problems)
        .and_then(|node| Terms::from_node(&node, given, &mut problems));
    let order = terms.and_then(|terms| terms.order(network, places, &mut problems));
    problems.finish(order)
}

/// Reads the same files as [`read_orders`](crate::read_orders), without a network: the receiver that has the network
/// checks that they fit it.
///
/// ```
/// use wayleave_formats::{ContractField, Source, read_written};
/// let csv = "name,from,to,rate,burst,deadline\nptp,h1,h2,220kbit,300B,2ms\n";
/// let list = read_written(&Source::new("contracts.csv", csv))?;
/// assert_eq!(list.written()[0].text(ContractField::Rate), Some("220kbit"));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// All problems of the file, in order of position.
pub fn read_written(source: &Source) -> Result<WrittenList, InputErrors> {
    read_list(source, Addressed::default(), Scope::Tenant, &|terms: &Terms<'_>, _: &mut Problems<'_>| {
        Some(terms.written())
    })
}

fn read_list<'a, T>(
    source: &'a Source,
    given: Addressed<'a>,
    scope: Scope,
    check: &Check<'a, '_, T>,
) -> Result<ContractItems<T>, InputErrors> {
    let mut problems = Problems::new(source);
    let (items, spans, names) = (Vec::new(), Vec::new(), HashMap::new());
    let mut collector = Collector { check, given, scope, items, spans, names, seen: 0 };
    let name = if source.ends_in("csv") {
        csv::read(source, &mut problems, &mut collector)
    } else {
        read_document(source, &mut problems, &mut collector)
    };
    let list = name.map(|name| ContractItems::new(name, source.clone(), collector.items, collector.spans));
    problems.finish(list)
}

fn read_document<'a, T>(
    source: &'a Source,
    problems: &mut Problems<'_>,
    collector: &mut Collector<'a, '_, T>,
) -> Option<String> {
    let document = document::read(source.text(), DocumentKind::Contracts, problems, |item, problems| {
        collector.add_node(&item, problems);
    })?;
    let spec = Fields::read(&document.spec, &CONTRACTS_SPEC, problems)?;
    let list = spec.require("contracts", problems)?;
    if !matches!(list.value, Value::Streamed) {
        // An alias to a list elsewhere, or no list at all.
        for item in list.expect_list("contracts", problems)? {
            collector.add_node(item, problems);
        }
    }
    Some(document.name)
}
