//! What machines hear, and what they want done.

use wayleave_roles::{
    Arrivals, BrokerId, Bucket, Excess, Host, HostAction, HostInput, Limiter, Member, Outgoing, PathIndex, Peer,
    Weighted,
};
use wayleave_schemes::edges::{AnyMessage, AnyTimer};
use wayleave_units::{Bytes, Time};

use super::bucket::TokenBucket;
use super::{EdgeId, Edges, NO_PAIR, PairSlot, Wake, time};
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::packet::{Flags, Packet};

/// What is wanted, until it is done.
#[derive(Debug)]
pub(super) enum Todo {
    /// By a machine.
    Edge(EdgeId, Wish),
    /// By a broker: a message to somebody.
    Broker(BrokerId, Member, AnyMessage),
}

/// What a machine wants done.
#[derive(Debug)]
pub(super) enum Wish {
    Limit(Limiter, Option<Bucket>),
    Send(Peer, AnyMessage),
    Arm(Time, AnyTimer),
    /// What is not simulated.
    Unsupported(&'static str),
}

impl From<HostAction<'_, AnyMessage, AnyTimer>> for Wish {
    fn from(action: HostAction<'_, AnyMessage, AnyTimer>) -> Self {
        match action {
            HostAction::SetBucket { bucket: Some(Bucket { excess: Excess::Drops, .. }), .. } => {
                Self::Unsupported("a token bucket that drops")
            }
            HostAction::SetBucket { limiter, bucket } => Self::Limit(limiter, bucket),
            HostAction::Send { to, message } => Self::Send(to, message),
            HostAction::Arm { at, timer } => Self::Arm(at, timer),
            HostAction::SetWindow { .. } => Self::Unsupported("a window of a pair"),
            HostAction::SetWeight { of: Weighted::Class(_), .. } => Self::Unsupported("a weight of a class"),
            HostAction::SetWeight { of: Weighted::Pair(_), .. } => Self::Unsupported("a weight of a pair"),
            HostAction::UsePath { .. } | HostAction::LeavePath { .. } => Self::Unsupported("a choice of paths"),
            HostAction::SendProbe { .. } => Self::Unsupported("a probe"),
        }
    }
}

impl Engine {
    /// Something happens at a machine; what it wants done is done behind what was wanted before.
    pub(super) fn tell(&mut self, edge: EdgeId, input: HostInput<'_, AnyMessage, AnyTimer>, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Edges { hosts, todo, .. } = edges;
        hosts[edge as usize].role.on(time(now), input, &mut |action| {
            todo.push_back(Todo::Edge(edge, action.into()));
        });
        self.has_todo |= !todo.is_empty();
    }

    /// Does what machines want, in order.
    pub(crate) fn carry_out(&mut self, now: Instant) {
        while let Some(todo) = self.edges.as_deref_mut().and_then(|edges| edges.todo.pop_front()) {
            match todo {
                Todo::Edge(edge, wish) => self.fulfil(edge, wish, now),
                Todo::Broker(from, to, message) => self.send_from_broker(from, to, message, now),
            }
        }
        self.has_todo = false;
    }

    fn fulfil(&mut self, edge: EdgeId, wish: Wish, now: Instant) {
        match wish {
            Wish::Limit(Limiter::Pair(pair), bucket) => self.limit_pair(edge, pair, bucket, now),
            Wish::Limit(Limiter::Class(class), bucket) => self.limit_class(edge, class.0, bucket, now),
            Wish::Send(to, message) => self.send_message(edge, to, message, now),
            Wish::Arm(at, timer) => self.arm_timer(edge, at, timer, now),
            Wish::Unsupported(what) => {
                self.unsupported.get_or_insert(what);
            }
        }
    }

    fn limit_pair(&mut self, edge: EdgeId, pair: Outgoing, bucket: Option<Bucket>, now: Instant) {
        let frame = self.fabric.largest;
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let slot = edges.hosts[edge as usize].outgoing.get(pair.index()).copied().unwrap_or(NO_PAIR);
        // A pair that is being forgotten has no limit any more.
        let Some(pair) = edges.pairs.get_mut(slot as usize) else { return };
        replace(&mut pair.bucket, bucket, frame, now);
        self.pair_changed(slot, now);
    }

    fn limit_class(&mut self, edge: EdgeId, class: u32, bucket: Option<Bucket>, now: Instant) {
        let frame = self.fabric.largest;
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let place = edge * edges.classes + class;
        let Some(state) = edges.places.get_mut(place as usize) else { return };
        replace(&mut state.bucket, bucket, frame, now);
        edges.account.limit(place, bucket.map(|bucket| bucket.rate), now);
        self.class_changed(place, now);
    }

    fn arm_timer(&mut self, edge: EdgeId, at: Time, timer: AnyTimer, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let place = match edges.free_timers.pop() {
            Some(place) => {
                edges.timers[place as usize] = timer;
                place
            }
            None => {
                edges.timers.push(timer);
                edges.timers.len() as u32 - 1
            }
        };
        self.arm(clock::from_time(at).max(now), Wake::Timer(edge, place));
    }

    pub(super) fn on_timer(&mut self, edge: EdgeId, place: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let timer = edges.timers[place as usize];
        edges.free_timers.push(place);
        self.tell(edge, HostInput::Timer(timer), now);
        self.carry_out(now);
    }

    /// Bytes of a pair leave its host.
    pub(super) fn left(&mut self, slot: PairSlot, bytes: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        pair.used_at = now;
        let (sender, outgoing) = (pair.sender, pair.outgoing);
        edges.account.sent(pair, bytes, now);
        let bytes = Bytes::new(u64::from(bytes));
        self.tell(sender, HostInput::Sent { pair: outgoing, path: PathIndex(0), bytes }, now);
    }

    /// A packet of a pair arrives.
    #[cold]
    pub(crate) fn arrived(&mut self, slot: PairSlot, packet: &Packet, now: Instant) {
        let Some(incoming) = self.incoming(slot, now) else { return };
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        pair.used_at = now;
        let receiver = pair.receiver;
        let bytes = Bytes::new(u64::from(packet.size));
        let arrivals = Arrivals {
            bytes,
            marked: if packet.flags.has(Flags::MARKED) { bytes } else { Bytes::ZERO },
            lost: Bytes::new(std::mem::take(&mut pair.lost)),
        };
        edges.account.received(pair, packet.size, now);
        self.tell(receiver, HostInput::Received { pair: incoming, arrivals }, now);
    }

    /// A source's packet arrives.
    #[cold]
    pub(crate) fn packet_arrived(&mut self, packet: &Packet, now: Instant) {
        let slot = self.open_source(packet.flow);
        if slot != NO_PAIR {
            self.arrived(slot, packet, now);
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

/// Sets, replaces or lifts a limit.
fn replace(place: &mut Option<TokenBucket>, bucket: Option<Bucket>, frame: u32, now: Instant) {
    match (place.as_mut(), bucket) {
        (Some(old), Some(new)) => old.replace(new, frame, now),
        (None, Some(new)) => *place = Some(TokenBucket::new(new, frame, now)),
        (_, None) => *place = None,
    }
}
