//! A network at the rates of a lab.
//!
//! One machine cannot keep the time of a frame at 10 Gbit/s (1.2 us), but it can at 10 Mbit/s (1.25 ms). So rates are
//! divided until the slowest link has the rate of the lab, and quantities that are measured in frames stay: a budget
//! that the topology fixes is multiplied as rates are divided. Where none is fixed, a budget is a number of frames,
//! [`FRAMES`].
//!
//! A virtual link has no propagation delay; the delays that a machine adds instead are attributed to the nodes: a
//! constant part for its work, and a part that varies with its timers.

use wayleave_topology::{Classes, Link, MAX_BUDGET};
use wayleave_topology::{LinkSpec, Network, NetworkBuilder, NetworkError, Node, NodeKind, PortQueue, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

/// The budget of each queue of a switch, in frames of its link. The first holds one frame that is being sent, and two and a half of the
/// queue; each of the others twice as much as the one before.
pub const FRAMES: [u64; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
/// The budgets of a host's queues, in frames: where the bursts of all its endpoints meet.
pub const HOST_FRAMES: u64 = 8;
/// Layer 2 around the largest packet: header (14 B), what is on the wire around a frame (24 B), six tags.
const AROUND: u64 = 14 + 24 + 6 * 4;
/// Constant part of a node's delay: a path of five idle switches takes 17 to 19 us (measured).
const PROCESSING: Time = Time::from_micros(20);
/// The variable part: timers of a virtual machine fire late by more than 300 us a few times a second (measured).
const JITTER: Time = Time::from_micros(500);

/// Reason for which a network cannot be scaled to these rates.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum ScaleError {
    /// A rate of zero.
    #[error("the rate of a lab must be above zero, such as 10Mbit")]
    ZeroRate,
    /// The network has no link.
    #[error("the topology has no links")]
    NoLinks,
    /// The result is not a valid network.
    #[error("{0}")]
    Network(NetworkError),
}

/// The network with its slowest link at `rate`, all others in proportion, and budgets for every queue. Nodes and links keep their indices.
///
/// # Errors
/// If there is nothing to scale.
pub fn scaled(network: &Network, rate: Rate) -> Result<Network, ScaleError> {
    let slowest = network.links().map(|(_, link)| link.rate).min().ok_or(ScaleError::NoLinks)?;
    if rate == Rate::ZERO {
        return Err(ScaleError::ZeroRate);
    }
    let ratio = Ratio { lab: rate.bits_per_second(), slowest: slowest.bits_per_second() };
    let smallest = network.links().map(|(_, link)| link.mtu).min().ok_or(ScaleError::NoLinks)?;
    let jitter = JITTER.min(Time::from_nanos(frame_time(smallest, rate).as_nanos() * 2 / 5));
    let mut builder = NetworkBuilder::default();
    for (_, node) in network.nodes() {
        let node = Node { name: node.name.clone(), kind: node.kind, processing: PROCESSING, jitter };
        builder.add(node).map_err(ScaleError::Network)?;
    }
    for (_, link) in network.links() {
        builder.add_link(ratio.link(network, link)).map_err(ScaleError::Network)?;
    }
    for (&link, name) in network.interfaces() {
        builder.name_interface(link, name).map_err(ScaleError::Network)?;
    }
    let lab = builder.build();
    match network.classes() {
        // A round trip that was given is one at the rates of the network; that of the lab follows from its own.
        Some(classes) => lab.with_classes(Classes { round_trip: None, ..*classes }).map_err(ScaleError::Network),
        None => Ok(lab),
    }
}

/// Returns a sentence for each key of a topology that a lab does not carry out.
pub fn not_carried_out(network: &Network) -> Vec<String> {
    let links = || network.links().map(|(_, link)| link);
    let given = [
        ("delay", links().any(|link| link.propagation > Time::ZERO), "virtual links have no propagation delay"),
        (
            "processing",
            network.nodes().any(|(_, node)| node.processing > Time::ZERO),
            "processing delays of a lab depend on this machine",
        ),
        (
            "jitter",
            network.nodes().any(|(_, node)| node.jitter > Time::ZERO),
            "processing delays of a lab depend on this machine",
        ),
    ];
    let given = given.into_iter().filter(|(_, is_given, _)| *is_given);
    given.map(|(key, _, why)| format!("{key} has no effect: {why}")).collect()
}

/// Factor by which rates are multiplied, and times divided.
struct Ratio {
    lab: u64,
    slowest: u64,
}

impl Ratio {
    fn rate(&self, rate: Rate) -> Rate {
        let scaled = u128::from(rate.bits_per_second()) * u128::from(self.lab) / u128::from(self.slowest);
        Rate::from_bits_per_second(u64::try_from(scaled).unwrap_or(u64::MAX).clamp(1, Rate::MAX.bits_per_second()))
    }

    /// Rounded down, which promises less.
    fn budget(&self, time: Time) -> Time {
        let scaled = u128::from(time.as_nanos()) * u128::from(self.slowest) / u128::from(self.lab);
        Time::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX).clamp(1, MAX_BUDGET.as_nanos()))
    }

    fn link(&self, network: &Network, link: &Link) -> LinkSpec {
        let (rate, mtu) = (self.rate(link.rate), link.mtu);
        let is_host = network.node(link.from).kind == NodeKind::Host;
        let frame = frame_time(mtu, rate).as_nanos();
        let queues = network.port(link.port).queues.iter().zip(FRAMES).map(|(queue, frames)| {
            let frames = if is_host { HOST_FRAMES * frames / FRAMES[0] } else { frames };
            let usual = Time::from_nanos(frame.saturating_mul(frames).min(MAX_BUDGET.as_nanos()));
            PortQueue { buffer: queue.buffer, budget: Some(queue.budget.map_or(usual, |given| self.budget(given))) }
        });
        let port = PortSpec { queues: queues.collect() };
        LinkSpec { from: link.from, to: link.to, rate, propagation: Time::ZERO, mtu, port }
    }
}

