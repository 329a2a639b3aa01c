//! Measurements of one system.

use super::rows::Tick;

/// A lone sender is work-conserving with this share of an idle link: limiters leave a headroom of up to a tenth, and headers take a twentieth.
pub(super) const MAX: f64 = 0.8;

/// Observed behaviour of a system.
#[derive(Clone, Debug)]
pub(super) struct ObservedProperties {
    pub(super) name: &'static str,
    pub(super) ticks: [Tick; 4],
    /// In words, one for each tick.
    pub(super) how: [String; 4],
}
