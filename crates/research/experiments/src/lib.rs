//! The figures and tables of the publications, measured again.
//!
//! A figure is data ([`Figure`]): what was measured, for each seed; the paper's statements about it, compared with what came
//! out; the settings. Only texts of the papers are compared: a curve that appears only in a picture is not included, and
//! no number of one is invented.
//!
//! | | |
//! |---|---|
//! | [`catalogue`](CATALOGUE) | every figure by name, with its paper and how long it takes |
//! | `data.rs`, `statement/` | what a figure consists of; statements of a text, and their verdicts |
//! | `stats.rs` | means, percentiles, confidence intervals over seeds |
//! | `testbed.rs` | interface of networks for real packets |
//! | `simulator.rs` | the packet simulator, which ends when the measurement is cancelled |
//! | `run.rs` | runs on several threads, with the same results whatever their number |
//! | `reproduce/` | measures figures and writes them: data, pictures, a page, and the statements of the texts beside the results |
//! | [`lab`] | labs with a controller and agents, in which figures of real packets are measured |
//! | `papers/` | headline claims of each paper, and the pages in `docs/papers` |
//! | `shared.rs` | what figures of one run share, by type |
//! | `policies.rs` | policies of hosts and racks for the tenants of a figure |
//! | `checkpoint.rs` | results of runs that outlive the program |
//! | `chameleon/` | Chameleon (CoNEXT 2020), one file per figure |
//! | `loko/` | Loko (CoNEXT 2019), one file per figure |
//! | `low_cost/` | simulated low-cost switches as black boxes: benchmarks of one, and networks of them under the flows of a scheme |
//! | `parley/` | Parley (2014), one file per figure; times of the computation of shares |
//! | `ufab/` | uFAB (SIGCOMM 2022), one file per figure |
//! | `scc/` | SCC (INFOCOM 2017), one file per figure |
//! | `fabric/` | all kinds of promises on one network, beside the systems that make some of them |
//!
//! The seeds are fixed in advance and the same for all figures ([`seeds`]); every figure of a paper uses the one set of
//! settings that the paper gives, and none has a parameter of its own.
//!
//! ```
//! use wayleave_experiments::{Effort, Run, find};
//! let entry = find("sec2-examples").ok_or("no such figure")?;
//! let figure = (entry.measure)(&Run::new(Effort::Quick))?;
//! assert!(figure.statements.iter().all(|statement| statement.is_held()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod chameleon;
mod checkpoint;
mod data;
mod digits;
mod entry;
mod fabric;
mod failed;
pub mod lab;
mod loko;
mod low_cost;
mod numbers;
mod papers;
mod parley;
mod policies;
mod reproduce;
mod run;
mod scc;
mod shared;
mod simulator;
mod statement;
mod stats;
mod testbed;
mod ufab;

pub use catalogue::{CATALOGUE, CHAMELEON, Entry, LOKO, ONE_FABRIC, PARLEY, Paper, SCC, UFAB, find};
pub use checkpoint::Checkpoints;
pub use data::{Axis, AxisValue, Band, Centre, Figure, Form, Panel, Point, Scale, Series, Setting, Table};
pub use failed::Failed;
pub use papers::{claims_page, update_pages};
pub use parley::{SHARE_CASES, ShareCase, ShareTimes, time_shares};
pub use reproduce::{
    CancelledFigure, Measured, MeasuredBy, Missing, ReproduceOptions, Reproduced, Row, Tally, Totals, figures,
    png_hint, reproduce, write_documents,
};
pub use run::{Effort, Run, seeds};
pub use statement::{Check, Claim, Effect, Estimate, Experiment, Outcome, Runs, Statement, Verdict, claims};
pub use stats::Summary;
pub use testbed::{Laboratory, Testbed};
