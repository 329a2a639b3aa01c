//! The endpoint's program on a real interface: what `BPF_PROG_TEST_RUN` cannot show. Every copy of a packet on its own route, and IP packets that
//! are shorter than their first header.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use crate::model::Model;
use crate::world::{World, mac, udp};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, recv, sendto, setsockopt, socket,
};
use nix::sys::time::TimeVal;
use wayleave_dataplane::host::{Host, HostPath, HostProgram, HostRule, PacketOutcome, Sender, Settings};
use wayleave_dataplane::net::{Attached, CounterReading, FrameCounters, Namespace, PortQdisc, ToolBatch};
use wayleave_packet_format::{BucketDemand, PacketSelector, Tag};
use wayleave_units::{Bytes, Rate, Time};

const ENDPOINT: u32 = 1201;
const UPLINKS: [u32; 2] = [1211, 1221];

/// A host with its program attached, a socket that sends as the tenant does, and one that sees everything on all interfaces.
struct Testbed {
    host: Host,
    sends: OwnedFd,
    /// Another one: the kernel does not show a socket what it has sent itself.
    sees: OwnedFd,
    tenant: LinkAddr,
    _world: World,
}

impl Testbed {
    fn new() -> Self {
        let world = World::new();
        world.veth("tap", ENDPOINT);
        world.veth("one", UPLINKS[0]);
        world.veth("two", UPLINKS[1]);
        let now = Some(Time::from_nanos(1));
        let mut host = Host::open(&world.pins, &Settings { now, ..Settings::default() }).unwrap();
        host.add_endpoint(ENDPOINT, mac(1)).unwrap();
        let pinned = host.pinned(HostProgram::Endpoint);
        for arguments in ["qdisc add dev tap clsact", "filter add dev tap ingress bpf da object-pinned"] {
            let mut tc = Command::new("tc");
            tc.args(arguments.split(' '));
            if arguments.starts_with("filter") {
                tc.arg(&pinned);
            }
            assert!(tc.status().unwrap().success(), "tc {arguments}");
        }
        let open =
            || socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
        let (sends, sees) = (open(), open());
        setsockopt(&sees, ReceiveTimeout, &TimeVal::new(5, 0)).unwrap();
        let tenant = getifaddrs().unwrap().find(|interface| interface.interface_name == "tapp");
        let tenant = *tenant.unwrap().address.unwrap().as_link_addr().unwrap();
        Self { host, sends, sees, tenant, _world: world }
    }

    fn send(&self, frame: &[u8]) {
        assert_eq!(sendto(self.sends.as_raw_fd(), frame, &self.tenant, MsgFlags::empty()), Ok(frame.len()));
    }

    /// The next frame that leaves an uplink, with all its tags.
    fn leaves(&self) -> Vec<u8> {
        loop {
            let mut frame = vec![0; 2048];
            let length = recv(self.sees.as_raw_fd(), &mut frame, MsgFlags::empty()).expect("a frame within 5 s");
            frame.truncate(length);
            // At the egress a frame still contains its tags; at the ingress the kernel has taken the first one.
            if frame[12..14] == [0x81, 0] && frame[14..16] == FIRST.to_be_bytes() {
                return frame;
            }
        }
    }
}

/// The outermost tag of every route here: port 5, queue 2.
const FIRST: u16 = 5 << 13 | 6;

pub(crate) fn every_copy_takes_its_own_route_with_one_sequence_number() {
    let (mut testbed, mut model) = (Testbed::new(), Model::new());
    model.endpoints.insert(ENDPOINT, mac(1));
    let path = |uplink, depth| {
        let below = (0..depth).map(|port| Tag::new(port, 3).unwrap());
        HostPath {
            uplink,
            queue: 2,
            tags: [Tag::from_tci(FIRST).unwrap()].into_iter().chain(below).collect(),
            mtu: Bytes::new(1500),
        }
    };
    let rule = HostRule {
        senders: vec![Sender { ifindex: ENDPOINT, selector: PacketSelector::default() }],
        demand: BucketDemand { rate: Rate::from_gbit(1), burst: Bytes::new(100_000), max_frame: None },
        paths: vec![path(UPLINKS[0], 4), path(UPLINKS[1], 1), path(UPLINKS[0], 4), path(UPLINKS[1], 2)],
        bound: Time::from_millis(10),
    };
    testbed.host.install(5, 1, &rule).unwrap();
    model.install(5, 1, &rule);
    for length in [60, 100, 1000, 1514] {
        let frame = udp(1, 2, (7, 9), length);
        let expected = model.sent(Time::from_nanos(1), ENDPOINT, &frame, 0);
        testbed.send(&frame);
        let mut copies = expected.copies;
        copies.push(expected.leaves.unwrap().0);
        assert_eq!(copies.len(), 4);
        for copy in copies {
            assert_eq!(testbed.leaves(), copy);
        }
    }
    assert_eq!(testbed.host.counters().unwrap().contracts, model.contracts());
}

