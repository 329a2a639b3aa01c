//! State of a host's data plane, and its treatment of single packets.

use crate::world::{World, mac, udp};
use wayleave_dataplane::Error;
use wayleave_dataplane::class::priority;
use wayleave_dataplane::host::{
    Host, HostPath, HostProgram, HostRule, Measured, PacketOutcome, PacketSample, Sender, Sent, Settings,
};
use wayleave_dataplane::test_run::{DROPPED, REDIRECTED, TestPacket, TestVerdict, run};
use wayleave_packet_format::{BucketDemand, PacketSelector, Stack, Tag, wire_bytes};
use wayleave_units::{Bytes, Rate, Time};

const ENDPOINT: u32 = 1001;
const UPLINK: u32 = 1003;

fn tags() -> Vec<Tag> {
    [(4, 0), (0, 3), (11, 7)].map(|(port, queue)| Tag::new(port, queue).unwrap()).to_vec()
}

fn rule(rate: u64, burst: u64) -> HostRule {
    HostRule {
        senders: vec![Sender {
            ifindex: ENDPOINT,
            selector: PacketSelector { destination: Some(mac(2)), ..PacketSelector::default() },
        }],
        demand: BucketDemand { rate: Rate::from_bits_per_second(rate), burst: Bytes::new(burst), max_frame: None },
        paths: vec![HostPath { uplink: UPLINK, queue: 1, tags: tags(), mtu: Bytes::new(1500) }],
        bound: Time::from_millis(10),
    }
}

fn at(now: u64) -> Settings {
    Settings { now: Some(Time::from_nanos(now)), ..Settings::default() }
}

fn opened(world: &World) -> Host {
    world.veth("tap", ENDPOINT);
    world.veth("net", UPLINK);
    let mut host = Host::open(&world.pins, &at(1)).unwrap();
    host.add_endpoint(ENDPOINT, mac(1)).unwrap();
    host
}

fn sent(host: &Host, frame: &[u8]) -> TestVerdict {
    let program = host.program(HostProgram::Endpoint).unwrap();
    run(&program, TestPacket { ifindex: ENDPOINT, frame, gso_size: 0 }, 1).unwrap()
}

pub(crate) fn a_packet_of_a_contract_is_tagged_charged_and_sent_to_its_uplink() {
    let world = World::new();
    let mut host = opened(&world);
    host.install(5, 1, &rule(8_000, 1000)).unwrap();
    let frame = udp(1, 2, (7, 9), 100);
    let out = sent(&host, &frame);
    assert_eq!((out.verdict, out.out, out.priority), (REDIRECTED, UPLINK, priority(1)));
    assert_eq!(out.frame, Stack { tags: tags(), number: None }.push(&frame));
    let counters = host.counters().unwrap();
    assert_eq!(counters.of(PacketOutcome::Guaranteed), 1);
    let contract = counters.contracts[&5];
    assert_eq!((contract.packets, contract.bytes), (1, wire_bytes(100, 3)));
    assert_eq!(contract.tokens, (1000 - 136) * 8_000_000_000);
}

pub(crate) fn installed_rules_are_found_again_and_buckets_keep_their_level() {
    let world = World::new();
    let mut host = opened(&world);
    host.install(5, 3, &rule(8_000, 1000)).unwrap();
    host.install(6, 1, &HostRule { senders: Vec::new(), ..rule(1, 100) }).unwrap();
    host.remove(6).unwrap();
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 800)).verdict, REDIRECTED);
    drop(host);

    let mut host = Host::open(&world.pins, &at(1)).unwrap();
    assert_eq!(host.installed(), [(5, 3)]);
    assert_eq!(host.endpoints(), [(ENDPOINT, mac(1))]);
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 800)).verdict, DROPPED, "the bucket is as empty as it was");
    // A change does not fill it, either.
    host.install(5, 4, &rule(8_000, 900)).unwrap();
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 800)).verdict, DROPPED);
    assert_eq!(host.counters().unwrap().contracts[&5].shaped, 2);
    // A second later 1000 B have come.
    host.set(&at(1_000_000_001)).unwrap();
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 800)).verdict, REDIRECTED);
}

/// Each host loads its own: what the verifier does, 16 hosts of a lab wait for. Kernels differ, so the limit is generous.
pub(crate) fn the_verifier_accepts_the_programs_within_few_steps() {
    let world = World::new();
    let host = opened(&world);
    for program in [HostProgram::Endpoint, HostProgram::Uplink] {
        let info = host.program(program).unwrap().info().unwrap();
        let steps = info.verified_instruction_count().expect("Linux 5.16 or newer counts them");
        assert!(steps < 40_000, "the verifier has looked at {steps} instructions of {program:?}");
    }
}

