//! What is kept of a run, and what `wayleave sim -o json` prints of it: plain values that are written and read again.
//!
//! Nothing in it depends on the machine, on the number of threads or on when it ran. Times are in the unit that ends
//! their name; a distribution in ps or bytes has buckets of 1/16 of an octave, so percentiles are too high by less than
//! 6.25 % and never too low, while minimum, mean and maximum are exact.

use serde::{Deserialize, Serialize};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunResult {
    /// The version that ran it.
    pub(crate) wayleave: String,
    /// The name of its scenario.
    pub(crate) scenario: String,
    /// What the sweep gave it.
    pub(crate) parameters: Vec<Parameter>,
    /// Of its random numbers.
    pub(crate) seed: u64,
    /// FNV-1a of the scenario file and of every file that it names, in hexadecimal digits.
    pub(crate) input_hash: String,
    /// The command that runs it again.
    pub(crate) replay: String,
    /// Whether it came to its end.
    pub(crate) ending: Ending,
    /// How long it was to be simulated.
    pub(crate) duration_ns: u64,
    /// How far it came.
    pub(crate) simulated_ns: u64,
    /// Of that, what is counted.
    pub(crate) counted_ns: u64,
    /// Hosts of its network.
    pub(crate) hosts: u64,
    /// Switches of its network.
    pub(crate) switches: u64,
    /// Packets put on links.
    pub(crate) hops: u64,
    /// Events that were dealt with.
    pub(crate) events: u64,
    /// The most packets that there were at once.
    pub(crate) peak_packets: u64,
    /// By kind of traffic.
    pub(crate) traffic: Vec<TrafficResult>,
    /// Flows that are there for the whole run.
    pub(crate) flows: Vec<FlowResult>,
    /// Flows beyond those listed.
    pub(crate) flows_left_out: u64,
    /// Every queue that something passed.
    pub(crate) queues: Vec<QueueResult>,
    /// Every link.
    pub(crate) links: Vec<LinkResult>,
    /// How hosts shared, if they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sharing: Option<SharingResult>,
}

/// How hosts shared among services.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SharingResult {
    /// Best effort, and then services in the order of their names.
    pub(crate) services: Vec<ServiceResult>,
    /// Packets that machines and brokers wrote to others.
    pub(crate) messages: u64,
    /// Of these, lost in the network.
    pub(crate) messages_lost: u64,
    /// On the wire of their first link.
    pub(crate) message_bytes: u64,
}

/// What a service got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServiceResult {
    /// Its name.
    pub(crate) name: String,
    /// At machines that it sent from or received at.
    pub(crate) machines: Vec<ShareResult>,
    /// At the links between racks and other switches that it crossed.
    pub(crate) racks: Vec<ShareResult>,
}

/// At one place. Bytes are those on the wire of hosts' links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShareResult {
    /// The host, or the rack's switch.
    pub(crate) node: String,
    /// What was sent from there after the warm-up.
    pub(crate) sent_bytes: u64,
    /// What arrived there after the warm-up.
    pub(crate) received_bytes: u64,
    /// Packets that found too many waiting for tokens.
    #[serde(default)]
    pub(crate) drops: u64,
    /// What was sent, over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transmit: Option<SeriesResult>,
    /// What arrived, over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receive: Option<SeriesResult>,
    /// What a guarantee to transmit missed, at machines where there is one, if the scenario records series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transmit_shortfall: Option<ShortfallResult>,
    /// The same of a guarantee to receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receive_shortfall: Option<ShortfallResult>,
}

/// What a guarantee missed while there was demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShortfallResult {
    /// In each interval the guarantee or the demand, whichever is less, after the warm-up.
    pub(crate) owed_bytes: u64,
    /// Of that, what was not given.
    pub(crate) missed_bytes: u64,
    /// What was missed, over time.
    pub(crate) missed: SeriesResult,
}

