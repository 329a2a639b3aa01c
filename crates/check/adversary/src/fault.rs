//! Injected faults: a check that cannot fail has no value.
//!
//! Some are faults of statements, such as an admission control makes whose calculus or whose book-keeping is wrong.
//! They are injected into a [`Statement`], and the derivation has to find them. The others are faults of the network,
//! of its traffic or of a promise. They are injected into a [`Claim`], and packets have to show them.

use std::sync::Arc;

use wayleave_topology::{Network, NetworkBuilder, NetworkError, NodeKind};
use wayleave_units::{Bytes, Rate, Time};

use crate::claim::{AdmittedClaim, Duplication, Promise};
use crate::derive::derive;
use crate::statement::{Admitted, PlanEvent, StatedQueue, Statement, TransitionRule};

/// One thing that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// After admission every queue is given half the time that it needs today. (Budgets are seldom used up, so half a
    /// budget need not be too little.)
    BudgetHalved,
    /// No shaper works: every contract sends twice its burst, and at twice its rate.
    ShaperOff,
    /// The queues of switches hold two frames, regardless of the counted sizes.
    BuffersGone,
    /// Packets of protected contracts go over the first of their routes only.
    DuplicationOff,
    /// At every port that contracts use with two priorities or more, the highest two of them are served in the wrong order.
    PrioritiesSwapped,
    /// The stated delays of queues are 2 % below the correct ones.
    CalculusLow,
    /// The stated delay of one queue lacks one frame: of the queue with most flows.
    FrameForgotten,
    /// One contract sends a burst that exceeds its reservation by a frame.
    BurstLarger,
    /// Contracts send at 1.1 times the rate that was reserved.
    RateLarger,
    /// The packets of one flow that was moved still take its old route.
    MoveForgotten,
    /// No move waits until the packets of flows that were moved before have left, and no contract does.
    MovesChained,
    /// The statement about queues ignores the jitter of nodes.
    JitterIgnored,
}

/// Location of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// In the statements: a [`Statement`].
    Statement,
    /// In the treatment of packets, or in a single promise: a [`AdmittedClaim`].
    Packets,
}

/// Reason why nothing was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultNotInjected {
    /// The fault changes nothing here; the reason, as the end of a sentence.
    NoEffect(&'static str),
    /// The network cannot be rebuilt, which would be a mistake here.
    Network(NetworkError),
}

impl From<NetworkError> for FaultNotInjected {
    fn from(error: NetworkError) -> Self {
        Self::Network(error)
    }
}

/// Capacity of a service that has lost its buffer.
const SMALL_PACKET: Bytes = Bytes::new(64);

/// Returns the capacity of a queue that has lost its buffer: two frames with all Ethernet and tag overhead on the
/// MTU, at most 62 B.
fn two_frames(mtu: Bytes) -> Bytes {
    Bytes::new(2 * (mtu.get() + 62))
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::BudgetHalved,
        Self::ShaperOff,
        Self::BuffersGone,
        Self::DuplicationOff,
        Self::PrioritiesSwapped,
        Self::CalculusLow,
        Self::FrameForgotten,
        Self::BurstLarger,
        Self::RateLarger,
        Self::MoveForgotten,
        Self::MovesChained,
        Self::JitterIgnored,
    ];

    /// Returns the name on command lines and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BudgetHalved => "budget-halved",
            Self::ShaperOff => "shaper-off",
            Self::BuffersGone => "buffers-gone",
            Self::DuplicationOff => "duplication-off",
            Self::PrioritiesSwapped => "priorities-swapped",
            Self::CalculusLow => "delay-understated",
            Self::FrameForgotten => "frame-omitted",
            Self::BurstLarger => "burst-larger",
            Self::RateLarger => "rate-larger",
            Self::MoveForgotten => "move-forgotten",
            Self::MovesChained => "transitions-overlap",
            Self::JitterIgnored => "jitter-omitted",
        }
    }

    /// Returns its location.
    pub const fn layer(self) -> Layer {
        match self {
            Self::BudgetHalved
            | Self::ShaperOff
            | Self::BuffersGone
            | Self::DuplicationOff
            | Self::PrioritiesSwapped => Layer::Packets,
            Self::CalculusLow
            | Self::FrameForgotten
            | Self::BurstLarger
            | Self::RateLarger
            | Self::MoveForgotten
            | Self::MovesChained
            | Self::JitterIgnored => Layer::Statement,
        }
    }
}

