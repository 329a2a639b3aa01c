//! What a run counts, and what it says in the end.

use std::collections::HashSet;

use wayleave_scenarios::Endpoint;
use wayleave_topology::{Link, LinkId, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::clock::{self, Instant};
use crate::connections::Connections;
use crate::edge::SharingOutcome;
use crate::fabric::QueueRecord;
use crate::flows::{FlowState, Purpose, RpcStep};
use crate::link::Port;
use crate::packet::{Flags, Packet};
use crate::recorder::Recording;
use crate::stats::{Completions, Histogram, Histograms, Levels, Series};
use crate::transport::NEVER;

/// What is counted of one flow, or of all flows of a traffic that come and go.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowRecord {
    /// From release to the last bit at the receiver, in ps.
    delay: Histogram,
    delivered: u64,
    delivered_bytes: u64,
    sent: u64,
    sent_bytes: u64,
    payload: u64,
    traffic: u32,
    /// The number of the packet that took longest.
    slowest: u32,
    rare: Box<Rare>,
}

/// What happens seldom.
#[derive(Clone, Debug, Default)]
struct Rare {
    from: Option<Endpoint>,
    to: Option<Endpoint>,
    drops: u64,
    again: u64,
    duplicates: u64,
    timeouts: u64,
    marked: u64,
    copy: Option<u32>,
}

/// What is counted of one traffic.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrafficRecord {
    /// Flows, and requests with their answers.
    pub(crate) begun: u64,
    /// Flows, and answers for themselves: the number of the last one.
    pub(crate) opened: u64,
    completions: Completions,
    throughput: Option<Series>,
    round_trips: Option<Box<Histograms>>,
}

/// What is counted.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    /// Packets that were sent before are not counted.
    warmup: Instant,
    /// Whether senders' round trips are recorded.
    has_round_trips: bool,
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) traffic: Vec<TrafficRecord>,
}

impl Tally {
    /// For so many kinds of traffic; `series` is the interval of their throughput, if it is recorded.
    pub(crate) fn new(traffic: usize, warmup: Time, series: Option<Time>) -> Self {
        let record = || TrafficRecord {
            throughput: series.map(|interval| Series::new(clock::from_time(interval))),
            round_trips: series.map(|interval| Box::new(Histograms::new(clock::from_time(interval)))),
            ..TrafficRecord::default()
        };
        Self {
            events: 0,
            warmup: clock::from_time(warmup),
            has_round_trips: series.is_some(),
            flows: Vec::new(),
            traffic: (0..traffic).map(|_| record()).collect(),
        }
    }

    /// A place to count at.
    pub(crate) fn open(&mut self, traffic: u32, ends: Option<(Endpoint, Endpoint)>) -> u32 {
        let rare = Rare { from: ends.map(|ends| ends.0), to: ends.map(|ends| ends.1), ..Rare::default() };
        self.flows.push(FlowRecord { traffic, rare: Box::new(rare), ..FlowRecord::default() });
        (self.flows.len() - 1) as u32
    }

    /// The flows of a traffic.
    pub(crate) fn flows_of(&self, traffic: u32) -> Vec<u32> {
        let numbered = (0..).zip(&self.flows);
        numbered.filter(|(_, flow)| flow.traffic == traffic).map(|(number, _)| number).collect()
    }

    /// What is counted there is one of a flow's copies.
    pub(crate) fn is_copy(&mut self, flow: u32, number: u32) {
        self.flows[flow as usize].rare.copy = Some(number);
    }

    #[inline]
    pub(crate) fn sent(&mut self, flow: u32, packet: &Packet) {
        if packet.sent < self.warmup {
            return;
        }
        let record = &mut self.flows[flow as usize];
        record.sent += 1;
        record.sent_bytes += u64::from(packet.size);
        if packet.flags.has(Flags::AGAIN) {
            record.rare.again += 1;
        }
    }

    #[inline]
    pub(crate) fn delivered(&mut self, flow: u32, packet: &Packet, now: Instant) {
        if packet.sent < self.warmup {
            return;
        }
        let record = &mut self.flows[flow as usize];
        let delay = now - packet.sent;
        if delay > record.delay.max().unwrap_or(0) {
            record.slowest = packet.sequence;
        }
        record.delay.record(delay);
        record.delivered += 1;
        record.delivered_bytes += u64::from(packet.size);
        if packet.flags.has(Flags::MARKED) {
            record.rare.marked += 1;
        }
        if let Some(series) = &mut self.traffic[record.traffic as usize].throughput {
            series.add(now, u64::from(packet.size));
        }
    }

