//! Bounds over a whole network of output ports: flows that cross servers, and the maximum wait of each flow.
//!
//! A [`PortNetwork`] has servers (output ports with a service curve and perhaps a line behind them) and flows (an
//! arrival curve, and one path or, for a multicast flow, several that form a tree). Three analyses bound its delays:
//!
//! | function | method | source |
//! |---|---|---|
//! | [`tfa()`] | total flow analysis: bounds every server for all of its traffic, and adds up along a path | Le Boudec and Thiran, section 2.4; Thomas, Le Boudec and Mifdaoui, RTSS 2019 (cycles, shaping) |
//! | [`sfa()`] | separate flow analysis: the service that each server leaves for one flow, convolved along its path | Le Boudec and Thiran, sections 6.2 and 1.4.3; Lenzini et al., "tight end-to-end per-flow delay bounds", 2008 |
//! | [`pmoo()`] | pay multiplexing only once: a burst of cross traffic counts once on a path | Schmitt, Zdarsky and Martinovic, MMB 2008 |
//!
//! Linear programs, which bound FIFO networks better, are in [`lp`](crate::lp); they start from the results of
//! [`tfa()`]. `docs/theory/analysis.md` has the formulas and their conditions.
//!
//! ```
//! use wayleave_calculus::network::{ServerFlow, Options, PortNetwork, CurveServer, sfa, tfa};
//! use wayleave_calculus::{ArrivalCurve, ServiceCurve, rational};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! // Two ports in a row, 100 Mbit/s after 10 us; one flow crosses both, another one the first.
//! let port = |name: &str| CurveServer::new(name, ServiceCurve::rate_latency(Rate::from_mbit(100), Time::from_micros(10)));
//! let bucket = ArrivalCurve::token_bucket(Rate::from_mbit(10), Bytes::new(1250));
//! let flows = vec![ServerFlow::unicast("long", bucket.clone(), vec![0, 1]), ServerFlow::unicast("short", bucket, vec![0])];
//! let network = PortNetwork::new(vec![port("a"), port("b")], flows)?;
//!
//! let options = Options::default();
//! let total = tfa(&network, &options);
//! // At a: 10 us + 2500 B at 100 Mbit/s = 210 us. Then the burst has grown to 1512.5 B: 131 us at b.
//! assert_eq!(total.path_delay(0, 0), Ok(rational::whole(341_000)));
//! // The own burst counts once: 10 us + 100 us of the other flow, 10 us, and 1250 B at 90 Mbit/s or less.
//! let separate = sfa(&network, &options, &total);
//! assert!(separate.path_delay(0, 0)? < total.path_delay(0, 0)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Deviations
//!
//! - Bursts grow by the delays of servers (alpha(t + D)), as in Thomas et al., not by the deconvolution of the
//!   aggregate, but for arbitrary multiplexing, where the smaller of both is taken flow by flow.
//! - With a packetizer, [`tfa()`] for FIFO uses that a packetizer adds no delay (Le Boudec and Thiran, theorem
//!   1.7.1). All other analyses take [beta - Lmax]+ for a server with its packetizer, which is safe and a little
//!   longer.
//! - Best effort and priorities are outside of this model: a server's curve is the service left for the traffic that
//!   is analysed.

mod delay;
mod fixed_point;
mod model;
mod pmoo;
mod propagation;
mod result;
mod sfa;
mod tfa;

pub use delay::busy_period;
pub use model::{CurveServer, PortNetwork, ServerFlow, ServerNetworkError};
pub use pmoo::pmoo;
pub use propagation::{LineShaping, Multiplexing, Options, Packetizer};
pub use result::{BoundError, PathBounds, ServerBound};
pub use sfa::{sfa, sfa_of};
pub use tfa::{Tfa, tfa, tfa_watched};
