//! The bytes of the maps' keys and values: bpf/maps.h and bpf/switch.c in Rust. Numbers are in the order of the
//! machine, which is little-endian (the programs refuse to be compiled for another one), unless their comment names
//! the order of the wire.

use std::net::IpAddr;

use wayleave_packet_format::{MAX_TAGS, Mac, PacketSelector, Tag, TokenBucket};
use wayleave_units::{Rate, Time};

/// Routes of a rule, and of an address without a contract.
pub(crate) const MAX_ROUTES: usize = 4;
/// Kinds of classes of one endpoint: different sets of fields that its contracts ask for.
pub(crate) const MAX_MASKS: usize = 16;
/// Contracts for the same packets.
pub(crate) const MAX_SAME: usize = 4;

pub(crate) const SETTINGS: usize = 40;
pub(crate) const ENDPOINT: usize = 44;
pub(crate) const TARGET: usize = 8;
/// Maximum number of receivers of an endpoint's broadcast.
pub(crate) const MAX_MEMBERS: usize = 64;
pub(crate) const GROUP: usize = 16 + MAC * MAX_MEMBERS;
pub(crate) const SPOOFED: usize = 28;
pub(crate) const CLASS: usize = 24;
pub(crate) const CLASS6: usize = 48;
pub(crate) const CONTRACTS: usize = 16 * MAX_SAME;
pub(crate) const ROUTE: usize = 16 + 2 * MAX_TAGS;
pub(crate) const RULE: usize = 80 + ROUTE * MAX_ROUTES;
pub(crate) const BUCKET: usize = 88 + 8 * WAITS;
/// Classes of waits that a bucket counts.
pub(crate) const WAITS: usize = 16;
pub(crate) const MAC: usize = 8;
pub(crate) const ROUTES: usize = 4 + ROUTE * MAX_ROUTES;
pub(crate) const MEASURED: usize = 24;
/// `struct sample`.
pub(crate) const SAMPLE: usize = 32;
/// `struct watch` of switch.c.
pub(crate) const WATCH: usize = 16;
pub(crate) const TAG: usize = 8;
pub(crate) const PORT: usize = 8;

/// Writes fields one behind another.
struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    const fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    fn put(mut self, field: &[u8]) -> Self {
        self.bytes[self.at..self.at + field.len()].copy_from_slice(field);
        self.at += field.len();
        self
    }

    fn u32(self, value: u32) -> Self {
        self.put(&value.to_ne_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.put(&value.to_ne_bytes())
    }

    const fn done(self) -> [u8; N] {
        self.bytes
    }
}

/// The field at an offset.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

/// The field at an offset.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

/// `struct settings`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) now: u64,
    pub(crate) reset_ns: u64,
    pub(crate) window: u32,
    pub(crate) unmatched: u32,
    pub(crate) measure: u32,
    pub(crate) splitter: u32,
    pub(crate) sample: u32,
}

impl Settings {
    pub(crate) fn bytes(self) -> [u8; SETTINGS] {
        let numbers = Writer::new().u64(self.now).u64(self.reset_ns);
        numbers.u32(self.window).u32(self.unmatched).u32(self.measure).u32(self.splitter).u32(self.sample).done()
    }
}

/// `struct endpoint`; masks with most fields first. `vlan` is 0 where frames have no tag.
pub(crate) fn endpoint(mac: Mac, vlan: u16, masks: &[u8]) -> [u8; ENDPOINT] {
    let fields: Vec<u8> = masks.iter().map(|mask| mask.count_ones() as u8).collect();
    let names_source = u8::from(masks.iter().any(|mask| mask & NAMES_SOURCE != 0));
    let mut writer = Writer::new().put(&mac.bytes()).put(&[masks.len() as u8, names_source]).put(masks);
    writer.at = 8 + MAX_MASKS;
    writer = writer.put(&fields);
    writer.at = 8 + 2 * MAX_MASKS;
    writer.put(&vlan.to_ne_bytes()).done()
}

