//! Classes below latency in the document of `verify`: promises, attacks on links, and the result of each minimum and maximum.

use serde::Serialize;

/// In `verify -o json`.
#[derive(Serialize)]
pub(super) struct KindsJson {
    pub(super) promises: usize,
    pub(super) runs: usize,
    /// Stopped before the end of all runs.
    pub(super) stopped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) broken: Option<&'static str>,
    /// `null` if no minimum was tested.
    pub(super) largest_lag_per_mille: Option<u64>,
    /// `null` without a bound in flight, or without a run.
    pub(super) largest_in_flight_per_mille: Option<u64>,
    pub(super) windows_in_flight_per_mille: Option<u64>,
    pub(super) smallest_weight_per_mille: Option<u64>,
    pub(super) largest_of_maximum_per_mille: Option<u64>,
    pub(super) farthest_from_part_per_mille: Option<u64>,
    /// Number of weights of bandwidth contracts that could not have been missed: a maximum or the minimum decides the
    /// rate, single frames exceed their effect, or windows had no time to grow to it.
    pub(super) untested_weights: usize,
    /// Number of objectives: their deadlines and goals are not guaranteed, and not tested.
    pub(super) untested_objectives: usize,
    /// Attacks with the worst demands on a link.
    pub(super) links: Vec<LinkJson>,
    pub(super) minima: Vec<MinimumJson>,
    pub(super) maxima: Vec<MaximumJson>,
    /// Bandwidth contracts with a weight that met no other contract: their weights are not tested.
    pub(super) weights_without_contention: Vec<String>,
    /// Conditions of measured promises that were not met.
    pub(super) conditions: Vec<String>,
    pub(super) violations: Vec<String>,
}

/// An attack on a link.
#[derive(Serialize)]
pub(super) struct LinkJson {
    pub(super) link: String,
    /// `steady`, `flip` or `on-off`.
    pub(super) pattern: &'static str,
    /// The sum of the minima that sent over the link together.
    pub(super) demand_bps: u64,
    /// The number of minima that were asked for.
    pub(super) minima: usize,
    pub(super) largest_lag_per_mille: u64,
    pub(super) violations: usize,
}

/// A minimum at a receiver.
#[derive(Serialize)]
pub(super) struct MinimumJson {
    pub(super) contract: String,
    pub(super) host: String,
    pub(super) within_ns: u64,
    /// The longest lag; `null` if no run tested it.
    pub(super) lag_ns: Option<u64>,
    /// The longest lag that a run could have shown.
    pub(super) could_show_ns: u64,
    /// Under a demand without end; `null` if no attack on a link asked for it.
    pub(super) least_rate_per_mille: Option<u64>,
    /// The attack on a link with the longest lag, or `not tested`.
    pub(super) attack: String,
}

/// A maximum at a host in one direction.
#[derive(Serialize)]
pub(super) struct MaximumJson {
    pub(super) contract: String,
    pub(super) host: String,
    /// `sent` or `received`.
    pub(super) direction: String,
    pub(super) max_bps: u64,
    /// The largest throughput, without bursts and whole frames; `null` without a run.
    pub(super) largest_per_mille: Option<u64>,
    /// The part of it that the links could have carried in that run; `null` without a run.
    pub(super) links_per_mille: Option<u64>,
    /// A run carried at least 90 % of it, and the links could have carried 110 %.
    pub(super) tested: bool,
}
