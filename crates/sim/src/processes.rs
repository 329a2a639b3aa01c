//! What happens of itself: packets of sources, flows that begin, links that fail.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_scenarios::{Change, Element, Endpoint, FlowSpec, Outage};
use wayleave_topology::LinkId;

use crate::calls::{Calls, Follows, Loop};
use crate::clock::{self, Instant};
use crate::connections::Arrived;
use crate::engine::Engine;
use crate::events::{Actor, HORIZON};
use crate::fabric::Health;
use crate::flows::{FlowSlot, Purpose, RpcStep};
use crate::packet::{Flags, Kind, NO_PACKET, Packet};
use crate::random;
use crate::sources::Source;
use crate::trace::Event;
use crate::transport::NEVER;

/// One actor of its own.
#[derive(Debug)]
pub(crate) enum Process {
    /// Packets that nobody acknowledges.
    Source { traffic: u32, source: Source, start: Instant },
    /// Flows at random times.
    Poisson { traffic: u32, next: Instant, mean_gap: f64 },
    /// A flow for every pair, once or again and again.
    Rounds { traffic: u32, next: Instant, period: Option<Instant> },
    /// Closed loops: requests that are due, by pair.
    Loops { traffic: u32, due: BinaryHeap<Reverse<(Instant, u32)>>, wakes_at: Instant },
    /// Flows of every pair after uniform gaps of this mean; the next ones by pair.
    Uniform { traffic: u32, due: BinaryHeap<Reverse<(Instant, u32)>>, mean: Instant },
    /// Flows from a list, in order.
    Listed { traffic: u32, flows: Vec<FlowSpec>, next: usize },
    /// Something fails or works again.
    Outage(Outage),
    /// The warm-up is over.
    WarmedUp(Instant),
    /// What guarantees missed is measured at the end of each interval.
    Guarantees { next: Instant, interval: Instant },
    /// What happens at the edges, which keep its time themselves.
    Edges,
}

impl Engine {
    /// The actor of a process.
    pub(crate) fn process_actor(&self, number: usize) -> Actor {
        2 * self.fabric.links.len() as Actor + number as Actor
    }

    /// Puts the first event of every process.
    pub(crate) fn start_processes(&mut self) {
        for number in 0..self.processes.len() {
            if let Some(at) = self.due(number) {
                self.put_process(number, at);
            }
        }
    }

    /// When a process acts next.
    fn due(&self, number: usize) -> Option<Instant> {
        match &self.processes[number] {
            Process::Source { source, start, .. } => source.next_at(*start),
            Process::Poisson { traffic, next, .. } | Process::Rounds { traffic, next, .. } => {
                let spec = &self.spec.traffic[*traffic as usize];
                Some(spec.real(*next)).filter(|&next| next < spec.stop)
            }
            Process::Loops { traffic, due, .. } => {
                let spec = &self.spec.traffic[*traffic as usize];
                due.peek().map(|Reverse((at, _))| spec.next_on(*at)).filter(|&at| at != NEVER)
            }
            Process::Uniform { traffic, due, .. } => {
                let spec = &self.spec.traffic[*traffic as usize];
                due.peek().map(|Reverse((at, _))| spec.real(*at)).filter(|&next| next < spec.stop)
            }
            Process::Listed { flows, next, .. } => flows.get(*next).map(|flow| clock::from_time(flow.start)),
            Process::Outage(outage) => Some(clock::from_time(outage.at)),
            Process::WarmedUp(at) => Some(*at),
            Process::Guarantees { next, .. } => Some(*next),
            Process::Edges => None,
        }
    }

    fn put_process(&mut self, number: usize, at: Instant) {
        let at = at.min(self.now + HORIZON / 2);
        if let Process::Loops { wakes_at, .. } = &mut self.processes[number] {
            if at >= *wakes_at {
                return;
            }
            *wakes_at = at;
        }
        let actor = self.process_actor(number);
        self.fabric.events.put(at, actor);
    }