pub(crate) fn ip_packets_with_a_truncated_header_are_malformed() {
    let testbed = Testbed::new();
    let [v4, mut v6] = [udp(1, 2, (7, 9), 60), udp(1, 2, (7, 9), 60)];
    v6[12..15].copy_from_slice(&[0x86, 0xDD, 0x60]);
    let mut sent = 0;
    for (frame, shortest) in [(v4, 34), (v6, 54)] {
        for length in 14..shortest {
            testbed.send(&frame[..length]);
            sent += 1;
        }
    }
    // A last one that is seen to be dropped behind all others.
    let mut last = udp(1, 2, (7, 9), 60);
    last[0] |= 1;
    testbed.send(&last);
    let counted = |reason| testbed.host.counters().unwrap().of(reason);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while counted(PacketOutcome::Multicast) == 0 && std::time::Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!((counted(PacketOutcome::Multicast), counted(PacketOutcome::Malformed)), (1, sent));
}

pub(crate) fn a_port_has_its_configured_queues_for_any_configuration() {
    let world = World::new();
    world.veth("own", 200);
    let queues = |rate: u64, buffers: &[u64], weights: &[u16], is_tagged| PortQdisc {
        rate: Rate::from_bits_per_second(rate),
        queues: buffers.iter().copied().map(Bytes::new).collect(),
        weights: weights.to_vec(),
        overhead: PortQdisc::overhead(is_tagged),
        mtu: Bytes::new(1_500),
    };
    let all = [
        queues(64_000, &[1_500], &[], true),
        queues(1_000_000, &[97_000; 8], &[], false),
        queues(12_345_678, &[9_000, 97_000], &[], true),
        queues(10_000_000, &[97_000; 5], &[6, 3, 1], false),
        queues(1_000_000_000, &[97_000; 3], &[40], true),
        queues(10_000_000_000, &[64_000_000, 5_000_000_000], &[], true),
        queues(100_000_000_000, &[97_000; 4], &[1, 1], true),
    ];
    for given in &all {
        ToolBatch::tc().extend(given.rebuild("own").unwrap()).run(&Namespace::current()).unwrap();
        let there = Attached::of(&Namespace::current(), &[], &[]).unwrap();
        for other in &all {
            assert_eq!(there.has_queues("own", other), given == other, "{other:?} where {given:?} are");
        }
    }
}

pub(crate) fn frames_on_a_link_are_counted_at_both_ends_and_drops_of_queues_at_the_sender() {
    const FRAMES: u64 = 1_000;
    const LENGTH: u64 = 1_000;
    let world = World::new();
    world.veth("cable", UPLINKS[0]);
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    let to = getifaddrs().unwrap().find(|interface| interface.interface_name == "cable");
    let to = *to.unwrap().address.unwrap().as_link_addr().unwrap();
    let frame = vec![0x42; usize::try_from(LENGTH).unwrap()];
    let send = |frames: u64| {
        (0..frames).filter(|_| sendto(socket.as_raw_fd(), &frame, &to, MsgFlags::empty()).is_ok()).count()
    };
    // A new link drops frames until the kernel has activated its queue, so they are sent until enough were carried.
    let before = CounterReading::now().unwrap();
    let since = |before: FrameCounters, after: FrameCounters| {
        (after.packets - before.packets, after.bytes - before.bytes, after.dropped - before.dropped)
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut attempts = 0;
    let after = loop {
        attempts += send(100) as u64;
        let after = CounterReading::now().unwrap();
        let (carried, bytes, dropped) = since(before.interfaces["cable"].sent, after.interfaces["cable"].sent);
        assert_eq!((carried + dropped, bytes), (attempts, carried * LENGTH));
        if carried >= FRAMES {
            assert_eq!(
                since(before.interfaces["cablep"].received, after.interfaces["cablep"].received),
                (carried, bytes, 0)
            );
            break after;
        }
        assert!(std::time::Instant::now() < deadline, "{carried} of {attempts} frames were carried");
    };
    assert_eq!((after.interfaces["cable"].index, after.interfaces["cablep"].index), (UPLINKS[0], UPLINKS[0] + 1));
    assert!(after.read_ns > before.read_ns);
    // A queue with room for one frame, which leaves only after a second.
    let mut batch = ToolBatch::tc();
    batch.extend(["qdisc replace dev cable root tbf rate 8kbit burst 1000 limit 1000".to_owned()]);
    batch.run(&Namespace::current()).unwrap();
    let before = CounterReading::now().unwrap().interfaces["cable"].sent.dropped;
    send(100);
    let dropped = CounterReading::now().unwrap().interfaces["cable"].sent.dropped - before;
    assert!((50..=100).contains(&dropped), "{dropped}");
}
