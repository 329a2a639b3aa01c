//! Traffic of pairs along each path, with their weights, if a scenario records promises. It allows shares of a link
//! to be compared with weights.

use std::collections::HashMap;

use wayleave_topology::{LinkId, NodeId};
use wayleave_units::Bytes;

use super::slot::PairSlot;
use crate::clock::Instant;

/// Traffic of one pair along one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedBytes {
    /// Its sending host.
    pub from: NodeId,
    /// Its receiving host.
    pub to: NodeId,
    /// The service at its sender; `None` is best effort.
    pub service: Option<String>,
    /// The path, from the host's own link on.
    pub links: Vec<LinkId>,
    /// On the wire, as they arrived.
    pub bytes: Bytes,
    /// Mean weight of the pair while it existed, as its scheme set it (SCC: kbit/s); 1 if no scheme sets one.
    pub weight: u64,
}

/// Identity of a pair: its ends and its class.
pub(super) type PairEnds = (NodeId, NodeId, u32);

/// A pair, distinct from earlier ones with its slot.
type PairId = (PairSlot, u32);

/// A weight over time.
#[derive(Clone, Copy, Debug)]
struct Weight {
    now: u32,
    since: Instant,
    began: Instant,
    /// Weight times ps until `since`.
    sum: u128,
}

impl Weight {
    /// Nothing before `from` counts.
    fn set(&mut self, weight: u32, now: Instant, from: Instant) {
        self.sum += u128::from(self.now) * u128::from(now.saturating_sub(self.since.max(from)));
        (self.now, self.since) = (weight, now);
    }

    fn mean(mut self, end: Instant, from: Instant) -> u64 {
        self.set(self.now, end, from);
        let time = u128::from(end.saturating_sub(self.began.max(from)));
        let mean = self.sum.checked_div(time).unwrap_or_else(|| self.now.into());
        u64::try_from(mean).unwrap_or(u64::MAX)
    }
}

/// Counts of traffic.
#[derive(Debug, Default)]
pub(super) struct CarriedTotals {
    /// Nothing before it counts.
    from: Instant,
    /// By pair and by where the path begins in the table of routes.
    paths: HashMap<(PairId, u32), (PairEnds, Vec<u32>, u64)>,
    weights: HashMap<PairId, Weight>,
}

impl CarriedTotals {
    /// Creates counts that begin at a time.
    pub(super) fn after(from: Instant) -> Self {
        Self { from, ..Self::default() }
    }

    /// Counts bytes of a pair that arrive along the path that begins at `route` in the table of routes.
    pub(super) fn arrived(
        &mut self,
        pair: PairId,
        ends: PairEnds,
        (route, bytes, now): (u32, u32, Instant),
        links: impl FnOnce() -> Vec<u32>,
    ) {
        if now < self.from {
            return;
        }
        let (.., sum) = self.paths.entry((pair, route)).or_insert_with(|| (ends, links(), 0));
        *sum += u64::from(bytes);
    }

    /// A pair has another weight.
    pub(super) fn weighed(&mut self, pair: PairId, weight: u32, now: Instant) {
        let first = Weight { now: weight, since: now, began: now, sum: 0 };
        self.weights.entry(pair).or_insert(first).set(weight, now, self.from);
    }

    /// The warm-up is over.
    pub(super) fn forget(&mut self, now: Instant) {
        self.paths.values_mut().for_each(|(.., bytes)| *bytes = 0);
        for weight in self.weights.values_mut() {
            *weight = Weight { since: now, began: now, sum: 0, ..*weight };
        }
    }

    /// The run is over. In order of ends and paths, so that it does not depend on the order of a table.
    pub(super) fn outcome(self, end: Instant, name: impl Fn(u32) -> Option<String>) -> Vec<CarriedBytes> {
        let Self { from: counted, paths, weights } = self;
        let mut all: Vec<_> = paths.into_iter().filter(|(_, (.., bytes))| *bytes > 0).collect();
        all.sort_unstable_by_key(|(key, (ends, ..))| (*ends, *key));
        let carried =
            |((pair, _), ((from, to, class), links, bytes)): ((PairId, u32), (PairEnds, Vec<u32>, u64))| CarriedBytes {
                from,
                to,
                service: name(class),
                links: links.into_iter().map(LinkId).collect(),
                bytes: Bytes::new(bytes),
                weight: weights.get(&pair).map_or(1, |weight| weight.mean(end, counted)),
            };
        all.into_iter().map(carried).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_weights_are_those_after_the_warm_up() {
        let mut carried = CarriedTotals::after(5);
        let (pair, ends) = ((0, 0), (NodeId(3), NodeId(4), 1));
        carried.weighed(pair, 100, 0);
        carried.arrived(pair, ends, (3, 5_000, 4), || unreachable!("nothing counts yet"));
        carried.arrived(pair, ends, (7, 1_000, 6), || vec![1, 2]);
        carried.forget(10);
        carried.arrived(pair, ends, (7, 300, 11), || unreachable!("its links are known"));
        carried.arrived(pair, ends, (9, 200, 12), || vec![1, 5]);
        carried.weighed(pair, 50, 15);
        let carried = carried.outcome(20, |class| Some(format!("class {class}")));
        let seen: Vec<_> = carried.iter().map(|path| (path.links.len(), path.bytes.get(), path.weight)).collect();
        assert_eq!(seen, [(2, 300, 75), (2, 200, 75)]);
        assert_eq!(carried[0].links, [LinkId(1), LinkId(2)]);
        assert_eq!(carried[1].service.as_deref(), Some("class 1"));
    }

    #[test]
    fn bytes_before_the_warm_up_do_not_count() {
        let mut carried = CarriedTotals::after(10);
        let (pair, ends) = ((0, 0), (NodeId(3), NodeId(4), 1));
        carried.weighed(pair, 900, 0);
        carried.weighed(pair, 100, 8);
        carried.weighed(pair, 50, 15);
        carried.arrived(pair, ends, (7, 300, 11), || vec![1, 2]);
        let carried = carried.outcome(20, |_| None);
        assert_eq!((carried[0].bytes.get(), carried[0].weight), (300, 75));
    }
}
