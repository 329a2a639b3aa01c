//! Names of a lab's interfaces: those of the topology where they can be used, generated ones elsewhere.

use std::collections::HashSet;

use wayleave_dataplane::net::check_interface;
use wayleave_dataplane::switch::port_of;
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

/// Names with a meaning in a namespace: the loopback interface, the folders of settings for all interfaces in `/proc/sys/net`, and the
/// interfaces of Open vSwitch.
const RESERVED: [&str; 6] = ["lo", "all", "default", "br0", "ovs-netdev", "ovs-system"];
/// Prefix of the names of the data plane's own interfaces.
const OWN: &str = "wl-";

/// Names of the interfaces at the ends of links.
pub(crate) struct Interfaces<'a> {
    network: &'a Network,
    taken: HashSet<(NodeId, String)>,
}

impl<'a> Interfaces<'a> {
    pub(crate) fn new(network: &'a Network) -> Self {
        let named = network.interfaces().iter().filter(|(_, name)| is_usable(name));
        let taken = named.map(|(&link, name)| (network.link(link).from, name.clone())).collect();
        Self { network, taken }
    }

    /// The name of the interface that a link leaves: `p1` ... at a switch and `up1` ... at a host, if the topology has none that can be used.
    pub(crate) fn leaving(&mut self, link: LinkId) -> String {
        if let Some(name) = self.network.interfaces().get(&link).filter(|name| is_usable(name)) {
            return name.clone();
        }
        let from = self.network.link(link).from;
        let stem = if self.network.node(from).kind == NodeKind::Host { "up" } else { "p" };
        self.free(from, format!("{stem}{}", port_of(self.network, link) + 1))
    }

    /// The name of the interface that a link enters whose node sends nothing back.
    pub(crate) fn entering(&mut self, link: LinkId) -> String {
        self.free(self.network.link(link).to, format!("in{}", link.0))
    }

    /// The name of a host's end of its endpoint with this number.
    pub(crate) fn endpoint(&mut self, host: NodeId, number: usize) -> String {
        self.free(host, format!("e{number}"))
    }

    fn free(&mut self, node: NodeId, stem: String) -> String {
        let mut name = stem.clone();
        for number in 2.. {
            if self.taken.insert((node, name.clone())) {
                break;
            }
            name = format!("{stem}.{number}");
        }
        name
    }
}

fn is_usable(name: &str) -> bool {
    check_interface(name).is_ok() && !RESERVED.contains(&name) && !name.starts_with(OWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, build};
    use wayleave_topology::{Link, LinkSpec, NetworkBuilder, PortSpec};

    #[test]
    fn names_of_the_topology_are_kept_where_the_kernel_allows_them() {
        let star = build::star(3, Cabling::default()).unwrap();
        let mut builder = NetworkBuilder::default();
        for (_, node) in star.nodes() {
            builder.add(node.clone()).unwrap();
        }
        for (id, link) in star.links() {
            let port = PortSpec { queues: star.queues(id).to_vec() };
            let Link { from, to, rate, propagation, mtu, .. } = *link;
            builder.add_link(LinkSpec { from, to, rate, propagation, mtu, port }).unwrap();
        }
        for (link, name) in [
            ("h1->s1", "eth7"),
            ("s1->h1", "GigabitEthernet0/0/0/1"),
            ("s1->h2", "p1"),
            ("s1->h3", "br0"),
            ("h2->s1", "e1"),
            ("h3->s1", "sixteenletters16"),
        ] {
            builder.name_interface(star.find_link(link).unwrap(), name).unwrap();
        }
        let network = builder.build();
        let mut interfaces = Interfaces::new(&network);
        let mut of = |link: &str| interfaces.leaving(network.find_link(link).unwrap());
        assert_eq!(of("h1->s1"), "eth7");
        // p1 is the name of another port of s1.
        assert_eq!([of("s1->h1"), of("s1->h2"), of("s1->h3")], ["p1.2", "p1", "p3"]);
        assert_eq!([of("h2->s1"), of("h3->s1")], ["e1", "up1"]);
        let [h1, h2] = ["h1", "h2"].map(|name| network.find_node(name).unwrap());
        assert_eq!([interfaces.endpoint(h1, 1), interfaces.endpoint(h2, 1)], ["e1", "e1.2"]);
    }
}
