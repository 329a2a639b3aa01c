//! Pairs: they open, are found again, and are forgotten.

use std::collections::VecDeque;

use wayleave_roles::{ClassId, Demand, HostInput, Incoming, Outgoing, PairSpec};
use wayleave_scenarios::Endpoint;
use wayleave_schemes::parley::Services;
use wayleave_topology::NodeId;

use super::bucket::TokenBucket;
use super::gate::{PairStanding, Waiter};
use super::{EdgeId, NO_EDGE, NO_PAIR, PairSlot, Wake, time};
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::transport::NEVER;

/// What a pair is known by: both hosts, the class at each, and the endpoint at each (0 is the host itself).
pub(super) type PairKey = (NodeId, NodeId, u32, u32, (u32, u32));

/// A service of one host that sends to a service of another.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) key: PairKey,
    /// Told from other pairs that had its place before.
    pub(super) epoch: u32,
    /// Which of all pairs of the run: the same number at both ends.
    pub(super) number: u64,
    pub(super) sender: EdgeId,
    pub(super) outgoing: Outgoing,
    pub(super) receiver: EdgeId,
    /// Since its first packet arrived.
    pub(super) incoming: Option<Incoming>,
    /// Its classes at both ends.
    pub(super) from_place: u32,
    pub(super) to_place: u32,
    pub(super) bucket: Option<TokenBucket>,
    pub(super) standing: PairStanding,
    /// Who waits for tokens, in turn.
    pub(super) waiting: VecDeque<Waiter>,
    /// Bytes of packets that wait.
    pub(super) queued: u64,
    /// When it is looked at.
    pub(super) wake_at: Instant,
    /// Flows that are open.
    pub(super) users: u32,
    /// Of these, flows whose applications are switched off.
    pub(super) paused: u32,
    /// Whether its machine takes it to have something to send.
    pub(super) wants: bool,
    pub(super) used_at: Instant,
    /// Bytes that were lost since the last packet that arrived.
    pub(super) lost: u64,
}

/// The pair of a packet source, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourcePair {
    key: PairKey,
    pair: PairSlot,
    epoch: u32,
}

impl Engine {
    /// The pair of what a traffic sends from one host to another; [`NO_PAIR`] if one of them has no edge.
    /// `is_answer`: from its receivers back to its senders.
    pub(crate) fn pair_of(
        &mut self,
        traffic: u32,
        (from, to): (Endpoint, Endpoint),
        is_answer: bool,
        now: Instant,
    ) -> PairSlot {
        if self.edges.is_none() {
            return NO_PAIR;
        }
        let spec = &self.spec.traffic[traffic as usize];
        let classes = if is_answer {
            let (first, second) = self.classes_of(spec, to, from);
            (second, first)
        } else {
            self.classes_of(spec, from, to)
        };
        self.key_of((from, to), classes).map_or(NO_PAIR, |key| self.find_pair(key, now))
    }

    fn key_of(&self, (from, to): (Endpoint, Endpoint), (class, to_class): (u32, u32)) -> Option<PairKey> {
        let endpoints = (from.number, to.number);
        let (from, to) = (from.host, to.host);
        let edges = self.edges.as_deref()?;
        let has_edge = |node: NodeId| edges.of_node[node.index()] != NO_EDGE;
        if !has_edge(from) || !has_edge(to) {
            return None;
        }
        let at = |class, node: NodeId| {
            let place = edges.of_node[node.index()] * edges.classes + class;
            if edges.places[place as usize].is_here { class } else { Services::OTHER.0 }
        };
        Some((from, to, at(class, from), at(to_class, to), endpoints))
    }

    fn find_pair(&mut self, key: PairKey, now: Instant) -> PairSlot {
        let found = self.edges.as_deref().and_then(|edges| edges.known.get(&key).copied());
        found.unwrap_or_else(|| self.open_pair(key, now))
    }

