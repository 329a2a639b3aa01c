//! The stored result of a run, and the output of `wayleave sim -o json`: plain values that are written and read
//! again.
//!
//! No value depends on the machine, on the number of threads or on the time of the run. Times are in the unit that
//! ends their name. A distribution in ps or bytes has buckets of 1/16 of an octave, so percentiles are too high by
//! less than 6.25 % and never too low, while minimum, mean and maximum are exact.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The version that ran it.
    pub wayleave: String,
    /// The name of its scenario.
    pub scenario: String,
    /// Parameters that the sweep gave to the run.
    pub parameters: Vec<SweepParameter>,
    /// Of its random numbers.
    pub seed: u64,
    /// FNV-1a of the scenario file and of every file that it names, in hexadecimal digits.
    pub input_hash: String,
    /// The command that runs it again.
    pub replay: String,
    /// End of the run: complete or not.
    pub ending: ReportedEnd,
    /// Requested simulated time.
    pub duration_ns: u64,
    /// Simulated time that was reached.
    pub simulated_ns: u64,
    /// Of that, what is counted.
    pub counted_ns: u64,
    /// Hosts of its network.
    pub hosts: u64,
    /// Switches of its network.
    pub switches: u64,
    /// Packets put on links.
    pub hops: u64,
    /// Number of processed events.
    pub events: u64,
    /// The most packets that there were at once.
    pub peak_packets: u64,
    /// By kind of traffic.
    pub traffic: Vec<TrafficResult>,
    /// Flows that exist for the whole run.
    pub flows: Vec<FlowResult>,
    /// Flows beyond those listed.
    pub flows_left_out: u64,
    /// Every queue that something passed.
    pub queues: Vec<QueueResult>,
    /// Every link.
    pub links: Vec<LinkResult>,
    /// Sharing among services on hosts, if there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<SharingResult>,
    /// The part that was skipped instead of simulated, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forward: Option<ForwardResult>,
}

/// Traffic that fast-forward skipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForwardResult {
    /// Allowed error of a completion time, as a share of the completion time.
    pub error: f64,
    /// Reason for which nothing of the scenario could be skipped, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Number of skips of a group of flows.
    pub skips: u64,
    /// Segments that were skipped, not simulated.
    pub skipped_segments: u64,
    /// Skipped time, summed over flows.
    pub skipped_flow_time_ns: u64,
    /// Number of times that a group was inspected and not skipped, by reason.
    pub declined: BTreeMap<String, u64>,
    /// Of the bounds of the errors of completion times, as shares, what 99 % do not exceed: 0, since skips cause none.
    pub estimated_error_p99: Option<f64>,
    /// The largest of them.
    pub estimated_error_max: Option<f64>,
}

/// Sharing of bandwidth among services on hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharingResult {
    /// Best effort, and then services in the order of their names.
    pub services: Vec<ServiceResult>,
    /// Packets that machines and brokers wrote to others.
    pub messages: u64,
    /// Of these, lost in the network.
    pub messages_lost: u64,
    /// On the wire of their first link.
    pub message_bytes: u64,
    /// Probes that hosts sent.
    #[serde(default)]
    pub probes: u64,
    /// Of these, lost in the network, or their answers.
    #[serde(default)]
    pub probes_lost: u64,
    /// On the wire of their first link.
    #[serde(default)]
    pub probe_bytes: u64,
    /// Divisions of SCC that sent something, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub divisions: Vec<DivisionResult>,
}

/// Bandwidth of a division, and results for its objective. Rates are those on the wire, of all its hosts together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DivisionResult {
    /// Its service.
    pub name: String,
    /// `latency`, `deadline` or `completion`, if it has one.
    pub objective: Option<String>,
    /// Its weight.
    pub share_bps: u64,
    /// Rate that entered its tunnels; absent if they held packets at the end, so that its demand was higher.
    pub wanted_bps: Option<u64>,
    /// Its part of the total of all divisions: by their weights, and at most its demand.
    pub due_bps: u64,
    /// Rate that it sent after the warm-up.
    pub carried_bps: u64,
    /// Flows that kept their deadline.
    pub deadlines_met: u64,
    /// Flows that did not.
    pub deadlines_missed: u64,
    /// The mean of the delays of its packets (latency), or of the times of its flows.
    pub mean_ps: Option<f64>,
    /// 99 % of its slowest traffic.
    pub p99_ps: Option<u64>,
}

/// Bandwidth of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceResult {
    /// Its name.
    pub name: String,
    /// At machines that it sent from or received at.
    pub machines: Vec<ShareResult>,
    /// At the links between racks and other switches that it crossed.
    pub racks: Vec<ShareResult>,
}

