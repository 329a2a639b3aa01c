//! A route: which link, and which of its queues, hop by hop.

use crate::network::{LinkId, Network, NodeId, NodeKind};

/// One hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hop {
    /// The link.
    pub link: LinkId,
    /// Its queue: 0 is the highest priority.
    pub queue: u8,
}

/// A walk of queues from a source host to a destination host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Route {
    /// In order from the source.
    pub hops: Vec<Hop>,
}

/// Reason that hops are no route.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// There is no hop at all.
    #[error("the route has no hops")]
    Empty,
    /// Hop `hop` does not begin where the one before it ended (or at the source).
    #[error("hop {} is {link}, but the route is at {expected} there", .hop + 1)]
    Broken {
        /// Index of the hop.
        hop: usize,
        /// The node where it should begin.
        expected: String,
        /// The link that does not.
        link: String,
    },
    /// The last hop does not end at the destination.
    #[error("the route ends at {ends_at}, not at {expected}")]
    WrongEnd {
        /// Node at which it ends.
        ends_at: String,
        /// The destination.
        expected: String,
    },
    /// A node is visited twice.
    #[error("the route visits {0} twice")]
    Loop(String),
    /// A host in the middle: hosts do not forward.
    #[error("the route passes through host {0}: hosts do not forward")]
    ThroughHost(String),
    /// The port has no such queue.
    #[error("{link} has no queue {queue}: its queues for contracts are 0 to {}", .queues.saturating_sub(1))]
    NoQueue {
        /// The link.
        link: String,
        /// The queue that was asked for.
        queue: u8,
        /// Number of queues.
        queues: usize,
    },
}

impl Route {
    /// Checks that the hops lead from `source` to `destination` through existing queues, visiting no node twice.
    ///
    /// # Errors
    /// What is wrong, and at which hop.
    pub fn validate(&self, network: &Network, source: NodeId, destination: NodeId) -> Result<(), RouteError> {
        let name = |node: NodeId| network.node(node).name.clone();
        let mut visited = vec![source];
        for (index, hop) in self.hops.iter().enumerate() {
            let link = network.link(hop.link);
            let at = *visited.last().unwrap_or(&source);
            if link.from != at {
                return Err(RouteError::Broken { hop: index, expected: name(at), link: link.name.clone() });
            }
            if index > 0 && network.node(at).kind == NodeKind::Host {
                return Err(RouteError::ThroughHost(name(at)));
            }
            if visited.contains(&link.to) {
                return Err(RouteError::Loop(name(link.to)));
            }
            let queues = network.queues(hop.link).len();
            if usize::from(hop.queue) >= queues {
                return Err(RouteError::NoQueue { link: link.name.clone(), queue: hop.queue, queues });
            }
            visited.push(link.to);
        }
        match visited.last() {
            Some(&end) if self.hops.is_empty() || end != destination => {
                if self.hops.is_empty() {
                    return Err(RouteError::Empty);
                }
                Err(RouteError::WrongEnd { ends_at: name(end), expected: name(destination) })
            }
            _ => Ok(()),
        }
    }
}

/// Owner of a reserved route, as a dense index (indices of released flows are reused).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

impl FlowId {
    /// As an index into a vector with one entry per flow.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Owner of a reserved share of links below the latency queues, as a dense index (indices of released shares are
/// reused).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShareId(pub u32);

impl ShareId {
    /// As an index into a vector with one entry per share.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
