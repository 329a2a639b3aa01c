//! A second opinion on every promise: re-derives each bound from the definitions and names the violations.
//!
//! The admission control proves that its promises hold. This crate trusts none of its results. It takes the network,
//! the budgets and the promised flows (a [`Claim`]), and computes every queue's worst delay and backlog and every
//! flow's end-to-end bound from scratch. It returns a [`RecheckReport`] with all results and all violations. It depends on
//! neither the calculus nor the ledger nor any scheme, so a bug there is not repeated here.
//!
//! The model is strict priority without preemption on output queues, in the terms of network calculus (Le Boudec and
//! Thiran, *Network Calculus*, chapter 1; Chameleon, section 3.2.2). For queue p of link l with rate R and largest
//! frame L:
//!
//! ```text
//! burst of flow f here     b_f + r_f * (sum of the budgets of the queues before this one on its route)
//! arrival, from input i    alpha_i(t) = min(L_i + R_i t, sum of (b_f + r_f t) over the flows from i)
//!                          (without the first term where shaping is off, and for traffic that starts at this node)
//! arrival                  alpha_p(t) = sum of alpha_i(t)
//! service                  beta_p(t)  = sup over s <= t of [R (s - jitter) - L - (L once more: packetiser)
//!                                                             - sum over j < p of alpha_j(s)]+
//! delay                    sup over t > 0 of inf { d >= 0 : alpha_p(t) <= beta_p(t + d) }
//!                          or, where the jitter of nodes keeps no order,
//!                          jitter + sup over t > jitter of inf { d >= 0 : alpha_p(t) <= beta_p(t + d) }
//! backlog                  sup over t > 0 of alpha_p(t) - beta_p(t)
//! a flow, end to end       sum of its budgets + propagation + processing of the source host and of each switch
//! ```
//!
//! The term for jitter that keeps no order follows from this argument. Let a packet arrive at the node at time 0 and
//! enter its queue at J, after the longest jitter, and let the queue have been busy since `J - w`. Packets that are
//! served in this time have entered the queue since `J - w`, so they have arrived at the node since `-w`. Those of
//! the packet's own queue have entered before `J`, so they have arrived before `J`. That is a window of `t = J + w >
//! J`, of which `alpha_p(t)` is to be served, together with the arrivals of the queues above. `beta_p` counts from
//! `-w`: it begins one jitter before the queue is busy, which is the term that it subtracts. So the packet has left
//! at `-w + t + d = J + d`, with d as above. The backlog is the same in both cases: no service is counted within the
//! first J, so a window below J holds less than that of J.
//!
//! Minima and weights of the classes below are derived again in `shares/` ([`check_shares`]), and the times of minima
//! in `shares/times.rs` ([`check_times`]).
//!
//! Location of each line: the first is in `check.rs`, the next three in `port.rs`, delay and backlog in
//! `deviation.rs`; those three files and `polyline.rs` are all of the mathematics. It is exact (rationals of
//! unlimited size) and evaluates the definitions point by point; no formula is solved in advance. The choice of the
//! points, and the proof that they are enough, are in `polyline.rs` and `deviation.rs`.
//!
//! ```
//! use wayleave_recheck::{Claim, JitterTerm, PacketiserTerm, PromisedFlow, check};
//! use wayleave_topology::builders::{Cabling, build};
//! use wayleave_topology::{Hop, Route};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! let network = build::star(2, Cabling::default())?;
//! let link = |name| network.find_link(name).ok_or("no such link");
//! let hops = vec![Hop { link: link("h1->s1")?, queue: 0 }, Hop { link: link("s1->h2")?, queue: 0 }];
//! let claim = Claim {
//!     network: &network,
//!     budgets: vec![vec![Time::from_micros(50)]; network.links().len()],
//!     max_frame: vec![Bytes::new(1562); network.links().len()],
//!     packetiser: PacketiserTerm::Omitted,
//!     jitter: JitterTerm::Any,
//!     shaping: true,
//!     flows: vec![PromisedFlow {
//!         name: "ptp".into(),
//!         from: network.find_node("h1").ok_or("no h1")?,
//!         to: network.find_node("h2").ok_or("no h2")?,
//!         route: Route { hops },
//!         covered: 0,
//!         rate: Rate::from_mbit(1),
//!         burst: Bytes::new(1000),
//!         deadline: Time::from_millis(1),
//!         promised_bound: Time::from_micros(100),
//!     }],
//!     disjoint: Vec::new(),
//!     claimed_queues: vec![],
//!     exact_claims: true,
//! };
//! let report = check(&claim);
//! assert!(report.is_sound());
//! // One blocking frame of 1562 B and the burst of 1000 B, at 1 Gbit/s.
//! let uplink = report.queue(link("h1->s1")?, 0).ok_or("no finding")?;
//! assert_eq!(uplink.delay_rounded_up(), Some(Time::from_nanos((1562 + 1000) * 8)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod claim;
mod deviation;
mod disjoint;
mod exact;
mod polyline;
mod port;
mod report;
mod share_transitions;
mod shares;
mod transitions;
mod violation;

pub use check::{CheckProgress, check, check_watched};
pub use claim::{Claim, ClaimedQueue, JitterTerm, PacketiserTerm, PromisedFlow};
pub use report::{FlowFinding, QueueFinding, RecheckReport};
pub use share_transitions::{BrokenAt, ShareLifetime, ShareTerms, ShareTransitions, check_share_transitions};
pub use shares::{
    AddedShare, BrokenShare, CheckedShares, HeldShare, HeldShares, HoseCharge, PromisedShare, ShareTimes,
    StatedCertainty, check_all_shares, check_shares, check_times,
};
pub use transitions::{Overbooked, RouteLifetime, Transitions, check_transitions, check_transitions_watched};
pub use violation::{BrokenPromise, RouteFault};
