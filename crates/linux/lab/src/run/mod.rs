//! A run: contracts that the lab's controller admits, the worst traffic that they allow, and the outcome of every
//! packet.
//!
//! The controller is accessed over its REST interface like by any client; [`Operator`] has the requests that a run
//! needs.

mod actions;
mod ending;
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

pub use actions::{ActionOutcome, ActionResult, NetworkAction};
pub use ending::{GuaranteeResult, RunCompletion};
pub use flows::{OfferedContract, SenderLoad};
pub use operator::{DEFAULT_TENANT, Operator, ReportedContract, RunEvent};
pub use options::{CutLink, RunOptions};
pub use orders::{FIRST_PORT, matched};
pub use planned::{PlannedContract, PlannedContracts};
pub use report::{ContractReport, Losses, RunReport};
pub use shares::{MeasuredTime, PairReport, ShareReport, SharedPromise};

use ending::Ending;
use flows::Flows;
use operator::{POLL_INTERVAL, TIMEOUT, Watch, settled};
use report::ShaperCounters;
use script::Script;

/// Runs contracts that were admitted. Once their traffic has begun, the report has everything that was measured; what a
/// failure or a request to stop left unobserved is unknown there.
///
/// # Errors
/// If, before the traffic begins, the controller or a namespace cannot be used, or the contracts are not enforced in
/// time.
pub fn run(
    lab: &Lab,
    operator: &mut dyn Operator,
    promised: &[OfferedContract],
    options: &RunOptions,
    report: &mut dyn FnMut(RunEvent<'_>),
) -> Result<RunReport, LabError> {
    let stop = lab.stop();
    let exited = || lab.exited().unwrap_or_else(|error| vec![format!("unknown ({error})")]);
    let mut watch = Watch { stop, exited: &exited, report };
    script::join_left(lab, operator)?;
    let before = if options.is_plain { withdrawn(lab, operator, promised)? } else { settled(operator, &mut watch)? };
    let flows = Flows::plan(lab.plan(), promised, &before, options)?;
    let shaped_before = operator.shaped().map_err(LabError::Request)?;
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
        let action = script.act(operator, &mut watch);
        (watch.report)(RunEvent::Action(&action));
        actions.push(action);
    }
    let is_whole = stop.sleep_until(start + options.lasts);
    let (lasted_until, arrived) = (Instant::now(), traffic.arrived().all());
    let reports = traffic.stop();
    let stalls = sentinel.stop();
    let mended = script.mend(lab, operator);
    let ending = match options.is_plain {
        true => Ending {
            end: if is_whole { RunCompletion::Complete } else { RunCompletion::Stopped },
            contracts: Ok(before.clone()),
            exited: exited(),
        },
        false => ending(operator, mended, is_whole, &mut watch),
    };
    let shaped = ShaperCounters { before: shaped_before, after: operator.shaped() };
    let measured = at_half.join().map_err(|_| "the thread that reads counters has failed".to_owned());
    let (counted, measured) = measured.map_or_else(
        |why| (arrived.clone(), Err(why)),
        |(since, stamp, before)| {
            let stalled = Duration::from_nanos(stalls.within(stamp, u64::MAX));
            (before, MeasuredTime { lasted: lasted_until - since, stalled }.sufficient())
        },
    );
    let counts = (&counted[flows.specs.len()..], &arrived[flows.specs.len()..]);
    let shares = shares::reports(&options.shared, &shares, counts, &measured, &before, &ending);
    Ok(RunReport { shares, ..report::of(&flows, reports, &stalls, &ending, &shaped, actions) })
}

