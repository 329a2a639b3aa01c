//! All processes, and their due actions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_scenarios::{Endpoint, FlowSpec, Outage};
use wayleave_scheme_api::{Departure, Path as _};

use super::traffic::TrafficSpec;
use crate::clock::{self, Instant};
use crate::connections::ArrivedFlow;
use crate::events::{Actor, HORIZON};
use crate::fabric::{NetworkState, Step};
use crate::flows::Purpose;
use crate::packet::{Flags, Kind, NO_PACKET, Packet};
use crate::random;
use crate::sources::Source;
use crate::transport::NEVER;

/// One actor of its own.
#[derive(Debug)]
pub(super) enum Process {
    /// Packets that are not acknowledged.
    Source { traffic: u32, source: Source, start: Instant },
    /// Flows at random times.
    Poisson { traffic: u32, next: Instant, mean_gap: f64 },
    /// A flow for every pair, once or again and again.
    Rounds { traffic: u32, next: Instant, period: Option<Instant> },
    /// Closed loops: requests that are due, by pair.
    Loops { traffic: u32, due: BinaryHeap<Reverse<(Instant, u32)>>, wakes_at: Instant },
    /// Flows of every pair after uniform gaps of this mean; the next ones by pair.
    Uniform { traffic: u32, due: BinaryHeap<Reverse<(Instant, u32)>>, mean: Instant },
    /// Flows of every pair, or of every sender to a drawn receiver, each after this period; the next ones by pair.
    Periodic { traffic: u32, due: BinaryHeap<Reverse<(Instant, u32)>>, period: Instant },
    /// Flows from a list, in order.
    Listed { traffic: u32, flows: Vec<FlowSpec>, next: usize },
    /// A job: when it begins, and operations that compute until then.
    Job { traffic: u32, due: BinaryHeap<Reverse<(Instant, u32)>>, wakes_at: Instant },
    /// Something fails or works again.
    Outage(Outage),
    /// The warm-up is over.
    WarmedUp(Instant),
    /// Shortfalls of guarantees are measured at the end of each interval.
    Guarantees { next: Instant, interval: Instant },
    /// Timers of the host layer, which has a queue of its own.
    Hosts,
    /// Fast-forward inspects the run, or ends.
    Forward { wakes_at: Instant },
}

/// Everything that happens of itself.
#[derive(Debug)]
pub(crate) struct Processes {
    pub(super) all: Vec<Process>,
    pub(super) traffic: Vec<TrafficSpec>,
    /// The class of each virtual machine, if hosts share.
    pub(super) vm_classes: Vec<u32>,
    /// The number of the first process as an actor.
    first_actor: Actor,
}

/// Effect of a process's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wakeup {
    /// It does what is due.
    Acts,
    /// It acts, and only observes the run: it does not change the run.
    Looks,
    /// Timers of the host layer.
    Hosts,
    /// Fast-forward.
    Forward,
    /// Nothing: its event is out of date.
    Sleeps,
}

/// Action of a process.
#[derive(Debug)]
pub(crate) enum ProcessAction {
    /// The packet of a source leaves: [`Processes::emit`].
    Emit,
    /// A flow begins.
    Open(Opening),
    /// A flow of this traffic begins for each of these pairs: [`Processes::begin`].
    Round(u32, Vec<(Endpoint, Endpoint)>),
    /// A request of this traffic and loop begins: [`Processes::request`].
    Request(u32, u32),
    /// The job of this traffic begins, or one of its operations has computed: [`Processes::job_due`].
    Job(u32, u32),
    /// Something fails or works again. Nothing follows.
    Change(Outage),
    /// The warm-up is over. Nothing follows.
    WarmedUp,
    /// An interval ends.
    Measure,
    /// Nothing.
    Nothing,
}

/// A flow that begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(crate) from: Endpoint,
    pub(crate) to: Endpoint,
    pub(crate) queue: u8,
    pub(crate) purpose: Purpose,
}

/// A source's packet.
#[derive(Debug)]
pub(crate) struct Emission {
    pub(crate) packet: Packet,
    /// First step of its route.
    pub(crate) first: Step,
    /// The set of its copies, if it has any.
    pub(crate) copies: Option<u32>,
}

impl Processes {
    /// None yet; their actors have the numbers from `first_actor` on.
    pub(super) fn new(first_actor: Actor) -> Self {
        Self { all: Vec::new(), traffic: Vec::new(), vm_classes: Vec::new(), first_actor }
    }

