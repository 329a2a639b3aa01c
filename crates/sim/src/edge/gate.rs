//! Flows and packets pass the stack of their host, or wait there until it lets them go.
//!
//! Tokens and room in windows are taken when a flow or a packet is let go, one segment at a time: what a flow was granted
//! and does not send goes back. So nothing that waits behind the interface can be overtaken in the buckets.

use wayleave_roles::{ClassId, Departure, LocalFlow, Path, PathIndex};
use wayleave_stack::{ClassStep, Flows, Step as StackStep, Verdict, Waiting};

use super::{EdgeId, NO_PAIR, PairSlot, Stack, Wake};
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::fabric::Step;
use crate::flows::{self, FRAMING, Flow, FlowSlot, FlowState, HEADERS};
use crate::packet::{Arena, Flags, Kind, PacketId};
use crate::router::Router;
use crate::trace::Event;

/// How long a window waits for answers before what is in flight counts as lost, in ps: the shortest retransmission
/// time-out that is usual in datacenters (DCTCP, SIGCOMM 2010, section 4: 10 ms).
const SILENCE: Instant = 10_000_000_000;

/// What a host's stack asks of flows.
pub(super) struct Sending<'a> {
    flows: &'a mut [Flow],
    arena: &'a Arena,
    router: &'a Router,
    now: Instant,
}

impl Flows<FlowSlot, (PacketId, Step)> for Sending<'_> {
    fn next_bytes(&self, flow: FlowSlot) -> Option<u32> {
        let flow = &self.flows[flow as usize];
        let can_send = flow.sender.can_send(self.now) && self.router.count(flow.forth.paths) > 0;
        can_send.then(|| flow.sender.next_bytes() + HEADERS + FRAMING)
    }

    fn choose(&mut self, what: Waiting<FlowSlot, (PacketId, Step)>, departure: Departure) -> u32 {
        let flow = match what {
            Waiting::Flow(flow) => flow,
            Waiting::Packet((id, _), _) => match self.arena.get(id) {
                packet if packet.kind == Kind::Data => packet.flow,
                // A source keeps to one path.
                packet => return packet.flow % departure.paths.max(1),
            },
        };
        self.flows[flow as usize].path.choose(clock::to_time(self.now), departure)
    }

    fn local(&self, what: Waiting<FlowSlot, (PacketId, Step)>) -> LocalFlow {
        let flow = match what {
            Waiting::Flow(flow) => flow,
            Waiting::Packet((id, _), _) => match self.arena.get(id) {
                packet if packet.kind == Kind::Data => packet.flow,
                // The sources of a pair count as one flow.
                _ => return LocalFlow(0),
            },
        };
        LocalFlow(self.flows[flow as usize].local)
    }
}

impl Engine {
    /// The stack of a pair's host, its number there, and what the stack asks.
    pub(super) fn stack_of(&mut self, slot: PairSlot, now: Instant) -> Option<(&mut Stack, u32, Sending<'_>)> {
        let Self { edges, flows, fabric, router, .. } = self;
        let edges = edges.as_deref_mut()?;
        let pair = edges.pairs.get(slot as usize)?;
        let stack = &mut edges.hosts[pair.sender as usize].stack;
        Some((stack, pair.outgoing.0, Sending { flows, arena: &fabric.arena, router, now }))
    }

    /// Whether a flow that can send may send its next segment. If not, it stands in line until it may.
    pub(crate) fn admit(&mut self, flow: FlowSlot, now: Instant) -> bool {
        let (slot, granted) = (self.flows[flow as usize].pair, self.flows[flow as usize].granted);
        if slot == NO_PAIR || granted > 0 {
            return true;
        }
        loop {
            let bytes = self.next_bytes(flow);
            let Some((stack, pair, mut sending)) = self.stack_of(slot, now) else { return true };
            match stack.admit(pair, Waiting::Flow(flow), bytes, now, &mut sending) {
                Verdict::Go(path) => {
                    self.grant(flow, bytes, path);
                    return true;
                }
                Verdict::Drop => {
                    self.drop_segment(flow, now);
                    if !self.can_send(flow, now) {
                        return false;
                    }
                }
                Verdict::Wait => {
                    self.flows[flow as usize].state = FlowState::Held;
                    self.wait(slot, Waiting::Flow(flow), now);
                    return false;
                }
            }
        }
    }

