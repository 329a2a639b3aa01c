//! The testbed of section 5.4 at the rates of a lab: a hundredth of the rates, a hundred times the delays.
//!
//! A machine cannot keep the time of a frame at 1 Gbit/s (12 us), it can at 10 Mbit/s (1.25 ms). So rates of links and requests are divided by
//! 100, and budgets and deadlines are multiplied by 100. Bursts and buffers are bytes and stay as they are; so a request needs the
//! same share of each link and queue as before.

use wayleave_contracts::{Accounting, ContractRequest, LatencyContract, MAX_DEADLINE};
use wayleave_lab::run::{FIRST_PORT, matched};
use wayleave_lab::scaled;
use wayleave_schemes::admission::chameleon::Allocation;
use wayleave_topology::builders::testbeds;
use wayleave_topology::{LinkSpec, Network, NetworkBuilder, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use crate::failed::Failed;

/// The rate of every link: a frame lasts 1.25 ms.
const LAB: Rate = Rate::from_mbit(10);
/// The testbed's rate by that of the lab.
pub(super) const SCALE: u64 = 100;
/// The largest frame without check sequence and tags.
const FRAME: u64 = 1514;

/// Ten switches and eight servers, or the left pod of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    LeftPod,
}

impl Part {
    /// The network at the rates of the lab, with the delays of section 4.1.2 for its four queues a port. Hosts have one queue there.
    pub(super) fn network(self) -> Result<Network, Failed> {
        self.with_host_queues(&[Allocation::PUBLISHED_HOST])
    }

    /// Returns the network with hosts that have queues of these delays.
    pub(super) fn with_host_queues(self, delays: &[Time]) -> Result<Network, Failed> {
        let testbed = testbeds::by_name("chameleon-testbed").ok_or_else(|| Failed::broken("no testbed"))?;
        let whole = testbed.map_err(Failed::broken)?;
        let part = match self {
            Self::Whole => whole,
            Self::LeftPod => left_pod(&whole)?,
        };
        let with_budgets = part.with_ports(|kind, _, port| {
            let budgets = match kind {
                NodeKind::Host => {
                    // A host queues in its own memory.
                    *port = PortSpec::uniform(delays.len(), Bytes::MAX);
                    delays.to_vec()
                }
                NodeKind::Switch => Allocation::published(port.queues.len()),
            };
            for (queue, budget) in port.queues.iter_mut().zip(budgets) {
                queue.budget = Some(budget);
            }
        });
        scaled(&with_budgets.map_err(Failed::broken)?, LAB).map_err(Failed::broken)
    }
}

/// The first pod, without the cores: nothing there leads anywhere else.
fn left_pod(whole: &Network) -> Result<Network, Failed> {
    let is_of_pod = |name: &str| name.starts_with("pod1-");
    let mut builder = NetworkBuilder::default();
    for (id, node) in whole.nodes() {
        let is_below = || whole.links_from(id).iter().any(|&link| is_of_pod(&whole.node(whole.link(link).to).name));
        if is_of_pod(&node.name) || (node.kind == NodeKind::Host && is_below()) {
            builder.add(node.clone()).map_err(Failed::broken)?;
        }
    }
    for (_, link) in whole.links() {
        let end = |node| builder.find_node(&whole.node(node).name);
        let (Some(from), Some(to)) = (end(link.from), end(link.to)) else { continue };
        let port = PortSpec { queues: whole.port(link.port).queues.clone() };
        let spec = LinkSpec { from, to, rate: link.rate, propagation: link.propagation, mtu: link.mtu, port };
        builder.add_link(spec).map_err(Failed::broken)?;
    }
    Ok(builder.build())
}

/// Converts a request of the paper's testbed to one of the lab's. Its bytes are those of frames, in packets of one
/// size that fill the burst: a burst of Table 1 can be smaller than the overhead of a packet on the wire.
pub(super) fn at_lab_rate(contract: LatencyContract) -> LatencyContract {
    let rate = Rate::from_bits_per_second((contract.rate.bits_per_second() / SCALE).max(1));
    let deadline = Time::from_nanos(contract.deadline.as_nanos().saturating_mul(SCALE)).min(MAX_DEADLINE);
    let burst = contract.burst.get();
    let min_frame = Bytes::new(burst / burst.div_ceil(FRAME).max(1));
    LatencyContract { rate, deadline, accounting: Accounting::Frame { min_frame }, ..contract }
}

/// Returns the order of a contract between hosts for the lab's controller, distinguished by a UDP port.
pub(super) fn order(network: &Network, contract: LatencyContract, index: u16) -> Result<ContractRequest, Failed> {
    let name = |node| network.node(node).name.clone();
    let (from, to) = (name(contract.from), name(contract.to));
    matched(ContractRequest::plain(contract, &[&from, &to]), FIRST_PORT + index).map_err(Failed::broken)
}

/// Returns a note on the scale of both figures' measurements.
pub(super) fn scale() -> String {
    format!(
        "1 : {SCALE}. Links have 10 Mbit/s instead of 1 Gbit/s, a frame of 1500 B takes 1.25 ms instead of 12 us; rates of requests are divided by \
         {SCALE}, delays of queues and deadlines multiplied by it; bursts and buffers are the same"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_contracts::{RequestMix, WireOverhead};

    #[test]
    fn the_left_pod_has_four_switches_four_servers_and_nothing_else() {
        let (whole, left) = (Part::Whole.network().unwrap(), Part::LeftPod.network().unwrap());
        let counts = |network: &Network| (network.switches().count(), network.hosts().count(), network.links().len());
        // Eight cables of servers, eight within the pods, four to the cores; each is two links.
        assert_eq!(counts(&whole), (10, 8, 2 * (8 + 8 + 4)));
        assert_eq!(counts(&left), (4, 4, 2 * (4 + 4)));
    }

    #[test]
    fn links_and_budgets_are_those_of_the_paper_times_a_hundred() {
        let network = Part::Whole.network().unwrap();
        let budgets = |link: &str| -> Vec<u64> {
            let link = network.find_link(link).unwrap();
            network.queues(link).iter().filter_map(|queue| Some(queue.budget?.as_nanos() / 1_000_000)).collect()
        };
        assert_eq!(budgets("core1->pod1-agg1"), [10, 100, 600, 2400]);
        assert_eq!(budgets("h1->pod1-edge1"), [50]);
        assert!(network.links().all(|(_, link)| link.rate == LAB));
    }

    #[test]
    fn a_request_keeps_its_bytes_at_a_hundredth_of_the_rate() {
        let network = Part::Whole.network().unwrap();
        let largest = WireOverhead::Counted { tags: 6 }.largest_frame(Bytes::new(1500));
        for before in RequestMix::weighted(&network, [31, 31, 31, 11], 3).take(500) {
            let after = at_lab_rate(before.clone());
            assert!(after.validate(&network).is_ok(), "{after:?}");
            assert_eq!((after.burst, after.from, after.to), (before.burst, before.from, before.to));
            assert_eq!(after.rate.bits_per_second(), before.rate.bits_per_second() / 100);
            assert_eq!(after.deadline.as_nanos(), before.deadline.as_nanos() * 100);
            let Accounting::Frame { min_frame } = after.accounting else { panic!("frames are counted") };
            let packets = before.burst.get().div_ceil(FRAME);
            // Full packets of one size, one for each frame of the burst, and the overhead of each.
            let demand = after.demand(WireOverhead::Counted { tags: 6 });
            let wire = min_frame.get() + 48;
            assert!(
                wire <= largest.get() && (packets * wire..=packets * wire + packets + 48).contains(&demand.burst.get())
            );
        }
    }
}
