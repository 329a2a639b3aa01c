//! What a controller of a cluster is at a moment.

/// What a controller of a cluster can be: nobody else can have written what it does not know; another one writes; that cannot be said.
pub(crate) const STANDINGS: [&str; 3] = [LEADS, FOLLOWS, UNKNOWN];
pub(crate) const LEADS: &str = "leads";
pub(crate) const FOLLOWS: &str = "follows";
pub(crate) const UNKNOWN: &str = "unknown";

/// What a controller of a cluster is at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterStanding {
    /// One of [`STANDINGS`].
    pub(crate) name: &'static str,
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
        (self.name, self.generation) == (later.name, later.generation)
    }
}
