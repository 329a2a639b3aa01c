//! Captures, read back by a parser of their own.

use super::frame::checksum;
use super::*;
use crate::trace::tests::names;
use crate::trace::{Flags, Ring, TraceFlow};
use proptest::prelude::*;
use wayleave_repo_checks::TempFolder;

/// A frame as a reader of captures sees it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Frame {
    seconds: u32,
    nanoseconds: u32,
    included: u32,
    original: u32,
    destination: [u8; 6],
    source: [u8; 6],
    /// Priority and VLAN.
    tags: Vec<(u16, u16)>,
    ecn: u8,
    packet_bytes: u16,
    protocol: u8,
    from: String,
    to: String,
    ports: (u16, u16),
    /// Of TCP: sequence, acknowledgement, bits.
    tcp: Option<(u32, u32, u8)>,
    /// Of UDP.
    udp_bytes: Option<u16>,
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, left) = self.0.split_at(bytes);
        self.0 = left;
        taken
    }

    fn little(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    fn big(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }
}

fn parse(file: &[u8]) -> Vec<Frame> {
    let mut input = Input(file);
    assert_eq!(input.take(8), [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0]);
    assert_eq!((input.little(), input.little()), (0, 0));
    let most = input.little();
    assert_eq!(input.little(), 1);
    let mut frames = Vec::new();
    while !input.0.is_empty() {
        let [seconds, nanoseconds, included, original] = [0; 4].map(|_: u32| input.little());
        assert!(nanoseconds < 1_000_000_000 && included <= most && included <= original);
        let frame = Frame { seconds, nanoseconds, included, original, ..Frame::default() };
        frames.push(parse_headers(input.take(included as usize), frame));
    }
    frames
}

fn parse_headers(bytes: &[u8], mut frame: Frame) -> Frame {
    let mut input = Input(bytes);
    frame.destination = input.take(6).try_into().unwrap();
    frame.source = input.take(6).try_into().unwrap();
    let mut kind = input.short();
    while kind == 0x8100 {
        let tag = input.short();
        frame.tags.push((tag >> 13, tag & 0xfff));
        kind = input.short();
    }
    assert_eq!(kind, 0x0800);
    // Over a header with its own checksum the sum is all ones.
    assert_eq!(checksum(&input.0[..20]), 0);
    let ip = input.take(20);
    assert_eq!(ip[0], 0x45);
    frame.ecn = ip[1];
    frame.packet_bytes = u16::from_be_bytes([ip[2], ip[3]]);
    frame.protocol = ip[9];
    let text = |address: &[u8]| address.iter().map(u8::to_string).collect::<Vec<_>>().join(".");
    (frame.from, frame.to) = (text(&ip[12..16]), text(&ip[16..]));
    frame.ports = (input.short(), input.short());
    if frame.protocol == 6 {
        let (sequence, acknowledged) = (input.big(), input.big());
        let bits = input.take(2);
        assert_eq!(bits[0], 0x50);
        frame.tcp = Some((sequence, acknowledged, bits[1]));
        input.take(6);
    } else {
        frame.udp_bytes = Some(input.short());
        input.take(2);
    }
    assert!(input.0.is_empty(), "{} bytes behind the headers", input.0.len());
    frame
}

fn header() -> Header {
    let flow = |from, to| TraceFlow { name: "flow".into(), from, to, segment_bytes: 1_460 };
    Header { flows: vec![flow(0, 1), flow(254, 65_535)], ..Header::default() }
}

fn capture_of(records: &[TraceRecord], capture: &PcapOptions) -> Vec<Frame> {
    let mut file = Vec::new();
    let count = write_to(&mut file, &header(), records, capture).unwrap();
    let frames = parse(&file);
    assert_eq!(frames.len() as u64, count);
    frames
}

fn frame_of(record: TraceRecord) -> Frame {
    capture_of(&[TraceRecord { event: PacketEvent::Departed, ..record }], &PcapOptions::default()).remove(0)
}