    fn grant(&mut self, flow: FlowSlot, bytes: u32, path: Option<PathIndex>) {
        let flow = &mut self.flows[flow as usize];
        (flow.granted, flow.granted_path) = (bytes, path.map_or(flows::OWN_PATH, |path| path.0 as u16));
    }

    /// On the wire.
    pub(super) fn next_bytes(&self, flow: FlowSlot) -> u32 {
        self.flows[flow as usize].sender.next_bytes() + HEADERS + FRAMING
    }

    /// A segment of a flow leaves: what it was granted beyond that goes back. What its answer has to bring back.
    #[cold]
    pub(crate) fn spend(&mut self, flow: FlowSlot, bytes: u32, path: u8, now: Instant) -> Option<u64> {
        let flow = &mut self.flows[flow as usize];
        let (slot, granted) = (flow.pair, std::mem::take(&mut flow.granted));
        if granted > bytes
            && let Some((stack, pair, _)) = self.stack_of(slot, now)
        {
            stack.put_back(pair, granted, bytes);
        }
        self.left(slot, bytes, granted, path, now)
    }

    /// A flow that was granted a segment cannot send it any more.
    #[cold]
    pub(crate) fn give_back(&mut self, flow: FlowSlot) {
        let now = self.now;
        let flow = &mut self.flows[flow as usize];
        let path = std::mem::replace(&mut flow.granted_path, flows::OWN_PATH);
        let (slot, granted) = (flow.pair, std::mem::take(&mut flow.granted));
        if granted == 0 {
            return;
        }
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        stack.put_back(pair, granted, 0);
        if path != flows::OWN_PATH && stack.release(pair, PathIndex(u32::from(path)), granted) {
            self.run_pair(slot, now);
        }
    }

    /// A source's packet leaves, or waits, or is dropped because too many wait. `stat`: of its source.
    pub(crate) fn gate_packet(&mut self, stat: u32, first: Step, id: PacketId, now: Instant) {
        let slot = self.source_pair(stat, now);
        if slot == NO_PAIR {
            self.put_out(first, id, now);
            return;
        }
        let packet = self.fabric.arena.get_mut(id);
        packet.flags = packet.flags.with(Flags::ECN_CAPABLE);
        let bytes = packet.size;
        if self.has_tunnel(slot) {
            self.packet_to_tunnel(slot, stat, first, id, now);
            return;
        }
        let Some((stack, pair, mut sending)) = self.stack_of(slot, now) else { return };
        match stack.admit(pair, Waiting::Packet((id, first), bytes), bytes, now, &mut sending) {
            Verdict::Go(path) => {
                self.let_packet_go(slot, (id, first), bytes, path, now);
                return;
            }
            Verdict::Drop => {
                self.limited(slot, first, id);
                return;
            }
            Verdict::Wait => {}
        }
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &edges.pairs[slot as usize];
        let queued = edges.hosts[pair.sender as usize].stack.queued(pair.outgoing.0);
        if queued + u64::from(bytes) > edges.sharing.packet_queue.get() {
            self.limited(slot, first, id);
            return;
        }
        self.wait(slot, Waiting::Packet((id, first), bytes), now);
        self.note_demand(slot, now);
    }

    /// A packet is dropped at its own host: too many wait, or a limiter drops.
    pub(super) fn limited(&mut self, slot: PairSlot, first: Step, id: PacketId) {
        if let Some(edges) = self.edges.as_deref_mut() {
            edges.account.limited(edges.pairs[slot as usize].from_place);
        }
        self.fabric.note(crate::recorder::FULL, (first.link(), first.queue()), id, self.now);
        self.discard(id);
    }

    /// A limiter drops a segment of a flow.
    fn drop_segment(&mut self, flow: FlowSlot, now: Instant) {
        let (slot, first) = (self.flows[flow as usize].pair, self.flows[flow as usize].forth.first);
        if let Some(id) = self.segment(flow, now) {
            self.limited(slot, first, id);
        }
    }

