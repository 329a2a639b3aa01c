//! Hosts that boot: they find each other, ask for addresses and find routers, though no frame is ever sent to all.
//! And endpoints whose frames have tags of their own, or addresses that are not theirs.
//!
//! `tenant eth0 ── tap [host] net ── eth0 receiver`, without any known neighbours.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, sendto, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;
use wayleave_dataplane::host::{
    Host, HostPath, HostProgram, HostRule, PacketOutcome, Sender, Settings, SpoofKind, SpoofReport, Unmatched,
};
use wayleave_dataplane::net::attach_ingress;
use wayleave_dataplane::test_run::{DROPPED, REDIRECTED, TestPacket, run};
use wayleave_packet_format::{BucketDemand, Mac, PacketSelector};
use wayleave_units::{Bytes, Rate, Time};

use crate::world::party::{Party, tool};
use crate::world::{World, ipv4, mac, udp};

const TAP: u32 = 1401;
const NET: u32 = 1403;
const SECOND: u32 = 1405;
/// Maximum time in which a kernel finds a neighbour: it asks once a second, three times.
const TIMEOUT: Duration = Duration::from_secs(20);

fn host(world: &World, settings: Settings) -> Host {
    world.veth("tap", TAP);
    world.veth("net", NET);
    let mut host = Host::open(&world.pins, &settings).unwrap();
    host.add_endpoint(TAP, mac(1)).unwrap();
    let path = HostPath { uplink: NET, queue: 0, tags: Vec::new(), mtu: Bytes::new(1500) };
    host.set_best_effort(mac(2), &[path]).unwrap();
    host
}

fn attach(host: &Host) {
    for (interface, program) in [("tap", HostProgram::Endpoint), ("net", HostProgram::Uplink)] {
        attach_ingress(interface, &host.pinned(program)).iter().for_each(|line| tool("tc", line));
    }
}

/// Sends repeatedly until the receiver gets a packet.
fn arrives(tenant: &Party, receiver: &Party, bound: SocketAddr, to: SocketAddr) -> bool {
    let inbox = receiver.run(move || UdpSocket::bind(bound).unwrap());
    let outbox = tenant.run(move || {
        let any: SocketAddr =
            if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let outbox = UdpSocket::bind(any).unwrap();
        outbox.set_broadcast(true).unwrap();
        outbox
    });
    inbox.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        // The kernel may not know yet how to reach anybody.
        let _ = outbox.send_to(b"is anybody there?", to);
        if inbox.recv(&mut [0; 64]).is_ok() {
            return true;
        }
    }
    false
}

pub(crate) fn hosts_find_each_other_and_their_servers_and_other_broadcasts_are_dropped() {
    let world = World::new();
    let mut host = host(&world, Settings::default());
    attach(&host);
    let (tenant, receiver) = (Party::new("tapp", 1, None), Party::new("netp", 2, None));
    let four = |last: u8, port: u16| SocketAddr::from((Ipv4Addr::new(10, 0, 0, last), port));
    host.set_group(TAP, &[mac(2)]).unwrap();
    assert!(arrives(&tenant, &receiver, four(2, 7), four(2, 7)), "ARP: {:?}", host.counters());
    assert!(arrives(&tenant, &receiver, (Ipv4Addr::UNSPECIFIED, 67).into(), four(255, 67)), "DHCP");

    for (party, last) in [(&tenant, 1), (&receiver, 2)] {
        party.run(move || {
            let path = "/proc/sys/net/ipv6/conf/eth0/disable_ipv6";
            std::fs::write(path, "0").unwrap();
            tool("ip", &format!("addr add fd00::{last}/64 dev eth0 nodad"));
        });
    }
    let six = |last: u16| SocketAddr::from((Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last), 7));
    assert!(arrives(&tenant, &receiver, six(2), six(2)), "neighbours of IPv6: {:?}", host.counters());

    let before = host.counters().unwrap();
    assert!(before.of(PacketOutcome::Carried) >= 3, "{before:?}");
    let inbox = receiver.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 9)).unwrap());
    inbox.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    tenant.run(move || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        socket.send_to(b"to all", four(255, 9)).unwrap();
    });
    assert!(inbox.recv(&mut [0; 64]).is_err(), "what is for all in general is not carried");
    assert!(host.counters().unwrap().of(PacketOutcome::Multicast) > before.of(PacketOutcome::Multicast));
}

