//! Probes travel as packets along their path, in the queue of their pair, and come back with the answer of the other end.
//!
//! A probe is `18 + 20` B of Ethernet and framing, 20 B of IPv4, one byte a hop of source route, 4 B of header and 8 B a
//! hop of telemetry (uFAB, SIGCOMM 2022, G), and never less than a frame of the smallest size. Room for all hops is there
//! from the start, so that its size is the same at every port.

use wayleave_roles::{HostInput, Outgoing, PathIndex, Probe, ProbeOutcome};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::Bytes;

use super::{EdgeId, NO_PAIR, PairSlot};
use crate::clock::Instant;
use crate::engine::Engine;
use crate::fabric::{DropCause, Dropped, Step};
use crate::flows::{ACKNOWLEDGEMENT, Direction, FRAMING};
use crate::packet::{Flags, Kind, Packet, PacketId};
use crate::random;

/// IPv4 header, and type, hops and tokens of the probe (G).
const FIXED: u32 = 20 + 4;

/// A hop's telemetry (G: 64 bits), and its entry of the source route.
const PER_HOP: u32 = 8 + 1;

fn probe_bytes(hops: u32) -> u32 {
    (FRAMING + FIXED + PER_HOP * hops).max(ACKNOWLEDGEMENT)
}

impl Engine {
    /// A machine sends a probe along one of a pair's candidate paths.
    pub(super) fn send_probe(
        &mut self,
        edge: EdgeId,
        pair: Outgoing,
        path: PathIndex,
        (probe, windows): (Probe, Vec<Bytes>),
        now: Instant,
    ) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let slot = edges.hosts[edge as usize].outgoing.get(pair.index()).copied().unwrap_or(NO_PAIR);
        // The pair is being forgotten.
        let Some(pair) = edges.pairs.get_mut(slot as usize) else { return };
        pair.used_at = now;
        let (epoch, forth) = (pair.epoch, pair.forth);
        let is_lost =
            edges.sharing.faults.probe_loss > 0.0 && random::unit(&mut edges.rng) < edges.sharing.faults.probe_loss;
        let Some(route) = self.router.start(forth.paths, path.0) else {
            // No path is left: nobody forwards it, and nobody says so.
            self.count_probe(0, true);
            return;
        };
        let hops = self.hops_of(route) + 1;
        let size = probe_bytes(hops);
        self.count_probe(size, is_lost);
        if is_lost {
            return;
        }
        let mut packet = Packet {
            sent: now,
            due: now,
            flow: slot,
            sequence: epoch,
            size,
            route,
            last_hop: forth.last_hop.bits(),
            hop: u8::MAX,
            kind: Kind::Probe,
            flags: Flags::TELEMETRY,
            path: path.0 as u8,
            ..Packet::default()
        };
        packet.extra.set_telemetry(self.fabric.telemetry.open_probe(probe, windows));
        let id = self.fabric.arena.insert(packet);
        if let Some(dropped) = self.fabric.enter(forth.first, id, now) {
            self.dropped(dropped);
        }
    }

    /// Links between switches of a route.
    fn hops_of(&self, route: u32) -> u32 {
        self.fabric.routes[route as usize..].iter().take_while(|&&step| step != Step::END).count() as u32
    }

    fn count_probe(&mut self, bytes: u32, is_lost: bool) {
        if let Some(edges) = self.edges.as_deref_mut() {
            edges.account.probe(bytes, is_lost);
        }
    }

    /// A probe arrives at the other end of its pair, which answers at once.
    #[cold]
    pub(crate) fn probe_arrived(&mut self, id: PacketId, now: Instant) {
        let Packet { flow: slot, sequence: epoch, extra, .. } = *self.fabric.arena.get(id);
        let header = self.fabric.telemetry.probe(extra.telemetry()).map(|(probe, _)| probe);
        let Some((probe, incoming)) = header.zip(self.incoming_of(slot, epoch, now)) else {
            self.forget_packet(id);
            return;
        };
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        pair.used_at = now;
        let (receiver, scheme, back) = (pair.receiver, pair.scheme, pair.back);
        let answer = wayleave_roles::Host::answer(edges.role(receiver, scheme), super::time(now), incoming, &probe);
        self.fabric.telemetry.settle(extra.telemetry(), ProbeOutcome::Answered(answer));
        self.send_back(id, Kind::ProbeAnswer, back, now);
    }

    /// A packet turns round: it goes back to the sender of its pair, and collects nothing more.
    pub(super) fn send_back(&mut self, id: PacketId, kind: Kind, back: Direction, now: Instant) {
        let packet = self.fabric.arena.get_mut(id);
        packet.kind = kind;
        packet.flags = Flags::default();
        packet.hop = u8::MAX;
        packet.last_hop = back.last_hop.bits();
        let path = u32::from(packet.path);
        match self.router.start(back.paths, path) {
            Some(route) => {
                self.fabric.arena.get_mut(id).route = route;
                if let Some(dropped) = self.fabric.enter(back.first, id, now) {
                    self.dropped(dropped);
                }
            }
            None => self.dropped(Dropped { id, cause: DropCause::NoRoute }),
        }
    }

    /// A probe is back at its sender.
    #[cold]
    pub(crate) fn probe_returned(&mut self, id: PacketId, now: Instant) {
        let Packet { flow: slot, sequence: epoch, path, extra, .. } = *self.fabric.arena.get(id);
        let header = self.fabric.telemetry.outcome(extra.telemetry());
        let pair = self.edges.as_deref().and_then(|edges| edges.open_pair(slot, epoch));
        if let (Some((probe, outcome)), Some(pair)) = (header, pair) {
            let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
            let hops = self.fabric.telemetry.get(extra.telemetry()).to_vec();
            let path = PathIndex(u32::from(path));
            let input = HostInput::ProbeReturned { pair: outgoing, path, kind: probe.kind, outcome, hops: &hops };
            self.tell(sender, scheme, input, now);
        }
        self.forget_packet(id);
    }

    /// A switch could not forward a probe, because it knows that the link is down, and says so (uFAB, G: failure
    /// response). The answer goes back from there. Whether it does: what the host itself cannot send is lost.
    #[cold]
    pub(crate) fn probe_failed(&mut self, id: PacketId, now: Instant) -> bool {
        let Packet { kind, flow: slot, sequence: epoch, extra, .. } = *self.fabric.arena.get(id);
        let Some(at) = self.switch_of_packet(id) else { return false };
        let Some(pair) = self.edges.as_deref().and_then(|edges| edges.open_pair(slot, epoch)) else { return false };
        let (sender, queue) = (pair.key.0, pair.forth.first.queue());
        let Some(home) = self.spec.attachments[sender.index()].filter(|_| kind == Kind::Probe) else { return false };
        let paths = self.router.paths(at, home.switch, queue, &mut self.fabric.routes);
        let Some(route) = self.router.start(paths, 0) else { return false };
        self.fabric.telemetry.settle(extra.telemetry(), ProbeOutcome::Failed);
        let last_hop = Step::new(home.down.0, queue);
        let packet = self.fabric.arena.get_mut(id);
        (packet.kind, packet.flags) = (Kind::ProbeAnswer, Flags::default());
        (packet.route, packet.hop, packet.last_hop) = (route, 0, last_hop.bits());
        let first = match self.fabric.routes[route as usize] {
            Step::END => last_hop,
            step => step,
        };
        if let Some(dropped) = self.fabric.enter(first, id, now) {
            self.dropped(dropped);
        }
        true
    }

    /// The switch at whose port a packet is; `None` at a host.
    fn switch_of_packet(&self, id: PacketId) -> Option<NodeId> {
        let packet = self.fabric.arena.get(id);
        if packet.hop == u8::MAX {
            return None;
        }
        let step = match self.fabric.routes[packet.route as usize + usize::from(packet.hop)] {
            Step::END => Step::from_bits(packet.last_hop),
            step => step,
        };
        Some(self.spec.network.link(LinkId(step.link())).from)
    }

    /// A packet has done its work.
    fn forget_packet(&mut self, id: PacketId) {
        let stack = self.fabric.arena.get(id).extra.telemetry();
        self.fabric.telemetry.close(stack);
        self.fabric.arena.remove(id);
    }

    /// A probe, or the answer of one, is lost.
    pub(crate) fn probe_lost(&mut self) {
        if let Some(edges) = self.edges.as_deref_mut() {
            edges.account.probe_lost();
        }
    }

    /// The receiving machine of a packet of a pair, for a window: it answers packets that nobody acknowledges.
    pub(super) fn answer_packet(&mut self, slot: PairSlot, packet: &Packet, now: Instant) {
        let Some(pair) = self.edges.as_deref().and_then(|edges| edges.pairs.get(slot as usize)) else { return };
        let (epoch, back) = (pair.epoch, pair.back);
        let Some(sent) = self.fabric.telemetry.sent(packet.extra.telemetry()) else { return };
        let mut answer = Packet {
            sent: now,
            due: now,
            flow: slot,
            sequence: epoch,
            size: ACKNOWLEDGEMENT,
            path: packet.path,
            ..Packet::default()
        };
        let stack = self.fabric.telemetry.open();
        self.fabric.telemetry.set_sent(stack, sent);
        answer.extra.set_telemetry(stack);
        let id = self.fabric.arena.insert(answer);
        self.send_back(id, Kind::PairAnswer, back, now);
    }

    /// The answer of a packet that nobody acknowledges is back.
    #[cold]
    pub(crate) fn pair_answered(&mut self, id: PacketId, now: Instant) {
        let Packet { flow: slot, sequence: epoch, path, extra, .. } = *self.fabric.arena.get(id);
        let sent = self.fabric.telemetry.sent(extra.telemetry());
        self.forget_packet(id);
        let is_open = self.edges.as_deref().is_some_and(|edges| edges.open_pair(slot, epoch).is_some());
        if let Some(sent) = sent.filter(|_| is_open) {
            self.answered(slot, path, sent, now);
        }
    }
}
