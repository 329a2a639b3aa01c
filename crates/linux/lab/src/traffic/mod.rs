//! Real packets with their send time, from endpoint to endpoint, and their outcomes.
//!
//! A packet carries the number of its flow, its own number, and the time when it was sent; the kernel stamps the time
//! of reception, by the same clock. So a delay is one-way, and the receiver's thread may be late. The send time is
//! taken before the packet is handed to the kernel: time that the sender waits there counts against the network.
//!
//! Few threads serve many flows. A socket belongs to the namespace in which it was opened, even if its thread later
//! enters another.

mod flow;
mod packet;
mod probe;
mod receiver;
mod report;
mod sender;
mod source;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use crate::clock;
use crate::error::LabError;

pub use flow::{HEADERS, LabFlow, LabLoad};
pub use probe::{ProbeResult, Prober, SMALLEST_PROBE};
pub use report::{Arrival, Bounds, FlowReport};

use flow::Counts;
use packet::HEADER;
use receiver::{Inbox, receive};
use sender::{Outbox, send};

/// Threads that send, and threads that receive.
const THREADS: usize = 2;
/// Time without an arrival after which the network counts as empty.
const SILENCE: Duration = Duration::from_millis(500);
/// Maximum time in which the network becomes empty.
const TIMEOUT: Duration = Duration::from_secs(20);
/// From the start of the threads to the first packet, so that all begin together.
const LEAD_NS: u64 = 200_000_000;

/// The smallest payload: the packet's number and its time.
pub const PAYLOAD: usize = HEADER;

/// Flows that send.
#[derive(Debug)]
pub struct RunningTraffic {
    specs: Vec<LabFlow>,
    counts: Arc<[Counts]>,
    begins: u64,
    senders_end: Arc<AtomicBool>,
    receivers_end: Arc<AtomicBool>,
    senders: Vec<JoinHandle<()>>,
    receivers: Vec<JoinHandle<Vec<Inbox>>>,
}

/// Counters of the packets that have arrived of each flow.
#[derive(Clone, Debug)]
pub struct ArrivalCounts(Arc<[Counts]>);

impl ArrivalCounts {
    /// In the order of the flows.
    pub fn all(&self) -> Vec<u64> {
        self.0.iter().map(|counts| counts.received.load(Relaxed)).collect()
    }
}

impl RunningTraffic {
    /// Opens all sockets and begins to send.
    ///
    /// # Errors
    /// If a namespace or a port cannot be used.
    pub fn start(specs: Vec<LabFlow>) -> Result<Self, LabError> {
        if let Some(small) = specs.iter().find(|spec| spec.payload < HEADER) {
            let why = "a packet needs 24 B for its sequence number and timestamp";
            return Err(LabError::Endpoint { endpoint: small.name.clone(), why });
        }
        let counts: Arc<[Counts]> = specs.iter().map(|_| Counts::default()).collect();
        let (senders_end, receivers_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut inboxes =
            specs.iter().enumerate().map(|(index, spec)| Inbox::open(index, spec)).collect::<Result<Vec<_>, _>>()?;
        let mut outboxes = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            let outbox = Outbox::open(index, spec)?;
            match spec.load {
                LabLoad::Answers { to } => {
                    let asked = inboxes.get_mut(to).filter(|_| to != index);
                    let why = "it replies to an unknown flow, or to itself";
                    let missing = || LabError::Endpoint { endpoint: spec.name.clone(), why };
                    asked.ok_or_else(missing)?.answer_with(outbox);
                }
                _ => outboxes.push(outbox),
            }
        }
        let begins = clock::stamp() + LEAD_NS;
        let receivers = dealt(inboxes).into_iter().map(|inboxes| {
            let (counts, end) = (Arc::clone(&counts), Arc::clone(&receivers_end));
            thread::spawn(move || receive(inboxes, &counts, &end))
        });
        let receivers = receivers.collect();
        let senders = dealt(outboxes).into_iter().map(|outboxes| {
            let (counts, end) = (Arc::clone(&counts), Arc::clone(&senders_end));
            thread::spawn(move || send(outboxes, begins, &counts, &end))
        });
        let senders = senders.collect();
        Ok(Self { specs, counts, begins, senders_end, receivers_end, senders, receivers })
    }

    /// Returns the time of the first packets, in nanoseconds of the calendar's clock.
    pub const fn begins(&self) -> u64 {
        self.begins
    }

    /// Returns the counters of arrived packets, which can be read during the run and afterwards.
    pub fn arrived(&self) -> ArrivalCounts {
        ArrivalCounts(Arc::clone(&self.counts))
    }

    /// Packets sent until now by the flow that has sent least.
    pub fn least_sent(&self) -> u64 {
        self.counts.iter().map(|counts| counts.sent.load(Relaxed)).min().unwrap_or(0)
    }

    /// Stops sending, waits until the network is empty, and returns the report of each flow.
    pub fn stop(self) -> Vec<FlowReport> {
        self.senders_end.store(true, Relaxed);
        for thread in self.senders {
            // A thread that panicked has printed a message; its packets are counted.
            let _ = thread.join();
        }
        let received = || self.counts.iter().map(|counts| counts.received.load(Relaxed)).sum::<u64>();
        let (start, mut before) = (Instant::now(), received());
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < SILENCE && start.elapsed() < TIMEOUT {
            sleep(Duration::from_millis(20));
            let now = received();
            if now != before {
                (before, quiet_since) = (now, Instant::now());
            }
        }
        self.receivers_end.store(true, Relaxed);
        let mut inboxes: Vec<Inbox> =
            self.receivers.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect();
        inboxes.sort_by_key(|inbox| inbox.index);
        let sent = |inbox: &Inbox| self.counts[inbox.index].sent.load(Relaxed);
        inboxes
            .into_iter()
            .map(|inbox| {
                let (sent, spec) = (sent(&inbox), &self.specs[inbox.index]);
                inbox.report(spec, sent)
            })
            .collect()
    }
}

/// Deals things to the threads.
fn dealt<T>(things: Vec<T>) -> Vec<Vec<T>> {
    let mut hands: Vec<Vec<T>> = (0..THREADS).map(|_| Vec::new()).collect();
    for (index, thing) in things.into_iter().enumerate() {
        hands[index % THREADS].push(thing);
    }
    hands.retain(|hand| !hand.is_empty());
    hands
}
