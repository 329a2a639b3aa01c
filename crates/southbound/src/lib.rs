//! What carries out a controller's decisions on hosts and switches.
//!
//! Chameleon (CoNEXT 2020), section 3.5: agents on the hosts tag and shape what VMs send, as the controller tells them. What an agent has
//! to do so that no promise breaks while messages are lost, come twice or late, and while either side starts again, is here,
//! without a socket or a clock: [`Agent`]. What a node really does is behind [`Driver`]; the Linux data plane of crate `agent` is one, and
//! [`Recorder`] is the one for tests. [`suite::check`] is what every driver has to pass.
//!
//! ```text
//! controller ── Answer ──> Agent ── install, remove, set up ──> Driver
//!            <─ Request ──
//! ```
//!
//! The agent asks, the controller answers; nothing is ever pushed. So whose answer it is is always known, and an answer that is lost is
//! asked for again.

mod agent;
mod driver;
mod recorder;
pub mod suite;

pub use agent::{Agent, Answer, Ask, Pace, Request};
pub use driver::{Driver, NotDone};
pub use recorder::{Call, Did, Recorder, Trouble};
