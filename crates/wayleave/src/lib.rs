//! Wayleave as a library: plan, explain, verify, simulate, analyze, tune.
//!
//! Daemons, laboratories and figures of publications are crates of their own (`server`, `agent`, `lab`, `experiments`), and so is the client of a
//! controller (`client`).
//!
//! ```
//! use wayleave::{Contracts, Network, PlanOptions, VerifyOptions, Watch, plan, verify};
//! # fn main() -> Result<(), wayleave::Error> {
//! let network = Network::open("fat-tree:k=4")?;
//! let contracts = Contracts::drawn(&network, 8, 1, 40, &mut Watch::none())?;
//! let plan = plan(&network, &contracts, &PlanOptions::default(), &mut Watch::none())?;
//! for (name, decision) in plan.admitted() {
//!     println!("{name} arrives within {}", decision.bound);
//! }
//! let verified = verify(&plan.promises(), &VerifyOptions::default(), &mut Watch::none())?;
//! assert!(verified.is_sound());
//! # Ok(())
//! # }
//! ```
//!
//! | to | call | what comes of it |
//! |---|---|---|
//! | load a network | [`Network::open`], [`Network::parse`], [`Network::new`] | [`Network`] |
//! | read contracts | [`Contracts::read`], [`Contracts::parse`], [`Contracts::drawn`] | [`Contracts`] |
//! | decide them | [`plan()`], [`decide`] | [`Plan`]: decisions, bounds, refusals with reasons |
//! | explain a decision | [`explain()`] | [`Explanation`] |
//! | derive every bound again | [`Plan::recheck`], [`recheck()`] | a report of the independent calculator |
//! | try to break promises | [`verify()`] | [`VerifyReport`]: the worst delay seen of each |
//! | simulate | [`simulate`], [`sweep()`](sim::sweep) | [`result::RunResult`], [`Sweep`] |
//! | fit budgets and costs | [`tune()`] | [`Tuned`] |
//! | bound delays of a whole network | [`analyze::AnalysisSubject`] | [`analyze::Report`] |
//! | share bandwidth | [`policy::shares`] | [`policy::ContentionPointShares`] |
//! | prove it to others | [`Proof::of`] | [`Proof`]: the document that `tools/check_proof.py` checks |
//! | compare two results | [`diff::diff`] | [`diff::DocumentDiff`] |
//! | size a service | [`provision::Question::answer`] | [`provision::SizeAnswer`] |
//!
//! Nothing here prints, reads the environment or ends the process. A call that can take long has a [`Watch`] as its last parameter,
//! which shows progress and ends the call early; how many threads work is an option, and results do not depend on it. Whatever
//! is written for people goes to a [`std::io::Write`] in a [`TableLayout`] that the caller chooses.
//!
//! Options start from `default()`, or from `new` if a value is required. A method `with_...` sets each other value. Methods of optional values take
//! the value or an `Option`:
//!
//! ```
//! use wayleave::{Effort, Fault, PlanOptions, SchemeOptions, VerifyOptions};
//! let scheme = SchemeOptions::named("silo")?.with("route", "around")?;
//! let plan = PlanOptions::default().with_scheme(scheme);
//! let verify = VerifyOptions::default().with_effort(Effort::QUICK).with_fault(Fault::ShaperOff);
//! # Ok::<(), wayleave::Error>(())
//! ```

pub mod analyze;
mod contracts;
pub mod diff;
mod error;
mod explain;
mod findings;
mod minima;
mod network;
mod network_text;
mod pictures;
mod plan;
pub mod policy;
mod progress;
mod proof;
pub mod provision;
mod recheck;
mod schemes;
mod session;
pub mod sim;
pub mod switch_benchmark;
mod tune;
mod verify;

pub use contracts::{ContractIndex, Contracts, read_event_file};
pub use error::Error;
pub use explain::{ExplainTarget, Explanation, explain, explain_in, explain_planned};
pub use findings::FirstFindings;
pub use minima::PolicyMinima;
pub use network::{BUILDERS, Builder, COMMON_KEYS, ImportOrigin, Network, NetworkName};
pub use plan::{
    BudgetAdvice, BudgetPlace, BudgetRemedy, Document, EntryKind, Plan, PlanEntry, PlanInput, PlanOutcome, PlanSummary,
    PortBudgets, ReleaseHold, Released, RequestTable, ReservationLog, SavedPlan, Sink, Times, decide, plan, plan_in,
    states_default_budgets,
};
pub use progress::{Cancel, NoProgress, Progress, ProgressStep, Watch};
pub use proof::Proof;
pub use recheck::{recheck, recheck_shares};
pub use schemes::{DEFAULT_BUDGETS, PlanOptions, SchemeOptions};
pub use session::{RequestOutcome, Session};
pub use sim::{Batch, PlannedRun, RunSelection, Sweep, SweepOptions, Threads, simulate, sweep};
pub use tune::{Ceiling, TuneMix, TuneOptions, Tuned, TunedPorts, tune};
pub use verify::{
    ClassContracts, ClassFaultOutcome, ClassVerification, Derived, FaultOutcome, History, LeftOutClasses,
    LeftOutReason, PlanFile, PlannedClasses, Promises, StatedPlan, VerifyOptions, VerifyReport, of_session, read_plan,
    verify, verify_kinds,
};

// Types of other crates that options are made of.
pub use wayleave_adversary::{AdmittedClaim, Attack, ClassFault, Effort, Fault};
pub use wayleave_explain::table::TableLayout;
pub use wayleave_formats::{ImportOptions, Source};
pub use wayleave_ledger::Model;
pub use wayleave_report::sim::result;
pub use wayleave_scenarios::Scenario;
pub use wayleave_schemes::tune::TuneObjective;