    /// A packet comes to the interface of its host.
    pub(super) fn put_out(&mut self, first: Step, id: PacketId, now: Instant) {
        self.fabric.note(Event::Sent, (first.link(), first.queue()), id, now);
        if self.enter_interface(first, id, now) {
            return;
        }
        let slot = self.pair_of_packet(id);
        match slot {
            NO_PAIR => self.discard(id),
            slot => self.limited(slot, first, id),
        }
    }

    /// Something stands in line.
    fn wait(&mut self, slot: PairSlot, what: Waiting<FlowSlot, (PacketId, Step)>, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        if stack.wait(pair, what) {
            self.run_pair(slot, now);
        }
    }

    /// A pair that stands nowhere lets go what may leave, and stands where the rest has to wait.
    pub(super) fn run_pair(&mut self, slot: PairSlot, now: Instant) {
        loop {
            let Some((stack, pair, mut sending)) = self.stack_of(slot, now) else { return };
            let step = stack.advance(pair, now, &mut sending);
            self.after_stack(slot, now);
            match step {
                StackStep::Go(what, bytes, path) => self.let_go(slot, what, bytes, path, now),
                StackStep::Drop(what, _) => self.drop_waiting(slot, what, now),
                StackStep::PairWaits(at) => {
                    self.arm(at, Wake::Pair(slot));
                    return;
                }
                StackStep::ClassWaits(class, at) => {
                    let Some(edges) = self.edges.as_deref() else { return };
                    let edge = edges.pairs[slot as usize].sender;
                    self.arm(at, Wake::Class(edge, class.0));
                    return;
                }
                StackStep::Rests => {
                    self.watch_window(slot, now);
                    return;
                }
            }
        }
    }

    /// Flows that the stack has sent away, and those of which a tunnel takes another packet.
    fn after_stack(&mut self, slot: PairSlot, now: Instant) {
        loop {
            let Some((stack, ..)) = self.stack_of(slot, now) else { return };
            if !stack.has_gone() && !stack.has_offers() {
                return;
            }
            let (gone, offers) = (stack.take_gone(), stack.take_offers());
            for flow in gone.into_iter().chain(offers) {
                self.flows[flow as usize].state = FlowState::Waiting;
                // Over, or waiting for acknowledgements.
                self.pump(flow, now);
            }
        }
    }

    /// The first of a pair's line, whose tokens were taken, goes.
    fn let_go(
        &mut self,
        slot: PairSlot,
        what: Waiting<FlowSlot, (PacketId, Step)>,
        bytes: u32,
        path: Option<PathIndex>,
        now: Instant,
    ) {
        match what {
            Waiting::Flow(flow) => {
                self.grant(flow, bytes, path);
                self.flows[flow as usize].state = FlowState::Waiting;
                self.pump(flow, now);
            }
            Waiting::Packet(packet, _) => self.let_packet_go(slot, packet, bytes, path, now),
        }
    }

    /// A packet for which there are tokens leaves its host.
    fn let_packet_go(
        &mut self,
        slot: PairSlot,
        (id, first): (PacketId, Step),
        bytes: u32,
        path: Option<PathIndex>,
        now: Instant,
    ) {
        if let Some(path) = path {
            self.take_path(slot, id, path);
        }
        let taken = self.fabric.arena.get(id).path;
        if let Some(sent) = self.left(slot, bytes, bytes, taken, now) {
            self.carry_sent(id, sent);
        }
        self.note_demand(slot, now);
        self.copy_packet(slot, first, id, now);
        self.put_out(first, id, now);
    }

    fn drop_waiting(&mut self, slot: PairSlot, what: Waiting<FlowSlot, (PacketId, Step)>, now: Instant) {
        match what {
            Waiting::Flow(flow) => {
                self.flows[flow as usize].state = FlowState::Waiting;
                self.drop_segment(flow, now);
                self.pump(flow, now);
            }
            Waiting::Packet((id, first), _) => {
                self.limited(slot, first, id);
                self.note_demand(slot, now);
            }
        }
    }

