//! The engine: takes one event after the other until the time is over.
//!
//! Actors are numbered without gaps: arrivals of all links, then services of all ports, then processes (sources,
//! arrivals of flows, outages), then two alarms for each flow. The order matters where events fall on the same instant: packets arrive
//! before ports choose.

use wayleave_roles::IntHop;

use crate::clock::{self, Instant};
use crate::copies::Copies;
use crate::edge::{Edges, NO_PAIR};
use crate::events::{Actor, HORIZON};
use crate::fabric::{Arrival, DropCause, Dropped, Fabric, Step};
use crate::flows::{self, Flow, FlowSlot, FlowState, Interface, Item, Segment};
use crate::link::Port;
use crate::outcome::Tally;
use crate::packet::{Flags, Kind, Packet, PacketId};
use crate::processes::Process;
use crate::router::Router;
use crate::trace::Event;
use crate::transport::{Answer, Next};

/// Events between two looks at whether somebody wants the run to end.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// A run under way.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) fabric: Fabric,
    pub(crate) router: Router,
    pub(crate) interfaces: Vec<Interface>,
    /// Per link that leaves a host: its interface, otherwise `u32::MAX`.
    pub(crate) interface_of: Vec<u32>,
    pub(crate) flows: Vec<Flow>,
    /// Places of flows that are gone.
    pub(crate) vacant: Vec<FlowSlot>,
    pub(crate) processes: Vec<Process>,
    /// Segments that a reordering buffer hands up; kept for its memory.
    pub(crate) in_order: Vec<PacketId>,
    /// Packets that go over several routes.
    pub(crate) copies: Copies,
    pub(crate) tally: Tally,
    pub(crate) spec: crate::build::Spec,
    /// A flow could not be opened, because the event queue has no number for it.
    pub(crate) has_too_many_flows: bool,
    /// What limits hosts, if they share.
    pub(crate) edges: Option<Box<Edges>>,
    /// Machines of the edge want something done.
    pub(crate) has_actions: bool,
    pub(crate) end: Instant,
    pub(crate) now: Instant,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its time was over.
    Complete,
    /// Somebody stopped it before.
    Stopped,
    /// More flows were open at once than the event queue can number.
    TooManyFlows,
}

impl Engine {
    /// Runs to the end, or until `go_on`, which is told the time in ps now and then, says no.
    pub(crate) fn run(&mut self, go_on: &mut dyn FnMut(Instant) -> bool) -> Ending {
        let links = self.fabric.links.len() as Actor;
        let (services, processes) = (2 * links, 2 * links + self.processes.len() as Actor);
        loop {
            for _ in 0..EVENTS_PER_LOOK {
                let Some((now, actor)) = self.fabric.events.take().filter(|&(at, _)| at <= self.end) else {
                    self.now = self.end;
                    return Ending::Complete;
                };
                self.now = now;
                self.tally.events += 1;
                if actor < links {
                    match self.fabric.arrive(actor, now) {
                        Arrival::OnItsWay | Arrival::Nothing => {}
                        Arrival::AtHost(id) => self.at_host(actor, id, now),
                        Arrival::Dropped(dropped) => self.dropped(dropped),
                    }
                } else if actor < services {
                    self.serve(actor - links, now);
                } else if actor < processes {
                    self.proceed((actor - services) as usize, now);
                } else {
                    self.wake(actor - processes, now);
                }
                if self.has_actions {
                    self.carry_out(now);
                }
            }
            if self.has_too_many_flows {
                return Ending::TooManyFlows;
            }
            if !go_on(self.now) {
                return Ending::Stopped;
            }
        }
    }

    /// The first of a flow's two actors, for its slow alarm; the next one is its quick alarm.
    pub(crate) fn flow_actor(&self, slot: FlowSlot) -> Actor {
        2 * self.fabric.links.len() as Actor + self.processes.len() as Actor + 2 * slot
    }

