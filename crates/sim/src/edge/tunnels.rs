//! Tunnels: segments enter them as soon as their transports send, and leave when the pair's limiter lets them.

use wayleave_roles::{Entry, FlowStart, HostInput, LocalFlow, TunnelAck, TunnelPacket};

use super::{PairSlot, Wake};
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::fabric::Step;
use crate::flows::{FlowSlot, FlowState};
use crate::packet::PacketId;

impl Engine {
    /// Whether a pair's packets go through a tunnel.
    pub(crate) fn has_tunnel(&self, slot: PairSlot) -> bool {
        let edges = self.edges.as_deref();
        let pair = edges.and_then(|edges| Some((edges, edges.pairs.get(slot as usize)?)));
        pair.is_some_and(|(edges, pair)| edges.hosts[pair.sender as usize].stack.tunnel(pair.outgoing.0).is_some())
    }

    /// A flow sends what its window and its tunnel let it.
    pub(crate) fn fill_tunnel(&mut self, flow: FlowSlot, now: Instant) {
        let slot = self.flows[flow as usize].pair;
        while self.can_send(flow, now) {
            let state = &self.flows[flow as usize];
            let packet = TunnelPacket {
                flow: LocalFlow(state.local),
                bytes: self.next_bytes(flow),
                remaining: state.sender.segments().map(|_| state.sender.remaining()),
            };
            let first = state.forth.first;
            let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
            let Some(tunnel) = stack.tunnel_mut(pair) else { return };
            let entry = tunnel.ask(now, packet);
            if entry == Entry::HeldBack {
                stack.hold_back(pair, flow);
                self.flows[flow as usize].state = FlowState::Held;
                break;
            }
            let Some(id) = self.segment(flow, now) else { break };
            let packet = TunnelPacket { bytes: self.fabric.arena.get(id).size, ..packet };
            self.enter_tunnel(slot, entry, packet, (id, first), now);
        }
        self.run_if_free(slot, now);
    }

    /// A source's packet enters a tunnel. Nobody can be held back there: what would be is dropped.
    pub(super) fn packet_to_tunnel(&mut self, slot: PairSlot, stat: u32, first: Step, id: PacketId, now: Instant) {
        let flow = LocalFlow(self.source_number(stat));
        let packet = TunnelPacket { flow, bytes: self.fabric.arena.get(id).size, remaining: None };
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        let Some(tunnel) = stack.tunnel_mut(pair) else { return };
        let entry = match tunnel.ask(now, packet) {
            Entry::HeldBack => Entry::Dropped,
            entry => entry,
        };
        self.enter_tunnel(slot, entry, packet, (id, first), now);
        self.note_demand(slot, now);
        self.run_if_free(slot, now);
    }

    fn enter_tunnel(
        &mut self,
        slot: PairSlot,
        entry: Entry,
        packet: TunnelPacket,
        what: (PacketId, Step),
        now: Instant,
    ) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        let Some(tunnel) = stack.tunnel_mut(pair) else { return };
        match entry {
            Entry::Queued => tunnel.put(packet, what),
            Entry::Dropped | Entry::HeldBack => {
                tunnel.drop(packet);
                self.limited(slot, what.1, what.0);
            }
        }
    }

    fn run_if_free(&mut self, slot: PairSlot, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        if stack.is_free(pair) {
            self.run_pair(slot, now);
        }
    }

    /// How much of an acknowledgement its transport is told was marked.
    #[cold]
    pub(crate) fn through_tunnel(&mut self, flow: FlowSlot, newly: u64, marked: u64, now: Instant) -> u64 {
        let state = &self.flows[flow as usize];
        let remaining = state.sender.segments().map(|_| state.sender.remaining());
        let (slot, local) = (state.pair, LocalFlow(state.local));
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return marked };
        let Some(tunnel) = stack.tunnel_mut(pair) else { return marked };
        tunnel.acknowledge(now, local, TunnelAck { newly, marked, remaining })
    }

    /// A flow joins a tunnel.
    pub(super) fn join_tunnel(&mut self, slot: PairSlot, local: u32, start: &FlowStart, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        if let Some(tunnel) = stack.tunnel_mut(pair) {
            tunnel.open(now, LocalFlow(local), start);
        }
    }

    /// A decision slot of a pair's tunnel begins.
    pub(super) fn on_slot(&mut self, slot: PairSlot, epoch: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Some(pair) = edges.pairs.get(slot as usize).filter(|pair| pair.epoch == epoch) else { return };
        let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
        let Some(decision) = edges.hosts[sender as usize].stack.tunnel_slot(outgoing.0, now) else { return };
        // A slot without length would last for ever.
        let next = clock::from_time(decision.next).max(now + 1_000);
        self.arm(next, Wake::Slot(slot, epoch));
        self.tell(sender, scheme, HostInput::ReferenceWeight { pair: outgoing, weight: decision.weight }, now);
        self.carry_out(now);
    }
}
