//! Distance of a queue from the limit of its promises, which cost functions read.
//!
//! Plain floating point, since it prefers one admissible route to another and never decides whether one is
//! admissible. It uses the four basic operations only, which give equal bits on every machine, so decisions are equal
//! everywhere.

use crate::kernel::fast::float;
use crate::port::Queue;

/// The part of a queue's promises that is used up; 1 is all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// The larger of delay bound by budget and backlog bound by buffer.
    pub now: f64,
    /// The same if the inputs were not bounded by their lines: a burst that shaping hides until a second input comes.
    pub dormant: f64,
}

/// Of an unstable queue.
const UNSTABLE: f64 = 16.0;

/// The utilisations of several queues, side by side.
#[derive(Clone, Copy, Debug)]
pub struct Utilisations<const N: usize> {
    /// As [`Utilisation::now`].
    pub now: [f64; N],
    /// As [`Utilisation::dormant`].
    pub dormant: [f64; N],
}

/// Figures that the utilisation of some queues of a port depends on, in bit/s, nanobits and ns. There are `N` of them
/// side by side, so that processors compute two or more at once.
#[derive(Clone, Copy, Debug)]
pub struct Gauge<const N: usize> {
    service: [f64; N],
    /// One by the service, for flows that leave it as it is.
    per_service: [f64; N],
    debt: [f64; N],
    rate: [f64; N],
    burst: [f64; N],
    tau: [f64; N],
    /// ns that packets may be early and late before they enter: part of the delay, and rate times it of every burst.
    spread: [f64; N],
    /// One by the budget, one by the buffer.
    per_budget: [f64; N],
    per_buffer: [f64; N],
    is_used: [bool; N],
}

impl<const N: usize> Gauge<N> {
    /// Without queues: the figures of missing queues mean nothing.
    const NONE: Self = Self {
        service: [0.0; N],
        per_service: [0.0; N],
        debt: [0.0; N],
        rate: [0.0; N],
        burst: [0.0; N],
        tau: [0.0; N],
        spread: [0.0; N],
        per_budget: [0.0; N],
        per_buffer: [0.0; N],
        is_used: [false; N],
    };

    /// Of at most `N` queues, without flows.
    fn of(queues: &[Queue]) -> Self {
        let mut gauge = Self::NONE;
        for (at, queue) in queues.iter().enumerate() {
            gauge.spread[at] = queue.spread as f64;
            (gauge.per_budget[at], gauge.per_buffer[at]) = (1.0 / queue.budget as f64, 1.0 / queue.buffer as f64);
            gauge.set(at, queue, true);
        }
        gauge
    }

    /// Sets one of its queues to its present load. `quick`: the last knee means something on this port.
    fn set(&mut self, at: usize, queue: &Queue, quick: bool) {
        let (knee, service) = (queue.load.knee, float(queue.service.rate));
        (self.service[at], self.per_service[at]) = (service, 1.0 / service);
        self.debt[at] = float(queue.service.debt);
        (self.rate[at], self.burst[at]) = (float(queue.load.rate), float(queue.load.burst));
        self.tau[at] = if quick && knee.num > 0 { float(knee.num) / float(knee.den) } else { 0.0 };
        self.is_used[at] = queue.flows > 0;
    }

    /// For each queue, `true` if it holds flows; an empty queue has promised nothing.
    #[inline]
    pub fn is_used(&self) -> &[bool; N] {
        &self.is_used
    }

    /// With one more flow of `rate` (bit/s) and `burst` (nanobits): for each queue if it enters that one. With none, how
    /// the queues are that hold flows.
    #[inline]
    pub fn with_flow(&self, rate: f64, burst: f64) -> Utilisations<N> {
        let (mut rates, mut bursts) = (self.rate, self.burst);
        for at in 0..N {
            rates[at] += rate;
            bursts[at] += burst + rate * self.spread[at];
        }
        self.measure((&self.service, &self.per_service, &self.debt), (&rates, &bursts))
    }

    /// The same if it enters a higher queue.
    #[inline]
    pub fn with_above(&self, rate: f64, burst: f64) -> Utilisations<N> {
        let (mut service, mut per_service, mut debt) = (self.service, [0.0; N], self.debt);
        for at in 0..N {
            service[at] -= rate;
            per_service[at] = 1.0 / service[at];
            debt[at] += burst + rate * self.spread[at];
        }
        self.measure((&service, &per_service, &debt), (&self.rate, &self.burst))
    }