/// The VLAN of a `struct endpoint`; 0: none.
pub(crate) fn endpoint_vlan(bytes: &[u8; ENDPOINT]) -> u16 {
    let at = 8 + 2 * MAX_MASKS;
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// `struct target`.
pub(crate) fn target(ifindex: u32, vlan: u16) -> [u8; TARGET] {
    Writer::new().u32(ifindex).put(&vlan.to_ne_bytes()).done()
}

/// `struct group`, of which nothing was carried yet.
pub(crate) fn group(members: &[Mac]) -> [u8; GROUP] {
    let members = members.get(..MAX_MEMBERS).unwrap_or(members);
    let head = Writer::new().u32(members.len() as u32).u32(0).u64(0);
    members.iter().fold(head, |writer, &member| writer.put(&mac(member))).done()
}

/// The members of a `struct group`, as bytes.
pub(crate) fn members_of(bytes: &[u8; GROUP]) -> (u32, &[u8]) {
    (u32_at(bytes, 0), &bytes[16..])
}

/// The address of a `struct endpoint`.
pub(crate) fn endpoint_mac(bytes: &[u8; ENDPOINT]) -> Mac {
    Mac::new(std::array::from_fn(|byte| bytes[byte]))
}

/// `struct mac`.
pub(crate) fn mac(mac: Mac) -> [u8; MAC] {
    Writer::new().put(&mac.bytes()).done()
}

/// `MASK_SOURCE` of maps.h.
const NAMES_SOURCE: u8 = 8;

/// Returns the mask of a selector's fields: `MASK_...` of maps.h.
fn mask_of(selector: &PacketSelector) -> u8 {
    u8::from(selector.protocol.is_some())
        | u8::from(selector.source_port.is_some()) << 1
        | u8::from(selector.destination_port.is_some()) << 2
        | u8::from(selector.source_address.is_some()) << 3
        | u8::from(selector.destination_address.is_some()) << 4
        | u8::from(selector.destination.is_some()) << 5
}

/// Packets of a kind from an endpoint: a key of `classes` or of `classes6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// `struct class`.
    Short([u8; CLASS]),
    /// `struct class6`: with addresses of IPv6.
    Long([u8; CLASS6]),
}

impl Class {
    pub(crate) fn new(ifindex: u32, selector: &PacketSelector) -> Self {
        let addresses = [selector.source_address, selector.destination_address];
        if addresses.iter().flatten().any(IpAddr::is_ipv6) {
            let [source, destination] = addresses.map(|address| match address {
                Some(IpAddr::V6(address)) => address.octets(),
                _ => [0; 16],
            });
            Self::Long(head(ifindex, selector).put(&source).put(&destination).done())
        } else {
            let [source, destination] = addresses.map(|address| match address {
                Some(IpAddr::V4(address)) => address.octets(),
                _ => [0; 4],
            });
            Self::Short(head(ifindex, selector).put(&source).put(&destination).done())
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(bytes) => bytes,
            Self::Long(bytes) => bytes,
        }
    }

    /// The endpoint.
    pub(crate) fn ifindex(&self) -> u32 {
        u32_at(self.bytes(), 0)
    }

    /// The fields that count.
    pub(crate) fn mask(&self) -> u8 {
        self.bytes()[4]
    }
}

/// A class up to its addresses.
fn head<const N: usize>(ifindex: u32, selector: &PacketSelector) -> Writer<N> {
    let head = Writer::new().u32(ifindex).put(&[mask_of(selector), selector.protocol.unwrap_or(0)]);
    head.put(&selector.source_port.unwrap_or(0).to_be_bytes())
        .put(&selector.destination_port.unwrap_or(0).to_be_bytes())
        .put(&selector.destination.unwrap_or_default().bytes())
}

/// `struct contracts`: serial and slot, lowest serial first.
pub(crate) fn contracts(contracts: &[(u64, u32)]) -> [u8; CONTRACTS] {
    contracts.iter().fold(Writer::new(), |writer, &(serial, slot)| writer.u64(serial).u32(slot).u32(0)).done()
}

