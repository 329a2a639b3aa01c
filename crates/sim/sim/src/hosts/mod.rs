//! The host layer: at every host that has a service, a machine of each scheme sets limits, and the
//! [stack](wayleave_stack) enforces them.
//!
//! A pair is what one service of one endpoint (a host or a virtual machine) sends to one service of another. It opens with its first flow or packet, and
//! is forgotten when nothing was sent for a while. Hosts pull ([`crate::flows`]), so a limiter or a window holds a flow
//! back before a segment is made, unless its pair has a tunnel: tunnels hold packets.
//!
//! | module | what |
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
//! | `account`, `measures` | what is counted, and what guarantees missed |
//! | `promises`, `carried` | what is in flight, lags of minima; what pairs carried along which path |
//!
//! [`Hosts`] owns all of it, and is empty if hosts do not share. Its methods return consequences for flows and ports (a pair that may
//! send, a packet that was dropped), which [`crate::engine`] carries out. The engine calls the stack of a pair's host directly.
//!
//! Details of the model:
//! - Acknowledgements are neither limited nor metered: 84 B for every full segment, 5 % of the other direction.
//! - All packets of a pair are ECN capable, and the machine that receives them hears of their marks. Congestion control
//!   that does not know marks (NewReno, CUBIC) never sees them; DCTCP does. A tunnel replaces what transports hear of
//!   marks by what it says itself.
//! - A packet that was lost anywhere is told as lost with the next one of its pair that arrives, as a gap in numbers
//!   would show it. What a tunnel or a limiter drops never had a number.
//! - A machine hears of a pair that it receives from when its first packet or probe arrives.
//! - A pair wants to send while a flow of it is open whose application is not switched off, or a packet of it waits
//!   ([`HostInput::Demand`]).
//! - Where a window counts, acknowledgements bring back what the pair had sent; packets that nobody acknowledges are
//!   answered by a frame of the smallest size. A window whose last packets were lost opens again when a transport of the
//!   pair times out, and at the latest when nothing was sent or answered for 10 ms.
//! - What spreads the packets of all flows of a pair may send probes as well: they have no header, and machines never hear of
//!   them.
//! - Ports write telemetry where the scenario says so, or what spreads packets needs it; probes collect it on the way there and carry it back.
//! - Messages between a machine and a broker at the same host take no time. All others are packets, which may be lost in
//!   full queues; those of a broker outside of the network take the time that its scheme says.

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