    /// The closed forms of docs/theory/admission.md, section 5, at the last knee and at zero. No branch, so that all
    /// queues are computed at once.
    #[inline]
    fn measure(
        &self,
        (service, per_service, debt): (&[f64; N], &[f64; N], &[f64; N]),
        (rate, burst): (&[f64; N], &[f64; N]),
    ) -> Utilisations<N> {
        let (mut now, mut dormant) = ([0.0; N], [0.0; N]);
        for at in 0..N {
            let (service, per_service, rate, burst) = (service[at], per_service[at], rate[at], burst[at]);
            let (tau, per_budget, per_buffer) = (self.tau[at], self.per_budget[at], self.per_buffer[at]);
            let latency = debt[at] * per_service;
            let start = self.spread[at] + latency;
            let peak = larger(tau, latency);
            let delay = start + (burst + rate * tau) * per_service - tau;
            let backlog = burst + rate * peak - service * (peak - latency);
            let at_knee = larger(backlog * per_buffer, delay * per_budget);
            let (delay, backlog) = (start + burst * per_service, burst + rate * latency);
            let at_zero = larger(backlog * per_buffer, delay * per_budget);
            // Short of a stable queue nothing holds.
            let is_stable = (rate <= service) & (service > 0.0);
            now[at] = either(is_stable, at_knee, UNSTABLE);
            dormant[at] = either(is_stable, at_zero, UNSTABLE);
        }
        Utilisations { now, dormant }
    }
}

/// The second where the first is no number.
#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The first if `is_first`, else the second, by their bits. From an `if` the compiler makes a branch, and then
/// computes the queues one by one.
#[inline]
fn either(is_first: bool, first: f64, second: f64) -> f64 {
    let mask = u64::from(is_first).wrapping_neg();
    f64::from_bits((first.to_bits() & mask) | (second.to_bits() & !mask))
}

/// Number of queues side by side where a port has more than one: ports have four or eight, with few exceptions.
pub const TOGETHER: usize = 4;

/// The gauges of a link's contract queues, highest priority first.
#[derive(Clone, Copy, Debug)]
pub enum Gauges<'a> {
    /// It has one queue.
    One(&'a Gauge<1>),
    /// It has these many, four in each gauge.
    Many(&'a [Gauge<TOGETHER>], usize),
}

impl Gauges<'_> {
    /// Number of queues.
    #[inline]
    pub fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(_, count) => *count,
        }
    }

    /// Reads what [`crate::Ledger::fetch`] is to read of them: a number in each cache line of 64 bytes.
    pub(crate) fn fetch(&self) -> u64 {
        fn lines<const N: usize>(gauge: &Gauge<N>) -> u64 {
            let numbers = [gauge.service, gauge.debt, gauge.burst, gauge.spread, gauge.per_buffer];
            numbers.iter().fold(0, |all, numbers| all ^ numbers[0].to_bits()) ^ u64::from(gauge.is_used[0])
        }
        match self {
            Self::One(gauge) => lines(gauge),
            Self::Many(gauges, _) => gauges.iter().fold(0, |all, gauge| all ^ lines(gauge)),
        }
    }

    /// The utilisation of each queue, with one more flow here or in a higher queue; as a plain list, for people and
    /// tests.
    pub fn each(&self, with: TrialFlow, rate: f64, burst: f64) -> Vec<Utilisation> {
        fn list<const N: usize>(gauge: &Gauge<N>, (with, rate, burst): (TrialFlow, f64, f64)) -> Vec<Utilisation> {
            let seen = match with {
                TrialFlow::Here => gauge.with_flow(rate, burst),
                TrialFlow::Above => gauge.with_above(rate, burst),
            };
            (0..N).map(|at| Utilisation { now: seen.now[at], dormant: seen.dormant[at] }).collect()
        }
        let change = (with, rate, burst);
        let mut all = match self {
            Self::One(gauge) => list(gauge, change),
            Self::Many(gauges, _) => gauges.iter().flat_map(|gauge| list(gauge, change)).collect(),
        };
        all.truncate(self.count());
        all
    }
}

/// Place of a supposed flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialFlow {
    /// In the queue itself.
    Here,
    /// In a higher one.
    Above,
}

/// The gauges of all links.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllGauges {
    single: Vec<Gauge<1>>,
    together: Vec<Gauge<TOGETHER>>,
}

impl AllGauges {
    /// Adds the gauges of one more link and returns their place.
    pub(crate) fn push(&mut self, queues: &[Queue]) -> u32 {
        if queues.len() == 1 {
            self.single.push(Gauge::of(queues));
            return self.single.len() as u32 - 1;
        }
        let first = self.together.len() as u32;
        self.together.extend(queues.chunks(TOGETHER).map(Gauge::of));
        first
    }

    #[inline]
    pub(crate) fn of(&self, first: u32, count: u8) -> Gauges<'_> {
        let (first, count) = (first as usize, usize::from(count));
        if count == 1 {
            Gauges::One(&self.single[first])
        } else {
            Gauges::Many(&self.together[first..][..count.div_ceil(TOGETHER)], count)
        }
    }

    /// Brings one queue of a link with `count` queues up to date.
    pub(crate) fn set(&mut self, (first, count): (u32, u8), at: usize, queue: &Queue, quick: bool) {
        if count == 1 {
            self.single[first as usize].set(0, queue, quick);
        } else {
            self.together[first as usize + at / TOGETHER].set(at % TOGETHER, queue, quick);
        }
    }
}
