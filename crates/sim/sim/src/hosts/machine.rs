//! Limits, weights and timers of machines, and losses.

use wayleave_scheme_api::{Bucket, ClassId, HostInput, Outgoing, PathIndex};
use wayleave_schemes::hosts::AnyTimer;
use wayleave_units::Time;

use super::slot::{HostId, NO_PAIR, PairSlot};
use super::state::{Hosts, time};
use super::timers::HostTimer;
use crate::clock::{self, Instant};
use crate::fabric::{Dropped, NetworkState};
use crate::flows::{Flows, SAME_PATH};
use crate::interfaces::{Interfaces, Item};
use crate::packet::Packet;

impl Hosts {
    /// Sets or lifts a root limiter. Returns `true` if the class has to be served.
    pub(crate) fn limit_class(
        &mut self,
        host: HostId,
        class: ClassId,
        bucket: Option<Bucket>,
        frame: u32,
        now: Instant,
    ) -> bool {
        let is_changed = self.hosts[host as usize].stack.limit_class(class, bucket, frame, now);
        if is_changed {
            let place = host * self.classes + class.0;
            self.account.limit(place, bucket.map(|bucket| bucket.rate), now);
        }
        is_changed
    }

    /// A class gets another weight at the interface of its host.
    pub(crate) fn weigh_class(
        &self,
        host: HostId,
        class: (ClassId, u32),
        fabric: &NetworkState,
        interfaces: &mut Interfaces,
        flows: &Flows,
    ) {
        let node = self.hosts[host as usize].node;
        let (class, weight) = class;
        let class_of = |item: Item| match item {
            Item::Flow(flow) => self.class_of_pair(flows[flow].pair),
            Item::Tunnel(pair, _) => self.class_of_pair(pair),
            Item::Packet(id, ..) => self.class_of_packet(fabric.packet(id), flows).0,
        };
        for up in fabric.network().links_from(node) {
            if let Some(interface) = interfaces.on(up.0) {
                interface.weigh(class.0, weight, fabric.largest(), class_of);
            }
        }
    }

    /// Sets a pair's weight, and notifies its tunnel and its transports. Returns the pair, whose flows may continue.
    pub(crate) fn weigh_pair(
        &mut self,
        host: HostId,
        pair: Outgoing,
        weight: u32,
        flows: &mut Flows,
        now: Instant,
    ) -> PairSlot {
        let slot = self.outgoing(host, pair);
        let Some(state) = self.pairs.get_mut(slot as usize) else { return NO_PAIR };
        state.weight = weight.max(1);
        if let Some(promises) = &mut self.promises {
            promises.carried.weighed((slot, state.epoch), weight, now);
        }
        if let Some(tunnel) = self.hosts[host as usize].stack.tunnel_mut(pair.0) {
            tunnel.set_weight(time(now), weight);
        }
        for &flow in self.pairs[slot as usize].members() {
            flows[flow].sender.set_weight(now, weight);
        }
        slot
    }

    /// Sets the weight of a pair's turns at the interface of its host.
    pub(crate) fn weigh_turns(&mut self, host: HostId, pair: Outgoing, weight: u32) {
        let slot = self.outgoing(host, pair);
        if let Some(state) = self.pairs.get_mut(slot as usize) {
            state.turns = Some(weight.max(1));
        }
    }

    /// Notifies the flows of a pair of their route from now on.
    pub(crate) fn notify_route(
        &self,
        host: HostId,
        pair: Outgoing,
        flows: &mut Flows,
        fabric: &NetworkState,
        now: Instant,
    ) {
        let pair = self.pairs.get(self.outgoing(host, pair) as usize);
        for &flow in pair.iter().flat_map(|pair| pair.members()) {
            flows[flow].notify_route(fabric, now);
        }
    }

    /// A machine chooses the paths of a pair from now on: acknowledgements return on the path of their segment, as a path with its round
    /// trip is the machine's unit. Returns the round trip of the path without queues; zero if the pair has closed.
    pub(crate) fn choose_path(
        &mut self,
        (host, pair): (HostId, Outgoing),
        path: PathIndex,
        flows: &mut Flows,
        fabric: &NetworkState,
    ) -> Instant {
        let slot = self.outgoing(host, pair);
        let Some(pair) = self.pairs.get_mut(slot as usize) else { return 0 };
        if !std::mem::replace(&mut pair.is_steered, true) {
            for &flow in pair.members() {
                flows[flow].reverse_path = SAME_PATH;
            }
        }
        fabric.base_round_trip(&pair.forward, &pair.reverse, path.0)
    }

    /// A machine arms a timer.
    pub(crate) fn arm_timer(
        &mut self,
        host: HostId,
        scheme: u8,
        (at, timer): (Time, AnyTimer),
        fabric: &mut NetworkState,
        now: Instant,
    ) {
        let place = self.timers.keep((scheme, timer));
        self.timer_queue.arm(clock::from_time(at).max(now), HostTimer::Scheme(host, place), fabric, now);
    }

    /// A machine's timer rings.
    pub(crate) fn on_timer(&mut self, host: HostId, place: u32, now: Instant) {
        let (scheme, timer) = self.timers.take(place);
        self.notify(host, scheme, HostInput::Timer(timer), now);
    }

    /// Handles an arriving packet of a source, and answers if its pair has a window. Returns a packet dropped for the
    /// answer.
    #[cold]
    pub(crate) fn packet_arrived(
        &mut self,
        packet: &Packet,
        fabric: &mut NetworkState,
        now: Instant,
    ) -> Option<Dropped> {
        let slot = self.open_source(packet.flow);
        if slot == NO_PAIR {
            return None;
        }
        self.arrived(slot, packet, fabric, now);
        self.answer_packet(slot, packet, fabric, now)
    }

    /// A packet of a pair is lost.
    pub(crate) fn lost(&mut self, slot: PairSlot, bytes: u32) {
        if let Some(pair) = self.pairs.get_mut(slot as usize) {
            pair.lost += u64::from(bytes);
        }
    }

    /// A packet is dropped at its own host: too many wait, or a limiter drops.
    pub(crate) fn limited(&mut self, slot: PairSlot) {
        self.account.limited(self.pairs[slot as usize].from_place);
    }
}
