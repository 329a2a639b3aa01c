//! Machines in a fluid network: lines, one link that all may have to pass, feedback that is late or lost.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use wayleave_policy::{
    Arrivals, Bucket, ClassId, Demand, Host, HostAction, HostInput, Incoming, Limiter, Origin, Outgoing, PairSpec,
    PathIndex, Peer, Share,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::super::{Eyeq, Feedback, Line, Params, Timer};
use crate::random::SplitMix;

/// One step.
pub(super) const STEP: Time = Time::from_micros(10);
const STEP_SECONDS: f64 = 10e-6;
const PACKET: f64 = 1500.0;
/// Above this a queue marks (Parley, Table 1).
const MARK: f64 = 80_000.0;
/// More than this does not fit into a queue.
const BUFFER: f64 = 1_000_000.0;

pub(super) struct Pair {
    pub(super) class: ClassId,
    pub(super) from: usize,
    pub(super) to: usize,
    /// What it would like to send, in bit/s.
    pub(super) demand: f64,
    bucket: Option<Bucket>,
    waits: bool,
    /// Arrived, in bytes, and not told yet.
    owed: f64,
    marked: f64,
    sent: f64,
    /// Arrived since the last reading.
    arrived: f64,
}

/// A queue before a link, in bytes of each pair.
#[derive(Clone)]
struct Queue {
    rate: f64,
    bytes: Vec<f64>,
}

impl Queue {
    fn new(rate: f64) -> Self {
        Self { rate, bytes: Vec::new() }
    }

    /// Takes bytes in, gives bytes out; whether they are marked.
    fn pass(&mut self, arriving: &[f64]) -> (Vec<f64>, bool) {
        self.bytes.resize(arriving.len(), 0.0);
        for (bytes, more) in self.bytes.iter_mut().zip(arriving) {
            *bytes += more;
        }
        let all: f64 = self.bytes.iter().sum();
        let part = (self.rate * STEP_SECONDS / 8.0 / all.max(1e-9)).min(1.0);
        let out: Vec<f64> = self.bytes.iter().map(|bytes| bytes * part).collect();
        let rest = all * (1.0 - part);
        let kept = (1.0 - part) * (BUFFER / rest.max(1.0)).min(1.0);
        self.bytes.iter_mut().for_each(|bytes| *bytes *= kept);
        (out, rest > MARK)
    }
}

/// When, in which order, to which host, to which of its pairs, which rate.
type Feedbacks = (Time, u64, usize, usize, u64);

/// When, in which order, of which host; of an interval, or of a pair.
type Timers = (Time, u64, usize, Option<(u32, u32)>);

pub(super) struct Fluid {
    pub(super) now: Time,
    pub(super) hosts: Vec<Eyeq>,
    pub(super) pairs: Vec<Pair>,
    roots: BTreeMap<(usize, ClassId), Bucket>,
    /// The link that everything passes, if there is one.
    shared: Option<Queue>,
    last: Vec<Queue>,
    line: f64,
    delay: Time,
    loss: f64,
    random: SplitMix,
    messages: BinaryHeap<Reverse<Feedbacks>>,
    timers: BinaryHeap<Reverse<Timers>>,
    sequence: u64,
    pub(super) root_changes: usize,
    pub(super) pair_lifts: usize,
    pub(super) ticks: usize,
}

impl Fluid {
    pub(super) fn new(hosts: usize, line: Rate, params: &Params, seed: u64) -> Self {
        println!("seed {seed}");
        let shapers = (0..hosts).map(|_| Eyeq::new(Line::both(line), params.clone()).unwrap());
        let line = line.bits_per_second() as f64;
        let mut fluid = Self {
            now: Time::ZERO,
            hosts: shapers.collect(),
            pairs: Vec::new(),
            roots: BTreeMap::new(),
            shared: None,
            last: vec![Queue::new(line); hosts],
            line,
            delay: Time::from_micros(20),
            loss: 0.0,
            random: SplitMix::new(seed),
            messages: BinaryHeap::new(),
            timers: BinaryHeap::new(),
            sequence: 0,
            root_changes: 0,
            pair_lifts: 0,
            ticks: 0,
        };
        for host in 0..hosts {
            fluid.tell(host, HostInput::Started);
        }
        fluid
    }

    pub(super) fn share_one_link(&mut self, rate: Rate) {
        self.shared = Some(Queue::new(rate.bits_per_second() as f64));
    }

    pub(super) fn delay_feedback(&mut self, delay: Time, loss: f64) {
        (self.delay, self.loss) = (delay, loss);
    }

