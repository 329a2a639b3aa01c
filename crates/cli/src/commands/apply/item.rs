//! What became of one object of a file.

use serde::Serialize;
use wayleave_protocol::decision::Applied;

/// What became of one object.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Item {
    /// `contract`, `tenant`, `vm` or `policy`.
    pub(crate) kind: &'static str,
    #[serde(flatten)]
    pub(crate) applied: Applied,
}