    #[inline]
    pub(crate) fn payload(&mut self, flow: u32, bytes: u32) {
        self.flows[flow as usize].payload += u64::from(bytes);
    }

    /// A segment that was sent at a time is acknowledged.
    #[inline]
    pub(crate) fn acknowledged(&mut self, traffic: u32, sent: Instant, now: Instant) {
        if self.has_round_trips && sent >= self.warmup {
            self.round_trip(traffic, now - sent, now);
        }
    }

    #[cold]
    fn round_trip(&mut self, traffic: u32, took: Instant, now: Instant) {
        if let Some(round_trips) = &mut self.traffic[traffic as usize].round_trips {
            round_trips.record(now, took);
        }
    }

    pub(crate) fn duplicate(&mut self, flow: u32) {
        self.flows[flow as usize].rare.duplicates += 1;
    }

    pub(crate) fn dropped(&mut self, flow: u32, packet: &Packet) {
        if packet.sent >= self.warmup {
            self.flows[flow as usize].rare.drops += 1;
        }
    }

    pub(crate) fn timed_out(&mut self, flow: u32) {
        self.flows[flow as usize].rare.timeouts += 1;
    }

    /// A flow, or a request with its answer, is complete.
    pub(crate) fn completed(&mut self, purpose: &Purpose, took: Instant, ideal: Instant) {
        if purpose.began >= self.warmup {
            let record = &mut self.traffic[purpose.traffic as usize];
            record.completions.record(purpose.bytes, took, ideal, purpose.deadline());
        }
    }

    /// The warm-up is over; what is on the way since before is not counted later either.
    pub(crate) fn forget(&mut self) {
        for record in &mut self.flows {
            record.payload = 0;
            let Rare { from, to, copy, .. } = *record.rare;
            *record.rare = Rare { from, to, copy, ..Rare::default() };
        }
    }
}

/// What a run found out. Nothing that was sent during the warm-up is in it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Of the scenario.
    pub name: String,
    /// Of its random numbers.
    pub seed: u64,
    /// How far it came.
    pub simulated: Time,
    /// Of that, what is counted.
    pub counted: Time,
    /// Whether it came to its end.
    pub ending: crate::Ending,
    /// Packets put on links.
    pub hops: u64,
    /// Events that were dealt with.
    pub events: u64,
    /// The most packets that there were at once.
    pub peak_packets: u64,
    /// Bytes that packets and events took at most.
    pub packet_memory: u64,
    /// By kind of traffic.
    pub traffic: Vec<TrafficOutcome>,
    /// By flow, or by traffic where flows come and go.
    pub flows: Vec<FlowOutcome>,
    /// Every queue that something passed.
    pub queues: Vec<QueueOutcome>,
    /// Every shared service that something passed.
    pub services: Vec<ServiceOutcome>,
    /// By link.
    pub links: Vec<LinkOutcome>,
    /// How hosts shared, if they did.
    pub sharing: Option<SharingOutcome>,
    /// For the trace, if one was asked for.
    pub recording: Option<Recording>,
}

/// One kind of traffic.
#[derive(Clone, Debug)]
pub struct TrafficOutcome {
    /// Its name.
    pub name: String,
    /// Flows or requests that began, also during the warm-up.
    pub begun: u64,
    /// Those that began after it and were completed.
    pub completions: Completions,
    /// Bytes on the wire that arrived, over time.
    pub throughput: Option<Series>,
    /// Of segments and their acknowledgements, in ps, as senders see them, over time, if that is recorded: by when the
    /// acknowledgement came.
    pub round_trips: Option<Box<Histograms>>,
}

/// One flow, or all flows of a traffic that come and go.
#[derive(Clone, Debug)]
pub struct FlowOutcome {
    /// Index of its traffic.
    pub traffic: usize,
    /// Its sender, if it is one flow.
    pub from: Option<NodeId>,
    /// Its receiver, if it is one flow.
    pub to: Option<NodeId>,
    /// The endpoints at both, as [`Endpoint::number`] counts them: 0 is the host itself.
    pub endpoints: (u32, u32),
    /// Of its packets, in ps, from release by the sender to the last bit at the receiver.
    pub delay: Histogram,
    /// The number of the packet that took longest, from 0.
    pub slowest: u32,
    /// Packets.
    pub sent: u64,
    /// On the wire of the first link.
    pub sent_bytes: Bytes,
    /// Packets.
    pub delivered: u64,
    /// On the wire of the last link.
    pub delivered_bytes: Bytes,
    /// Payload that arrived for the first time (reliable flows).
    pub payload: Bytes,
    /// Packets that were lost on the way, acknowledgements among them.
    pub drops: u64,
    /// Segments that were sent again.
    pub again: u64,
    /// Segments that arrived twice, or copies that were removed.
    pub duplicates: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Where packets go over several routes: the copies that went over this one of them, from 0. The flow itself, for which the
    /// first copy of each packet counts, is `None` as any other; what was sent of it and never delivered was lost on
    /// every route.
    pub copy: Option<u32>,
}