    /// A packet reaches its host.
    #[inline]
    fn at_host(&mut self, link: u32, id: PacketId, now: Instant) {
        self.fabric.note(Event::Delivered, (link, 0), id, now);
        let packet = self.fabric.arena.get(id);
        let number = packet.flow;
        match packet.kind {
            Kind::Datagram => {
                if packet.flags.has(Flags::COPIED) && self.is_known_copy(id, now) {
                    return;
                }
                let packet = self.fabric.arena.get(id);
                self.tally.delivered(number, packet, now);
                if self.edges.is_some() {
                    let packet = *packet;
                    self.packet_arrived(&packet, now);
                    self.fabric.telemetry.close(packet.extra.telemetry());
                }
                if !self.copies.is_empty() {
                    let packet = self.fabric.arena.get(id);
                    let packet = *packet;
                    self.eliminate(&packet, now);
                }
                self.fabric.arena.remove(id);
            }
            Kind::Data => {
                let flow = &self.flows[number as usize];
                self.tally.delivered(flow.stat, packet, now);
                let (pair, is_reordered) = (flow.pair, flow.reorder.is_some());
                if pair != NO_PAIR {
                    let packet = *packet;
                    self.arrived(pair, &packet, now);
                }
                if is_reordered {
                    self.put_in_order(id, number, now);
                } else {
                    self.deliver(id, number, now);
                }
            }
            Kind::Ack => self.on_acknowledgement(id, number, now),
            Kind::Message => {
                self.fabric.arena.remove(id);
                self.message_arrived(number, now);
            }
            Kind::Probe => self.probe_arrived(id, now),
            Kind::ProbeAnswer => self.probe_returned(id, now),
            Kind::PairAnswer => self.pair_answered(id, now),
        }
    }

    /// A segment goes through the reordering buffer.
    fn put_in_order(&mut self, id: PacketId, slot: FlowSlot, now: Instant) {
        let mut up = std::mem::take(&mut self.in_order);
        let packet = self.fabric.arena.get(id);
        if let Some(buffer) = &mut self.flows[slot as usize].reorder {
            let cell = packet.extra.flowcell();
            buffer.on_packet(clock::to_time(now), packet.sequence, cell, id, |id| up.push(id));
        }
        self.hand_up(up, slot, now);
        self.set_alarm(slot, now);
    }

    /// Hands segments to the transport, and keeps the list's memory for the next ones.
    pub(crate) fn hand_up(&mut self, mut up: Vec<PacketId>, slot: FlowSlot, now: Instant) {
        for id in up.drain(..) {
            self.deliver(id, slot, now);
        }
        self.in_order = up;
    }