    /// The first number that is no process's.
    pub(crate) fn next_actor(&self) -> Actor {
        self.first_actor + self.all.len() as Actor
    }

    /// Puts the first event of every process.
    pub(crate) fn start(&mut self, fabric: &mut NetworkState) {
        for number in 0..self.all.len() {
            if let Some(at) = self.due(number) {
                self.put(number, at, fabric, 0);
            }
        }
    }

    /// Returns the time of a process's next action.
    fn due(&self, number: usize) -> Option<Instant> {
        match &self.all[number] {
            Process::Source { source, start, .. } => source.next_at(*start),
            Process::Poisson { traffic, next, .. } | Process::Rounds { traffic, next, .. } => {
                let spec = &self.traffic[*traffic as usize];
                Some(spec.real(*next)).filter(|&next| next < spec.stop)
            }
            Process::Loops { traffic, due, .. } => {
                let spec = &self.traffic[*traffic as usize];
                due.peek().map(|Reverse((at, _))| spec.next_on(*at)).filter(|&at| at != NEVER)
            }
            Process::Uniform { traffic, due, .. } | Process::Periodic { traffic, due, .. } => {
                let spec = &self.traffic[*traffic as usize];
                due.peek().map(|Reverse((at, _))| spec.real(*at)).filter(|&next| next < spec.stop)
            }
            Process::Listed { flows, next, .. } => flows.get(*next).map(|flow| clock::from_time(flow.start)),
            Process::Job { due, .. } => due.peek().map(|Reverse((at, _))| *at),
            Process::Outage(outage) => Some(clock::from_time(outage.at)),
            Process::WarmedUp(at) => Some(*at),
            Process::Guarantees { next, .. } => Some(*next),
            Process::Hosts | Process::Forward { .. } => None,
        }
    }

