//! Probes travel as packets along their path, in the queue of their pair, and return with the answer of the other
//! end.
//!
//! A probe is `18 + 20` B of Ethernet and framing, 20 B of IPv4, one byte per hop of source route, 4 B of header and
//! 8 B per hop of telemetry (uFAB, SIGCOMM 2022, G). It is never less than a frame of the smallest size. It has room
//! for all hops from the start, so that its size is equal at every port.

use wayleave_scheme_api::{HopWindow, HostInput, Outgoing, PathIndex, PathProbe, Probe, ProbeOutcome};

use super::slot::{HostId, PairSlot};
use super::state::{Hosts, time};
use super::timers::HostTimer;
use crate::clock::{self, Instant};
use crate::fabric::{Direction, DropCause, Dropped, NetworkState, Step};
use crate::packet::{ACKNOWLEDGEMENT, FRAMING, Flags, Kind, Packet, PacketId};
use crate::random;

/// IPv4 header, and type, hops and tokens of the probe (G).
const FIXED: u32 = 20 + 4;

/// A hop's telemetry (G: 64 bits), and its entry of the source route.
const PER_HOP: u32 = 8 + 1;

fn probe_bytes(hops: u32) -> u32 {
    (FRAMING + FIXED + PER_HOP * hops).max(ACKNOWLEDGEMENT)
}

impl Hosts {
    /// Sends a machine's probe along one of a pair's candidate paths. Returns a packet dropped for it.
    pub(crate) fn send_probe(
        &mut self,
        (host, pair): (HostId, Outgoing),
        path: PathIndex,
        (probe, windows): (Probe, Vec<HopWindow>),
        fabric: &mut NetworkState,
        now: Instant,
    ) -> Option<Dropped> {
        let slot = self.outgoing(host, pair);
        // The pair may be being forgotten.
        let pair = self.pairs.get_mut(slot as usize)?;
        pair.used_at = now;
        let (epoch, forward) = (pair.epoch, pair.forward);
        let loss = self.sharing.faults.probe_loss;
        let is_lost = loss > 0.0 && random::unit(&mut self.rng) < loss;
        let Some(route) = fabric.start(forward.paths, path.0) else {
            // No path is left: the probe is not forwarded, and its sender is not notified.
            self.account.probe(0, true);
            return None;
        };
        let size = probe_bytes(fabric.hops_of(route) + 1);
        self.account.probe(size, is_lost);
        if is_lost {
            return None;
        }
        let stack = fabric.telemetry_mut().open_probe(probe, windows);
        leave(Packet { flow: slot, sequence: epoch, size, route, ..packet(path, stack) }, forward, fabric, now)
    }

    /// Sends a probe for a pair's path scheme: one without a header, to which ports add only their records. It does
    /// not keep its pair open. Returns a packet dropped for it.
    #[cold]
    pub(crate) fn probe_path(
        &mut self,
        slot: PairSlot,
        epoch: u32,
        fabric: &mut NetworkState,
        now: Instant,
    ) -> Option<Dropped> {
        let forward = self.open(slot, epoch)?.forward;
        let (stack, pair) = self.stack(slot)?;
        let PathProbe { path, next } = stack.path_probe(pair, fabric.path_count(forward.paths).max(1), now)?;
        let at = now.saturating_add(clock::from_time(next)).max(now + 1);
        self.timer_queue.arm(at, HostTimer::PathProbe(slot, epoch), fabric, now);
        let route = fabric.start(forward.paths, path)?;
        let size = probe_bytes(fabric.hops_of(route) + 1);
        self.account.probe(size, false);
        let stack = fabric.telemetry_mut().open();
        leave(
            Packet { flow: slot, sequence: epoch, size, route, ..packet(PathIndex(path), stack) },
            forward,
            fabric,
            now,
        )
    }

    /// Handles a probe that arrives at the other end of its pair, which answers at once. Returns a packet dropped for
    /// the answer.
    #[cold]
    pub(crate) fn probe_arrived(&mut self, id: PacketId, fabric: &mut NetworkState, now: Instant) -> Option<Dropped> {
        let Packet { flow: slot, sequence: epoch, extra, .. } = *fabric.packet(id);
        let Some(reverse) = self.open(slot, epoch).map(|pair| pair.reverse) else {
            fabric.forget_packet(id);
            return None;
        };
        let Some(at) = fabric.telemetry().probe(extra.telemetry()) else {
            return send_back(id, Kind::ProbeAnswer, reverse, fabric, now);
        };
        let probe = at.probe;
        let incoming = self.incoming(slot, fabric, now);
        let pair = &mut self.pairs[slot as usize];
        pair.used_at = now;
        let (receiver, scheme) = (pair.receiver, pair.scheme);
        let answer = wayleave_scheme_api::Host::answer(self.role(receiver, scheme), time(now), incoming, &probe);
        fabric.telemetry_mut().settle(extra.telemetry(), ProbeOutcome::Answered(answer));
        send_back(id, Kind::ProbeAnswer, reverse, fabric, now)
    }

