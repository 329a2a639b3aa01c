//! The longest round trip of a network without queues.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wayleave_units::{Amount, Bytes, Time};

use crate::network::{Link, Network, NodeId, NodeKind};

/// Above so many switches with hosts not every one is a source: twice the distance from one of them bounds all.
const SOURCES: usize = 1_024;

impl Network {
    /// The longest time from a host to another and back without waiting, at most: each way processing, propagation and the
    /// transmission of a largest frame at every link, along the fastest way. Zero if no two hosts are joined.
    ///
    /// ```
    /// use wayleave_topology::builders::{Cabling, build};
    /// use wayleave_units::Bytes;
    /// // Two links at 1 Gbit/s each way, 12 us for a frame of 1,500 B at each, and 0.5 us of propagation.
    /// let network = build::star(2, Cabling::default())?;
    /// let time = network.longest_round_trip(|_| Bytes::new(1_500));
    /// assert!(time.as_nanos() >= 4 * 12_000, "{time}");
    /// # Ok::<(), wayleave_topology::NetworkError>(())
    /// ```
    pub fn longest_round_trip(&self, frame: impl Fn(&Link) -> Bytes) -> Time {
        let through: Vec<u64> = self.links().map(|(_, link)| self.time_through(link, frame(link))).collect();
        // What the last mile adds at each switch: to its farthest host, and from it.
        let mut ends: Vec<Option<(u64, u64)>> = vec![None; self.nodes().len()];
        for (id, link) in self.links() {
            let time = through[id.index()];
            if self.node(link.to).kind == NodeKind::Host {
                let end = ends[link.from.index()].get_or_insert((0, 0));
                end.0 = end.0.max(time);
            } else if self.node(link.from).kind == NodeKind::Host {
                let tagger = self.node(link.from).processing.as_nanos();
                let end = ends[link.to.index()].get_or_insert((0, 0));
                end.1 = end.1.max(time + tagger);
            }
        }
        let sources: Vec<NodeId> = self.switches().filter(|node| ends[node.index()].is_some()).collect();
        let all = sources.len() <= SOURCES;
        let farthest = |&source: &NodeId| {
            let up = ends[source.index()].map_or(0, |end| end.1);
            let reached = self.times_from(source, &through);
            let down = reached.iter().zip(&ends).filter_map(|(time, end)| Some(time.as_ref()? + end.as_ref()?.0));
            down.max().map_or(0, |down| up + down)
        };
        let one_way = sources.iter().take(if all { SOURCES } else { 1 }).map(farthest).max().unwrap_or(0);
        Time::from_nanos(one_way.saturating_mul(if all { 2 } else { 4 }))
    }

    /// Transmission, propagation, and the processing of the switch that it enters, ns.
    fn time_through(&self, link: &Link, frame: Bytes) -> u64 {
        let transmission = Amount::from(frame).time_at(link.rate).map_or(0, Time::as_nanos);
        let entered = self.node(link.to);
        let processing = if entered.kind == NodeKind::Switch { entered.processing } else { Time::ZERO };
        transmission + link.propagation.as_nanos() + processing.as_nanos()
    }

    /// From a switch to all others, ns.
    fn times_from(&self, source: NodeId, through: &[u64]) -> Vec<Option<u64>> {
        let mut times: Vec<Option<u64>> = vec![None; self.nodes().len()];
        let mut heap = BinaryHeap::from([Reverse((0, source))]);
        while let Some(Reverse((time, node))) = heap.pop() {
            if times[node.index()].is_some() {
                continue;
            }
            times[node.index()] = Some(time);
            for &link in self.links_to_switches(node) {
                let to = self.link(link).to;
                if times[to.index()].is_none() {
                    heap.push(Reverse((time + through[link.index()], to)));
                }
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::{Cabling, FatTree, build};

    /// Six links of 10 Gbit/s and 1 us each way: 6 (1.25 us + 1 us) there, and as much back.
    #[test]
    fn it_is_that_of_the_farthest_hosts() {
        let cabling = Cabling {
            rate: wayleave_units::Rate::from_gbit(10),
            propagation: Time::from_micros(1),
            ..Cabling::default()
        };
        let network = build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap();
        let network = network.with_nodes(|node| (node.processing, node.jitter) = (Time::ZERO, Time::ZERO)).unwrap();
        let frame = Bytes::new(1_562);
        // 1,562 B take 1,249.6 ns, rounded up at each link.
        assert_eq!(network.longest_round_trip(|_| frame), Time::from_nanos(2 * 6 * (1_250 + 1_000)));
    }
}
