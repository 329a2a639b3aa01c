//! Pairs: they open, are found again, and are forgotten.

use wayleave_scenarios::{Endpoint, Routing};
use wayleave_scheme_api::{
    ClassId, CongestionSignal, CustomPath, Demand, FlowStart, HostInput, Incoming, LocalFlow, Outgoing, PairSpec,
    PathsChange,
};
use wayleave_schemes::hosts::TunnelSetup;
use wayleave_schemes::services::Services;
use wayleave_stack::Opening;
use wayleave_topology::NodeId;

use super::account::TunnelOutcome;
use super::pair::{NO_FLOW, Pair, PairKey, SourcePair, set};
use super::slot::{NO_HOST, NO_PAIR, PairSlot};
use super::state::{Hosts, time};
use super::timers::HostTimer;
use crate::clock::{self, Instant};
use crate::fabric::{Direction, NetworkState};
use crate::flows::{FlowSlot, Flows, SAME_PATH};

/// A pair that has been idle: both ends are notified that it is forgotten, and then free its numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpiredPair {
    sender: u32,
    outgoing: Outgoing,
    receiver: u32,
    incoming: Option<Incoming>,
}

/// Returns the path scheme for the packets of a pair, if the scenario's scheme learns of a pair's paths.
fn listed_path((routing, seed): &(Routing, u64), pair: u64) -> Option<CustomPath> {
    // Numbers of pairs are not those of flows.
    let seed = seed.rotate_left(32) ^ !pair;
    routing.knows_a_pair().then(|| Box::new(routing.path(seed)) as CustomPath)
}

impl Hosts {
    /// Returns the key of a pair of these endpoints and classes; `None` if one of their hosts does not share.
    pub(crate) fn key_of(&self, (from, to): (Endpoint, Endpoint), (class, to_class): (u32, u32)) -> Option<PairKey> {
        let endpoints = (from.number, to.number);
        let (from, to) = (from.host, to.host);
        let is_sharing = |node: NodeId| self.of_node[node.index()] != NO_HOST;
        if !is_sharing(from) || !is_sharing(to) {
            return None;
        }
        let at = |class, node: NodeId| {
            let place = self.of_node[node.index()] * self.classes + class;
            if self.is_here[place as usize] { class } else { Services::OTHER.0 }
        };
        let (class, to_class) = (at(class, from), at(to_class, to));
        // The scheme is the sender's. Where the receiving service has another one, both ends would not understand one
        // another: the pair is best effort there.
        let is_one = self.scheme_of[class as usize] == self.scheme_of[to_class as usize];
        Some((from, to, class, if is_one { to_class } else { class }, endpoints))
    }

    /// The pair with this key, if it is open.
    pub(crate) fn known(&self, key: &PairKey) -> Option<PairSlot> {
        self.known.get(key).copied()
    }