/// What a sweep varies, and what it is in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parameter {
    /// The path into `spec`.
    pub(crate) path: String,
    /// As it is written.
    pub(crate) value: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ending {
    /// Its time was over.
    Complete,
    /// Somebody stopped it: its figures are those of the time until then.
    Stopped,
    /// More flows were open at once than the simulator numbers: more is offered than the network can carry.
    TooManyFlows,
    /// The scheme by which hosts share asked for something that is not simulated.
    Unsupported,
}

/// What packets can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TrafficKind {
    /// Nobody acknowledges them.
    Packets,
    /// Segments of reliable flows.
    Flows,
}

/// One kind of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrafficResult {
    /// Its name.
    pub(crate) name: String,
    /// What it sends.
    pub(crate) kind: TrafficKind,
    /// Packets sent, on the wire of the first link.
    pub(crate) sent: u64,
    /// Their bytes.
    pub(crate) sent_bytes: u64,
    /// Packets that arrived, on the wire of the last link.
    pub(crate) delivered: u64,
    /// Their bytes.
    pub(crate) delivered_bytes: u64,
    /// Payload that arrived for the first time (flows).
    pub(crate) payload_bytes: u64,
    /// Payload of flows, or bytes on the wire of packets, for each second that is counted.
    pub(crate) goodput_bps: u64,
    /// Packets lost.
    pub(crate) drops: u64,
    /// Packets that arrived with a congestion mark.
    pub(crate) marked: u64,
    /// Segments sent again.
    pub(crate) again: u64,
    /// Segments that arrived twice.
    pub(crate) duplicates: u64,
    /// Retransmission time-outs.
    pub(crate) timeouts: u64,
    /// Of packets, from their release to the last bit at the receiver.
    pub(crate) delay_ps: Option<Distribution>,
    /// Flows or requests that began, also before the end of the warm-up.
    pub(crate) begun: u64,
    /// Those that began after the warm-up and were completed.
    pub(crate) finished: u64,
    /// How long they took.
    pub(crate) completion_ps: Option<Distribution>,
    /// The same over what each would have needed alone in the network, in thousandths.
    pub(crate) slowdown_thousandths: Option<Distribution>,
    /// By decade of their size.
    pub(crate) sizes: Vec<SizeResult>,
    /// Flows that kept their deadline.
    pub(crate) deadlines_met: u64,
    /// Flows that did not.
    pub(crate) deadlines_missed: u64,
    /// Bytes on the wire that arrived, over time, if the scenario records series.
    pub(crate) throughput: Option<SeriesResult>,
    /// Of segments and their acknowledgements, as senders see them (flows), if the scenario records series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) round_trip_ps: Option<Distribution>,
    /// The same over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) round_trips: Option<TimesResult>,
}

/// The finished flows of some sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SizeResult {
    /// They are larger than this.
    pub(crate) above_bytes: u64,
    /// And at most so large.
    pub(crate) most_bytes: u64,
    /// How many.
    pub(crate) finished: u64,
    /// How long they took.
    pub(crate) completion_ps: Option<Distribution>,
    /// The same over what each would have needed alone, in thousandths.
    pub(crate) slowdown_thousandths: Option<Distribution>,
}

/// An amount over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeriesResult {
    /// The length of an interval; the last one may be shorter.
    pub(crate) interval_ps: u64,
    /// The amount in each.
    pub(crate) bytes: Vec<u64>,
}

/// Times, interval by interval; zero where nothing came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TimesResult {
    /// The length of an interval; the last one may be shorter.
    pub(crate) interval_ps: u64,
    /// How many came in each.
    pub(crate) count: Vec<u64>,
    /// Their means, rounded.
    pub(crate) mean_ps: Vec<u64>,
    /// Their medians.
    pub(crate) p50_ps: Vec<u64>,
    /// Not exceeded by 99 % in each.
    pub(crate) p99_ps: Vec<u64>,
    /// The maximum in each.
    pub(crate) max_ps: Vec<u64>,
}

