//! Parameters of SCC. The text gives few of its values: "ours" marks a choice, with its reason in docs/theory/scc.md,
//! which also measures its sensitivity.

use wayleave_scheme_api::{ValueKind, params, words};
use wayleave_units::{Bytes, Rate, Time};

/// A full Ethernet frame with preamble and gap.
pub(super) const FRAME: u64 = 1_538;

/// Reaction of a tunnel's rate to marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLaw {
    /// Growth by a part of the weight, reduction by a part of the rate: rates are shared by weights.
    Weighted,
    /// Equations 1 and 2: both by factors of the weight.
    AsPrinted,
}

words! {
    RateLaw {
        Weighted = "weighted", "Grows by a part of the weight, falls by a part of the rate: rates are shared by weights";
        AsPrinted = "as-printed", "Grows and falls by factors of the weight (equations 1 and 2), which never shares by weights";
    }
}

/// Choice of the flow whose packet leaves a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelScheduling {
    /// The tunnel.
    Tunnel,
    /// The transports, which see marks of the tunnel's queue; packets leave in order.
    Transports,
}

words! {
    TunnelScheduling {
        Tunnel = "tunnel", "The tunnel, by Algorithms 1 to 3";
        Transports = "transports", "Packets leave in order; transports hear the marks of the tunnel's queue";
    }
}

/// Rate that latency-sensitive flows have whatever the weight of their tunnel. "We set average bandwidth of a tunnel to be at least
/// 10 N_f" (IV-C) allows all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyFloor {
    /// Ten packets per round trip for each flow in its first window.
    FirstWindow,
    /// Ten packets per round trip for each flow.
    AllFlows,
    /// No rate: ten packets per round trip are a part of the reference weight only, which the tracker scales.
    Weight,
}

words! {
    LatencyFloor {
        FirstWindow = "first-window", "Ten packets per round trip for each flow that has sent less than ten packets";
        AllFlows = "all-flows", "Ten packets per round trip for each flow, also at the cost of other divisions' shares";
        Weight = "weight", "None: ten packets per round trip are a part of the reference weight, which the tracker scales";
    }
}

/// Treatment of a flow whose deadline has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedDeadline {
    /// As a flow without a deadline: it hardly has weight, and leaves after all others.
    Last,
    /// As if it had one slot left.
    Urgent,
}

words! {
    MissedDeadline {
        Last = "last", "As if it had no deadline: its packets leave after all others";
        Urgent = "urgent", "It counts as if one slot were left";
    }
}

/// Flows that use the remaining rate of a deadline-sensitive tunnel, once all deadlines, or the maximum number of
/// them, are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SparePolicy {
    /// Of the session that needs the least rate.
    Cheapest,
    /// Of the session whose deadline is next.
    EarliestDeadline,
}

words! {
    SparePolicy {
        Cheapest = "cheapest", "The flow that needs the least rate comes first, as in Algorithm 1";
        EarliestDeadline = "earliest-deadline", "The flow whose deadline is next comes first";
    }
}

