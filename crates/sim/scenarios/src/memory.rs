//! Memory of a run, estimated before it starts, so that a scenario that does not fit can be refused.
//!
//! The estimate is the sum of
//!
//! | what | bytes |
//! |---|---|
//! | links, with port, queues and counters | 1,024 per link, 256 per queue |
//! | histograms of waits and lengths | 5,120 per link for every queue number that traffic uses |
//! | packet sources and flows (below) | 1,024 each |
//! | packets in flight | 64 each: 64 per flow, the burst of a token bucket, otherwise 16 per source |
//! | listed flows | 48 each, and 64 for their results |
//! | jobs | 96 per operation, and a flow for each pair that exchanges messages |
//! | series, if recorded | 24,576 per link and per traffic: 1,024 intervals of 24 |
//! | round trips over time, with series | 524,288 per traffic of flows: 1,024 intervals of 512 |
//! | trace, if recorded | 32 per event |
//!
//! Flows are those that exist at the same time: one per pair (`outstanding` with RPC). With arrivals at random 16 per
//! sending host, which is far above the number that a load below 1 leaves unfinished on average. The backlog of an
//! overload in a buffer without limit comes in addition, and cannot be known before.

use std::collections::{HashMap, HashSet};

use wayleave_topology::NodeId;

use crate::{Endpoint, FlowArrivals, FlowEndpoints, PacketKind, Reliable, RpcServer, Scenario, Traffic, Workload};

const LINK: u64 = 1024;
const QUEUE: u64 = 256;
/// Two histograms with twenty octaves each, sixteen counts of 8 B an octave.
const HISTOGRAMS: u64 = 5120;
const FLOW: u64 = 1024;
const PACKET: u64 = 64;
const PACKETS_PER_FLOW: u64 = 64;
const PACKETS_PER_SOURCE: u64 = 16;
const LISTED: u64 = 48 + 64;
/// With its dependencies, and its progress.
const OPERATION: u64 = 96;
const SERIES: u64 = 1024 * 24;
/// A histogram with three octaves, sixteen counts of 8 B each, and 128 B around them.
const ROUND_TRIPS: u64 = 1024 * 512;
const EVENT: u64 = 32;
/// Unfinished flows of one host, where they arrive at random.
const FLOWS_PER_HOST: u64 = 16;

impl Scenario {
    /// About how many bytes a run takes; see the table in the source. Saturates.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use wayleave_scenarios::Scenario;
    /// # use wayleave_topology::builders::{Cabling, build};
    /// # use wayleave_units::Time;
    /// let network = Arc::new(build::star(2, Cabling::default()).unwrap());
    /// let mut scenario = Scenario::new("idle", network, Time::from_millis(1));
    /// let idle = scenario.memory_estimate();
    /// scenario.record.trace = Some(1_000_000);
    /// assert_eq!(scenario.memory_estimate() - idle, 32_000_000);
    /// ```
    pub fn memory_estimate(&self) -> u64 {
        let links = self.network.links().len() as u64;
        let queues: u64 = self.network.links().map(|(id, _)| self.network.queues(id).len() as u64).sum();
        let used = self.queue_numbers();
        let histograms: u64 =
            self.network.links().map(|(id, _)| (self.network.queues(id).len() as u64).min(used)).sum();
        let traffic: Vec<u64> = self.traffic.iter().map(memory_of).collect();
        let flows = self.traffic.iter().filter(|traffic| !matches!(traffic.workload, Workload::Packets { .. })).count();
        let series = self.record.series.map_or(0, |_| {
            let series = SERIES.saturating_mul(links + self.traffic.len() as u64);
            series.saturating_add(ROUND_TRIPS.saturating_mul(flows as u64))
        });
        let trace = self.record.trace.map_or(0, |events| EVENT.saturating_mul(events));
        let fixed = LINK * links + QUEUE * queues + HISTOGRAMS * histograms;
        traffic.into_iter().fold(fixed.saturating_add(series).saturating_add(trace), u64::saturating_add)
    }

    /// Packet sources and flows that have a fixed place in the event queue.
    pub(crate) fn fixed_flows(&self) -> u64 {
        let flows = self.traffic.iter().map(|traffic| match &traffic.workload {
            Workload::Packets { .. } => sources(&traffic.ends),
            Workload::Flows(Reliable {
                arrivals: FlowArrivals::Load(_) | FlowArrivals::PerSecond(_) | FlowArrivals::After(_),
                ..
            })
            | Workload::Listed { .. } => 1,
            Workload::Job(_) => pairs(&traffic.ends),
            Workload::Flows(reliable) => flows_together(reliable, &traffic.ends),
        });
        flows.fold(0, u64::saturating_add)
    }

    /// Returns the number of queues of a port with all eight that traffic uses.
    fn queue_numbers(&self) -> u64 {
        let mut numbers = HashSet::new();
        let lowest = self.lowest_queue();
        for traffic in &self.traffic {
            numbers.insert(traffic.queue.unwrap_or(lowest));
            numbers.extend(traffic.route.iter().flat_map(|route| route.hops.iter().map(|hop| hop.queue)));
            if let Workload::Listed { flows, .. } = &traffic.workload {
                numbers.extend(flows.iter().filter_map(|flow| flow.queue));
            }
        }
        numbers.len() as u64
    }
}

