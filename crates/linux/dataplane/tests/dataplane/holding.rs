//! Packets that wait for their tokens: packets beyond a contract are delayed, and the output never exceeds its curve.
//!
//! A tenant and a receiver, each in a network namespace of a thread of its own, with a host between them: `tenant
//! eth0 ── tap [host] net ── eth0 receiver`. Everything is deleted when the threads end, in any case.

use std::collections::BTreeMap;
use std::io::{IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SetSockOpt, recvmsg, setsockopt, sockopt};
use nix::unistd::Pid;
use wayleave_dataplane::host::{
    ContractPackets, Host, HostPath, HostProgram, HostRule, PacketOutcome, QueueLimit, Sender, Settings,
};
use wayleave_dataplane::net::{Attached, Capture, Namespace, attach_ingress};
use wayleave_packet_format::{BucketDemand, PacketSelector, wire_bytes};
use wayleave_units::{Bytes, Rate, Time};

use crate::world::party::{Party, index, tool};
use crate::world::{World, mac};

const TAP: u32 = 1301;
const NET: u32 = 1303;
const SERIAL: u64 = 7;
const LARGEST: usize = 1514;
const PORT: u16 = 9;

/// A host between two parties.
struct Testbed {
    host: Host,
    tenant: Party,
    receiver: Party,
    _world: World,
}

impl Testbed {
    fn new() -> Self {
        let world = World::new();
        world.veth("tap", TAP);
        world.veth("net", NET);
        let (tenant, receiver) = (Party::new("tapp", 1, Some(2)), Party::new("netp", 2, Some(1)));
        let mut host = Host::open(&world.pins, &Settings { contracts: 2_048, ..Settings::default() }).unwrap();
        host.add_endpoint(TAP, mac(1)).unwrap();
        host.hold(Time::from_millis(100)).unwrap();
        for (interface, program) in [("tap", HostProgram::Endpoint), ("net", HostProgram::Uplink)] {
            attach_ingress(interface, &host.pinned(program)).iter().for_each(|line| tool("tc", line));
        }
        Self { host, tenant, receiver, _world: world }
    }

    fn contract(&self) -> ContractPackets {
        self.host.counters().unwrap().contracts[&SERIAL]
    }
}

/// Everything that is for the receiver.
fn rule(rate: Rate, burst: Bytes) -> HostRule {
    let selector = PacketSelector { destination: Some(mac(2)), ..PacketSelector::default() };
    HostRule {
        senders: vec![Sender { ifindex: TAP, selector }],
        demand: BucketDemand { rate, burst, max_frame: None },
        paths: vec![HostPath { uplink: NET, queue: 0, tags: Vec::new(), mtu: Bytes::new(1500) }],
        bound: Time::from_millis(10),
    }
}

/// Frames of the largest size and of others, sent as fast as that goes.
fn flood(sizes: Vec<usize>) {
    let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 1), 0)).unwrap();
    for size in sizes {
        let _ = socket.send_to(&vec![0; size - 42], (Ipv4Addr::new(10, 0, 0, 2), PORT));
    }
}

/// A frame that arrived: when by the kernel, and its wire bytes.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ns: i128,
    bytes: u64,
}

fn listen() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 2), PORT)).unwrap();
    sockopt::ReceiveTimestampns.set(&socket, &true).unwrap();
    sockopt::RcvBufForce.set(&socket, &(8 << 20)).unwrap();
    socket
}

/// Returns the arrivals until there has been none for `quiet`.
fn arrivals(socket: &UdpSocket, quiet: Duration) -> Vec<Arrival> {
    socket.set_read_timeout(Some(quiet)).unwrap();
    let mut all = Vec::new();
    let mut frame = [0; 2048];
    loop {
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        let mut into = [IoSliceMut::new(&mut frame)];
        let message = match recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(&mut control), MsgFlags::empty()) {
            Ok(message) => message,
            // The process was stopped and resumed.
            Err(Errno::EINTR) => continue,
            Err(_) => return all,
        };
        let stamp = message.cmsgs().unwrap().find_map(|one| match one {
            ControlMessageOwned::ScmTimestampns(time) => Some(time),
            _ => None,
        });
        let stamp = stamp.unwrap();
        let at_ns = i128::from(stamp.tv_sec()) * 1_000_000_000 + i128::from(stamp.tv_nsec());
        all.push(Arrival { at_ns, bytes: wire_bytes(message.bytes + 42, 0).get() });
    }
}

