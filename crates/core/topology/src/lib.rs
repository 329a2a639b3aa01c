//! The network of contracts: nodes, directed links, their queues, routes, and builders; beside them [`devices`], the
//! measured switches.
//!
//! A [`Network`] is immutable once built. Every cable is two directed [`Link`]s; a link's queues are those of its
//! output port, so "queue 0 of `s1->s2`" is the highest priority of s1's port towards s2 (the queue-level topology of
//! Chameleon, section 3.3). Identifiers are dense indices, so state per node, link or queue is kept in plain vectors.
//!
//! ```
//! use wayleave_topology::builders::{FatTree, build};
//! let network = build::fat_tree(&FatTree { k: 4, ..FatTree::default() })?;
//! assert_eq!((network.hosts().count(), network.switches().count()), (16, 20));
//! # Ok::<(), wayleave_topology::NetworkError>(())
//! ```

mod builder;
pub mod builders;
mod classes;
pub mod devices;
mod limits;
mod network;
mod paths;
mod physical;
mod route;

pub use builder::{LinkSpec, NetworkBuilder, NetworkError, PortSpec, is_interface_name};
pub use classes::{
    Class, ClassService, Classes, ClassesError, MAX_WEIGHT, SharedLink, ShortBuffer, StrictResidual, deficit_ahead,
};
pub use limits::{MAX_BUDGET, MAX_INTERFACE_NAME, MAX_QUEUES};
pub use network::{Link, LinkId, Network, Node, NodeId, NodeKind, Port, PortId, PortQueue};
pub use paths::HopDistances;
pub use physical::FailureElement;
pub use route::{FlowId, Hop, Route, RouteError, ShareId};