/// Returns the transmission time of the largest frame, rounded up.
fn frame_time(mtu: Bytes, rate: Rate) -> Time {
    let nanobits = u128::from((mtu.get() + AROUND) * 8) * 1_000_000_000;
    let time = nanobits.div_ceil(u128::from(rate.bits_per_second()));
    Time::from_nanos(u64::try_from(time).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, FatTree, build};

    fn fat_tree(rate: Rate, core: Rate) -> Network {
        let cabling = Cabling { rate, ..Cabling::default() };
        build::fat_tree(&FatTree { core_rate: Some(core), cabling, ..FatTree::default() }).unwrap()
    }

    #[test]
    fn the_slowest_link_gets_the_rate_and_others_keep_their_proportion() {
        let network = fat_tree(Rate::from_gbit(10), Rate::from_gbit(40));
        let lab = scaled(&network, Rate::from_mbit(10)).unwrap();
        for ((id, before), (_, after)) in network.links().zip(lab.links()) {
            assert_eq!(after.rate.bits_per_second() * 1000, before.rate.bits_per_second(), "{id:?}");
            assert_eq!((&before.name, before.from, before.to), (&after.name, after.from, after.to));
        }
    }

    #[test]
    fn budgets_are_counted_in_frames() {
        let lab = scaled(&fat_tree(Rate::from_gbit(10), Rate::from_gbit(10)), Rate::from_mbit(10)).unwrap();
        let budgets = |name: &str| -> Vec<u64> {
            let link = lab.find_link(name).unwrap();
            lab.queues(link).iter().map(|queue| queue.budget.unwrap().as_nanos() / 1000).collect()
        };
        // 1562 B at 10 Mbit/s are 1.2496 ms.
        assert_eq!(budgets("core1->pod1-agg1")[..3], [4998, 9996, 19_993]);
        assert_eq!(budgets("h1->pod1-edge1"), [9996]);
    }

    #[test]
    fn a_budget_of_the_topology_grows_as_rates_shrink() {
        let mut cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
        cabling.switch_port.queues[0].budget = Some(Time::from_micros(7));
        let lab = scaled(&build::star(2, cabling).unwrap(), Rate::from_mbit(10)).unwrap();
        let budget = |name: &str, queue: usize| lab.queues(lab.find_link(name).unwrap())[queue].budget;
        assert_eq!(budget("s1->h1", 0), Some(Time::from_millis(7)));
        assert!(budget("s1->h1", 1).is_some(), "the others get the usual one");
    }

    #[test]
    fn no_budget_is_shorter_than_a_frame_plus_the_machine_minimum() {
        for rate in [Rate::from_mbit(1), Rate::from_mbit(10), Rate::from_mbit(100)] {
            let lab = scaled(&build::star(2, Cabling::default()).unwrap(), rate).unwrap();
            for (_, link) in lab.links() {
                let least = frame_time(link.mtu, link.rate).as_nanos() * 2 + lab.node(link.from).jitter.as_nanos();
                let first = lab.port(link.port).queues[0].budget.unwrap();
                assert!(first.as_nanos() > least, "{} at {rate}: {first}", link.name);
            }
        }
    }

    #[test]
    fn queues_are_divided_into_classes_as_before() {
        let network = fat_tree(Rate::from_gbit(10), Rate::from_gbit(10)).with_classes(Classes::default()).unwrap();
        let lab = scaled(&network, Rate::from_mbit(10)).unwrap();
        assert_eq!(lab.classes(), network.classes());
    }

    #[test]
    fn nothing_to_scale_is_an_error() {
        assert_eq!(scaled(&NetworkBuilder::default().build(), Rate::from_mbit(10)).unwrap_err(), ScaleError::NoLinks);
        let star = build::star(2, Cabling::default()).unwrap();
        assert_eq!(scaled(&star, Rate::ZERO).unwrap_err(), ScaleError::ZeroRate);
    }
}
