//! What a host's data plane keeps, and what it does with single packets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod world;

use wayleave_dataplane::class::priority;
use wayleave_dataplane::host::{Host, HostPath, HostProgram, HostRule, Reason, Sender, Settings};
use wayleave_dataplane::test_run::{Input, Output, REDIRECTED, run};
use wayleave_units::{Bytes, Rate, Time};
use wayleave_wire::{Selector, Stack, Tag, wire_bytes};
use world::{World, mac, udp};

const ENDPOINT: u32 = 1001;
const UPLINK: u32 = 1003;

fn tags() -> Vec<Tag> {
    [(4, 0), (0, 3), (11, 7)].map(|(port, queue)| Tag::new(port, queue).unwrap()).to_vec()
}

fn rule(rate: u64, burst: u64) -> HostRule {
    HostRule {
        senders: vec![Sender {
            ifindex: ENDPOINT,
            selector: Selector { destination: Some(mac(2)), ..Selector::default() },
        }],
        rate: Rate::from_bits_per_second(rate),
        burst: Bytes::new(burst),
        max_frame: None,
        paths: vec![HostPath { uplink: UPLINK, queue: 1, tags: tags() }],
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

fn sent(host: &Host, frame: &[u8]) -> Output {
    let program = host.program(HostProgram::Endpoint).unwrap();
    run(&program, Input { ifindex: ENDPOINT, frame, gso_size: 0 }, 1).unwrap()
}

#[test]
fn a_packet_of_a_contract_is_tagged_charged_and_sent_to_its_uplink() {
    let Some(world) = World::new() else { return };
    let mut host = opened(&world);
    host.install(5, 1, &rule(8_000, 1000)).unwrap();
    let frame = udp(1, 2, (7, 9), 100);
    let out = sent(&host, &frame);
    assert_eq!((out.verdict, out.out, out.priority), (REDIRECTED, UPLINK, priority(1)));
    assert_eq!(out.frame, Stack { tags: tags(), number: None }.push(&frame));
    let counters = host.counters().unwrap();
    assert_eq!(counters.of(Reason::Guaranteed), 1);
    let contract = counters.contracts[&5];
    assert_eq!((contract.packets, contract.bytes), (1, wire_bytes(100, 3)));
    assert_eq!(contract.tokens, (1000 - 136) * 8_000_000_000);
}