    fn open_pair(&mut self, key: PairKey, now: Instant) -> PairSlot {
        let (from, to, class, to_class, _) = key;
        let (paths, round_trip) = self.way_between(from, to);
        let Some(edges) = self.edges.as_deref_mut() else { return NO_PAIR };
        let (sender, receiver) = (edges.of_node[from.index()], edges.of_node[to.index()]);
        let slot = edges.vacant.pop().unwrap_or(edges.pairs.len() as PairSlot);
        let epoch = edges.pairs.get(slot as usize).map_or(0, |pair| pair.epoch + 1);
        let host = &mut edges.hosts[sender as usize];
        let outgoing = host.free_outgoing.pop().unwrap_or(host.outgoing.len() as u32);
        set(&mut host.outgoing, outgoing, slot);
        edges.opened += 1;
        let pair = Pair {
            key,
            epoch,
            number: edges.opened,
            sender,
            outgoing: Outgoing(outgoing),
            receiver,
            incoming: None,
            from_place: sender * edges.classes + class,
            to_place: receiver * edges.classes + to_class,
            bucket: None,
            standing: PairStanding::Free,
            waiting: VecDeque::new(),
            queued: 0,
            wake_at: NEVER,
            users: 0,
            paused: 0,
            // It opens because something is to be sent.
            wants: true,
            used_at: now,
            lost: 0,
        };
        let spec = PairSpec {
            class: ClassId(class),
            peer_class: ClassId(to_class),
            peer: to,
            key: pair.number,
            paths,
            round_trip: time(round_trip),
        };
        match edges.pairs.get_mut(slot as usize) {
            Some(place) => *place = pair,
            None => edges.pairs.push(pair),
        }
        edges.known.insert(key, slot);
        let idle = clock::from_time(edges.sharing.idle);
        self.arm(now.saturating_add(idle), Wake::Idle(slot, epoch));
        self.tell(sender, HostInput::Opened { pair: Outgoing(outgoing), spec }, now);
        // The limits of a new pair hold for its first packet.
        self.carry_out(now);
        slot
    }

    /// The receiving machine's number of a pair; it hears of the pair first, if it has not.
    pub(super) fn incoming(&mut self, slot: PairSlot, now: Instant) -> Option<Incoming> {
        let edges = self.edges.as_deref_mut()?;
        let pair = &mut edges.pairs[slot as usize];
        if let Some(incoming) = pair.incoming {
            return Some(incoming);
        }
        let (from, to, class, to_class, _) = pair.key;
        let (key, receiver) = (pair.number, pair.receiver);
        let host = &mut edges.hosts[receiver as usize];
        let number = host.free_incoming.pop().unwrap_or(host.incoming.len() as u32);
        set(&mut host.incoming, number, slot);
        pair.incoming = Some(Incoming(number));
        let (paths, round_trip) = self.way_between(from, to);
        let spec = PairSpec {
            class: ClassId(to_class),
            peer_class: ClassId(class),
            peer: from,
            key,
            paths,
            round_trip: time(round_trip),
        };
        self.tell(receiver, HostInput::IncomingOpened { pair: Incoming(number), spec }, now);
        Some(Incoming(number))
    }

    /// A flow of a pair is open from now on.
    pub(crate) fn join_pair(&mut self, slot: PairSlot, now: Instant) {
        if let Some(edges) = self.edges.as_deref_mut().filter(|_| slot != NO_PAIR) {
            edges.pairs[slot as usize].users += 1;
            self.note_demand(slot, now);
        }
    }

    /// A flow of a pair is over.
    #[cold]
    pub(crate) fn leave_pair(&mut self, slot: PairSlot) {
        if let Some(edges) = self.edges.as_deref_mut() {
            edges.pairs[slot as usize].users -= 1;
            self.note_demand(slot, self.now);
        }
    }

    /// The application of one of a pair's flows is switched off, or on again.
    pub(crate) fn pause_in_pair(&mut self, slot: PairSlot, is_paused: bool, now: Instant) {
        if let Some(edges) = self.edges.as_deref_mut().filter(|_| slot != NO_PAIR) {
            let paused = &mut edges.pairs[slot as usize].paused;
            *paused = if is_paused { *paused + 1 } else { paused.saturating_sub(1) };
            self.note_demand(slot, now);
        }
    }

