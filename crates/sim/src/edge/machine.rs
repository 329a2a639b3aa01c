//! What machines hear, and what they want done.

use wayleave_roles::{
    Arrivals, BrokerId, Bucket, ClassId, Host, HostAction, HostInput, Limiter, Member, Outgoing, PathIndex, PathUse,
    Peer, Probe, Weighted,
};
use wayleave_schemes::edges::{AnyBrokerTimer, AnyEdge, AnyMessage, AnyTimer};
use wayleave_units::{Bytes, Time};

use super::{EdgeId, Edges, NO_PAIR, PairSlot, Wake, time};
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::packet::{Flags, Packet};

/// What is wanted, until it is done.
#[derive(Debug)]
pub(super) enum Action {
    /// By a machine, of this scheme.
    Edge(EdgeId, u8, Wish),
    /// By a broker: a message to somebody.
    Broker(BrokerId, Member, AnyMessage),
    /// By a broker: a timer.
    ArmBroker(BrokerId, Time, AnyBrokerTimer),
}

/// What a machine wants done: a [`HostAction`] that borrows nothing.
#[derive(Debug)]
pub(super) enum Wish {
    Limit(Limiter, Option<Bucket>),
    Window(Outgoing, PathIndex, Option<Bytes>),
    Weight(Weighted, u32),
    UsePath(Outgoing, PathIndex, PathUse, Time),
    LeavePath(Outgoing, PathIndex),
    Probe(Outgoing, PathIndex, Probe, Vec<Bytes>),
    Send(Peer, AnyMessage),
    Arm(Time, AnyTimer),
}

impl From<HostAction<'_, AnyMessage, AnyTimer>> for Wish {
    fn from(action: HostAction<'_, AnyMessage, AnyTimer>) -> Self {
        match action {
            HostAction::SetBucket { limiter, bucket } => Self::Limit(limiter, bucket),
            HostAction::Send { to, message } => Self::Send(to, message),
            HostAction::Arm { at, timer } => Self::Arm(at, timer),
            HostAction::SetWindow { pair, path, window } => Self::Window(pair, path, window),
            HostAction::SetWeight { of, weight } => Self::Weight(of, weight),
            HostAction::UsePath { pair, path, purpose, from } => Self::UsePath(pair, path, purpose, from),
            HostAction::LeavePath { pair, path } => Self::LeavePath(pair, path),
            HostAction::SendProbe { pair, path, probe, windows } => Self::Probe(pair, path, probe, windows.to_vec()),
        }
    }
}

impl Edges {
    /// The machine of a scheme at a host.
    pub(super) fn role(&mut self, edge: EdgeId, scheme: u8) -> &mut AnyEdge {
        &mut self.hosts[edge as usize].roles[usize::from(scheme)]
    }

    /// The place of a pair that leaves a host; [`NO_PAIR`] if it is being forgotten.
    fn outgoing(&self, edge: EdgeId, pair: Outgoing) -> PairSlot {
        self.hosts[edge as usize].outgoing.get(pair.index()).copied().unwrap_or(NO_PAIR)
    }
}

impl Engine {
    /// Something happens at a machine; what it wants done is done behind what was wanted before.
    pub(super) fn tell(&mut self, edge: EdgeId, scheme: u8, input: HostInput<'_, AnyMessage, AnyTimer>, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Edges { hosts, actions, .. } = edges;
        hosts[edge as usize].roles[usize::from(scheme)].on(time(now), input, &mut |action| {
            actions.push_back(Action::Edge(edge, scheme, action.into()));
        });
        self.has_actions |= !actions.is_empty();
    }

    /// Does what machines want, in order.
    pub(crate) fn carry_out(&mut self, now: Instant) {
        while let Some(action) = self.edges.as_deref_mut().and_then(|edges| edges.actions.pop_front()) {
            match action {
                Action::Edge(edge, scheme, wish) => self.fulfil(edge, scheme, wish, now),
                Action::Broker(from, to, message) => self.send_from_broker(from, to, message, now),
                Action::ArmBroker(broker, at, timer) => self.arm_broker(broker, at, timer, now),
            }
        }
        self.has_actions = false;
    }