    pub(super) fn set_class(&mut self, host: usize, class: u32, share: Share) {
        self.tell(host, HostInput::ClassSet { class: ClassId(class), transmit: share, receive: share });
    }

    /// A pair of one class, which wants as much as there is.
    pub(super) fn open(&mut self, class: u32, from: usize, to: usize) -> usize {
        self.open_between([class, class], from, to)
    }

    pub(super) fn open_between(&mut self, classes: [u32; 2], from: usize, to: usize) -> usize {
        let [class, peer_class] = classes.map(ClassId);
        let number = self.pairs.len();
        self.pairs.push(Pair {
            class,
            from,
            to,
            demand: f64::INFINITY,
            bucket: None,
            waits: true,
            owed: 0.0,
            marked: 0.0,
            sent: 0.0,
            arrived: 0.0,
        });
        let spec = |class, peer_class, peer| PairSpec {
            class,
            peer_class,
            peer: NodeId(peer as u32),
            key: number as u64,
            paths: 1,
            round_trip: Time::from_micros(40),
        };
        self.tell(from, HostInput::Opened { pair: Outgoing(number as u32), spec: spec(class, peer_class, to) });
        self.tell(to, HostInput::IncomingOpened { pair: Incoming(number as u32), spec: spec(peer_class, class, from) });
        number
    }

    /// Runs, and says what arrived of each pair meanwhile, in Gbit/s.
    pub(super) fn run(&mut self, time: Time) -> Vec<f64> {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
        let seconds = time.as_nanos() as f64 / 1e9;
        let rate = |pair: &mut Pair| std::mem::take(&mut pair.arrived) * 8e-9 / seconds;
        self.pairs.iter_mut().map(rate).collect()
    }

    fn step(&mut self) {
        self.now += STEP;
        self.fire();
        let rates = self.sending_rates();
        self.tell_sent(&rates);
        let mut bytes: Vec<f64> = rates.iter().map(|rate| rate * STEP_SECONDS / 8.0).collect();
        let mut marked = vec![false; bytes.len()];
        if let Some(shared) = &mut self.shared {
            let (out, is_marked) = shared.pass(&bytes);
            (bytes, marked) = (out, vec![is_marked; rates.len()]);
        }
        for host in 0..self.hosts.len() {
            let here = |(pair, &bytes): (&Pair, &f64)| if pair.to == host { bytes } else { 0.0 };
            let arriving: Vec<f64> = self.pairs.iter().zip(&bytes).map(here).collect();
            let (out, is_marked) = self.last[host].pass(&arriving);
            for (number, bytes) in out.into_iter().enumerate().filter(|&(_, bytes)| bytes > 0.0) {
                let pair = &mut self.pairs[number];
                pair.owed += bytes;
                pair.arrived += bytes;
                if is_marked || marked[number] {
                    pair.marked += bytes;
                }
            }
        }
        self.tell_received();
    }

    /// What each pair sends: its demand, its limiter, its class's, its line.
    fn sending_rates(&mut self) -> Vec<f64> {
        let limit = |bucket: Option<&Bucket>| bucket.map_or(f64::INFINITY, |b| b.rate.bits_per_second() as f64);
        let mut rates: Vec<f64> = self.pairs.iter().map(|pair| pair.demand.min(limit(pair.bucket.as_ref()))).collect();
        for (&(host, class), root) in &self.roots {
            let of = |pair: &Pair| pair.from == host && pair.class == class;
            hold(&mut rates, &self.pairs, of, limit(Some(root)));
        }
        for host in 0..self.hosts.len() {
            hold(&mut rates, &self.pairs, |pair| pair.from == host, self.line);
        }
        rates
    }

    fn tell_sent(&mut self, rates: &[f64]) {
        for (number, &rate) in rates.iter().enumerate() {
            let pair = &mut self.pairs[number];
            let (from, outgoing) = (pair.from, Outgoing(number as u32));
            pair.sent += rate * STEP_SECONDS / 8.0;
            let bytes = Bytes::new(pair.sent as u64);
            pair.sent = pair.sent.fract();
            let waits = pair.demand > rate * 1.000_001;
            let changed = std::mem::replace(&mut pair.waits, waits) != waits;
            if bytes > Bytes::ZERO {
                self.tell(from, HostInput::Sent { pair: outgoing, path: PathIndex(0), bytes });
            }
            if changed {
                let demand = if waits { Demand::Begins } else { Demand::Ends };
                self.tell(from, HostInput::Demand { pair: outgoing, demand });
            }
        }
    }

