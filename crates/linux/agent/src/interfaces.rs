//! The interfaces of a node at which frames are seen, each with the link or endpoint behind it.

use std::collections::BTreeMap;

use wayleave_topology::{LinkId, Network, NodeId};

use crate::endpoints::Attachment;

/// An interface of a node, with the link or endpoint behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInterface {
    /// Its name.
    pub interface: String,
    /// The link that leaves the node by it, or the endpoint behind it.
    pub leads_to: String,
    /// Nodes that read the outermost tag of a frame that enters the node there, and of one that leaves it; `None`
    /// where no tags are expected.
    pub readers: [Option<NodeId>; 2],
}

/// The places of a node: the interfaces of its links and of its endpoints, by index; `None` as index if an interface is not there.
pub fn places(
    network: &Network,
    node: NodeId,
    links: &BTreeMap<LinkId, String>,
    endpoints: &BTreeMap<String, Attachment>,
    mut index: impl FnMut(&str) -> Option<u32>,
) -> BTreeMap<u32, NodeInterface> {
    let mut places = BTreeMap::new();
    for (&link, interface) in links {
        let link = network.link(link);
        let beyond = if link.from == node { link.to } else { link.from };
        let readers = [Some(node), Some(beyond)];
        if let Some(index) = index(interface) {
            places.insert(index, NodeInterface { interface: interface.clone(), leads_to: link.name.clone(), readers });
        }
    }
    for (name, Attachment { interface, .. }) in endpoints {
        if let Some(index) = index(interface) {
            let place = NodeInterface { interface: interface.clone(), leads_to: name.clone(), readers: [None, None] };
            places.insert(index, place);
        }
    }
    places
}
