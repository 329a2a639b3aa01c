//! Frames for people: their stack of tags read as the links and queues that are still ahead, and files of them.

use std::fmt::Write as _;

use wayleave_packet_format::{ParsedFrame, SEQUENCE_TYPE, TAG_TYPE, Tag};
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use crate::switch::port_of;

/// The begin of a file of packets (pcap, times in nanoseconds, Ethernet), as little-endian machines write it.
pub fn pcap_head() -> Vec<u8> {
    let numbers = [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 1 << 16, 1];
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A frame in such a file, seen at a time in nanoseconds.
pub fn pcap_record(at_ns: u64, frame: &[u8]) -> Vec<u8> {
    let length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    let seconds = u32::try_from(at_ns / 1_000_000_000).unwrap_or(u32::MAX);
    let numbers = [seconds, (at_ns % 1_000_000_000) as u32, length, length];
    numbers.into_iter().flat_map(u32::to_le_bytes).chain(frame.iter().copied()).collect()
}

/// Describes a frame: its route, then its contents. `reader` is the node that reads the outermost tag next; `None`
/// where no tags are expected.
pub fn describe(network: &Network, reader: Option<NodeId>, frame: &[u8]) -> String {
    let (tags, number, rest) = taken_apart(frame);
    let mut text = String::new();
    let mut at = reader;
    for tag in &tags {
        match at.and_then(|node| link_of(network, node, *tag)) {
            Some(link) => {
                at = Some(network.link(link).to);
                let _ = write!(text, "[{} q{}]", network.link(link).name, tag.queue());
            }
            None => {
                at = None;
                let _ = write!(text, "[port {} q{}?]", tag.port(), tag.queue());
            }
        }
    }
    if let Some(number) = number {
        let _ = write!(text, "[copy {number}]");
    }
    if !text.is_empty() {
        text.push(' ');
    }
    text + &carried(&rest, frame.len())
}

/// The link that a tag names at a node.
fn link_of(network: &Network, node: NodeId, tag: Tag) -> Option<LinkId> {
    let is_switch = network.node(node).kind == NodeKind::Switch;
    network.links_from(node).iter().copied().find(|&link| is_switch && port_of(network, link) == tag.port())
}

/// The tags of a frame, the sequence number of a packet with copies, and the frame without them.
fn taken_apart(frame: &[u8]) -> (Vec<Tag>, Option<u16>, Vec<u8>) {
    let short = |at: usize| frame.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let (mut tags, mut number, mut at) = (Vec::new(), None, 12);
    while let (Some(kind), Some(value)) = (short(at), short(at + 2)) {
        match (kind, Tag::from_tci(value)) {
            (TAG_TYPE, Ok(tag)) => tags.push(tag),
            (SEQUENCE_TYPE, _) => number = Some(value),
            _ => break,
        }
        at += 4;
    }
    let head = frame.get(..12).unwrap_or(frame);
    (tags, number, [head, frame.get(at..).unwrap_or_default()].concat())
}

/// Describes the contents of a frame without tags.
fn carried(frame: &[u8], bytes: usize) -> String {
    let Ok(packet) = ParsedFrame::parse(frame) else { return format!("unknown frame, {bytes} B") };
    let Some(ip) = packet.ip else {
        let kind = frame.get(12..14).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        let kind = if kind == 0x0806 { "ARP".to_owned() } else { format!("EtherType {kind:#06x}") };
        return format!("{} > {} {kind}, {bytes} B", packet.source, packet.destination);
    };
    let protocol = match ip.protocol {
        1 | 58 => "ICMP".to_owned(),
        6 => "TCP".to_owned(),
        17 => "UDP".to_owned(),
        other => format!("protocol {other}"),
    };
    let [from, to] = match ip.ports {
        Some(ports) => {
            [format!("{} port {}", ip.source, ports.source), format!("{} port {}", ip.destination, ports.destination)]
        }
        None => [ip.source.to_string(), ip.destination.to_string()],
    };
    format!("{from} > {to} {protocol}, {bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_file_has_its_header_and_each_packet_its_time_and_length() {
        assert_eq!(pcap_head()[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        let record = pcap_record(3_000_000_007, &[9; 5]);
        assert_eq!(record, [&[3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0][..], &[9; 5]].concat());
    }
}
