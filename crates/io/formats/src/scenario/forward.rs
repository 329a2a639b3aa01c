//! Setting that skips steady traffic.

use wayleave_scenarios::FastForward;

use super::scalars::number;
use crate::fields::{Fields, Shape};
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

pub(crate) const FAST_FORWARD: Shape = Shape { what: "a fast-forward", keys: &["maxError"] };

/// Reads how far off completion times may be.
pub(super) fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<FastForward> {
    let fields = Fields::read(node, &FAST_FORWARD, problems)?;
    let Some(error) = fields.get("maxError") else { return Some(FastForward::default()) };
    let asked = FastForward { max_error: number(error, problems)? };
    if !asked.is_valid() {
        let message = || format!("an error above 0 and up to {} is expected, such as 0.005", FastForward::MAX);
        problems.report(ProblemKind::BadValue, error.span, message);
        return None;
    }
    Some(asked)
}