    /// A probe is back at its sender.
    #[cold]
    pub(crate) fn probe_returned(&mut self, id: PacketId, fabric: &mut NetworkState, now: Instant) {
        let Packet { flow: slot, sequence: epoch, path, extra, .. } = *fabric.packet(id);
        let header = fabric.telemetry().outcome(extra.telemetry());
        if let (Some((probe, outcome)), Some(pair)) = (header, self.open(slot, epoch)) {
            let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
            let path = PathIndex(u32::from(path));
            let round_trip = time(fabric.base_round_trip(&pair.forward, &pair.reverse, path.0));
            let hops = fabric.telemetry().get(extra.telemetry());
            let input = HostInput::ProbeReturned { pair: outgoing, path, probe, outcome, hops, round_trip };
            self.notify(sender, scheme, input, now);
        } else if header.is_none() && self.open(slot, epoch).is_some() {
            let hops = fabric.telemetry().get(extra.telemetry());
            if let Some((stack, pair)) = self.stack(slot) {
                stack.on_path_telemetry(pair, u32::from(path), hops, now);
            }
        }
        fabric.forget_packet(id);
    }

    /// Answers a probe that a switch could not forward because it knows that the link is down (uFAB, G: failure
    /// response). Returns the first step of the answer from there. Returns `None` if it is not such a probe, or if
    /// the host itself could not send it; it is then lost.
    #[cold]
    pub(crate) fn probe_failed(&self, id: PacketId, fabric: &mut NetworkState) -> Option<Step> {
        let Packet { kind, flow: slot, sequence: epoch, extra, .. } = *fabric.packet(id);
        if kind != Kind::Probe {
            return None;
        }
        // A path role needs reports of whole paths: its probes have no header and are not answered from here.
        fabric.telemetry().probe(extra.telemetry())?;
        let at = fabric.switch_of_packet(id)?;
        let pair = self.open(slot, epoch)?;
        let (first, route, last_hop) = fabric.path_from_switch(at, pair.key.0, pair.forward.first.queue())?;
        fabric.telemetry_mut().settle(extra.telemetry(), ProbeOutcome::Failed);
        let packet = fabric.packet_mut(id);
        (packet.kind, packet.flags) = (Kind::ProbeAnswer, Flags::default());
        (packet.route, packet.hop, packet.last_hop) = (route, 0, last_hop.bits());
        Some(first)
    }

    /// Answers, for a window, a packet of a pair that is not acknowledged otherwise. Returns a packet dropped for the
    /// answer.
    pub(super) fn answer_packet(
        &mut self,
        slot: PairSlot,
        packet: &Packet,
        fabric: &mut NetworkState,
        now: Instant,
    ) -> Option<Dropped> {
        let pair = self.pairs.get(slot as usize)?;
        let (epoch, reverse) = (pair.epoch, pair.reverse);
        let sent = fabric.telemetry().sent(packet.extra.telemetry())?;
        let mut answer = Packet {
            sent: now,
            due: now,
            flow: slot,
            sequence: epoch,
            size: ACKNOWLEDGEMENT,
            path: packet.path,
            ..Packet::default()
        };
        let stack = fabric.telemetry_mut().open();
        fabric.telemetry_mut().set_sent(stack, sent);
        answer.extra.set_telemetry(stack);
        let id = fabric.insert(answer);
        send_back(id, Kind::PairAnswer, reverse, fabric, now)
    }

    /// Handles the answer to a packet that is not acknowledged otherwise. Returns the pair, if it may continue.
    #[cold]
    pub(crate) fn pair_answered(&mut self, id: PacketId, fabric: &mut NetworkState, now: Instant) -> Option<PairSlot> {
        let Packet { flow: slot, sequence: epoch, path, extra, .. } = *fabric.packet(id);
        let sent = fabric.telemetry().sent(extra.telemetry());
        fabric.forget_packet(id);
        self.open(slot, epoch)?;
        self.window_answered(slot, path, sent?, now).then_some(slot)
    }
}

/// A probe along a path, with its records.
fn packet(path: PathIndex, stack: u32) -> Packet {
    let mut packet =
        Packet { hop: u8::MAX, kind: Kind::Probe, flags: Flags::TELEMETRY, path: path.0 as u8, ..Packet::default() };
    packet.extra.set_telemetry(stack);
    packet
}

/// Sends a probe from its host. Returns a packet dropped for it.
fn leave(packet: Packet, forward: Direction, fabric: &mut NetworkState, now: Instant) -> Option<Dropped> {
    let (first, last_hop) = fabric.ends(&forward, u32::from(packet.path));
    let id = fabric.insert(Packet { sent: now, due: now, last_hop: last_hop.bits(), ..packet });
    fabric.enter(first, id, now)
}

/// Returns a packet to the sender of its pair, without further records. Returns a packet dropped for it.
fn send_back(id: PacketId, kind: Kind, reverse: Direction, fabric: &mut NetworkState, now: Instant) -> Option<Dropped> {
    let packet = fabric.packet_mut(id);
    packet.kind = kind;
    packet.flags = Flags::default();
    packet.hop = u8::MAX;
    let path = u32::from(packet.path);
    let Some(route) = fabric.start(reverse.paths, path) else {
        return Some(Dropped { id, cause: DropCause::NoRoute });
    };
    let (first, last_hop) = fabric.ends(&reverse, path);
    let packet = fabric.packet_mut(id);
    (packet.route, packet.last_hop) = (route, last_hop.bits());
    fabric.enter(first, id, now)
}
