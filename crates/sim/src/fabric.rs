//! Links, ports and the packets on them: how a packet gets from one node to the next.

use wayleave_roles::{IntHop, Mark, QueueState, Switch};
use wayleave_schemes::transports::AnyMarking;
use wayleave_units::{Bytes, Rate};

use crate::clock::{self, Instant, LineSpeed};
use crate::events::EventQueue;
use crate::link::{Found, Link, NO_LIMIT, Port, Target};
use crate::packet::{Arena, Flags, NO_PACKET, PacketId};
use crate::port::{Pool, QueuedPort};
use crate::recorder::{self, Recorder};
use crate::stats::{Histogram, Levels};
use crate::telemetry::TelemetryArena;
use crate::trace::{DropReason, Event};

/// A step of a route: a link, and a queue of the port that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step(u32);

impl Step {
    /// Behind the last step of a route that ends at a switch: a packet takes its own last hop from there.
    pub(crate) const END: Self = Self(u32::MAX);
    /// Three bits of queue above, the link below; there are at most 2^21 links.
    const QUEUE_SHIFT: u32 = 29;

    pub(crate) fn new(link: u32, queue: u8) -> Self {
        Self(u32::from(queue) << Self::QUEUE_SHIFT | link)
    }

    #[inline]
    pub(crate) fn link(self) -> u32 {
        self.0 & ((1 << Self::QUEUE_SHIFT) - 1)
    }

    #[inline]
    pub(crate) fn queue(self) -> u8 {
        (self.0 >> Self::QUEUE_SHIFT) as u8
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// What is counted at a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueRecord {
    /// From coming to being sent, in ps; first-come-first-served ports leave out packets that find them idle.
    pub(crate) wait: Histogram,
    /// Bytes that a packet finds; first come, first served, they follow from the wait.
    pub(crate) found: Option<Box<Histogram>>,
    /// Queued ports: the most that was held, with the packet that came.
    pub(crate) peak: u32,
    /// First come, first served: the longest until a packet that came had left, in ps.
    pub(crate) longest: Instant,
    /// Packets that found no room, or were put out for others.
    pub(crate) drops: u64,
    /// Packets that were marked.
    pub(crate) marks: u64,
    /// Packets that a queued port sent at once: they neither waited nor found anything.
    pub(crate) immediate: u64,
}

/// Where a packet is after its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// At its host.
    AtHost(PacketId),
    /// In the next port.
    OnItsWay,
    /// In the next port, where this one was dropped.
    Dropped(PacketId),
    /// There was none: the event is out of date.
    Nothing,
}

/// The network while it runs.
#[derive(Debug)]
pub(crate) struct Fabric {
    pub(crate) links: Vec<Link>,
    /// Per link.
    pub(crate) speeds: Vec<LineSpeed>,
    /// Per link.
    pub(crate) rates: Vec<Rate>,
    pub(crate) ports: Vec<QueuedPort>,
    /// Per queued port: its marking and whether it writes telemetry.
    pub(crate) marking: Vec<(AnyMarking, bool)>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) arena: Arena,
    pub(crate) events: EventQueue,
    /// Steps of all routes, one after the other.
    pub(crate) routes: Vec<Step>,
    /// No packet is larger.
    pub(crate) largest: u32,
    /// What is not in its histogram yet.
    pub(crate) samples: Vec<Sample>,
    /// Per link, `stride` queues.
    pub(crate) records: Vec<QueueRecord>,
    pub(crate) stride: usize,
    pub(crate) telemetry: TelemetryArena,
    pub(crate) recorder: Option<Box<Recorder>>,
    /// Per link, what its port holds over time, if that is recorded.
    pub(crate) levels: Option<Vec<Levels>>,
    /// Packets put on links.
    pub(crate) hops: u64,
}

/// What is counted a little later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// The number of its record.
    record: u32,
    kind: SampleKind,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
enum SampleKind {
    /// How long a packet waited; first come, first served, with how long it is being sent then.
    Wait { own: Instant },
    /// What a packet found.
    Found,
}

/// How many samples are counted together: 6 KiB.
const SAMPLES: usize = 256;

/// Bytes that a switch takes off a tagged packet: one 802.1Q tag.
const TAG: u32 = 4;

impl Fabric {
    /// The actor of a port that will be free; that of a packet's arrival is the link's number itself.
    #[inline]
    pub(crate) fn service_actor(&self, link: u32) -> u32 {
        self.links.len() as u32 + link
    }

