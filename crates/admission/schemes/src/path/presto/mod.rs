//! Presto: flowcells of 64 kB over all paths in turn, and order restored at the receiver.
//!
//! K. He, E. Rozner, K. Agarwal, W. Felter, J. Carter, A. Akella, "Presto: Edge-based Load Balancing for Fast
//! Datacenter Networks", SIGCOMM 2015.
//!
//! The sender cuts a flow into flowcells and gives each to the next path. Packets of one flowcell cannot overtake
//! each other, so a hole within a flowcell is a loss. The receiver then passes up later packets at once, because the
//! transport has to know. A hole between two flowcells is probably reordering between two paths. Later packets are
//! held until the hole closes, or for twice the usual duration of such holes.
//!
//! | text | here |
//! |---|---|
//! | 3.1, Algorithm 1: flowcells, paths in turn | [`Flowcells`] |
//! | 3.1: 64 kB, the largest segment that a host hands to its network card | [`FLOWCELL`] |
//! | 3.2, Algorithm 2: packets that are passed up or held | [`Reorder`] |
//! | 3.2: a time-out of alpha times the average duration of holes; 1 / beta of that duration after a merged packet | [`Params`] |
//!
//! Paths and flowcells: the paper names a path by a shadow MAC address, and a flowcell by a number beside it. Here
//! the driver carries both: [`Flowcells::cell`] is sent with every packet. The receiver needs only that and the
//! sequence number.
//!
//! Deviations, and points that the text leaves open:
//! - Packets are passed up one by one when they are due. The paper merges them in the kernel's GRO and inspects them
//!   after each interrupt's batch.
//! - The receiver's next expected byte never steps back. Late packets from an older flowcell move it forward as well
//!   (Algorithm 2 leaves it there).
//! - A time-out is that of the first segment held. All packets that a time-out passes up leave in order.
//! - The average's decay, and its value before the first hole, are not in the text: see [`Params`].
//! - The first path of a flow is drawn by a hash of its identity, so that flows that begin together do not use paths
//!   in step; the next ones are taken in turn, as in the paper.
//! - With `pathTimeout`, paths that do not answer are left out (`silence`); the paper's controller notifies hosts of
//!   failures.
//! - When paths change, a flowcell ends, because its other packets could not take its path.

mod reorder;
mod silence;

use wayleave_scheme_api::{Departure, Described, Descriptor, Parameters, Path, PathReport, Role, ValueKind, params};
use wayleave_units::{Bytes, Time};

pub use reorder::{Params, Reorder};
use silence::SilenceMonitor;

use crate::path::ecmp::PerFlow;
use crate::transports::PathScheme;

/// Payload of a flowcell, in bytes (section 3.1: 64 kB, the maximum of TCP segmentation offload).
pub const FLOWCELL: Bytes = Bytes::new(65_536);

/// Descriptor of Presto.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "flowcell",
    title: "Presto",
    roles: &[Role::Path],
    summary: "Flowcells of a fixed size over all paths in turn; the receiver restores the order",
    citation: "K. He, E. Rozner, K. Agarwal, W. Felter, J. Carter, A. Akella, \"Presto: Edge-based Load Balancing for Fast Datacenter Networks\", SIGCOMM 2015",
    guarantee: "equal load on equal paths to within one flowcell; transports receive packets in order, except for losses",
    parameters: Spreading::LIST,
};

params! {
    /// Parameters of flowcells.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Spreading {
        /// Payload of a flowcell.
        pub size: Bytes = FLOWCELL, "size", ValueKind::BYTES, "section 3.1", {
            example: "64KiB", noun: "flowcells need a size",
        };
        /// Time after which a path with unacknowledged packets is avoided; never if absent.
        pub path_timeout: Option<Time> = None, "pathTimeout", ValueKind::TIME, "not in the paper, where a controller notifies hosts of failures (3.3)";
    }
}

/// Cuts one flow into flowcells, and gives them to paths in turn.
///
/// ```
/// use wayleave_scheme_api::{Departure, Path};
/// use wayleave_schemes::path::presto::{FLOWCELL, Flowcells};
/// use wayleave_schemes::transports::PathScheme;
/// use wayleave_units::Time;
///
/// let mut flowcells = Flowcells::new(FLOWCELL, 42);
/// let departure = Departure { bytes: 1460, paths: 4 };
/// let paths: Vec<u32> = (0..45).map(|_| flowcells.choose(Time::ZERO, departure)).collect();
/// // 44 packets of 1,460 B are 64,240 B; one more would be too much.
/// assert_eq!(paths[43], paths[0]);
/// assert_eq!(paths[44], (paths[0] + 1) % 4);
/// assert_eq!(flowcells.cell(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flowcells {
    size: u64,
    /// In this flowcell.
    filled: u64,
    cell: u32,
    first: PerFlow,
    /// `None` before the first packet, and after the paths have changed.
    path: Option<u32>,
    /// State of answers per path, if silent paths are left out.
    listening: Option<Box<SilenceMonitor>>,
}

impl Flowcells {
    /// Creates flowcells of this payload, for a flow of this identity (all that distinguishes flows, with a seed). A
    /// packet that is larger than a flowcell is one of its own.
    pub fn new(size: Bytes, identity: u64) -> Self {
        Self { size: size.get(), filled: 0, cell: 0, first: PerFlow::new(identity), path: None, listening: None }
    }

    /// The path itself, or the next one that answers.
    fn answering(&mut self, now: Time, path: u32, paths: u32) -> u32 {
        self.listening.as_mut().map_or(path, |listening| listening.next(now, path, paths))
    }

    fn begin(&mut self, path: u32, bytes: u64) -> u32 {
        self.cell = self.cell.wrapping_add(1);
        self.filled = bytes;
        *self.path.insert(path)
    }
}

impl Described for Flowcells {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Spreading;
}

impl PathScheme for Flowcells {
    const HAS_CELLS: bool = true;

    #[inline]
    fn cell(&self) -> u32 {
        self.cell
    }

    fn begin(params: &Spreading, seed: u64) -> Self {
        let listening = params.path_timeout.map(|timeout| Box::new(SilenceMonitor::new(timeout)));
        Self { listening, ..Self::new(params.size, seed) }
    }
}

impl Path for Flowcells {
    #[inline]
    fn receives_reports(&self) -> bool {
        self.listening.is_some()
    }

    fn on_report(&mut self, _now: Time, report: PathReport) {
        if let Some(listening) = &mut self.listening {
            listening.on_answer(report.path);
        }
    }

    #[inline]
    fn choose(&mut self, now: Time, departure: Departure) -> u32 {
        let bytes = u64::from(departure.bytes);
        match self.path {
            Some(path) if path < departure.paths && self.filled + bytes <= self.size => {
                self.filled += bytes;
                if let Some(listening) = &mut self.listening {
                    listening.sent(now, path);
                }
                path
            }
            Some(path) => {
                let next = self.answering(now, (path + 1) % departure.paths.max(1), departure.paths);
                self.begin(next, bytes)
            }
            None => {
                // The first flowcell is 0, whose packets need no predecessor.
                self.filled += bytes;
                let first = self.first.path(departure.paths);
                let first = self.answering(now, first, departure.paths);
                *self.path.insert(first)
            }
        }
    }

    fn on_paths_changed(&mut self, _now: Time) {
        if let Some(listening) = &mut self.listening {
            listening.forget();
        }
        if self.path.take().is_some() {
            self.cell = self.cell.wrapping_add(1);
            self.filled = 0;
        }
    }
}

#[cfg(test)]
mod tests;
