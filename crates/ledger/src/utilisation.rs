//! How near a queue is to the limit of what it promised: what cost functions read.
//!
//! Plain floating point, since it prefers one admissible route to another and never decides what is admissible. It uses
//! the four basic operations only, which give the same bits on every machine, so decisions are the same everywhere.

use crate::kernel::fast::float;
use crate::port::Queue;

/// How much of a queue's promises is used up; 1 is all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilisation {
    /// The larger of delay bound by budget and backlog bound by buffer.
    pub now: f64,
    /// The same if the inputs were not bounded by their lines: a burst that shaping hides until a second input comes.
    pub dormant: f64,
}

impl Utilisation {
    /// Of an unstable queue.
    const BEYOND: Self = Self { now: 16.0, dormant: 16.0 };
}

/// The utilisations of several queues, side by side.
#[derive(Clone, Copy, Debug)]
pub struct Utilisations<const N: usize> {
    /// As [`Utilisation::now`].
    pub now: [f64; N],
    /// As [`Utilisation::dormant`].
    pub dormant: [f64; N],
}

/// What a queue's utilisation depends on, in bit/s, nanobits and ns.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    service: f64,
    /// One by the service, for flows that leave it as it is.
    per_service: f64,
    debt: f64,
    rate: f64,
    burst: f64,
    tau: f64,
    /// ns that packets may be early and late before they enter: part of the delay, and rate times it of every burst.
    spread: f64,
    /// One by the budget, one by the buffer.
    per_budget: f64,
    per_buffer: f64,
    is_used: bool,
}

impl Gauge {
    /// `quick`: the last knee means something on this port.
    pub(crate) fn of(queue: &Queue, quick: bool) -> Self {
        let (spread, per_budget, per_buffer) =
            (queue.spread as f64, 1.0 / queue.budget as f64, 1.0 / queue.buffer as f64);
        let empty = Self { spread, per_budget, per_buffer, ..Self::NONE };
        empty.with_load(queue, quick)
    }

    const NONE: Self = Self {
        service: 0.0,
        per_service: 0.0,
        debt: 0.0,
        rate: 0.0,
        burst: 0.0,
        tau: 0.0,
        spread: 0.0,
        per_budget: 0.0,
        per_buffer: 0.0,
        is_used: false,
    };

    /// The same queue with what it holds now.
    pub(crate) fn with_load(self, queue: &Queue, quick: bool) -> Self {
        let (knee, service) = (queue.load.knee, float(queue.service.rate));
        Self {
            service,
            per_service: 1.0 / service,
            debt: float(queue.service.debt),
            rate: float(queue.load.rate),
            burst: float(queue.load.burst),
            tau: if quick && knee.num > 0 { float(knee.num) / float(knee.den) } else { 0.0 },
            is_used: queue.flows > 0,
            ..self
        }
    }

    /// Whether it holds flows; an empty queue has promised nothing.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// As it is.
    pub fn utilisation(&self) -> Utilisation {
        if self.is_used { self.with_here(0.0, 0.0) } else { Utilisation::default() }
    }

    /// With one more flow here, of `rate` (bit/s) and `burst` (nanobits).
    pub fn with_here(&self, rate: f64, burst: f64) -> Utilisation {
        Self::each_with_here([self], rate, burst).first()
    }

    /// With one more flow in a higher queue.
    pub fn with_above(&self, rate: f64, burst: f64) -> Utilisation {
        Self::each_with_above([self], rate, burst).first()
    }

    /// For each of several queues, what [`Self::with_here`] says. Side by side, processors work out two or more at once.
    #[inline]
    pub fn each_with_here<const N: usize>(gauges: [&Self; N], rate: f64, burst: f64) -> Utilisations<N> {
        Self::each(gauges, |gauge| Measured {
            service: gauge.service,
            per_service: gauge.per_service,
            debt: gauge.debt,
            rate: gauge.rate + rate,
            burst: gauge.burst + gauge.entering(rate, burst),
        })
    }

    /// For each of several queues, what [`Self::with_above`] says.
    #[inline]
    pub fn each_with_above<const N: usize>(gauges: [&Self; N], rate: f64, burst: f64) -> Utilisations<N> {
        Self::each(gauges, |gauge| {
            let service = gauge.service - rate;
            Measured {
                service,
                per_service: 1.0 / service,
                debt: gauge.debt + gauge.entering(rate, burst),
                rate: gauge.rate,
                burst: gauge.burst,
            }
        })
    }

    #[inline]
    fn each<const N: usize>(gauges: [&Self; N], with: impl Fn(&Self) -> Measured) -> Utilisations<N> {
        let (mut now, mut dormant) = ([0.0; N], [0.0; N]);
        for at in 0..N {
            let gauge = gauges[at];
            let utilisation = with(gauge).utilisation(gauge);
            (now[at], dormant[at]) = (utilisation.now, utilisation.dormant);
        }
        Utilisations { now, dormant }
    }

    /// The burst that enters a queue of a flow that comes to the node with this one.
    #[inline]
    fn entering(&self, rate: f64, burst: f64) -> f64 {
        burst + rate * self.spread
    }
}

/// What a flow changes of a queue.
struct Measured {
    service: f64,
    per_service: f64,
    debt: f64,
    rate: f64,
    burst: f64,
}

impl Measured {
    /// The closed forms of docs/admission.md, section 5, at the last knee and at zero.
    #[inline]
    fn utilisation(&self, gauge: &Gauge) -> Utilisation {
        let latency = self.debt * self.per_service;
        let start = gauge.spread + latency;
        let share = |delay: f64, backlog: f64| {
            let (delay, backlog) = (delay * gauge.per_budget, backlog * gauge.per_buffer);
            if backlog > delay { backlog } else { delay }
        };
        let tau = gauge.tau;
        let peak = if tau > latency { tau } else { latency };
        let now = share(
            start + (self.burst + self.rate * tau) * self.per_service - tau,
            self.burst + self.rate * peak - self.service * (peak - latency),
        );
        let dormant = share(start + self.burst * self.per_service, self.burst + self.rate * latency);
        // Short of a stable queue nothing holds. No branch, so that several queues can be worked out at once.
        let is_stable = self.rate <= self.service && self.service > 0.0;
        Utilisation {
            now: if is_stable { now } else { Utilisation::BEYOND.now },
            dormant: if is_stable { dormant } else { Utilisation::BEYOND.dormant },
        }
    }
}

impl Utilisations<1> {
    fn first(&self) -> Utilisation {
        Utilisation { now: self.now[0], dormant: self.dormant[0] }
    }
}