    /// A packet arrives at the end of a link.
    #[inline]
    pub(crate) fn arrive(&mut self, link: u32, now: Instant) -> Arrival {
        let state = &mut self.links[link as usize];
        let Some((id, next)) = state.arrive(now, &self.arena) else { return Arrival::Nothing };
        let target = state.target();
        if let Some(next) = next {
            self.events.put(next, link);
        }
        let step = match target {
            Target::Host => return Arrival::AtHost(id),
            Target::Switch => self.next_step(id),
            Target::Service(service) => Step::new(service, 0),
        };
        self.enter(step, id, now).map_or(Arrival::OnItsWay, Arrival::Dropped)
    }

    /// The step that a packet takes next; a switch takes a tag off.
    #[inline]
    fn next_step(&mut self, id: PacketId) -> Step {
        let packet = self.arena.get_mut(id);
        packet.hop = packet.hop.wrapping_add(1);
        if packet.flags.has(Flags::TAGGED) {
            packet.size -= TAG;
        }
        match self.routes[packet.route as usize + usize::from(packet.hop)] {
            Step::END => Step::from_bits(packet.last_hop),
            step => step,
        }
    }

    /// A packet comes to a port. Returns the packet that was dropped, this one or another, if one was.
    #[inline]
    pub(crate) fn enter(&mut self, step: Step, id: PacketId, now: Instant) -> Option<PacketId> {
        let link = step.link();
        match self.links[link as usize].port() {
            Port::Fifo => self.enter_fifo(link, id, now),
            Port::Queued(port) => self.enter_queued(link, port, step.queue(), id, now),
        }
    }

    #[inline]
    fn enter_fifo(&mut self, link: u32, id: PacketId, now: Instant) -> Option<PacketId> {
        let state = &mut self.links[link as usize];
        let size = self.arena.get(id).size;
        match state.look(size, self.largest, now, &self.arena) {
            Found::Idle => {
                state.immediate += 1;
                if state.immediate == u32::MAX {
                    self.flush_immediate(link);
                }
            }
            Found::Busy { wait, is_above } => {
                let record = link as usize * self.stride;
                let speeds = &self.speeds;
                let own = state.transmission(size, || speeds[link as usize]);
                self.count(Sample { record: record as u32, kind: SampleKind::Wait { own }, value: wait });
                if is_above {
                    let packet = self.arena.get_mut(id);
                    if packet.flags.has(Flags::ECN_CAPABLE) {
                        packet.flags = packet.flags.with(Flags::MARKED);
                        self.records[record].marks += 1;
                        self.note(Event::Marked, (link, 0), id, now);
                    }
                }
            }
            Found::Full => {
                self.records[link as usize * self.stride].drops += 1;
                self.note(recorder::FULL, (link, 0), id, now);
                return Some(id);
            }
        }
        self.note(Event::Enqueued, (link, 0), id, now);
        self.level(link, size, now);
        let state = &mut self.links[link as usize];
        let speeds = &self.speeds;
        let transmission = state.transmission(size, || speeds[link as usize]);
        let was_empty = state.append(id, transmission, now, &mut self.arena);
        state.hold(id, size);
        let departs = state.free_at;
        self.hops += 1;
        self.note(Event::Departed, (link, 0), id, departs);
        if was_empty {
            let due = self.arena.get(id).due;
            self.events.put(due, link);
        }
        None
    }

    #[inline]
    fn count(&mut self, sample: Sample) {
        self.samples.push(sample);
        if self.samples.len() == SAMPLES {
            self.flush_samples();
        }
    }

    /// Samples are kept for a moment and counted together: the histograms of all queues do not fit into the caches, and
    /// accesses that do not depend on one another overlap.
    fn flush_samples(&mut self) {
        for sample in self.samples.drain(..) {
            let record = &mut self.records[sample.record as usize];
            match sample.kind {
                SampleKind::Wait { own } => {
                    record.wait.record(sample.value);
                    record.longest = record.longest.max(sample.value + own);
                }
                SampleKind::Found => record.found.get_or_insert_default().record(sample.value),
            }
        }
    }

    /// The packets that found a first-come-first-served port idle join its histograms.
    #[cold]
    pub(crate) fn flush_immediate(&mut self, link: u32) {
        self.flush_samples();
        let state = &mut self.links[link as usize];
        let record = &mut self.records[link as usize * self.stride];
        let count = u64::from(std::mem::take(&mut state.immediate));
        record.wait.record_many(0, count);
    }

