//! Reason for which a request was refused, with the values that explain it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use wayleave_topology::{Class, FailureElement, LinkId, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

/// The stable code of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCode {
    /// No usable path joins the hosts.
    NoPath,
    /// Not enough rate is left.
    Rate,
    /// A delay budget, or the deadline itself, would be exceeded.
    Latency,
    /// A queue's buffer could overflow.
    Buffer,
    /// A tenant's quota, or as many contracts as a scheme was set up for.
    Quota,
    /// An operator's rule.
    Policy,
}

impl RefusalCode {
    /// All, in order.
    pub const ALL: [Self; 6] = [Self::NoPath, Self::Rate, Self::Latency, Self::Buffer, Self::Quota, Self::Policy];

    /// As it appears in files and interfaces.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoPath => "NO_PATH",
            Self::Rate => "RATE",
            Self::Latency => "LATENCY",
            Self::Buffer => "BUFFER",
            Self::Quota => "QUOTA",
            Self::Policy => "POLICY",
        }
    }
}

/// A promise that the request would break at one queue of its best route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A link that is down.
    Down {
        /// The link.
        link: LinkId,
        /// The queue that would be entered.
        queue: u8,
    },
    /// The rate left at a queue.
    Rate {
        /// The link.
        link: LinkId,
        /// The queue that would be overloaded.
        queue: u8,
        /// Rate that would be needed there.
        asked: Rate,
        /// Rest.
        left: Rate,
    },
    /// A queue's delay bound against its budget.
    Delay {
        /// The link.
        link: LinkId,
        /// The queue whose bound would break: the one entered, or one below it.
        queue: u8,
        /// The bound that would result.
        bound: Time,
        /// The budget.
        budget: Time,
    },
    /// A queue's backlog bound against its buffer.
    Buffer {
        /// The link.
        link: LinkId,
        /// The queue whose buffer could overflow.
        queue: u8,
        /// The backlog bound that would result.
        backlog: Bytes,
        /// The buffer.
        buffer: Bytes,
    },
}

impl Binding {
    /// The link where it binds.
    pub const fn link(&self) -> LinkId {
        match *self {
            Self::Down { link, .. }
            | Self::Rate { link, .. }
            | Self::Delay { link, .. }
            | Self::Buffer { link, .. } => link,
        }
    }

    /// The queue whose promise would break.
    pub const fn queue(&self) -> u8 {
        match *self {
            Self::Down { queue, .. }
            | Self::Rate { queue, .. }
            | Self::Delay { queue, .. }
            | Self::Buffer { queue, .. } => queue,
        }
    }

    /// Its code.
    pub const fn reason(&self) -> RefusalCode {
        match self {
            Self::Down { .. } => RefusalCode::NoPath,
            Self::Rate { .. } => RefusalCode::Rate,
            Self::Delay { .. } => RefusalCode::Latency,
            Self::Buffer { .. } => RefusalCode::Buffer,
        }
    }
}

/// Amount that a switch lacks of its allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocated {
    /// The sum of rates.
    Rate {
        /// Rate that would be needed.
        asked: Rate,
        /// Rest.
        left: Rate,
    },
    /// The sum of bursts, which keeps the buffer from overflowing.
    Burst {
        /// Burst that would be needed, grown along the route.
        asked: Bytes,
        /// Rest.
        left: Bytes,
    },
}

