//! A run: contracts that the lab's controller admits, the worst traffic that they allow, and the outcome of every
//! packet.
//!
//! The controller is accessed over its REST interface like by any client; [`Operator`] has the requests that a run
//! needs.

mod flows;
mod operator;
mod options;
mod orders;
mod planned;
mod report;
mod rerouting;
mod script;
mod shares;

use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use wayleave_units::Rate;

use crate::clock;
use crate::error::LabError;
use crate::sentinel::Sentinel;
use crate::traffic::RunningTraffic;
use crate::up::Lab;

pub use flows::{OfferedContract, SenderLoad};
pub use operator::{DEFAULT_TENANT, Operator, ReportedContract};
pub use options::{CutLink, RunOptions};
pub use orders::{FIRST_PORT, matched};
pub use planned::{PlannedContract, PlannedContracts};
pub use report::{ActionResult, ContractReport, Losses, NetworkAction, RunReport};
pub use shares::{PairReport, ShareReport, SharedPromise};

use flows::Flows;
use operator::{POLL_INTERVAL, TIMEOUT, settled};
use script::Script;

/// Runs contracts that were admitted.
///
/// # Errors
/// If the controller or a namespace cannot be used, or the contracts are not enforced in time.
pub fn run(
    lab: &Lab,
    operator: &mut dyn Operator,
    promised: &[OfferedContract],
    options: &RunOptions,
    on_action: &mut dyn FnMut(&ActionResult),
) -> Result<RunReport, LabError> {
    let stop = lab.stop();
    script::join_left(lab, operator)?;
    let before = if options.is_plain { withdrawn(lab, operator, promised)? } else { settled(operator, stop)? };
    let flows = Flows::plan(lab.plan(), promised, &before, options)?;
    let shaped_before = operator.shaped().map_err(LabError::Controller)?;
    let sentinel = Sentinel::start()?;
    let line = lab.network().links().map(|(_, link)| link.rate).min().unwrap_or(Rate::ZERO);
    let shares = shares::flows(lab.plan(), &options.shared, line)?;
    let traffic = RunningTraffic::start(flows.specs.iter().chain(&shares).cloned().collect())?;
    let (start, mut script) = (Instant::now(), Script::new(lab, options));
    let (arrived, ends, half) = (traffic.arrived(), stop.clone(), start + options.lasts / 2);
    let at_half = spawn(move || {
        ends.sleep_until(half);
        (Instant::now(), clock::stamp(), arrived.all())
    });
    let mut actions = Vec::new();
    while let Some(due) = script.due(start) {
        if !stop.sleep_until(due) {
            break;
        }
        // A failed action is recorded, and the earlier measurements are kept.
        let action = script.act(lab, operator).unwrap_or_else(ActionResult::failed);
        on_action(&action);
        actions.push(action);
    }
    let is_whole = stop.sleep_until(start + options.lasts);
    let (lasted_until, arrived) = (Instant::now(), traffic.arrived().all());
    let reports = traffic.stop();
    let stalls = sentinel.stop();
    let mended = script.mend(lab, operator);
    let after = match (options.is_plain, is_whole) {
        (true, _) => before,
        (false, true) => {
            mended.map_err(LabError::Controller)?;
            settled(operator, stop)?
        }
        // A run that is asked to stop does not wait.
        (false, false) => operator.contracts().map_err(LabError::Controller)?,
    };
    let mut shaped = operator.shaped().map_err(LabError::Controller)?;
    for (serial, before) in shaped_before {
        shaped.entry(serial).and_modify(|count| *count = count.saturating_sub(before));
    }
    let is_admitted = |id: &str| after.iter().any(|one| one.id == id && one.state != "degraded");
    let shares = at_half.join().map_or(Vec::new(), |(since, stamp, before)| {
        let stalled = Duration::from_nanos(stalls.within(stamp, u64::MAX));
        let counts = (&before[flows.specs.len()..], &arrived[flows.specs.len()..]);
        shares::reports(&options.shared, &shares, counts, lasted_until - since, stalled, is_admitted)
    });
    Ok(RunReport { is_whole, shares, ..report::of(&flows, reports, &stalls, &after, &shaped, actions) })
}

/// Ends contracts of an earlier run, and waits until their packets have left; what is asked without any promise.
fn withdrawn(
    lab: &Lab,
    operator: &mut dyn Operator,
    promised: &[OfferedContract],
) -> Result<Vec<ReportedContract>, LabError> {
    for one in promised {
        operator.end(&one.id).map_err(LabError::Controller)?;
    }
    let start = Instant::now();
    loop {
        let all = operator.contracts().map_err(LabError::Controller)?;
        match all.iter().find(|shown| promised.iter().any(|one| one.id == shown.id)) {
            None => return Ok(promised.iter().map(OfferedContract::as_best_effort).collect()),
            Some(shown) if start.elapsed() > TIMEOUT => {
                let waited = TIMEOUT.as_secs();
                return Err(LabError::Controller(format!("contract {} still exists after {waited} s", shown.id)));
            }
            Some(_) => {
                lab.stop().check()?;
                sleep(POLL_INTERVAL);
            }
        }
    }
}
