//! Random frames, rules and times: few addresses and ports, so that they match, and many kinds of faults.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use wayleave_dataplane::host::{HostPath, HostRule, Sender};
use wayleave_packet_format::{BucketDemand, PacketSelector, Tag};
use wayleave_units::{Bytes, Rate, Time};

use super::{ipv4, ipv6, mac};

/// A port of few.
fn port(rng: &mut ChaCha8Rng) -> u16 {
    [7, 80, 443][rng.random_range(0..3)]
}

/// One of the protocols that matter, and one that has no ports.
fn protocol(rng: &mut ChaCha8Rng) -> u8 {
    [17, 6, 132, 1][rng.random_range(0..4)]
}

fn chance(rng: &mut ChaCha8Rng, percent: u32) -> bool {
    rng.random_range(0..100) < percent
}

/// A frame from the endpoint with address `from`, mostly a good one.
pub(crate) fn frame(rng: &mut ChaCha8Rng, from: u8) -> Vec<u8> {
    let to = rng.random_range(1..=5);
    let mut frame = [mac(to).bytes(), mac(from).bytes()].concat();
    match rng.random_range(0..10) {
        0 => frame.extend([8, 6, 0, 1]),
        1..=3 => v6(rng, &mut frame),
        _ => v4(rng, &mut frame),
    }
    if chance(rng, 30) {
        let length = if chance(rng, 50) { rng.random_range(14..100) } else { rng.random_range(14..1515) };
        frame.resize(length.max(14), 0);
    }
    if chance(rng, 10) {
        damage(rng, &mut frame);
    }
    frame
}

fn v4(rng: &mut ChaCha8Rng, frame: &mut Vec<u8>) {
    let (protocol, options, data) = (protocol(rng), rng.random_range(0..3), rng.random_range(4..200));
    let fragment = if chance(rng, 10) { [0x20, 0x40, 0x01][rng.random_range(0..3)] } else { 0 };
    frame.extend([8, 0, 0x45 + options, 0]);
    frame.extend((20 + 4 * u16::from(options) + data).to_be_bytes());
    frame.extend([0, 1, fragment, 0, 64, protocol, 0, 0]);
    frame.extend([10, 0, 0, rng.random_range(1..4), 10, 0, 0, rng.random_range(1..4)]);
    frame.extend(vec![1; 4 * usize::from(options)]);
    data_of(rng, frame, data);
}

fn v6(rng: &mut ChaCha8Rng, frame: &mut Vec<u8>) {
    let chain: Vec<u8> = (0..rng.random_range(0..4)).map(|_| [0, 43, 44, 51, 60][rng.random_range(0..5)]).collect();
    let (last, data) = (protocol(rng), rng.random_range(4..200));
    let begin = frame.len();
    frame.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 0, chain.first().copied().unwrap_or(last), 64]);
    for _ in 0..2 {
        let std::net::IpAddr::V6(address) = ipv6(rng.random_range(1..4)) else { continue };
        frame.extend(address.octets());
    }
    for (at, kind) in chain.iter().enumerate() {
        let units = rng.random_range(0..2_u8);
        let bytes = if *kind == 51 { 4 * (usize::from(units) + 2) } else { 8 * (usize::from(units) + 1) };
        let start = frame.len();
        frame.resize(start + bytes, 0);
        frame[start] = chain.get(at + 1).copied().unwrap_or(last);
        frame[start + 1] = units;
    }
    data_of(rng, frame, data);
    let mut payload = (frame.len() - begin - 42) as u16;
    if chance(rng, 15) {
        // The rest is padding, perhaps from the middle of a header on.
        payload -= payload.min(rng.random_range(0..24) + data - 4);
    }
    frame[begin + 6..begin + 8].copy_from_slice(&payload.to_be_bytes());
}

