//! The made-up headers of one frame. All numbers are big-endian, as on the wire.

use super::tags::Tags;
use crate::trace::header::{Header, TraceFlow};
use crate::trace::record::{Flags, TraceRecord};

/// Two addresses and a type (IEEE 802.3).
const ETHERNET_BYTES: usize = 14;
/// A tag (IEEE 802.1Q, 9.3).
const TAG_BYTES: usize = 4;
/// Without options (RFC 791).
const IPV4_BYTES: usize = 20;
/// Without options (RFC 9293).
const TCP_BYTES: usize = 20;
/// RFC 768.
const UDP_BYTES: usize = 8;

/// The longest headers that there can be.
pub(super) const MAX_HEADER_BYTES: usize = ETHERNET_BYTES + u8::MAX as usize * TAG_BYTES + IPV4_BYTES + TCP_BYTES;

/// Types of Ethernet.
const TYPE_TAG: u16 = 0x8100;
const TYPE_IPV4: u16 = 0x0800;

/// Protocols of IPv4.
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// The first two bytes of a unicast Ethernet address that is administered locally (IEEE 802, 8.4).
const LOCAL_ADDRESS: [u8; 2] = [0x02, 0x00];

/// 10.0.0.1, the address of the first host (RFC 1918).
const FIRST_ADDRESS: u32 = 0x0a00_0001;
/// The addresses behind it that begin with 10.
const ADDRESSES: u32 = 0x00ff_ffff;

/// Bits of a flow's index in each of its ports, and the bit that lifts ports above those of known services.
const PORT_BITS: u32 = 15;
const HIGH_PORT: u16 = 0x8000;

/// The codes of ECN in IPv4 (RFC 3168, section 5).
const ECT0: u8 = 0b10;
const CE: u8 = 0b11;

/// Bits of TCP (RFC 9293, section 3.1).
const TCP_ACK: u8 = 0x10;
const TCP_ECE: u8 = 0x40;

/// One end of a packet's path.
#[derive(Clone, Copy)]
struct End {
    address: [u8; 4],
    port: u16,
}

/// All headers of a frame that is `original` bytes long; they may be longer.
pub(super) fn headers(header: &Header, record: &TraceRecord, original: u32, tags: Tags) -> Vec<u8> {
    let flow = header.flows.get(record.flow as usize);
    let [from, to] = ends(flow, record);
    let is_tcp = record.flags.has(Flags::SEGMENT) || record.flags.has(Flags::ACK);
    let transport_bytes = if is_tcp { TCP_BYTES } else { UDP_BYTES };
    // Hidden tags are no part of the payload either.
    let around = ETHERNET_BYTES + TAG_BYTES * usize::from(record.tags);
    let packet_bytes = (original as usize).saturating_sub(around).max(IPV4_BYTES + transport_bytes);

    let mut frame = Vec::with_capacity(around + IPV4_BYTES + TCP_BYTES);
    for end in [to, from] {
        frame.extend(LOCAL_ADDRESS);
        frame.extend(end.address);
    }
    if tags == Tags::Shown {
        put_tags(&mut frame, record);
    }
    frame.extend(TYPE_IPV4.to_be_bytes());
    let protocol = if is_tcp { PROTOCOL_TCP } else { PROTOCOL_UDP };
    frame.extend(ipv4(record, packet_bytes, protocol, from.address, to.address));
    frame.extend(from.port.to_be_bytes());
    frame.extend(to.port.to_be_bytes());
    if is_tcp {
        put_tcp(&mut frame, record, flow.map_or(0, |flow| flow.segment_bytes));
    } else {
        frame.extend(length(packet_bytes - IPV4_BYTES));
        frame.extend([0, 0]);
    }
    frame
}

/// Returns the source and the destination of a packet.
fn ends(flow: Option<&TraceFlow>, record: &TraceRecord) -> [End; 2] {
    let port = |bits: u32| HIGH_PORT | (bits & ((1 << PORT_BITS) - 1)) as u16;
    let sender = End { address: address(flow.map(|flow| flow.from)), port: port(record.flow) };
    let receiver = End { address: address(flow.map(|flow| flow.to)), port: port(record.flow >> PORT_BITS) };
    if record.flags.has(Flags::ACK) { [receiver, sender] } else { [sender, receiver] }
}

/// The address of a host; 0.0.0.0 where it is not known.
fn address(host: Option<u32>) -> [u8; 4] {
    host.map_or([0; 4], |host| (FIRST_ADDRESS + host % ADDRESSES).to_be_bytes())
}

fn put_tags(frame: &mut Vec<u8>, record: &TraceRecord) {
    let priority = 7_u16.saturating_sub(record.queue.into());
    for height in (1..=u16::from(record.tags)).rev() {
        frame.extend(TYPE_TAG.to_be_bytes());
        frame.extend((priority << 13 | height).to_be_bytes());
    }
}

fn ipv4(record: &TraceRecord, bytes: usize, protocol: u8, from: [u8; 4], to: [u8; 4]) -> [u8; IPV4_BYTES] {
    let is_marked = record.flags.has(Flags::MARKED) && !record.flags.has(Flags::ACK);
    let ecn = match (is_marked, record.flags.has(Flags::ECN_CAPABLE)) {
        (true, _) => CE,
        (false, true) => ECT0,
        (false, false) => 0,
    };
    let mut ip = [0; IPV4_BYTES];
    // Version 4, five words of header.
    ip[0] = 0x45;
    ip[1] = ecn;
    ip[2..4].copy_from_slice(&length(bytes));
    ip[4..6].copy_from_slice(&(record.sequence as u16).to_be_bytes());
    // Not to be fragmented; a time to live of 64, as RFC 1700 recommends.
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&from);
    ip[16..].copy_from_slice(&to);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip
}

/// Writes the TCP fields behind the ports. Only one side of a connection sends data: the numbers of the other one
/// stay at zero.
fn put_tcp(frame: &mut Vec<u8>, record: &TraceRecord, segment_bytes: u32) {
    // Without a size of segments they are counted instead.
    let number = |segment: u32| segment.wrapping_mul(segment_bytes.max(1));
    let is_ack = record.flags.has(Flags::ACK);
    let (sequence, acknowledged) = if is_ack { (0, number(record.expected)) } else { (number(record.sequence), 0) };
    frame.extend(sequence.to_be_bytes());
    frame.extend(acknowledged.to_be_bytes());
    let echo = if is_ack && record.flags.has(Flags::MARKED) { TCP_ECE } else { 0 };
    // Five words of header; the widest window, no checksum, nothing urgent.
    frame.extend([0x50, TCP_ACK | echo, 0xff, 0xff, 0, 0, 0, 0]);
}

fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

/// The ones' complement of the ones' complement sum of all pairs of bytes (RFC 1071).
pub(super) fn checksum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| u32::from(low)));
    let sum: u32 = pairs.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}
