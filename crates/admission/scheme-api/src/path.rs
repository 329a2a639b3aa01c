//! The path role: choice among several paths for a packet.
//!
//! It is beside the stack: the [`Host`](crate::Host) role selects the candidate paths of a pair that are in use
//! (uFAB's migration, 3.5; Chameleon's routes, 3.4), and this role spreads packets over those that share. Where one
//! path is in use there is nothing to choose, and the role is not asked.
//!
//! | system | spreads | receives |
//! |---|---|---|
//! | ECMP (RFC 2992) | flows | nothing |
//! | Presto (SIGCOMM 2015) | flowcells, in turn | changes of the paths |
//! | Clove (CoNEXT 2017) | flowlets, by weights of a destination's paths | marks (Clove-ECN), telemetry of packets and probes (Clove-INT) |

use wayleave_units::Time;

use crate::ids::LocalFlow;
use crate::telemetry::IntHop;

/// A packet that needs a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Payload.
    pub bytes: u32,
    /// Number of paths; at least 1. They are the paths in use, in the order of their [`PathIndex`](crate::PathIndex).
    pub paths: u32,
}

/// Facts that the sender learns of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathReport {
    /// The path.
    pub path: u32,
    /// Acknowledged.
    pub bytes: u64,
    /// Of these, marked.
    pub marked: u64,
    /// Round trip, where it is known.
    pub round_trip: Option<Time>,
}

/// A probe that a driver sends for a path role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathProbe {
    /// Along which path.
    pub path: u32,
    /// Time after it until the role is asked again.
    pub next: Time,
}

/// Chooses paths for the packets of one flow or one pair.
pub trait Path {
    /// The index of the path that the packet takes, below `departure.paths`.
    fn choose(&mut self, now: Time, departure: Departure) -> u32;

    /// Chooses a path where one value serves all flows of a pair and has to distinguish them (Clove: weights belong
    /// to a destination, flowlets to a flow).
    fn choose_for(&mut self, now: Time, _flow: LocalFlow, departure: Departure) -> u32 {
        self.choose(now, departure)
    }

    /// `true` if [`Self::on_report`] and [`Self::on_telemetry`] do anything: they are called for every
    /// acknowledgement.
    fn receives_reports(&self) -> bool {
        true
    }

    /// An acknowledgement brought facts of a path.
    fn on_report(&mut self, _now: Time, _report: PathReport) {}

    /// Records of the ports of a path in a packet or a probe, the first port first (Clove-INT: utilisation).
    fn on_telemetry(&mut self, _now: Time, _path: u32, _hops: &[IntHop]) {}

    /// The path, of `_paths`, that a probe is to take now, if the role wants probes. The records that the ports of
    /// the path write into it come back as [`Self::on_telemetry`], or not at all (Clove-INT: a path without traffic
    /// gives no telemetry). Asked when a pair opens that this value serves, and then as often as the answer asks for.
    fn probe(&mut self, _now: Time, _paths: u32) -> Option<PathProbe> {
        None
    }

    /// The set of paths has changed: indices mean something else.
    fn on_paths_changed(&mut self, _now: Time) {}
}
