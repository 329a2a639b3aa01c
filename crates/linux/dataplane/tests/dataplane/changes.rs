//! Rules that change while other processors send: every packet takes a whole route of one version, and no bucket is
//! filled by a change.
//!
//! Switches count the packets that arrive. Each port knows only the tags of one route that may arrive there, so a
//! packet with tags of two versions, or of half a stack, is unknown somewhere; the last port counts packets that have
//! no tag left.
//!
//! Two mutations made the test fail: a bucket that a change fills, and a rule that is written in two steps. It did
//! not notice a rule that is written without the lock: the kernel copies 208 bytes too fast for that to be seen
//! often.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use crate::world::{World, mac};
use wayleave_dataplane::class::priority;
use wayleave_dataplane::host::{Host, HostPath, HostProgram, HostRule, PacketOutcome, Sender, Settings};
use wayleave_dataplane::net::{Hook, attach_ingress};
use wayleave_dataplane::programs::{SwitchCounts, SwitchProgram, TaggedPort};
use wayleave_packet_format::{BucketDemand, PacketSelector, Tag, wire_bytes};
use wayleave_units::{Bytes, Rate, Time};

/// Pairs of interfaces; what is sent by one with such a number arrives at the next number.
const TAP: u32 = 1001;
const UPLINK: u32 = 1003;
const SECOND: u32 = 1005;
const SECOND_LONG: u32 = 1007;
const THIRD_LONG: u32 = 1009;
const END: u32 = 1011;
/// The contract under test, and the UDP port of its packets.
const SERIAL: u64 = 5;
const UDP: u16 = 9;
const PAYLOAD: usize = 60;
/// Changes of its rule.
const CHANGES: u64 = 5_000;
/// Maximum number of changes until both versions have sent enough packets.
const MAX_CHANGES: u64 = 1_000_000;
const PACKETS: u64 = 500;
const RATE: Rate = Rate::from_mbit(10);
const BURST: u64 = 50_000;

fn tag(port: u16) -> Tag {
    Tag::new(port, 1).unwrap()
}

/// Switches' ports on each route; no two have a tag in common.
const SHORT: &[u16] = &[1, 2];
const LONG: &[u16] = &[11, 12, 13];
const BESIDE: &[u16] = &[21];

/// The rule of packets to a UDP port, by a route. The longer it is, the smaller is the bucket.
fn rule(udp: u16, ports: &[u16]) -> HostRule {
    let selector = PacketSelector { destination_port: Some(udp), protocol: Some(17), ..PacketSelector::default() };
    HostRule {
        senders: vec![Sender { ifindex: TAP, selector }],
        demand: BucketDemand { rate: RATE, burst: Bytes::new(2 * BURST / ports.len().max(2) as u64), max_frame: None },
        paths: vec![HostPath {
            uplink: UPLINK,
            queue: 1,
            tags: ports.iter().map(|&port| tag(port)).collect(),
            mtu: Bytes::new(1500),
        }],
        bound: Time::from_millis(10),
    }
}

