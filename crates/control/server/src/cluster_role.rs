//! What a controller of a cluster is at a moment.

use wayleave_protocol::status::ClusterRole;

/// Name of a role in `wayleave_cluster_standing` and in the deprecated header `X-Wayleave-Standing`.
pub(crate) const fn old_name(role: ClusterRole) -> &'static str {
    match role {
        ClusterRole::Leader => "leads",
        ClusterRole::Follower => "follows",
        ClusterRole::Unknown => "unknown",
    }
}

/// What a controller of a cluster is at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterStanding {
    pub(crate) role: ClusterRole,
    /// Each leader has another one.
    pub(crate) generation: u64,
    /// The last commit that it shows: what is answered may know more.
    pub(crate) commit: u64,
    /// How long nobody else can lead; 0 if another one may now.
    pub(crate) lease_left_ns: u64,
}

impl ClusterStanding {
    /// Whether nobody else can have led between this and a later one.
    pub(crate) fn lasts_until(&self, later: &Self) -> bool {
        (self.role, self.generation) == (later.role, later.generation)
    }
}
