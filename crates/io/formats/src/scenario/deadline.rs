//! Deadlines of flows: a time, or a distribution.

use wayleave_scenarios::Deadline;
use wayleave_units::{Time, count};

use super::scalars::exactly_one;
use crate::fields::{Fields, Shape};
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const DEADLINE: Shape =
    Shape { what: "a distribution of deadlines", keys: &["uniform", "exponential", "values"] };
pub(crate) const EXPONENTIAL_DEADLINE: Shape = Shape { what: "an exponential distribution", keys: &["mean", "min"] };

/// Reads a deadline.
pub(super) fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Deadline> {
    let Value::Mapping(_) = node.value else {
        return node.quantity(problems).map(Deadline::Fixed);
    };
    let fields = Fields::read(node, &DEADLINE, problems)?;
    match exactly_one(&fields, "a distribution of deadlines", DEADLINE.keys, problems)? {
        ("uniform", bounds) => read_uniform(bounds, problems),
        ("exponential", node) => read_exponential(node, problems),
        (_, values) => {
            let items = values.expect_list("deadlines", problems)?;
            let values: Vec<Option<Time>> = items.iter().map(|item| item.quantity(problems)).collect();
            values.into_iter().collect::<Option<_>>().map(Deadline::Values)
        }
    }
}

fn read_uniform(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Deadline> {
    let bounds = node.expect_list("two times", problems)?;
    let [low, high] = bounds else {
        let message = || format!("{}: expected the shortest and the longest", count(bounds.len(), "time"));
        problems.report(ProblemKind::WrongType, node.span, message);
        return None;
    };
    let (low, high) = (low.quantity(problems), high.quantity(problems));
    Some(Deadline::Uniform(low?, high?))
}

fn read_exponential(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Deadline> {
    let fields = Fields::read(node, &EXPONENTIAL_DEADLINE, problems)?;
    fields.require_all(["mean", "min"], problems);
    let mean = fields.get("mean").and_then(|node| node.quantity(problems));
    let min = fields.get("min").and_then(|node| node.quantity(problems));
    Some(Deadline::Exponential { mean: mean?, min: min? })
}