/// Returns the bytes by which arrivals exceed the curve in the worst interval.
fn excess(arrivals: &[Arrival], rate: Rate, burst: Bytes) -> i128 {
    let rate = i128::from(rate.bits_per_second());
    let (mut level, mut last, mut worst) = (0_i128, None, 0);
    // A leaky bucket in nanobits: what it holds above the burst is too much.
    for arrival in arrivals {
        let elapsed = last.map_or(0, |last: i128| (arrival.at_ns - last).max(0));
        level = (level - elapsed * rate).max(0) + i128::from(arrival.bytes) * 8_000_000_000;
        worst = worst.max(level - i128::from(burst.get()) * 8_000_000_000);
        last = Some(arrival.at_ns);
    }
    worst.max(0).div_euclid(8_000_000_000)
}

pub(crate) fn packets_above_a_contract_wait_and_all_arrive() {
    let mut testbed = Testbed::new();
    let (rate, burst) = (Rate::from_mbit(2), Bytes::new(2 * 1538));
    testbed.host.install(SERIAL, 1, &rule(rate, burst)).unwrap();
    let socket = testbed.receiver.run(listen);
    testbed.tenant.run(|| flood(vec![LARGEST; 15]));
    let arrived = arrivals(&socket, Duration::from_secs(2));
    let contract = testbed.contract();
    assert_eq!((arrived.len(), contract.packets, contract.shaped), (15, 15, 0), "{contract:?}");
    // Two frames had tokens; a machine that pauses may give tokens to more.
    assert!(contract.delayed >= 5 && contract.delayed <= 13, "{contract:?}");
    assert_eq!(contract.waits.counts.iter().sum::<u64>(), contract.delayed);
    assert!(contract.waits.sum > Time::ZERO && contract.waiting == 0, "{contract:?}");
}

/// Bursts below three frames, and frames of every size. If the machine pauses between the decision and the receiver,
/// frames arrive closer together. That does not happen in every round, but a shaper that passes a frame too many does
/// so every time.
pub(crate) fn departures_stay_below_the_admitted_curve() {
    let mut testbed = Testbed::new();
    let socket = testbed.receiver.run(listen);
    for (version, (rate, burst, sizes)) in (1..).zip([
        (Rate::from_mbit(2), 1538, vec![LARGEST; 12]),
        (Rate::from_mbit(2), 2 * 1538 + 700, vec![LARGEST; 12]),
        (Rate::from_mbit(20), 1538, vec![LARGEST; 40]),
        (Rate::from_mbit(2), 3 * 1538 - 1, [60, LARGEST, 200, 900].repeat(5)),
        (Rate::from_mbit(1), 1600, vec![100; 40]),
    ]) {
        let burst = Bytes::new(burst);
        let mut seen = Vec::new();
        for _ in 0..10 {
            testbed.host.remove(SERIAL).unwrap();
            testbed.host.install(SERIAL, version, &rule(rate, burst)).unwrap();
            let sizes = sizes.clone();
            let count = sizes.len();
            testbed.tenant.run(|| flood(sizes));
            let arrived = arrivals(&socket, Duration::from_millis(600));
            let contract = testbed.contract();
            assert_eq!((arrived.len(), contract.shaped), (count, 0), "{contract:?}");
            assert!(contract.delayed > 0, "{contract:?}");
            seen.push(excess(&arrived, rate, burst));
            if seen.ends_with(&[0]) {
                break;
            }
        }
        assert!(seen.ends_with(&[0]), "rate {rate}, burst {burst}: too many bytes by round: {seen:?}");
    }
}