params! {
    /// Settings of SCC.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Between two feedbacks of a tunnel: a round trip is enough, as DCTCP has it.
        pub feedback_period: Time = Time::from_micros(300), "feedbackPeriod", ValueKind::TIME, "ours: the round trip of II-B";
        /// Reaction of rates to marks.
        pub rate_law: RateLaw = RateLaw::Weighted, "rateLaw", ValueKind::Word(RateLaw::WORDS), "ours; III-B is as-printed";
        /// Growth of a tunnel in a period without marks, as a part of its weight, in steps of 0.01.
        pub increase_factor_percent: u8 = 1, "increaseFactor", ValueKind::Hundredths { least: 1, most: 100 }, "ours";
        /// Decrease of a tunnel in a fully marked period, as a part of its rate, in steps of 0.01.
        pub decrease_factor_percent: u8 = 4, "decreaseFactor", ValueKind::Hundredths { least: 1, most: 50 }, "ours";
        /// Additional decrease, as a part of the rate above its weight, up to twice the weight, in steps of 0.01.
        pub overshoot_backoff_percent: u8 = 10, "overshootBackoff", ValueKind::Hundredths { least: 0, most: 50 }, "ours";
        /// Maximum number of growth steps in a period, after many periods without marks; 1: always one step.
        pub max_increase_steps: u32 = 16, "maxIncreaseSteps", ValueKind::Count { least: 1, most: 1_000 }, "ours";
        /// Number of periods beyond a round trip for which a tunnel's rate may be in flight; more if packets wait for
        /// earlier ones.
        pub in_flight_periods: u32 = 1, "inFlightPeriods", ValueKind::Count { least: 1, most: 1_000 }, "ours";
        /// Part of its rate that a tunnel forgoes while all its packets are marked, in steps of 0.01.
        pub marked_slack_percent: u8 = 25, "markedSlack", ValueKind::Hundredths { least: 0, most: 90 }, "ours";
        /// By 2 to the minus this the average of marks follows a period's share.
        pub smoothing: u32 = 4, "smoothing", ValueKind::Count { least: 0, most: 10 }, "DCTCP (SIGCOMM 2010): g = 1/16";
        /// Of the limiter of a tunnel.
        pub burst: Bytes = Bytes::new(15_380), "burst", ValueKind::BYTES, "ours: an initial window of ten packets (IV-C)";
        /// No tunnel has less.
        pub min_rate: Rate = Rate::from_bits_per_second(500_000), "minRate", ValueKind::Rate { least: Rate::from_bits_per_second(1_000) }, "ours";
        /// Number of periods without feedback on its packets after which a tunnel halves its rate.
        pub feedback_timeout: u32 = 10, "feedbackTimeout", ValueKind::Count { least: 2, most: 1_000_000 }, "ours";
        /// Between two reports of reference weights to the tracker.
        pub report_interval: Time = Time::from_millis(1), "reportInterval", ValueKind::TIME, "IV-A: about a decision slot";
        /// Number of source hosts of a division that run a tracker; the first that answers counts.
        pub trackers: u32 = 2, "trackers", ValueKind::Count { least: 1, most: 16 }, "ours";
        /// Number of reports without an answer after which a tracker counts as lost, and its last answer as stale.
        pub tracker_timeout: u32 = 5, "trackerTimeout", ValueKind::Count { least: 2, most: 1_000_000 }, "ours";
        /// The share of all traffic of no service.
        pub best_effort: Rate = Rate::from_mbit(10), "bestEffort", ValueKind::RATE, "ours";
        /// Queue length in packets from which on packets are marked, unless the scenario configures its switches.
        pub mark_packets: u32 = 20, "markPackets", ValueKind::Count { least: 1, most: 1_000_000 }, "II-B";
        /// Choice of the flow whose packet leaves a tunnel.
        pub scheduling: TunnelScheduling = TunnelScheduling::Tunnel, "scheduling", ValueKind::Word(TunnelScheduling::WORDS), "VI-A";
        /// Between two computations of a tunnel's reference weight.
        pub decision_slot: Time = Time::from_millis(1), "decisionSlot", ValueKind::TIME, "IV-A: about a millisecond";
        /// Queue length of a tunnel from which on transports see marks.
        pub tunnel_mark_packets: u32 = 20, "tunnelMarkPackets", ValueKind::Count { least: 1, most: 1_000_000 }, "ours: as at switches (II-B)";
        /// The most packets of a tunnel, for transports that rely on drops.
        pub tunnel_packets: u32 = 100, "tunnelPackets", ValueKind::Count { least: 1, most: 1_000_000 }, "III-C";
        /// Treatment of a flow whose deadline has passed.
        pub missed_deadline: MissedDeadline = MissedDeadline::Last, "missedDeadline", ValueKind::Word(MissedDeadline::WORDS), "ours";
        /// Flows that use the rate that deadlines leave over.
        pub spare_rate: SparePolicy = SparePolicy::Cheapest, "spareRate", ValueKind::Word(SparePolicy::WORDS), "ours: the order of Algorithm 1";
        /// The queue that a latency-sensitive flow should have in its tunnel (Q*), in full packets.
        pub target_packets: u32 = 2, "targetPackets", ValueKind::Count { least: 1, most: 1_000_000 }, "ours: a message of II-B has two";
        /// Share of the target queue from which on a latency-sensitive flow asks for a rate (epsilon), in steps of
        /// 0.01.
        pub epsilon_percent: u8 = 100, "epsilon", ValueKind::Hundredths { least: 1, most: 100 }, "ours: a queue at its target asks for nothing";
        /// Rate of latency-sensitive flows that does not depend on weights.
        pub latency_min_rate: LatencyFloor = LatencyFloor::FirstWindow, "latencyMinRate", ValueKind::Word(LatencyFloor::WORDS), "IV-C, read so that long flows share by weight";
        /// In which a latency-sensitive flow should be able to send ten packets.
        pub round_trip: Time = Time::from_micros(300), "roundTrip", ValueKind::TIME, "II-B";
    }
}

impl Params {
    /// For objectives in a class of their own, where others go first and come and go within milliseconds: a rate without demand is only lent, so steps do not
    /// grow for it, and packets wait while bursts pass, so windows are larger (docs/theory/scc.md, "Control law").
    #[must_use]
    pub fn below_classes(feedback_period: Time) -> Self {
        Self {
            feedback_period,
            max_increase_steps: 1,
            in_flight_periods: 4,
            latency_min_rate: LatencyFloor::Weight,
            ..Self::default()
        }
    }
}