/// One queue.
#[derive(Clone, Debug)]
pub struct QueueOutcome {
    /// The link that its port sends on.
    pub link: LinkId,
    /// 0 is the highest.
    pub queue: u8,
    /// What was counted there.
    pub counts: QueueCounts,
}

/// The buffer before the one service of a switch whose ports share it.
#[derive(Clone, Debug)]
pub struct ServiceOutcome {
    /// Which.
    pub switch: NodeId,
    /// What was counted there.
    pub counts: QueueCounts,
}

/// What is counted where packets wait.
#[derive(Clone, Debug)]
pub struct QueueCounts {
    /// From coming to being sent, in ps.
    pub wait: Histogram,
    /// Bytes that packets found there.
    pub found: Histogram,
    /// The most that it held when a packet had to wait, with that packet; zero if none had to. Of a packet that is being
    /// sent, first-come-first-served ports count what has not left, other ports all of it.
    pub peak: Bytes,
    /// Packets that found no room.
    pub drops: u64,
    /// Packets that were marked.
    pub marks: u64,
}

/// One link.
#[derive(Clone, Debug)]
pub struct LinkOutcome {
    /// Which.
    pub link: LinkId,
    /// Put on it.
    pub sent: Bytes,
    /// Share of its rate.
    pub utilisation: f64,
    /// Packets that were lost on the way into it or on it while it was down and nobody was told. They are drops of their
    /// flows, and no counter of the port has them.
    pub lost_silently: u64,
    /// What its port holds over time, if that was recorded: exact where a packet comes, and no more than that until
    /// the next one comes. It is not reset by the warm-up.
    pub backlog: Option<Levels>,
}

impl crate::engine::Engine {
    /// The end of a run.
    pub(crate) fn outcome(mut self, name: &str, seed: u64, ending: crate::Ending) -> Outcome {
        let simulated = clock::to_time(self.now);
        let warmup = clock::to_time(self.tally.warmup);
        let counted = simulated.saturating_sub(warmup);
        self.note_unfinished();
        self.note_waiting();
        let network = self.spec.network.clone();
        let sharing = self.sharing_outcome();
        let (queues, services) = (self.queue_outcomes(), self.service_outcomes());
        let mut levels = self.fabric.levels.take().map(Vec::into_iter);
        let link = |(id, link): (LinkId, &Link)| {
            let state = &self.fabric.links[id.index()];
            let mut backlog = levels.as_mut().and_then(Iterator::next);
            let is_empty = match state.port() {
                Port::Fifo => true,
                Port::Queued(port) => self.fabric.ports[port as usize].is_empty(),
            };
            if let Some(backlog) = backlog.as_mut().filter(|_| is_empty && state.free_at <= self.now) {
                backlog.set(state.free_at, 0);
            }
            let utilisation = share(state.sent_bytes, link.rate, counted);
            let lost_silently = self.fabric.health[id.index()].lost_silently;
            LinkOutcome { link: id, sent: Bytes::new(state.sent_bytes), utilisation, lost_silently, backlog }
        };
        let links = network.links().map(link).collect();
        let names = self.spec.traffic.iter().map(|traffic| traffic.name.clone());
        let traffic = names.zip(std::mem::take(&mut self.tally.traffic)).map(|(name, record)| TrafficOutcome {
            name,
            begun: record.begun,
            completions: record.completions,
            throughput: record.throughput,
            round_trips: record.round_trips,
        });
        Outcome {
            name: name.to_owned(),
            seed,
            simulated,
            counted,
            ending,
            hops: self.fabric.hops,
            events: self.tally.events,
            peak_packets: u64::from(self.fabric.arena.peak()),
            packet_memory: self.fabric.memory() as u64,
            traffic: traffic.collect(),
            flows: std::mem::take(&mut self.tally.flows).into_iter().map(FlowOutcome::from).collect(),
            queues,
            services,
            links,
            sharing,
            recording: self.fabric.recorder.take().map(|recorder| recorder.finish(self.now)),
        }
    }

