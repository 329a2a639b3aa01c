//! Pairs: they open, are found again, and are forgotten.

use wayleave_roles::{ClassId, Demand, FlowStart, HostInput, Incoming, Outgoing, PairSpec, PathsChange};
use wayleave_scenarios::Endpoint;
use wayleave_schemes::services::Services;
use wayleave_stack::Opening;
use wayleave_topology::NodeId;

use super::account::TunnelOutcome;
use super::{EdgeId, Edges, NO_EDGE, NO_PAIR, PairSlot, Wake, time};
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::flows::{Direction, FlowSlot};

/// No flow has this number of its pair.
const NO_FLOW: FlowSlot = FlowSlot::MAX;

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
    /// Its scheme.
    pub(super) scheme: u8,
    /// The ways of its packets, and of what comes back for them.
    pub(super) forth: Direction,
    pub(super) back: Direction,
    /// What its host role last said (W of SCC; weighted Swift).
    pub(super) weight: u32,
    /// Its flows by their numbers; `NO_FLOW` where one is free.
    flows: Vec<FlowSlot>,
    free_flows: Vec<u32>,
    /// Whether somebody looks after a window that waits for answers.
    pub(super) is_watched: bool,
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

impl Pair {
    /// Its open flows.
    pub(super) fn members(&self) -> impl Iterator<Item = &FlowSlot> {
        self.flows.iter().filter(|&&flow| flow != NO_FLOW)
    }

    /// A number for a flow.
    fn join(&mut self, flow: FlowSlot) -> u32 {
        let number = self.free_flows.pop().unwrap_or(self.flows.len() as u32);
        set(&mut self.flows, number, flow);
        number
    }
}

