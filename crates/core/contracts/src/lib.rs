//! Contracts: requests of a tenant to the network.
//!
//! A [`Contract`] is of one of four kinds:
//!
//! | kind | promise |
//! |---|---|
//! | [`LatencyContract`] | a deadline that every packet of a token bucket between two hosts meets |
//! | [`BandwidthContract`] | a minimum rate between two hosts, or for each member of a hose |
//! | [`ObjectiveContract`] | a weight on every link for flows with one objective |
//! | [`BestEffortContract`] | nothing: traffic with a name |
//!
//! A contract does not depend on other admitted contracts: [`Contract::validate`] refuses only requests that no
//! network of this shape could satisfy (a rate of zero, a burst below one frame, a route that does not join its
//! ends). An [`ContractRequest`] is a contract as a controller receives it: with ends that may be VMs, a priority, times and a
//! [`Match`].
//!
//! Rates and bursts count wire bytes, exactly as the shaper charges them, unless the contract selects
//! [`Accounting::Frame`]; [`LatencyContract::demand`] turns either into the reserved demand.
//!
//! A [`Policy`] is a bandwidth contract of services: a tree of them with minima, maxima and weights at machines,
//! racks or the fabric.

mod bandwidth;
mod contract;
mod demand;
mod error;
mod event;
mod java_mix;
mod labels;
mod latency;
mod limits;
mod mac;
mod matching;
mod mix;
mod names;
mod objective;
mod order;
mod policy;
mod support;
mod tenant;

pub use bandwidth::{BandwidthContract, Endpoints};
pub use contract::{Contract, ContractKind};
pub use demand::{Unusable, WireOverhead};
pub use error::ContractError;
pub use event::{ContractEvent, EventAction};
pub use java_mix::JavaMix;
pub use labels::{LabelError, LabelSelector, Labels, MAX_LABELS, check_labels};
pub use latency::{Accounting, Excess, LatencyContract};
pub use limits::{MAX_DEADLINE, MAX_PROTECTION, MIN_FRAME, MIN_MAXIMUM, MIN_WIRE_FRAME};
pub use mac::{MacError, vm_mac};
pub use matching::{Match, MatchError, Protocol, UnknownProtocol};
pub use mix::{Category, RequestMix};
pub use names::{MAX_NAME, MAX_TENANT, NameError, Named};
pub use objective::{BestEffortContract, ObjectiveContract};
pub use order::{ContractRequest, OrderError, Priority, check_times};
pub use policy::{
    Bandwidth, ContentionPoint, Direction, Division, FlowObjective, LinkMinima, LinkNeed, Overcommitted, PacketFields,
    PerDirection, PointLeaf, PointTree, Policy, PolicyError, PolicyFault, PolicyLevel, PolicyNeed, PolicyShort,
    ServiceSpec, TimedTerms,
};
pub use support::{DataPlane, UnsupportedKey, sentences};
pub use tenant::{Quota, Tenant, Vm, VmPlacement};
pub use wayleave_packet_format::{BucketDemand, LONGEST_WAIT, QueueLimit, wire_bytes};
