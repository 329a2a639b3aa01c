//! Parameters of ElasticSwitch. Its paper is not among the sources: "from memory" marks values that it is known to
//! use, "ours" marks a choice where only the rule is known.

use wayleave_units::{Bytes, Rate, Time};

/// ElasticSwitch's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Between two partitions of guarantees; 15 ms (from memory).
    pub partition_period: Time,
    /// Between two steps of rate allocation; 15 ms (from memory).
    pub rate_period: Time,
    /// Share of a machine's line that is never guaranteed, in per cent; 10 (from memory). Congestion shows before
    /// guarantees are touched.
    pub headroom_percent: u8,
    /// Share of its rate that a pair gives up when it meets congestion, in per cent; 20, as CUBIC in Linux did at the
    /// time (ours; that the control is CUBIC's, through Seawall, is from memory).
    pub decrease_percent: u8,
    /// The factor of the cubic curve, in guarantees per cubic second; 1000: a pair without congestion is at twice its guarantee
    /// after 0.1 s and more (ours; uFAB, Table of systems in appendix, gives 10 to 200 ms for ElasticSwitch's convergence).
    pub growth: u64,
    /// Time for which a pair does not grow after congestion, if its guarantee is the whole line. Otherwise the time
    /// is longer, in inverse proportion to its guarantee; 15 ms (the rule from memory, the value ours).
    pub min_hold: Time,
    /// But never longer than this; 150 ms (ours).
    pub max_hold: Time,
    /// Weight of a pair without a guarantee, for each unit of its class's weight; 10 Mbit/s (ours: all virtual
    /// machines have guarantees in the paper).
    pub least: Rate,
    /// The burst of a pair's limiter; 64 kB (ours).
    pub burst: Bytes,
    /// A pair that sends nothing for this long has no part of a guarantee; 60 ms, four periods (ours).
    pub idle: Time,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            partition_period: Time::from_millis(15),
            rate_period: Time::from_millis(15),
            headroom_percent: 10,
            decrease_percent: 20,
            growth: 1_000,
            min_hold: Time::from_millis(15),
            max_hold: Time::from_millis(150),
            least: Rate::from_mbit(10),
            burst: Bytes::new(64_000),
            idle: Time::from_millis(60),
        }
    }
}
