//! The stack of a host below its transports: it carries out the settings of a scheme's
//! [`Host`](wayleave_scheme_api::Host) role.
//!
//! ```text
//!    transports ............ the driver's
//!        |
//!    tunnel ................ TunnelState    the packets of a division, in the order given by its role
//!        |
//!    pair limiter .......... TokenBucket
//!        |
//!    paths, and a window for each .......... Paths, Window
//!        |
//!    root limiter .......... TokenBucket    one for each class
//!        |
//!    weighted fair queues .. FairQueues     WF2Q+, by the weights of classes
//!        |
//!    NIC ................... the driver's
//! ```
//!
//! [`HostStack`] holds all of them for one host and one scheme, except for the fair queues, which classes of several
//! schemes share. It is a state machine: time is an argument, in picoseconds ([`Instant`]), and nothing here has a
//! clock, a socket or a timer. A driver (the simulator; an agent) keeps flows and packets, calls it, and carries out
//! the returned steps. Layers that a scheme does not have are `None`.
//!
//! ```
//! use wayleave_scheme_api::{Bucket, ClassId, Departure, ExcessAction, LocalFlow};
//! use wayleave_stack::{AdmitOutcome, FlowQueries, HostStack, Opening, PairStep, PairBacklog};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! /// Packets only.
//! struct NoFlows;
//!
//! impl FlowQueries<(), &'static str> for NoFlows {
//!     fn next_bytes(&self, _: ()) -> Option<u32> { None }
//!     fn choose(&mut self, _: PairBacklog<(), &'static str>, _: Departure) -> u32 { 0 }
//!     fn local(&self, _: PairBacklog<(), &'static str>) -> LocalFlow { LocalFlow(0) }
//! }
//!
//! let mut stack: HostStack<(), &'static str> = HostStack::new(1);
//! let opening = Opening {
//!     class: ClassId(0), paths: 1, round_trip: Time::from_micros(20), tunnel: None, path_role: None,
//! };
//! stack.open(0, opening);
//! // 8 Gbit/s: a byte a nanosecond, and room for one packet at once.
//! let bucket = Bucket { rate: Rate::from_gbit(8), burst: Bytes::new(1_000), excess: ExcessAction::Waits };
//! stack.limit_pair(0, Some(bucket), 1_000, 0);
//!
//! let [first, second] = ["first", "second"].map(|name| PairBacklog::Packet(name, 1_000));
//! assert_eq!(stack.admit(0, first, 1_000, 0, &mut NoFlows), AdmitOutcome::Go(None));
//! assert_eq!(stack.admit(0, second, 1_000, 0, &mut NoFlows), AdmitOutcome::Wait);
//! assert!(stack.wait(0, second));
//! assert_eq!(stack.advance(0, 0, &mut NoFlows), PairStep::PairWaits(1_000_000));
//! assert!(stack.on_pair_wake(0, 1_000_000));
//! assert_eq!(stack.advance(0, 1_000_000, &mut NoFlows), PairStep::Go(second, 1_000, None));
//! ```

mod bucket;
pub mod clock;
mod host;
mod paths;
mod tunnel;
mod turns;
mod weights;
mod window;

pub use bucket::ShaperBucket;
pub use clock::{Instant, NEVER};
pub use host::{AdmitOutcome, ClassStep, FlowQueries, HostStack, Opening, PairBacklog, PairStep};
pub use paths::{CandidatePaths, SharedPath};
pub use tunnel::{NextPacket, TunnelCounts, TunnelState};
pub use turns::WeightedTurns;
pub use weights::FairQueues;
pub use window::{Window, WindowCheck};