/// A full segment, with headers of 54 bytes.
const SEGMENT: TraceRecord = TraceRecord {
    time_ps: 3_000_001_230_999,
    link: 0,
    flow: 1,
    sequence: 10,
    expected: 0,
    size: 1_538,
    event: PacketEvent::Departed,
    queue: 2,
    flags: Flags::SEGMENT,
    tags: 0,
};

#[test]
fn a_full_segment_has_the_length_of_the_simulated_frame_and_the_bytes_of_its_headers() {
    let expected = Frame {
        seconds: 3,
        nanoseconds: 1_230,
        included: 54,
        original: 1_514,
        destination: [2, 0, 10, 1, 0, 0],
        source: [2, 0, 10, 0, 0, 255],
        tags: vec![],
        ecn: 0,
        packet_bytes: 1_500,
        protocol: 6,
        from: "10.0.0.255".into(),
        to: "10.1.0.0".into(),
        ports: (0x8001, 0x8000),
        tcp: Some((14_600, 0, 0x10)),
        udp_bytes: None,
    };
    assert_eq!(frame_of(SEGMENT), expected);
}

#[test]
fn an_acknowledgement_is_sent_back_and_counts_bytes() {
    let ack = TraceRecord { flags: Flags::ACK, sequence: 12, expected: 10, size: 84, ..SEGMENT };
    let frame = frame_of(ack);
    assert_eq!((frame.from.as_str(), frame.to.as_str()), ("10.1.0.0", "10.0.0.255"));
    assert_eq!(frame.ports, (0x8000, 0x8001));
    assert_eq!(frame.tcp, Some((0, 14_600, 0x10)));
    assert_eq!((frame.included, frame.original, frame.packet_bytes), (54, 60, 46));
}

#[test]
fn a_datagram_is_udp() {
    let frame = frame_of(TraceRecord { flags: Flags::default(), size: 124, ..SEGMENT });
    assert_eq!((frame.protocol, frame.tcp, frame.udp_bytes), (17, None, Some(66)));
    assert_eq!((frame.included, frame.original, frame.packet_bytes), (42, 100, 86));
}

#[test]
fn congestion_shows_in_the_packet_and_in_its_acknowledgement() {
    let capable = |flags| frame_of(TraceRecord { flags: flags | Flags::ECN_CAPABLE, ..SEGMENT });
    assert_eq!(capable(Flags::SEGMENT).ecn, 0b10);
    assert_eq!(capable(Flags::SEGMENT | Flags::MARKED).ecn, 0b11);
    let ack = capable(Flags::ACK | Flags::MARKED);
    assert_eq!((ack.ecn, ack.tcp.map(|(_, _, bits)| bits)), (0b10, Some(0x50)));
    assert_eq!(capable(Flags::SEGMENT | Flags::MARKED).tcp.map(|(_, _, bits)| bits), Some(0x10));
}

#[test]
fn every_remaining_hop_has_a_tag_and_the_payload_stays() {
    let tagged = TraceRecord { tags: 3, size: SEGMENT.size + 12, ..SEGMENT };
    let frame = frame_of(tagged);
    assert_eq!(frame.tags, [(5, 3), (5, 2), (5, 1)]);
    assert_eq!((frame.included, frame.original, frame.packet_bytes), (66, 1_526, 1_500));
    let hidden = PcapOptions { tags: Tags::Hidden, ..PcapOptions::default() };
    let frame = capture_of(&[tagged], &hidden).remove(0);
    assert_eq!((frame.tags.len(), frame.included, frame.original, frame.packet_bytes), (0, 54, 1_526, 1_500));
}