    fn fulfil(&mut self, edge: EdgeId, scheme: u8, wish: Wish, now: Instant) {
        match wish {
            Wish::Limit(Limiter::Pair(pair), bucket) => self.limit_pair(edge, pair, bucket, now),
            Wish::Limit(Limiter::Class(class), bucket) => self.limit_class(edge, class, bucket, now),
            Wish::Send(to, message) => self.send_message(edge, to, message, now),
            Wish::Arm(at, timer) => self.arm_timer(edge, scheme, at, timer, now),
            Wish::Window(pair, path, window) => {
                self.steer(edge, pair, now, |stack, pair| stack.set_window(pair, path, window.map(Bytes::get)));
            }
            Wish::UsePath(pair, path, purpose, from) => {
                let from = clock::from_time(from);
                self.steer(edge, pair, now, |stack, pair| stack.use_path(pair, path, purpose, from));
                self.route_changed(edge, pair, now);
            }
            Wish::LeavePath(pair, path) => {
                self.steer(edge, pair, now, |stack, pair| stack.leave_path(pair, path));
                self.route_changed(edge, pair, now);
            }
            Wish::Weight(Weighted::Class(class), weight) => self.weigh_class(edge, class, weight),
            Wish::Weight(Weighted::Pair(pair), weight) => self.weigh_pair(edge, pair, weight, now),
            Wish::Probe(pair, path, probe, windows) => self.send_probe(edge, pair, path, (probe, windows), now),
        }
    }

