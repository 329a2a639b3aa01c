//! One port: its queues, the traffic that enters them, and the figures that every check reads.

use wayleave_topology::{Link, LinkId, Network};
use wayleave_units::{Amount, Bytes, Time};

use crate::kernel::QueueLimitKind;
use crate::kernel::fast::{self, KneeTime, Load, Service, Tolerance};
use crate::kernel::lines::Line;
use crate::model::{Comparison, Model, Shaping};

/// Link or source from which traffic enters a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortInput(u32);

impl PortInput {
    /// The node itself: not bounded by any line.
    pub const LOCAL: Self = Self(u32::MAX);

    /// A link that feeds the node.
    pub const fn link(link: LinkId) -> Self {
        Self(link.0)
    }

    /// The link, or `None` for local traffic.
    pub const fn as_link(self) -> Option<LinkId> {
        if self.0 == u32::MAX { None } else { Some(LinkId(self.0)) }
    }
}

/// One input of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) input: PortInput,
    pub(crate) flows: u32,
    pub(crate) rate: i128,
    pub(crate) burst: i128,
}

/// One queue of one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queue {
    /// ns.
    pub(crate) budget: i128,
    /// ns, as in [`Port::spread`]: part of the budget.
    pub(crate) spread: i128,
    /// nanobits.
    pub(crate) buffer: i128,
    pub(crate) flows: u32,
    pub(crate) load: Load,
    /// Service that the queues above leave; meaningful on uniform ports.
    pub(crate) service: Service,
    /// Some input never leaves its line: only the general kernel is exact then.
    pub(crate) endless: bool,
    /// In order of input; those without flows are absent.
    pub(crate) shares: Vec<Share>,
    /// The inputs of the shares. A port has hundreds, and a search here reads a tenth of the memory.
    inputs: Vec<PortInput>,
}

/// Figures of a port, apart from its queues.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    /// bit/s.
    pub(crate) rate: i128,
    /// nanobits of service that never come: blocking, packetiser, and the jitter of a node that keeps the order.
    pub(crate) debt: i128,
    /// ns by which packets may be early and late before they enter a queue: the jitter of a node that keeps no order.
    pub(crate) spread: i128,
    /// nanobits.
    pub(crate) frame: i128,
    /// Sum of all reserved rates.
    pub(crate) reserved: i128,
    /// bit/s that the classes below need.
    pub(crate) shared: i128,
    /// `true` if a minimum that is available within a time passes here.
    pub(crate) timed: bool,
    /// The least that any input lets through: no input without flows has a later knee.
    pub(crate) slowest_input: Line,
    /// Index of its first queue, and the number of queues that contracts may use.
    pub(crate) first: u32,
    pub(crate) count: u8,
    /// Index of its first gauge.
    pub(crate) gauges: u32,
    /// Every input that is bounded by its line is at least as fast as this port.
    pub(crate) uniform: bool,
    /// Number of queues with an input that never leaves its line.
    pub(crate) endless: u8,
    /// Out of order: nothing more is let in; what is reserved stays until it is taken back.
    pub(crate) closed: bool,
    /// Number of times that something was taken back here.
    pub(crate) releases: u32,
    /// Number of changes here.
    pub(crate) changes: u32,
}

/// The part of a port that every check reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    /// bit/s that are neither reserved nor needed by the classes below; none where the port is closed, so that no search has to ask for more.
    pub(crate) spare: u64,
    /// ns, as in [`Port::spread`].
    pub(crate) spread: u64,
    pub(crate) first: u32,
    /// As [`Port::gauges`] and [`Port::changes`].
    pub(crate) gauges: u32,
    pub(crate) changes: u32,
    pub(crate) count: u8,
    /// The tolerances hold: the port is uniform, and no input stays on its line for ever.
    pub(crate) quick: bool,
    /// The delay of the guaranteed class has to be kept.
    pub(crate) timed: bool,
}

impl Port {
    pub(crate) fn new(network: &Network, model: &Model, link: &Link, first: u32, count: u8) -> Self {
        let frame = Amount::from(model.largest_frame(link));
        // Non-preemptive blocking by one frame, and one more for delivery in whole packets (Chameleon, footnote 1).
        // Jitter that keeps the order delays the service; other jitter belongs to the arrivals
        // (docs/theory/admission.md, section 2).
        let spread = model.spread(network, link);
        let debt = frame + frame + link.rate * (network.node(link.from).jitter.saturating_sub(spread));
        let uniform = model.shaping == Shaping::Off
            || network.links_into(link.from).iter().all(|&input| network.link(input).rate >= link.rate);
        let inputs = || network.links_into(link.from).iter().map(|&input| network.link(input));
        let slowest = inputs().map(|input| input.rate.bits_per_second()).min();
        let smallest = inputs().map(|input| Amount::from(model.largest_frame(input)).nanobits()).min();
        let slowest_input = Line {
            rate: slowest.map_or(i128::from(link.rate.bits_per_second()), i128::from),
            offset: smallest.unwrap_or(0),
        };
        let spread = i128::from(spread.as_nanos());
        Self {
            slowest_input: slowest_input.earlier_by(spread),
            spread,
            rate: i128::from(link.rate.bits_per_second()),
            debt: debt.nanobits(),
            frame: frame.nanobits(),
            reserved: 0,
            shared: 0,
            timed: false,
            first,
            count,
            gauges: 0,
            uniform,
            endless: 0,
            closed: false,
            releases: 0,
            changes: 0,
        }
    }
}