pub(crate) fn waiting_packets_are_limited_and_the_longest_wait_is_reported() {
    let mut testbed = Testbed::new();
    let (rate, burst) = (Rate::from_mbit(2), Bytes::new(2 * 1538));
    testbed.host.install(SERIAL, 1, &rule(rate, burst)).unwrap();
    let waiting = QueueLimit::of(rate, Bytes::new(1538), Time::from_millis(100));
    let socket = testbed.receiver.run(listen);
    testbed.tenant.run(|| flood(vec![LARGEST; 60]));
    let arrived = arrivals(&socket, Duration::from_secs(2));
    let contract = testbed.contract();
    assert_eq!(arrived.len() as u64, contract.packets);
    assert_eq!(contract.packets + contract.shaped, 60);
    let counters = testbed.host.counters().unwrap();
    assert_eq!(counters.of(PacketOutcome::QueueFull), contract.shaped);
    assert!(contract.shaped > 0 && contract.packets >= waiting.limit.get() / 1538, "{contract:?}");
}

/// The rule is removed while packets wait: these are dropped, and the next contract in this slot begins with an empty
/// queue.
pub(crate) fn waiting_packets_are_removed_with_their_contract() {
    let mut testbed = Testbed::new();
    let slow = rule(Rate::from_bits_per_second(100_000), Bytes::new(1600));
    testbed.host.install(SERIAL, 1, &slow).unwrap();
    let socket = testbed.receiver.run(listen);
    testbed.tenant.run(|| flood(vec![LARGEST; 10]));
    assert!(testbed.contract().waiting > 0);
    testbed.host.remove(SERIAL).unwrap();
    testbed.host.install(SERIAL + 1, 1, &slow).unwrap();
    let arrived = arrivals(&socket, Duration::from_millis(500));
    let next = testbed.host.counters().unwrap().contracts[&(SERIAL + 1)];
    assert_eq!((next.packets, next.waiting), (0, 0), "{next:?}");
    assert!(arrived.len() < 5, "{}", arrived.len());
}

/// The queues that hold packets back are deleted by hand: packets that waited there are lost, and later packets do
/// not wait behind them forever.
pub(crate) fn packets_lost_with_their_class_are_not_waited_for() {
    let mut testbed = Testbed::new();
    let (rate, burst) = (Rate::from_mbit(2), Bytes::new(2 * 1538));
    testbed.host.install(SERIAL, 1, &rule(rate, burst)).unwrap();
    let socket = testbed.receiver.run(listen);
    testbed.tenant.run(|| flood(vec![LARGEST; 15]));
    tool("tc", "qdisc del dev wl-shape root");
    drop(arrivals(&socket, Duration::from_millis(1_500)));
    let lost = testbed.contract();
    assert!(lost.waiting > 0, "{lost:?}");
    testbed.tenant.run(|| flood(vec![LARGEST]));
    assert_eq!(arrivals(&socket, Duration::from_secs(1)).len(), 1);
    assert_eq!(testbed.contract().waiting, 0);
}

/// As a guest sends that knows nothing of tunnels: super-frames of up to 64 kB.
fn transfer(testbed: &Testbed, congestion: &'static str, bytes: usize) -> Duration {
    let received = testbed.receiver.begin(move || {
        let listener = TcpListener::bind((Ipv4Addr::new(10, 0, 0, 2), 80)).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let (mut buffer, mut sum) = (vec![0; 1 << 16], 0);
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            sum += length;
        }
        sum
    });
    let took = testbed.tenant.run(move || {
        let address = (Ipv4Addr::new(10, 0, 0, 2), 80);
        let mut stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        };
        setsockopt(&stream, sockopt::TcpCongestion, &congestion.into()).unwrap();
        let start = Instant::now();
        let chunk = vec![0; 1 << 16];
        let mut left = bytes;
        while left > 0 {
            left -= stream.write(&chunk[..left.min(chunk.len())]).unwrap();
        }
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // Until the other side has read all and closes.
        let _ = stream.read(&mut [0; 1]);
        start.elapsed()
    });
    assert_eq!(received.recv().unwrap(), bytes);
    took
}

const CONGESTION: [&str; 3] = ["cubic", "reno", "bbr"];

fn available(congestion: &str) -> bool {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    list.split_whitespace().any(|one| one == congestion)
}