    /// Changes how a pair may send; what waits for that is looked at again.
    fn steer(
        &mut self,
        edge: EdgeId,
        pair: Outgoing,
        now: Instant,
        change: impl FnOnce(&mut super::Stack, u32) -> bool,
    ) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let slot = edges.outgoing(edge, pair);
        if slot != NO_PAIR && change(&mut edges.hosts[edge as usize].stack, pair.0) {
            self.run_pair(slot, now);
        }
    }

    fn limit_pair(&mut self, edge: EdgeId, pair: Outgoing, bucket: Option<Bucket>, now: Instant) {
        let frame = self.fabric.largest;
        self.steer(edge, pair, now, |stack, pair| stack.limit_pair(pair, bucket, frame, now));
    }

    fn limit_class(&mut self, edge: EdgeId, class: ClassId, bucket: Option<Bucket>, now: Instant) {
        let frame = self.fabric.largest;
        let Some(edges) = self.edges.as_deref_mut() else { return };
        if edges.hosts[edge as usize].stack.limit_class(class, bucket, frame, now) {
            let place = edge * edges.classes + class.0;
            edges.account.limit(place, bucket.map(|bucket| bucket.rate), now);
            self.class_changed(edge, class.0, now);
        }
    }

    /// A class gets another weight at the interface of its host.
    fn weigh_class(&mut self, edge: EdgeId, class: ClassId, weight: u32) {
        let Some(edges) = self.edges.as_deref() else { return };
        let node = edges.hosts[edge as usize].node;
        let largest = self.fabric.largest;
        let Some(up) = self.spec.attachments[node.index()].map(|attachment| attachment.up) else { return };
        if let Some(interface) = self.interfaces.get_mut(self.interface_of[up.index()] as usize) {
            let flows = &self.flows;
            let edges = self.edges.as_deref();
            let class_of = |flow: u32| edges.map_or(0, |edges| edges.class_of_pair(flows[flow as usize].pair));
            interface.weigh(class.0, weight, largest, class_of);
        }
    }

    /// A pair gets another weight: its tunnel and its transports hear of it.
    fn weigh_pair(&mut self, edge: EdgeId, pair: Outgoing, weight: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let slot = edges.outgoing(edge, pair);
        let Some(state) = edges.pairs.get_mut(slot as usize) else { return };
        state.weight = weight.max(1);
        if let Some(tunnel) = edges.hosts[edge as usize].stack.tunnel_mut(pair.0) {
            tunnel.set_weight(time(now), weight);
        }
        for &flow in edges.pairs[slot as usize].members() {
            self.flows[flow as usize].sender.set_weight(now, weight);
        }
        for flow in self.members(slot) {
            self.pump(flow, now);
        }
    }

    /// The flows of a pair.
    pub(super) fn members(&self, slot: PairSlot) -> Vec<u32> {
        let pair = self.edges.as_deref().and_then(|edges| edges.pairs.get(slot as usize));
        pair.map_or_else(Vec::new, |pair| pair.members().copied().collect())
    }

    /// Flows of a pair hear of the route that they take from now on.
    fn route_changed(&mut self, edge: EdgeId, pair: Outgoing, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let slot = edges.outgoing(edge, pair);
        for flow in self.members(slot) {
            self.tell_route(flow, now);
        }
    }

    fn arm_timer(&mut self, edge: EdgeId, scheme: u8, at: Time, timer: AnyTimer, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let place = edges.keep_timer(scheme, timer);
        self.arm(clock::from_time(at).max(now), Wake::Timer(edge, place));
    }

    pub(super) fn on_timer(&mut self, edge: EdgeId, place: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let (scheme, timer) = edges.timers[place as usize];
        edges.free_timers.push(place);
        self.tell(edge, scheme, HostInput::Timer(timer), now);
        self.carry_out(now);
    }

    /// Bytes of a pair leave its host, for which `granted` had been let go. What their answer has to bring back.
    pub(super) fn left(&mut self, slot: PairSlot, bytes: u32, granted: u32, path: u8, now: Instant) -> Option<u64> {
        let edges = self.edges.as_deref_mut()?;
        let pair = &mut edges.pairs[slot as usize];
        pair.used_at = now;
        let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
        edges.account.sent(pair, bytes, now);
        let path = PathIndex(u32::from(path));
        let sent = edges.hosts[sender as usize].stack.sent(outgoing.0, path, bytes, granted, now);
        let bytes = Bytes::new(u64::from(bytes));
        self.tell(sender, scheme, HostInput::Sent { pair: outgoing, path, bytes }, now);
        sent
    }

    /// A packet of a pair arrives.
    #[cold]
    pub(crate) fn arrived(&mut self, slot: PairSlot, packet: &Packet, now: Instant) {
        let Some(incoming) = self.incoming(slot, now) else { return };
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        pair.used_at = now;
        let (receiver, scheme) = (pair.receiver, pair.scheme);
        let bytes = Bytes::new(u64::from(packet.size));
        let arrivals = Arrivals {
            bytes,
            marked: if packet.flags.has(Flags::MARKED) { bytes } else { Bytes::ZERO },
            lost: Bytes::new(std::mem::take(&mut pair.lost)),
        };
        edges.account.received(pair, packet.size, now);
        self.tell(receiver, scheme, HostInput::Received { pair: incoming, arrivals }, now);
    }

    /// A source's packet arrives.
    #[cold]
    pub(crate) fn packet_arrived(&mut self, packet: &Packet, now: Instant) {
        let slot = self.open_source(packet.flow);
        if slot != NO_PAIR {
            self.arrived(slot, packet, now);
            self.answer_packet(slot, packet, now);
        }
    }

    /// A packet of a pair is lost.
    pub(crate) fn lost(&mut self, slot: PairSlot, bytes: u32) {
        if let Some(edges) = self.edges.as_deref_mut()
            && let Some(pair) = edges.pairs.get_mut(slot as usize)
        {
            pair.lost += u64::from(bytes);
        }
    }

    /// A source's packet is lost.
    pub(crate) fn packet_lost(&mut self, packet: &Packet) {
        self.lost(self.open_source(packet.flow), packet.size);
    }
}

impl Edges {
    /// A place for a timer that is armed.
    pub(super) fn keep_timer(&mut self, scheme: u8, timer: AnyTimer) -> u32 {
        match self.free_timers.pop() {
            Some(place) => {
                self.timers[place as usize] = (scheme, timer);
                place
            }
            None => {
                self.timers.push((scheme, timer));
                self.timers.len() as u32 - 1
            }
        }
    }
}
