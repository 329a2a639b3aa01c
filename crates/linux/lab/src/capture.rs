//! Capture at a node or an endpoint of a lab: frames, whose stacks of tags are decoded as the links and queues that
//! are still ahead.

use wayleave_dataplane::frames::describe;
use wayleave_topology::{Network, NodeId};

use crate::plan::LabPlan;

/// Interface at which a frame was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePoint {
    /// The node or endpoint, and its interface.
    pub name: String,
    interface: String,
    /// The node that reads the outermost tag; none where no tags should be.
    reader: Option<NodeId>,
}

impl CapturePoint {
    /// Of an interface of a namespace of the lab; `None` if the lab has no such interface.
    pub fn of(plan: &LabPlan, network: &Network, ifindex: u32, is_outgoing: bool) -> Option<Self> {
        if let Some(endpoint) = plan.endpoints.iter().find(|one| one.inside.ifindex == ifindex) {
            let interface = endpoint.inside.interface.clone();
            return Some(Self { name: format!("{} {interface}", endpoint.id), interface, reader: None });
        }
        if let Some(endpoint) = plan.endpoints.iter().find(|one| one.outside.ifindex == ifindex) {
            let (host, interface) = (&network.node(endpoint.host).name, endpoint.outside.interface.clone());
            return Some(Self { name: format!("{host} {interface} ({})", endpoint.id), interface, reader: None });
        }
        plan.nodes.iter().find_map(|node| {
            let port = node.ports.ports.iter().find(|port| port.ifindex == ifindex)?;
            let beyond = port.link.map(|link| network.link(link).to);
            let reader = if is_outgoing { beyond } else { Some(node.node) };
            let interface = port.interface.clone();
            Some(Self { name: format!("{} {interface}", node.ports.name), interface, reader })
        })
    }

    /// The interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Describes a frame that was seen here: its route, then its contents.
    pub fn describe(&self, network: &Network, frame: &[u8]) -> String {
        describe(network, self.reader, frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::LabName;
    use wayleave_dataplane::switch::port_of;
    use wayleave_packet_format::{Stack, Tag};
    use wayleave_topology::builders::{Cabling, build};

    fn udp() -> Vec<u8> {
        let mut frame = [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]].concat();
        frame.extend([
            8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9, 0, 26, 0, 0,
        ]);
        frame.resize(60, 0);
        frame
    }

    #[test]
    fn tags_are_decoded_as_the_links_ahead() {
        let network = build::star(2, Cabling::default()).unwrap();
        let plan = LabPlan::new(LabName::new("x").unwrap(), &network, &[], |id| {
            [2, 0, 0, 0, 0, id.len() as u8 + id.as_bytes()[6]]
        })
        .unwrap();
        let last = network.find_link("s1->h2").unwrap();
        let tag = Tag::new(port_of(&network, last), 3).unwrap();
        let host = &plan.node("h1").unwrap().ports.ports[0];
        let place = CapturePoint::of(&plan, &network, host.ifindex, true).unwrap();
        let frame = Stack { tags: vec![tag], number: None }.push(&udp());
        assert_eq!(place.name, "h1 up1");
        assert_eq!(place.describe(&network, &frame), "[s1->h2 q3] 10.0.0.1 port 7 > 10.0.0.2 port 9 UDP, 64 B");
        let numbered = Stack { tags: vec![tag], number: Some(8) }.push(&udp());
        assert!(place.describe(&network, &numbered).starts_with("[s1->h2 q3][copy 8] 10.0.0.1"));
        // Behind the switch no node reads tags: a tag there is wrong.
        let behind = &plan.node("s1").unwrap().ports.ports.iter().find(|port| port.link == Some(last)).unwrap();
        let place = CapturePoint::of(&plan, &network, behind.ifindex, true).unwrap();
        assert!(place.describe(&network, &frame).starts_with("[port "), "{}", place.describe(&network, &frame));
        assert_eq!(place.describe(&network, &udp()), "10.0.0.1 port 7 > 10.0.0.2 port 9 UDP, 60 B");
        assert_eq!(CapturePoint::of(&plan, &network, 1, true), None);
    }
}