    /// A pair's machine hears whether it has something to send, if that has changed.
    pub(super) fn note_demand(&mut self, slot: PairSlot, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        let wants = pair.users > pair.paused || !pair.waiting.is_empty();
        if std::mem::replace(&mut pair.wants, wants) != wants {
            let demand = if wants { Demand::Begins } else { Demand::Ends };
            let (sender, pair) = (pair.sender, pair.outgoing);
            self.tell(sender, HostInput::Demand { pair, demand }, now);
        }
    }

    /// A source of packets belongs to a pair. One that is sent over several routes does not, and is not limited.
    pub(crate) fn add_source(&mut self, stat: u32, ends: (Endpoint, Endpoint), classes: (u32, u32)) {
        let key = self.key_of(ends, classes);
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let at = stat as usize;
        if edges.sources.len() <= at {
            edges.sources.resize(at + 1, None);
        }
        edges.sources[at] = key.map(|key| SourcePair { key, pair: NO_PAIR, epoch: 0 });
    }

    /// The pair of a source's packets, as long as it is open.
    pub(super) fn open_source(&self, stat: u32) -> PairSlot {
        let Some(edges) = self.edges.as_deref() else { return NO_PAIR };
        let source = edges.sources.get(stat as usize).copied().flatten();
        let still =
            |source: &SourcePair| edges.pairs.get(source.pair as usize).is_some_and(|pair| pair.epoch == source.epoch);
        source.filter(still).map_or(NO_PAIR, |source| source.pair)
    }

    /// The pair of a source that sends now.
    pub(super) fn source_pair(&mut self, stat: u32, now: Instant) -> PairSlot {
        let open = self.open_source(stat);
        if open != NO_PAIR {
            return open;
        }
        let source = self.edges.as_deref().and_then(|edges| edges.sources.get(stat as usize).copied().flatten());
        let Some(source) = source else { return NO_PAIR };
        let pair = self.find_pair(source.key, now);
        let Some(edges) = self.edges.as_deref_mut() else { return NO_PAIR };
        let epoch = edges.pairs[pair as usize].epoch;
        edges.sources[stat as usize] = Some(SourcePair { pair, epoch, ..source });
        pair
    }

    /// Whether a pair is still in use; if not, both ends forget it.
    pub(super) fn on_idle_wake(&mut self, slot: PairSlot, epoch: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let pair = &mut edges.pairs[slot as usize];
        if pair.epoch != epoch {
            return;
        }
        let is_used = pair.users > 0 || !pair.waiting.is_empty();
        let since = if is_used { now } else { pair.used_at };
        let until = since.saturating_add(clock::from_time(edges.sharing.idle));
        if until > now {
            self.arm(until, Wake::Idle(slot, epoch));
            return;
        }
        // Nobody finds its place any more before it is taken again.
        pair.epoch += 1;
        let (sender, outgoing, receiver, incoming) = (pair.sender, pair.outgoing, pair.receiver, pair.incoming);
        edges.known.remove(&pair.key);
        edges.vacant.push(slot);
        edges.hosts[sender as usize].outgoing[outgoing.index()] = NO_PAIR;
        self.tell(sender, HostInput::Closed { pair: outgoing }, now);
        if let Some(incoming) = incoming {
            self.tell(receiver, HostInput::IncomingClosed { pair: incoming }, now);
        }
        self.carry_out(now);
        let Some(edges) = self.edges.as_deref_mut() else { return };
        edges.hosts[sender as usize].free_outgoing.push(outgoing.0);
        if let Some(incoming) = incoming {
            let host = &mut edges.hosts[receiver as usize];
            host.incoming[incoming.index()] = NO_PAIR;
            host.free_incoming.push(incoming.0);
        }
    }
}

/// Puts a value at an index that is at most the length.
fn set(list: &mut Vec<PairSlot>, at: u32, slot: PairSlot) {
    match list.get_mut(at as usize) {
        Some(place) => *place = slot,
        None => list.push(slot),
    }
}
