//! Contracts of other kinds than latency on a host: the rate of each of their pairs of hosts.
//!
//! Every pair of members whose sender is here has a rule of its own, as latency contracts have one: its packets wait
//! for the tokens of its bucket and are queued in the contract's class. The rates of the buckets are divided by
//! EyeQ's machine shaper (which Parley uses, too), with the state machine of the simulator. The receiver's agent
//! sends each sender's agent a rate. So each contract gets its minimum, its weighted part of the rest, and no more
//! than its maximum, of the links of both hosts.
//!
//! ```text
//! buckets (kernel) ── bytes, every 100 ms ──> Division ── bytes sent ──> agent of the receiver's host
//!                  <── rates ──────────────           <── rates allowed ──
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`division`] | the division as a pure state machine |
//! | [`rules`] | from a contract to rules of its pairs |
//! | [`host`] | both over the data plane of a host |
//! | [`message`] | messages between agents, as bytes |
//! | [`peers`] | the socket, and the authentication of messages |
//! | [`broker`] | the rack broker of this machine, which limits tenants |

pub mod broker;
pub mod division;
pub mod host;
pub mod message;
pub mod peers;
pub mod rules;

use wayleave_units::Time;

/// Interval at which buckets are read and divided. EyeQ's interval is 200 us in a kernel; programs that read counters
/// and write datagrams need more.
pub const INTERVAL: Time = Time::from_millis(100);