impl AdmittedClaim {
    /// The same claim with something wrong.
    ///
    /// # Errors
    /// If the fault changes nothing.
    pub fn broken_by(&self, fault: Fault) -> Result<Self, FaultNotInjected> {
        let mut claim = self.clone();
        if claim.promises.is_empty() {
            return Err(FaultNotInjected::NoEffect("nothing is admitted"));
        }
        match fault {
            Fault::BudgetHalved => claim.promises.iter_mut().for_each(|promise| halve(promise, &self.network)),
            Fault::ShaperOff => {
                for promise in &mut claim.promises {
                    promise.rate = Rate::from_bits_per_second(promise.rate.bits_per_second() * 2);
                    promise.burst = promise.burst * 2;
                }
            }
            Fault::BuffersGone => {
                claim.network = Arc::new(with_small_buffers(&self.network)?);
                claim.services.iter_mut().for_each(|service| service.buffer = SMALL_PACKET);
            }
            Fault::DuplicationOff => {
                if claim.protected.is_empty() {
                    return Err(FaultNotInjected::NoEffect("no contract is protected, so no packet is duplicated"));
                }
                claim.protected.iter_mut().for_each(|protected| protected.duplication = Duplication::Off);
            }
            Fault::PrioritiesSwapped => swap_priorities(&mut claim)?,
            other => {
                debug_assert_eq!(other.layer(), Layer::Statement);
                return Err(FaultNotInjected::NoEffect("this scheme states no queue delays that could be wrong"));
            }
        }
        Ok(claim)
    }
}

fn halve(promise: &mut Promise, network: &Network) {
    let constant = promise.constant(network);
    let queueing = promise.limit().saturating_sub(constant);
    promise.bound = constant + Time::from_nanos(queueing.as_nanos() / 2);
    promise.today = Some(promise.bound);
}

fn with_small_buffers(network: &Network) -> Result<Network, NetworkError> {
    network.with_ports(|kind, mtu, port| {
        if kind == NodeKind::Switch {
            port.queues.iter_mut().for_each(|queue| queue.buffer = two_frames(mtu));
        }
    })
}

/// At every port that promises use with two queues or more, the packets of the highest two of them change queues.
fn swap_priorities(claim: &mut AdmittedClaim) -> Result<(), FaultNotInjected> {
    let mut used = vec![std::collections::BTreeSet::new(); claim.network.links().len()];
    for hop in claim.promises.iter().flat_map(|promise| &promise.route.hops) {
        if let Some(queues) = used.get_mut(hop.link.index()) {
            queues.insert(hop.queue);
        }
    }
    let mut is_any = false;
    for hop in claim.promises.iter_mut().flat_map(|promise| &mut promise.route.hops) {
        let mut queues = used.get(hop.link.index()).into_iter().flatten().copied();
        if let (Some(first), Some(second)) = (queues.next(), queues.next()) {
            is_any = true;
            hop.queue = match hop.queue {
                queue if queue == first => second,
                queue if queue == second => first,
                queue => queue,
            };
        }
    }
    if is_any { Ok(()) } else { Err(FaultNotInjected::NoEffect("at no port do contracts use two priorities")) }
}

