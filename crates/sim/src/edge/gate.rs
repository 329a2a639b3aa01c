//! Tokens are taken; flows and packets that find none wait, and are let go one after the other.
//!
//! Tokens are taken when a flow or a packet is let go, one segment at a time: what a flow was granted and does not send goes
//! back. So nothing that waits behind the interface can be overtaken in the buckets.

use super::bucket::TokenBucket;
use super::{Edges, NO_PAIR, PairSlot, Wake};
use crate::clock::Instant;
use crate::engine::Engine;
use crate::fabric::{DropCause, Dropped, Step};
use crate::flows::{FRAMING, FlowSlot, HEADERS, Standing};
use crate::packet::{Flags, PacketId};
use crate::trace::Event;
use crate::transport::NEVER;

/// Who waits for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    /// A flow, for one segment.
    Flow(FlowSlot),
    /// A packet that nobody acknowledges, and where it goes first.
    Packet(PacketId, Step),
}

/// Where a pair stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairStanding {
    /// Nobody waits.
    Free,
    /// It waits for its own tokens.
    OwnTokens,
    /// It waits in the line of its class.
    InLine,
    /// Its first in line is being let go.
    Served,
}

impl Edges {
    /// Whether there are tokens for so many bytes of a pair, at once and before nobody else; takes them.
    fn take(&mut self, slot: PairSlot, bytes: u32, now: Instant) -> bool {
        let pair = &mut self.pairs[slot as usize];
        let place = &mut self.places[pair.from_place as usize];
        let lacks =
            |bucket: &mut Option<TokenBucket>| bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now);
        if lacks(&mut pair.bucket) || lacks(&mut place.bucket) {
            return false;
        }
        for bucket in [&mut pair.bucket, &mut place.bucket].into_iter().flatten() {
            bucket.take(bytes, now);
        }
        true
    }

    /// Tokens that were not used.
    fn put_back(&mut self, slot: PairSlot, bytes: u32) {
        let pair = &mut self.pairs[slot as usize];
        let place = &mut self.places[pair.from_place as usize];
        for bucket in [&mut pair.bucket, &mut place.bucket].into_iter().flatten() {
            bucket.put_back(bytes);
        }
    }

    /// Nobody waits before one who comes now.
    fn is_free(&self, slot: PairSlot) -> bool {
        let pair = &self.pairs[slot as usize];
        pair.standing == PairStanding::Free && self.places[pair.from_place as usize].line.is_empty()
    }
}

impl Engine {
    /// Whether a flow that can send has the tokens of its next segment. If not, it stands in line until it has.
    pub(crate) fn admit(&mut self, flow: FlowSlot, now: Instant) -> bool {
        let (slot, granted) = (self.flows[flow as usize].pair, self.flows[flow as usize].granted);
        if slot == NO_PAIR || granted > 0 {
            return true;
        }
        let bytes = self.next_bytes(flow);
        let Some(edges) = self.edges.as_deref_mut() else { return true };
        if edges.is_free(slot) && edges.take(slot, bytes, now) {
            self.flows[flow as usize].granted = bytes;
            return true;
        }
        self.flows[flow as usize].standing = Standing::Held;
        self.wait(slot, Waiter::Flow(flow), now);
        false
    }

    /// On the wire.
    fn next_bytes(&self, flow: FlowSlot) -> u32 {
        self.flows[flow as usize].sender.next_bytes() + HEADERS + FRAMING
    }

    /// A segment of a flow leaves: what it was granted beyond that goes back.
    #[cold]
    pub(crate) fn spend(&mut self, flow: FlowSlot, bytes: u32, now: Instant) {
        let flow = &mut self.flows[flow as usize];
        let (slot, granted) = (flow.pair, std::mem::take(&mut flow.granted));
        if let Some(edges) = self.edges.as_deref_mut()
            && granted > bytes
        {
            edges.put_back(slot, granted - bytes);
        }
        self.left(slot, bytes, now);
    }

    /// A flow that was granted a segment cannot send it any more.
    #[cold]
    pub(crate) fn give_back(&mut self, flow: FlowSlot) {
        let flow = &mut self.flows[flow as usize];
        let (slot, granted) = (flow.pair, std::mem::take(&mut flow.granted));
        if let Some(edges) = self.edges.as_deref_mut()
            && granted > 0
        {
            edges.put_back(slot, granted);
        }
    }