/// At one place. Bytes are those on the wire of hosts' links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareResult {
    /// The host, or the rack's switch.
    pub node: String,
    /// Bytes sent from there after the warm-up.
    pub sent_bytes: u64,
    /// Bytes received there after the warm-up.
    pub received_bytes: u64,
    /// Packets that found too many waiting for tokens.
    #[serde(default)]
    pub drops: u64,
    /// Packets that left by another path than the one of their pair before.
    #[serde(default)]
    pub path_changes: u64,
    /// Sent bytes over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit: Option<SeriesResult>,
    /// Received bytes over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive: Option<SeriesResult>,
    /// Shortfall of a guarantee to transmit, at machines with such a guarantee, if the scenario records series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_shortfall: Option<ShortfallResult>,
    /// The same of a guarantee to receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_shortfall: Option<ShortfallResult>,
}

/// Shortfall of a guarantee while there was demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortfallResult {
    /// In each interval the guarantee or the demand, whichever is less, after the warm-up.
    pub owed_bytes: u64,
    /// Of that, what was not given.
    pub missed_bytes: u64,
    /// Shortfall over time.
    pub missed: SeriesResult,
}

/// A parameter of a sweep, and its value in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepParameter {
    /// The path into `spec`.
    pub path: String,
    /// As it is written.
    pub value: String,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportedEnd {
    /// Its time was over.
    Complete,
    /// The run was stopped: its figures cover the time until then.
    Stopped,
    /// More flows were open at once than the simulator numbers: more is offered than the network can carry.
    TooManyFlows,
}

/// Kind of packets of a traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficKind {
    /// Packets without acknowledgements.
    Packets,
    /// Segments of reliable flows.
    Flows,
}

/// Pairs without arrivals that are named for each kind of traffic.
pub const MAX_PAIRS: usize = 100;

/// One kind of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficResult {
    /// Its name.
    pub name: String,
    /// Kind of its packets.
    pub kind: TrafficKind,
    /// Packets sent, on the wire of the first link.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that arrived, on the wire of the last link.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Payload that arrived for the first time (flows).
    pub payload_bytes: u64,
    /// Payload of flows, or bytes on the wire of packets, for each second that is counted.
    pub goodput_bps: u64,
    /// Packets lost.
    pub drops: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Retransmitted segments.
    pub again: u64,
    /// Segments that arrived twice.
    pub duplicates: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Senders and receivers of flows that exist for the whole run and never had an arrival, at most [`MAX_PAIRS`] of
    /// them. Flows that come and go are not distinguished.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_arrivals: Vec<[String; 2]>,
    /// Listed flows that would have begun after the end of the run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_the_end: u64,
    /// Of packets, from their release to the last bit at the receiver.
    pub delay_ps: Option<Distribution>,
    /// Flows or requests that began, also before the end of the warm-up.
    pub begun: u64,
    /// Flows or requests that began after the warm-up and were completed.
    pub finished: u64,
    /// Completion times.
    pub completion_ps: Option<Distribution>,
    /// Of tasks that follow others: from the beginning of the first flow of their chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain_ps: Option<Distribution>,
    /// The same over what each would have needed alone in the network, in thousandths.
    pub slowdown_thousandths: Option<Distribution>,
    /// By decade of their size.
    pub sizes: Vec<SizeResult>,
    /// Flows that kept their deadline.
    pub deadlines_met: u64,
    /// Flows that did not.
    pub deadlines_missed: u64,
    /// Bytes on the wire that arrived, over time, if the scenario records series.
    pub throughput: Option<SeriesResult>,
    /// Of segments and their acknowledgements, as senders see them (flows), if the scenario records series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ps: Option<Distribution>,
    /// Their part in tunnels of the sending host, if there are tunnels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_wait_ps: Option<Distribution>,
    /// The same over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<TimesResult>,
}

/// The finished flows of some sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeResult {
    /// They are larger than this.
    pub above_bytes: u64,
    /// And at most so large.
    pub most_bytes: u64,
    /// Number of finished flows.
    pub finished: u64,
    /// Completion times.
    pub completion_ps: Option<Distribution>,
    /// The same over what each would have needed alone, in thousandths.
    pub slowdown_thousandths: Option<Distribution>,
}

/// An amount over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesResult {
    /// The length of an interval; the last one may be shorter.
    pub interval_ps: u64,
    /// The amount in each.
    pub bytes: Vec<u64>,
}

