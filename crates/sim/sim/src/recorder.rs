//! Trace of a run: the last packet events, and the flows of the packets.

use wayleave_topology::{Network, NodeId};

use crate::clock::Instant;
use crate::packet::{self, Kind, Packet};
use crate::trace::{self, DropReason, Header, LinkEntry, NodeEntry, PacketEvent, Ring, TraceFlow, TraceRecord};

/// The most flows that a trace names; packets of later ones bear the number alone.
const MAX_NAMED: usize = 1 << 20;

/// The last packet events of a run, and the flows that they belong to.
#[derive(Debug)]
pub(crate) struct Recorder {
    ring: Ring,
    most: usize,
    flows: Vec<TraceFlow>,
    /// By the number that packets of sources bear.
    sources: Vec<u32>,
    /// By the slot of a reliable flow: its present flow.
    places: Vec<u32>,
}

/// Recorded data of a run for its trace.
#[derive(Clone, Debug)]
pub struct Recording {
    ring: Ring,
    flows: Vec<TraceFlow>,
}

impl Recorder {
    pub(crate) fn new(most: usize) -> Self {
        Self { ring: Ring::new(most), most, flows: Vec::new(), sources: Vec::new(), places: Vec::new() }
    }

    /// A source or a flow begins; its packets bear `number`.
    pub(crate) fn name(&mut self, kind: Kind, number: u32, traffic: &str, ends: (NodeId, NodeId), segment_bytes: u32) {
        let named = self.flows.len() as u32;
        let table = if kind == Kind::Datagram { &mut self.sources } else { &mut self.places };
        let at = number as usize;
        if at >= table.len() {
            table.resize(at + 1, trace::NONE);
        }
        if self.flows.len() == MAX_NAMED {
            table[at] = trace::NONE;
            return;
        }
        table[at] = named;
        let name = format!("{traffic}#{named}");
        self.flows.push(TraceFlow { name, from: ends.0.0, to: ends.1.0, segment_bytes });
    }

    /// Records an event of a packet that has `tags` tags left.
    pub(crate) fn note(&mut self, event: PacketEvent, place: (u32, u8), packet: &Packet, tags: u8, at: Instant) {
        let flow = match packet.kind {
            Kind::Datagram => self.sources.get(packet.flow as usize),
            Kind::Data | Kind::Ack => self.places.get(packet.flow as usize),
            Kind::Message | Kind::Probe | Kind::ProbeAnswer | Kind::PairAnswer => None,
        };
        self.ring.push(TraceRecord {
            time_ps: at,
            link: place.0,
            flow: flow.copied().unwrap_or(trace::NONE),
            sequence: packet.sequence,
            expected: if packet.kind == Kind::Ack { packet.extra.expected() } else { 0 },
            size: packet.size,
            event,
            queue: place.1,
            flags: flags(packet),
            tags,
        });
    }

    /// In order of time: ports whose departures are known beforehand have noted them beforehand.
    pub(crate) fn finish(self, end: Instant) -> Recording {
        let mut records: Vec<TraceRecord> = self.ring.iter().filter(|record| record.time_ps <= end).copied().collect();
        records.sort_by_key(|record| record.time_ps);
        let mut ring = Ring::new(self.most);
        records.into_iter().for_each(|record| ring.push(record));
        Recording { ring, flows: self.flows }
    }
}

fn flags(packet: &Packet) -> trace::Flags {
    let kind = match packet.kind {
        Kind::Datagram | Kind::Message | Kind::Probe | Kind::ProbeAnswer | Kind::PairAnswer => trace::Flags::default(),
        Kind::Data => trace::Flags::SEGMENT,
        Kind::Ack => trace::Flags::ACK,
    };
    let pairs = [
        (packet::Flags::ECN_CAPABLE, trace::Flags::ECN_CAPABLE),
        (packet::Flags::MARKED, trace::Flags::MARKED),
        (packet::Flags::AGAIN, trace::Flags::AGAIN),
        (packet::Flags::TELEMETRY, trace::Flags::TELEMETRY),
    ];
    let set = pairs.into_iter().filter(|(mine, _)| packet.flags.has(*mine));
    set.fold(kind, |flags, (_, theirs)| flags | theirs)
}

/// Reason for a packet that found no room.
pub(crate) const FULL: PacketEvent = PacketEvent::Dropped(DropReason::QueueFull);

impl Recording {
    /// The events, in order of time.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Returns the header that explains them: the program of the trace, and the names of nodes, links and flows.
    pub fn header(&self, network: &Network, program: &str, seed: u64, input_hash: u64) -> Header {
        let links =
            network.links().map(|(_, link)| LinkEntry { name: link.name.clone(), from: link.from.0, to: link.to.0 });
        Header {
            program: program.to_owned(),
            seed,
            input_hash,
            nodes: network.nodes().map(|(_, node)| NodeEntry { name: node.name.clone() }).collect(),
            links: links.collect(),
            flows: self.flows.clone(),
        }
    }
}