#[test]
fn a_packet_smaller_than_its_headers_is_cut_to_its_own_length() {
    let mut file = Vec::new();
    // 60 bytes of frame, with six tags under 40 bytes of TCP and IPv4.
    let small = TraceRecord { tags: 6, size: 84, ..SEGMENT };
    // And one that the wire could not carry.
    write_to(&mut file, &header(), &[small, TraceRecord { size: 3, ..SEGMENT }], &PcapOptions::default()).unwrap();
    let lengths: [u32; 2] = [32, 36].map(|at| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()));
    assert_eq!(lengths, [60, 60]);
    assert_eq!(file.len(), 24 + 16 + 60 + 16);
}

#[test]
fn only_the_chosen_events_on_the_chosen_link_are_captured() {
    let records = [PacketEvent::Sent, PacketEvent::Departed, PacketEvent::Delivered, PacketEvent::Lost]
        .map(|event| [0, 7].map(|link| TraceRecord { event, link, ..SEGMENT }))
        .concat();
    assert_eq!(capture_of(&records, &PcapOptions::default()).len(), 4);
    assert_eq!(capture_of(&records, &PcapOptions { link: Some(7), ..PcapOptions::default() }).len(), 2);
    let sent = PcapOptions { events: vec![PacketEvent::Sent], link: Some(7), ..PcapOptions::default() };
    assert_eq!(capture_of(&records, &sent).len(), 1);
}

#[test]
fn flows_between_the_same_hosts_have_ports_of_their_own() {
    let ports = |flow| frame_of(TraceRecord { flow, ..SEGMENT }).ports;
    assert_eq!((ports(0x7fff), ports(0x8000)), ((0xffff, 0x8000), (0x8000, 0x8001)));
}

#[test]
fn a_flow_without_a_name_has_addresses_of_zero() {
    let frame = frame_of(TraceRecord { flow: 99, ..SEGMENT });
    assert_eq!((frame.from.as_str(), frame.to.as_str()), ("0.0.0.0", "0.0.0.0"));
}

#[test]
fn the_checksum_of_rfc_1071_is_reproduced() {
    // Section 3: the bytes 00 01 f2 03 f4 f5 f6 f7 sum up to ddf2.
    assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
}

#[test]
fn a_truncated_trace_leaves_no_capture() {
    let directory = TempFolder::new("pcap");
    let path = directory.join("run.pcap");
    let records = [Ok(SEGMENT), Err(ReadError::Truncated { bytes: 5 })];
    let result = write(&path, &header(), records, &PcapOptions::default());
    assert!(matches!(result, Err(PcapError::Read(ReadError::Truncated { bytes: 5 }))), "{result:?}");
    assert_eq!(names(&directory), [""; 0]);

    let mut ring = Ring::new(5);
    ring.push(SEGMENT);
    let frames = write(&path, &header(), ring.iter().copied().map(Ok), &PcapOptions::default()).unwrap();
    assert_eq!((frames, parse(&std::fs::read(&path).unwrap()).len()), (1, 1));
}

proptest! {
    #[test]
    fn every_record_becomes_a_frame_that_parses(
        time_ps: u64,
        [flow, sequence, expected] in any::<[u32; 3]>(),
        queue: u8,
        flags in 0..64u8,
        tags: u8,
        more in 0..70_000u32,
    ) {
        let flags = Flags::from_bits(flags);
        // Room for all headers.
        let size = 24 + MAX_HEADER_BYTES as u32 + more;
        let record = TraceRecord { time_ps, flow, sequence, expected, queue, flags, tags, size, ..SEGMENT };
        let frame = frame_of(record);
        prop_assert_eq!(frame.original, size - 24);
        prop_assert_eq!(frame.tags.len(), usize::from(tags));
        let payload = u32::from(frame.packet_bytes) + 14 + 4 * u32::from(tags);
        prop_assert!(payload == frame.original || frame.packet_bytes == u16::MAX);
        let time = u64::from(frame.seconds) * 1_000_000_000 + u64::from(frame.nanoseconds);
        prop_assert_eq!(time, time_ps / 1_000);
    }
}
