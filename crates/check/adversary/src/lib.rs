//! Every promise under the worst traffic that the contracts allow, packet by packet.
//!
//! The admission control proves that its promises hold. This crate trusts none of its statements, and depends on
//! neither the calculus nor the ledger nor any scheme. It checks in two steps:
//!
//! 1. [`derive()`] takes the statements (a [`Statement`]). From network, contracts and routes it derives the buckets
//!    on the wire, every queue's delay and backlog and every bound, by the method of `wayleave-recheck`. It lists
//!    every [`Discrepancy`] between the two. Moves are followed one by one, with the packets that were still on
//!    departed routes.
//! 2. [`verify()`] takes the resulting promises (a [`AdmittedClaim`]), and lets the simulator run them under a sequence of
//!    attacks, on all processors. It returns a [`Verification`] with the longest observed delay of each promise, and
//!    with every promise that did not hold. A scheme without statements about queues (QJump, Loko) has a claim only.
//!
//! An [`Attack`] is traffic within the contracts: every contract sends its whole burst at once and then at its rate,
//! and traffic without a contract fills the queues below. Attacks vary in the start times of bursts ([`BurstTiming`]), in
//! the size of frames, and in other traffic. The delay of a queue is largest for the packet that arrives when all
//! bursts have just arrived (the last knee of the arrival curve; `docs/theory/admission.md`, section 5). So aimed
//! attacks let the bursts of all contracts that meet a victim arrive at each queue together with its last packet. A
//! search climbs from there.
//!
//! A run shows a lower bound of the true worst case. The absence of worse delays proves nothing; one late packet
//! disproves the bound, and its attack replays it bit for bit.
//!
//! | | |
//! |---|---|
//! | `statement.rs`, `reservations.rs` | statements; reservations step by step |
//! | `derive.rs`, `transit.rs`, `discrepancy.rs` | derivation; moves in progress; wrong statements |
//! | `exact.rs` | figures that follow exactly from decisions: starts, holds, times and queues of minima |
//! | `claim.rs`, `fault.rs` | promises for the packet test; injected faults |
//! | `attack.rs`, `schedule.rs` | schedule of senders, and its text |
//! | `cuts.rs` | failures during an attack |
//! | `fill.rs` | traffic without a contract |
//! | `stage.rs`, `narrow.rs`, `run.rs` | from an attack to a scenario to observations |
//! | `verify.rs`, `effort.rs` | selection of attacks |
//! | `transition_checks.rs` | shares after every event of a history |
//! | `classes.rs` | promises of classes below: minima, amounts in flight, shares |
//! | `links.rs`, `matching.rs` | the worst demands of minima on single links |
//! | `terms.rs` | maxima and weights of bandwidth contracts |
//! | `report.rs` | observations |
//!
//! ```
//! use std::sync::Arc;
//! use wayleave_topology::builders::{Cabling, build};
//! use wayleave_topology::{Hop, Route};
//! use wayleave_units::{Bytes, Rate, Time};
//! use wayleave_adversary::{AdmittedClaim, Background, Effort, Promise, verify};
//!
//! let network = Arc::new(build::star(3, Cabling::default())?);
//! let link = |name| network.find_link(name).ok_or("no such link");
//! let mut promise = Promise {
//!     name: "ptp".into(),
//!     route: Route { hops: vec![Hop { link: link("h1->s1")?, queue: 0 }, Hop { link: link("s1->h3")?, queue: 0 }] },
//!     rate: Rate::from_mbit(1),
//!     burst: Bytes::new(3000),
//!     frame: Bytes::new(1500),
//!     bound: Time::from_micros(100),
//!     today: None,
//! };
//! let claim = |promise: &Promise| {
//!     let background = Background::Saturating { largest: vec![Bytes::new(1562); 6] };
//!     AdmittedClaim::new(network.clone(), background, vec![promise.clone()])
//! };
//! assert!(verify(&claim(&promise), &Effort::QUICK, None, |_, _| true)?.is_sound());
//! // Two frames in a row take 24 us on the first link alone.
//! promise.bound = Time::from_micros(30);
//! assert!(!verify(&claim(&promise), &Effort::QUICK, None, |_, _| true)?.is_sound());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod asked;
mod attack;
mod bucket;
mod claim;
mod classes;
mod cuts;
mod derive;
mod discrepancy;
mod effort;
mod exact;
mod fault;
mod fill;
mod links;
mod matching;
mod maxima;
mod narrow;
mod report;
mod reservations;
mod run;
mod schedule;
mod stage;
mod statement;
mod tenants;
mod terms;
mod transit;
mod transition_checks;
mod verify;

pub use attack::{
    Attack, AttackError, BurstTiming, CrossTraffic, FrameSizes, InjectedFailure, JitterDraw, PhaseShift, PhaseTarget,
};
pub use bucket::AttackBucket;
pub use claim::{AdmittedClaim, Background, ClaimError, Duplication, Promise, Protected};
pub use classes::{
    ClassAttack, ClassBreach, ClassClaim, ClassFault, ClassReport, InFlightPromise, MinimumPromise, SharePromise,
    WeightPromise, verify_classes,
};
pub use derive::{Derivation, RouteReservation, check_history, derive, derive_watched, reserved_in_the_end};
pub use discrepancy::Discrepancy;
pub use effort::Effort;
pub use exact::check_moments;
pub use fault::{Fault, FaultNotInjected, Layer};
pub use links::{LinkClaim, Pattern};
pub use maxima::TestedMaximum;
pub use report::{AttackViolation, Breach, PromiseFinding, ProtectedFinding, Verification};
pub use reservations::HistoryError;
pub use run::StopCheck;
pub use statement::{
    Admitted, ByteAccounting, DecisionKind, DelayPart, Exactness, Lines, LowestQueue, MinimaTerms, ModelAccounting,
    PlanEvent, Relocation, RequestedTerms, StatedQueue, StatedRoute, StatedTerm, Statement, TransitionRule,
};
pub use tenants::{LinkReport, TenantsClaim, TenantsReport, TestedMinimum, verify_tenants, verify_tenants_until};
pub use terms::{MaximumPromise, MaximumThroughput, PartPromise, ReceiverContention, TrafficDirection};
pub use verify::{replay, replay_until, verify, verify_until};

pub use wayleave_scenarios::PacketOrder;
