//! Role of a controller in a cluster at a moment.

use wayleave_protocol::status::ClusterRole;

/// Name of a role in `wayleave_cluster_standing` and in the deprecated header `X-Wayleave-Standing`.
pub(crate) const fn old_name(role: ClusterRole) -> &'static str {
    match role {
        ClusterRole::Leader => "leads",
        ClusterRole::Follower => "follows",
        ClusterRole::Unknown => "unknown",
    }
}

/// Role of a controller in a cluster at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterState {
    pub(crate) role: ClusterRole,
    /// Each leader has another one.
    pub(crate) generation: u64,
    /// The last commit that it shows: what is answered may know more.
    pub(crate) commit: u64,
    /// Time for which no other controller can lead; 0 if another one may lead now.
    pub(crate) lease_left_ns: u64,
}

impl ClusterState {
    /// Returns `true` if no other controller can have led between this and a later time.
    pub(crate) fn lasts_until(&self, later: &Self) -> bool {
        (self.role, self.generation) == (later.role, later.generation)
    }
}