    /// A process acts, if it is due.
    pub(crate) fn proceed(&mut self, number: usize, now: Instant) {
        if matches!(self.processes[number], Process::Guarantees { .. }) {
            // Who looks at a run changes nothing of it.
            self.tally.events -= 1;
        }
        if matches!(self.processes[number], Process::Edges) {
            self.wake_edges(now);
            return;
        }
        if let Process::Loops { wakes_at, .. } = &mut self.processes[number] {
            if *wakes_at != now {
                return;
            }
            *wakes_at = NEVER;
        }
        while let Some(at) = self.due(number) {
            if at > now {
                self.put_process(number, at);
                return;
            }
            self.act(number, now);
            if matches!(self.processes[number], Process::Outage(_) | Process::WarmedUp(_)) {
                return;
            }
        }
    }

    fn act(&mut self, number: usize, now: Instant) {
        match &mut self.processes[number] {
            Process::Source { .. } => self.emit(number, now),
            Process::Poisson { traffic, next, mean_gap } => {
                let traffic = *traffic;
                let spec = &mut self.spec.traffic[traffic as usize];
                *next = next.saturating_add(random::exponential(&mut spec.rng, *mean_gap).max(1));
                if let Some(pair) = spec.pairs.draw(&mut spec.rng) {
                    self.begin(traffic, pair, now);
                }
            }
            Process::Rounds { traffic, next, period } => {
                let traffic = *traffic;
                *next = period.map_or(NEVER, |period| next.saturating_add(period));
                let spec = &mut self.spec.traffic[traffic as usize];
                for pair in spec.pairs.all(&mut spec.rng) {
                    self.begin(traffic, pair, now);
                }
            }
            Process::Loops { traffic, due, .. } => {
                let traffic = *traffic;
                if let Some(Reverse((_, pair))) = due.pop() {
                    self.request(traffic, pair, now);
                }
            }
            Process::Uniform { traffic, due, mean } => {
                let traffic = *traffic;
                let spec = &mut self.spec.traffic[traffic as usize];
                if let Some(Reverse((at, pair))) = due.pop() {
                    let gap = random::uniform(&mut spec.rng, 2 * *mean);
                    due.push(Reverse((at.saturating_add(gap), pair)));
                    self.arrive_at(traffic, pair, now);
                }
            }
            Process::Listed { traffic, flows, next } => {
                let (traffic, flow) = (*traffic, flows[*next]);
                *next += 1;
                self.begin_listed(traffic, &flow, now);
            }
            Process::Outage(outage) => {
                let outage = *outage;
                self.change(outage, now);
            }
            Process::WarmedUp(_) => {
                self.fabric.forget();
                self.tally.forget();
                self.forget_edges();
            }
            Process::Guarantees { next, interval } => {
                *next = next.saturating_add(*interval);
                self.measure_guarantees(now);
            }
            Process::Edges => {}
        }
    }

    /// A source's packet leaves.
    fn emit(&mut self, number: usize, now: Instant) {
        let Process::Source { traffic, source, .. } = &mut self.processes[number] else { return };
        let emission = source.emit(&mut self.spec.traffic[*traffic as usize].rng);
        let packet = Packet {
            sent: now,
            due: now,
            next: NO_PACKET,
            flow: source.way.flow,
            size: emission.bytes,
            sequence: emission.sequence,
            route: source.way.route,
            last_hop: source.way.last_hop.bits(),
            hop: u8::MAX,
            kind: Kind::Datagram,
            flags: if source.way.is_tagged { Flags::TAGGED } else { Flags::default() },
            ..Packet::default()
        };
        let (first, copies) = (source.way.first, source.way.copies);
        self.tally.sent(source.way.flow, &packet);
        let id = self.fabric.arena.insert(packet);
        if self.edges.is_some() && copies.is_none() {
            self.gate_packet(packet.flow, first, id, now);
            return;
        }
        self.fabric.note(Event::Sent, (first.link(), first.queue()), id, now);
        if let Some(dropped) = self.fabric.depart(first, id, now) {
            self.dropped(dropped);
        }
        if let Some(set) = copies {
            self.duplicate(set, packet, now);
        }
    }