fn tool(name: &str, arguments: &str) {
    let output = Command::new(name).args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "{name} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Sets up a tenant at 10.0.0.1, and switches on the route to 10.0.0.2.
fn network(world: &World, host: &Host, switch: &mut SwitchProgram) {
    let names =
        [("tap", TAP), ("net", UPLINK), ("second", SECOND), ("long", SECOND_LONG), ("third", THIRD_LONG), ("end", END)];
    for (name, ifindex) in names {
        world.veth(name, ifindex);
        let (at, program) = match ifindex {
            TAP => (name.to_owned(), host.pinned(HostProgram::Endpoint)),
            _ => (format!("{name}p"), switch.pinned(Hook::Ingress)),
        };
        attach_ingress(&at, &program).iter().for_each(|line| tool("tc", line));
    }
    let host_paths = [
        (UPLINK, 1, SECOND),
        (SECOND, 2, END),
        (UPLINK, 11, SECOND_LONG),
        (SECOND_LONG, 12, THIRD_LONG),
        (THIRD_LONG, 13, END),
        (UPLINK, 21, END),
    ];
    for (from, port, to) in host_paths {
        switch.set(from + 1, tag(port), TaggedPort { ifindex: to, priority: priority(1) }).unwrap();
    }
    tool("ip", &format!("link set tapp address {}", mac(1)));
    tool("ip", "addr add 10.0.0.1/24 dev tapp");
    tool("ip", &format!("neigh add 10.0.0.2 lladdr {} dev tapp", mac(2)));
}

/// Returns the packets that arrived at the end of each link.
fn arrived(switch: &SwitchProgram) -> BTreeMap<u32, SwitchCounts> {
    let mut counters = switch.counters().unwrap();
    let links = [UPLINK, SECOND, SECOND_LONG, THIRD_LONG, END];
    links.iter().map(|&link| (link, counters.remove(&(link + 1)).unwrap_or_default())).collect()
}

/// Sends to the contract all the time, and now and then to one beside it.
fn send(is_over: &AtomicBool) {
    let socket = UdpSocket::bind((Ipv4Addr::new(10, 0, 0, 1), 0)).unwrap();
    while !is_over.load(Relaxed) {
        for packet in 0..64 {
            let port = if packet % 8 == 0 { UDP + 1 } else { UDP };
            // A full queue is no error: the next packet is as good.
            let _ = socket.send_to(&[0; PAYLOAD], (Ipv4Addr::new(10, 0, 0, 2), port));
        }
    }
}

/// Gives the contract another route each time, and lets others come and go; at least so often, and until both routes were used.
fn change(host: &mut Host, switch: &SwitchProgram) {
    for version in 1..MAX_CHANGES {
        host.install(SERIAL, version, &rule(UDP, [SHORT, LONG][version as usize % 2])).unwrap();
        match version % 100 {
            // The contract beside it, and one for the very same packets that never gets them.
            10 => host.install(SERIAL + 1, version, &rule(UDP + 1, BESIDE)).unwrap(),
            30 => {
                host.install(SERIAL + 2, version, &rule(UDP, LONG)).unwrap();
                assert_eq!(host.shadowed(), BTreeMap::from([(SERIAL + 2, SERIAL)]));
            }
            50 => host.remove(SERIAL + 1).unwrap(),
            70 => host.remove(SERIAL + 2).unwrap(),
            90 if version >= CHANGES => {
                let arrived = arrived(switch);
                if [SECOND, SECOND_LONG].iter().all(|link| arrived[link].forwarded >= PACKETS) {
                    return;
                }
            }
            _ => {}
        }
    }
}

pub(crate) fn a_rule_changed_under_traffic_is_consistent_and_refills_no_bucket() {
    let world = World::new();
    let mut host = Host::open(&world.pins, &Settings::default()).unwrap();
    let mut switch = SwitchProgram::open(&world.pins.with_file_name("switch")).unwrap();
    network(&world, &host, &mut switch);
    host.add_endpoint(TAP, mac(1)).unwrap();
    let (began, is_over) = (Instant::now(), AtomicBool::new(false));
    host.install(SERIAL, 0, &rule(UDP, SHORT)).unwrap();
    thread::scope(|scope| {
        let senders = [(), ()].map(|()| scope.spawn(|| send(&is_over)));
        change(&mut host, &switch);
        is_over.store(true, Relaxed);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });

    let arrived = arrived(&switch);
    for (link, counts) in arrived.iter().filter(|&(&link, _)| link != END) {
        assert_eq!((counts.untagged, counts.unknown), (0, 0), "not a whole route, at the end of {link}: {arrived:?}");
        assert!(counts.forwarded > 0, "{arrived:?}");
    }
    assert_eq!((arrived[&END].forwarded, arrived[&END].unknown), (0, 0), "a tag too many: {arrived:?}");
    let counters = host.counters().unwrap();
    assert!(counters.contracts[&SERIAL].shaped > 0, "more was sent than the bucket allows: {counters:?}");
    // Only the contract beside it is without a rule at times, and then its packets have no route.
    assert_eq!(counters.of(PacketOutcome::BestEffort) + counters.of(PacketOutcome::Failed), 0, "{counters:?}");

    let bits = u128::from(RATE.bits_per_second()) * began.elapsed().as_nanos() / 1_000_000_000;
    let allowed = u128::from(BURST) + bits / 8;
    let passed = u128::from(counters.contracts[&SERIAL].bytes.get());
    assert!(passed <= allowed, "{passed} B passed, and the bucket allows {allowed} B");
    // The bound also holds for the bytes that arrived.
    let cost = |tags| u128::from(wire_bytes(PAYLOAD + 42, tags).get());
    let of = |link| u128::from(arrived[&link].forwarded);
    let bytes = of(SECOND) * cost(2) + of(SECOND_LONG) * cost(3);
    assert!(bytes <= allowed, "{bytes} B arrived, and the bucket allows {allowed} B");
    assert!(passed >= bytes, "{bytes} B arrived, and {passed} B were charged");
}