/// A refusal names the binding constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No sequence of links joins the hosts.
    Disconnected,
    /// No path in time was found with no more switches than a tag stack has tags.
    TooManySwitches {
        /// The tags.
        limit: u32,
    },
    /// No path carries frames of this size.
    FrameTooLarge {
        /// The frame, on the wire.
        frame: Bytes,
    },
    /// Even in an empty network the fastest path takes longer with these delay budgets.
    Deadline {
        /// The least sum of budgets and constants.
        fastest: Time,
        /// A lower bound for any delay budgets, from rates, frames and constants alone.
        least: Time,
        /// The deadline.
        deadline: Time,
    },
    /// A pinned route names a queue that contracts cannot use.
    NoSuchQueue {
        /// The link.
        link: LinkId,
        /// The queue.
        queue: u8,
        /// Number of queues that contracts may use there.
        queues: u8,
    },
    /// The shortest route that breaks the fewest promises (the pinned one, if one is pinned) still breaks these.
    Blocked {
        /// That route.
        route: Route,
        /// The first promise, from the source, that would break.
        binding: Binding,
        /// The others on the route.
        others: Vec<Binding>,
    },
    /// A queue for each hop exists, but together they take longer than the deadline; faster queues are blocked.
    TooSlow {
        /// The fastest route that has room.
        route: Route,
        /// Its bound.
        bound: Time,
        /// The deadline.
        deadline: Time,
    },
    /// Fewer disjoint routes join the hosts than the request wants, even with nothing admitted.
    TooFewDisjoint {
        /// The routes that are wanted.
        asked: u8,
        /// The most that there are.
        most: u8,
        /// Elements that all of these have to pass: `most` of them, and no more, part the hosts.
        cut: Vec<FailureElement>,
    },
    /// The copies before this one have routes; disjoint from those it has none.
    Copy {
        /// Its number, from 1.
        copy: u8,
        /// Number of copies.
        of: u8,
        /// Its obstacle.
        refusal: Box<Refusal>,
    },
    /// The scheme does not place disjoint routes.
    NoProtection {
        /// The scheme.
        scheme: &'static str,
    },
    /// Every sender may send at most `most`, with any other contracts admitted (QJump's packet per epoch).
    RateCap {
        /// Rate that would be needed.
        asked: Rate,
        /// Rate that every sender may send.
        most: Rate,
    },
    /// The shaper lets the burst out over several rounds, which together take longer than the deadline (QJump's epochs).
    Rounds {
        /// Number of rounds that it takes.
        rounds: u64,
        /// Their length together.
        bound: Time,
        /// The deadline.
        deadline: Time,
    },
    /// Capacity is given away in shares, and fewer are left.
    Shares {
        /// Shares that would be needed.
        asked: u64,
        /// Rest.
        left: u64,
        /// Number of all shares, which was fixed at the start.
        all: u64,
    },
    /// A switch has less left of the amount that was allocated to it as a whole (Loko's shared services).
    Allocation {
        /// The route, the first of the shortest.
        route: Route,
        /// The switch.
        switch: NodeId,
        /// Amount that it lacks.
        limit: Allocated,
    },
    /// Packets are larger than those that the bounds were computed for.
    PacketTooLarge {
        /// The contract's largest frame, on the wire.
        frame: Bytes,
        /// The largest packet, which was fixed or measured at the start.
        most: Bytes,
    },
    /// On this route, a packet of every sender takes longer than a round, and the bound holds for shorter routes
    /// only.
    ShortRound {
        /// The time that it takes.
        takes: Time,
        /// The round.
        round: Time,
    },
    /// The scheme admits latency contracts only.
    OnlyLatency,
    /// The queues of the network are not divided among classes.
    NoClasses,
    /// A link that a share needs is down.
    LinkDown {
        /// The link.
        link: LinkId,
    },
    /// A class has less left on a link: of a pair's best route, or of a cut that members are on both sides of.
    ClassRate {
        /// The class.
        class: Class,
        /// The link.
        link: LinkId,
        /// Rate that the share would add there.
        asked: Rate,
        /// Rate that is left there.
        left: Rate,
        /// The largest minimum with which everything would fit; zero if none would.
        fits: Rate,
    },
    /// Packets of the class could wait on a link for longer than its budget, so no time can be promised there.
    ClassDelay {
        /// The link.
        link: LinkId,
        /// The longest wait.
        bound: Time,
        /// The budget.
        budget: Time,
    },
    /// The budgets of the route, the reaction of hosts and the period of tokens take longer than the time asked for.
    SlowMinimum {
        /// Their sum.
        bound: Time,
        /// The time asked for.
        within: Time,
    },
    /// A reason that only this scheme has, in its own words.
    Stated {
        /// The code.
        reason: RefusalCode,
        /// The field of the contract that it is about, where it holds with any other contracts admitted.
        field: Option<&'static str>,
        /// The reason, in one clause.
        text: String,
    },
}

impl Refusal {
    /// The obstacle, also where it is that of one copy.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Copy { refusal, .. } => refusal.innermost(),
            other => other,
        }
    }

    /// Returns `true` if other delay budgets could admit the request, with the same contracts admitted.
    pub fn depends_on_budgets(&self) -> bool {
        match self {
            Self::Deadline { least, deadline, .. } => least <= deadline,
            Self::TooSlow { .. } => true,
            Self::Blocked { binding, .. } => matches!(binding, Binding::Delay { .. }),
            Self::Copy { refusal, .. } => refusal.depends_on_budgets(),
            _ => false,
        }
    }

    /// Its stable code.
    pub fn reason(&self) -> RefusalCode {
        match self {
            Self::Disconnected
            | Self::LinkDown { .. }
            | Self::TooManySwitches { .. }
            | Self::FrameTooLarge { .. }
            | Self::NoSuchQueue { .. }
            | Self::TooFewDisjoint { .. } => RefusalCode::NoPath,
            Self::Deadline { .. }
            | Self::TooSlow { .. }
            | Self::Rounds { .. }
            | Self::ShortRound { .. }
            | Self::ClassDelay { .. }
            | Self::SlowMinimum { .. } => RefusalCode::Latency,
            Self::RateCap { .. } | Self::ClassRate { .. } => RefusalCode::Rate,
            Self::Shares { .. } => RefusalCode::Quota,
            Self::PacketTooLarge { .. } | Self::OnlyLatency | Self::NoClasses => RefusalCode::Policy,
            Self::Allocation { limit: Allocated::Rate { .. }, .. } => RefusalCode::Rate,
            Self::Allocation { limit: Allocated::Burst { .. }, .. } => RefusalCode::Buffer,
            Self::Blocked { binding, .. } => binding.reason(),
            Self::Copy { refusal, .. } => refusal.reason(),
            Self::NoProtection { .. } => RefusalCode::Policy,
            Self::Stated { reason, .. } => *reason,
        }
    }
}