fn memory_of(traffic: &Traffic) -> u64 {
    match &traffic.workload {
        Workload::Packets { kind, frame } => {
            let packets = match kind {
                PacketKind::TokenBucket { burst, .. } => burst.get() / frame.get().max(1),
                _ => PACKETS_PER_SOURCE,
            };
            sources(&traffic.ends).saturating_mul(FLOW.saturating_add(PACKET.saturating_mul(packets)))
        }
        Workload::Flows(reliable) => {
            flows_together(reliable, &traffic.ends).saturating_mul(FLOW + PACKET * PACKETS_PER_FLOW)
        }
        Workload::Job(job) => {
            let operations = job.graph().operations().len() as u64;
            pairs(&traffic.ends).saturating_mul(FLOW + PACKET * PACKETS_PER_FLOW).saturating_add(OPERATION * operations)
        }
        Workload::Listed { flows, .. } => {
            let senders: HashSet<_> = flows.iter().map(|flow| flow.from).collect();
            let together = (flows.len() as u64).min(FLOWS_PER_HOST * senders.len() as u64);
            LISTED * flows.len() as u64 + together * (FLOW + PACKET * PACKETS_PER_FLOW)
        }
    }
}

/// Pairs that packets are sent between.
fn sources(ends: &FlowEndpoints<Endpoint>) -> u64 {
    match ends {
        FlowEndpoints::Random(..) => 1,
        _ => pairs(ends),
    }
}

fn flows_together(reliable: &Reliable, ends: &FlowEndpoints<Endpoint>) -> u64 {
    match &reliable.arrivals {
        FlowArrivals::Once | FlowArrivals::Every(_) => pairs(ends),
        FlowArrivals::Uniform { connections, .. } => pairs(ends).saturating_mul(u64::from(connections.unwrap_or(1))),
        FlowArrivals::Rpc(rpc) => {
            let loops = match (rpc.server, ends) {
                (RpcServer::Drawn, FlowEndpoints::AllToAll(from, _) | FlowEndpoints::Random(from, _)) => {
                    from.len() as u64
                }
                _ => pairs(ends),
            };
            loops.saturating_mul(u64::from(rpc.outstanding)).saturating_mul(u64::from(rpc.fan_out))
        }
        FlowArrivals::Periodic(_) if !matches!(ends, FlowEndpoints::Random(..)) => pairs(ends),
        FlowArrivals::Load(_) | FlowArrivals::PerSecond(_) | FlowArrivals::Periodic(_) | FlowArrivals::After(_) => {
            let senders = match ends {
                FlowEndpoints::Pairs(pairs) => pairs.iter().map(|pair| pair.0).collect::<HashSet<_>>().len(),
                FlowEndpoints::Permutation(nodes) => nodes.len(),
                FlowEndpoints::AllToAll(from, _) | FlowEndpoints::Random(from, _) => from.len(),
            };
            FLOWS_PER_HOST * senders as u64
        }
    }
}

/// Returns the number of ordered pairs of two hosts; for random ones, that of the draws.
fn pairs(ends: &FlowEndpoints<Endpoint>) -> u64 {
    match ends {
        FlowEndpoints::Pairs(pairs) => pairs.len() as u64,
        FlowEndpoints::Permutation(nodes) => nodes.len() as u64,
        FlowEndpoints::AllToAll(from, to) | FlowEndpoints::Random(from, to) => {
            // Of the pairs of both lists, those at one host are none.
            let mut at: HashMap<NodeId, u64> = HashMap::new();
            from.iter().for_each(|end| *at.entry(end.host).or_default() += 1);
            let both: u64 = to.iter().filter_map(|end| at.get(&end.host)).sum();
            (from.len() as u64).saturating_mul(to.len() as u64).saturating_sub(both)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wayleave_topology::builders::{Cabling, build};
    use wayleave_units::{Bytes, Rate, Time};

    use super::*;
    use crate::{FlowSizes, StartPhase};

    fn hosts(count: u64) -> (Scenario, Vec<NodeId>) {
        let network = Arc::new(build::star(count, Cabling::default()).unwrap());
        let hosts = network.hosts().collect();
        (Scenario::new("x", network, Time::from_millis(1)), hosts)
    }

    #[test]
    fn pairs_of_overlapping_groups_exclude_traffic_to_itself() {
        let (_, hosts) = hosts(4);
        assert_eq!(pairs(&FlowEndpoints::AllToAll(hosts.clone(), hosts.clone()).into()), 12);
        assert_eq!(pairs(&FlowEndpoints::AllToAll(hosts[..2].to_vec(), hosts[1..].to_vec()).into()), 5);
        assert_eq!(sources(&FlowEndpoints::Random(hosts.clone(), hosts).into()), 1);
    }

    #[test]
    fn the_estimate_is_the_sum_of_its_table() {
        let (mut scenario, hosts) = hosts(3);
        // Six directed links; 3 ports of 8 queues and 3 of hosts with one.
        let idle = 6 * LINK + 27 * QUEUE;
        assert_eq!(scenario.memory_estimate(), idle);
        let kind =
            PacketKind::TokenBucket { rate: Rate::from_mbit(1), burst: Bytes::new(3000), phase: StartPhase::Together };
        let ends = FlowEndpoints::AllToAll(hosts.clone(), hosts.clone());
        scenario.traffic.push(Traffic::packets("a", ends.clone(), kind, Bytes::new(1500)));
        let packets = 6 * HISTOGRAMS + 6 * (FLOW + 2 * PACKET);
        assert_eq!(scenario.memory_estimate(), idle + packets);
        let mut flows = Traffic::flows("b", ends, FlowArrivals::Load(0.5), FlowSizes::Fixed(Bytes::new(1)));
        flows.queue = Some(7);
        scenario.traffic.push(flows);
        // Ports of hosts have one queue only, so the second number adds three links.
        let flows = 3 * HISTOGRAMS + 3 * FLOWS_PER_HOST * (FLOW + PACKET * PACKETS_PER_FLOW);
        assert_eq!(scenario.memory_estimate(), idle + packets + flows);
        assert_eq!(scenario.fixed_flows(), 7);
    }
}
