//! One flow with both ends.

use wayleave_scheme_api::{Departure, IntHop, Path, PathIndex, PathReport, RouteFacts};
use wayleave_schemes::path::presto::Reorder;
use wayleave_schemes::transports::AnyPath;

use super::purpose::Purpose;
use crate::app_source::Supply;
use crate::clock::{self, Instant};
use crate::fabric::{Direction, NetworkState, Step};
use crate::hosts::PairSlot;
use crate::ideal::PortUse;
use crate::packet::{ACKNOWLEDGEMENT, Block, FRAMING, Flags, HEADERS, Kind, KindFields, Packet, PacketId};
use crate::transport::{NEVER, Receiver, Sender, SenderStep};

/// A flow's place; used again when the flow is over and none of its packets is left.
pub(crate) type FlowSlot = u32;

/// One flow with both ends. The first cache line has the fields that an arriving segment needs; rarely used fields
/// come last.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub(crate) receiver: Receiver,
    /// The receiver's reordering buffer, where packets of one flow take several paths in turn.
    pub(crate) reorder: Option<Box<Reorder<PacketId>>>,
    pub(crate) reverse: Direction,
    /// The path of its acknowledgements, counted beyond their number, or [`SAME_PATH`].
    pub(crate) reverse_path: u32,
    /// Index of its statistics.
    pub(crate) stat: u32,
    /// Pair that limits it, or [`crate::hosts::NO_PAIR`].
    pub(crate) pair: PairSlot,
    pub(crate) sender: Sender,
    /// Fast-forwarded time, which its sender and its path scheme do not count.
    pub(crate) skipped: Instant,
    /// Segments that were skipped then: numbers in flight leave them out.
    pub(crate) skipped_segments: u32,
    /// Times of its alarms.
    pub(crate) slow_at: Instant,
    pub(crate) quick_at: Instant,
    pub(crate) forward: Direction,
    /// Interface that sends for it, with its class.
    pub(crate) interface: u32,
    /// Number of its packets in flight.
    pub(crate) in_transit: u32,
    pub(crate) class: u8,
    pub(crate) state: FlowState,
    pub(crate) is_ecn_capable: bool,
    pub(crate) wants_telemetry: bool,
    /// Its segments go through the tunnel of its pair.
    pub(crate) is_tunnelled: bool,
    /// The path of the segment for which it has tokens, or [`OWN_PATH`].
    pub(crate) granted_path: u16,
    /// The path of the next segment, where a host has several links; otherwise [`OWN_PATH`].
    pub(crate) planned_path: u16,
    /// Its paths have first and last links of their own.
    pub(crate) has_several_links: bool,
    /// Data that its application writes, if not all at once.
    pub(crate) supply: Option<Box<Supply>>,
    pub(crate) path: AnyPath,
    /// Bytes on the wire for which it has tokens: one segment, or none.
    pub(crate) granted: u32,
    /// Its number among the flows of its pair.
    pub(crate) local: u32,
    pub(crate) purpose: Purpose,
}

// An arriving segment touches only the fields before `sender`: one cache line.
const _: () = assert!(std::mem::offset_of!(Flow, sender) == 64);

/// Acknowledgements return on the path with the number of their segment's path.
pub(crate) const SAME_PATH: u32 = u32::MAX;

/// A flow chooses the path of its segment itself.
pub(crate) const OWN_PATH: u16 = u16::MAX;

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowState {
    /// Not in the interface's list.
    Waiting,
    /// In the list of those that can send.
    Ready,
    /// In a line of its host's stack, or held back by its tunnel.
    Blocked,
    /// Everything was acknowledged.
    Acked,
    /// Its place is free.
    Free,
}

impl Flow {
    /// The number of a segment among all, with those that were skipped before.
    pub(crate) fn number_of(&self, sequence: u32) -> u32 {
        sequence.saturating_add(self.skipped_segments)
    }

    /// Returns a time by the clock of its sender, which was stopped while the flow was fast-forwarded.
    #[inline]
    pub(crate) fn local(&self, now: Instant) -> Instant {
        now - self.skipped
    }

    /// A time of its sender by the clock of the run.
    #[inline]
    fn real(&self, local: Instant) -> Instant {
        if local == NEVER { NEVER } else { local + self.skipped }
    }

    /// Returns the time at which its sender's time-out or probe fires.
    #[inline]
    pub(crate) fn timeout_at(&self) -> Instant {
        self.real(self.sender.timeout_at())
    }

    /// Time at which its sender measures the least round trip anew.
    pub(crate) fn forgets_at(&self) -> Instant {
        self.real(self.sender.forgets_at())
    }

    /// Adds suspended time until now.
    pub(crate) fn delay(&mut self, by: Instant) {
        self.skipped += by;
        for alarm in [&mut self.slow_at, &mut self.quick_at] {
            if *alarm != NEVER {
                *alarm += by;
            }
        }
    }

