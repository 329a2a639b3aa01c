//! Contracts of other kinds than latency on a host: what each of their pairs of hosts may send.
//!
//! Every pair of members whose sender is here has a rule of its own, as latency contracts have one: its packets wait for the tokens of its
//! bucket and go in the queues of the contract's class. How large the buckets are is divided by EyeQ's machine shaper (which Parley uses, too), the
//! same state machine as in the simulator: the receiver's agent tells every sender's how fast it may send, so that each contract gets its
//! minimum, its part of what is left by weight, and no more than its maximum, of the links of both hosts.
//!
//! ```text
//! buckets (kernel) ── bytes, every 100 ms ──> Division ── "so much was sent" ──> agent of the receiver's host
//!                  <── rates ──────────────           <── "so fast you may send" ──
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`division`] | the division as a pure state machine |
//! | [`rules`] | from a contract to rules of its pairs |
//! | [`host`] | both over the data plane of a host |
//! | [`message`] | messages between agents, as bytes |
//! | [`peers`] | the socket, and who may be believed |
//! | [`broker`] | the rack broker of this machine, which limits tenants |

pub mod broker;
pub mod division;
pub mod host;
pub mod message;
pub mod peers;
pub mod rules;

use wayleave_units::Time;

/// How often buckets are read and divided. EyeQ's interval is 200 us in a kernel; programs that read counters and write datagrams need more.
pub const INTERVAL: Time = Time::from_millis(100);