/// Decodes a `struct contracts`.
pub(crate) fn contracts_of(bytes: &[u8; CONTRACTS]) -> Vec<(u64, u32)> {
    let all = (0..MAX_SAME).map(|at| (u64_at(bytes, 16 * at), u32_at(bytes, 16 * at + 8)));
    all.take_while(|&(serial, _)| serial != 0).collect()
}

/// `struct route`; `largest` is the frame that its links take, without tags.
pub(crate) fn route(uplink: u32, priority: u32, largest: u32, tags: &[Tag]) -> [u8; ROUTE] {
    let head = Writer::new().u32(uplink).u32(priority).u32(tags.len() as u32).u32(largest);
    tags.iter().fold(head, |writer, tag| writer.put(&tag.tci().to_be_bytes())).done()
}

/// A `struct rule` without its routes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleHead<'a> {
    pub(crate) serial: u64,
    pub(crate) version: u64,
    pub(crate) rate: Rate,
    pub(crate) bucket: &'a TokenBucket,
    pub(crate) bound: Time,
    /// In wire bytes.
    pub(crate) max_frame: u32,
    /// Bytes of tags that each packet gets.
    pub(crate) overhead: u32,
    /// Interface at which packets wait for their tokens; 0 if they do not wait.
    pub(crate) holder: u32,
    /// Wire bytes that may wait.
    pub(crate) limit: u32,
    /// Time without progress after which the queue counts as empty.
    pub(crate) stale: Time,
}

/// `struct rule`.
pub(crate) fn rule(head: &RuleHead<'_>, routes: &[[u8; ROUTE]]) -> [u8; RULE] {
    let writer = Writer::new().u32(0).u32(routes.len() as u32).u64(head.serial).u64(head.version);
    let writer = writer.u64(head.rate.bits_per_second()).u64(head.bucket.burst()).u64(head.bucket.fill_ns());
    let writer = writer.u64(head.bound.as_nanos()).u32(head.max_frame).u32(head.overhead);
    let writer = writer.u32(head.holder).u32(head.limit).u64(head.stale.as_nanos());
    routes.iter().fold(writer, |writer, route| writer.put(route)).done()
}

/// A `struct rule` in a slot that no contract has.
pub(crate) const NO_RULE: [u8; RULE] = [0; RULE];

/// Serial and version of a `struct rule`; serial 0 where nothing is.
pub(crate) fn rule_name(bytes: &[u8; RULE]) -> (u64, u64) {
    (u64_at(bytes, 8), u64_at(bytes, 16))
}

/// `struct bucket`, before its first packet.
pub(crate) fn bucket(tokens: u64, last: u64) -> [u8; BUCKET] {
    Writer::new().u64(tokens).u64(last).done()
}

/// `struct routes`.
pub(crate) fn routes(routes: &[[u8; ROUTE]]) -> [u8; ROUTES] {
    routes.iter().fold(Writer::new().u32(routes.len() as u32), |writer, route| writer.put(route)).done()
}

/// `struct tag` of switch.c.
pub(crate) fn tag(ifindex: u32, tag: Tag) -> [u8; TAG] {
    Writer::new().u32(ifindex).put(&tag.tci().to_ne_bytes()).done()
}

/// Decodes a `struct tag` of switch.c.
pub(crate) fn tag_of(bytes: &[u8; TAG]) -> (u32, u16) {
    (u32_at(bytes, 0), u16::from_ne_bytes([bytes[4], bytes[5]]))
}

/// `struct watch` of switch.c.
pub(crate) fn watch(sample: u32, missed: u64) -> [u8; WATCH] {
    Writer::new().u32(sample).u32(0).u64(missed).done()
}

/// `struct port` of switch.c.
pub(crate) fn port(ifindex: u32, priority: u32) -> [u8; PORT] {
    Writer::new().u32(ifindex).u32(priority).done()
}
