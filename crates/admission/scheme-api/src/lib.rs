//! The roles that a scheme can play, as traits over plain values: no clock, no socket, no hidden randomness.
//!
//! A scheme is a set of pure state machines, one for each role that it plays. Time is an argument called `now`;
//! inputs and actions are values, each role with its own types. Two kinds of drivers run the same code: a simulator,
//! and the agents, brokers and controllers of a real network. The code that was verified is the code that runs.
//!
//! # The stack
//!
//! A host is a fixed stack, composed by generics. Schemes fill its layers; the driver has the mechanisms between
//! them, such as sequence numbers, queues, token buckets and timers. A layer without a scheme is [`NoRole`], and
//! costs nothing.
//!
//! ```text
//!    sending host                                                          receiving host
//!
//!    transport ............ Flow      window, pacing, urgency              transport
//!        |  payload bytes               ^ acknowledgements                     ^
//!        v                              | marks: the tunnel's own              |
//!    division tunnel ...... Tunnel    queue, order, re-marking, drops      reordering buffer
//!        |  wire bytes                                                         ^
//!        v                                                                     |
//!    pair limiter ......... Host      SetBucket                                |
//!        |  <-- Path          which path, of those that the host uses          |
//!        v                                                                     |
//!    pair window .......... Host      SetWindow, one for each path             |
//!        v                                                                     |
//!    root limiter ......... Host      SetBucket of a class                     |
//!        v                                                                     |
//!    weighted fair queues . Host      SetWeight of a class                     |
//!        v                                                                     |
//!    NIC classes                                                               |
//!        |                                                                     |
//!        v                                                                     |
//!      port ............... Switch    marks, telemetry  ---> port ---> ... ----+
//!
//!    Host <-- messages, probes and their answers --> Host          at every machine, on both sides of a pair
//!    Host <-- messages --> Broker <-- messages --> Broker          racks, fabric, trackers, the controller
//!    Admission                                                     contracts are decided before anything is sent
//! ```
//!
//! # The roles
//!
//! | role | one value for | works in | systems |
//! |---|---|---|---|
//! | [`Admission`] | a network | milliseconds to hours | Chameleon, Loko, Silo, QJump |
//! | [`Host`] | a machine | microseconds | Chameleon's tagger, EyeQ, Parley, ElasticSwitch, uFAB-E, SCC's underlay |
//! | [`Broker`] | a rack, a fabric, a division | milliseconds to minutes | Parley, SCC's tracker |
//! | [`Tunnel`] | a division and destination | every packet | SCC's private control |
//! | [`Flow`] | a flow | every acknowledgement | DCTCP, D2TCP, L2DCT, pFabric, Swift, NewReno, CUBIC |
//! | [`Path`] | a flow or a pair | every packet | ECMP, Presto, Clove |
//! | [`Switch`] | a port | every packet | ECN, RED, INT, uFAB-C |
//!
//! Each module names the inputs and actions that each system uses, with sections. Roles on the packet path are
//! dispatched statically; a [`Broker`] may be a trait object.
//!
//! # Rules
//!
//! - A role is called by one caller at a time, with `now` never smaller than before.
//! - Actions go to a sink that the caller provides, and are done in the order in which they are given. Nothing needs
//!   memory for them. The sink never calls back into the role.
//! - Data from one role to another go through the driver, as an input of the other. A host's rate for a pair reaches
//!   the pair's tunnel by [`Tunnel::on_rate`], its weight also the flows by [`Flow::on_weight`]; a tunnel's reference
//!   weight reaches the host as [`HostInput::ReferenceWeight`].
//! - Programmers' mistakes may panic: an index that was never opened, time that runs backwards. Events in the network
//!   never cause a panic: a message from a pair that has closed, a probe that comes back twice, a timer that is out
//!   of date.
#![no_std]

extern crate alloc;

mod absent;
mod admission;
mod broker;
mod custom;
mod descriptor;
mod flow;
mod host;
mod ids;
mod params;
mod path;
mod refusal;
mod share;
mod switch;
mod telemetry;
mod tunnel;

pub use absent::NoRole;
pub use admission::{Admission, Decision, DisjointRoute, Handover, Move, Request};
pub use broker::{Broker, BrokerAction, BrokerInput, Leadership, Member};
pub use custom::{CustomBroker, CustomHost, CustomMessage, CustomPath, CustomTunnel, DynRole};
pub use descriptor::{Descriptor, ParamValues, Parameter, Role, Value, ValueKind, Word};
pub use flow::{Ack, Flow, FlowStart, Loss, RecoveryPhase, RouteFacts, SendLimit};
pub use host::{
    Arrivals, Bucket, Demand, ExcessAction, Host, HostAction, HostInput, Limiter, MessageOrigin, PairSpec, PathUse,
    PathsChange, Peer, Share, Weighted,
};
pub use ids::{BrokerId, ClassId, Incoming, LocalFlow, Outgoing, PathIndex};
pub use params::{Described, ParamType, Parameters, nested};
pub use path::{Departure, Path, PathProbe, PathReport};
pub use refusal::{Allocated, Binding, Refusal, RefusalCode};
pub use share::{Certainty, ShareDecision, ShareMembers, ShareRequest};
pub use switch::{Mark, QueueState, Switch};
pub use telemetry::{
    ClassHop, HopWindow, IntHop, MaxGrant, MaxRequest, Probe, ProbeAnswer, ProbeAt, ProbeKind, ProbeOutcome,
};
pub use tunnel::{CongestionSignal, NextQueue, Slot, Tunnel, TunnelAck, TunnelEntry, TunnelPacket, TunnelQueue};
