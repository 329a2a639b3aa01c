//! Flows open at their hosts.

use wayleave_roles::Path;
use wayleave_scenarios::Endpoint;
use wayleave_schemes::transports::AnyPath;
use wayleave_topology::NodeId;

use crate::clock::{self, Instant};
use crate::edge::NO_PAIR;
use crate::engine::Engine;
use crate::events::MAX_ACTORS;
use crate::fabric::Step;
use crate::flows::{
    ACKNOWLEDGEMENT, Direction, FRAMING, Flow, FlowSlot, FlowState, HEADERS, OWN_PATH, Purpose, RpcStep,
};
use crate::link::Target;
use crate::packet::Kind;
use crate::router::Attachment;
use crate::traffic::Counting;
use crate::transport::{NEVER, Receiver, Sender, Setup};

impl Engine {
    /// A flow begins; nothing happens where nothing joins its hosts.
    pub(crate) fn open(&mut self, from: Endpoint, to: Endpoint, queue: u8, purpose: Purpose, now: Instant) {
        let record = &mut self.tally.traffic[purpose.traffic as usize];
        record.begun += u64::from(purpose.step == RpcStep::None);
        record.opened += 1;
        let number = record.opened << 16 | u64::from(purpose.traffic);
        let attached = |end: Endpoint| self.spec.attachments[end.host.index()];
        let (Some(source), Some(sink)) = (attached(from), attached(to)) else { return };
        if self.vacant.is_empty() && self.flow_actor(self.flows.len() as FlowSlot) as usize + 1 >= MAX_ACTORS {
            self.has_too_many_flows = true;
            return;
        }
        let routes = &mut self.fabric.routes;
        let mut forth = Direction {
            first: Step::new(source.up.0, queue),
            paths: self.router.paths(source.switch, sink.switch, queue, routes),
            last_hop: Step::new(sink.down.0, queue),
        };
        let back = Direction {
            first: Step::new(sink.up.0, queue),
            paths: self.router.paths(sink.switch, source.switch, queue, routes),
            last_hop: Step::new(source.down.0, queue),
        };
        let spec = &self.spec.traffic[purpose.traffic as usize];
        if let Some((first, route)) = spec.fixed {
            forth = Direction { first, paths: self.router.fixed(route), last_hop: Step::END };
        }
        let transport = &spec.transport;
        let setup = Setup {
            size: (purpose.bytes != u64::MAX).then_some(purpose.bytes),
            segment: u32::try_from(transport.mtu.get()).unwrap_or(u32::MAX).saturating_sub(HEADERS).max(1),
            initial_window: transport.initial_window,
            max_window: transport.max_window,
            min_timeout: transport.min_timeout,
            first_timeout: transport.first_timeout,
            deadline: purpose
                .deadline()
                .map(|deadline| clock::to_time(purpose.began.saturating_add(deadline).saturating_sub(now))),
            pacing: transport.pacing,
        };
        let supply = spec.supply(&purpose, now).map(Box::new);
        let control = transport.congestion.flow(&setup.flow_start());
        let is_ecn_capable = transport.congestion.hears_marks();
        let stat = self.counted_at(purpose.traffic, from, to);
        let pair = self.pair_of(purpose.traffic, (from, to), purpose.step == RpcStep::Answer, now);
        let interface = self.interface_of[forth.first.link() as usize];
        let classes = self.interfaces[interface as usize].classes() as u8;
        let slot = self.vacant.pop().unwrap_or(self.flows.len() as FlowSlot);
        let mut flow = Flow {
            sender: Sender::new(&setup, control),
            receiver: Receiver::default(),
            path: self.path(number),
            reorder: self.spec.routing.has_cells().then(Box::default),
            forth,
            back,
            interface,
            class: forth.first.queue().min(classes - 1),
            state: FlowState::Waiting,
            back_path: ((number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32)
                % self.router.count(back.paths).max(1),
            slow_at: NEVER,
            quick_at: NEVER,
            on_the_way: 0,
            stat,
            is_ecn_capable: is_ecn_capable || pair != NO_PAIR,
            wants_telemetry: self.spec.telemetry,
            is_tunnelled: self.has_tunnel(pair),
            purpose,
            supply,
            pair,
            local: 0,
            granted: 0,
            granted_path: OWN_PATH,
        };
        flow.supply(now);
        match self.flows.get_mut(slot as usize) {
            Some(place) => *place = flow,
            None => self.flows.push(flow),
        }
        if pair != NO_PAIR {
            self.join_pair(pair, slot, &setup.flow_start(), now);
        }
        self.tell_route(slot, now);
        if let Some(recorder) = &mut self.fabric.recorder {
            let name = &self.spec.traffic[purpose.traffic as usize].name;
            recorder.name(Kind::Data, slot, name, (from.host, to.host), setup.segment);
        }
        self.pump(slot, now);
    }

    /// Where a flow is counted.
    fn counted_at(&mut self, traffic: u32, from: Endpoint, to: Endpoint) -> u32 {
        let tally = &mut self.tally;
        match &mut self.spec.traffic[traffic as usize].counting {
            Counting::PerPair(known) => {
                *known.entry((from, to)).or_insert_with(|| tally.open(traffic, Some((from, to))))
            }
            Counting::Together(known) => *known.get_or_insert_with(|| tally.open(traffic, None)),
        }
    }

    /// How a flow chooses among its paths. Every flow has its own random numbers, so that none changes another's.
    fn path(&self, number: u64) -> AnyPath {
        self.spec.routing.path(self.spec.seed.rotate_left(32) ^ number)
    }

    /// How long a flow would take alone: its last packet leaves the slowest link when all have passed there.
    pub(crate) fn ideal(&self, slot: FlowSlot) -> Instant {
        let flow = &self.flows[slot as usize];
        let (segment, bytes) = (u64::from(flow.sender.segment()), flow.purpose.bytes);
        let network = self.alone(flow, bytes);
        flow.supply.as_ref().map_or(network, |supply| {
            // Nobody sends the last segment before it is written.
            let last = bytes - (bytes.div_ceil(segment).max(1) - 1) * segment;
            network.max(supply.lasts(bytes) + self.alone(flow, last))
        })
    }

    /// How long a flow's segments take on the last link of its way.
    pub(crate) fn last_transfer(&self, slot: FlowSlot) -> Instant {
        let flow = &self.flows[slot as usize];
        let (segment, bytes) = (u64::from(flow.sender.segment()), flow.purpose.bytes);
        let Some(&last) = self.links_along(&flow.forth, 0).last() else { return 0 };
        let wire = bytes + bytes.div_ceil(segment).max(1) * u64::from(HEADERS + FRAMING);
        clock::transmission(wire, self.fabric.rates[last as usize])
    }

    /// How long so much payload would take on the way of a flow.
    fn alone(&self, flow: &Flow, bytes: u64) -> Instant {
        let segment = flow.sender.segment();
        let count = bytes.div_ceil(u64::from(segment)).max(1);
        let last = (bytes - (count - 1) * u64::from(segment)) as u32 + HEADERS + FRAMING;
        let first = if count > 1 { segment + HEADERS + FRAMING } else { last };
        let links = self.links_along(&flow.forth, 0);
        let time = |number: u32, bytes: u32| {
            let number = number as usize;
            self.fabric.links[number].transmission(bytes, || self.fabric.speeds[number])
        };
        let latencies: Instant = links.iter().map(|&number| self.fabric.links[number as usize].latency).sum();
        let mut ahead = 0;
        let mut behind: Instant = links.iter().map(|&number| time(number, last)).sum();
        let mut longest = 0;
        for &number in &links {
            behind -= time(number, last);
            let passing = (count - 1).saturating_mul(time(number, first)) + time(number, last);
            longest = longest.max(ahead + passing + behind);
            ahead += time(number, first);
        }
        latencies + longest
    }

    /// The way of packets from one host to another in a queue; `None` if one of them has no switch.
    pub(crate) fn direction(&mut self, from: NodeId, to: NodeId, queue: u8) -> Option<Direction> {
        let attached = |host: NodeId| self.spec.attachments[host.index()];
        let (source, sink) = (attached(from)?, attached(to)?);
        Some(Direction {
            first: Step::new(source.up.0, queue),
            paths: self.router.paths(source.switch, sink.switch, queue, &mut self.fabric.routes),
            last_hop: Step::new(sink.down.0, queue),
        })
    }

    /// How long a segment of this payload and its acknowledgement take, if nothing delays them.
    pub(crate) fn round_trip(&self, forth: &Direction, back: &Direction, payload: u32) -> Instant {
        let one = |link: u32, bytes: u32| {
            let state = &self.fabric.links[link as usize];
            state.latency + state.transmission(bytes, || self.fabric.speeds[link as usize])
        };
        let time = |direction, bytes| -> Instant {
            self.links_along(direction, 0).into_iter().map(|link| one(link, bytes)).sum()
        };
        time(forth, payload + HEADERS + FRAMING) + time(back, ACKNOWLEDGEMENT)
    }

    /// How many paths there are from one host to another in queue 0, and how long a full frame and a small answer take on the
    /// first ones, if nothing delays them.
    pub(crate) fn way_between(&mut self, from: NodeId, to: NodeId) -> (u32, Instant) {
        let attached = |host: NodeId| self.spec.attachments[host.index()];
        let (Some(source), Some(sink)) = (attached(from), attached(to)) else { return (1, 0) };
        let routes = &mut self.fabric.routes;
        let mut direction = |from: Attachment, to: Attachment| Direction {
            first: Step::new(from.up.0, 0),
            paths: self.router.paths(from.switch, to.switch, 0, routes),
            last_hop: Step::new(to.down.0, 0),
        };
        let (forth, back) = (direction(source, sink), direction(sink, source));
        let mtu = self.spec.network.link(source.up).mtu.get();
        let frame = u32::try_from(mtu).unwrap_or(u32::MAX).saturating_add(FRAMING);
        let time = |direction: &Direction, bytes: u32| -> Instant {
            let one = |link: u32| {
                let state = &self.fabric.links[link as usize];
                state.latency + state.transmission(bytes, || self.fabric.speeds[link as usize])
            };
            self.links_along(direction, 0).into_iter().map(one).sum()
        };
        (self.router.count(forth.paths).max(1), time(&forth, frame) + time(&back, ACKNOWLEDGEMENT))
    }

    /// The links of one path.
    pub(crate) fn links_along(&self, direction: &Direction, path: u32) -> Vec<u32> {
        let mut links = Vec::new();
        let mut step = direction.first;
        let mut at = self.router.start(direction.paths, path).unwrap_or(u32::MAX) as usize;
        while let Some(link) = self.fabric.links.get(step.link() as usize) {
            links.push(step.link());
            match link.target() {
                Target::Host => break,
                Target::Switch => {}
                Target::Service(service) => links.push(service),
            }
            step = match self.fabric.routes.get(at) {
                Some(&next) if next != Step::END => next,
                _ => direction.last_hop,
            };
            at += 1;
        }
        links
    }

    /// After paths have changed.
    pub(crate) fn pump_after_change(&mut self, slot: FlowSlot, now: Instant) {
        self.flows[slot as usize].path.on_paths_changed(clock::to_time(now));
        self.tell_route(slot, now);
        if self.flows[slot as usize].state == FlowState::Waiting {
            self.pump(slot, now);
        }
    }
}