    /// A segment is handed to the transport, which answers with the same packet.
    #[inline]
    pub(crate) fn deliver(&mut self, id: PacketId, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot as usize];
        let packet = self.fabric.arena.get_mut(id);
        let is_partial = packet.flags.has(Flags::PARTIAL);
        let received = if is_partial { flow.receiver.on_probe() } else { flow.receiver.on_segment(packet.sequence) };
        // A copy that comes second is no retransmission in vain.
        let is_in_vain = received.is_duplicate && !packet.flags.has(Flags::COPIED);
        if is_partial {
            // Answered, and not counted: nothing of its segment came.
        } else if received.is_duplicate {
            if is_in_vain {
                self.tally.duplicate(flow.stat);
            }
        } else {
            self.tally.payload(flow.stat, packet.size - flows::HEADERS - flows::FRAMING);
        }
        let is_last = !received.is_duplicate && !is_partial && Some(received.expected) == flow.sender.segments();
        let back = flow.back;
        let route = self.router.start(back.paths, flow.back_path);
        flows::answer(packet, received.expected, received.block, back, route.unwrap_or(u32::MAX));
        if is_in_vain {
            packet.flags = packet.flags.with(Flags::DUPLICATE);
        }
        if route.is_none() {
            self.dropped(Dropped { id, cause: DropCause::NoRoute });
        } else if let Some(dropped) = self.fabric.enter(back.first, id, now) {
            self.dropped(dropped);
        }
        if is_last {
            self.complete(slot, now);
        }
    }

    /// An acknowledgement reaches its sender.
    #[inline]
    fn on_acknowledgement(&mut self, id: PacketId, slot: FlowSlot, now: Instant) {
        let packet = self.fabric.arena.get(id);
        let flow = &mut self.flows[slot as usize];
        flow.on_the_way -= 1;
        self.tally.acknowledged(flow.purpose.traffic, packet.sent, now);
        if flow.pair != NO_PAIR {
            self.on_pair_acknowledgement(id, slot, now);
        } else if flow.state != FlowState::Done {
            let hops = self.fabric.telemetry.get(packet.extra.telemetry());
            let newly = flow.sender.on_answer(now, &answer_of(packet, hops), |_, marked, _| marked);
            flow.report(packet, newly, hops, now);
        }
        let packet = self.fabric.arena.get(id);
        self.fabric.telemetry.close(packet.extra.telemetry());
        self.fabric.arena.remove(id);
        self.pump(slot, now);
    }

    /// An acknowledgement of a pair's flow: its tunnel says what was marked, its window gets room, and whatever spreads
    /// the pair's packets hears of the path.
    #[cold]
    fn on_pair_acknowledgement(&mut self, id: PacketId, slot: FlowSlot, now: Instant) {
        let packet = *self.fabric.arena.get(id);
        let pair = self.flows[slot as usize].pair;
        let hops = self.fabric.telemetry.get(packet.extra.telemetry()).to_vec();
        let mut newly = 0;
        if self.flows[slot as usize].state != FlowState::Done {
            let has_tunnel = self.has_tunnel(pair);
            let answer = answer_of(&packet, &hops);
            let sender = &mut self.flows[slot as usize].sender;
            let account = sender.account_for(now, &answer);
            newly = account.newly;
            let marked = match has_tunnel && newly > 0 {
                true => self.through_tunnel(slot, newly, account.marked, now),
                false => account.marked,
            };
            self.flows[slot as usize].sender.conclude(now, &answer, account, marked);
        }
        self.flows[slot as usize].report(&packet, newly, &hops, now);
        self.report_path(pair, &packet, newly, &hops, now);
        if let Some(sent) = self.fabric.telemetry.sent(packet.extra.telemetry()) {
            self.window_answered(pair, packet.path, sent, now);
        }
    }

    /// A packet is lost in the network.
    #[cold]
    pub(crate) fn dropped(&mut self, Dropped { id, cause }: Dropped) {
        if cause == DropCause::LinkDown && self.probe_failed(id, self.now) {
            return;
        }
        let packet = *self.fabric.arena.get(id);
        match packet.kind {
            Kind::Datagram => self.packet_lost(&packet),
            Kind::Data if self.flows[packet.flow as usize].pair != NO_PAIR => {
                self.lost(self.flows[packet.flow as usize].pair, packet.size);
            }
            Kind::Probe | Kind::ProbeAnswer => self.probe_lost(),
            Kind::Data | Kind::Ack | Kind::Message | Kind::PairAnswer => {}
        }
        self.discard(id);
    }

    /// A packet is no more: lost in the network, or dropped by its own host before it had a number there.
    pub(crate) fn discard(&mut self, id: PacketId) {
        let packet = *self.fabric.arena.get(id);
        self.fabric.telemetry.close(packet.extra.telemetry());
        self.fabric.arena.remove(id);
        match packet.kind {
            // Of several copies the first counts, and the others are no loss.
            Kind::Datagram if !packet.flags.has(Flags::COPIED) => self.tally.dropped(packet.flow, &packet),
            Kind::Message => self.message_lost(packet.flow),
            Kind::Data | Kind::Ack => {
                let flow = &mut self.flows[packet.flow as usize];
                flow.on_the_way -= 1;
                let stat = flow.stat;
                self.tally.dropped(stat, &packet);
                self.leave_if_over(packet.flow);
            }
            Kind::Datagram | Kind::Probe | Kind::ProbeAnswer | Kind::PairAnswer => {}
        }
    }

    /// A flow sends what it may, or waits for its turn.
    #[inline]
    pub(crate) fn pump(&mut self, slot: FlowSlot, now: Instant) {
        let flow = &mut self.flows[slot as usize];
        if flow.sender.is_done() {
            // Who stands in a list leaves it when it is his turn.
            if !matches!(flow.state, FlowState::Ready | FlowState::Held) {
                flow.state = FlowState::Done;
            }
            self.leave_if_over(slot);
            return;
        }
        if flow.state == FlowState::Waiting && flow.is_tunnelled {
            self.fill_tunnel(slot, now);
        } else if flow.state == FlowState::Waiting {
            let (number, class) = (flow.interface, flow.class);
            while self.can_send(slot, now) && (self.flows[slot as usize].pair == NO_PAIR || self.admit(slot, now)) {
                if !self.has_turn(number, now) {
                    self.flows[slot as usize].state = FlowState::Ready;
                    self.join_interface(number, usize::from(class), slot);
                    self.schedule_turn(number, now);
                    break;
                }
                self.send_in_turn(slot, number, now);
            }
        }
        self.set_alarm(slot, now);
    }

    /// Whether a flow may send at once: nobody else wants to, and nothing of a flow is in the port.
    #[inline]
    fn has_turn(&self, number: u32, now: Instant) -> bool {
        let interface = &self.interfaces[number as usize];
        let link = &self.fabric.links[interface.link as usize];
        interface.is_idle()
            && match link.port() {
                Port::Fifo => interface.turn_at <= now,
                Port::Queued(port) => {
                    let port = &self.fabric.ports[port as usize];
                    link.free_at <= now && port.is_empty() && !port.is_scheduled
                }
            }
    }

    /// Sends, and notes when the next segment may come to the port: when this one has left it.
    #[inline]
    fn send_in_turn(&mut self, slot: FlowSlot, number: u32, now: Instant) {
        self.send(slot, now);
        let interface = &mut self.interfaces[number as usize];
        interface.turn_at = self.fabric.links[interface.link as usize].free_at;
    }

    /// Puts the event of the next turn.
    fn schedule_turn(&mut self, number: u32, now: Instant) {
        let interface = &mut self.interfaces[number as usize];
        let link = interface.link;
        match self.fabric.links[link as usize].port() {
            Port::Fifo if !interface.is_scheduled => {
                interface.is_scheduled = true;
                // A port may have to send for longer than the event queue looks ahead.
                let at = interface.turn_at.clamp(now, now + HORIZON / 2);
                self.fabric.events.put(at, self.fabric.service_actor(link));
            }
            Port::Fifo => {}
            Port::Queued(_) => self.fabric.schedule_service(link, now),
        }
    }

    #[inline]
    pub(crate) fn can_send(&self, slot: FlowSlot, now: Instant) -> bool {
        let flow = &self.flows[slot as usize];
        flow.sender.can_send(now) && self.router.count(flow.forth.paths) > 0
    }

    /// A flow stands in the list of its interface.
    #[inline]
    fn join_interface(&mut self, number: u32, queue: usize, slot: FlowSlot) {
        let (edges, pair) = (self.edges.as_deref(), self.flows[slot as usize].pair);
        self.interfaces[number as usize].push(queue, slot, || edges.map_or(0, |edges| edges.class_of_pair(pair)));
    }

    /// Makes the next segment of a flow that can send, which counts as sent.
    #[inline]
    pub(crate) fn segment(&mut self, slot: FlowSlot, now: Instant) -> Option<PacketId> {
        let flow = &mut self.flows[slot as usize];
        let Next::Send { sequence, bytes, is_again, is_partial } = flow.sender.poll(now) else { return None };
        let router = &self.router;
        let set = flow.forth.paths;
        let segment = Segment { sequence, bytes, is_again, is_partial };
        let count = router.count(set);
        let mut packet = flow.packet(slot, segment, now, count, |path| router.start(set, path).unwrap_or(0));
        if flow.wants_telemetry {
            packet.extra.set_telemetry(self.fabric.telemetry.open());
            packet.flags = packet.flags.with(Flags::TELEMETRY);
        }
        flow.on_the_way += 1;
        self.tally.sent(flow.stat, &packet);
        Some(self.fabric.arena.insert(packet))
    }

    /// Sends the next segment of a flow that can.
    fn send(&mut self, slot: FlowSlot, now: Instant) {
        let Some(id) = self.segment(slot, now) else { return };
        let flow = &self.flows[slot as usize];
        let (first, pair) = (flow.forth.first, flow.pair);
        let packet = self.fabric.arena.get(id);
        let (size, path, is_again) = (packet.size, packet.path, packet.flags.has(Flags::AGAIN));
        if pair != NO_PAIR {
            if let Some(sent) = self.spend(slot, size, path, now) {
                self.carry_sent(id, sent);
            }
            self.copy_packet(pair, first, id, now);
        }
        let event = if is_again { Event::Retransmitted } else { Event::Sent };
        self.fabric.note(event, (first.link(), first.queue()), id, now);
        if let Some(dropped) = self.fabric.enter(first, id, now) {
            self.dropped(dropped);
        }
    }

    /// A packet comes to the interface of its host: to its port, or to the queue of its class where classes have weights
    /// and others wait. Whether it found a place there.
    pub(crate) fn enter_interface(&mut self, first: Step, id: PacketId, now: Instant) -> bool {
        let number = self.interface_of[first.link() as usize];
        let is_fair = self.interfaces.get(number as usize).is_some_and(Interface::is_fair);
        if is_fair && !self.has_turn(number, now) {
            let bytes = self.fabric.arena.get(id).size;
            let (class, most) = self.class_of_packet(id);
            let has_place = self.interfaces[number as usize].push_packet(class, Item::Packet(id, first, bytes), most);
            if has_place {
                self.schedule_turn(number, now);
            }
            return has_place;
        }
        if let Some(dropped) = self.fabric.enter(first, id, now) {
            self.dropped(dropped);
        }
        if is_fair {
            let interface = &mut self.interfaces[number as usize];
            interface.turn_at = self.fabric.links[interface.link as usize].free_at;
        }
        true
    }

    /// A port is free, or it is a flow's turn there.
    fn serve(&mut self, link: u32, now: Instant) {
        let number = self.interface_of[link as usize];
        match self.fabric.links[link as usize].port() {
            Port::Fifo => {
                let interface = &mut self.interfaces[number as usize];
                interface.is_scheduled = false;
                if interface.turn_at <= now {
                    self.pull(number, 0, false, now);
                }
            }
            Port::Queued(port) => {
                let is_wanted = self.interfaces.get(number as usize).is_some_and(|interface| !interface.is_idle());
                for class in 0..if is_wanted { self.interfaces[number as usize].classes() } else { 0 } {
                    let port = &self.fabric.ports[port as usize];
                    if port.is_queue_empty(class as u8) {
                        self.pull(number, class, port.is_by_remaining(), now);
                    }
                }
                self.fabric.serve(link, now);
            }
        }
        if self.interfaces.get(number as usize).is_some_and(|interface| !interface.is_idle()) {
            self.schedule_turn(number, now);
        }
    }

    /// The next flow of a class that can send does so, and goes to the end of the line.
    fn pull(&mut self, number: u32, class: usize, by_remaining: bool, now: Instant) {
        while let Some(item) = self.next_ready(number, class, by_remaining) {
            let slot = match item {
                Item::Flow(slot) => slot,
                Item::Packet(id, first, _) => {
                    if let Some(dropped) = self.fabric.enter(first, id, now) {
                        self.dropped(dropped);
                    }
                    let interface = &mut self.interfaces[number as usize];
                    interface.turn_at = self.fabric.links[interface.link as usize].free_at;
                    return;
                }
            };
            let is_able = self.can_send(slot, now);
            if is_able {
                self.send_in_turn(slot, number, now);
            }
            let pair = self.flows[slot as usize].pair;
            if is_able && self.can_send(slot, now) && (pair == NO_PAIR || self.admit(slot, now)) {
                self.join_interface(number, class, slot);
            } else if self.flows[slot as usize].state == FlowState::Held {
                self.set_alarm(slot, now);
            } else {
                if pair != NO_PAIR {
                    self.give_back(slot);
                }
                self.flows[slot as usize].state = FlowState::Waiting;
                if self.flows[slot as usize].sender.is_done() {
                    self.flows[slot as usize].state = FlowState::Done;
                    self.leave_if_over(slot);
                } else {
                    self.set_alarm(slot, now);
                }
            }
            if is_able {
                return;
            }
        }
    }

    fn next_ready(&mut self, number: u32, class: usize, by_remaining: bool) -> Option<Item> {
        let flows = &self.flows;
        let rank = by_remaining.then_some(|slot: FlowSlot| flows[slot as usize].sender.remaining());
        let bytes = |slot: FlowSlot| flows[slot as usize].sender.next_bytes() + flows::HEADERS + flows::FRAMING;
        self.interfaces[number as usize].pop(class, rank, bytes)
    }
}

/// An acknowledgement as its sender sees it.
#[inline]
fn answer_of<'a>(packet: &Packet, hops: &'a [IntHop]) -> Answer<'a> {
    Answer {
        sequence: packet.sequence,
        sent: packet.sent,
        expected: packet.extra.expected(),
        block: packet.extra.block(),
        is_marked: packet.flags.has(Flags::MARKED),
        is_duplicate: packet.flags.has(Flags::DUPLICATE),
        is_partial: packet.flags.has(Flags::PARTIAL),
        telemetry: hops,
    }
}
