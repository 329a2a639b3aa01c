//! Expected results of a host's programs, by the models in `wayleave_packet_format` and `wayleave_schemes::duplicates`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use wayleave_dataplane::class::priority;
use wayleave_dataplane::host::{ContractPackets, HostPath, HostRule, PacketOutcome, Unmatched};
use wayleave_dataplane::test_run::{DROPPED, REDIRECTED, TO_STACK};
use wayleave_packet_format::{
    Classifier, Mac, ParseError, ParsedFrame, Ports, SEQUENCE_TYPE, Stack, TokenBucket, is_tag_type, wire_bytes,
};
use wayleave_schemes::duplicates::{DuplicateCheck, Filter};
use wayleave_units::{Bytes, Time};

/// A host that is only a model.
pub(crate) struct Model {
    pub(crate) endpoints: BTreeMap<u32, Mac>,
    pub(crate) rules: BTreeMap<u64, Rule>,
    pub(crate) best_effort: BTreeMap<Mac, Vec<HostPath>>,
    pub(crate) unmatched: Unmatched,
    pub(crate) counts: BTreeMap<PacketOutcome, u64>,
    pub(crate) window: u16,
    pub(crate) reset: Time,
    numbers: BTreeMap<(Mac, Mac), u16>,
    filters: BTreeMap<(Mac, Mac), Filter>,
}

pub(crate) struct Rule {
    pub(crate) version: u64,
    rule: HostRule,
    bucket: TokenBucket,
    counted: ContractPackets,
}

/// Expected outcome of a packet: the verdict, and if it leaves, the frame, the interface and the class of the last
/// copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) verdict: u32,
    pub(crate) leaves: Option<(Vec<u8>, u32, u32)>,
    /// Copies that left before.
    pub(crate) copies: Vec<Vec<u8>>,
}

const DROP: Expected = Expected { verdict: DROPPED, leaves: None, copies: Vec::new() };

impl Model {
    pub(crate) fn new() -> Self {
        Self {
            endpoints: BTreeMap::new(),
            rules: BTreeMap::new(),
            best_effort: BTreeMap::new(),
            unmatched: Unmatched::BestEffort,
            counts: PacketOutcome::ALL.map(|reason| (reason, 0)).into(),
            window: 1 << 15,
            reset: Time::from_millis(1000),
            numbers: BTreeMap::new(),
            filters: BTreeMap::new(),
        }
    }

    pub(crate) fn install(&mut self, serial: u64, version: u64, rule: &HostRule) {
        let bucket = match self.rules.remove(&serial) {
            Some(Rule { mut bucket, counted, .. }) => {
                bucket.change(rule.demand.rate, rule.demand.burst).unwrap();
                (bucket, counted)
            }
            None => (
                TokenBucket::full(rule.demand.rate, rule.demand.burst, Time::ZERO).unwrap(),
                ContractPackets::default(),
            ),
        };
        let (bucket, counted) = bucket;
        self.rules.insert(serial, Rule { version, rule: rule.clone(), bucket, counted });
    }

    /// Counters of the contracts, tokens among them. A bucket that has become smaller shows that with its next packet.
    pub(crate) fn contracts(&self) -> BTreeMap<u64, ContractPackets> {
        let counted = |rule: &Rule| ContractPackets { tokens: rule.bucket.tokens(), ..rule.counted };
        self.rules.iter().map(|(&serial, rule)| (serial, counted(rule))).collect()
    }

    fn count(&mut self, reason: PacketOutcome) {
        *self.counts.entry(reason).or_default() += 1;
    }

    fn drop(&mut self, reason: PacketOutcome) -> Expected {
        self.count(reason);
        DROP
    }

    fn leave(&mut self, reason: PacketOutcome, frame: Vec<u8>, out: u32, priority: u32) -> Expected {
        self.count(reason);
        Expected { verdict: REDIRECTED, leaves: Some((frame, out, priority)), copies: Vec::new() }
    }

    fn local(&self, mac: Mac) -> Option<u32> {
        self.endpoints.iter().find(|&(_, &other)| other == mac).map(|(&ifindex, _)| ifindex)
    }

    /// An endpoint sends a frame.
    pub(crate) fn sent(&mut self, now: Time, ifindex: u32, frame: &[u8], gso_size: u32) -> Expected {
        let Some(&mac) = self.endpoints.get(&ifindex) else { return self.drop(PacketOutcome::NoEndpoint) };
        // Here is nothing that cuts super-frames.
        if gso_size > 0 {
            return self.drop(PacketOutcome::Oversized);
        }
        let packet = match ParsedFrame::parse(frame) {
            Ok(packet) => packet,
            Err(ParseError::Tagged) => return self.drop(PacketOutcome::Forged),
            Err(ParseError::Malformed) => return self.drop(PacketOutcome::Malformed),
        };
        if packet.source != mac {
            return self.drop(PacketOutcome::Spoofed);
        }
        if packet.destination.is_multicast() {
            return self.drop(PacketOutcome::Multicast);
        }
        let mut classifier = Classifier::default();
        for (&serial, rule) in &self.rules {
            let its = rule.rule.senders.iter().filter(|sender| sender.ifindex == ifindex);
            its.for_each(|sender| classifier.add(serial, sender.selector));
        }
        match classifier.classify(&packet) {
            Some(serial) => self.guaranteed(now, serial, frame, &packet),
            None => self.without_contract(frame, &packet),
        }
    }