pub(crate) fn a_second_owner_is_refused_until_the_first_has_left() {
    let world = World::new();
    let host = opened(&world);
    assert_eq!(Host::open(&world.pins, &at(1)).err(), Some(Error::Busy(world.pins.clone())));
    drop(host);
    assert!(Host::open(&world.pins, &at(1)).is_ok());
}

pub(crate) fn tear_down_leaves_nothing_and_incomplete_pins_are_no_obstacle() {
    let world = World::new();
    // A process that died while it was loading.
    std::fs::create_dir_all(world.pins.join("unfinished")).unwrap();
    let host = opened(&world);
    assert!(host.pinned(HostProgram::Endpoint).exists() && host.pinned(HostProgram::Uplink).exists());
    host.tear_down().unwrap();
    assert!(!world.pins.exists());
}

pub(crate) fn pins_of_another_version_stay_until_the_host_is_torn_down() {
    let world = World::new();
    let old = world.pins.join("v-000000000000");
    std::fs::create_dir_all(&old).unwrap();
    let host = opened(&world);
    assert!(old.exists());
    host.tear_down().unwrap();
    assert!(!old.exists());
}

pub(crate) fn impossible_changes_are_refused_without_effect() {
    let world = World::new();
    let mut host = opened(&world);
    host.install(5, 1, &rule(8_000, 1000)).unwrap();
    let path = |tags: usize| HostPath {
        uplink: UPLINK,
        queue: 1,
        tags: vec![Tag::new(0, 0).unwrap(); tags],
        mtu: Bytes::new(1500),
    };
    let elsewhere = Sender { ifindex: 4, selector: PacketSelector::default() };
    let wrong = [
        (HostRule { paths: vec![path(13)], ..rule(1, 100) }, "route with 13 switches: the limit is 12"),
        (HostRule { paths: vec![path(1); 5], ..rule(1, 100) }, "5 routes for each packet: the limit is 4"),
        (rule(1, u64::MAX / 2), "is larger than the largest bucket"),
        (HostRule { senders: vec![elsewhere], ..rule(1, 100) }, "no endpoint of this host has the interface 4"),
    ];
    for (rule, expected) in wrong {
        let error = host.install(5, 2, &rule).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(host.install(0, 1, &rule(1, 100)).unwrap_err().to_string().contains("numbers start at 1"));
    assert!(
        host.add_endpoint(77, mac(1)).unwrap_err().to_string().contains("already has the address 02:00:00:00:00:01")
    );
    assert_eq!(host.installed(), [(5, 1)]);
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 100)).out, UPLINK);
}

pub(crate) fn of_contracts_for_equal_packets_the_oldest_applies_and_the_next_succeeds_it() {
    let world = World::new();
    let mut host = opened(&world);
    for serial in [9, 4, 7, 8] {
        host.install(serial, 1, &rule(8_000, 1000)).unwrap();
    }
    let error = host.install(10, 1, &rule(8_000, 1000)).unwrap_err().to_string();
    assert!(error.contains("4 contracts already match exactly these packets"), "{error}");
    for serial in [4, 7, 8, 9] {
        assert_eq!(sent(&host, &udp(1, 2, (7, 9), 100)).verdict, REDIRECTED);
        assert_eq!(host.counters().unwrap().contracts[&serial].packets, 1);
        host.remove(serial).unwrap();
    }
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 100)).verdict, DROPPED);
    assert_eq!(host.counters().unwrap().of(PacketOutcome::NoRoute), 1);
}

pub(crate) fn a_removed_endpoint_releases_its_address() {
    let world = World::new();
    let mut host = opened(&world);
    host.install(5, 1, &rule(8_000, 1000)).unwrap();
    host.remove_endpoint(ENDPOINT).unwrap();
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 100)).verdict, DROPPED);
    assert_eq!(host.counters().unwrap().of(PacketOutcome::NoEndpoint), 1);
    // It comes back with another address; its contract is still there.
    host.add_endpoint(ENDPOINT, mac(4)).unwrap();
    assert_eq!(sent(&host, &udp(4, 2, (7, 9), 100)).verdict, REDIRECTED);
    assert_eq!(sent(&host, &udp(1, 2, (7, 9), 100)).verdict, DROPPED);
}

