//! For tests: the hosts of a scheme in a fluid network. Lines, one link that everything may have to pass, queues that mark,
//! messages that are late or lost.

use std::collections::BTreeMap;

use wayleave_scheme_api::{
    Arrivals, Bucket, ClassId, Demand, Host, HostAction, HostInput, Incoming, Limiter, MessageOrigin, Outgoing,
    PairSpec, PathIndex, Peer, Share,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use crate::random::SplitMix;

const PACKET: f64 = 1500.0;
/// Above this a queue marks (Parley, Table 1).
const MARK: f64 = 80_000.0;
/// More than this does not fit into a queue.
const BUFFER: f64 = 1_000_000.0;

pub(crate) struct Pair {
    pub(crate) class: ClassId,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Demand, in bit/s.
    pub(crate) demand: f64,
    bucket: Option<Bucket>,
    waits: bool,
    /// Arrived, in bytes, and not reported yet.
    owed: f64,
    marked: f64,
    sent: f64,
    /// Arrived since the last reading.
    arrived: f64,
}

/// A queue before a link, in bytes of each pair.
#[derive(Clone)]
struct Queue {
    /// Maximum amount that leaves in a step, in bytes.
    most: f64,
    bytes: Vec<f64>,
}

impl Queue {
    fn new(rate: f64, step: Time) -> Self {
        Self { most: rate * step.as_nanos() as f64 / 8e9, bytes: Vec::new() }
    }

    /// Takes bytes in, gives bytes out; whether they are marked.
    fn pass(&mut self, arriving: &[f64]) -> (Vec<f64>, bool) {
        self.bytes.resize(arriving.len(), 0.0);
        for (bytes, more) in self.bytes.iter_mut().zip(arriving) {
            *bytes += more;
        }
        let all: f64 = self.bytes.iter().sum();
        let part = (self.most / all.max(1e-9)).min(1.0);
        let out: Vec<f64> = self.bytes.iter().map(|bytes| bytes * part).collect();
        let rest = all * (1.0 - part);
        let kept = (1.0 - part) * (BUFFER / rest.max(1.0)).min(1.0);
        self.bytes.iter_mut().for_each(|bytes| *bytes *= kept);
        (out, rest > MARK)
    }
}

/// A pending event at a host.
enum HostEvent<H: Host> {
    Timer(H::Timer),
    Message(MessageOrigin, H::Message),
}

/// Something that a host has done, to be kept.
pub(crate) enum HostRecord<M, T> {
    Bucket(Limiter, Option<Bucket>),
    Send(Peer, M),
    Arm(Time, T),
    /// Weights do nothing in a fluid network.
    Weight,
}

pub(crate) struct Fluid<H: Host> {
    pub(crate) now: Time,
    pub(crate) hosts: Vec<H>,
    pub(crate) pairs: Vec<Pair>,
    roots: BTreeMap<(usize, ClassId), Bucket>,
    /// The link that everything passes, if there is one.
    shared: Option<Queue>,
    last: Vec<Queue>,
    line: f64,
    step: Time,
    delay: Time,
    loss: f64,
    random: SplitMix,
    /// By time and order.
    due: BTreeMap<(Time, u64), (usize, HostEvent<H>)>,
    sequence: u64,
    pub(crate) root_changes: usize,
    pub(crate) pair_lifts: usize,
    pub(crate) timers: usize,
}

impl<H: Host> Fluid<H> {
    pub(crate) fn new(hosts: Vec<H>, line: Rate, step: Time, seed: u64) -> Self {
        println!("seed {seed}");
        let line = line.bits_per_second() as f64;
        let mut fluid = Self {
            now: Time::ZERO,
            last: vec![Queue::new(line, step); hosts.len()],
            hosts,
            pairs: Vec::new(),
            roots: BTreeMap::new(),
            shared: None,
            line,
            step,
            delay: Time::from_micros(20),
            loss: 0.0,
            random: SplitMix::new(seed),
            due: BTreeMap::new(),
            sequence: 0,
            root_changes: 0,
            pair_lifts: 0,
            timers: 0,
        };
        for host in 0..fluid.hosts.len() {
            fluid.handle_input(host, HostInput::Started);
        }
        fluid
    }

    pub(crate) fn share_one_link(&mut self, rate: Rate) {
        self.shared = Some(Queue::new(rate.bits_per_second() as f64, self.step));
    }

    pub(crate) fn delay_feedback(&mut self, delay: Time, loss: f64) {
        (self.delay, self.loss) = (delay, loss);
    }

    pub(crate) fn set_class(&mut self, host: usize, class: u32, share: Share) {
        self.handle_input(host, HostInput::ClassSet { class: ClassId(class), transmit: share, receive: share });
    }

    /// A pair of one class, which wants as much as there is.
    pub(crate) fn open(&mut self, class: u32, from: usize, to: usize) -> usize {
        self.open_between([class, class], from, to)
    }

    pub(crate) fn open_between(&mut self, classes: [u32; 2], from: usize, to: usize) -> usize {
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
        self.handle_input(from, HostInput::Opened { pair: Outgoing(number as u32), spec: spec(class, peer_class, to) });
        self.handle_input(
            to,
            HostInput::IncomingOpened { pair: Incoming(number as u32), spec: spec(peer_class, class, from) },
        );
        number
    }

    /// Runs for `time`, and returns the amount that arrived of each pair during that time, in Gbit/s.
    pub(crate) fn run(&mut self, time: Time) -> Vec<f64> {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
        let seconds = time.as_nanos() as f64 / 1e9;
        let rate = |pair: &mut Pair| std::mem::take(&mut pair.arrived) * 8e-9 / seconds;
        self.pairs.iter_mut().map(rate).collect()
    }

    fn step(&mut self) {
        self.now += self.step;
        self.fire();
        let rates = self.sending_rates();
        self.report_sent(&rates);
        let bytes_of = self.step.as_nanos() as f64 / 8e9;
        let mut bytes: Vec<f64> = rates.iter().map(|rate| rate * bytes_of).collect();
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
        self.report_received();
    }

    /// Returns the sending rate of each pair: limited by its demand, its limiter, its class's limiter and its line.
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

    fn report_sent(&mut self, rates: &[f64]) {
        for (number, &rate) in rates.iter().enumerate() {
            let pair = &mut self.pairs[number];
            let (from, outgoing) = (pair.from, Outgoing(number as u32));
            pair.sent += rate * self.step.as_nanos() as f64 / 8e9;
            let bytes = Bytes::new(pair.sent as u64);
            pair.sent = pair.sent.fract();
            let waits = pair.demand > rate * 1.000_001;
            let changed = std::mem::replace(&mut pair.waits, waits) != waits;
            if bytes > Bytes::ZERO {
                self.handle_input(from, HostInput::Sent { pair: outgoing, path: PathIndex(0), bytes });
            }
            if changed {
                let demand = if waits { Demand::Begins } else { Demand::Ends };
                self.handle_input(from, HostInput::Demand { pair: outgoing, demand });
            }
        }
    }

    /// Packet by packet, in random order.
    fn report_received(&mut self) {
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
            self.handle_input(to, HostInput::Received { pair: Incoming(number as u32), arrivals });
        }
    }

    fn fire(&mut self) {
        while let Some(next) = self.due.first_entry().filter(|next| next.key().0 <= self.now) {
            let (host, due) = next.remove();
            match due {
                HostEvent::Timer(timer) => {
                    self.timers += 1;
                    self.handle_input(host, HostInput::Timer(timer));
                }
                HostEvent::Message(from, message) => self.handle_input(host, HostInput::Message { from, message }),
            }
        }
    }

    pub(crate) fn handle_input(&mut self, host: usize, input: HostInput<'_, H::Message, H::Timer>) {
        self.with(host, |state, now, act| state.on(now, input, &mut |action| act(done(action))));
    }

    /// Lets one host do something.
    pub(crate) fn with(
        &mut self,
        host: usize,
        run: impl FnOnce(&mut H, Time, &mut dyn FnMut(HostRecord<H::Message, H::Timer>)),
    ) {
        let mut actions = Vec::new();
        run(&mut self.hosts[host], self.now, &mut |action| actions.push(action));
        for action in actions {
            self.sequence += 1;
            match action {
                HostRecord::Bucket(Limiter::Class(class), bucket) => {
                    self.root_changes += 1;
                    match bucket {
                        Some(bucket) => drop(self.roots.insert((host, class), bucket)),
                        None => drop(self.roots.remove(&(host, class))),
                    }
                }
                HostRecord::Bucket(Limiter::Pair(pair), bucket) => {
                    self.pair_lifts += usize::from(bucket.is_none());
                    self.pairs[pair.index()].bucket = bucket;
                }
                HostRecord::Send(to, message) => {
                    if self.random.unit() >= self.loss {
                        let (reader, from) = self.reader(to);
                        let at = (self.now + self.delay, self.sequence);
                        self.due.insert(at, (reader, HostEvent::Message(from, message)));
                    }
                }
                HostRecord::Weight => {}
                HostRecord::Arm(at, timer) => {
                    drop(self.due.insert((at, self.sequence), (host, HostEvent::Timer(timer))))
                }
            }
        }
    }

    /// Returns the receiving host of a message, and the origin that it sees: pairs have the same number at both ends.
    fn reader(&self, to: Peer) -> (usize, MessageOrigin) {
        match to {
            Peer::Sender(Incoming(pair)) => (self.pairs[pair as usize].from, MessageOrigin::Receiver(Outgoing(pair))),
            Peer::Receiver(Outgoing(pair)) => (self.pairs[pair as usize].to, MessageOrigin::Sender(Incoming(pair))),
            Peer::Broker(broker) => panic!("there is no {broker:?} here"),
        }
    }
}

