//! Packets and events, as those see them who send and receive.

use std::sync::Arc;

use wayleave_topology::{Network, NodeId};

use super::NetworkState;
use crate::clock::Instant;
use crate::events::Actor;
use crate::link::Port;
use crate::packet::{Kind, Packet, PacketId};
use crate::recorder::Recording;
use crate::router::Attachment;
use crate::telemetry::TelemetryArena;

impl NetworkState {
    #[inline]
    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        self.arena.get(id)
    }

    #[inline]
    pub(crate) fn packet_mut(&mut self, id: PacketId) -> &mut Packet {
        self.arena.get_mut(id)
    }

    /// A packet is made; [`Fabric::enter`] sends it.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(part) = &mut self.part {
            part.peak_packets.change(1);
        }
        self.arena.insert(packet)
    }

    /// A packet without telemetry has done its work.
    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) {
        if let Some(part) = &mut self.part {
            part.peak_packets.change(-1);
        }
        self.arena.remove(id);
    }

    /// A packet has done its work, and so has its telemetry.
    #[inline]
    pub(crate) fn forget_packet(&mut self, id: PacketId) {
        let stack = self.arena.get(id).extra.telemetry();
        self.telemetry.close(stack);
        self.remove(id);
    }

    #[inline]
    pub(crate) fn telemetry(&self) -> &TelemetryArena {
        &self.telemetry
    }

    #[inline]
    pub(crate) fn telemetry_mut(&mut self) -> &mut TelemetryArena {
        &mut self.telemetry
    }

    /// A packet brings back with its answer what its pair had sent.
    pub(crate) fn carry_sent(&mut self, id: PacketId, sent: u64) {
        let mut stack = self.arena.get(id).extra.telemetry();
        if stack == 0 {
            stack = self.telemetry.open();
            self.arena.get_mut(id).extra.set_telemetry(stack);
        }
        self.telemetry.set_sent(stack, sent);
    }

    /// Puts an event of an actor that is not of the fabric.
    #[inline]
    pub(crate) fn schedule(&mut self, at: Instant, actor: Actor) {
        self.events.put(at, actor);
    }

    /// Puts the event of the next turn at a port, first come, first served.
    #[inline]
    pub(crate) fn schedule_turn(&mut self, link: u32, at: Instant) {
        self.events.put(at, self.service_actor(link));
    }

    /// Returns the number of actors in the fabric; other actors have higher numbers. The arrivals of all links are
    /// the first half, the services of all ports the second.
    pub(crate) fn actors(&self) -> Actor {
        2 * self.links.len() as Actor
    }

    /// Returns the number of links, including those that represent services.
    pub(crate) fn links(&self) -> u32 {
        self.links.len() as u32
    }

    #[inline]
    pub(crate) fn port(&self, link: u32) -> Port {
        self.links[link as usize].port()
    }

    /// Returns the time at which a link is free for the next packet.
    #[inline]
    pub(crate) fn free_at(&self, link: u32) -> Instant {
        self.links[link as usize].free_at
    }

    /// Returns `true` if a queued port would send a packet at once.
    #[inline]
    pub(crate) fn is_idle(&self, link: u32, port: u32, now: Instant) -> bool {
        let port = &self.ports[port as usize];
        self.links[link as usize].free_at <= now && port.is_empty() && !port.is_scheduled
    }

    /// Returns two flags of a queued port: the queue is empty; the port sends the packet with the least remaining
    /// first.
    #[inline]
    pub(crate) fn queue_state(&self, port: u32, class: u8) -> (bool, bool) {
        let port = &self.ports[port as usize];
        (port.is_queue_empty(class), port.is_by_remaining())
    }

    /// The bytes of the largest packet that there can be.
    pub(crate) fn largest(&self) -> u32 {
        self.largest
    }

    pub(crate) fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Returns `true` if a host has a link to send on and one to receive on.
    pub(crate) fn can_send_and_receive(&self, host: NodeId) -> bool {
        !self.network.links_from(host).is_empty() && !self.network.links_into(host).is_empty()
    }

    /// The cable of a host, if it is the only one.
    pub(crate) fn attachment(&self, host: NodeId) -> Option<Attachment> {
        self.attachments[host.index()]
    }

    /// For the trace, if there is one: what packets with this number are.
    pub(crate) fn name(&mut self, kind: Kind, number: u32, traffic: &str, ends: (NodeId, NodeId), segment: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.name(kind, number, traffic, ends, segment);
        }
    }

    /// The trace, if there is one; nothing is recorded any more.
    pub(crate) fn take_recording(&mut self, end: Instant) -> Option<Recording> {
        self.recorder.take().map(|recorder| recorder.finish(end))
    }
}