    /// The pairs of a class that wait for its tokens go in turn, one segment or packet each.
    fn run_class(&mut self, edge: EdgeId, class: u32, now: Instant) {
        loop {
            let Self { edges, flows, fabric, router, .. } = self;
            let Some(host) = edges.as_deref_mut().and_then(|edges| edges.hosts.get_mut(edge as usize)) else { return };
            let mut sending = Sending { flows, arena: &fabric.arena, router, now };
            let step = host.stack.serve(ClassId(class), now, &mut sending);
            let slot = match step {
                ClassStep::Go(pair, ..) | ClassStep::Drop(pair, ..) | ClassStep::PairWaits(pair, _) => {
                    host.outgoing[pair as usize]
                }
                ClassStep::Waits(_) | ClassStep::Rests => {
                    let any = host.outgoing.iter().copied().find(|&slot| slot != NO_PAIR).unwrap_or(NO_PAIR);
                    self.after_stack(any, now);
                    if let ClassStep::Waits(at) = step {
                        self.arm(at, Wake::Class(edge, class));
                    }
                    return;
                }
            };
            self.after_stack(slot, now);
            match step {
                ClassStep::Go(_, what, bytes, path) => self.let_go(slot, what, bytes, path, now),
                ClassStep::Drop(_, what, _) => self.drop_waiting(slot, what, now),
                ClassStep::PairWaits(_, at) => {
                    self.arm(at, Wake::Pair(slot));
                    continue;
                }
                ClassStep::Waits(_) | ClassStep::Rests => return,
            }
            let Some((stack, pair, mut sending)) = self.stack_of(slot, now) else { return };
            let at = stack.queue_up(pair, now, &mut sending);
            self.after_stack(slot, now);
            match at {
                Some(at) => self.arm(at, Wake::Pair(slot)),
                None => self.watch_window(slot, now),
            }
        }
    }

    pub(super) fn on_pair_wake(&mut self, slot: PairSlot, at: Instant, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        if stack.on_pair_wake(pair, at) {
            self.run_pair(slot, now);
        }
    }

    pub(super) fn on_class_wake(&mut self, edge: EdgeId, class: u32, at: Instant, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        if edges.hosts[edge as usize].stack.on_class_wake(ClassId(class), at) {
            self.run_class(edge, class, now);
        }
    }

    /// A class' bucket is another.
    pub(super) fn class_changed(&mut self, edge: EdgeId, class: u32, now: Instant) {
        self.run_class(edge, class, now);
    }

    /// A packet was answered, which brought back what its pair had sent on its path.
    #[cold]
    pub(crate) fn answered(&mut self, slot: PairSlot, path: u8, sent: u64, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        if stack.answered(pair, PathIndex(u32::from(path)), sent, now) {
            self.run_pair(slot, now);
        }
    }

    /// A transport of a pair found by its time-out that what is in flight will not be answered.
    #[cold]
    pub(crate) fn forget_in_flight(&mut self, slot: PairSlot, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        if stack.forget_in_flight(pair) {
            self.run_pair(slot, now);
        }
    }

    /// A pair that a window holds back is looked at again, in case its answers are lost.
    fn watch_window(&mut self, slot: PairSlot, now: Instant) {
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        let Some(since) = stack.waits_for_answers(pair) else { return };
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        if !std::mem::replace(&mut pair.is_watched, true) {
            let epoch = pair.epoch;
            self.arm(since.saturating_add(SILENCE).max(now), Wake::Silence(slot, epoch));
        }
    }

    pub(super) fn on_silence(&mut self, slot: PairSlot, epoch: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        if pair.epoch != epoch {
            return;
        }
        pair.is_watched = false;
        let Some((stack, pair, _)) = self.stack_of(slot, now) else { return };
        match stack.waits_for_answers(pair) {
            Some(since) if since.saturating_add(SILENCE) <= now => self.forget_in_flight(slot, now),
            Some(_) => self.watch_window(slot, now),
            None => {}
        }
    }
}
