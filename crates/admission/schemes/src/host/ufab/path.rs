//! The state of one path of a pair, at its sender.

use wayleave_topology::LinkId;
use wayleave_units::Time;

use super::admission::Admission;
use super::registration::Registration;

/// One path of a pair.
#[derive(Clone, Debug, Default)]
pub(super) struct PathState {
    pub(super) registration: Registration,
    /// Its round trip without queues, once it is known.
    pub(super) round_trip: Option<Time>,
    /// Its links, as far as answers have reported them.
    pub(super) links: Vec<LinkId>,
    /// While the path is in use.
    pub(super) admission: Option<Admission>,
    /// Of the pair's guarantee, in bit/s.
    pub(super) part: u64,
    /// Sent since the last probe, and since the last answer.
    pub(super) unprobed: u64,
    pub(super) unanswered: u64,
    pub(super) answered_at: Time,
    /// Since when it cannot serve the guarantee.
    pub(super) violated_since: Option<Time>,
    /// Since when another one is better.
    pub(super) worse_since: Option<Time>,
    /// `true` if a timer is armed that compares it with others: one is enough.
    pub(super) is_compared: bool,
}
