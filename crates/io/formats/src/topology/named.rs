//! A network with its name.

use wayleave_topology::Network;

/// A network and its name.
#[derive(Clone, Debug)]
pub struct Topology {
    /// `metadata.name`, or the name of the file or of the builder.
    pub name: String,
    /// The network.
    pub network: Network,
}