pub(crate) fn delays_are_measured_if_both_ends_share_a_kernel() {
    let world = World::new();
    world.veth("tap", ENDPOINT);
    world.veth("net", UPLINK);
    let shared = world.pins.with_file_name("shared");
    let settings = |now| Settings { now: Some(Time::from_nanos(now)), measure: Some(shared.clone()), ..at(1) };
    let mut sender = Host::open(&world.pins, &settings(1_000)).unwrap();
    let mut receiver = Host::open(&world.pins.with_file_name("receiver"), &settings(1_000)).unwrap();
    sender.add_endpoint(ENDPOINT, mac(1)).unwrap();
    receiver.add_endpoint(ENDPOINT, mac(2)).unwrap();
    sender.install(5, 1, &HostRule { bound: Time::from_micros(10), ..rule(8_000, 10_000) }).unwrap();
    let uplink = receiver.program(HostProgram::Uplink).unwrap();
    for (length, arrives) in [(100, 9_000), (200, 31_000), (42, 2_000)] {
        let frame = udp(1, 2, (7, 9), length);
        assert_eq!(sent(&sender, &frame).verdict, REDIRECTED);
        receiver.set(&settings(arrives)).unwrap();
        let input = TestPacket { ifindex: UPLINK, frame: &frame, gso_size: 0 };
        assert_eq!(run(&uplink, input, 1).unwrap().verdict, REDIRECTED);
        // A repeated frame was not sent a second time.
        assert_eq!(run(&uplink, input, 1).unwrap().verdict, REDIRECTED);
    }
    let worst = Time::from_micros(30);
    assert_eq!(receiver.measured().unwrap(), [Measured { serial: 5, packets: 3, late: 1, worst }]);
    assert_eq!(sender.measured().unwrap(), []);
}

pub(crate) fn both_ends_sample_equal_packets_despite_changes_on_the_route() {
    let world = World::new();
    world.veth("tap", ENDPOINT);
    world.veth("net", UPLINK);
    let settings = |now| Settings { now: Some(Time::from_nanos(now)), sample: Some(2), ..at(1) };
    let mut sender = Host::open(&world.pins, &settings(1_000)).unwrap();
    let mut receiver = Host::open(&world.pins.with_file_name("receiver"), &settings(7_000)).unwrap();
    sender.add_endpoint(ENDPOINT, mac(1)).unwrap();
    receiver.add_endpoint(ENDPOINT, mac(2)).unwrap();
    sender.install(5, 1, &rule(1_000_000, 1_000_000)).unwrap();
    let uplink = receiver.program(HostProgram::Uplink).unwrap();
    let mut sampled = 0;
    for number in 0..400_u16 {
        let mut frame = udp(1, 2, (7, 9), 50 + usize::from(number % 100));
        frame[18..20].copy_from_slice(&number.to_be_bytes());
        assert_eq!(sent(&sender, &frame).verdict, REDIRECTED);
        // A mark of congestion, check sequences that an interface has calculated, and padding.
        frame[15] |= 3;
        frame[24..26].copy_from_slice(&[0xab, 0xcd]);
        frame[40..42].copy_from_slice(&[0x12, 0x34]);
        frame.resize(frame.len().max(60), 0);
        run(&uplink, TestPacket { ifindex: UPLINK, frame: &frame, gso_size: 0 }, 1).unwrap();
        let (there, here) = (sender.samples(), receiver.samples());
        let expected: Vec<PacketSample> =
            there.iter().map(|one| PacketSample { at: Time::from_nanos(7_000), sent: None, ..*one }).collect();
        assert_eq!(here, expected, "packet {number}");
        let bound = Time::from_millis(10);
        assert!(there.iter().all(|one| one.number % 4 == 0 && one.sent == Some(Sent { serial: 5, bound })));
        sampled += there.len();
    }
    // A quarter of 400 at random: five standard deviations are 43.
    assert!((57..=143).contains(&sampled), "{sampled} of 400 were chosen");
    sender.sample(None).unwrap();
    assert_eq!(sent(&sender, &udp(1, 2, (7, 9), 100)).verdict, REDIRECTED);
    assert_eq!(sender.samples(), []);
}

pub(crate) fn unread_samples_are_dropped_and_counted() {
    let world = World::new();
    let mut host = opened(&world);
    host.sample(Some(0)).unwrap();
    host.install(5, 1, &rule(1_000_000_000, 10_000_000)).unwrap();
    let program = host.program(HostProgram::Endpoint).unwrap();
    for number in 0..7_000_u16 {
        let mut frame = udp(1, 2, (7, 9), 60);
        frame[18..20].copy_from_slice(&number.to_be_bytes());
        run(&program, TestPacket { ifindex: ENDPOINT, frame: &frame, gso_size: 0 }, 1).unwrap();
    }
    let (noted, missed) = (host.samples().len() as u64, host.counters().unwrap().of(PacketOutcome::Unsampled));
    assert!(noted > 6_000 && missed > 0 && noted + missed == 7_000, "{noted} and {missed}");
}