    /// Flows that are still under way, and requests that are not answered yet.
    fn note_unfinished(&mut self) {
        // A request may have several parts under way, and is unfinished once.
        let mut requests = HashSet::new();
        for flow in &self.flows {
            let is_open = matches!(flow.state, FlowState::Waiting | FlowState::Ready | FlowState::Held);
            let is_complete = flow.sender.segments() == Some(flow.receiver.expected());
            let purpose = &flow.purpose;
            let is_counted = is_open && !is_complete && purpose.bytes != u64::MAX && purpose.began >= self.tally.warmup;
            if is_counted && (purpose.step == RpcStep::None || requests.insert((purpose.traffic, purpose.pair))) {
                let record = &mut self.tally.traffic[purpose.traffic as usize];
                record.completions.record_unfinished(purpose.bytes, self.now - purpose.began, purpose.deadline());
            }
        }
    }

    /// Flows that still wait for a connection.
    fn note_waiting(&mut self) {
        for (spec, record) in self.spec.traffic.iter().zip(&mut self.tally.traffic) {
            for flow in spec.connections.iter().flat_map(Connections::waiting) {
                record.begun += 1;
                if flow.at >= self.tally.warmup {
                    let deadline = Some(flow.deadline).filter(|&deadline| deadline != NEVER);
                    record.completions.record_unfinished(flow.bytes, self.now - flow.at, deadline);
                }
            }
        }
    }

    fn queue_outcomes(&mut self) -> Vec<QueueOutcome> {
        let stride = self.fabric.stride;
        let mut outcomes = Vec::new();
        let links = self.spec.network.links().len();
        for link in 0..links {
            self.fabric.flush_immediate(link as u32);
            for queue in 0..stride {
                if let Some(counts) = self.counts(link, queue) {
                    outcomes.push(QueueOutcome { link: LinkId(link as u32), queue: queue as u8, counts });
                }
            }
        }
        outcomes
    }

    fn service_outcomes(&mut self) -> Vec<ServiceOutcome> {
        let first = self.spec.network.links().len();
        let mut outcomes = Vec::new();
        for (index, switch) in self.spec.services.clone().into_iter().enumerate() {
            self.fabric.flush_immediate((first + index) as u32);
            outcomes.extend(self.counts(first + index, 0).map(|counts| ServiceOutcome { switch, counts }));
        }
        outcomes
    }

    /// What was counted at a queue, if anything passed it.
    fn counts(&mut self, link: usize, queue: usize) -> Option<QueueCounts> {
        let mut record = std::mem::take(&mut self.fabric.records[link * self.fabric.stride + queue]);
        record.wait.record_many(0, record.immediate);
        if let Some(found) = &mut record.found {
            found.record_many(0, record.immediate);
        }
        if record.wait.count() == 0 && record.drops == 0 {
            return None;
        }
        let rate = self.fabric.rates[link];
        let found = record.found.map_or_else(|| workload(&record.wait, rate), |found| *found);
        let peak = match self.fabric.links[link].port() {
            Port::Fifo => clock::transmitted(record.longest, rate),
            Port::Queued(_) => u64::from(record.peak),
        };
        let QueueRecord { wait, drops, marks, .. } = record;
        Some(QueueCounts { wait, found, peak: Bytes::new(peak), drops, marks })
    }
}

/// First come, first served, a packet waits for the bytes that it finds.
fn workload(wait: &Histogram, rate: Rate) -> Histogram {
    let mut found = Histogram::new();
    for bucket in wait.iter() {
        let bits = u128::from(bucket.high) * u128::from(rate.bits_per_second()) / u128::from(clock::PS_PER_SECOND);
        found.record_many(u64::try_from(bits / 8).unwrap_or(u64::MAX), bucket.count);
    }
    found
}

fn share(sent: u64, rate: Rate, time: Time) -> f64 {
    let possible = rate.bits_per_second() as f64 * time.as_nanos() as f64 / 1e9;
    if possible > 0.0 { sent as f64 * 8.0 / possible } else { 0.0 }
}

impl From<FlowRecord> for FlowOutcome {
    fn from(record: FlowRecord) -> Self {
        let Rare { from, to, drops, again, duplicates, timeouts, marked, copy } = *record.rare;
        Self {
            traffic: record.traffic as usize,
            from: from.map(|end| end.host),
            to: to.map(|end| end.host),
            endpoints: (from.map_or(0, |end| end.number), to.map_or(0, |end| end.number)),
            delay: record.delay,
            slowest: record.slowest,
            sent: record.sent,
            sent_bytes: Bytes::new(record.sent_bytes),
            delivered: record.delivered,
            delivered_bytes: Bytes::new(record.delivered_bytes),
            payload: Bytes::new(record.payload),
            drops,
            again,
            duplicates,
            timeouts,
            marked,
            copy,
        }
    }
}