/// Judged by counters: at 10 Mbit/s a transfer's excess waits. It loses what slow start sends beyond the queue, and no more.
pub(crate) fn tcp_with_super_frames_waits_and_loses_almost_no_packets() {
    let mut testbed = Testbed::new();
    for (version, congestion) in (1..).zip(CONGESTION).filter(|(_, congestion)| available(congestion)) {
        testbed.host.remove(SERIAL).unwrap();
        testbed.host.install(SERIAL, version, &rule(Rate::from_mbit(10), Bytes::new(3 * 1538))).unwrap();
        let split = testbed.host.counters().unwrap().of(PacketOutcome::Split);
        let bytes = 1_000_000;
        transfer(&testbed, congestion, bytes);
        let contract = testbed.contract();
        // 1448 B per frame, with 6 % of headers and gaps on the wire; on a busy machine, many frames are smaller. Packets that
        // are sent twice would add their bytes.
        let frames = bytes as u64 / 1448;
        let is_sent_once = contract.packets >= frames && contract.bytes.get() < bytes as u64 * 12 / 10;
        assert!(is_sent_once, "{congestion}: {contract:?}");
        // The start of bbr sends nearly three times what fits until it has found out.
        assert!(contract.delayed > frames / 4 && contract.shaped < frames / 4, "{congestion}: {contract:?}");
        assert!(testbed.host.counters().unwrap().of(PacketOutcome::Split) > split, "{congestion} sent no super-frame");
    }
}

/// `make tcp`: at least nine tenths of the contract's rate, on a machine that has nothing else to do.
pub(crate) fn tcp_reaches_the_rate_of_its_contract() {
    if std::env::var_os("WAYLEAVE_QUIET").is_none() {
        wayleave_repo_checks::leave_out("quiet", "`make tcp` measures it, on a machine that has nothing else to do");
    }
    let mut testbed = Testbed::new();
    for (version, congestion) in (1..).zip(CONGESTION).filter(|(_, congestion)| available(congestion)) {
        testbed.host.remove(SERIAL).unwrap();
        testbed.host.install(SERIAL, version, &rule(Rate::from_mbit(300), Bytes::new(30_000))).unwrap();
        let took = transfer(&testbed, congestion, 150_000_000);
        let contract = testbed.contract();
        // Throughput on the wire.
        let reached = contract.bytes.get() as f64 * 8.0 / took.as_secs_f64() / 1e6;
        println!("{congestion}: {reached:.1} of 300 Mbit/s, {contract:?}");
        assert!(reached > 270.0, "{congestion}: {reached:.1} Mbit/s");
    }
}

pub(crate) fn a_thousand_contracts_have_a_class_each() {
    let mut testbed = Testbed::new();
    for serial in 1..=1_000 {
        let mut rule = rule(Rate::from_mbit(1), Bytes::new(3_000));
        rule.senders[0].selector.protocol = Some(17);
        rule.senders[0].selector.destination_port = Some(1_000 + serial as u16);
        testbed.host.install(serial, 1, &rule).unwrap();
    }
    let socket = testbed.receiver.run(|| {
        let sockets = [1_001, 1_500, 2_000].map(|port| UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 2), port)).unwrap());
        sockets.map(|socket| {
            socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
            socket
        })
    });
    testbed.tenant.run(|| {
        let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 1), 0)).unwrap();
        for _ in 0..6 {
            for port in [1_001, 1_500, 2_000] {
                socket.send_to(&[0; 1_400], (Ipv4Addr::new(10, 0, 0, 2), port)).unwrap();
            }
        }
    });
    for socket in &socket {
        for _ in 0..6 {
            socket.recv(&mut [0; 1_500]).unwrap();
        }
    }
    let contracts: BTreeMap<u64, ContractPackets> = testbed.host.counters().unwrap().contracts;
    for serial in [1, 500, 1_000] {
        assert_eq!((contracts[&serial].packets, contracts[&serial].shaped), (6, 0), "{:?}", contracts[&serial]);
        assert!(contracts[&serial].delayed > 1, "{:?}", contracts[&serial]);
    }
    assert!(index("wl-shape").is_some());
    testbed.host.release_hold().unwrap();
    assert!(index("wl-shape").is_none() && index("wl-hold").is_none());
}

