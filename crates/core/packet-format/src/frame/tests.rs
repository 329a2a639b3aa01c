//! Frames as they should be, and frames that should not be.

use alloc::vec;
use alloc::vec::Vec;

use super::*;

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(ether_type.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn v4(protocol: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 20 + data.len() as u8, 0, 1, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend_from_slice(data);
    packet
}

fn v6(next: u8, data: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, data.len() as u8, next, 64];
    packet.extend([0xFD; 16]);
    packet.extend([0xFE; 16]);
    packet.extend_from_slice(data);
    packet
}

const UDP: [u8; 8] = [0, 7, 0, 9, 0, 8, 0, 0];

fn ip(frame: &[u8]) -> Option<(u8, Option<(u16, u16)>)> {
    let ip = ParsedFrame::parse(frame).ok()?.ip?;
    Some((ip.protocol, ip.ports.map(|ports| (ports.source, ports.destination))))
}

#[test]
fn five_tuples_of_both_versions() {
    assert_eq!(ip(&ethernet(IPV4, &v4(17, &UDP))), Some((17, Some((7, 9)))));
    assert_eq!(ip(&ethernet(IPV6, &v6(17, &UDP))), Some((17, Some((7, 9)))));
    assert_eq!(ip(&ethernet(IPV4, &v4(1, &UDP))), Some((1, None)));
    let parsed = ParsedFrame::parse(&ethernet(IPV4, &v4(17, &UDP))).unwrap();
    assert_eq!(parsed.destination, Mac::new([2, 0, 0, 0, 0, 2]));
    assert_eq!(parsed.ip.unwrap().source, IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
    assert_eq!(ParsedFrame::parse(&ethernet(0x0806, &[])).unwrap().ip, None);
}

#[test]
fn options_of_ipv4_lie_before_the_ports() {
    let mut packet = v4(17, &[&[1, 1, 1, 1][..], &UDP].concat());
    packet[0] = 0x46;
    assert_eq!(ip(&ethernet(IPV4, &packet)), Some((17, Some((7, 9)))));
}

#[test]
fn padding_is_no_part_of_the_packet() {
    let mut frame = ethernet(IPV4, &v4(17, &UDP[..2]));
    frame.extend([0; 40]);
    assert_eq!(ParsedFrame::parse(&frame), Err(ParseError::Malformed), "the ports lie in the padding");
    let mut frame = ethernet(IPV4, &v4(17, &UDP));
    frame.extend([0; 40]);
    assert_eq!(ip(&frame), Some((17, Some((7, 9)))));
}

#[test]
fn no_fragment_has_ports() {
    for (byte, value) in [(6, 0x20), (6, 0x01), (7, 1)] {
        let mut packet = v4(17, &UDP);
        packet[byte] = value;
        assert_eq!(ip(&ethernet(IPV4, &packet)), Some((17, None)));
    }
    let mut packet = v4(17, &UDP);
    packet[6] = 0x40;
    assert_eq!(ip(&ethernet(IPV4, &packet)), Some((17, Some((7, 9)))), "one that must not be fragmented is none");
    assert_eq!(ip(&ethernet(IPV6, &v6(44, &[&[17, 0, 0, 1, 0, 0, 0, 1][..], &UDP].concat()))), Some((17, None)));
}

#[test]
fn extension_headers_are_skipped() {
    let hop = [60, 0, 0, 0, 0, 0, 0, 0];
    let options = [51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let authentication = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let data = [&hop[..], &options, &authentication, &UDP].concat();
    assert_eq!(ip(&ethernet(IPV6, &v6(0, &data))), Some((17, Some((7, 9)))));
    let endless = [60, 0, 0, 0, 0, 0, 0, 0].repeat(9);
    assert_eq!(ip(&ethernet(IPV6, &v6(60, &endless))), None);
    assert_eq!(ip(&ethernet(IPV6, &v6(60, &[17, 9, 0, 0, 0, 0, 0, 0]))), None, "longer than the packet");
}

#[test]
fn every_shorter_frame_is_malformed() {
    for frame in [ethernet(IPV4, &v4(17, &UDP)), ethernet(IPV6, &v6(17, &UDP))] {
        for length in 0..frame.len() {
            assert_eq!(ParsedFrame::parse(&frame[..length]), Err(ParseError::Malformed), "{length} B");
        }
    }
}

#[test]
fn contradictory_headers_are_malformed() {
    for (byte, value) in [(0, 0x65), (0, 0x44), (3, 19), (3, 29)] {
        let mut packet = v4(17, &UDP);
        packet[byte] = value;
        assert_eq!(ParsedFrame::parse(&ethernet(IPV4, &packet)), Err(ParseError::Malformed), "byte {byte}");
    }
    for (byte, value) in [(0, 0x40), (5, 9)] {
        let mut packet = v6(17, &UDP);
        packet[byte] = value;
        assert_eq!(ParsedFrame::parse(&ethernet(IPV6, &packet)), Err(ParseError::Malformed), "byte {byte}");
    }
}

#[test]
fn a_tag_is_found_above_any_content() {
    for ether_type in [0x8100, 0x88A8, 0x9100, 0x9200, 0x9300] {
        assert_eq!(ParsedFrame::parse(&ethernet(ether_type, &[])), Err(ParseError::Tagged));
    }
}
