//! Outcome of one object of a file.

use serde::Serialize;
use wayleave_protocol::decision::Applied;

use super::changes::FieldChange;

/// Outcome of one object.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Item {
    /// `contract`, `tenant`, `vm` or `policy`.
    pub(crate) kind: &'static str,
    #[serde(flatten)]
    pub(crate) applied: Applied,
    /// Changes that a dry run has found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<FieldChange>,
}
