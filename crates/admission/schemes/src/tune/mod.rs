//! Parameters of Chameleon, and weights of the classes below latency contracts, fitted to a mix of contracts. Also
//! bounds for every possible method.
//!
//! Budgets decide the deadlines that a path can offer and the capacity of each queue. The paper calls its own
//! assignment "somewhat arbitrary" and its optimisation interesting (CoNEXT 2020, section 4.1.2). Here a [`climb`]
//! varies budgets, the number of queues in use, the cost of scarce resources, and rerouting. It searches for the
//! candidate that admits most of a mix on some seeds; other seeds judge it, so that luck with the requests does not
//! count. The paper's own method is among the candidates, so nothing that is worse on the judging seeds is ever
//! recommended ([`MethodScores::choice`]).
//!
//! - [`TuneSample`]: one list of requests, as one seed draws it;
//! - [`fill`] and [`Score`]: flows until the first refusal, and flows and bit rate out of a list several times
//!   longer, by category;
//! - [`climb`]: the search;
//! - [`bound`]: the number of requests that the rates of links alone admit, for any method.

pub mod bound;
mod candidate;
mod climb;
mod fill;
mod judge;

pub use candidate::{Candidate, PortDivision};
pub use climb::{SearchBudget, TunedMethod, climb, methods, starts};
pub use fill::{AdmittedTotals, ListLength, Score, TuneGoal, TuneObjective, TuneSample, fill, fill_all};
pub use judge::{MethodScores, MethodSummary, judge, summary};