/// Returns the action as a record of the fluid network.
pub(crate) fn done<M, T>(action: HostAction<M, T>) -> HostRecord<M, T> {
    match action {
        HostAction::SetBucket { limiter, bucket } => HostRecord::Bucket(limiter, bucket),
        HostAction::Send { to, message } => HostRecord::Send(to, message),
        HostAction::Arm { at, timer } => HostRecord::Arm(at, timer),
        HostAction::SetWeight { .. } => HostRecord::Weight,
        _ => panic!("nobody does this here"),
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

/// Returns a random input of a host, as a driver and a network could send it, with numbers of any size.
pub(crate) fn random_input<'a, M, T>(
    random: &mut SplitMix,
    message: impl FnOnce(&mut SplitMix) -> M,
    timer: impl FnOnce(&mut SplitMix) -> T,
) -> HostInput<'a, M, T> {
    let class = ClassId(random.below(4));
    let (outgoing, incoming) = (Outgoing(random.below(5)), Incoming(random.below(5)));
    let share = |random: &mut SplitMix| Share {
        min: random_rate(random),
        max: (random.below(2) == 0).then(|| random_rate(random)),
        weight: random.below(3),
    };
    let spec = |random: &mut SplitMix| PairSpec {
        class,
        peer_class: ClassId(random.below(4)),
        peer: NodeId(random.below(5)),
        key: 0,
        paths: 1,
        round_trip: Time::from_micros(40),
    };
    let bytes = |random: &mut SplitMix| Bytes::new(random.draw() >> random.below(60));
    match random.below(14) {
        0 => HostInput::ClassSet { class, transmit: share(random), receive: share(random) },
        1 => HostInput::ClassGone { class },
        2 => HostInput::Opened { pair: outgoing, spec: spec(random) },
        3 => HostInput::Closed { pair: outgoing },
        4 => HostInput::IncomingOpened { pair: incoming, spec: spec(random) },
        5 => HostInput::IncomingClosed { pair: incoming },
        6 => HostInput::Demand { pair: outgoing, demand: Demand::Begins },
        7 => HostInput::Demand { pair: outgoing, demand: Demand::Ends },
        8 => {
            HostInput::Sent { pair: outgoing, path: PathIndex(0), bytes: Bytes::new(u64::from(random.below(100_000))) }
        }
        9 | 10 => {
            let all = Bytes::new(u64::from(random.below(100_000)));
            HostInput::Received {
                pair: incoming,
                arrivals: Arrivals { bytes: all, marked: bytes(random), lost: bytes(random) },
            }
        }
        11 => HostInput::Message { from: MessageOrigin::Receiver(outgoing), message: message(random) },
        12 => HostInput::Message { from: MessageOrigin::Sender(incoming), message: message(random) },
        _ => HostInput::Timer(timer(random)),
    }
}

/// Any rate.
pub(crate) fn random_rate(random: &mut SplitMix) -> Rate {
    Rate::from_bits_per_second(random.draw() >> random.below(64))
}