/// Returns the description of a class by `tc`.
fn shown(minor: u32) -> String {
    let output =
        Command::new("tc").args(["class", "show", "dev", "wl-shape", "classid", &format!("1:{minor:x}")]).output();
    String::from_utf8(output.unwrap().stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn a_thousand_contracts_have_classes_like_those_of_tc_and_equal_shaping() {
    let mut testbed = Testbed::new();
    let of = |port: u16, rate: Rate, burst: u64| {
        let mut rule = rule(rate, Bytes::new(burst));
        rule.senders[0].selector.protocol = Some(17);
        rule.senders[0].selector.destination_port = Some(port);
        rule
    };
    for serial in 1..=1_000 {
        let rate = Rate::from_bits_per_second(100_000 * serial);
        testbed.host.install(serial, 1, &of(20_000 + serial as u16, rate, 3_076)).unwrap();
    }
    // Every contract has a class with two leaves; the class of packets without one is added.
    let classes = Command::new("tc").args(["class", "show", "dev", "wl-shape"]).output().unwrap();
    assert_eq!(String::from_utf8(classes.stdout).unwrap().lines().count(), 3_001);
    // 2 Mbit/s less a ten-thousandth; what a late timer may cost is below the burst.
    let ours = shown(20);
    let leaves = [0x8000, 0x4000].map(|leaf| shown(20 | leaf));
    tool(
        "tc",
        "class replace dev wl-shape parent 1: classid 1:14 htb rate 249975bps burst 250 ceil 249975bps cburst 250 mpu 84 overhead 24 quantum 1600",
    );
    assert_eq!(ours, shown(20));
    for (at, leaf) in leaves.iter().enumerate() {
        assert!(leaf.contains("parent 1:14 "), "{leaf}");
        assert!(
            leaf.contains(&format!("prio {at} ")) && leaf.contains("rate 8bit ") && leaf.contains(" ceil 400Gbit"),
            "{leaf}"
        );
    }
    assert!(ours.contains("rate 1999Kbit") || ours.contains("rate 1999800bit"), "{ours}");

    let port = 20_000 + 20;
    let socket = testbed.receiver.run(move || {
        let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 2), port)).unwrap();
        sockopt::ReceiveTimestampns.set(&socket, &true).unwrap();
        socket
    });
    testbed.tenant.run(move || {
        let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 1), 0)).unwrap();
        for _ in 0..15 {
            socket.send_to(&[0; LARGEST - 42], (Ipv4Addr::new(10, 0, 0, 2), port)).unwrap();
        }
    });
    assert_eq!(arrivals(&socket, Duration::from_secs(2)).len(), 15);
    let contract = testbed.host.counters().unwrap().contracts[&20];
    assert!(contract.packets == 15 && contract.delayed >= 5, "{contract:?}");

    testbed.host.remove(20).unwrap();
    assert_eq!([20, 0x8014, 0x4014].map(shown), ["", "", ""]);
    testbed.host.install(20, 2, &of(port, Rate::from_gbit(100), 3_076)).unwrap();
    assert!(shown(20).contains("rate 99990Mbit"), "more than 32 bits of bytes a second: {}", shown(20));
}

/// Numbered frames of these sizes in turn, sent as fast as that goes, by one processor: those of several processors have no order.
fn numbered(count: u32, sizes: &[usize]) {
    let mut one = CpuSet::new();
    one.set(0).unwrap();
    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
    let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 1), 0)).unwrap();
    for (number, size) in (0..count).zip(sizes.iter().cycle()) {
        let mut payload = vec![0; size - 42];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        socket.send_to(&payload, (Ipv4Addr::new(10, 0, 0, 2), PORT)).unwrap();
    }
}

/// The numbers of frames in the order in which they left by the uplink.
fn left(capture: &mut Capture) -> Vec<u32> {
    let mut all = Vec::new();
    while let Some(seen) = capture.next(Duration::from_millis(500)).unwrap() {
        if (seen.ifindex, seen.is_outgoing, seen.frame.get(23)) == (NET, true, Some(&17)) {
            all.push(u32::from_be_bytes(seen.frame[42..46].try_into().unwrap()));
        }
    }
    all
}