    fn guaranteed(&mut self, now: Time, serial: u64, frame: &[u8], packet: &ParsedFrame) -> Expected {
        let rule = self.rules.get_mut(&serial).unwrap();
        let mut paths = rule.rule.paths.clone();
        paths.sort_by_key(|path| path.tags.len());
        let depth = paths.last().map_or(0, |path| path.tags.len()) + usize::from(paths.len() > 1);
        let bytes = wire_bytes(frame.len(), depth);
        if bytes > rule.rule.max_frame() {
            rule.counted.oversized += 1;
            return self.drop(PacketOutcome::Oversized);
        }
        if !rule.bucket.take(now, bytes) {
            rule.counted.shaped += 1;
            return self.drop(PacketOutcome::Shaped);
        }
        rule.counted.packets += 1;
        rule.counted.bytes = Bytes::new(rule.counted.bytes.get() + bytes.get());
        let Some(last) = paths.last().cloned() else {
            return match self.local(packet.destination) {
                Some(out) => self.leave(PacketOutcome::Local, frame.to_vec(), out, 0),
                None => self.drop(PacketOutcome::NoRoute),
            };
        };
        let number = (paths.len() > 1).then(|| {
            let next = self.numbers.entry((packet.source, packet.destination)).or_default();
            let number = *next;
            *next = next.wrapping_add(1);
            number
        });
        let mut pushed = paths.iter().map(|path| Stack { tags: path.tags.clone(), number }.push(frame));
        let frame = pushed.next_back().unwrap();
        let copies = pushed.collect();
        Expected { copies, ..self.leave(PacketOutcome::Guaranteed, frame, last.uplink, priority(last.queue)) }
    }

    fn without_contract(&mut self, frame: &[u8], packet: &ParsedFrame) -> Expected {
        if self.unmatched == Unmatched::Dropped {
            return self.drop(PacketOutcome::Unmatched);
        }
        if let Some(out) = self.local(packet.destination) {
            return self.leave(PacketOutcome::Local, frame.to_vec(), out, 0);
        }
        let mut paths = self.best_effort.get(&packet.destination).cloned().unwrap_or_default();
        if paths.is_empty() {
            return self.drop(PacketOutcome::NoRoute);
        }
        paths.sort_by_key(|path| path.tags.len());
        let path = paths[flow_hash(packet) as usize % paths.len()].clone();
        if frame.len() as u64 > path.mtu.get() + 14 {
            return self.drop(PacketOutcome::Oversized);
        }
        let frame = Stack { tags: path.tags.clone(), number: None }.push(frame);
        self.leave(PacketOutcome::BestEffort, frame, path.uplink, priority(path.queue))
    }

    /// The network delivers a frame.
    pub(crate) fn delivered(&mut self, now: Time, frame: &[u8]) -> Expected {
        let type_at = |at: usize| frame.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]));
        let mac = |at: usize| Mac::new(std::array::from_fn(|byte| frame[at + byte]));
        let (destination, source) = (mac(0), mac(6));
        let mut number = None;
        if type_at(12) == Some(SEQUENCE_TYPE) {
            let (Some(value), Some(below)) = (type_at(14), type_at(16)) else {
                return self.drop(PacketOutcome::Malformed);
            };
            if is_tag_type(below) {
                return self.drop(PacketOutcome::Tagged);
            }
            number = Some(value);
        } else if type_at(12).is_some_and(is_tag_type) {
            return self.drop(PacketOutcome::Tagged);
        }
        let Some(out) = self.local(destination) else {
            if number.is_some() {
                return self.drop(PacketOutcome::Tagged);
            }
            self.count(PacketOutcome::ToHost);
            return Expected { verdict: TO_STACK, ..DROP };
        };
        let Some(number) = number else { return self.leave(PacketOutcome::Delivered, frame.to_vec(), out, 0) };
        let (window, reset) = (self.window, self.reset);
        let filter = self.filters.entry((source, destination)).or_insert_with(|| Filter::new(window, reset));
        if filter.on_packet(now, number) == DuplicateCheck::Discard {
            return self.drop(PacketOutcome::Duplicate);
        }
        self.leave(PacketOutcome::Delivered, [&frame[..12], &frame[16..]].concat(), out, 0)
    }
}

/// Returns the number by which a flow without a contract selects one of several routes: FNV-1a (Fowler, Noll, Vo) over little-endian words of
/// 32 bits, as `flow_hash` in `bpf/parse.h`.
fn flow_hash(packet: &ParsedFrame) -> u32 {
    let mut fields = [0; 36];
    let mut protocol = 0;
    if let Some(ip) = &packet.ip {
        fields[..16].copy_from_slice(&address_bytes(ip.source));
        fields[16..32].copy_from_slice(&address_bytes(ip.destination));
        if let Some(Ports { source, destination }) = ip.ports {
            fields[32..34].copy_from_slice(&source.to_be_bytes());
            fields[34..].copy_from_slice(&destination.to_be_bytes());
        }
        protocol = u32::from(ip.protocol);
    }
    let words = fields.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).chain([protocol]);
    let hash = words.fold(2_166_136_261_u32, |hash, word| (hash ^ word).wrapping_mul(16_777_619));
    hash ^ hash >> 16
}

/// Returns an address in 16 bytes: those of IPv4 are the last four, after zeros.
fn address_bytes(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(address) => u128::from(address.to_bits()).to_be_bytes(),
    }
}
