//! Times of minima again: how long packets of their class wait at a link, and by when a minimum is there.
//!
//! With the residual of the latency contracts, `R'` and `S'` as sums over their flows, and the part `g` of the guaranteed class
//! (docs/theory/admission.md, section 14; decision 073; docs/theory/ufab.md, "Open-loop minima"):
//!
//! ```text
//! H  = sum over other classes (Q + L) + L (F - Q_g) / Q_g        what deficit round robin may do first (Boyer, Stea, Sofack 2012)
//! I  = (2 eta g R' + eta R) T(l)                                 in flight by windows
//! d  = ((I + N L) / g + S' + H) / R'                             N pairs may have a packet each beside their windows
//! queue = I + N L + B (S' + H) / R'                              B: charges and acknowledgements; a buffer has to hold it
//! a minimum B is there after    largest sum of budgets D of an allowed path + 2 T + a period of tokens + (receivers) L / B
//! ```
//!
//! The round trip T of a share is the longest of its ordered pairs: the slowest allowed path forth and the slowest back, each with the processing
//! of the sending host and, link by link, the transmission of a largest frame (rounded up), propagation, and the processing of
//! the switch that is entered. T(l) is the longest of all minima that may use l, and N counts their ordered pairs that may use l. A
//! minimum of a link alone has no pairs of its own: its T is that of the slowest pair of hosts that may use the link.

use num_rational::Ratio;
use num_traits::Zero;
use wayleave_topology::{Class, Classes, LinkId, Network, NodeKind};
use wayleave_units::{Bytes, Time};

use super::paths::Lengths;
use super::placed::SharesOn;
use super::promise::{BrokenShare, HeldShare, PromisedShare};
use crate::claim::{Claim, PacketiserTerm};

type Part = Ratio<u128>;

const NANOBITS_PER_BYTE: u128 = 8_000_000_000;

/// Terms of times of minima besides a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareTimes {
    /// By link: packets of the guaranteed class wait no longer, where a minimum with a time passes.
    pub budgets: Vec<Time>,
    /// The period in which hosts renew tokens.
    pub token_period: Time,
}

/// Latency contracts on a link: bit/s, and nanobits of grown bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LatencyLoad {
    pub(crate) rate: u128,
    pub(crate) bursts: u128,
}

/// Returns the reservations of the latency contracts of a claim, by link.
pub(crate) fn reserved(claim: &Claim<'_>) -> Vec<LatencyLoad> {
    let mut all = vec![LatencyLoad::default(); claim.network.links().len()];
    for flow in &claim.flows {
        for number in flow.covered..flow.route.hops.len() {
            let of = reserved_on(claim, flow, number);
            if let Some(all) = all.get_mut(flow.route.hops[number].link.index()) {
                (all.rate, all.bursts) = (all.rate + of.rate, all.bursts + of.bursts);
            }
        }
    }
    all
}

/// Returns the reservation of a flow at one hop of its route: its burst has grown by its rate times the budgets
/// before.
pub(crate) fn reserved_on(claim: &Claim<'_>, flow: &crate::claim::PromisedFlow, hop: usize) -> LatencyLoad {
    let rate = u128::from(flow.rate.bits_per_second());
    let budget = |hop: &wayleave_topology::Hop| {
        let of = claim.budgets.get(hop.link.index()).and_then(|of| of.get(usize::from(hop.queue)));
        u128::from(of.map_or(0, |budget| budget.as_nanos()))
    };
    let waited: u128 = flow.route.hops[..hop].iter().map(budget).sum();
    LatencyLoad { rate, bursts: u128::from(flow.burst.get()) * NANOBITS_PER_BYTE + rate * waited }
}

/// All that times are derived from, but loads.
#[derive(Clone, Debug)]
pub(crate) struct ShareTimeInputs {
    times: ShareTimes,
    max_frame: Vec<Bytes>,
    packetiser: PacketiserTerm,
}

impl ShareTimeInputs {
    pub(crate) fn new(claim: &Claim<'_>, times: &ShareTimes) -> Self {
        Self { times: times.clone(), max_frame: claim.max_frame.clone(), packetiser: claim.packetiser }
    }

    pub(crate) fn budget(&self, link: LinkId) -> Time {
        self.times.budgets.get(link.index()).copied().unwrap_or(Time::ZERO)
    }

    fn frame(&self, link: LinkId) -> u128 {
        self.max_frame.get(link.index()).map_or(0, |frame| u128::from(frame.get()) * NANOBITS_PER_BYTE)
    }

    pub(crate) fn lengths(&self, network: &Network) -> Lengths {
        let through = |id: LinkId| {
            let link = network.link(id);
            let transmission = self.frame(id).div_ceil(u128::from(link.rate.bits_per_second().max(1)));
            let entered = network.node(link.to);
            let processing = if entered.kind == NodeKind::Switch { entered.processing.as_nanos() } else { 0 };
            let constants = link.propagation.as_nanos().saturating_add(processing);
            u64::try_from(transmission).unwrap_or(u64::MAX).saturating_add(constants)
        };
        Lengths {
            trip: network.links().map(|(link, _)| through(link)).collect(),
            budget: network.links().map(|(link, _)| self.budget(link).as_nanos()).collect(),
            processing: network.nodes().map(|(_, node)| node.processing.as_nanos()).collect(),
        }
    }