/// An ARP request.
fn arp() -> Vec<u8> {
    let mut frame = [[0xff; 6], mac(1).bytes()].concat();
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    frame.resize(60, 0);
    frame
}

pub(crate) fn broadcasts_are_limited_and_need_best_effort() {
    let world = World::new();
    let at = |nanos| Settings { now: Some(Time::from_nanos(nanos)), ..Settings::default() };
    let mut host = host(&world, at(1));
    host.set_group(TAP, &[mac(2)]).unwrap();
    let frame = arp();
    let ask = |host: &Host| {
        let program = host.program(HostProgram::Endpoint).unwrap();
        run(&program, TestPacket { ifindex: TAP, frame: &frame, gso_size: 0 }, 1).unwrap().verdict
    };
    for _ in 0..100 {
        assert_eq!(ask(&host), DROPPED, "copies go, and the frame itself ends here");
    }
    let counted = |host: &Host| {
        [PacketOutcome::Carried, PacketOutcome::BestEffort].map(|reason| host.counters().unwrap().of(reason))
    };
    assert_eq!(counted(&host), [33, 33], "a third of a second's worth at once");
    host.set(&at(100_000_001)).unwrap();
    (0..100).for_each(|_| assert_eq!(ask(&host), DROPPED));
    assert_eq!(counted(&host), [43, 43], "then a hundred a second");
    host.set(&Settings { unmatched: Unmatched::Dropped, ..at(10_000_000_000) }).unwrap();
    ask(&host);
    assert_eq!(counted(&host), [43, 43]);
}

pub(crate) fn copies_reach_local_endpoints_and_routes_of_any_length() {
    let world = World::new();
    let mut host = host(&world, Settings::default());
    world.veth("second", SECOND);
    host.add_endpoint(SECOND, mac(4)).unwrap();
    let tag = |port| wayleave_packet_format::Tag::new(port, 0).unwrap();
    let path =
        |tags: u16| HostPath { uplink: NET, queue: 0, tags: (0..tags).map(tag).collect(), mtu: Bytes::new(1500) };
    host.set_best_effort(mac(5), &[path(1)]).unwrap();
    host.set_best_effort(mac(6), &[path(5)]).unwrap();
    // Nothing leads to 7.
    host.set_group(TAP, &[4, 2, 5, 7, 6].map(mac)).unwrap();
    attach(&host);
    let (seen, local) = (sniff(), sniff_at("secondp"));
    send("tapp", &arp());
    let with = |to: u8, tags: u16| {
        let mut frame = arp();
        frame[..6].copy_from_slice(&mac(to).bytes());
        wayleave_packet_format::Stack { tags: (0..tags).map(tag).collect(), number: None }.push(&frame)
    };
    let mut expected = vec![with(2, 0), with(5, 1), with(6, 5)];
    while !expected.is_empty() {
        let frame = next(&seen);
        expected.retain(|one| *one != frame);
    }
    assert_eq!(next(&local), with(4, 0));
    let counters = host.counters().unwrap();
    assert_eq!(
        [PacketOutcome::Carried, PacketOutcome::BestEffort, PacketOutcome::Local].map(|reason| counters.of(reason)),
        [1, 3, 1]
    );
}

fn sniff() -> std::os::fd::OwnedFd {
    let sees = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    setsockopt(&sees, sockopt::ReceiveTimeout, &TimeVal::new(20, 0)).unwrap();
    sees
}

fn link(interface: &str) -> nix::sys::socket::LinkAddr {
    let found = getifaddrs().unwrap().find(|one| {
        one.interface_name == interface && one.address.is_some_and(|address| address.as_link_addr().is_some())
    });
    *found.unwrap().address.unwrap().as_link_addr().unwrap()
}

/// Opens a socket that captures the frames of one interface.
fn sniff_at(interface: &str) -> std::os::fd::OwnedFd {
    let sees = sniff();
    bind(sees.as_raw_fd(), &link(interface)).unwrap();
    sees
}

fn next(sees: &std::os::fd::OwnedFd) -> Vec<u8> {
    let mut frame = vec![0; 2048];
    let length = recv(sees.as_raw_fd(), &mut frame, MsgFlags::empty()).expect("a frame within 20 s");
    frame.truncate(length);
    frame
}

