//! A switch's program, frame by frame: where a tag sends a frame, and that nothing else is sent.

use std::collections::BTreeMap;

use crate::world::{World, frames, mac, udp};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_dataplane::class::priority;
use wayleave_dataplane::host::{Host, HostProgram, Settings};
use wayleave_dataplane::net::Hook;
use wayleave_dataplane::programs::{SwitchCounts, SwitchProgram, TaggedPort};
use wayleave_dataplane::test_run::{DROPPED, REDIRECTED, TestPacket, run};
use wayleave_packet_format::{Stack, Tag};

const PORTS: [u32; 3] = [1101, 1111, 1121];

pub(crate) fn frames_follow_their_outer_tag_and_lose_it() {
    let world = World::new();
    for (at, ifindex) in PORTS.into_iter().enumerate() {
        world.veth(&format!("p{at}"), ifindex);
    }
    let mut switch = SwitchProgram::open(&world.pins).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut table = BTreeMap::new();
    for _ in 0..60 {
        let (ingress, out) = (PORTS[rng.random_range(0..3)], PORTS[rng.random_range(0..3)]);
        let queue = rng.random_range(0..8);
        let tag = Tag::new(rng.random_range(0..8), queue).unwrap();
        let port = TaggedPort { ifindex: out, priority: priority(queue) };
        switch.set(ingress, tag, port).unwrap();
        table.insert((ingress, tag.tci()), port);
    }
    let mut set = switch.table().unwrap();
    set.sort_by_key(|&(ingress, tci, _)| (ingress, tci));
    assert_eq!(set, table.iter().map(|(&(ingress, tci), &port)| (ingress, tci, port)).collect::<Vec<_>>());

    let program = switch.program(Hook::Ingress).unwrap();
    let mut counts: BTreeMap<u32, SwitchCounts> = BTreeMap::new();
    for packet in 0..6_000 {
        let (ingress, frame) = (PORTS[rng.random_range(0..3)], tagged(&mut rng));
        if !frames::can_run(&frame) {
            continue;
        }
        let out = run(&program, TestPacket { ifindex: ingress, frame: &frame, gso_size: 0 }, 1).unwrap();
        let counted = counts.entry(ingress).or_default();
        let what = format!("packet {packet}: {:02x?}", &frame[..frame.len().min(40)]);
        let tci = match *frame.get(12..16).unwrap_or_default() {
            [0x81, 0, high, low] => u16::from_be_bytes([high, low]),
            _ => {
                counted.untagged += 1;
                assert_eq!(out.verdict, DROPPED, "{what}");
                continue;
            }
        };
        match table.get(&(ingress, tci)) {
            // The kernel reads the next tag, which is truncated here.
            Some(_) if is_tag(&frame[4..]) && frame.len() < 22 => {
                counted.unknown += 1;
                assert_eq!(out.verdict, DROPPED, "{what}");
            }
            Some(port) => {
                counted.forwarded += 1;
                assert_eq!((out.verdict, out.priority), (REDIRECTED, port.priority), "{what}");
                // The rest of the frame is forwarded; the kernel may carry a tag that is now outermost beside the
                // frame.
                let below = [&frame[..12], &frame[16..]].concat();
                let carried = [&below[..12], below.get(16..).unwrap_or_default()].concat();
                assert!(out.frame == below || (is_tag(&below) && out.frame == carried), "{what}");
            }
            None => {
                counted.unknown += 1;
                assert_eq!(out.verdict, DROPPED, "{what}");
            }
        }
    }
    assert_eq!(switch.counters().unwrap(), counts);
    assert!(counts.keys().eq(&PORTS), "{counts:?}");
    assert!(counts.values().all(|count| count.forwarded > 100 && count.unknown > 100 && count.untagged > 100));

    switch.forget(PORTS[0]).unwrap();
    table.retain(|&(ingress, _), _| ingress != PORTS[0]);
    let mut left = switch.table().unwrap();
    left.sort_by_key(|&(ingress, tci, _)| (ingress, tci));
    assert!(!left.is_empty());
    assert_eq!(left, table.iter().map(|(&(ingress, tci), &port)| (ingress, tci, port)).collect::<Vec<_>>());
    assert!(!switch.counters().unwrap().contains_key(&PORTS[0]));
}

fn is_tag(frame: &[u8]) -> bool {
    matches!(frame.get(12..14), Some([0x81, 0] | [0x88, 0xA8]))
}

/// A frame with up to four tags of switches, and sometimes other bytes.
fn tagged(rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut frame = frames::frame(rng, 1);
    for _ in 0..rng.random_range(0..4) {
        let tag = Tag::new(rng.random_range(0..8), rng.random_range(0..8)).unwrap().tci().to_be_bytes();
        drop(frame.splice(12..12, [0x81, 0, tag[0], tag[1]]));
    }
    if rng.random_range(0..10) == 0 {
        frames::damage(rng, &mut frame);
    }
    frame
}

pub(crate) fn a_switch_samples_the_packets_that_hosts_sample_with_any_tags() {
    let world = World::new();
    world.veth("tap", 1201);
    world.veth("p0", PORTS[0]);
    world.veth("p1", PORTS[1]);
    let settings = Settings { sample: Some(1), ..Settings::default() };
    let mut host = Host::open(&world.pins.with_file_name("receiver"), &settings).unwrap();
    host.add_endpoint(1201, mac(2)).unwrap();
    let uplink = host.program(HostProgram::Uplink).unwrap();
    let mut switch = SwitchProgram::open(&world.pins).unwrap();
    switch.sample(Some(1)).unwrap();
    let program = switch.program(Hook::Ingress).unwrap();
    let stacks = [vec![(4, 0)], vec![(4, 0), (0, 3), (11, 7)]];
    for number in 0..100_u16 {
        let mut frame = udp(1, 2, (7, 9), 60 + usize::from(number));
        frame[18..20].copy_from_slice(&number.to_be_bytes());
        run(&uplink, TestPacket { ifindex: PORTS[0], frame: &frame, gso_size: 0 }, 1).unwrap();
        let of_host: Vec<u64> = host.samples().iter().map(|sample| sample.number).collect();
        let tags = stacks[usize::from(number) % 2].iter().map(|&(port, queue)| Tag::new(port, queue).unwrap());
        for sequence in [None, Some(number)] {
            let tagged = Stack { tags: tags.clone().collect(), number: sequence }.push(&frame);
            run(&program, TestPacket { ifindex: PORTS[0], frame: &tagged, gso_size: 0 }, 1).unwrap();
            let (noted, missed) = switch.samples().unwrap();
            let noted: Vec<u64> = noted.iter().map(|sample| sample.number).collect();
            assert_eq!((noted, missed), (of_host.clone(), 0), "packet {number}");
        }
    }
    switch.sample(None).unwrap();
    let frame = Stack { tags: vec![Tag::new(4, 0).unwrap()], number: None }.push(&udp(1, 2, (7, 9), 64));
    run(&program, TestPacket { ifindex: PORTS[0], frame: &frame, gso_size: 0 }, 1).unwrap();
    assert_eq!(switch.samples().unwrap().0, []);
}
