//! The eBPF programs against the models, packet by packet: bytes, verdict, interface, class, tokens left, counters.
//!
//! `WAYLEAVE_FRAMES` sets the number of packets that each of these tests runs (`make fuzz-dataplane`).
//!
//! Each of these mutations of the programs made at least one of the tests fail:
//! - a bucket that may hold more than its burst; a clock that goes back and refills; short frames that cost only
//!   their own length; 4 B too few for each frame;
//! - of two contracts the one with the higher serial; ports of a first fragment; a sender's address that is not
//!   checked; an 802.1ad tag of a tenant;
//! - a window that is one number too long; a history that is not cleared where it is written again; extension headers
//!   that reach behind their packet;
//! - a frame that grows by a whole stack for each copy; a switch that does not set the class; a mask that takes
//!   another field's bit;
//! - a fragment behind extension headers that has ports; eight extension headers; space for the number's tag where
//!   there is none.

use std::collections::BTreeMap;

use crate::model::{Expected, Model};
use crate::world::{World, frames, mac};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_dataplane::Error;
use wayleave_dataplane::host::{Host, HostProgram, PacketOutcome, Settings, Unmatched};
use wayleave_dataplane::test_run::{REDIRECTED, TestPacket, run};
use wayleave_packet_format::Mac;
use wayleave_units::Time;

const ENDPOINTS: [u32; 2] = [1001, 1011];
const UPLINKS: [u32; 2] = [1021, 1031];

/// Packets of a test.
fn packets(usual: u64) -> u64 {
    std::env::var("WAYLEAVE_FRAMES").ok().map_or(usual, |text| text.parse().expect("WAYLEAVE_FRAMES is a number"))
}

/// A host and its model, with the same endpoints: address 1 behind the first interface, 3 behind the second.
struct Pair {
    host: Host,
    model: Model,
    settings: Settings,
    _world: World,
}

impl Pair {
    fn new() -> Self {
        let world = World::new();
        for (at, ifindex) in ENDPOINTS.into_iter().chain(UPLINKS).enumerate() {
            world.veth(&format!("if{at}"), ifindex);
        }
        let settings = Settings { now: Some(Time::from_nanos(1)), ..Settings::default() };
        let (mut host, mut model) = (Host::open(&world.pins, &settings).unwrap(), Model::new());
        for (ifindex, mac) in ENDPOINTS.into_iter().zip([mac(1), mac(3)]) {
            host.add_endpoint(ifindex, mac).unwrap();
            model.endpoints.insert(ifindex, mac);
        }
        Self { host, model, settings, _world: world }
    }

    fn at(&mut self, now: Time) {
        self.settings.now = Some(now);
        self.host.set(&self.settings).unwrap();
    }

    /// Rules, routes and settings become others.
    fn change(&mut self, rng: &mut ChaCha8Rng, version: u64) {
        let serial = rng.random_range(1..12);
        match rng.random_range(0..10) {
            0..=5 => {
                let rule = frames::rule(rng, &ENDPOINTS, &UPLINKS);
                match self.host.install(serial, version, &rule) {
                    Ok(()) => self.model.install(serial, version, &rule),
                    // Too many kinds of matches: what was there stays.
                    Err(error) => assert!(matches!(error, Error::Refused(_)), "{error}"),
                }
            }
            6 => {
                self.host.remove(serial).unwrap();
                self.model.rules.remove(&serial);
            }
            7..=8 => {
                let to: Mac = mac(rng.random_range(1..=5));
                let routes: Vec<_> = (0..rng.random_range(0..=4)).map(|_| frames::path(rng, &UPLINKS)).collect();
                self.host.set_best_effort(to, &routes).unwrap();
                self.model.best_effort.insert(to, routes);
            }
            _ => {
                let unmatched = [Unmatched::BestEffort, Unmatched::Dropped][rng.random_range(0..2)];
                (self.settings.unmatched, self.model.unmatched) = (unmatched, unmatched);
            }
        }
        let installed: BTreeMap<u64, u64> = self.host.installed().into_iter().collect();
        let expected = self.model.rules.iter().map(|(&serial, rule)| (serial, rule.version)).collect();
        assert_eq!(installed, expected);
    }

    fn check_counters(&self) {
        let counters = self.host.counters().unwrap();
        assert_eq!(counters.reasons, self.model.counts);
        assert_eq!(counters.contracts, self.model.contracts());
    }
}

pub(crate) fn programs_of_endpoints_equal_the_models() {
    let mut pair = Pair::new();
    let program = pair.host.program(HostProgram::Endpoint).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut now = 1_000_000;
    for packet in 0..packets(8_000) {
        if packet % 20 == 0 {
            pair.change(&mut rng, packet + 1);
        }
        now += 10_u64.pow(rng.random_range(0..8)) * rng.random_range(0..3);
        // Of two processors one may have read the clock before the other, and get the bucket after it.
        let now = if rng.random_range(0..20) == 0 { now - rng.random_range(0..1_000_000) } else { now };
        pair.at(Time::from_nanos(now));
        let at = rng.random_range(0..2);
        let frame = frames::frame(&mut rng, [1, 3][at]);
        if !frames::can_run(&frame) {
            continue;
        }
        let gso_size = if rng.random_range(0..100) == 0 { 100 } else { 0 };
        let out = run(&program, TestPacket { ifindex: ENDPOINTS[at], frame: &frame, gso_size }, 1).unwrap();
        let expected = pair.model.sent(Time::from_nanos(now), ENDPOINTS[at], &frame, gso_size);
        compare(&out, &expected, &format!("packet {packet}: {frame:02x?}"));
        pair.check_counters();
    }
    let rare = [
        PacketOutcome::NoEndpoint,
        PacketOutcome::Failed,
        PacketOutcome::Delivered,
        PacketOutcome::Duplicate,
        PacketOutcome::Tagged,
        PacketOutcome::ToHost,
    ];
    let waiting = [PacketOutcome::Delayed, PacketOutcome::QueueFull, PacketOutcome::Withdrawn, PacketOutcome::Split];
    // There are no groups here, so no broadcast is carried. No packets are followed.
    for (reason, count) in &pair.model.counts {
        let is_here = !rare.contains(reason)
            && !waiting.contains(reason)
            && ![PacketOutcome::Unfiltered, PacketOutcome::Carried, PacketOutcome::Unsampled].contains(reason);
        assert!(!is_here || *count > 20, "{reason:?} was seen {count} times: these packets say little of it");
    }
}