    /// Packet by packet, in random order.
    fn tell_received(&mut self) {
        let mut ready: Vec<usize> = (0..self.pairs.len()).filter(|&number| self.pairs[number].owed >= PACKET).collect();
        while !ready.is_empty() {
            let at = self.random.below(ready.len() as u32) as usize;
            let number = ready[at];
            let pair = &mut self.pairs[number];
            pair.owed -= PACKET;
            let marked = if pair.marked >= PACKET { PACKET } else { 0.0 };
            pair.marked -= marked;
            let to = pair.to;
            if pair.owed < PACKET {
                ready.swap_remove(at);
            }
            let amount = |bytes: f64| Bytes::new(bytes as u64);
            let arrivals = Arrivals { bytes: amount(PACKET), marked: amount(marked), lost: Bytes::ZERO };
            self.tell(to, HostInput::Received { pair: Incoming(number as u32), arrivals });
        }
    }

    fn fire(&mut self) {
        while let Some(&Reverse((at, _, host, age))) = self.timers.peek() {
            if at > self.now {
                break;
            }
            self.timers.pop();
            self.ticks += usize::from(age.is_none());
            let timer = age.map_or(Timer::Interval, |(pair, epoch)| Timer::Silence { pair: Outgoing(pair), epoch });
            self.tell(host, HostInput::Timer(timer));
        }
        while let Some(&Reverse((at, _, host, pair, rate))) = self.messages.peek() {
            if at > self.now {
                break;
            }
            self.messages.pop();
            let message = Feedback { rate: Rate::from_bits_per_second(rate) };
            self.tell(host, HostInput::Message { from: Origin::Receiver(Outgoing(pair as u32)), message });
        }
    }

    pub(super) fn tell(&mut self, host: usize, input: HostInput<'_, Feedback, Timer>) {
        self.with(host, |shaper, now, act| shaper.on(now, input, &mut |action| act(done(action))));
    }

    /// Lets one shaper do something.
    pub(super) fn with(&mut self, host: usize, run: impl FnOnce(&mut Eyeq, Time, &mut dyn FnMut(Done))) {
        let mut actions = Vec::new();
        run(&mut self.hosts[host], self.now, &mut |action| actions.push(action));
        for action in actions {
            self.sequence += 1;
            match action {
                Done::Bucket(Limiter::Class(class), bucket) => {
                    self.root_changes += 1;
                    match bucket {
                        Some(bucket) => drop(self.roots.insert((host, class), bucket)),
                        None => drop(self.roots.remove(&(host, class))),
                    }
                }
                Done::Bucket(Limiter::Pair(pair), bucket) => {
                    self.pair_lifts += usize::from(bucket.is_none());
                    self.pairs[pair.index()].bucket = bucket;
                }
                Done::Feedback(pair, rate) => {
                    if self.random.unit() >= self.loss {
                        let to = self.pairs[pair.index()].from;
                        let at = self.now + self.delay;
                        self.messages.push(Reverse((at, self.sequence, to, pair.index(), rate.bits_per_second())));
                    }
                }
                Done::Arm(at, timer) => {
                    let age = match timer {
                        Timer::Interval => None,
                        Timer::Silence { pair, epoch } => Some((pair.0, epoch)),
                    };
                    self.timers.push(Reverse((at, self.sequence, host, age)));
                }
            }
        }
    }
}

/// An action that can be kept.
pub(super) enum Done {
    Bucket(Limiter, Option<Bucket>),
    Feedback(Incoming, Rate),
    Arm(Time, Timer),
}

pub(super) fn done(action: HostAction<'_, Feedback, Timer>) -> Done {
    match action {
        HostAction::SetBucket { limiter, bucket } => Done::Bucket(limiter, bucket),
        HostAction::Send { to: Peer::Sender(pair), message } => Done::Feedback(pair, message.rate),
        HostAction::Arm { at, timer } => Done::Arm(at, timer),
        other => panic!("EyeQ does not do this: {other:?}"),
    }
}

/// Holds some pairs to a rate together, by max-min fairness.
fn hold(rates: &mut [f64], pairs: &[Pair], of: impl Fn(&Pair) -> bool, limit: f64) {
    let mut members: Vec<usize> = (0..pairs.len()).filter(|&number| of(&pairs[number])).collect();
    members.sort_by(|&a, &b| rates[a].total_cmp(&rates[b]));
    let mut left = limit;
    for (at, &member) in members.iter().enumerate() {
        rates[member] = rates[member].min(left / (members.len() - at) as f64);
        left -= rates[member];
    }
}
