//! Packet-level scenarios: one run, or every run of a sweep, on several threads, with interruption and resumption.
//!
//! A scenario file becomes a [`Batch`] of runs. [`sweep`] runs them. The outcome of a run becomes a
//! [`RunResult`](result::RunResult). Its JSON depends only on the input, the seed and the version. With a folder,
//! each result is written to its own file immediately, so that a sweep can be stopped and resumed. All output
//! (tables, the report) is a function of these results.
//!
//! | module | contents |
//! |---|---|
//! | `batch` | runs, the hash of their input, the command that replays each |
//! | `memory` | available memory and the needs of the runs |
//! | `runner`, `sweep` | threads, cancellation, resuming, traces |
//! | [`result`], `convert`, `divisions` | stored result of a run |
//! | `store` | files that are complete or absent, and the document of all runs |
//! | `measure`, `summary`, `text` | metrics, tables and text output |

mod batch;
pub(crate) mod convert;
mod divisions;
mod memory;
#[cfg(test)]
mod page_tests;
mod runner;
mod store;
mod sweep;

use std::sync::Arc;

use wayleave_report::sim::result;
use wayleave_scenarios::Scenario;

use crate::error::Error;
use crate::progress::Watch;

pub use batch::{Batch, PlannedRun, RunSelection, quoted};
pub use memory::Threads;
pub use store::write_whole;
pub use sweep::{Sweep, SweepOptions, TRACE_EVENTS, sweep};

/// Simulates a scenario that a program has made.
///
/// # Errors
/// If the scenario cannot be run.
///
/// ```
/// use std::sync::Arc;
/// use wayleave::{Network, Scenario, Watch, simulate};
/// use wayleave_scenarios::{FlowEndpoints, PacketKind, Traffic};
/// use wayleave_units::{Bytes, Rate, Time};
/// let network = Network::open("star:hosts=3")?;
/// let mut scenario = Scenario::new("one way", Arc::clone(&network.graph), Time::from_millis(1));
/// let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(100) };
/// let ends = FlowEndpoints::Permutation(network.graph.hosts().collect());
/// scenario.traffic.push(Traffic::packets("steady", ends, kind, Bytes::new(1000)));
/// let result = simulate(&scenario, 1, &mut Watch::none())?;
/// assert!(result.is_complete() && result.hops > 0);
/// # Ok::<(), wayleave::Error>(())
/// ```
pub fn simulate(scenario: &Scenario, seed: u64, watch: &mut Watch<'_>) -> Result<result::RunResult, Error> {
    let outcome = wayleave_sim::run(scenario, seed, |_| !watch.is_cancelled())
        .map_err(|error| Error::Internal(format!("{} cannot be run: {error}", scenario.name)))?;
    let planned =
        PlannedRun { parameters: Vec::new(), seed, scenario: Arc::new(scenario.clone()), replay: String::new() };
    let runs = vec![planned.clone()];
    let (file, sources, not_carried_out) = (String::new(), Vec::new(), Vec::new());
    let batch = Batch { name: scenario.name.clone(), file, sources, runs, hash: 0, not_carried_out };
    Ok(convert::run_result(&batch, &planned, &outcome))
}
