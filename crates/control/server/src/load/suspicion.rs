//! Evidence of counters for which it is unknown whether a contract was kept.

use wayleave_protocol::load::UnknownReason;
use wayleave_topology::{Network, NodeId};

use super::window::Window;
use crate::caveat::Excess;

/// Part of a host's reports without which the traffic of a contract cannot be compared with its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missing {
    /// New counters of the contract.
    Counters,
    /// Times of readings by the host's clock.
    ReadTime,
    /// Traffic between two readings, of which the second one is lower.
    Growth,
    /// Traffic between two readings.
    Interval,
}

impl Missing {
    /// Returns the part that a point of ten seconds lacks; `None` if its traffic is known throughout.
    pub(super) fn of(window: Option<&Window>) -> Option<Self> {
        match window {
            Some(window) if window.has_arrivals => Some(Self::ReadTime),
            Some(window) if window.has_new_start => Some(Self::Growth),
            Some(window) if window.is_interrupted => Some(Self::Interval),
            Some(window) if window.mean_bps().is_some() => None,
            Some(_) | None => Some(Self::Counters),
        }
    }

    /// Returns a clause about the reports of a host.
    pub(crate) const fn clause(self) -> &'static str {
        match self {
            Self::Counters => "lack new counters (`traffic` at a later `links.readNs`)",
            Self::ReadTime => "lack `links.readNs`, the time of their counters",
            Self::Growth => "have counters that went back (`traffic`), and so count from a new start",
            Self::Interval => {
                "have counters with a gap: reports without `traffic` or `links.readNs`, counters that exceed the line rate, or a clock that was set"
            }
        }
    }
}

/// Evidence about a contract in a point of ten seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// The reports of this host lack something.
    Incomplete(NodeId, Missing),
    /// The receiver's report contradicts itself about late packets.
    Contradiction(NodeId),
    /// A host shows more than the rule lets through.
    Excess(Excess),
    /// The outcome of sampled packets was not known when the minute was decided.
    Unsettled,
}

impl Suspicion {
    pub(super) const fn reason(&self) -> UnknownReason {
        match self {
            Self::Incomplete(..) | Self::Contradiction(_) => UnknownReason::CountersIncomplete,
            Self::Excess(_) => UnknownReason::RateAboveRule,
            Self::Unsettled => UnknownReason::MaybeBroken,
        }
    }

    /// Returns `true` if another suspicion differs in figures only.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Excess(one), Self::Excess(other)) => one.host == other.host,
            _ => self == other,
        }
    }

    pub(super) fn text(&self, network: &Network) -> String {
        let name = |host: &NodeId| network.node(*host).name.as_str();
        match self {
            Self::Incomplete(host, missing) => {
                format!(
                    "the reports of {} {}: its traffic cannot be compared with its rule",
                    name(host),
                    missing.clause()
                )
            }
            Self::Contradiction(host) => {
                format!(
                    "the report of {} contradicts itself: late packets, or a slowest packet above the bound, without the other",
                    name(host)
                )
            }
            Self::Excess(excess) => excess.text(network),
            Self::Unsettled => {
                "sampled packets that equal one another were still sent: it was not known whether one of them was lost"
                    .to_owned()
            }
        }
    }
}