/// The pair of a packet source, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourcePair {
    key: PairKey,
    pair: PairSlot,
    epoch: u32,
    /// Its number among the flows of the pair.
    local: u32,
    /// The queue of its packets.
    queue: u8,
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
        let queue = self.spec.traffic[traffic as usize].queue;
        self.key_of((from, to), classes).map_or(NO_PAIR, |key| self.find_pair(key, queue, now))
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
            if edges.is_here[place as usize] { class } else { Services::OTHER.0 }
        };
        let (class, to_class) = (at(class, from), at(to_class, to));
        // The scheme is the sender's. Where the receiving service has another one, both ends would not understand one
        // another: the pair is best effort there.
        let is_one = edges.scheme_of[class as usize] == edges.scheme_of[to_class as usize];
        Some((from, to, class, if is_one { to_class } else { class }, endpoints))
    }

    fn find_pair(&mut self, key: PairKey, queue: u8, now: Instant) -> PairSlot {
        let found = self.edges.as_deref().and_then(|edges| edges.known.get(&key).copied());
        found.unwrap_or_else(|| self.open_pair(key, queue, now))
    }

    /// `queue`: of the first traffic of the pair, and of its probes and answers.
    fn open_pair(&mut self, key: PairKey, queue: u8, now: Instant) -> PairSlot {
        let (from, to, class, to_class, _) = key;
        let (paths, round_trip) = self.way_between(from, to);
        let (Some(forth), Some(back)) = (self.direction(from, to, queue), self.direction(to, from, queue)) else {
            return NO_PAIR;
        };
        let Some(edges) = self.edges.as_deref_mut() else { return NO_PAIR };
        let (sender, receiver) = (edges.of_node[from.index()], edges.of_node[to.index()]);
        let slot = edges.vacant.pop().unwrap_or(edges.pairs.len() as PairSlot);
        let epoch = edges.pairs.get(slot as usize).map_or(0, |pair| pair.epoch + 1);
        let scheme = edges.scheme_of[class as usize];
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
            scheme,
            forth,
            back,
            weight: 1,
            flows: Vec::new(),
            free_flows: Vec::new(),
            is_watched: false,
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
        let kind = &edges.schemes[usize::from(scheme)];
        let opening = Opening {
            class: ClassId(class),
            paths,
            round_trip: spec.round_trip,
            tunnel: kind.tunnel(from, &spec),
            path_role: kind.path(from, &spec),
        };
        edges.hosts[sender as usize].stack.open(outgoing, opening);
        match edges.pairs.get_mut(slot as usize) {
            Some(place) => *place = pair,
            None => edges.pairs.push(pair),
        }
        edges.known.insert(key, slot);
        let idle = clock::from_time(edges.sharing.idle);
        self.arm(now.saturating_add(idle), Wake::Idle(slot, epoch));
        self.tell(sender, scheme, HostInput::Opened { pair: Outgoing(outgoing), spec }, now);
        // The limits of a new pair hold for its first packet.
        self.carry_out(now);
        if self.has_tunnel(slot) {
            self.on_slot(slot, epoch, now);
        }
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
        let (key, receiver, scheme) = (pair.number, pair.receiver, pair.scheme);
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
        self.tell(receiver, scheme, HostInput::IncomingOpened { pair: Incoming(number), spec }, now);
        Some(Incoming(number))
    }

    /// The receiving machine's number of a pair that still has this epoch.
    pub(super) fn incoming_of(&mut self, slot: PairSlot, epoch: u32, now: Instant) -> Option<Incoming> {
        self.edges.as_deref()?.open_pair(slot, epoch)?;
        self.incoming(slot, now)
    }

    /// A flow of a pair is open from now on. Its number in the pair, and the pair's weight.
    pub(crate) fn join_pair(&mut self, slot: PairSlot, flow: FlowSlot, start: &FlowStart, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut().filter(|_| slot != NO_PAIR) else { return };
        let pair = &mut edges.pairs[slot as usize];
        pair.users += 1;
        let (local, weight) = (pair.join(flow), pair.weight);
        let state = &mut self.flows[flow as usize];
        state.local = local;
        if weight != 1 {
            state.sender.set_weight(now, weight);
        }
        self.join_tunnel(slot, local, start, now);
        self.note_demand(slot, now);
    }

    /// A flow of a pair is over.
    #[cold]
    pub(crate) fn leave_pair(&mut self, slot: PairSlot, flow: FlowSlot) {
        let now = self.now;
        let local = self.flows[flow as usize].local;
        if let Some(edges) = self.edges.as_deref_mut() {
            let pair = &mut edges.pairs[slot as usize];
            pair.users -= 1;
            pair.flows[local as usize] = NO_FLOW;
            pair.free_flows.push(local);
            let (sender, outgoing) = (pair.sender, pair.outgoing);
            if let Some(tunnel) = edges.hosts[sender as usize].stack.tunnel_mut(outgoing.0) {
                tunnel.close(now, wayleave_roles::LocalFlow(local));
            }
            self.note_demand(slot, now);
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
        let wants = pair.users > pair.paused || !edges.hosts[pair.sender as usize].stack.is_idle(pair.outgoing.0);
        if std::mem::replace(&mut pair.wants, wants) != wants {
            let demand = if wants { Demand::Begins } else { Demand::Ends };
            let (sender, scheme, pair) = (pair.sender, pair.scheme, pair.outgoing);
            self.tell(sender, scheme, HostInput::Demand { pair, demand }, now);
        }
    }

    /// A source of packets belongs to a pair. One that is sent over several routes does not, and is not limited.
    pub(crate) fn add_source(&mut self, stat: u32, ends: (Endpoint, Endpoint), classes: (u32, u32), queue: u8) {
        let key = self.key_of(ends, classes);
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let at = stat as usize;
        if edges.sources.len() <= at {
            edges.sources.resize(at + 1, None);
        }
        edges.sources[at] = key.map(|key| SourcePair { key, pair: NO_PAIR, epoch: 0, local: 0, queue });
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
        let pair = self.find_pair(source.key, source.queue, now);
        let Some(edges) = self.edges.as_deref_mut() else { return NO_PAIR };
        let Some(state) = edges.pairs.get_mut(pair as usize) else { return NO_PAIR };
        let (epoch, local) = (state.epoch, state.join(NO_FLOW));
        edges.sources[stat as usize] = Some(SourcePair { pair, epoch, local, ..source });
        let segment = self.fabric.largest;
        let start =
            FlowStart { segment, initial_window: 0, max_window: u64::MAX, size: None, deadline: None, weight: 1 };
        self.join_tunnel(pair, local, &start, now);
        pair
    }

    /// The number of a source among the flows of its pair.
    pub(super) fn source_number(&self, stat: u32) -> u32 {
        let sources = self.edges.as_deref().map(|edges| edges.sources.as_slice());
        sources.and_then(|sources| *sources.get(stat as usize)?).map_or(0, |source| source.local)
    }

    /// Whether a pair is still in use; if not, both ends forget it.
    pub(super) fn on_idle_wake(&mut self, slot: PairSlot, epoch: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Some(pair) = edges.pairs.get_mut(slot as usize).filter(|pair| pair.epoch == epoch) else { return };
        let is_used = pair.users > 0 || !edges.hosts[pair.sender as usize].stack.is_idle(pair.outgoing.0);
        let since = if is_used { now } else { pair.used_at };
        let until = since.saturating_add(clock::from_time(edges.sharing.idle));
        if until > now {
            self.arm(until, Wake::Idle(slot, epoch));
            return;
        }
        // Nobody finds its place any more before it is taken again.
        pair.epoch += 1;
        let (sender, outgoing, receiver, incoming) = (pair.sender, pair.outgoing, pair.receiver, pair.incoming);
        let scheme = pair.scheme;
        let key = pair.key;
        edges.count_tunnel(slot);
        edges.known.remove(&key);
        edges.vacant.push(slot);
        edges.hosts[sender as usize].outgoing[outgoing.index()] = NO_PAIR;
        edges.hosts[sender as usize].stack.close(outgoing.0);
        self.tell(sender, scheme, HostInput::Closed { pair: outgoing }, now);
        if let Some(incoming) = incoming {
            self.tell(receiver, scheme, HostInput::IncomingClosed { pair: incoming }, now);
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

impl Engine {
    /// Paths were found again: the machines of pairs that have others now hear of it.
    pub(crate) fn pair_paths_changed(&mut self, now: Instant) {
        let count = self.edges.as_deref().map_or(0, |edges| edges.pairs.len());
        for slot in 0..count as PairSlot {
            let Some(edges) = self.edges.as_deref() else { return };
            let pair = &edges.pairs[slot as usize];
            if edges.known.get(&pair.key) != Some(&slot) {
                continue;
            }
            let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
            let paths = self.router.count(pair.forth.paths).max(1);
            let Some((stack, number, _)) = self.stack_of(slot, now) else { return };
            if stack.replace_paths(number, paths, now) {
                self.run_pair(slot, now);
            }
            let input = HostInput::PathsChanged { pair: outgoing, paths, change: PathsChange::Replaced };
            self.tell(sender, scheme, input, now);
        }
    }
}

impl Edges {
    /// The class of a pair at its sender.
    pub(crate) fn class_of_pair(&self, slot: PairSlot) -> u32 {
        self.pairs.get(slot as usize).map_or(0, |pair| pair.key.2)
    }

    /// What a pair's tunnel has carried is counted: the pair is forgotten, or the run is over.
    pub(super) fn count_tunnel(&mut self, slot: PairSlot) {
        let pair = &self.pairs[slot as usize];
        if let Some(tunnel) = self.hosts[pair.sender as usize].stack.tunnel(pair.outgoing.0) {
            let (from, to) = (pair.key.0, pair.key.1);
            let service = self.services.name(ClassId(pair.key.2)).map(str::to_owned);
            self.account.tunnel(TunnelOutcome { from, to, service, counts: tunnel.counts() });
        }
    }

    /// The tunnels of pairs that are open when the run is over.
    pub(super) fn count_open_tunnels(&mut self) {
        let mut open: Vec<PairSlot> = self.known.values().copied().collect();
        open.sort_unstable();
        for slot in open {
            self.count_tunnel(slot);
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