/// Inversions: neighbours of which the later frame left first. Classes as they are, and classes that let every frame go too early, several times each.
pub(crate) fn waiting_packets_leave_in_order_of_arrival() {
    let mut testbed = Testbed::new();
    let _socket = testbed.receiver.run(listen);
    let mut capture = Capture::open(&Namespace::current()).unwrap();
    for (version, (rate, sizes, speed)) in (1..).zip([
        (Rate::from_mbit(2), [LARGEST, 60, 900], 1),
        (Rate::from_mbit(20), [LARGEST, 200, 60], 1),
        (Rate::from_mbit(100), [LARGEST, 60, 60], 1),
        (Rate::from_mbit(2), [LARGEST, 60, 900], 10),
        (Rate::from_mbit(20), [LARGEST; 3], 10),
        (Rate::from_mbit(100), [LARGEST, 60, 60], 10),
    ]) {
        testbed.host.remove(SERIAL).unwrap();
        testbed.host.install(SERIAL, version, &rule(rate, Bytes::new(2 * 1538))).unwrap();
        if speed > 1 {
            let fast = rate.bits_per_second() * speed;
            tool("tc", &format!("class change dev wl-shape parent 1: classid 1:1 htb rate {fast} burst 30k"));
        }
        // Half of the maximum that may wait.
        let bytes: usize = sizes.iter().map(|size| size + 24).sum();
        let may = (rate.bits_per_second() as usize / 80).max(16 * 1538);
        let count = (3 * may / bytes / 2) as u32;
        testbed.tenant.run(move || numbered(count, &sizes));
        let left = left(&mut capture);
        let inversions = left.windows(2).filter(|pair| pair[0] > pair[1]).count();
        let contract = testbed.contract();
        assert_eq!((left.len(), contract.shaped, inversions), (count as usize, 0, 0), "{rate}, {speed}: {left:?}");
        assert!(contract.delayed > u64::from(count) / 4, "{rate}, {speed}: {contract:?}");
    }
}

pub(crate) fn a_contract_with_a_missing_class_is_found() {
    let mut testbed = Testbed::new();
    for class in ["1:1", "1:8001", "1:4001"] {
        testbed.host.remove(SERIAL).unwrap();
        testbed.host.install(SERIAL, 1, &rule(Rate::from_mbit(2), Bytes::new(2 * 1538))).unwrap();
        let there = || Attached::of(&Namespace::current(), &[], &[]).unwrap();
        assert_eq!(testbed.host.lost_classes(&there()), Vec::<u64>::new());
        if class == "1:1" {
            tool("tc", "class change dev wl-shape parent 1: classid 1:1 htb rate 1mbit");
        } else {
            tool("tc", &format!("class del dev wl-shape classid {class}"));
        }
        assert_eq!(testbed.host.lost_classes(&there()), [SERIAL], "{class}");
    }
}

/// containerlab's links take 9,500 B.
pub(crate) fn super_frames_are_cut_into_the_frames_of_a_large_mtu() {
    let mut testbed = Testbed::new();
    ["tap", "net"].iter().for_each(|one| tool("ip", &format!("link set {one} mtu 9500")));
    [&testbed.tenant, &testbed.receiver].iter().for_each(|party| party.run(|| tool("ip", "link set eth0 mtu 9500")));
    let mut rule = rule(Rate::from_mbit(50), Bytes::new(3 * 9538));
    rule.paths[0].mtu = Bytes::new(9500);
    testbed.host.install(SERIAL, 1, &rule).unwrap();
    transfer(&testbed, "reno", 1_000_000);
    let contract = testbed.contract();
    assert!(testbed.host.counters().unwrap().of(PacketOutcome::Split) > 0, "{contract:?}");
    let shown = Command::new("tc").args(["-s", "qdisc", "show", "dev", "wl-split"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("(dropped 0,"), "{shown}");
    // 9,448 B a frame.
    assert!(contract.packets < 300, "{contract:?}");
}
