//! Flow sizes: a size, the name of a published distribution, or a distribution.

use wayleave_scenarios::{FlowSizes, PUBLISHED, SizesError};
use wayleave_units::Bytes;

use super::files::Files;
use super::scalars::{exactly_one, number};
use crate::fields::{Fields, Shape};
use crate::messages::{did_you_mean, nearest, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::sizes::read_flow_sizes;
use crate::tree::{Node, Value};

pub(crate) const SIZES: Shape = Shape { what: "flow sizes", keys: &["uniform", "exponential", "cdf", "points"] };

/// Flows that never end.
pub(super) const ENDLESS: &str = "endless";

/// Reads flow sizes.
pub(super) fn read(node: &Node<'_>, files: &mut Files<'_>, problems: &mut Problems<'_>) -> Option<FlowSizes> {
    if let Value::Mapping(_) = node.value {
        let fields = Fields::read(node, &SIZES, problems)?;
        return match exactly_one(&fields, "flow sizes", SIZES.keys, problems)? {
            ("uniform", bounds) => read_uniform(bounds, problems),
            ("exponential", mean) => mean.quantity(problems).map(FlowSizes::Exponential),
            ("cdf", file) => files.read(file, problems, read_flow_sizes),
            (_, points) => read_points(points, problems),
        };
    }
    let text = node.expect_text(problems)?;
    if !text.starts_with(|c: char| c.is_alphabetic()) {
        return node.quantity(problems).map(FlowSizes::Fixed);
    }
    let published = FlowSizes::published(text);
    if published.is_none() {
        problems.report(ProblemKind::UnknownName, node.span, || {
            let names: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
            let near = did_you_mean(nearest(text, names.iter().copied().chain([ENDLESS])));
            let message = format!("there is no distribution of flow sizes {}{near}", quoted(text));
            (message, format!("expected {}, a size such as 20kB, or `{{ cdf: FILE }}`", names.join(", ")))
        });
    }
    published
}

fn read_uniform(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<FlowSizes> {
    let bounds = node.expect_list("two sizes", problems)?;
    let [low, high] = bounds else {
        let message = || format!("{} sizes: expected the smallest and the largest", bounds.len());
        problems.report(ProblemKind::WrongType, node.span, message);
        return None;
    };
    let (low, high) = (low.quantity(problems), high.quantity(problems));
    Some(FlowSizes::Uniform(low?, high?))
}

fn read_points(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<FlowSizes> {
    let items = node.expect_list("points [SIZE, SHARE]", problems)?;
    let points: Vec<Option<(f64, f64)>> = items.iter().map(|item| read_point(item, problems)).collect();
    match FlowSizes::from_points(points.into_iter().collect::<Option<_>>()?) {
        Ok(sizes) => Some(sizes),
        Err(error) => {
            let last = matches!(error, SizesError::Unfinished { .. }).then(|| items.len().saturating_sub(1));
            let item = error.point().or(last).and_then(|point| items.get(point));
            problems.report(ProblemKind::Impossible, item.unwrap_or(node).span, || error.to_string());
            None
        }
    }
}

fn read_point(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<(f64, f64)> {
    let pair = node.expect_list("a size and a share", problems)?;
    let [size, share] = pair else {
        let message = || format!("{} values: a point is [SIZE, SHARE], such as [20kB, 0.9]", pair.len());
        problems.report(ProblemKind::WrongType, node.span, message);
        return None;
    };
    let size: Option<Bytes> = size.quantity(problems);
    let share = number(share, problems);
    Some((size?.get() as f64, share?))
}
