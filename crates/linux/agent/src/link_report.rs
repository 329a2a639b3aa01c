//! Counters of a node's links, for the reports to the controller.

use std::collections::BTreeMap;

use wayleave_dataplane::net::{CounterReading, FrameCounters, InterfaceCounters};
use wayleave_protocol::load::{LinkCounters, LinkReport, UNCOUNTED_FRAME_BYTES};
use wayleave_topology::{Network, NodeId};

/// Returns the counters of the links of a node in both directions. `interfaces` has the interface of each cable, by the
/// name of the link that leaves the node or, where none does, of the one that enters it. Interfaces that the kernel does
/// not list have no counters.
pub(crate) fn link_report(
    network: &Network,
    node: NodeId,
    interfaces: &BTreeMap<String, String>,
    reading: &CounterReading,
) -> LinkReport {
    let mut counters = Vec::new();
    for (name, interface) in interfaces {
        let (Some(link), Some(found)) = (network.find_link(name), reading.interfaces.get(interface)) else { continue };
        for link in [Some(link), network.reverse(link)].into_iter().flatten() {
            let link = network.link(link);
            let frames = if link.from == node { &found.sent } else { &found.received };
            counters.push(wire(&link.name, found, frames));
        }
    }
    LinkReport { read_ns: reading.read_ns, counters }
}

fn wire(link: &str, interface: &InterfaceCounters, frames: &FrameCounters) -> LinkCounters {
    LinkCounters {
        link: link.to_owned(),
        interface: interface.index,
        bytes: frames.bytes.saturating_add(frames.packets.saturating_mul(UNCOUNTED_FRAME_BYTES)),
        packets: frames.packets,
        dropped: frames.dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_of_a_cable_are_counted_in_bytes_on_the_wire() {
        let network = wayleave_topology::builders::build::star(2, Default::default()).unwrap();
        let host = network.hosts().next().unwrap();
        let out = network.link(network.links_from(host)[0]).name.clone();
        let into = network.link(network.links_into(host)[0]).name.clone();
        let sent = FrameCounters { packets: 10, bytes: 15_140, dropped: 3 };
        let received = FrameCounters { packets: 1, bytes: 60, dropped: 0 };
        let counters = InterfaceCounters { index: 4, sent, received };
        let reading = CounterReading { read_ns: 9, interfaces: BTreeMap::from([("up".to_owned(), counters)]) };
        let names = |interface: &str| BTreeMap::from([(out.clone(), interface.to_owned())]);
        let report = link_report(&network, host, &names("up"), &reading);
        // A frame of 1,514 B without its check sequence takes 1,538 B on the wire, one of 60 B takes 84 B.
        let expected = [
            LinkCounters { link: out.clone(), interface: 4, bytes: 15_380, packets: 10, dropped: 3 },
            LinkCounters { link: into, interface: 4, bytes: 84, packets: 1, dropped: 0 },
        ];
        assert_eq!((report.read_ns, report.counters.as_slice()), (9, expected.as_slice()));
        assert_eq!(link_report(&network, host, &names("gone"), &reading).counters, []);
    }
}
