//! Round trips without queues: the time that a link takes, and the longest round trip of a network.

use wayleave_units::{Amount, Bytes, Time};

use crate::network::{Link, Network, NodeId, NodeKind};
use crate::paths::HopDistances;

impl Network {
    /// Time of a frame through a link without queues: transmission (rounded up), propagation, and the processing of the switch that it
    /// enters.
    pub fn transit_time(&self, link: &Link, frame: Bytes) -> Time {
        let transmission = Amount::from(frame).time_at(link.rate).map_or(0, Time::as_nanos);
        let entered = self.node(link.to);
        let processing = if entered.kind == NodeKind::Switch { entered.processing } else { Time::ZERO };
        Time::from_nanos(transmission + link.propagation.as_nanos() + processing.as_nanos())
    }

    /// Returns the longest round trip between two hosts without queues. Both directions take the slowest of the paths
    /// with the fewest links, with a largest frame at every link. Zero if no two hosts are joined.
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
        let transit: Vec<u64> = self.links().map(|(_, link)| self.transit_time(link, frame(link)).as_nanos()).collect();
        // Hosts with one link are alike behind their switch, but for that link: only the slowest of them counts.
        let slowest = |host: NodeId| match (self.links_from(host), self.links_into(host)) {
            ([up], [down]) if self.link(*up).to == self.link(*down).from => {
                let time = transit[up.index()] + transit[down.index()] + self.node(host).processing.as_nanos();
                Some((self.link(*up).to, time))
            }
            _ => None,
        };
        let mut ends: Vec<NodeId> = Vec::new();
        let mut of_switch: Vec<[Option<(u64, NodeId)>; 2]> = vec![[None; 2]; self.nodes().len()];
        for host in self.hosts() {
            let Some((switch, time)) = slowest(host) else {
                ends.push(host);
                continue;
            };
            let [first, second] = &mut of_switch[switch.index()];
            if first.is_none_or(|(longest, _)| longest < time) {
                (*first, *second) = (Some((time, host)), *first);
            } else if second.is_none_or(|(longest, _)| longest < time) {
                *second = Some((time, host));
            }
        }
        ends.extend(of_switch.into_iter().flatten().flatten().map(|(_, host)| host));
        ends.sort_unstable();
        let one_way: Vec<Vec<Option<u64>>> = ends.iter().map(|&to| self.slowest_times(to, &ends, &transit)).collect();
        let pairs = (0..ends.len()).flat_map(|to| (0..to).map(move |from| (from, to)));
        let both = pairs.filter_map(|(from, to)| Some(one_way[to][from]? + one_way[from][to]?));
        Time::from_nanos(both.max().unwrap_or(0))
    }

    /// Times from each of these hosts to one of them along the slowest path with the fewest links, ns.
    fn slowest_times(&self, to: NodeId, from: &[NodeId], transit: &[u64]) -> Vec<Option<u64>> {
        let distances = HopDistances::to(self, to);
        let mut nearest: Vec<(u32, NodeId)> =
            self.nodes().filter_map(|(node, _)| Some((distances.from(node)?, node))).collect();
        nearest.sort_unstable();
        let mut slowest: Vec<Option<u64>> = vec![None; self.nodes().len()];
        slowest[to.index()] = Some(0);
        for (hops, node) in nearest.into_iter().filter(|&(hops, _)| hops > 0) {
            let over = |&link: &crate::network::LinkId| {
                let next = self.link(link).to;
                let is_nearer = distances.from(next) == Some(hops - 1) && (next == to || self.forwards(next));
                slowest[next.index()].filter(|_| is_nearer).map(|time| time + transit[link.index()])
            };
            slowest[node.index()] = self.links_from(node).iter().filter_map(over).max();
        }
        let time = |&host: &NodeId| Some(slowest[host.index()]? + self.node(host).processing.as_nanos());
        from.iter().map(time).collect()
    }

    fn forwards(&self, node: NodeId) -> bool {
        self.node(node).kind == NodeKind::Switch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::{Cabling, FatTree, build};

    /// Six links of 10 Gbit/s and 1 us each: 6 (1.25 us + 1 us) in each direction.
    #[test]
    fn the_round_trip_is_that_of_the_farthest_hosts() {
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