/// One flow that is there for the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlowResult {
    /// The name of its traffic.
    pub(crate) traffic: String,
    /// Its sender: a host, or a virtual machine.
    pub(crate) from: String,
    /// Its receiver, likewise.
    pub(crate) to: String,
    /// Packets sent.
    pub(crate) sent: u64,
    /// Packets that arrived.
    pub(crate) delivered: u64,
    /// Payload that arrived for the first time (flows), in bytes.
    pub(crate) payload_bytes: u64,
    /// Packets lost.
    pub(crate) drops: u64,
    /// Packets that arrived with a congestion mark.
    pub(crate) marked: u64,
    /// Segments sent again.
    pub(crate) again: u64,
    /// The number of the packet that took longest, from 0.
    pub(crate) slowest: u32,
    /// Of its packets.
    pub(crate) delay_ps: Option<Distribution>,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueueResult {
    /// The link that its port sends on.
    pub(crate) link: String,
    /// 0 is the highest.
    pub(crate) queue: u8,
    /// The most that it held, with the packet that came.
    pub(crate) peak_bytes: u64,
    /// Packets that found no room.
    pub(crate) drops: u64,
    /// Packets that were marked.
    pub(crate) marks: u64,
    /// From coming to being sent; with points for the queues with the longest waits.
    pub(crate) wait_ps: Option<Distribution>,
    /// Bytes that packets found there.
    pub(crate) found_bytes: Option<Distribution>,
}

/// Where a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tier {
    /// From a host into the network.
    FromHosts,
    /// Between switches.
    BetweenSwitches,
    /// From the network to a host.
    ToHosts,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkResult {
    /// Its name.
    pub(crate) link: String,
    /// Where it is.
    pub(crate) tier: Tier,
    /// Its rate.
    pub(crate) rate_bps: u64,
    /// Put on it.
    pub(crate) sent_bytes: u64,
    /// Share of its rate, from 0 to 1.
    pub(crate) utilisation: f64,
    /// Packets that failures of which nobody was told cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) lost_silently: u64,
    /// What waits for it, over time, if the scenario records series; of the links with the highest maximum.
    pub(crate) backlog: Option<LevelsResult>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A level over time, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LevelsResult {
    /// The length of an interval; the last one may be shorter.
    pub(crate) interval_ps: u64,
    /// The time-weighted mean in each, rounded.
    pub(crate) mean_bytes: Vec<u64>,
    /// The maximum in each.
    pub(crate) most_bytes: Vec<u64>,
}

/// How values are distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Distribution {
    /// How many there are.
    pub(crate) count: u64,
    /// Exact.
    pub(crate) mean: f64,
    /// Exact.
    pub(crate) min: u64,
    /// The median.
    pub(crate) p50: u64,
    /// Not exceeded by 90 %.
    pub(crate) p90: u64,
    /// Not exceeded by 99 %.
    pub(crate) p99: u64,
    /// Not exceeded by 99.9 %.
    pub(crate) p99_9: u64,
    /// Exact.
    pub(crate) max: u64,
    /// Values, each with the part of all that do not exceed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cdf: Vec<(u64, f64)>,
}

impl RunResult {
    /// Whether it came to its end.
    pub(crate) fn is_complete(&self) -> bool {
        self.ending == Ending::Complete
    }

    /// What a table of many runs needs of it; the rest stays in its file.
    pub(crate) fn condensed(mut self) -> Self {
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
                &mut traffic.slowdown_thousandths,
                &mut traffic.round_trip_ps,
            ];
            distributions.into_iter().flatten().for_each(|distribution| distribution.cdf = Vec::new());
        }
        self
    }
}

impl Tier {
    /// All, in the order of a packet's way.
    pub(crate) const ALL: [Self; 3] = [Self::FromHosts, Self::BetweenSwitches, Self::ToHosts];

    /// In words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FromHosts => "from hosts",
            Self::BetweenSwitches => "between switches",
            Self::ToHosts => "to hosts",
        }
    }
}

impl TrafficResult {
    /// What people ask for first: completion times where flows came to an end, otherwise packet delays.
    pub(crate) fn times(&self) -> Option<&Distribution> {
        self.completion_ps.as_ref().or(self.delay_ps.as_ref())
    }
}
