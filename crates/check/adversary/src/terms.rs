//! Maxima and weights of bandwidth contracts: no contract exceeds its maximum, and the rest above minima is shared by
//! weights.
//!
//! Where contracts meet at one receiver, each with a sender of its own, the last link limits all of them. The due
//! rate of each follows from their total: its minimum, and a part by weight of the rate above all minima, up to its
//! maximum (`due`).

use std::collections::BTreeMap;
use std::fmt;

use wayleave_scenarios::LimitedTraffic;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

/// At a host, of one service and in each limited direction: no more than this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaximumPromise {
    /// Service of the promise.
    pub service: String,
    /// Host of the promise.
    pub host: NodeId,
    /// The most.
    pub max: Rate,
    /// Amount that may exceed it at once.
    pub burst: Bytes,
    /// Limited directions at the host.
    pub limits: LimitedTraffic,
}

impl MaximumPromise {
    /// Returns the limited directions.
    pub(crate) const fn directions(&self) -> &'static [TrafficDirection] {
        match self.limits {
            LimitedTraffic::Sent => &[TrafficDirection::Sent],
            LimitedTraffic::Received => &[TrafficDirection::Received],
            LimitedTraffic::Both => &[TrafficDirection::Sent, TrafficDirection::Received],
        }
    }
}

/// Throughput at a maximum in a run, per mille of the maximum. Bursts and whole frames, which may exceed a maximum,
/// are deducted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaximumThroughput {
    /// Carried traffic.
    pub carried: u64,
    /// Traffic that the links could have carried without the maximum.
    pub able: u64,
}

/// Part of a maximum, per mille, from which on it is tested.
const TESTED: u64 = 900;

/// Part of a maximum, per mille, that the links must be able to carry: twice the excess that is no breach
/// (`classes::TURNS`).
const ABLE: u64 = 1_100;

/// Part of a link that classes fill, per cent: the target of uFAB's windows (docs/theory/ufab.md).
pub(crate) const TARGET_PERCENT: u64 = 95;

impl MaximumThroughput {
    /// Returns `true` if the run carried enough to show that the maximum is enforced or exceeded, and nothing but the
    /// maximum can have limited it.
    pub fn is_tested(&self) -> bool {
        self.carried >= TESTED && self.able >= ABLE
    }

    /// Returns `true` if a longer run may carry enough for a test: the links could carry it.
    pub(crate) fn may_grow(&self) -> bool {
        self.carried < TESTED && self.able >= ABLE
    }

    /// Returns the throughput that tests the maximum better.
    pub(crate) fn better(self, other: Self) -> Self {
        std::cmp::max_by_key(self, other, |one| (one.is_tested(), one.carried, one.able))
    }
}

/// Throughput at each maximum in the run that tests it best, by contract, host and direction.
pub(crate) type MaximumThroughputs = BTreeMap<(String, NodeId, TrafficDirection), MaximumThroughput>;

/// Due rate of a service where several always have traffic for one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartPromise {
    /// Service of the promise.
    pub service: String,
    /// Before anybody gets more.
    pub min: Rate,
    /// Weight for the rate above all minima; only ratios count.
    pub weight: u64,
    /// It gets no more.
    pub max: Option<Rate>,
    /// Its windows are whole frames: it may have one more in each of these times than by its part.
    pub round_trip: Time,
}

/// Services that meet at a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverContention {
    /// Host of the services.
    pub host: NodeId,
    /// Competing services.
    pub parts: Vec<PartPromise>,
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficDirection {
    /// Traffic that the host sends.
    Sent,
    /// Traffic that it receives.
    Received,
}

impl fmt::Display for TrafficDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sent => "sent",
            Self::Received => "received",
        })
    }
}

/// Returns the due rate of each service for their total, in bit/s, rounded down.
pub(crate) fn due(parts: &[PartPromise], all: u64) -> Vec<u64> {
    let minima: u64 = parts.iter().map(|part| part.min.bits_per_second()).sum();
    if all <= minima {
        return parts.iter().map(|part| scaled(all, part.min.bits_per_second(), minima)).collect();
    }
    let mut due: Vec<u64> = parts.iter().map(|part| part.min.bits_per_second()).collect();
    let mut open: Vec<usize> = (0..parts.len()).collect();
    let mut left = all - minima;
    loop {
        let weights: u64 = open.iter().map(|&at| parts[at].weight).sum();
        let above = |at: usize| {
            let most = parts[at].max.map_or(u64::MAX, |max| max.bits_per_second().saturating_sub(due[at]));
            (scaled(left, parts[at].weight, weights), most)
        };
        // Services that would exceed their maximum get it, and leave the rest to the others.
        let full: Vec<(usize, u64)> = open
            .iter()
            .map(|&at| (at, above(at)))
            .filter(|(_, (part, most))| part > most)
            .map(|(at, of)| (at, of.1))
            .collect();
        if full.is_empty() {
            let parts: Vec<(usize, u64)> = open.iter().map(|&at| (at, above(at).0)).collect();
            parts.into_iter().for_each(|(at, part)| due[at] += part);
            return due;
        }
        for (at, most) in full {
            due[at] += most;
            left -= most;
            open.retain(|&other| other != at);
        }
    }
}

fn scaled(of: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(part) / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

impl ReceiverContention {
    /// Returns the due rate of each service if the rate above minima were shared by minima, in bit/s.
    pub(crate) fn due_by_minima(&self, all: u64) -> Vec<u64> {
        let by_minima = |part: &PartPromise| PartPromise { weight: part.min.bits_per_second(), ..part.clone() };
        due(&self.parts.iter().map(by_minima).collect::<Vec<_>>(), all)
    }

    /// Returns `true` if weights differ from minima, so that they matter.
    pub(crate) fn has_weights(&self) -> bool {
        let ratio = |part: &PartPromise| (u128::from(part.weight), u128::from(part.min.bits_per_second()));
        self.parts.windows(2).any(|two| {
            let ((weight, min), (other, other_min)) = (ratio(&two[0]), ratio(&two[1]));
            weight * other_min != other * min
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(min: u64, weight: u64, max: Option<u64>) -> PartPromise {
        let [min, max] = [Some(min), max].map(|rate| rate.map(Rate::from_bits_per_second));
        PartPromise { service: String::new(), min: min.unwrap_or_default(), weight, max, round_trip: Time::ZERO }
    }

    #[test]
    fn the_due_rate_is_a_minimum_and_a_part_of_the_rest_up_to_a_maximum() {
        let parts = [part(100, 1, None), part(300, 3, None)];
        assert_eq!(due(&parts, 800), [200, 600]);
        assert_eq!(due(&parts, 200), [50, 150], "less than the minima");
        // 500 above minima: 125 and 375; the second may have 100 of that, and the first gets the rest.
        assert_eq!(due(&[part(100, 1, None), part(300, 3, Some(400))], 900), [500, 400]);
        assert_eq!(due(&[part(100, 1, Some(150)), part(300, 3, Some(400))], 550), [150, 400]);
    }
}