impl Statement {
    /// The same statement with something wrong.
    ///
    /// # Errors
    /// If the fault changes nothing.
    pub fn broken_by(&self, fault: Fault) -> Result<Self, FaultNotInjected> {
        let mut broken = self.clone();
        let none = FaultNotInjected::NoEffect;
        let nothing = none("nothing is admitted");
        match fault {
            Fault::CalculusLow => {
                let mut low = broken.queues.iter_mut().filter(|claimed| claimed.flows > 0).peekable();
                low.peek().ok_or(nothing)?;
                for claimed in low {
                    claimed.delay = claimed.delay.map(|delay| Time::from_nanos(of_hundred(delay.as_nanos(), 98)));
                }
            }
            Fault::FrameForgotten => {
                let busiest =
                    broken.queues.iter_mut().filter(|claimed| claimed.flows > 0).max_by_key(|claimed| claimed.flows);
                let busiest = busiest.ok_or(nothing)?;
                let link = self.network.link(busiest.link);
                let frame = self.counting.largest_frame(link.mtu).bits();
                let sent = u128::from(frame) * 1_000_000_000 / u128::from(link.rate.bits_per_second().max(1));
                let sent = Time::from_nanos(u64::try_from(sent).unwrap_or(0).max(1));
                busiest.delay = busiest.delay.map(|delay| delay.saturating_sub(sent));
            }
            Fault::BurstLarger => {
                let last = broken.last_admitted(|_| true).ok_or(nothing)?;
                let frame = last.max_frame.unwrap_or(Bytes::new(SMALLEST_BURST));
                last.asked.bucket.burst = last.reserved.burst + frame;
            }
            Fault::RateLarger => {
                let mut all = broken.all_admitted().peekable();
                all.peek().ok_or(nothing)?;
                for admitted in all {
                    let rate = of_hundred(admitted.reserved.rate.bits_per_second(), 110);
                    admitted.asked.bucket.rate = Rate::from_bits_per_second(rate.min(Rate::MAX.bits_per_second()));
                }
            }
            Fault::MoveForgotten => {
                let last = broken.last_admitted(|admitted| !admitted.moved.is_empty());
                last.ok_or(none("no flow was moved"))?.moved.pop();
            }
            Fault::MovesChained => {
                broken.last_admitted(|admitted| !admitted.moved.is_empty()).ok_or(none("no flow was moved"))?;
                broken.transition_rule = TransitionRule::None;
            }
            Fault::JitterIgnored => {
                if self.network.nodes().all(|(_, node)| node.jitter == Time::ZERO) {
                    return Err(none("no node of this network has jitter"));
                }
                broken.queues = without_jitter(self)?;
                if broken.queues == self.queues {
                    return Err(none("no contract passes a node with jitter"));
                }
            }
            other => {
                debug_assert_eq!(other.layer(), Layer::Packets);
                return Err(none("it is a fault of packets"));
            }
        }
        Ok(broken)
    }

    fn all_admitted(&mut self) -> impl DoubleEndedIterator<Item = &mut Admitted> {
        self.history.iter_mut().filter_map(|event| match event {
            PlanEvent::Admitted(admitted) => Some(&mut **admitted),
            PlanEvent::Released { .. } | PlanEvent::Shared { .. } => None,
        })
    }

    fn last_admitted(&mut self, which: impl Fn(&Admitted) -> bool) -> Option<&mut Admitted> {
        self.all_admitted().rev().find(|admitted| which(admitted))
    }
}

/// A frame of 64 B with preamble and gap (IEEE 802.3): no burst is smaller.
const SMALLEST_BURST: u64 = 84;

/// Returns `parts` per cent of an amount, rounded down.
fn of_hundred(amount: u64, parts: u64) -> u64 {
    u64::try_from(u128::from(amount) * u128::from(parts) / 100).unwrap_or(u64::MAX)
}

/// Returns the statement about queues if nodes had no jitter.
fn without_jitter(statement: &Statement) -> Result<Vec<StatedQueue>, FaultNotInjected> {
    let network = &statement.network;
    let mut builder = NetworkBuilder::default();
    for (_, node) in network.nodes() {
        builder.add(wayleave_topology::Node { jitter: Time::ZERO, ..node.clone() })?;
    }
    let builder = with_links_of(network, builder)?;
    let calm = Statement { network: Arc::new(builder.build()), ..statement.clone() };
    let claimed = derive(&calm).map(|derivation| derivation.figures);
    let Ok(figures) = claimed else { return Ok(statement.queues.clone()) };
    let mut queues = statement.queues.clone();
    for claimed in &mut queues {
        if let Some(figure) = figures.get(&(claimed.link, claimed.queue)) {
            (claimed.delay, claimed.backlog) = *figure;
        }
    }
    Ok(queues)
}

fn with_links_of(network: &Network, mut builder: NetworkBuilder) -> Result<NetworkBuilder, NetworkError> {
    for (id, link) in network.links() {
        let port = wayleave_topology::PortSpec { queues: network.queues(id).to_vec() };
        let (from, to, rate, propagation, mtu) = (link.from, link.to, link.rate, link.propagation, link.mtu);
        builder.add_link(wayleave_topology::LinkSpec { from, to, rate, propagation, mtu, port })?;
    }
    Ok(builder)
}