    /// Bytes on the wire of its next segment, or more.
    #[inline]
    pub(crate) fn next_bytes(&self) -> u32 {
        self.sender.next_bytes() + HEADERS + FRAMING
    }

    /// Returns `true` if it can send a segment, and there is a path for it.
    #[inline]
    pub(crate) fn can_send(&self, fabric: &NetworkState, now: Instant) -> bool {
        self.sender.can_send(self.local(now)) && fabric.path_count(self.forward.paths) > 0
    }

    /// Returns `true` if it has more to send.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, FlowState::Waiting | FlowState::Ready | FlowState::Blocked)
    }

    /// Grants tokens for a segment of `bytes` bytes, on this path or on one that it chooses.
    pub(crate) fn grant(&mut self, bytes: u32, path: Option<PathIndex>) {
        (self.granted, self.granted_path) = (bytes, path.map_or(OWN_PATH, |path| path.0 as u16));
    }

    /// It cannot send what it was granted: how many bytes that were, and their path if it is not its own.
    pub(crate) fn return_grant(&mut self) -> (u32, Option<PathIndex>) {
        let path = std::mem::replace(&mut self.granted_path, OWN_PATH);
        let path = (path != OWN_PATH).then_some(PathIndex(u32::from(path)));
        (std::mem::take(&mut self.granted), path)
    }

    /// Notifies its sender of the data that its application has written until now.
    pub(crate) fn supply(&mut self, now: Instant) {
        if let Some(supply) = &self.supply {
            let available = supply.available(&self.sender, now);
            self.sender.make_available(available);
        }
    }

    /// Handles a write of its application, or a switch on or off. Returns the new state, if it was switched.
    #[cold]
    pub(crate) fn feed(&mut self, now: Instant) -> Option<bool> {
        let switched = self.supply.as_mut()?.switch(now);
        self.supply(now);
        switched
    }

    /// Notifies it of the route that its packets take from now on: its pair's route, or the first of its paths, which
    /// all have equal lengths.
    pub(crate) fn notify_route(&mut self, fabric: &NetworkState, now: Instant) {
        if !self.sender.receives_routes() {
            return;
        }
        let path = match self.granted_path {
            OWN_PATH => 0,
            path => u32::from(path),
        };
        let links = fabric.links_along(&self.forward, path);
        let facts = RouteFacts {
            hops: links.len() as u32,
            round_trip: clock::to_time(fabric.round_trip(&self.forward, &self.reverse, self.sender.segment())),
            slowest: fabric.slowest(&links),
        };
        self.sender.set_route(self.local(now), facts);
    }

    /// Returns the time that it would take alone.
    pub(crate) fn ideal(&self, fabric: &NetworkState) -> Instant {
        let (segment, bytes) = (self.sender.segment(), self.purpose.bytes);
        let network = fabric.alone(&self.forward, segment, bytes);
        self.supply.as_ref().map_or(network, |supply| {
            // The last segment is not sent before it is written.
            let segments = bytes.div_ceil(u64::from(segment)).max(1);
            let last = bytes - (segments - 1) * u64::from(segment);
            network.max(supply.lasts(bytes) + fabric.alone(&self.forward, segment, last))
        })
    }

    /// Returns how long it would take alone until its sender has the last acknowledgement, and its use of its sender's and its receiver's port until then.
    pub(crate) fn ideal_acknowledged(&self, fabric: &NetworkState) -> (Instant, [PortUse; 2]) {
        let answer = fabric.acknowledgement(&self.reverse);
        let ports = self.port_uses(fabric).map(|port| PortUse { after: port.after + answer, ..port });
        (self.ideal(fabric) + answer, ports)
    }

    /// Returns its use of its sender's and its receiver's port.
    pub(crate) fn port_uses(&self, fabric: &NetworkState) -> [PortUse; 2] {
        if self.has_several_links {
            // Messages need not share a port then: only the time of each alone is known.
            return [PortUse { port: u32::MAX, before: 0, busy: 0, after: 0 }; 2];
        }
        fabric.port_uses(&self.forward, self.sender.segment(), self.purpose.bytes)
    }

    /// Returns the time of its segments on the last link of its path.
    pub(crate) fn last_transfer(&self, fabric: &NetworkState) -> Instant {
        fabric.last_transfer(&self.forward, self.sender.segment(), self.purpose.bytes)
    }

    /// Returns the time at which it has to be handled for its pace, its application, late segments or its reordering
    /// buffer.
    #[inline]
    pub(crate) fn quick_alarm(&self, now: Instant) -> Instant {
        let mut at = self.real(self.sender.judge_at());
        // Nearly always the pace is no matter: asked first.
        let next = self.real(self.sender.paced_until());
        if next > now && self.state == FlowState::Waiting && self.sender.wants_to_send() {
            at = at.min(next);
        }
        if let Some(supply) = &self.supply {
            at = at.min(supply.next_poll(&self.sender, now));
        }
        match self.reorder.as_ref().and_then(|buffer| buffer.deadline()) {
            Some(deadline) => at.min(clock::from_time(deadline)),
            None => at,
        }
    }

    /// Passes an acknowledgement's report on a path to the flow's path scheme.
    #[inline]
    pub(crate) fn report(&mut self, packet: &Packet, newly: u64, hops: &[IntHop], now: Instant) {
        if self.path.receives_reports() {
            let local = clock::to_time(self.local(now));
            self.path.on_report(local, report(packet, newly, now));
            if !hops.is_empty() {
                self.path.on_telemetry(local, u32::from(packet.path), hops);
            }
        }
    }

    #[inline]
    fn choose_path(&mut self, bytes: u32, paths: u32, now: Instant) -> u32 {
        match paths {
            1 => 0,
            paths => self.path.choose(clock::to_time(now - self.skipped), Departure { bytes, paths }),
        }
    }

    /// The path of its next segment, chosen now where it is not yet: the segment waits at the interface of the path's first link.
    #[cold]
    pub(crate) fn plan_path(&mut self, count: u32, now: Instant) -> u32 {
        if self.granted_path != OWN_PATH {
            return u32::from(self.granted_path);
        }
        if self.planned_path == OWN_PATH {
            self.planned_path = self.choose_path(self.next_bytes() - (HEADERS + FRAMING), count, now) as u16;
        }
        u32::from(self.planned_path)
    }

    /// Paths have changed: the next segment may take another.
    pub(crate) fn forget_plan(&mut self) {
        self.planned_path = OWN_PATH;
    }

    /// Makes its next segment, which counts as sent; `None` if it cannot send. `slot`: its own.
    #[inline]
    pub(crate) fn next_segment(&mut self, slot: FlowSlot, fabric: &mut NetworkState, now: Instant) -> Option<PacketId> {
        let set = self.forward.paths;
        let count = fabric.path_count(set);
        if count == 0 {
            return None;
        }
        let SenderStep::Send { sequence, bytes, is_again, is_partial } = self.sender.poll(self.local(now)) else {
            return None;
        };
        let planned = std::mem::replace(&mut self.planned_path, OWN_PATH);
        let path = match std::mem::replace(&mut self.granted_path, OWN_PATH) {
            OWN_PATH if planned != OWN_PATH => u32::from(planned),
            OWN_PATH => self.choose_path(bytes, count, now),
            granted => u32::from(granted),
        };
        let mut flags = Flags::default();
        for (is_set, flag) in [
            (self.is_ecn_capable, Flags::ECN_CAPABLE),
            (is_again, Flags::AGAIN),
            (is_partial, Flags::PARTIAL),
            (self.wants_telemetry, Flags::TELEMETRY),
        ] {
            if is_set {
                flags = flags.with(flag);
            }
        }
        let mut packet = Packet {
            sent: now,
            due: now,
            flow: slot,
            size: bytes + HEADERS + FRAMING,
            sequence,
            route: fabric.start(set, path).unwrap_or(0),
            last_hop: fabric.own_ends(set, path).map_or(self.forward.last_hop, |(_, last)| last).bits(),
            // The first switch makes it zero.
            hop: u8::MAX,
            kind: Kind::Data,
            flags,
            path: path as u8,
            extra: KindFields::data(self.sender.urgency(), self.path.cell()),
            ..Packet::default()
        };
        if self.wants_telemetry {
            packet.extra.set_telemetry(fabric.telemetry_mut().open());
        }
        self.in_transit += 1;
        Some(fabric.insert(packet))
    }
}

/// Makes the acknowledgement of a segment out of its packet.
#[inline]
pub(crate) fn answer(packet: &mut Packet, expected: u32, block: Block, last_hop: Step, route: u32) {
    packet.kind = Kind::Ack;
    packet.size = ACKNOWLEDGEMENT;
    packet.route = route;
    packet.hop = u8::MAX;
    packet.last_hop = last_hop.bits();
    packet.flags = packet.flags.only(Flags::MARKED.with(Flags::AGAIN).with(Flags::PARTIAL));
    packet.extra = KindFields::ack(expected, block, packet.extra.telemetry());
}

/// Returns an acknowledgement's report on its path.
pub(crate) fn report(packet: &Packet, newly: u64, now: Instant) -> PathReport {
    PathReport {
        path: u32::from(packet.path),
        bytes: newly,
        marked: if packet.flags.has(Flags::MARKED) { newly } else { 0 },
        round_trip: Some(clock::to_time(now - packet.sent)),
    }
}