/// Times, interval by interval; zero where nothing came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimesResult {
    /// The length of an interval; the last one may be shorter.
    pub interval_ps: u64,
    /// Number of arrivals in each.
    pub count: Vec<u64>,
    /// Their means, rounded.
    pub mean_ps: Vec<u64>,
    /// Their medians.
    pub p50_ps: Vec<u64>,
    /// Not exceeded by 99 % in each.
    pub p99_ps: Vec<u64>,
    /// The maximum in each.
    pub max_ps: Vec<u64>,
}

/// A flow that exists for the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// The name of its traffic.
    pub traffic: String,
    /// Its sender: a host, or a virtual machine.
    pub from: String,
    /// Its receiver, likewise.
    pub to: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Payload that arrived for the first time (flows), in bytes.
    pub payload_bytes: u64,
    /// Packets lost.
    pub drops: u64,
    /// Packets that arrived with a congestion mark.
    pub marked: u64,
    /// Retransmitted segments.
    pub again: u64,
    /// The number of the packet that took longest, from 0.
    pub slowest: u32,
    /// Of its packets.
    pub delay_ps: Option<Distribution>,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueResult {
    /// The link that its port sends on.
    pub link: String,
    /// 0 is the highest.
    pub queue: u8,
    /// The most that it held, with the packet that came.
    pub peak_bytes: u64,
    /// Packets that found no room.
    pub drops: u64,
    /// Packets that were marked.
    pub marks: u64,
    /// From coming to being sent; with points for the queues with the longest waits.
    pub wait_ps: Option<Distribution>,
    /// Bytes that packets found there.
    pub found_bytes: Option<Distribution>,
}

/// Place of a link in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// From a host into the network.
    FromHosts,
    /// Between switches.
    BetweenSwitches,
    /// From the network to a host.
    ToHosts,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Its name.
    pub link: String,
    /// Place of the link in the network.
    pub tier: Tier,
    /// Its rate.
    pub rate_bps: u64,
    /// Put on it.
    pub sent_bytes: u64,
    /// Share of its rate, from 0 to 1.
    pub utilisation: f64,
    /// Packets lost by failures that were not reported.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_silently: u64,
    /// Backlog of the link over time, if the scenario records series; for the links with the highest maximum.
    pub backlog: Option<LevelsResult>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A level over time, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelsResult {
    /// The length of an interval; the last one may be shorter.
    pub interval_ps: u64,
    /// The time-weighted mean in each, rounded.
    pub mean_bytes: Vec<u64>,
    /// The maximum in each.
    pub most_bytes: Vec<u64>,
}

/// Distribution of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Exact.
    pub mean: f64,
    /// Exact.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// Not exceeded by 90 %.
    pub p90: u64,
    /// Not exceeded by 99 %.
    pub p99: u64,
    /// Not exceeded by 99.9 %.
    pub p99_9: u64,
    /// Exact.
    pub max: u64,
    /// Values, each with the part of all that do not exceed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cdf: Vec<(u64, f64)>,
}

impl RunResult {
    /// Returns `true` if the run is complete.
    pub fn is_complete(&self) -> bool {
        self.ending == ReportedEnd::Complete
    }

    /// Returns the parts that a table of many runs needs; the rest stays in the run's file.
    pub fn condensed(mut self) -> Self {
        self.flows.clear();
        self.queues.sort_by_key(|queue| std::cmp::Reverse(queue.peak_bytes));
        self.queues.truncate(1);
        self.links.clear();
        self.sharing = None;
        for traffic in &mut self.traffic {
            traffic.sizes.clear();
            traffic.throughput = None;
            traffic.round_trips = None;
            let distributions = [
                &mut traffic.delay_ps,
                &mut traffic.completion_ps,
                &mut traffic.chain_ps,
                &mut traffic.slowdown_thousandths,
                &mut traffic.round_trip_ps,
                &mut traffic.host_wait_ps,
            ];
            distributions.into_iter().flatten().for_each(|distribution| distribution.cdf = Vec::new());
        }
        self
    }
}

impl Tier {
    /// All tiers, in the order of a packet's route.
    pub const ALL: [Self; 3] = [Self::FromHosts, Self::BetweenSwitches, Self::ToHosts];

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FromHosts => "from hosts",
            Self::BetweenSwitches => "between switches",
            Self::ToHosts => "to hosts",
        }
    }
}

impl TrafficResult {
    /// Returns the main times of the traffic: completion times if flows finished, otherwise packet delays.
    pub fn times(&self) -> Option<&Distribution> {
        self.completion_ps.as_ref().or(self.delay_ps.as_ref())
    }
}
