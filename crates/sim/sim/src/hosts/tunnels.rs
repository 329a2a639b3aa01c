//! Tunnels: segments enter them as soon as their transports send, and leave when the pair's limiter lets them.

use wayleave_scheme_api::{CongestionSignal, FlowStart, HostInput, LocalFlow, TunnelAck, TunnelEntry, TunnelPacket};

use super::slot::PairSlot;
use super::state::Hosts;
use super::timers::HostTimer;
use crate::clock::{self, Instant};
use crate::fabric::{NetworkState, Step};
use crate::flows::{Flow, FlowSlot};
use crate::packet::PacketId;

impl Hosts {
    /// Returns `true` if a pair's packets pass through a tunnel.
    pub(crate) fn has_tunnel(&self, slot: PairSlot) -> bool {
        let pair = self.pairs.get(slot as usize);
        pair.is_some_and(|pair| self.hosts[pair.sender as usize].stack.tunnel(pair.outgoing.0).is_some())
    }

    /// Returns a tunnel's decision on a packet of a flow; a flow that is held back is queued then. Returns `None` if
    /// there is no tunnel.
    pub(crate) fn ask_tunnel(
        &mut self,
        slot: PairSlot,
        flow: FlowSlot,
        packet: TunnelPacket,
        now: Instant,
    ) -> Option<TunnelEntry> {
        let (stack, pair) = self.stack(slot)?;
        let entry = stack.tunnel_mut(pair)?.ask(now, packet);
        if entry == TunnelEntry::HeldBack {
            stack.hold_back(pair, flow);
        }
        Some(entry)
    }

    /// Returns a tunnel's decision on the packet of a source. A source cannot be held back: such packets are dropped.
    pub(crate) fn ask_tunnel_of_source(
        &mut self,
        slot: PairSlot,
        packet: TunnelPacket,
        now: Instant,
    ) -> Option<TunnelEntry> {
        let (stack, pair) = self.stack(slot)?;
        match stack.tunnel_mut(pair)?.ask(now, packet) {
            TunnelEntry::HeldBack => Some(TunnelEntry::Dropped),
            entry => Some(entry),
        }
    }

    /// Enters a packet into a tunnel according to its decision. Returns `true` if the packet is dropped there.
    pub(crate) fn enter_tunnel(
        &mut self,
        slot: PairSlot,
        entry: TunnelEntry,
        packet: TunnelPacket,
        what: (PacketId, Step),
        (fabric, now): (&mut NetworkState, Instant),
    ) -> bool {
        let Some((stack, pair)) = self.stack(slot) else { return false };
        let Some(tunnel) = stack.tunnel_mut(pair) else { return false };
        match entry {
            TunnelEntry::Queued => {
                if tunnel.put(now, packet, what) {
                    self.on_first_slot(slot, fabric, now);
                }
                false
            }
            TunnelEntry::Dropped | TunnelEntry::HeldBack => {
                tunnel.drop(packet);
                true
            }
        }
    }

    /// Returns `true` if packets of a flow have not left their host yet.
    pub(crate) fn holds(&mut self, flow: &Flow) -> bool {
        let local = LocalFlow(flow.local);
        let Some((stack, pair)) = self.stack(flow.pair) else { return false };
        stack.tunnel(pair).is_some_and(|tunnel| tunnel.holds(local))
    }

    /// Returns the bytes of an acknowledgement that are reported as marked to its transport.
    #[cold]
    pub(crate) fn through_tunnel(&mut self, flow: &Flow, newly: u64, marked: u64, now: Instant) -> u64 {
        let remaining = flow.sender.segments().map(|_| flow.sender.remaining());
        let local = LocalFlow(flow.local);
        let Some((stack, pair)) = self.stack(flow.pair) else { return marked };
        let Some(tunnel) = stack.tunnel_mut(pair) else { return marked };
        tunnel.acknowledge(now, local, TunnelAck { newly, marked, remaining })
    }

    /// A flow joins a tunnel.
    pub(super) fn join_tunnel(
        &mut self,
        slot: PairSlot,
        local: u32,
        (start, signal): (&FlowStart, CongestionSignal),
        now: Instant,
    ) {
        let Some((stack, pair)) = self.stack(slot) else { return };
        if let Some(tunnel) = stack.tunnel_mut(pair) {
            tunnel.open(now, LocalFlow(local), start, signal);
        }
    }

    /// A decision slot of a pair's tunnel begins: the first one since the pair opened, or since the tunnel had no flows.
    pub(crate) fn on_first_slot(&mut self, slot: PairSlot, fabric: &mut NetworkState, now: Instant) -> bool {
        let epoch = self.pairs.get(slot as usize).map_or(0, |pair| pair.epoch);
        self.on_slot(slot, epoch, fabric, now)
    }

    /// Begins a decision slot of a pair's tunnel. Returns `true` if there is a tunnel.
    pub(crate) fn on_slot(&mut self, slot: PairSlot, epoch: u32, fabric: &mut NetworkState, now: Instant) -> bool {
        let Some(pair) = self.open(slot, epoch) else { return false };
        let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
        let Some(decision) = self.hosts[sender as usize].stack.tunnel_slot(outgoing.0, now) else { return false };
        if let Some(next) = decision.next {
            // A slot without length would last for ever.
            self.timer_queue.arm(clock::from_time(next).max(now + 1_000), HostTimer::Slot(slot, epoch), fabric, now);
        }
        let input = HostInput::ReferenceWeight { pair: outgoing, weight: decision.weight, floor: decision.floor };
        self.notify(sender, scheme, input, now);
        true
    }
}