    /// A flow of this traffic begins between two hosts.
    fn begin(&mut self, traffic: u32, (from, to): (Endpoint, Endpoint), now: Instant) {
        let spec = &mut self.spec.traffic[traffic as usize];
        let unit = random::unit(&mut spec.rng);
        let bytes = spec.sizes.as_ref().map_or(u64::MAX, |sizes| sizes.quantile(unit).max(1));
        let (queue, deadline) = (spec.queue, spec.draw_deadline());
        let purpose = Purpose { traffic, step: RpcStep::None, began: now, bytes, deadline, ..Purpose::NONE };
        self.open(from, to, queue, purpose, now);
    }

    /// A flow of a pair arrives; it waits if all connections of the pair are busy.
    fn arrive_at(&mut self, traffic: u32, pair: u32, now: Instant) {
        let spec = &mut self.spec.traffic[traffic as usize];
        let unit = random::unit(&mut spec.rng);
        let bytes = spec.sizes.as_ref().map_or(u64::MAX, |sizes| sizes.quantile(unit).max(1));
        let flow = Arrived { at: now, bytes, deadline: spec.draw_deadline() };
        let is_free = spec.connections.as_mut().is_none_or(|connections| connections.take(pair, flow));
        if is_free {
            self.begin_at(traffic, pair, flow, now);
        }
    }

    /// A flow of a pair has ended: the next one that waits takes its connection.
    fn next_in_line(&mut self, traffic: u32, pair: u32, now: Instant) {
        let Some(connections) = &mut self.spec.traffic[traffic as usize].connections else { return };
        if let Some(flow) = connections.leave(pair) {
            self.begin_at(traffic, pair, flow, now);
        }
    }

    fn begin_at(&mut self, traffic: u32, pair: u32, flow: Arrived, now: Instant) {
        let spec = &self.spec.traffic[traffic as usize];
        let Some(&(from, to)) = spec.loops.get(pair as usize) else { return };
        let Arrived { at: began, bytes, deadline } = flow;
        let purpose = Purpose { traffic, step: RpcStep::None, began, bytes, deadline, pair, ..Purpose::NONE };
        let queue = spec.queue;
        self.open(from, to, queue, purpose, now);
    }

    fn begin_listed(&mut self, traffic: u32, flow: &FlowSpec, now: Instant) {
        let queue = flow.queue.unwrap_or(self.spec.traffic[traffic as usize].queue);
        let (began, bytes) = (now, flow.size.get());
        let purpose = Purpose { traffic, step: RpcStep::None, began, bytes, ..Purpose::NONE };
        self.open(flow.from.into(), flow.to.into(), queue, purpose, now);
    }

    /// The next request of a closed loop.
    fn request(&mut self, traffic: u32, index: u32, now: Instant) {
        let spec = &mut self.spec.traffic[traffic as usize];
        let deadline = spec.draw_deadline();
        let Some(calls) = &mut spec.calls else { return };
        calls.begin(index, now, deadline);
        self.tally.traffic[traffic as usize].begun += 1;
        self.step(traffic, index, now);
    }

    /// The next step of a request: all its parts leave.
    fn step(&mut self, traffic: u32, index: u32, now: Instant) {
        let spec = &mut self.spec.traffic[traffic as usize];
        let Some(calls) = &mut spec.calls else { return };
        let servers = calls.step(index, &mut spec.rng);
        let Some(&Loop { client, began, deadline, .. }) = calls.loops.get(index as usize) else { return };
        for server in servers {
            let spec = &mut self.spec.traffic[traffic as usize];
            let unit = random::unit(&mut spec.rng);
            let bytes = spec.sizes.as_ref().map_or(1, |sizes| sizes.quantile(unit).max(1));
            let step = RpcStep::Request;
            let purpose = Purpose { traffic, step, began, bytes, deadline, pair: index, server, ideal_before: 0 };
            let queue = spec.queue;
            self.open(client, server, queue, purpose, now);
        }
    }

    /// The last segment of a flow has come.
    pub(crate) fn complete(&mut self, slot: FlowSlot, now: Instant) {
        let purpose = self.flows[slot as usize].purpose;
        match purpose.step {
            RpcStep::Request => self.answer(slot, purpose, now),
            RpcStep::Answer => self.answered(slot, purpose, now),
            RpcStep::None => {
                let ideal = self.ideal(slot);
                self.tally.completed(&purpose, now - purpose.began, ideal);
                self.next_in_line(purpose.traffic, purpose.pair, now);
            }
        }
    }

