//! Failures, repairs, and records.

use wayleave_scenarios::{Element, ElementChange, Outage, RecordConfig};
use wayleave_topology::Network;
use wayleave_units::Time;

use super::ports::read_switch;
use super::scalars::{exactly_one, flag, refuse_beside};
use crate::fields::{Fields, Shape};
use crate::names::unknown_link;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const OUTAGE: Shape = Shape { what: "an outage", keys: &["at", "fail", "repair", "undetected"] };
pub(crate) const RECORD: Shape = Shape { what: "a record", keys: &["series", "trace", "promises"] };

/// Reads outages, and for each the item of the list that it comes from.
pub(super) fn read(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> (Vec<Outage>, Vec<usize>) {
    let (mut outages, mut from) = (Vec::new(), Vec::new());
    for (index, item) in node.expect_list("outages", problems).unwrap_or_default().iter().enumerate() {
        for outage in read_outage(item, network, problems).unwrap_or_default() {
            outages.push(outage);
            from.push(index);
        }
    }
    (outages, from)
}

fn read_outage(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Vec<Outage>> {
    let fields = Fields::read(node, &OUTAGE, problems)?;
    let at = fields.require("at", problems).and_then(|node| node.quantity(problems));
    let (key, elements) = exactly_one(&fields, "an outage", &["fail", "repair"], problems)?;
    let is_undetected = fields.get("undetected").map_or(Some(false), |node| flag(node, problems));
    if key == "repair" {
        refuse_beside(&fields, &["undetected"], key, problems);
    }
    let change = match (key, is_undetected?) {
        ("fail", false) => ElementChange::Fails,
        ("fail", true) => ElementChange::FailsSilently,
        _ => ElementChange::Works,
    };
    let items = match &elements.value {
        Value::Sequence(items) => &items[..],
        _ => std::slice::from_ref(elements),
    };
    let elements: Vec<Option<Element>> = items.iter().map(|item| read_element(item, network, problems)).collect();
    let elements: Vec<Element> = elements.into_iter().collect::<Option<_>>()?;
    let at = at?;
    Some(elements.into_iter().map(|what| Outage { at, what, change }).collect())
}

/// A link if there is an arrow in its name, otherwise a switch.
fn read_element(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Element> {
    let name = node.expect_text(problems)?;
    if !name.contains("->") {
        return read_switch(node, network, problems).map(Element::Switch);
    }
    let link = network.find_link(name);
    if link.is_none() {
        problems.report(ProblemKind::UnknownName, node.span, || unknown_link(name, network));
    }
    link.map(Element::Link)
}

/// Reads what is recorded.
pub(super) fn read_record(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<RecordConfig> {
    let fields = Fields::read(node, &RECORD, problems)?;
    let series = fields.get("series").map(|node| node.quantity(problems));
    let trace = fields.get("trace").map(|node| node.count(problems));
    let promises = fields.get("promises").map_or(Some(false), |node| flag(node, problems));
    Some(RecordConfig {
        promises: promises?,
        series: series.map_or(Some(None), |series| series.map(Some))?,
        trace: trace.map_or(Some(None), |trace| trace.map(Some))?,
        carried_from: Time::ZERO,
    })
}
