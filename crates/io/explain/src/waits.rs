//! Wait before a bound: the time for which a packet that exceeds its contract waits on its host.

use wayleave_contracts::{BucketDemand, LONGEST_WAIT, QueueLimit, wire_bytes};
use wayleave_scheme_api::Decision;
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::{Network, Route};
use wayleave_units::{Bytes, Time};

use crate::context::{Context, routes};

/// Bytes of an Ethernet header.
const HEADER: u64 = 14;

/// The longest that a packet waits for tokens on a Linux host before it is sent, and its bound begins; what exceeds the contract for longer is
/// dropped. `None` where a scheme holds no reservation of the contract.
pub(crate) fn longest_wait(context: &Context<'_>, decision: &Decision) -> Option<Time> {
    let demand = context.scheme.held(decision.flow)?.demand;
    Some(wait_for_tokens(context.network, &routes(decision), demand))
}

/// Returns the longest wait for tokens of a reservation on these routes.
pub fn wait_for_tokens(network: &Network, routes: &[Route], demand: BucketDemand) -> Time {
    let carried = |route: &Route| {
        let mtu = route.hops.iter().map(|hop| network.link(hop.link).mtu.get()).min()?;
        let frame = usize::try_from(mtu.saturating_add(HEADER)).unwrap_or(usize::MAX);
        Some(wire_bytes(frame, route.hops.len().saturating_sub(1)))
    };
    let links = routes.iter().filter_map(carried).min().unwrap_or(Bytes::MAX);
    let largest = demand.max_frame.unwrap_or(Bytes::MAX).min(links).min(demand.burst);
    QueueLimit::of(demand.rate, largest, LONGEST_WAIT).longest
}