/// Sends a frame by an interface.
fn send(interface: &str, frame: &[u8]) {
    let sends = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    assert_eq!(sendto(sends.as_raw_fd(), frame, &link(interface), MsgFlags::empty()), Ok(frame.len()));
}

fn tagged(vlan: u16, frame: &[u8]) -> Vec<u8> {
    let mut with = frame.to_vec();
    drop(with.splice(12..12, [[0x81, 0], vlan.to_be_bytes()].concat()));
    with
}

pub(crate) fn the_vlan_tag_of_a_guest_never_enters_the_network() {
    wayleave_repo_checks::require_program("ethtool", "ethtool");
    let world = World::new();
    let mut host = host(&world, Settings::default());
    world.veth("second", SECOND);
    // Tags that the kernel would hand on beside a frame are seen in it.
    for interface in ["tap", "tapp", "second", "secondp", "net"] {
        tool("ethtool", &format!("-K {interface} txvlan off rxvlan off"));
    }
    host.add_tagged_endpoint(TAP, mac(1), 100).unwrap();
    host.add_tagged_endpoint(SECOND, mac(4), 200).unwrap();
    attach(&host);
    attach_ingress("second", &host.pinned(HostProgram::Endpoint)).iter().for_each(|line| tool("tc", line));
    let (network, guest) = (sniff_at("net"), sniff_at("second"));
    let [away, here] = [udp(1, 2, (7, 9), 100), udp(1, 4, (7, 9), 100)];
    // Without a tag, with another one, and with two: none of these is forwarded.
    for wrong in [away.clone(), tagged(101, &away), tagged(100, &tagged(100, &away))] {
        send("tapp", &wrong);
    }
    send("tapp", &tagged(100, &away));
    assert_eq!(next(&network), away);
    send("tapp", &tagged(100, &here));
    assert_eq!(next(&guest), tagged(200, &here));
    let counters = host.counters().unwrap();
    assert_eq!(
        (counters.of(PacketOutcome::Forged), counters.of(PacketOutcome::BestEffort), counters.of(PacketOutcome::Local)),
        (3, 1, 1)
    );
    assert!(host.add_tagged_endpoint(TAP, mac(1), 4095).unwrap_err().to_string().contains("not a VLAN ID"));
}

pub(crate) fn packets_with_undeclared_addresses_are_reported() {
    let world = World::new();
    let mut host = host(&world, Settings { now: Some(Time::from_nanos(1)), ..Settings::default() });
    let selector =
        PacketSelector { destination: Some(mac(2)), source_address: Some(ipv4(1)), ..PacketSelector::default() };
    let rule = HostRule {
        senders: vec![Sender { ifindex: TAP, selector }],
        demand: BucketDemand { rate: Rate::from_mbit(1), burst: Bytes::new(3_000), max_frame: None },
        paths: vec![HostPath { uplink: NET, queue: 1, tags: Vec::new(), mtu: Bytes::new(1500) }],
        bound: Time::from_millis(10),
    };
    host.install(5, 1, &rule).unwrap();
    let verdict = |host: &Host, frame: &[u8]| {
        let program = host.program(HostProgram::Endpoint).unwrap();
        run(&program, TestPacket { ifindex: TAP, frame, gso_size: 0 }, 1).unwrap().verdict
    };
    let other_mac = udp(3, 2, (7, 9), 100);
    let other_source = {
        let mut frame = other_mac.clone();
        frame[6..12].copy_from_slice(&mac(1).bytes());
        frame
    };
    assert_eq!(verdict(&host, &udp(1, 2, (7, 9), 100)), REDIRECTED);
    assert_eq!([verdict(&host, &other_mac), verdict(&host, &other_mac)], [DROPPED; 2]);
    assert_eq!(verdict(&host, &other_source), REDIRECTED);
    let counters = host.counters().unwrap();
    assert_eq!(
        [PacketOutcome::Guaranteed, PacketOutcome::Spoofed, PacketOutcome::BestEffort]
            .map(|reason| counters.of(reason)),
        [1, 2, 1],
        "a packet from another source address is not the contract's"
    );
    let unknown =
        |why, mac: Mac, source, packets| SpoofReport { ifindex: TAP, why, mac, source: Some(source), packets };
    assert_eq!(
        host.spoof_reports().unwrap(),
        [unknown(SpoofKind::Address, mac(3), ipv4(3), 2), unknown(SpoofKind::Source, mac(1), ipv4(3), 1)]
    );
}