    /// A source's packet leaves, or waits for tokens, or is dropped because too many wait. `stat`: of its source.
    pub(crate) fn gate_packet(&mut self, stat: u32, first: Step, id: PacketId, now: Instant) {
        let slot = self.source_pair(stat, now);
        if slot == NO_PAIR {
            self.put_out(first, id, now);
            return;
        }
        let packet = self.fabric.arena.get_mut(id);
        packet.flags = packet.flags.with(Flags::ECN_CAPABLE);
        let bytes = packet.size;
        let Some(edges) = self.edges.as_deref_mut() else { return };
        if edges.is_free(slot) && edges.take(slot, bytes, now) {
            self.left(slot, bytes, now);
            self.note_demand(slot, now);
            self.put_out(first, id, now);
            return;
        }
        let pair = &mut edges.pairs[slot as usize];
        if pair.queued + u64::from(bytes) > edges.sharing.packet_queue.get() {
            edges.account.limited(pair.from_place);
            let reason = crate::recorder::FULL;
            self.fabric.note(reason, (first.link(), first.queue()), id, now);
            self.dropped(Dropped { id, cause: DropCause::Limited });
            return;
        }
        pair.queued += u64::from(bytes);
        self.wait(slot, Waiter::Packet(id, first), now);
        self.note_demand(slot, now);
    }

    /// A packet comes to the port of its host.
    fn put_out(&mut self, first: Step, id: PacketId, now: Instant) {
        self.fabric.note(Event::Sent, (first.link(), first.queue()), id, now);
        if let Some(dropped) = self.fabric.enter(first, id, now) {
            self.dropped(dropped);
        }
    }

    /// Somebody stands in line.
    fn wait(&mut self, slot: PairSlot, waiter: Waiter, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        pair.waiting.push_back(waiter);
        if pair.standing == PairStanding::Free {
            self.line_up(slot, now);
        }
    }

    /// A pair for which somebody waits, and which stands nowhere, lets them go as far as there are tokens, and stands where it
    /// has to wait for more.
    fn line_up(&mut self, slot: PairSlot, now: Instant) {
        loop {
            let Some(bytes) = self.next_waiting(slot, now) else {
                self.stand(slot, PairStanding::Free);
                return;
            };
            if self.waits_for_own(slot, bytes, now) {
                return;
            }
            let Some(edges) = self.edges.as_deref_mut() else { return };
            let place = edges.pairs[slot as usize].from_place;
            if !edges.places[place as usize].line.is_empty() || !edges.take(slot, bytes, now) {
                edges.pairs[slot as usize].standing = PairStanding::InLine;
                edges.places[place as usize].line.push_back(slot);
                self.arm_line(place, now);
                return;
            }
            self.let_go(slot, bytes, now);
        }
    }

    fn stand(&mut self, slot: PairSlot, standing: PairStanding) {
        if let Some(edges) = self.edges.as_deref_mut() {
            edges.pairs[slot as usize].standing = standing;
        }
    }

    /// What the first of a pair's line needs. Flows that cannot send any more leave the line.
    fn next_waiting(&mut self, slot: PairSlot, now: Instant) -> Option<u32> {
        loop {
            let waiter = *self.edges.as_deref()?.pairs[slot as usize].waiting.front()?;
            match waiter {
                Waiter::Packet(id, _) => return Some(self.fabric.arena.get(id).size),
                Waiter::Flow(flow) if self.can_send(flow, now) => return Some(self.next_bytes(flow)),
                Waiter::Flow(flow) => {
                    self.edges.as_deref_mut()?.pairs[slot as usize].waiting.pop_front();
                    self.flows[flow as usize].standing = Standing::Waiting;
                    // Over, or waiting for acknowledgements.
                    self.pump(flow, now);
                }
            }
        }
    }

    /// Whether a pair's own bucket lacks tokens; a wake is armed then.
    fn waits_for_own(&mut self, slot: PairSlot, bytes: u32, now: Instant) -> bool {
        let Some(edges) = self.edges.as_deref_mut() else { return false };
        let pair = &mut edges.pairs[slot as usize];
        let at = pair.bucket.as_mut().map_or(now, |bucket| bucket.ready_at(bytes, now));
        if at <= now {
            return false;
        }
        pair.standing = PairStanding::OwnTokens;
        pair.wake_at = at;
        self.arm(at, Wake::Pair(slot));
        true
    }

