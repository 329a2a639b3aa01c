//! The host layer: at every host that has a service, a machine of each scheme sets limits, and the
//! [stack](wayleave_stack) enforces them.
//!
//! A pair is the traffic of one service of one endpoint (a host or a virtual machine) to one service of another. It
//! opens with its first flow or packet, and is forgotten when it has been idle for some time. Hosts pull
//! ([`crate::flows`]), so a limiter or a window holds a flow back before a segment is made, unless its pair has a
//! tunnel: tunnels hold packets.
//!
//! | module | content |
//! |---|---|
//! | `state` | all hosts, and their state at the start of a run |
//! | `pair`, `pairs` | one pair; pairs open, are found, and are forgotten |
//! | `admit` | packets of pairs at their hosts: sent, waiting, arrived, answered |
//! | `tunnels` | segments enter tunnels, acknowledgements pass them, decision slots |
//! | `action` | pending actions of machines and brokers |
//! | `machine` | limits, weights and timers of machines |
//! | `timers` | timers of pairs, classes, machines and brokers |
//! | `paths` | paths of packets, copies and classes |
//! | `probes` | probes and answers travel as packets |
//! | `message`, `messages` | so do messages |
//! | `brokers` | brokers of all schemes: their seats, states and timers |
//! | `broker_events` | inputs of brokers, and scheduled changes |
//! | `roles` | a machine or a broker of a scheme, from a scenario |
//! | `account`, `measures` | counts, and shortfalls of guarantees |
//! | `promises`, `carried` | bytes in flight, lags of minima; traffic of pairs along each path |
//!
//! [`Hosts`] owns all of them, and is empty if hosts do not share. Its methods return consequences for flows and
//! ports (a pair that may send, a packet that was dropped), which [`crate::engine`] carries out. The engine calls the
//! stack of a pair's host directly.
//!
//! Details of the model:
//! - Acknowledgements are neither limited nor metered: 84 B for every full segment, 5 % of the other direction.
//! - All packets of a pair are ECN capable, and the machine that receives them sees their marks. Congestion control
//!   without mark support (NewReno, CUBIC) never sees them; DCTCP does. A tunnel replaces the marks that transports
//!   see with its own.
//! - A packet lost anywhere is reported as lost with the next packet of its pair that arrives, as a gap in numbers
//!   would reveal it. Packets that a tunnel or a limiter drops never had a number.
//! - A machine is notified of a pair that it receives from when the first packet or probe arrives.
//! - A pair has demand while it has an open flow whose application is not switched off, or a waiting packet
//!   ([`HostInput::Demand`]).
//! - If a window counts, acknowledgements bring back the count that the pair had sent. Packets that are not
//!   acknowledged are answered by a frame of the smallest size. A window whose last packets were lost opens again
//!   when a transport of the pair times out, or at the latest after 10 ms without packets and answers.
//! - The path scheme for the packets of all flows of a pair may send probes as well: they have no header, and
//!   machines are never notified of them.
//! - Ports write telemetry if the scenario configures it, or a path scheme needs it; probes collect it on the forward
//!   path and return it.
//! - Messages between a machine and a broker at the same host take no time. All others are packets, which may be lost
//!   in full queues. Messages of a broker outside of the network take the time that its scheme defines.

mod account;
mod action;
mod admit;
mod broker_events;
mod brokers;
mod carried_bytes;
mod guarantee;
mod machine;
mod measures;
mod message;
mod messages;
mod pair;
mod pairs;
mod paths;
mod probes;
mod promises;
mod roles;

mod slot;
mod state;
mod timers;
mod tunnels;

pub use account::{MachineShare, MessageCounts, RackShare, ServiceShare, SharingOutcome, TunnelOutcome};
pub use carried_bytes::CarriedBytes;

pub(crate) use action::Action;
pub(crate) use admit::{HostWaitQueue, SendQuery, WaitReason};
pub(crate) use message::Message;
pub(crate) use pair::PairKey;
pub(crate) use slot::{HostId, NO_PAIR, PairSlot};
pub(crate) use state::{Hosts, Stack};
pub(crate) use timers::HostTimer;
