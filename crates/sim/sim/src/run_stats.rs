//! Statistics of traffic and flows during a run.

mod credit;

use wayleave_scenarios::Endpoint;
use wayleave_units::{Bytes, Time};

use crate::clock::{self, Instant};
use crate::connections::ArrivedFlow;
use crate::flows::{Purpose, RpcStep};
use crate::outcome::{FlowOutcome, TrafficOutcome};
use crate::packet::{Flags, Packet};
use crate::stats::{Completions, Histogram, Histograms, Series};
use crate::transport::NEVER;

pub(crate) use credit::{Credit, FlowCounts};

/// Statistics of one flow, or of all short-lived flows of a traffic.
#[derive(Clone, Debug, Default)]
struct FlowRecord {
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

/// Rare counts.
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

/// Statistics of one traffic.
#[derive(Clone, Debug, Default)]
struct TrafficRecord {
    /// Flows, and requests with their answers.
    begun: u64,
    /// Flows, and answers for themselves: the number of the last one.
    opened: u64,
    completions: Completions,
    /// Of tasks, in ps since the first flow of their chain began.
    chains: Histogram,
    throughput: Option<Series>,
    round_trips: Option<Box<Histograms>>,
    host_waits: Histogram,
}

/// Statistics of a run.
#[derive(Debug)]
pub(crate) struct RunStats {
    /// Packets that were sent before are not counted.
    warmup: Instant,
    /// `true` if senders' round trips are recorded.
    has_round_trips: bool,
    flows: Vec<FlowRecord>,
    traffic: Vec<TrafficRecord>,
}

impl RunStats {
    /// Creates statistics for `traffic` kinds of traffic; `series` is the interval of their throughput, if recorded.
    pub(crate) fn new(traffic: usize, warmup: Time, series: Option<Time>) -> Self {
        let record = || TrafficRecord {
            throughput: series.map(|interval| Series::new(clock::from_time(interval))),
            round_trips: series.map(|interval| Box::new(Histograms::new(clock::from_time(interval)))),
            ..TrafficRecord::default()
        };
        Self {
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

    /// Marks the statistics as those of one of a flow's copies.
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

    /// A packet has come. `number`: the number within its flow, of which fast-forward leaves out some.
    #[inline]
    pub(crate) fn delivered(&mut self, flow: u32, packet: &Packet, number: impl FnOnce() -> u32, now: Instant) {
        if packet.sent < self.warmup {
            return;
        }
        let record = &mut self.flows[flow as usize];
        let delay = now - packet.sent;
        if delay > record.delay.max().unwrap_or(0) {
            record.slowest = number();
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

    /// Prefetches the statistics of flows whose packets are about to arrive.
    #[inline]
    pub(crate) fn prefetch(&self, flows: impl Iterator<Item = u32>) {
        let records = flows.map(|flow| &self.flows[flow as usize]);
        std::hint::black_box(records.fold(0, |seen, record| seen ^ record.delivered ^ record.delay.zeros()));
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

    /// A segment leaves the queues of its sending host.
    pub(crate) fn left_host(&mut self, traffic: u32, sent: Instant, now: Instant) {
        if self.has_round_trips && sent >= self.warmup {
            self.traffic[traffic as usize].host_waits.record(now - sent);
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

    /// Records a task that is over; `took` is the time since the start of its chain.
    pub(crate) fn chained(&mut self, purpose: &Purpose, took: Instant) {
        if purpose.began >= self.warmup {
            self.traffic[purpose.traffic as usize].chains.record(took);
        }
    }

    /// A flow is opened: which one of its traffic it is. The answer of a request begins nothing.
    pub(crate) fn opened(&mut self, purpose: &Purpose) -> u64 {
        let record = &mut self.traffic[purpose.traffic as usize];
        record.begun += u64::from(purpose.step == RpcStep::None);
        record.opened += 1;
        record.opened
    }

    /// A request begins.
    pub(crate) fn requested(&mut self, traffic: u32) {
        self.traffic[traffic as usize].begun += 1;
    }

    /// Records a flow or request that is not complete when the run ends.
    pub(crate) fn unfinished(&mut self, purpose: &Purpose, end: Instant) {
        if self.counts(purpose.began) {
            let record = &mut self.traffic[purpose.traffic as usize];
            record.completions.record_unfinished(purpose.bytes, end - purpose.began, purpose.deadline());
        }
    }

    /// A flow that arrived is not open when the run ends.
    pub(crate) fn waiting(&mut self, traffic: usize, flow: &ArrivedFlow, end: Instant) {
        let is_counted = self.counts(flow.at);
        let record = &mut self.traffic[traffic];
        record.begun += 1;
        if is_counted {
            let deadline = Some(flow.deadline).filter(|&deadline| deadline != NEVER);
            record.completions.record_unfinished(flow.bytes, end - flow.at, deadline);
        }
    }

    /// Returns `true` if flows that began at a time are counted.
    pub(crate) fn counts(&self, began: Instant) -> bool {
        began >= self.warmup
    }

    pub(crate) fn warmup(&self) -> Time {
        clock::to_time(self.warmup)
    }

    /// Ends the warm-up; packets in flight since before are not counted later either.
    pub(crate) fn forget(&mut self) {
        for record in &mut self.flows {
            record.payload = 0;
            let Rare { from, to, copy, .. } = *record.rare;
            *record.rare = Rare { from, to, copy, ..Rare::default() };
        }
    }

    /// Adds another part's statistics at the end of a run. Starts of flows are counted in all parts alike.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (own, theirs) in self.flows.iter_mut().zip(other.flows) {
            // If one flow is counted for itself, all its packets arrive in one part.
            if theirs.delay.max() > own.delay.max() {
                own.slowest = theirs.slowest;
            }
            own.delay.merge(&theirs.delay);
            own.delivered += theirs.delivered;
            own.delivered_bytes += theirs.delivered_bytes;
            own.sent += theirs.sent;
            own.sent_bytes += theirs.sent_bytes;
            own.payload += theirs.payload;
            let Rare { from: _, to: _, drops, again, duplicates, timeouts, marked, copy: _ } = *theirs.rare;
            own.rare.drops += drops;
            own.rare.again += again;
            own.rare.duplicates += duplicates;
            own.rare.timeouts += timeouts;
            own.rare.marked += marked;
        }
        for (own, theirs) in self.traffic.iter_mut().zip(&other.traffic) {
            own.completions.merge(&theirs.completions);
        }
    }

    /// Returns the statistics: by kind of traffic, with these names, and by flow.
    pub(crate) fn outcomes(self, names: impl Iterator<Item = String>) -> (Vec<TrafficOutcome>, Vec<FlowOutcome>) {
        let traffic = names.zip(self.traffic).map(|(name, record)| TrafficOutcome {
            name,
            begun: record.begun,
            completions: record.completions,
            chains: record.chains,
            throughput: record.throughput,
            round_trips: record.round_trips,
            host_waits: record.host_waits,
        });
        (traffic.collect(), self.flows.into_iter().map(FlowOutcome::from).collect())
    }
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