fn data_of(rng: &mut ChaCha8Rng, frame: &mut Vec<u8>, length: u16) {
    frame.extend(port(rng).to_be_bytes());
    frame.extend(port(rng).to_be_bytes());
    frame.resize(frame.len() + usize::from(length) - 4, 0);
}

/// Something that no honest sender does.
pub(crate) fn damage(rng: &mut ChaCha8Rng, frame: &mut Vec<u8>) {
    match rng.random_range(0..6) {
        0 => {
            let at = rng.random_range(0..frame.len());
            frame[at] = rng.random();
        }
        1 => {
            let at = rng.random_range(12..frame.len().min(62));
            frame[at] ^= 1 << rng.random_range(0..8);
        }
        2 => {
            let tag = [0x8100_u16, 0x88A8, 0x9100, 0x9200, 0x9300][rng.random_range(0..5)];
            let number: u16 = rng.random();
            let tag = [tag.to_be_bytes(), number.to_be_bytes()].concat();
            drop(frame.splice(12..12, tag));
        }
        3 => frame[0] |= 1,
        4 => frame[11] ^= 7,
        _ => frame.truncate(rng.random_range(14..=frame.len())),
    }
}

/// Packets of some kind.
pub(crate) fn selector(rng: &mut ChaCha8Rng) -> PacketSelector {
    let mut some = |percent| chance(rng, percent);
    let [destination, protocol_, source, from, to, at] = [80, 50, 20, 20, 20, 20].map(&mut some);
    let version = some(50);
    let address = |rng: &mut ChaCha8Rng| {
        let last = rng.random_range(1..4);
        if version { ipv4(last) } else { ipv6(last) }
    };
    PacketSelector {
        destination: destination.then(|| mac(rng.random_range(1..=5))),
        protocol: protocol_.then(|| protocol(rng)),
        source_address: source.then(|| address(rng)),
        source_port: from.then(|| port(rng)),
        destination_address: to.then(|| address(rng)),
        destination_port: at.then(|| port(rng)),
    }
}

/// Returns a route through the network, up to the maximum length.
pub(crate) fn path(rng: &mut ChaCha8Rng, uplinks: &[u32]) -> HostPath {
    let tag = |rng: &mut ChaCha8Rng| Tag::new(rng.random_range(0..4094), rng.random_range(0..8)).unwrap();
    let length = rng.random_range(0..=12);
    HostPath {
        uplink: uplinks[rng.random_range(0..uplinks.len())],
        queue: rng.random_range(0..8),
        tags: (0..length).map(|_| tag(rng)).collect(),
        mtu: Bytes::new([200, 1500][rng.random_range(0..2)]),
    }
}

/// A rule of the endpoints with these interfaces.
pub(crate) fn rule(rng: &mut ChaCha8Rng, endpoints: &[u32], uplinks: &[u32]) -> HostRule {
    let senders = (0..rng.random_range(1..4))
        .map(|_| Sender { ifindex: endpoints[rng.random_range(0..endpoints.len())], selector: selector(rng) });
    let senders = senders.collect();
    let paths = if chance(rng, 60) { 1 } else { rng.random_range(0..=4) };
    HostRule {
        senders,
        demand: BucketDemand {
            rate: Rate::from_bits_per_second(10_u64.pow(rng.random_range(0..11))),
            burst: Bytes::new(rng.random_range(50..6000)),
            max_frame: chance(rng, 30).then(|| Bytes::new(rng.random_range(84..1600))),
        },
        paths: (0..paths).map(|_| path(rng, uplinks)).collect(),
        bound: Time::from_millis(10),
    }
}

/// Returns `true` if `BPF_PROG_TEST_RUN` accepts the frame: it refuses IP packets that are shorter than their first
/// header. Those are tested on an interface.
pub(crate) fn can_run(frame: &[u8]) -> bool {
    match frame.get(12..14) {
        Some([8, 0]) => frame.len() >= 34,
        Some([0x86, 0xDD]) => frame.len() >= 54,
        _ => frame.len() >= 14,
    }
}
