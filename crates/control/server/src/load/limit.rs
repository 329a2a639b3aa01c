//! The highest rate that counters can show, and the age up to which they show it.

use std::time::Duration;

use wayleave_topology::{Network, NodeId};
use wayleave_units::Rate;

/// Counters older than this are not shown as those of now; an agent without a report for as long counts as silent.
/// Longer intervals between two readings are not recorded.
pub(crate) const FRESH: Duration = Duration::from_secs(5);

/// Traffic that an interval may have beyond its length, as a time. An agent reads its interfaces one after the other,
/// and drivers count packets before they are on the wire, or in batches.
pub(super) const READ_ERROR: Duration = Duration::from_millis(100);

/// Returns `true` if a line can carry these bits in this time.
pub(crate) fn is_believable(line: Rate, bits: u64, took: Duration) -> bool {
    let most = u128::from(line.bits_per_second()) * (took + READ_ERROR).as_nanos() / 1_000_000_000;
    u128::from(bits) <= most
}

/// Highest believable rate of packets per second at one end of a link: 1.2 billion of the smallest frames at 800 Gbit/s.
const MAX_PACKET_RATE: u64 = 2_000_000_000;

/// Returns `true` if an end of a link can count these packets in this time.
pub(crate) fn is_believable_count(packets: u64, took: Duration) -> bool {
    u128::from(packets) <= u128::from(MAX_PACKET_RATE) * (took + READ_ERROR).as_nanos() / 1_000_000_000
}

/// Returns the line rate of a host: no contract sends more from it.
pub(crate) fn line_of_host(network: &Network, host: NodeId) -> Rate {
    let rates = network.links_from(host).iter().map(|&link| network.link(link).rate.bits_per_second());
    Rate::from_bits_per_second(rates.fold(0, u64::saturating_add))
}
