//! How near a queue is to the limit of what it promised: what cost functions read.
//!
//! Plain floating point, since it prefers one admissible route to another and never decides what is admissible. It uses
//! the four basic operations only, which give the same bits on every machine, so decisions are the same everywhere.

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

/// What a queue's utilisation depends on, in bit/s, nanobits and ns.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    service: f64,
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
        let knee = queue.load.knee;
        Self {
            service: queue.service.rate as f64,
            debt: queue.service.debt as f64,
            rate: queue.load.rate as f64,
            burst: queue.load.burst as f64,
            tau: if quick && knee.num > 0 { knee.num as f64 / knee.den as f64 } else { 0.0 },
            spread: queue.spread as f64,
            per_budget: 1.0 / queue.budget as f64,
            per_buffer: 1.0 / queue.buffer as f64,
            is_used: queue.flows > 0,
        }
    }

    /// Whether it holds flows; an empty queue has promised nothing.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// As it is.
    pub fn utilisation(&self) -> Utilisation {
        if self.is_used { self.measure() } else { Utilisation::default() }
    }

    /// With one more flow here, of `rate` (bit/s) and `burst` (nanobits).
    #[inline]
    pub fn with_here(&self, rate: f64, burst: f64) -> Utilisation {
        Self { rate: self.rate + rate, burst: self.burst + self.entering(rate, burst), ..*self }.measure()
    }

    /// With one more flow in a higher queue.
    #[inline]
    pub fn with_above(&self, rate: f64, burst: f64) -> Utilisation {
        Self { service: self.service - rate, debt: self.debt + self.entering(rate, burst), ..*self }.measure()
    }

    /// The burst that enters a queue of a flow that comes to the node with this one.
    #[inline]
    fn entering(&self, rate: f64, burst: f64) -> f64 {
        burst + rate * self.spread
    }

    /// The closed forms of docs/admission.md, section 5, at the last knee and at zero.
    #[inline]
    fn measure(&self) -> Utilisation {
        if self.rate > self.service || self.service <= 0.0 {
            return Utilisation::BEYOND;
        }
        let per_service = 1.0 / self.service;
        let latency = self.debt * per_service;
        let shares = |tau: f64| {
            let delay = self.spread + latency + (self.burst + self.rate * tau) * per_service - tau;
            let peak = latency.max(tau);
            let backlog = self.burst + self.rate * peak - self.service * (peak - latency);
            (delay * self.per_budget).max(backlog * self.per_buffer)
        };
        let dormant = shares(0.0);
        Utilisation { now: if self.tau > 0.0 { shares(self.tau) } else { dormant }, dormant }
    }
}