impl Port {
    /// Service of its highest queue.
    pub(crate) fn service(&self) -> Service {
        Service { rate: self.rate, debt: self.debt }
    }

    pub(crate) fn gate(&self) -> Gate {
        Gate {
            spare: if self.closed { 0 } else { u64::try_from(self.rate - self.reserved - self.shared).unwrap_or(0) },
            spread: self.spread as u64,
            first: self.first,
            gauges: self.gauges,
            changes: self.changes,
            count: self.count,
            quick: self.uniform && self.endless == 0,
            timed: self.timed,
        }
    }
}

impl Queue {
    pub(crate) fn new(budget: Time, buffer: Bytes, service: Service, spread: i128) -> Self {
        let load = Load { rate: 0, burst: 0, knee: KneeTime::ZERO };
        let (budget, buffer) = (i128::from(budget.as_nanos()), Amount::from(buffer).nanobits());
        Self { budget, spread, buffer, flows: 0, load, service, endless: false, shares: Vec::new(), inputs: Vec::new() }
    }

    /// Rest of the budget for waiting, ns. No queue that holds traffic keeps a wait of zero, since every port has a
    /// debt, so a budget below the spread admits nothing.
    pub(crate) fn wait(&self) -> i128 {
        (self.budget - self.spread).max(0)
    }

    pub(crate) fn tolerance(&self) -> Tolerance {
        Tolerance::of(&self.load, self.service, self.wait(), self.buffer, self.flows)
    }

    /// The longest delay and the largest backlog, rounded up, on ports to which the constant-time kernel applies; `None` is
    /// without bound.
    pub(crate) fn bounds(&self) -> (Option<Time>, Option<Bytes>) {
        if self.flows == 0 {
            return (Some(Time::ZERO), Some(Bytes::ZERO));
        }
        let time = |delay: i128| u64::try_from(delay + self.spread).ok().map(Time::from_nanos);
        let whole = |nanobits| u64::try_from(Amount::from_nanobits(nanobits).bytes_rounded_up()).ok().map(Bytes::new);
        let (delay, backlog) =
            (fast::delay_bound(&self.load, self.service), fast::backlog_bound(&self.load, self.service));
        (delay.and_then(time), backlog.and_then(whole))
    }

    /// The promise that this load would break.
    pub(crate) fn broken_limit(&self, load: &Load, service: Service, comparison: Comparison) -> Option<QueueLimitKind> {
        let (delay, backlog) = (fast::delay_bound(load, service)?, fast::backlog_bound(load, service)?);
        if !fast::delay_holds(load, service, self.wait(), comparison) {
            let bound = Time::from_nanos(u64::try_from(delay + self.spread).ok()?);
            return Some(QueueLimitKind::Delay { bound, budget: Time::from_nanos(self.budget as u64) });
        }
        let whole = |nanobits| u64::try_from(Amount::from_nanobits(nanobits).bytes_rounded_up()).ok().map(Bytes::new);
        Some(QueueLimitKind::Buffer { backlog: whole(backlog)?, buffer: whole(self.buffer)? })
    }

    /// Reads the part that [`crate::Ledger::fetch`] is to read of a queue.
    pub(crate) fn fetch(&self) -> u64 {
        let share = self.shares.first().map_or(0, |share| share.rate as u64);
        let input = self.inputs.first().map_or(0, |input| u64::from(input.0));
        share ^ input ^ u64::from(self.flows) ^ self.buffer as u64 ^ self.service.rate as u64
    }

    /// Index of an input's share, or the index at which it would be inserted.
    pub(crate) fn share(&self, input: PortInput) -> Result<usize, usize> {
        self.inputs.binary_search(&input)
    }

    pub(crate) fn add(&mut self, input: PortInput, rate: i128, burst: i128) {
        let at = self.share(input).unwrap_or_else(|at| {
            self.shares.insert(at, Share { input, flows: 0, rate: 0, burst: 0 });
            self.inputs.insert(at, input);
            at
        });
        let share = &mut self.shares[at];
        (share.flows, share.rate, share.burst) = (share.flows + 1, share.rate + rate, share.burst + burst);
        self.flows += 1;
        self.load.rate += rate;
        self.load.burst += burst;
    }

    pub(crate) fn subtract(&mut self, input: PortInput, rate: i128, burst: i128) {
        let Ok(at) = self.share(input) else { unreachable!("a flow leaves only where it has entered") };
        let share = &mut self.shares[at];
        (share.flows, share.rate, share.burst) = (share.flows - 1, share.rate - rate, share.burst - burst);
        if share.flows == 0 {
            self.shares.remove(at);
            self.inputs.remove(at);
        }
        self.flows -= 1;
        self.load.rate -= rate;
        self.load.burst -= burst;
    }
}