    /// Opens a pair. Its machine's actions have to be applied before anything is sent: its limits hold for the first
    /// packet. `queue`: of the first traffic of the pair, and of its probes and answers. `route`: the only one, if
    /// that traffic has one.
    pub(crate) fn open_pair(
        &mut self,
        key: PairKey,
        queue: u8,
        route: Option<Direction>,
        fabric: &mut NetworkState,
        now: Instant,
    ) -> Option<PairSlot> {
        let (from, to, class, to_class, _) = key;
        let (mut forward, reverse) = (fabric.direction(from, to, queue)?, fabric.direction(to, from, queue)?);
        let (mut paths, mut round_trip) = fabric.path_between(from, to);
        if let Some(route) = route {
            (forward, paths) = (route, 1);
            round_trip = fabric.frame_and_answer(&forward, &reverse);
        }
        let (sender, receiver) = (self.of_node[from.index()], self.of_node[to.index()]);
        let slot = self.vacant.pop().unwrap_or(self.pairs.len() as PairSlot);
        let epoch = self.pairs.get(slot as usize).map_or(0, |pair| pair.epoch + 1);
        let scheme = self.scheme_of[class as usize];
        let host = &mut self.hosts[sender as usize];
        let outgoing = host.free_outgoing.pop().unwrap_or(host.outgoing.len() as u32);
        set(&mut host.outgoing, outgoing, slot);
        self.opened += 1;
        let pair = Pair {
            key,
            epoch,
            number: self.opened,
            sender,
            outgoing: Outgoing(outgoing),
            receiver,
            incoming: None,
            from_place: sender * self.classes + class,
            to_place: receiver * self.classes + to_class,
            scheme,
            forward,
            reverse,
            weight: 1,
            turns: None,
            flows: Vec::new(),
            free_flows: Vec::new(),
            is_watched: false,
            is_steered: false,
            users: 0,
            paused: 0,
            // It opens because something is to be sent.
            wants: true,
            used_at: now,
            lost: 0,
            path: None,
        };
        let spec = PairSpec {
            class: ClassId(class),
            peer_class: ClassId(to_class),
            peer: to,
            key: pair.number,
            paths,
            round_trip: time(round_trip),
        };
        let kind = &self.schemes[usize::from(scheme)];
        let opening = Opening {
            class: ClassId(class),
            paths,
            round_trip: spec.round_trip,
            tunnel: kind.tunnel(&TunnelSetup {
                policy: &self.sharing.machine,
                services: &self.services,
                from,
                line: self.hosts[sender as usize].line.transmit,
                pair: &spec,
            }),
            path_role: kind.path(from, &spec).or_else(|| listed_path(&self.routing, pair.number)),
        };
        let is_probed = opening.path_role.is_some();
        self.hosts[sender as usize].stack.open(outgoing, opening);
        match self.pairs.get_mut(slot as usize) {
            Some(place) => *place = pair,
            None => self.pairs.push(pair),
        }
        self.known.insert(key, slot);
        if let Some(promises) = &mut self.promises {
            promises.wants(receiver * self.classes + to_class, true, now);
        }
        let idle = clock::from_time(self.sharing.idle_timeout);
        self.timer_queue.arm(now.saturating_add(idle), HostTimer::Idle(slot, epoch), fabric, now);
        if is_probed {
            self.timer_queue.arm(now, HostTimer::PathProbe(slot, epoch), fabric, now);
        }
        self.notify(sender, scheme, HostInput::Opened { pair: Outgoing(outgoing), spec }, now);
        Some(slot)
    }

    /// Returns a pair, unless it has been forgotten since.
    pub(super) fn open(&self, slot: PairSlot, epoch: u32) -> Option<&Pair> {
        self.pairs.get(slot as usize).filter(|pair| pair.epoch == epoch)
    }

    /// Returns the receiving machine's number of a pair; the machine is notified of the pair first, if necessary.
    pub(super) fn incoming(&mut self, slot: PairSlot, fabric: &mut NetworkState, now: Instant) -> Incoming {
        let pair = &mut self.pairs[slot as usize];
        if let Some(incoming) = pair.incoming {
            return incoming;
        }
        let (from, to, class, to_class, _) = pair.key;
        let (key, receiver, scheme) = (pair.number, pair.receiver, pair.scheme);
        let host = &mut self.hosts[receiver as usize];
        let number = host.free_incoming.pop().unwrap_or(host.incoming.len() as u32);
        set(&mut host.incoming, number, slot);
        pair.incoming = Some(Incoming(number));
        let (paths, round_trip) = fabric.path_between(from, to);
        let spec = PairSpec {
            class: ClassId(to_class),
            peer_class: ClassId(class),
            peer: from,
            key,
            paths,
            round_trip: time(round_trip),
        };
        self.notify(receiver, scheme, HostInput::IncomingOpened { pair: Incoming(number), spec }, now);
        Incoming(number)
    }

    /// A flow of a pair is open from now on: it gets its number in the pair, and the pair's weight.
    pub(crate) fn join(
        &mut self,
        slot: PairSlot,
        flow: FlowSlot,
        flows: &mut Flows,
        start: (&FlowStart, CongestionSignal),
        now: Instant,
    ) {
        let pair = &mut self.pairs[slot as usize];
        pair.users += 1;
        let (local, weight) = (pair.join(flow), pair.weight);
        let state = &mut flows[flow];
        state.local = local;
        if pair.is_steered {
            state.reverse_path = SAME_PATH;
        }
        if weight != 1 {
            state.sender.set_weight(now, weight);
        }
        self.join_tunnel(slot, local, start, now);
        self.note_demand(slot, now);
    }