    /// Returns the time of the first action of all processes.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        (0..self.all.len()).filter_map(|number| self.due(number)).min()
    }

    /// Puts the next event of a process.
    pub(super) fn put(&mut self, number: usize, at: Instant, fabric: &mut NetworkState, now: Instant) {
        let at = at.min(now + HORIZON / 2);
        if let Process::Loops { wakes_at, .. } | Process::Job { wakes_at, .. } | Process::Forward { wakes_at } =
            &mut self.all[number]
        {
            if at >= *wakes_at {
                return;
            }
            *wakes_at = at;
        }
        fabric.schedule(at, self.first_actor + number as Actor);
    }

    /// Fast-forward, whose process is the last one, wakes up then if it does not before.
    pub(crate) fn wake_forward(&mut self, at: Instant, fabric: &mut NetworkState, now: Instant) {
        if let Some(number) = self.all.len().checked_sub(1) {
            self.put(number, at, fabric, now);
        }
    }

    /// The event of a process has come.
    #[inline]
    pub(crate) fn wake(&mut self, number: usize, now: Instant) -> Wakeup {
        match &mut self.all[number] {
            Process::Guarantees { .. } => Wakeup::Looks,
            Process::Hosts => Wakeup::Hosts,
            Process::Forward { wakes_at } if *wakes_at == now => {
                *wakes_at = NEVER;
                Wakeup::Forward
            }
            Process::Forward { .. } => Wakeup::Sleeps,
            Process::Loops { wakes_at, .. } | Process::Job { wakes_at, .. } if *wakes_at != now => Wakeup::Sleeps,
            Process::Loops { wakes_at, .. } | Process::Job { wakes_at, .. } => {
                *wakes_at = NEVER;
                Wakeup::Acts
            }
            _ => Wakeup::Acts,
        }
    }

    /// Returns the next action of a process, if it is due; otherwise puts its event, if there is one.
    #[inline]
    pub(crate) fn next(&mut self, number: usize, fabric: &mut NetworkState, now: Instant) -> Option<ProcessAction> {
        let at = self.due(number)?;
        if at > now {
            self.put(number, at, fabric, now);
            return None;
        }
        match &self.all[number] {
            Process::Source { .. } => Some(ProcessAction::Emit),
            _ => Some(self.act(number, now)),
        }
    }

    fn act(&mut self, number: usize, now: Instant) -> ProcessAction {
        match &mut self.all[number] {
            Process::Source { .. } => ProcessAction::Emit,
            Process::Poisson { traffic, next, mean_gap } => {
                let traffic = *traffic;
                let spec = &mut self.traffic[traffic as usize];
                *next = next.saturating_add(random::exponential(&mut spec.rng, *mean_gap).max(1));
                match spec.pairs.draw(&mut spec.rng) {
                    Some(pair) => ProcessAction::Open(self.begin(traffic, pair, now)),
                    None => ProcessAction::Nothing,
                }
            }
            Process::Rounds { traffic, next, period } => {
                let traffic = *traffic;
                *next = period.map_or(NEVER, |period| next.saturating_add(period));
                let spec = &mut self.traffic[traffic as usize];
                ProcessAction::Round(traffic, spec.pairs.all(&mut spec.rng))
            }
            Process::Loops { traffic, due, .. } => match due.pop() {
                Some(Reverse((_, index))) => ProcessAction::Request(*traffic, index),
                None => ProcessAction::Nothing,
            },
            Process::Job { traffic, due, .. } => match due.pop() {
                Some(Reverse((_, what))) => ProcessAction::Job(*traffic, what),
                None => ProcessAction::Nothing,
            },
            Process::Uniform { traffic, due, mean } => {
                let traffic = *traffic;
                let spec = &mut self.traffic[traffic as usize];
                let Some(Reverse((at, pair))) = due.pop() else { return ProcessAction::Nothing };
                let gap = random::uniform(&mut spec.rng, 2 * *mean);
                due.push(Reverse((at.saturating_add(gap), pair)));
                let flow = ArrivedFlow { at: now, bytes: spec.draw_size(u64::MAX), deadline: spec.draw_deadline() };
                self.arrive(traffic, pair, flow).map_or(ProcessAction::Nothing, ProcessAction::Open)
            }
            Process::Periodic { traffic, due, period } => {
                let traffic = *traffic;
                let Some(Reverse((at, pair))) = due.pop() else { return ProcessAction::Nothing };
                due.push(Reverse((at.saturating_add(*period), pair)));
                let spec = &mut self.traffic[traffic as usize];
                let ends = match spec.loops.get(pair as usize) {
                    Some(&(from, to)) if from == to => spec.pairs.draw_from(from, &mut spec.rng),
                    ends => ends.copied(),
                };
                ends.map_or(ProcessAction::Nothing, |ends| ProcessAction::Open(self.begin(traffic, ends, now)))
            }
            Process::Listed { traffic, flows, next } => {
                let (traffic, flow) = (*traffic, flows[*next]);
                *next += 1;
                ProcessAction::Open(self.begin_listed(traffic, &flow, now))
            }
            Process::Outage(outage) => ProcessAction::Change(*outage),
            Process::WarmedUp(_) => ProcessAction::WarmedUp,
            Process::Guarantees { next, interval } => {
                *next = next.saturating_add(*interval);
                ProcessAction::Measure
            }
            Process::Hosts | Process::Forward { .. } => ProcessAction::Nothing,
        }
    }

    /// The next packet of a process that is a source.
    #[inline]
    pub(crate) fn emit(&mut self, number: usize, fabric: &NetworkState, now: Instant) -> Option<Emission> {
        let Process::Source { traffic, source, .. } = &mut self.all[number] else { return None };
        let emission = source.emit(&mut self.traffic[*traffic as usize].rng);
        if let (Some(spreading), Some((set, _))) = (&mut source.spreading, source.destination.paths) {
            let paths = fabric.path_count(set).max(1);
            let path = spreading.choose(clock::to_time(now), Departure { bytes: emission.bytes, paths });
            source.destination.take(set, path, fabric);
        }
        let packet = Packet {
            sent: now,
            due: now,
            next: NO_PACKET,
            flow: source.destination.flow,
            size: emission.bytes,
            sequence: emission.sequence,
            route: source.destination.route,
            last_hop: source.destination.last_hop.bits(),
            hop: u8::MAX,
            kind: Kind::Datagram,
            flags: if source.destination.is_tagged { Flags::TAGGED } else { Flags::default() },
            ..Packet::default()
        };
        Some(Emission { packet, first: source.destination.first, copies: source.destination.copies })
    }

    /// The link on which a process sends, if it is a source.
    pub(crate) fn source_link(&self, number: usize) -> Option<u32> {
        match &self.all[number] {
            Process::Source { source, .. } => Some(source.destination.first.link()),
            _ => None,
        }
    }

    /// Paths have changed: sources that do not keep to a route take what their path is now.
    pub(crate) fn reroute(&mut self, fabric: &NetworkState) {
        for process in &mut self.all {
            if let Process::Source { source, .. } = process
                && let Some((set, path)) = source.destination.paths
            {
                source.destination.take(set, path, fabric);
            }
        }
    }
}