fn compare(out: &wayleave_dataplane::test_run::TestVerdict, expected: &Expected, what: &str) {
    assert_eq!(out.verdict, expected.verdict, "verdict of {what}");
    if let Some((frame, ifindex, priority)) = &expected.leaves {
        assert_eq!(out.verdict, REDIRECTED);
        assert_eq!(&out.frame, frame, "bytes of {what}");
        assert_eq!((out.out, out.priority), (*ifindex, *priority), "interface and class of {what}");
    }
}

/// Malformed and random frames: exactly the packets that the model puts into a guaranteed queue leave by it.
pub(crate) fn no_malformed_frame_reaches_a_guaranteed_queue() {
    let mut pair = Pair::new();
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for version in 1..60 {
        pair.change(&mut rng, version);
    }
    let (seed, program) = (rng.random(), pair.host.program(HostProgram::Endpoint).unwrap());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let now = Time::from_nanos(1);
    pair.at(now);
    for packet in 0..packets(100_000) {
        let at = rng.random_range(0..2);
        let mut frame = frames::frame(&mut rng, [1, 3][at]);
        if rng.random_range(0..10) == 0 {
            let length = rng.random_range(14..200);
            frame = (0..length).map(|_| rng.random()).collect();
        }
        for _ in 0..rng.random_range(1..5) {
            frames::damage(&mut rng, &mut frame);
        }
        if !frames::can_run(&frame) {
            continue;
        }
        let out = run(&program, TestPacket { ifindex: ENDPOINTS[at], frame: &frame, gso_size: 0 }, 1).unwrap();
        let expected = pair.model.sent(now, ENDPOINTS[at], &frame, 0);
        compare(&out, &expected, &format!("packet {packet} of seed {seed}: {frame:02x?}"));
    }
    pair.check_counters();
}

pub(crate) fn programs_of_uplinks_equal_the_models() {
    for (window, reset_ms) in [(2, 1000), (8, 1), (100, 50), (1 << 15, 1000)] {
        let mut pair = Pair::new();
        pair.settings.window = window;
        pair.settings.reset = Time::from_millis(reset_ms);
        (pair.model.window, pair.model.reset) = (window, pair.settings.reset);
        deliver(&mut pair, packets(8_000) / 4);
    }
}

/// Runs frames from the network: their sequence numbers are consecutive, repeated, late, or arbitrary.
fn deliver(pair: &mut Pair, packets: u64) {
    let program = pair.host.program(HostProgram::Uplink).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (mut now, mut next) = (1_000_000, 0_u16);
    for packet in 0..packets {
        now += 10_u64.pow(rng.random_range(0..8)) * rng.random_range(0..3) / 4;
        pair.at(Time::from_nanos(now));
        let from = [2, 4][rng.random_range(0..2)];
        let mut frame = frames::frame(&mut rng, from);
        let some = 1 << rng.random_range(0..16);
        let number = match rng.random_range(0..20) {
            0 => rng.random(),
            1 => {
                let ahead = next.wrapping_add(rng.random_range(0..some));
                // Far ahead, but not so far that everything is too far behind from then on.
                next = if some <= pair.settings.window { ahead } else { next };
                ahead
            }
            2..=8 => next.wrapping_sub(some - 1),
            9..=11 => next.wrapping_sub(rng.random_range(0..12)),
            _ => {
                next = next.wrapping_add(1);
                next
            }
        };
        if rng.random_range(0..10) > 0 {
            drop(frame.splice(12..12, [0x88, 0xA8, (number >> 8) as u8, number as u8]));
        }
        if !frames::can_run(&frame) {
            continue;
        }
        let ifindex = UPLINKS[rng.random_range(0..2)];
        let out = run(&program, TestPacket { ifindex, frame: &frame, gso_size: 0 }, 1).unwrap();
        let expected = pair.model.delivered(Time::from_nanos(now), &frame);
        compare(&out, &expected, &format!("packet {packet}, number {number}: {frame:02x?}"));
        assert_eq!(pair.host.counters().unwrap().reasons, pair.model.counts, "packet {packet}, number {number}");
    }
}

pub(crate) fn skipped_numbers_of_the_second_round_are_not_mistaken_for_earlier_ones() {
    let mut pair = Pair::new();
    let program = pair.host.program(HostProgram::Uplink).unwrap();
    let frame = crate::world::udp(2, 1, (7, 9), 60);
    let steps = (0..=u16::MAX).step_by(70);
    let rounds =
        (0..=u16::MAX).chain(steps.flat_map(|number| [number, number.wrapping_sub(1), number.wrapping_sub(40)]));
    for number in rounds {
        let [high, low] = number.to_be_bytes();
        let frame = [&frame[..12], &[0x88, 0xA8, high, low], &frame[12..]].concat();
        let out = run(&program, TestPacket { ifindex: UPLINKS[0], frame: &frame, gso_size: 0 }, 1).unwrap();
        compare(&out, &pair.model.delivered(Time::from_nanos(1), &frame), &format!("number {number}"));
    }
}