    /// Returns the time after which a minimum is there, ns.
    pub(crate) fn there_within(&self, share: &PromisedShare, on: &SharesOn) -> u128 {
        if matches!(share.held, HeldShare::Objective(_)) {
            return 0;
        }
        let largest = self.max_frame.iter().map(|frame| frame.get()).max().unwrap_or(0);
        let frames = u128::from(largest) * u128::from(on.receivers) * NANOBITS_PER_BYTE;
        let packets = frames.div_ceil(u128::from(share.min.bits_per_second().max(1)));
        u128::from(on.budget) + 2 * u128::from(on.trip) + u128::from(self.times.token_period.as_nanos()) + packets
    }

    /// Returns the fault if packets of minima may wait longer at a link than its budget.
    pub(crate) fn broken(
        &self,
        network: &Network,
        classes: &Classes,
        link: LinkId,
        reserved: &LatencyLoad,
        senders: u128,
        trip: u64,
    ) -> Option<BrokenShare> {
        let (wait, budget) = (self.wait(network, classes, link, reserved, senders, trip), self.budget(link));
        let is_longer = wait.is_none_or(|wait| wait > budget);
        is_longer.then(|| BrokenShare::Wait { link: network.link(link).name.clone(), wait, budget })
    }

    /// Returns how long packets of the guaranteed class may wait at a link, rounded up; `None` if nothing is left for them.
    pub(crate) fn wait(
        &self,
        network: &Network,
        classes: &Classes,
        link: LinkId,
        reserved: &LatencyLoad,
        senders: u128,
        trip: u64,
    ) -> Option<Time> {
        let served = self.served(network, classes, link, reserved)?;
        let queued = (served.windows(classes, trip) + Part::from_integer(senders * self.frame(link))) / served.part;
        let wait = (queued + served.debt) / Part::from_integer(served.left);
        Some(Time::from_nanos(u64::try_from(rounded_up(wait)).unwrap_or(u64::MAX)))
    }

    /// Returns the longest queue of minima at a link, in bytes, rounded up: the windows in flight, a packet of each
    /// pair, and the traffic of minima until their class is served. `None` if no capacity is left for them.
    pub(crate) fn longest_queue(
        &self,
        network: &Network,
        classes: &Classes,
        link: LinkId,
        reserved: &LatencyLoad,
        (senders, trip, minima): (u128, u64, u128),
    ) -> Option<u128> {
        let served = self.served(network, classes, link, reserved)?;
        let blocked = rounded_up(served.debt / Part::from_integer(served.left));
        let windows = rounded_up(served.windows(classes, trip));
        Some((windows + senders * self.frame(link) + minima * blocked).div_ceil(NANOBITS_PER_BYTE))
    }

    /// Returns the service of the guaranteed class at a link; `None` if nothing is left for it.
    fn served(&self, network: &Network, classes: &Classes, link: LinkId, reserved: &LatencyLoad) -> Option<Served> {
        let of = network.link(link);
        let line = u128::from(of.rate.bits_per_second());
        let left = line.checked_sub(reserved.rate).filter(|&left| left > 0)?;
        let frame = self.frame(link);
        let frames = match self.packetiser {
            PacketiserTerm::Subtracted => 2,
            PacketiserTerm::Omitted => 1,
        };
        let jitter = u128::from(network.node(of.from).jitter.as_nanos());
        let debt = frames * frame + line * jitter + reserved.bursts;
        let largest = self.max_frame.get(link.index()).copied().unwrap_or(Bytes::ZERO);
        let quantum = |class| u128::from(classes.quantum(class, largest).get()) * NANOBITS_PER_BYTE;
        let weight = |class| u128::from(classes.weight(class));
        let own = weight(Class::Guaranteed);
        let all: u128 = Class::SHARING.into_iter().map(weight).sum();
        let others = Class::SHARING.into_iter().filter(|&class| class != Class::Guaranteed);
        let turns: u128 = others.map(|class| quantum(class) + frame).sum();
        let first = Part::from_integer(turns) + Part::new(frame * (all - own), own);
        Some(Served { line, left, part: Part::new(own, all), debt: Part::from_integer(debt) + first })
    }
}

/// Service of the guaranteed class at a link.
struct Served {
    /// bit/s of the line.
    line: u128,
    /// bit/s beside latency contracts.
    left: u128,
    /// Part of the remaining capacity, if all classes have packets.
    part: Part,
    /// Nanobits that are served first.
    debt: Part,
}

impl Served {
    /// Returns what windows have in flight at most, nanobits.
    fn windows(&self, classes: &Classes, trip: u64) -> Part {
        let eta = Part::new(u128::from(classes.target), 100);
        let per_time = Part::from_integer(2 * self.left) * self.part + Part::from_integer(self.line);
        Part::from_integer(u128::from(trip)) * per_time * eta
    }
}

fn rounded_up(value: Part) -> u128 {
    if value.is_zero() { 0 } else { value.ceil().to_integer() }
}
