//! Bounds from linear programs. The solver computes with floating point, and no bound rests on it.
//!
//! | module | what |
//! |---|---|
//! | `program` | a linear program in exact numbers, every variable within bounds |
//! | `certificate` | its maximum from above: the solver's dual solution, made exact |
//! | `fifo` | the delay of a flow in a FIFO network: times and amounts that no run can do without |
//! | `upper` | how much weight of demands the rates of links let through at most |
//!
//! ```
//! use wayleave_calculus::network::{ServerFlow, Options, PortNetwork, CurveServer, sfa, tfa};
//! use wayleave_calculus::{ArrivalCurve, ServiceCurve, rational};
//! use wayleave_calculus::lp::fifo_delay;
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! // A flow alone on two ports pays its burst once: 10 us + 10 us + 1250 B at 100 Mbit/s.
//! let port = |name: &str| CurveServer::new(name, ServiceCurve::rate_latency(Rate::from_mbit(100), Time::from_micros(10)));
//! let bucket = ArrivalCurve::token_bucket(Rate::from_mbit(10), Bytes::new(1250));
//! let network = PortNetwork::new(vec![port("a"), port("b")], vec![ServerFlow::unicast("f", bucket, vec![0, 1])])?;
//! let total = tfa(&network, &Options::default());
//! let bound = fifo_delay(&network, &total, None, 0, 0)?;
//! assert_eq!(bound.delay, rational::whole(120_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod certificate;
mod fifo;
mod program;
mod upper;

pub use certificate::{Certified, LOOSE, Unsolved, maximize};
pub use fifo::{FifoBound, MAX_SERVERS, NoFifoBound, fifo_delay};
pub use program::{LinearProgram, Variable};
pub use upper::{CapacityLink, MAX_VARIABLES, RequestedRate, UpperBound, UpperBoundError, admitted_upper_bound};