    /// The first of a pair's line, whose tokens were taken, goes.
    fn let_go(&mut self, slot: PairSlot, bytes: u32, now: Instant) {
        self.stand(slot, PairStanding::Served);
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        match pair.waiting.pop_front() {
            Some(Waiter::Flow(flow)) => {
                let state = &mut self.flows[flow as usize];
                (state.granted, state.standing) = (bytes, Standing::Waiting);
                self.pump(flow, now);
            }
            Some(Waiter::Packet(id, first)) => {
                pair.queued -= u64::from(bytes);
                self.left(slot, bytes, now);
                self.note_demand(slot, now);
                self.put_out(first, id, now);
            }
            None => {}
        }
    }

    /// Arms the wake of a class whose first pair lacks tokens.
    fn arm_line(&mut self, place: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let state = &edges.places[place as usize];
        if state.wake_at != NEVER {
            return;
        }
        let Some(&first) = state.line.front() else { return };
        let bytes = self.next_waiting(first, now).unwrap_or(0);
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let state = &mut edges.places[place as usize];
        // A pair whose flow has gone is found at once.
        let at = state.bucket.as_mut().map_or(now, |bucket| bucket.ready_at(bytes, now));
        state.wake_at = at;
        self.arm(at, Wake::Line(place));
    }

    /// The pairs of a class that wait for its tokens go in turn, one segment or packet each.
    fn serve_line(&mut self, place: u32, now: Instant) {
        loop {
            let Some(&slot) = self.edges.as_deref().and_then(|edges| edges.places[place as usize].line.front()) else {
                return;
            };
            let bytes = self.next_waiting(slot, now);
            let Some(edges) = self.edges.as_deref_mut() else { return };
            let state = &mut edges.places[place as usize];
            if let Some(bytes) = bytes
                && state.bucket.as_mut().is_some_and(|bucket| bucket.ready_at(bytes, now) > now)
            {
                self.arm_line(place, now);
                return;
            }
            state.line.pop_front();
            edges.pairs[slot as usize].standing = PairStanding::Free;
            let Some(bytes) = bytes else { continue };
            if self.waits_for_own(slot, bytes, now) {
                continue;
            }
            let Some(edges) = self.edges.as_deref_mut() else { return };
            edges.take(slot, bytes, now);
            self.let_go(slot, bytes, now);
            self.queue_up(slot, place, now);
        }
    }

    /// A pair that had its turn goes to the end of its class' line, if somebody waits there and it has tokens of its own.
    fn queue_up(&mut self, slot: PairSlot, place: u32, now: Instant) {
        self.stand(slot, PairStanding::Free);
        let Some(bytes) = self.next_waiting(slot, now) else { return };
        if !self.waits_for_own(slot, bytes, now) {
            self.stand(slot, PairStanding::InLine);
            if let Some(edges) = self.edges.as_deref_mut() {
                edges.places[place as usize].line.push_back(slot);
            }
        }
    }

    pub(super) fn on_pair_wake(&mut self, slot: PairSlot, at: Instant, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        if pair.wake_at == at && pair.standing == PairStanding::OwnTokens {
            pair.wake_at = NEVER;
            pair.standing = PairStanding::Free;
            self.line_up(slot, now);
        }
    }

    pub(super) fn on_line_wake(&mut self, place: u32, at: Instant, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let state = &mut edges.places[place as usize];
        if state.wake_at == at {
            state.wake_at = NEVER;
            self.serve_line(place, now);
        }
    }

    /// A pair's bucket is another: who waits for its tokens waits anew.
    pub(super) fn pair_changed(&mut self, slot: PairSlot, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        if pair.standing == PairStanding::OwnTokens {
            pair.wake_at = NEVER;
            pair.standing = PairStanding::Free;
            self.line_up(slot, now);
        }
    }

    /// A class' bucket is another.
    pub(super) fn class_changed(&mut self, place: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        edges.places[place as usize].wake_at = NEVER;
        self.serve_line(place, now);
    }
}
