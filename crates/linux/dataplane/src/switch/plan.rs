//! The configuration of a switch, from the topology. Pure.

use wayleave_topology::{Class, LinkId, Network, NodeId, NodeKind};
use wayleave_units::{Bytes, Rate};

use wayleave_packet_format::{Tag, TagError};

use crate::class;
use crate::net::{MAX_CLASSES, PortQdisc};

/// Buffer of best effort at a host: that of one queue of a switch in Chameleon, section 5.1.1.
const BEST_EFFORT_BUFFER: Bytes = Bytes::new(97_000);

/// One port, of a switch or of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    /// The link that leaves it; `None` where packets only come in.
    pub link: Option<LinkId>,
    /// The interface.
    pub interface: String,
    /// The interface's index.
    pub ifindex: u32,
    /// Queues of the link that leaves by it, if one does.
    pub egress: Option<PortQdisc>,
    /// The largest packet of its links, without tags.
    pub mtu: Bytes,
}

/// A switch with its ports: the port that a tag names is its place in `ports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchPlan {
    /// Its name in the topology.
    pub name: String,
    /// Outgoing ports in order of the topology's links, then ports that only receive packets.
    pub ports: Vec<PortPlan>,
}

/// One line of a switch's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Forward {
    /// Interface at which the packet arrives.
    pub ingress: u32,
    /// Its tag: the port among those that lead out, and the queue.
    pub tag: Tag,
    /// Interface by which it leaves.
    pub egress: u32,
    /// The class of the queue there.
    pub priority: u32,
}

/// Reason for which a node cannot be driven.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// It has more ports than tags can name.
    #[error("{node} has too many ports: {why}")]
    Ports {
        /// The node.
        node: String,
        /// Limit that is exceeded.
        why: TagError,
    },
    /// Its port has too many queues: no priority is left.
    #[error(
        "the port of {link} has {queues} queues, but the limit here is {most}: Linux supports {MAX_CLASSES}, and a host needs one more for best effort below those of contracts"
    )]
    Queues {
        /// The link that leaves the port.
        link: String,
        /// Number of queues.
        queues: usize,
        /// Maximum number of queues.
        most: usize,
    },
}

/// The port in a tag that makes a switch use this link: its place among the links that leave the switch, from 0 on.
pub fn port_of(network: &Network, link: LinkId) -> u16 {
    let siblings = network.links_from(network.link(link).from);
    let before = siblings.iter().filter(|&&sibling| sibling < link).count();
    u16::try_from(before).unwrap_or(u16::MAX)
}

impl SwitchPlan {
    /// Plans the ports of a switch or a host, whose interfaces are named by the caller: `interface` gets the link
    /// that leaves a port, or the one that enters it where none leaves, and returns name and index.
    ///
    /// # Errors
    /// If Linux cannot have this number of ports or queues.
    pub fn of(network: &Network, node: NodeId, interface: impl Fn(LinkId) -> (String, u32)) -> Result<Self, PlanError> {
        let name = network.node(node).name.clone();
        let mut outgoing = network.links_from(node).to_vec();
        outgoing.sort();
        let last = u16::try_from(outgoing.len().saturating_sub(1)).unwrap_or(u16::MAX);
        Tag::new(last, 0).map_err(|why| PlanError::Ports { node: name.clone(), why })?;
        let mut ports = Vec::with_capacity(outgoing.len());
        for link in outgoing {
            let (interface, ifindex) = interface(link);
            let (egress, mtu) = (Some(egress(network, link)?), network.link(link).mtu);
            ports.push(PortPlan { link: Some(link), interface, ifindex, egress, mtu });
        }
        for &link in network.links_into(node).iter().filter(|&&link| network.reverse(link).is_none()) {
            let (interface, ifindex) = interface(link);
            ports.push(PortPlan { link: None, interface, ifindex, egress: None, mtu: network.link(link).mtu });
        }
        Ok(Self { name, ports })
    }

    /// The whole table: from every port to every queue of every other port.
    pub fn table(&self) -> Vec<Forward> {
        let leaving = self.leaving();
        let from = |port: &PortPlan| {
            let ingress = port.ifindex;
            let others = leaving.iter().filter(move |line| line.egress != ingress);
            others.map(move |line| Forward { ingress, ..*line }).collect::<Vec<_>>()
        };
        self.ports.iter().flat_map(from).collect()
    }

    /// Returns the table for ports with another forwarder: the tags that may leave by each port, and their queues.
    /// Packets are seen as they leave, so `ingress` is that port.
    pub fn leaving(&self) -> Vec<Forward> {
        let mut table = Vec::new();
        for (port, to) in (0..).zip(&self.ports) {
            let queues = to.egress.as_ref().map_or(0, |egress| egress.queues.len());
            // `of` has made sure that each has a tag.
            let tags = (0..queues as u8).filter_map(|queue| Tag::new(port, queue).ok());
            table.extend(tags.map(|tag| Forward {
                ingress: to.ifindex,
                tag,
                egress: to.ifindex,
                priority: class::priority(tag.queue()),
            }));
        }
        table
    }
}

