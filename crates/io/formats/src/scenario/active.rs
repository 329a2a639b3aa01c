//! Schedule of a traffic: one period, or a list of them.

use wayleave_scenarios::{Period, Schedule};
use wayleave_units::Time;

use crate::fields::{Fields, Shape};
use crate::problem::Problems;
use crate::tree::{Node, Value};

pub(crate) const PERIOD: Shape = Shape { what: "a period", keys: &["from", "on", "off"] };

/// Reads a schedule; `start` is the default start of its first period.
pub(super) fn read(node: &Node<'_>, start: Time, problems: &mut Problems<'_>) -> Option<Schedule> {
    let items = match &node.value {
        Value::Sequence(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    let read_all = items.iter().enumerate();
    let periods: Vec<Option<Period>> =
        read_all.map(|(index, item)| read_one(item, (index == 0).then_some(start), problems)).collect();
    periods.into_iter().collect::<Option<_>>().map(|periods| Schedule { periods })
}

/// Reads a period. `usual` is its default start; without a default the start is required.
fn read_one(node: &Node<'_>, usual: Option<Time>, problems: &mut Problems<'_>) -> Option<Period> {
    let fields = Fields::read(node, &PERIOD, problems)?;
    let from = match usual {
        Some(usual) => fields.get("from").map_or(Some(usual), |node| node.quantity(problems)),
        None => fields.require("from", problems).and_then(|node| node.quantity(problems)),
    };
    let on = fields.require("on", problems).and_then(|node| node.quantity(problems));
    let off = fields.get("off").map(|node| node.quantity(problems));
    Some(Period { from: from?, on: on?, off: off.map_or(Some(None), |off| off.map(Some))? })
}