    /// A flow of a pair is over, the one with this number.
    #[cold]
    pub(crate) fn leave(&mut self, slot: PairSlot, local: u32, now: Instant) {
        let pair = &mut self.pairs[slot as usize];
        pair.users -= 1;
        pair.leave(local);
        let (sender, outgoing) = (pair.sender, pair.outgoing);
        if let Some(tunnel) = self.hosts[sender as usize].stack.tunnel_mut(outgoing.0) {
            tunnel.close(now, LocalFlow(local));
        }
        self.note_demand(slot, now);
    }

    /// The application of one of a pair's flows is switched off, or on again.
    pub(crate) fn pause(&mut self, slot: PairSlot, is_paused: bool, now: Instant) {
        if let Some(pair) = self.pairs.get_mut(slot as usize) {
            pair.paused = if is_paused { pair.paused + 1 } else { pair.paused.saturating_sub(1) };
            self.note_demand(slot, now);
        }
    }

    /// Notifies a pair's machine if the presence of demand has changed.
    pub(crate) fn note_demand(&mut self, slot: PairSlot, now: Instant) {
        let pair = &mut self.pairs[slot as usize];
        let wants = pair.users > pair.paused || !self.hosts[pair.sender as usize].stack.is_idle(pair.outgoing.0);
        if std::mem::replace(&mut pair.wants, wants) != wants {
            if let Some(promises) = &mut self.promises {
                promises.wants(pair.to_place, wants, now);
            }
            let demand = if wants { Demand::Begins } else { Demand::Ends };
            let (sender, scheme, pair) = (pair.sender, pair.scheme, pair.outgoing);
            self.notify(sender, scheme, HostInput::Demand { pair, demand }, now);
        }
    }

    /// A source of packets belongs to a pair. One that is sent over several routes does not, and is not limited.
    pub(crate) fn add_source(&mut self, stat: u32, ends: (Endpoint, Endpoint), classes: (u32, u32), queue: u8) {
        let key = self.key_of(ends, classes);
        let at = stat as usize;
        if self.sources.len() <= at {
            self.sources.resize(at + 1, None);
        }
        self.sources[at] = key.map(|key| SourcePair { key, pair: NO_PAIR, epoch: 0, local: 0, queue });
    }

    fn source(&self, stat: u32) -> Option<SourcePair> {
        self.sources.get(stat as usize).copied().flatten()
    }

    /// The pair of a source's packets, as long as it is open.
    pub(crate) fn open_source(&self, stat: u32) -> PairSlot {
        let still = |source: &SourcePair| self.open(source.pair, source.epoch).is_some();
        self.source(stat).filter(still).map_or(NO_PAIR, |source| source.pair)
    }

    /// Returns the key of a source's pair, and the queue of its packets.
    pub(crate) fn source_key(&self, stat: u32) -> Option<(PairKey, u8)> {
        self.source(stat).map(|source| (source.key, source.queue))
    }

    /// The pair of a source has opened, or was open.
    pub(crate) fn attach_source(&mut self, stat: u32, pair: PairSlot, fabric: &NetworkState, now: Instant) {
        let Some(source) = self.source(stat) else { return };
        let Some(state) = self.pairs.get_mut(pair as usize) else { return };
        let (epoch, local) = (state.epoch, state.join(NO_FLOW));
        self.sources[stat as usize] = Some(SourcePair { pair, epoch, local, ..source });
        let segment = fabric.largest();
        let start =
            FlowStart { segment, initial_window: 0, max_window: u64::MAX, size: None, deadline: None, weight: 1 };
        self.join_tunnel(pair, local, (&start, CongestionSignal::Losses), now);
    }

    /// The number of a source among the flows of its pair.
    pub(crate) fn source_number(&self, stat: u32) -> u32 {
        self.source(stat).map_or(0, |source| source.local)
    }