/// Observes the end of a run: waits until no operation is pending, unless the run was stopped or cannot be observed.
fn ending(operator: &mut dyn Operator, mended: Result<(), String>, is_whole: bool, watch: &mut Watch<'_>) -> Ending {
    let settled = match (&mended, is_whole) {
        (Ok(()), true) => settled(operator, watch).map_err(|error| error.to_string()),
        (Err(why), _) => Err(why.clone()),
        // A run that is asked to stop does not wait.
        (Ok(()), false) => Err("stopped".to_owned()),
    };
    let is_settled = settled.is_ok();
    let contracts = settled.or_else(|_| operator.contracts());
    let end = match (&contracts, &mended) {
        _ if !is_whole || watch.stop.is_asked() && !is_settled => RunCompletion::Stopped,
        (Err(why), _) | (Ok(_), Err(why)) => RunCompletion::Unobserved(why.clone()),
        (Ok(_), Ok(())) => RunCompletion::Complete,
    };
    Ending { end, contracts, exited: (watch.exited)() }
}

/// Ends contracts of an earlier run, and waits until their packets have left; what is asked without any promise.
fn withdrawn(
    lab: &Lab,
    operator: &mut dyn Operator,
    promised: &[OfferedContract],
) -> Result<Vec<ReportedContract>, LabError> {
    for one in promised {
        operator.end(&one.id).map_err(LabError::Request)?;
    }
    let start = Instant::now();
    loop {
        let all = operator.contracts().map_err(LabError::Request)?;
        match all.iter().find(|shown| promised.iter().any(|one| one.id == shown.id)) {
            None => return Ok(promised.iter().map(OfferedContract::as_best_effort).collect()),
            Some(shown) if start.elapsed() > TIMEOUT => {
                let waited = TIMEOUT.as_secs();
                return Err(LabError::Request(format!("contract {} still exists after {waited} s", shown.id)));
            }
            Some(_) => {
                lab.stop().check()?;
                sleep(POLL_INTERVAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::operator::tests::{Replies, contract};
    use super::*;
    use crate::stop::StopRequest;

    /// Observes an end with these replies of the controller.
    fn observed(
        replies: Vec<Result<Vec<ReportedContract>, String>>,
        mended: Result<(), String>,
        is_whole: bool,
        is_asked: bool,
    ) -> Ending {
        let stop = StopRequest::default();
        if is_asked {
            stop.ask();
        }
        let (exited, mut report) = (Vec::new, |_: RunEvent<'_>| {});
        ending(
            &mut Replies(replies),
            mended,
            is_whole,
            &mut Watch { stop: &stop, exited: &exited, report: &mut report },
        )
    }

    #[test]
    fn a_request_to_stop_after_the_traffic_keeps_the_results() {
        let pending = || Ok(vec![contract("default:a", "pending", None)]);
        let stopped = observed(vec![pending()], Ok(()), true, true);
        assert_eq!((stopped.end, stopped.contracts), (RunCompletion::Stopped, pending()));
        let joining = observed(vec![pending()], Err("stopped".to_owned()), true, true);
        assert_eq!(joining.end, RunCompletion::Stopped);
        let early = observed(vec![pending()], Ok(()), false, true);
        assert_eq!((early.end, early.contracts), (RunCompletion::Stopped, pending()));
        let enforced = || Ok(vec![contract("default:a", "enforced", None)]);
        assert_eq!(
            observed(vec![enforced()], Ok(()), true, true).end,
            RunCompletion::Complete,
            "everything was observed"
        );
    }

    #[test]
    fn an_end_without_the_controller_is_unobserved() {
        let gone = || Err("connection refused".to_owned());
        let seen = observed(vec![gone()], Ok(()), true, false);
        assert_eq!(seen.end, RunCompletion::Unobserved("connection refused".to_owned()));
        let (state, why) = seen.state("default:a");
        assert_eq!(
            (state.as_str(), why.as_deref()),
            ("unknown", Some("its state at the end is unknown: connection refused"))
        );
        let uncut = observed(vec![Ok(Vec::new())], Err("the cable is still down".to_owned()), true, false);
        assert_eq!(uncut.end, RunCompletion::Unobserved("the cable is still down".to_owned()));
    }
}