    fn enter_queued(&mut self, link: u32, number: u32, asked: u8, id: PacketId, now: Instant) -> Option<PacketId> {
        let state = &self.links[link as usize];
        let is_sending = state.free_at > now;
        let port = &mut self.ports[number as usize];
        let queue = port.queue(asked);
        let size = self.arena.get(id).size;
        let mut held = port.held(queue, is_sending);
        let pool = port.pool.map(|pool| &self.pools[pool as usize]);
        let mut evicted = None;
        if !port.has_room(queue, size, held, pool) {
            evicted = Some(id);
            let urgency = self.arena.get(id).urgency();
            if port.is_by_remaining()
                && port.is_up
                && let Some(worst) = port.least_urgent(urgency, &self.arena)
                && self.arena.get(worst).size >= size
            {
                port.remove(worst, &mut self.arena);
                let freed = self.arena.get(worst).size;
                held -= freed;
                if let Some(pool) = port.pool {
                    let pool = &mut self.pools[pool as usize];
                    pool.used = pool.used.saturating_sub(u64::from(freed));
                }
                evicted = Some(worst);
            }
            self.records[link as usize * self.stride + usize::from(queue)].drops += 1;
            let reason = if evicted == Some(id) { recorder::FULL } else { Event::Dropped(DropReason::PushedOut) };
            self.note(reason, (link, queue), evicted.unwrap_or(id), now);
            if evicted == Some(id) {
                return evicted;
            }
        }
        self.accept(link, number, queue, id, held, now);
        evicted
    }

    /// A packet for which there is room.
    fn accept(&mut self, link: u32, port: u32, queue: u8, id: PacketId, held: u32, now: Instant) {
        let free_at = self.links[link as usize].free_at;
        let is_sending = free_at > now;
        let record = link as usize * self.stride + usize::from(queue);
        let packet = self.arena.get_mut(id);
        let size = packet.size;
        packet.due = now;
        packet.next = NO_PACKET;
        if packet.flags.has(Flags::ECN_CAPABLE) {
            let idle_since = (!is_sending && held == 0).then(|| clock::to_time(free_at));
            let found = QueueState { queued: Bytes::new(u64::from(held)), idle_since };
            if self.marking[port as usize].0.on_arrival(clock::to_time(now), found, size) == Mark::Congestion {
                packet.flags = packet.flags.with(Flags::MARKED);
                self.records[record].marks += 1;
            }
        }
        self.note(Event::Enqueued, (link, queue), id, now);
        self.level(link, size, now);
        let state = &mut self.ports[port as usize];
        if let Some(pool) = state.pool {
            self.pools[pool as usize].used += u64::from(size);
        }
        if !is_sending && state.is_empty() && !state.is_scheduled {
            self.records[record].immediate += 1;
            self.send(link, port, queue, id, now);
            return;
        }
        state.push(queue, id, size, &mut self.arena);
        self.records[record].peak = self.records[record].peak.max(held + size);
        self.count(Sample { record: record as u32, kind: SampleKind::Found, value: u64::from(held) });
        self.schedule_service(link, now);
    }

    /// Puts the event of a port that is busy and has more to send.
    #[inline]
    pub(crate) fn schedule_service(&mut self, link: u32, now: Instant) {
        let actor = self.service_actor(link);
        let state = &self.links[link as usize];
        let Port::Queued(port) = state.port() else { return };
        let port = &mut self.ports[port as usize];
        if !port.is_scheduled {
            port.is_scheduled = true;
            self.events.put(state.free_at.max(now), actor);
        }
    }

    /// The event of a port that is free again: it sends the next packet.
    pub(crate) fn serve(&mut self, link: u32, now: Instant) {
        let Port::Queued(number) = self.links[link as usize].port() else { return };
        let port = &mut self.ports[number as usize];
        port.is_scheduled = false;
        if let Some(pool) = port.pool {
            let pool = &mut self.pools[pool as usize];
            pool.used = pool.used.saturating_sub(u64::from(port.last_sent()));
            port.send(0, 0);
        }
        if let Some((queue, id)) = port.pop(&mut self.arena) {
            let waited = now - self.arena.get(id).due;
            let record = (link as usize * self.stride + usize::from(queue)) as u32;
            self.count(Sample { record, kind: SampleKind::Wait { own: 0 }, value: waited });
            self.send(link, number, queue, id, now);
        }
    }

    /// An idle port sends a packet.
    fn send(&mut self, link: u32, number: u32, queue: u8, id: PacketId, now: Instant) {
        let packet = self.arena.get(id);
        let (size, asks) = (packet.size, packet.flags.has(Flags::TELEMETRY));
        let port = &mut self.ports[number as usize];
        port.send(queue, size);
        let has_more = !port.is_empty() || port.pool.is_some();
        if asks && self.marking[number as usize].1 {
            self.stamp(link, number, queue, id, now);
        }
        let state = &mut self.links[link as usize];
        let speeds = &self.speeds;
        let transmission = state.transmission(size, || speeds[link as usize]);
        state.sent_bytes += u64::from(size);
        let was_empty = state.append(id, transmission, now, &mut self.arena);
        let departs = state.free_at;
        self.hops += 1;
        self.note(Event::Departed, (link, queue), id, departs);
        if was_empty {
            let due = self.arena.get(id).due;
            self.events.put(due, link);
        }
        if has_more {
            self.schedule_service(link, now);
        }
    }