    /// Checks if a pair is still in use; if not, both ends forget it.
    pub(crate) fn on_idle_wake(
        &mut self,
        slot: PairSlot,
        epoch: u32,
        fabric: &mut NetworkState,
        now: Instant,
    ) -> Option<ExpiredPair> {
        let pair = self.pairs.get_mut(slot as usize).filter(|pair| pair.epoch == epoch)?;
        let is_used = pair.users > 0 || !self.hosts[pair.sender as usize].stack.is_idle(pair.outgoing.0);
        let since = if is_used { now } else { pair.used_at };
        let until = since.saturating_add(clock::from_time(self.sharing.idle_timeout));
        if until > now {
            self.timer_queue.arm(until, HostTimer::Idle(slot, epoch), fabric, now);
            return None;
        }
        // Its slot is not found any more before it is taken again.
        let forgotten = pair.epoch;
        pair.epoch += 1;
        if let Some(promises) = &mut self.promises {
            if std::mem::replace(&mut pair.wants, false) {
                promises.wants(pair.to_place, false, now);
            }
            promises.forget(slot, forgotten);
        }
        let (sender, outgoing, receiver, incoming) = (pair.sender, pair.outgoing, pair.receiver, pair.incoming);
        let scheme = pair.scheme;
        let key = pair.key;
        self.count_tunnel(slot);
        self.known.remove(&key);
        self.vacant.push(slot);
        self.hosts[sender as usize].outgoing[outgoing.index()] = NO_PAIR;
        self.hosts[sender as usize].stack.close(outgoing.0);
        self.notify(sender, scheme, HostInput::Closed { pair: outgoing }, now);
        if let Some(incoming) = incoming {
            self.notify(receiver, scheme, HostInput::IncomingClosed { pair: incoming }, now);
        }
        Some(ExpiredPair { sender, outgoing, receiver, incoming })
    }

    /// Frees a forgotten pair's numbers, after both ends have handled the notification.
    pub(crate) fn free_numbers(&mut self, pair: ExpiredPair) {
        let ExpiredPair { sender, outgoing, receiver, incoming } = pair;
        self.hosts[sender as usize].free_outgoing.push(outgoing.0);
        if let Some(incoming) = incoming {
            let host = &mut self.hosts[receiver as usize];
            host.incoming[incoming.index()] = NO_PAIR;
            host.free_incoming.push(incoming.0);
        }
    }

    /// Returns the number of slots of pairs.
    pub(crate) fn pairs(&self) -> PairSlot {
        self.pairs.len() as PairSlot
    }

    /// Handles recomputed paths of a pair. Returns `true` if it may send because of them, or `None` if it is not
    /// open; [`Hosts::notify_paths`] is next.
    pub(crate) fn replace_paths(&mut self, slot: PairSlot, fabric: &NetworkState, now: Instant) -> Option<bool> {
        let pair = &self.pairs[slot as usize];
        if self.known.get(&pair.key) != Some(&slot) {
            return None;
        }
        let paths = fabric.path_count(pair.forward.paths).max(1);
        let (stack, number) = self.stack(slot)?;
        Some(stack.replace_paths(number, paths, now))
    }

    /// Notifies the machine of a pair of its paths.
    pub(crate) fn notify_paths(&mut self, slot: PairSlot, fabric: &NetworkState, now: Instant) {
        let pair = &self.pairs[slot as usize];
        let (sender, scheme, outgoing) = (pair.sender, pair.scheme, pair.outgoing);
        let paths = fabric.path_count(pair.forward.paths).max(1);
        let input = HostInput::PathsChanged { pair: outgoing, paths, change: PathsChange::Replaced };
        self.notify(sender, scheme, input, now);
    }

    /// The class of a pair at its sender.
    pub(crate) fn class_of_pair(&self, slot: PairSlot) -> u32 {
        self.pairs.get(slot as usize).map_or(0, |pair| pair.key.2)
    }

    /// The open flows of a pair.
    pub(crate) fn members(&self, slot: PairSlot) -> Vec<FlowSlot> {
        self.pairs.get(slot as usize).map_or_else(Vec::new, |pair| pair.members().copied().collect())
    }

    /// Counts the traffic of a pair's tunnel: the pair is forgotten, or the run is over.
    fn count_tunnel(&mut self, slot: PairSlot) {
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
