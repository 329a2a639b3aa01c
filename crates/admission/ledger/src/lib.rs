//! Reservations of queues and links, and the check that more fits: the arithmetic heart of admission.
//!
//! The [`Ledger`] keeps, for every queue of every link, the token buckets that enter it from each input, and answers
//! one question: would this flow, entering this queue from this input with this burst, keep every bound that has been
//! promised here ([`Ledger::fits`])? The schemes decide for which flows, along which routes and in which order that
//! is asked.
//!
//! Everything is integer arithmetic in nanobits and bit/s, so a release takes back exactly the amount that was added:
//! after a million random steps the ledger is bit for bit the one that the remaining flows alone would make.
//!
//! - [`Model`]: the effects that are counted and compared (the default, and those of the publications for
//!   comparison);
//! - `kernel`: the test of one port, in constant time where every input is at least as fast as the output, and by
//!   exact integer lines elsewhere;
//! - [`QueueReport`]: the port as exact curves, for people and for the recheck;
//! - [`ReservedShare`]: promises to the classes below the latency queues, charged on every directed link that their packets
//!   may use;
//! - [`Gauges`]: the distance of each queue from the limit of its promises, for cost functions.

mod cuts;
mod denial;
mod error;
mod kernel;
mod ledger;
mod model;
mod paths;
mod port;
mod report;
mod shares;
mod transport;
mod utilisation;

pub use error::LedgerError;
pub use kernel::{Denial, QueueLimitKind};
pub use ledger::{Capacity, Ledger, Reservation};
pub use model::{BestEffort, BurstGrowth, Comparison, JitterModel, Model, Residual, Shaping};
pub use port::PortInput;
pub use report::{InputReport, QueueBounds, QueueReport};
pub use shares::{HoseCharge, PathSpread, ReservedShare, ShareDenial, SharePaths};
pub use utilisation::{Gauge, Gauges, TOGETHER, TrialFlow, Utilisation, Utilisations};