    /// A request has come to its server, which answers.
    fn answer(&mut self, slot: FlowSlot, request: Purpose, now: Instant) {
        let ideal_before = self.ideal(slot);
        let spec = &mut self.spec.traffic[request.traffic as usize];
        let Some(calls) = &spec.calls else { return };
        let Some(&Loop { client, .. }) = calls.loops.get(request.pair as usize) else { return };
        let unit = random::unit(&mut spec.rng);
        let bytes = calls.answer.quantile(unit).max(1);
        let answer = Purpose { step: RpcStep::Answer, bytes, ideal_before, ..request };
        let queue = spec.queue;
        self.open(request.server, client, queue, answer, now);
    }

    /// An answer has come to its client, which takes the next step, or pauses when it was the last one.
    fn answered(&mut self, slot: FlowSlot, answer: Purpose, now: Instant) {
        let ideal = answer.ideal_before + self.ideal(slot);
        let fans_out = self.spec.traffic[answer.traffic as usize].calls.as_ref().is_some_and(Calls::fans_out);
        let transfer = if fans_out { self.last_transfer(slot) } else { 0 };
        let Some(calls) = &mut self.spec.traffic[answer.traffic as usize].calls else { return };
        match calls.answered(answer.pair, answer.bytes, ideal, transfer) {
            Follows::Answers => {}
            Follows::Step => self.step(answer.traffic, answer.pair, now),
            Follows::End { bytes, ideal } => {
                self.tally.completed(&Purpose { bytes, ..answer }, now - answer.began, ideal);
                self.think(answer, now);
            }
        }
    }

    /// A closed loop pauses before its next request.
    fn think(&mut self, purpose: Purpose, now: Instant) {
        let spec = &mut self.spec.traffic[purpose.traffic as usize];
        let stop = spec.stop;
        let mean = spec.calls.as_ref().map_or(0, |calls| calls.think);
        let at = now.saturating_add(random::exponential(&mut spec.rng, mean as f64));
        let number = self
            .processes
            .iter()
            .position(|process| matches!(process, Process::Loops { traffic, .. } if *traffic == purpose.traffic));
        let Some(number) = number.filter(|_| at < stop) else { return };
        if let Process::Loops { due, .. } = &mut self.processes[number] {
            due.push(Reverse((at, purpose.pair)));
        }
        self.put_process(number, at);
    }

    /// A link fails, and what is on it or waits for it is lost.
    fn lose(&mut self, link: LinkId, to: Health, now: Instant) {
        for dropped in self.fabric.fail(link.0, to, now) {
            self.dropped(dropped);
        }
    }

    /// Something fails or works again; paths avoid or use it from now on, unless nobody is told.
    fn change(&mut self, outage: Outage, now: Instant) {
        let links = match outage.what {
            Element::Link(link) => vec![link],
            Element::Switch(switch) => {
                let network = self.spec.network.clone();
                [network.links_from(switch), network.links_into(switch)].concat()
            }
        };
        let mut is_known = false;
        for link in links {
            match outage.change {
                Change::Works => {
                    if self.fabric.repair(link.0, self.spec.limits[link.index()]) {
                        is_known = true;
                        self.router.set_link(link, true);
                    }
                }
                Change::Fails => {
                    is_known = true;
                    self.router.set_link(link, false);
                    self.lose(link, Health::Down, now);
                }
                Change::FailsSilently => self.lose(link, Health::SilentlyDown, now),
            }
        }
        if !is_known {
            return;
        }
        self.router.refresh(&mut self.fabric.routes);
        for process in &mut self.processes {
            if let Process::Source { source, .. } = process
                && let Some(route) = source.way.paths.and_then(|(set, path)| self.router.start(set, path))
            {
                source.way.route = route;
            }
        }
        for slot in 0..self.flows.len() as FlowSlot {
            self.pump_after_change(slot, now);
        }
        self.pair_paths_changed(now);
        self.capacities_changed(now);
    }
}
