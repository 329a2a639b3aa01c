//! Numbers of links and nodes that are down, or may be.

use wayleave_topology::Network;

use crate::read_view::Tables;

/// Numbers of links and nodes that are down, or may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DownCounts {
    /// Elements that an operator or a connected agent reports down now; `None` if there are none, and nothing observes links, or
    /// an element that was last reported down.
    pub(crate) down: Option<u64>,
    /// Elements last reported down that nothing observes now; `None` at a follower.
    pub(crate) unobserved: Option<u64>,
}

impl DownCounts {
    /// Counts the elements of the tables.
    pub(crate) fn of(tables: &Tables, network: &Network) -> Self {
        let down = tables.down_now(network).count() as u64;
        let unobserved = (tables.down.len() as u64).saturating_sub(down);
        let is_known = down > 0 || (unobserved == 0 && tables.observes_links());
        Self { down: is_known.then_some(down), unobserved: (!tables.is_follower()).then_some(unobserved) }
    }
}
