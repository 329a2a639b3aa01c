//! Violations, as messages.

use std::fmt;

use num_rational::BigRational;
use wayleave_topology::RouteError;
use wayleave_units::{Bytes, Rate, Time};

use crate::exact::{bytes_rounded_up, rational, time_rounded_up};

/// One promise or limit that is broken. Queues and links are named as in the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenPromise {
    /// A flow's route is none. The flow is left out of everything else.
    Route {
        /// The flow.
        flow: String,
        /// Fault of the route.
        fault: RouteFault,
    },
    /// A flow uses a queue that contracts may not use. The flow is left out of everything else.
    NoBudget {
        /// The flow.
        flow: String,
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
    },
    /// A flow's derived bound exceeds its deadline.
    Deadline {
        /// The flow.
        flow: String,
        /// Derived, ns.
        bound_ns: u128,
        /// Requested deadline.
        deadline: Time,
    },
    /// The promised bound of a flow differs from the derived one.
    PromisedBound {
        /// The flow.
        flow: String,
        /// Promised bound.
        promised: Time,
        /// Derived, ns.
        bound_ns: u128,
    },
    /// Two routes of one contract were promised to be disjoint, and are not.
    NotDisjoint {
        /// The flow.
        flow: String,
        /// The other.
        other: String,
        /// The cable or switch that both pass.
        shared: String,
    },
    /// The flows of a link exceed its line rate.
    LinkRate {
        /// The link.
        link: String,
        /// Of all its flows together, bit/s.
        reserved_bits_per_second: u128,
        /// Its line rate.
        rate: Rate,
    },
    /// A queue's delay exceeds its budget.
    Budget {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
        /// Derived, ns; `None` is without bound.
        delay_ns: Option<BigRational>,
        /// Its budget.
        budget: Time,
    },
    /// A queue's backlog exceeds its buffer.
    Buffer {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
        /// Derived, bytes; `None` is without bound.
        backlog_bytes: Option<BigRational>,
        /// Its buffer.
        buffer: Bytes,
    },
    /// The delay that was claimed for a queue is not the derived one, rounded up.
    ClaimedDelay {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
        /// Claimed figure.
        claimed: Time,
        /// Derived, ns; `None` is without bound.
        delay_ns: Option<BigRational>,
    },
    /// The backlog that was claimed for a queue is not the derived one, rounded up.
    ClaimedBacklog {
        /// The link.
        link: String,
        /// The queue.
        queue: u8,
        /// Claimed figure.
        claimed: Bytes,
        /// Derived, bytes; `None` is without bound.
        backlog_bytes: Option<BigRational>,
    },
}

/// Reason why a flow's route is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteFault {
    /// Its hops do not lead from its source to its destination.
    Hops(RouteError),
    /// One of its ends is a switch.
    EndIsSwitch(String),
    /// The network has no node of this index.
    UnknownNode(u32),
    /// The network has no link of this index.
    UnknownLink(u32),
}

impl fmt::Display for RouteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hops(error) => error.fmt(f),
            Self::EndIsSwitch(node) => write!(f, "its end {node} is a switch"),
            Self::UnknownNode(node) => write!(f, "the network has no node {node}"),
            Self::UnknownLink(link) => write!(f, "the network has no link {link}"),
        }
    }
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route { flow, fault } => write!(f, "flow \"{flow}\" has no valid route: {fault}"),
            Self::NoBudget { flow, link, queue } => {
                write!(f, "flow \"{flow}\" uses queue {queue} of {link}, which has no delay budget")
            }
            Self::Deadline { flow, bound_ns, deadline } => {
                write!(f, "flow \"{flow}\" has a bound of {:#}, above its deadline of {deadline:#}", Nanos(*bound_ns))
            }
            Self::PromisedBound { flow, promised, bound_ns } => {
                let side = side(u128::from(promised.as_nanos()) < *bound_ns);
                write!(f, "flow \"{flow}\" was guaranteed {promised:#}, {side} its bound of {:#}", Nanos(*bound_ns))
            }
            Self::NotDisjoint { flow, other, shared } => {
                write!(f, "flows \"{flow}\" and \"{other}\" both pass {shared}, but must be disjoint")
            }
            Self::LinkRate { link, reserved_bits_per_second: reserved, rate } => match u64::try_from(*reserved) {
                Ok(bits) => {
                    write!(f, "{link} has {:#} reserved, above its rate of {rate:#}", Rate::from_bits_per_second(bits))
                }
                Err(_) => write!(f, "{link} has {reserved} bit/s reserved, above its rate of {rate:#}"),
            },
            Self::Budget { link, queue, delay_ns, budget } => {
                let delay = text(delay_ns, time_rounded_up);
                write!(f, "queue {queue} of {link} has a worst-case delay of {delay:#}, above its budget of {budget:#}")
            }
            Self::Buffer { link, queue, backlog_bytes, buffer } => {
                let backlog = text(backlog_bytes, bytes_rounded_up);
                write!(
                    f,
                    "queue {queue} of {link} has a worst-case backlog of {backlog:#}, above its buffer of {buffer:#}"
                )
            }
            Self::ClaimedDelay { link, queue, claimed, delay_ns } => {
                let side = side(is_below(claimed.as_nanos(), delay_ns));
                let delay = text(delay_ns, time_rounded_up);
                write!(f, "queue {queue} of {link} is claimed to delay by {claimed:#}, {side} the derived {delay:#}")
            }
            Self::ClaimedBacklog { link, queue, claimed, backlog_bytes } => {
                let side = side(is_below(claimed.get(), backlog_bytes));
                let backlog = text(backlog_bytes, bytes_rounded_up);
                write!(f, "queue {queue} of {link} is claimed to hold {claimed:#}, {side} the derived {backlog:#}")
            }
        }
    }
}

/// Nanoseconds as a time where they fit one.
struct Nanos(u128);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(self.0) {
            Ok(nanos) => Time::from_nanos(nanos).fmt(f),
            Err(_) => write!(f, "{} ns", self.0),
        }
    }
}

fn side(is_below: bool) -> &'static str {
    if is_below { "below" } else { "above" }
}

fn is_below(claimed: u64, derived: &Option<BigRational>) -> bool {
    derived.as_ref().is_none_or(|derived| rational(claimed) < *derived)
}

/// A derived figure, rounded up to a whole unit.
fn text<U: fmt::Display>(derived: &Option<BigRational>, round: impl Fn(&BigRational) -> Option<U>) -> String {
    match derived {
        Some(exact) => round(exact).map_or_else(|| exact.ceil().to_string(), |rounded| format!("{rounded:#}")),
        None => "any amount".to_owned(),
    }
}