/// The queue of a class in front of a link. A switch's lowest is for best effort; a host has queues of its own for the classes that share,
/// below all that its latency contracts use, and one for best effort where queues are not divided.
pub fn queue_of(network: &Network, link: LinkId, class: Class) -> u8 {
    let queues = network.queues(link).len();
    let queue = match (class, network.classes()) {
        (Class::Latency, _) => 0,
        (class, Some(classes)) if is_host_port(network, link) => {
            queues + usize::from(classes.queue_of(class) - classes.latency)
        }
        (class, Some(classes)) => usize::from(classes.queue_of(class)).min(queues.saturating_sub(1)),
        (_, None) if is_host_port(network, link) => queues,
        (_, None) => queues.saturating_sub(1),
    };
    u8::try_from(queue).unwrap_or(u8::MAX)
}

fn is_host_port(network: &Network, link: LinkId) -> bool {
    network.node(network.link(link).from).kind == NodeKind::Host
}

/// The queues of a port, of which those of hosts for classes that share are not in the topology.
fn egress(network: &Network, id: LinkId) -> Result<PortQdisc, PlanError> {
    let link = network.link(id);
    let is_host = is_host_port(network, id);
    let mut queues: Vec<Bytes> = network.queues(id).iter().map(|queue| queue.buffer).collect();
    let own = match (is_host, network.classes()) {
        (true, Some(_)) => Class::SHARING.len(),
        (true, None) => 1,
        (false, _) => 0,
    };
    let most = MAX_CLASSES - own;
    if queues.len() > most {
        return Err(PlanError::Queues { link: link.name.clone(), queues: queues.len(), most });
    }
    let latency = if is_host { queues.len() } else { usize::MAX };
    queues.extend(vec![BEST_EFFORT_BUFFER; own]);
    let leaves_tagged = network.node(link.to).kind == NodeKind::Switch;
    let rate: Rate = link.rate;
    // Below the queues of latency contracts are those of the classes that share the rest.
    let shared = network.classes().map_or(Vec::new(), |classes| {
        let weights = Class::SHARING.map(|class| classes.weight(class));
        let below = queues.len().saturating_sub(usize::from(classes.latency).min(latency)).min(weights.len());
        weights.into_iter().take(below).collect()
    });
    Ok(PortQdisc { rate, queues, weights: shared, overhead: PortQdisc::overhead(leaves_tagged), mtu: link.mtu })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, FatTree, build};
    use wayleave_topology::{LinkSpec, NetworkBuilder, PortSpec};

    fn plan(network: &Network, name: &str) -> SwitchPlan {
        let node = network.find_node(name).unwrap();
        SwitchPlan::of(network, node, |link| (format!("p{}", link.0), 100 + link.0)).unwrap()
    }

    #[test]
    fn tags_name_ports_in_order_of_links_for_any_neighbour() {
        let network = build::fat_tree(&FatTree::default()).unwrap();
        for (id, link) in network.links().filter(|(_, link)| network.node(link.from).kind == NodeKind::Switch) {
            let plan = plan(&network, &network.node(link.from).name);
            assert_eq!(plan.ports[usize::from(port_of(&network, id))].link, Some(id), "{}", link.name);
        }
    }

    #[test]
    fn every_port_reaches_every_queue_of_every_other_port() {
        let network = build::star(3, Cabling::default()).unwrap();
        let switch = plan(&network, "s1");
        let table = switch.table();
        assert_eq!(table.len(), 3 * 2 * 8);
        assert!(
            table.iter().all(|line| line.ingress != line.egress && line.priority == class::priority(line.tag.queue()))
        );
        let second = switch.ports[1].ifindex;
        assert!(table.iter().all(|line| (line.tag.port() == 1) == (line.egress == second)));
    }

    #[test]
    fn a_host_has_a_queue_below_its_contracts_and_its_switch_port_has_none() {
        let network = build::star(2, Cabling::default()).unwrap();
        let host = plan(&network, "h1").ports[0].egress.clone().unwrap();
        assert_eq!((host.queues.len(), host.overhead), (2, 28));
        let port = plan(&network, "s1").ports[0].egress.clone().unwrap();
        assert_eq!((port.queues.len(), port.overhead), (8, 24));
    }

    #[test]
    fn a_host_with_eight_queues_leaves_none_for_best_effort() {
        let cabling = Cabling { host_port: PortSpec::uniform(8, Bytes::new(97_000)), ..Cabling::default() };
        let network = build::star(2, cabling).unwrap();
        let error = SwitchPlan::of(&network, network.find_node("h1").unwrap(), |_| (String::new(), 1)).unwrap_err();
        assert!(error.to_string().contains("h1->s1 has 8 queues"), "{error}");
    }

    #[test]
    fn a_one_way_link_has_a_port_without_a_target() {
        let mut builder = NetworkBuilder::default();
        let [a, b] = ["a", "b"].map(|name| builder.add_node(name, NodeKind::Switch).unwrap());
        let port = PortSpec::uniform(2, Bytes::new(9000));
        let rate = Rate::from_mbit(10);
        let spec = LinkSpec { from: a, to: b, rate, propagation: Default::default(), mtu: Bytes::new(1500), port };
        builder.add_link(spec).unwrap();
        let network = builder.build();
        let end = &plan(&network, "b").ports[0];
        assert_eq!((end.link, end.egress.as_ref(), end.ifindex), (None, None, 100));
        assert_eq!(plan(&network, "b").table(), []);
    }
}