    /// The port writes its state into a packet that leaves.
    fn stamp(&mut self, link: u32, number: u32, queue: u8, id: PacketId, now: Instant) {
        let queued = self.ports[number as usize].held(queue, false);
        let hop = IntHop {
            rate: self.rates[link as usize],
            queue: Bytes::new(u64::from(queued)),
            sent: Bytes::new(self.links[link as usize].sent_bytes),
            at: clock::to_time(now),
            ..IntHop::default()
        };
        self.telemetry.push(self.arena.get(id).extra.telemetry(), hop);
    }

    /// A link fails: what is on it and what waits for it is lost.
    pub(crate) fn fail(&mut self, link: u32, now: Instant) -> Vec<PacketId> {
        let state = &mut self.links[link as usize];
        let mut gone = Vec::new();
        state.clear(now, &self.arena, |id| gone.push(id));
        match state.port() {
            Port::Fifo => state.limit = 0,
            Port::Queued(number) => {
                let port = &mut self.ports[number as usize];
                port.is_up = false;
                let sending = port.last_sent();
                let mut freed = if port.is_scheduled { u64::from(sending) } else { 0 };
                while let Some((_, id)) = port.pop(&mut self.arena) {
                    freed += u64::from(self.arena.get(id).size);
                    gone.push(id);
                }
                port.send(0, 0);
                if let Some(pool) = port.pool {
                    let pool = &mut self.pools[pool as usize];
                    pool.used = pool.used.saturating_sub(freed);
                }
            }
        }
        for &id in &gone {
            self.note(Event::Lost, (link, 0), id, now);
        }
        gone
    }

    /// A link works again.
    pub(crate) fn repair(&mut self, link: u32, limit: u32) {
        let state = &mut self.links[link as usize];
        match state.port() {
            Port::Fifo => state.limit = limit,
            Port::Queued(number) => self.ports[number as usize].is_up = true,
        }
    }

    /// A packet comes to a port: what it holds then, if that is recorded.
    #[inline]
    fn level(&mut self, link: u32, bytes: u32, now: Instant) {
        if self.levels.is_some() {
            self.record_level(link, bytes, now);
        }
    }

    #[cold]
    fn record_level(&mut self, link: u32, bytes: u32, now: Instant) {
        let state = &self.links[link as usize];
        let sending = state.free_at.saturating_sub(now);
        let mut held = clock::transmitted(sending, self.rates[link as usize]);
        if let Port::Queued(port) = state.port() {
            held += self.ports[port as usize].waiting_bytes();
        }
        if let Some(levels) = self.levels.as_mut().map(|levels| &mut levels[link as usize]) {
            if held == 0 && state.free_at <= now {
                levels.set(state.free_at, 0);
            }
            levels.set(now, held + u64::from(bytes));
        }
    }

    /// For the trace, if there is one.
    #[inline]
    pub(crate) fn note(&mut self, event: Event, place: (u32, u8), id: PacketId, at: Instant) {
        if self.recorder.is_some() {
            self.record(event, place, id, at);
        }
    }

    #[cold]
    fn record(&mut self, event: Event, place: (u32, u8), id: PacketId, at: Instant) {
        let packet = self.arena.get(id);
        let mut tags = 0;
        if packet.flags.has(Flags::TAGGED) {
            // One for each switch that is left.
            let from = packet.route as usize + usize::from(packet.hop.wrapping_add(1));
            tags = self.routes[from..].iter().take_while(|&&step| step != Step::END).count() as u8;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.note(event, place, packet, tags, at);
        }
    }

    /// Forgets what was counted so far: the warm-up is over.
    pub(crate) fn forget(&mut self) {
        self.samples.clear();
        self.records.iter_mut().for_each(|record| *record = QueueRecord::default());
        for link in &mut self.links {
            (link.sent_bytes, link.immediate) = (0, 0);
        }
    }

    /// Bytes of memory of what grows with traffic.
    pub(crate) fn memory(&self) -> usize {
        self.arena.memory() + self.events.memory()
    }
}

/// A buffer's size as links keep it.
pub(crate) fn limit(bytes: Option<Bytes>) -> u32 {
    bytes.map_or(NO_LIMIT, |bytes| u32::try_from(bytes.get()).unwrap_or(NO_LIMIT))
}
