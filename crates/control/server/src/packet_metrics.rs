//! Metrics of packets, as agents have counted them. What no agent has reported has no series.

use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use wayleave_protocol::agent::{SampledPackets, Traffic};

use crate::measure::{KnownGauge, KnownHistogram, signed};
use crate::traffic::ReportedTraffic;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PacketLabels {
    became: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HostLabels {
    node: String,
    became: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    node: String,
}

/// Packets of contracts and of hosts.
#[derive(Default)]
pub(crate) struct PacketMetrics {
    contracts: Family<PacketLabels, Counter>,
    waiting: KnownGauge,
    waits: KnownHistogram,
    hosts: Family<HostLabels, Counter>,
    left_out: Family<NodeLabels, Gauge>,
}

impl PacketMetrics {
    pub(crate) fn register(&self, of: &mut Registry) {
        let help = "Packets of contracts by outcome, counted by hosts since the first report of each contract to this controller";
        of.register("contract_packets", help, self.contracts.clone());
        let help = "Packets of contracts that wait for tokens, in the last reports of hosts that are not silent";
        of.register("contract_packets_waiting", help, self.waiting.clone());
        let help = "Time that packets of contracts waited for tokens, counted like wayleave_contract_packets_total";
        of.register_with_unit("contract_wait", help, Unit::Seconds, self.waits.clone());
        let help = "Packets of a host by outcome, with or without a contract, counted since the start of its agent";
        of.register("host_packets", help, self.hosts.clone());
        let help =
            "Host counters that are not exported: the limit is 48, with names of at most 32 characters of [a-z0-9-]";
        of.register("host_counters_left_out", help, self.left_out.clone());
    }

    /// Replaces all figures. `counted` is `None` at a controller that receives no reports of agents.
    pub(crate) fn update(&self, now: Instant, counted: Option<&ReportedTraffic>) {
        self.contracts.clear();
        let totals = counted.and_then(ReportedTraffic::totals);
        if let Some(&Traffic { packets, delayed, queue_full, oversized, .. }) = totals.as_ref() {
            self.count([("sent", packets), ("delayed", delayed), ("queue-full", queue_full), ("oversized", oversized)]);
        }
        if let Some(SampledPackets { packets, lost, timed, late, .. }) = counted.and_then(ReportedTraffic::followed) {
            self.count([("followed", packets), ("lost", lost), ("timed", timed), ("late", late)]);
        }
        self.waiting.set(counted.and_then(|counted| counted.waiting(now)));
        self.waits.set(totals.filter(|totals| !totals.waits.is_empty()).map(|totals| wait_times(&totals)));
        // Only what was reported last: labels of earlier reports do not add up.
        self.left_out.clear();
        for (node, count) in counted.map(ReportedTraffic::counters_left_out).unwrap_or_default() {
            self.left_out.get_or_create(&NodeLabels { node }).set(signed(count));
        }
        self.hosts.clear();
        for (node, became, count) in counted.map(ReportedTraffic::packets).unwrap_or_default() {
            self.hosts.get_or_create(&HostLabels { node, became }).inc_by(count);
        }
    }

    fn count(&self, outcomes: [(&'static str, u64); 4]) {
        for (became, count) in outcomes {
            self.contracts.get_or_create(&PacketLabels { became }).inc_by(count);
        }
    }
}

/// Returns the sum of all waiting times in seconds, and the number of packets by the longest wait of their class.
fn wait_times(totals: &Traffic) -> (f64, Vec<(f64, u64)>) {
    let last = totals.waits.len().saturating_sub(1);
    // Each edge is twice the one before, from 125 us on; the last class has none.
    let edge = |class: usize| if class == last { f64::INFINITY } else { 125e-6 * (1_u64 << class.min(62)) as f64 };
    let classes = totals.waits.iter().enumerate().map(|(class, &count)| (edge(class), count));
    (totals.waited_ns as f64 / 1e9, classes.collect())
}
