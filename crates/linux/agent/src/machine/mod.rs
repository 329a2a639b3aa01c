//! The agent of a node as a pure state machine, and the driver below it.
//!
//! Chameleon (CoNEXT 2020), section 3.5: agents on the hosts tag and shape what VMs send, as the controller instructs
//! them. [`Agent`] keeps every promise while messages are lost, repeated or delayed, and while either side restarts.
//! There is no socket and no clock in this module: time is an argument, requests and answers are values
//! (`repo-checks` reads its imports). The node itself is behind [`Driver`]; the Linux data planes of this crate are
//! two, and [`Recorder`] is the one for tests. Every driver has to pass [`suite::check`].
//!
//! ```text
//! controller ── Answer ──> Agent ── install, remove, set up ──> Driver
//!            <─ Request ──
//! ```
//!
//! The agent asks and the controller answers; the controller never sends anything unasked. So every answer belongs to
//! a request, and the agent repeats a request whose answer is lost.

mod agent;
mod driver;
mod recorder;
pub mod suite;

pub use agent::{Agent, AgentCall, AgentReply, AgentRequest, PollInterval};
pub use driver::{Driver, DriverError};
pub use recorder::{DriverCall, InjectedFault, RecordedCall, Recorder};
