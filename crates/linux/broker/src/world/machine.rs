//! A machine: its clock, its counters, what limits it, and the time-out after which nothing does.

use rand::Rng;
use wayleave_scheme_api::ClassId;
use wayleave_schemes::usage_report::{Limited, ServiceUsageReport, UsageReport};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

/// A clock that began at some time and is a little too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    offset: Time,
    /// Nanoseconds that it shows in a second.
    per_second: u64,
}

impl Clock {
    pub(super) const RIGHT: Self = Self { offset: Time::ZERO, per_second: 1_000_000_000 };

    /// Up to a day ahead, and up to 0.1 % off: ten times what oscillators of servers are allowed.
    pub(super) fn drawn(rng: &mut impl Rng) -> Self {
        let offset = Time::from_nanos(rng.next_u64() % 86_400_000_000_000);
        Self { offset, per_second: 999_000_000 + rng.next_u64() % 2_000_001 }
    }

    pub(super) fn shows(self, now: Time) -> Time {
        let nanos = u128::from(now.as_nanos()) * u128::from(self.per_second) / 1_000_000_000;
        self.offset + Time::from_nanos(nanos as u64)
    }

    /// Returns the time until this clock shows a given time.
    pub(super) fn until(self, now: Time, at: Time) -> Time {
        let mut wait = self.takes(at.saturating_sub(self.shows(now)));
        // Both are rounded down, and a timer does not ring before its time.
        while self.shows(now + wait) < at {
            wait += Time::from_nanos(1);
        }
        wait
    }

    /// Returns the true duration of an interval of this clock.
    pub(super) fn takes(self, interval: Time) -> Time {
        let nanos = u128::from(interval.as_nanos()) * 1_000_000_000 / u128::from(self.per_second);
        Time::from_nanos(nanos as u64)
    }
}

pub(super) struct Machine {
    pub(super) node: NodeId,
    pub(super) rack: NodeId,
    pub(super) clock: Clock,
    pub(super) wants: Vec<[Rate; 2]>,
    pub(super) limits: Vec<[Option<Rate>; 2]>,
    /// Current transmit and receive rates.
    pub(super) rates: Vec<[Rate; 2]>,
    /// In nanobits.
    counted: Vec<[u128; 2]>,
    life: Option<u64>,
    /// Time of the last message of its broker.
    last_limits: Option<Time>,
}

impl Machine {
    pub(super) fn new(node: NodeId, rack: NodeId, classes: usize, clock: Clock) -> Self {
        Self {
            node,
            rack,
            clock,
            wants: vec![[Rate::ZERO; 2]; classes],
            limits: vec![[None; 2]; classes],
            rates: vec![[Rate::ZERO; 2]; classes],
            counted: vec![[0; 2]; classes],
            life: None,
            last_limits: None,
        }
    }

    pub(super) fn is_there(&self) -> bool {
        self.life.is_some()
    }

    pub(super) fn is_living(&self, life: u64) -> bool {
        self.life == Some(life)
    }

    pub(super) fn begin(&mut self, life: u64) {
        self.life = Some(life);
        self.counted.fill([0; 2]);
        self.limits.fill([None; 2]);
        self.last_limits = None;
    }

    pub(super) fn leave(&mut self) {
        self.life = None;
    }

    pub(super) fn count(&mut self, elapsed: Time) {
        for (counted, rates) in self.counted.iter_mut().zip(&self.rates) {
            for (counted, rate) in counted.iter_mut().zip(rates) {
                *counted += u128::from(rate.bits_per_second()) * u128::from(elapsed.as_nanos());
            }
        }
    }

    pub(super) fn report(&self, shown: Time) -> UsageReport {
        let bytes = |nanobits: u128| Bytes::new((nanobits / 8_000_000_000) as u64);
        let services = self.counted.iter().enumerate().map(|(class, counted)| {
            let moved = counted.map(bytes);
            ServiceUsageReport { total: moved, uplink: moved, ..ServiceUsageReport::none(ClassId(class as u32)) }
        });
        let limits = self.limits.iter().enumerate().filter(|(_, limit)| **limit != [None; 2]);
        let limits = limits.map(|(class, &limit)| Limited { class: ClassId(class as u32), limit });
        UsageReport { at: shown, services: services.collect(), limits: Some(limits.collect()) }
    }

    /// Sets the limits that its broker sends; services that are not listed have no limit.
    pub(super) fn on_limits(&mut self, shown: Time, limits: &[Limited]) {
        self.last_limits = Some(shown);
        self.limits.fill([None; 2]);
        for limited in limits {
            if let Some(limit) = self.limits.get_mut(limited.class.index()) {
                *limit = limited.limit;
            }
        }
    }

    /// Lifts all limits if the broker has been silent for `timeout`.
    pub(super) fn fall_back(&mut self, shown: Time, timeout: Time) {
        if self.last_limits.is_some_and(|at| shown.saturating_sub(at) >= timeout) {
            self.last_limits = None;
            self.limits.fill([None; 2]);
        }
    }
}
