//! Output of a run's results, as text and as JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use comfy_table::Table;
use serde_json::{Value, json};
use wayleave_explain::human::count;
use wayleave_explain::table::write_table;
use wayleave_lab::run::{
    ActionOutcome, ActionResult, ContractReport, GuaranteeResult, Losses, NetworkAction, PairReport, RunCompletion,
    RunReport, ShareReport,
};
use wayleave_lab::traffic::FlowReport;
use wayleave_protocol::decision::Applied;
use wayleave_units::{Human, Rate, Time};

use crate::failure::Failure;
use crate::output::out;
use crate::output::plain_table;

/// Returns a line about an action.
pub(super) fn action(action: &ActionResult) -> String {
    let what = &action.what;
    let outcome = match (&action.outcome, action.kind) {
        (Ok(outcome), _) => outcome,
        (Err(why), NetworkAction::Nothing) => return format!("nothing done: {why}"),
        (Err(why), NetworkAction::Free) => return format!("routes are being freed, with unknown consequences: {why}"),
        (Err(why), NetworkAction::Reroute) => {
            return format!("{what} is given another route, with unknown consequences: {why}");
        }
        (Err(why), NetworkAction::Cut) => return format!("{what} cut, with unknown consequences: {why}"),
    };
    let ActionOutcome { moved, stopped, degraded, took } = outcome;
    let (moved, took) = (count(moved.len(), "contract"), took.as_millis());
    let stopped = match stopped.len() {
        0 => String::new(),
        many => format!(", {} after a stop", count(many, "contract")),
    };
    match action.kind {
        NetworkAction::Free => format!("all routes available again: {moved} moved in {took} ms{stopped}"),
        NetworkAction::Reroute => format!("{what} got another route in {took} ms{stopped}"),
        NetworkAction::Cut => {
            format!("{what} cut: {moved} moved in {took} ms{stopped}, {degraded} lost their guarantee")
        }
        NetworkAction::Nothing => "nothing done".to_owned(),
    }
}

/// Every packet of every contract, in the order of arrival.
pub(super) fn samples(file: &Path, seen: &RunReport) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let mut out = BufWriter::new(File::create(file)?);
        writeln!(out, "contract,number,sent_ns,received_ns,delay_ns,bound_ns")?;
        for one in &seen.contracts {
            for arrival in &one.flow.arrivals {
                let bound = one.flow.bounds.as_ref().map_or(one.contract.bound, |bounds| bounds.at(arrival.sent));
                let (number, sent, received) = (arrival.number, arrival.sent, arrival.received);
                let (id, delay, bound) = (&one.contract.id, arrival.delay(), bound.as_nanos());
                writeln!(out, "{id},{number},{sent},{received},{delay},{bound}")?;
            }
        }
        out.flush()
    };
    write().map_err(|error| Failure::Internal(format!("{}: {error}", file.display())))
}

/// Writes the report of a run as tables and sentences; `log` returns the log of a program.
pub(super) fn table(
    out: &mut impl Write,
    seen: &RunReport,
    refused: &[Applied],
    log: &dyn Fn(&str) -> PathBuf,
) -> Result<(), Failure> {
    write_table(out, &mut contracts(seen))?;
    for item in refused {
        let why = item.error.as_ref().map_or("no reason given", |error| &error.detail);
        writeln!(out, "refused: {} ({why})", item.id)?;
    }
    for one in seen.contracts.iter().filter(|one| one.waits > Time::ZERO) {
        writeln!(
            out,
            "{} ignores its bucket: its packets wait up to {} for tokens on the host; the bound includes this wait",
            one.contract.id,
            one.waits.up()
        )?;
    }
    if !seen.floods.is_empty() {
        let sum = |of: fn(&FlowReport) -> u64| seen.floods.iter().map(of).sum::<u64>();
        let (sent, lost) = (sum(|flow| flow.sent), sum(FlowReport::lost));
        writeln!(out, "best effort: {} sent, {lost} lost", count(sent, "packet"))?;
    }
    shares(out, seen)?;
    writeln!(out, "{}", bounds(seen))?;
    for (id, why) in seen.unknown() {
        writeln!(out, "unknown: {id}: {why}")?;
    }
    for program in &seen.exited {
        writeln!(out, "EXITED UNEXPECTEDLY: {program} (log: {})", log(program).display())?;
    }
    match &seen.end {
        RunCompletion::Complete => {}
        RunCompletion::Stopped => writeln!(out, "stopped early: results so far")?,
        RunCompletion::Unobserved(why) => writeln!(out, "the end of the run was not observed: {why}")?,
    }
    let all = &seen.stalls.all;
    let longest = Time::from_nanos(seen.stalls.longest());
    let priority = match seen.stalls.is_strict {
        true => "",
        false => "; without real-time priority, other busy programs count as stalls",
    };
    let times = count(all.len(), "time");
    Ok(writeln!(out, "CPUs stalled {times} for more than 300 us, for at most {}{priority}", longest.up())?)
}

/// Returns the table of latency contracts.
fn contracts(seen: &RunReport) -> Table {
    let mut table = plain_table(&[
        "CONTRACT",
        "STATE",
        "BOUND",
        "WORST",
        "P99",
        "SENT",
        "SHAPED",
        "LOST",
        "LATE",
        "STALLED",
        "REORDERED",
        "MOVED",
    ]);
    let time = |time: Option<Time>| time.map_or_else(|| "-".to_owned(), Human::up);
    for one in &seen.contracts {
        let flow = &one.flow;
        let losses = |of: fn(Losses) -> u64| one.losses.map_or_else(|| "unknown".to_owned(), |all| of(all).to_string());
        table.add_row([
            one.contract.id.clone(),
            one.state.clone(),
            one.bound().up(),
            time(flow.worst()),
            time(flow.per_mille(990)),
            flow.sent.to_string(),
            losses(|losses| losses.shaped),
            losses(|losses| losses.network),
            one.violations.to_string(),
            one.excused.to_string(),
            flow.reordered.to_string(),
            one.moved.to_string(),
        ]);
    }
    table
}

/// Numbers of guarantees by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Results {
    kept: usize,
    violated: usize,
    unknown: usize,
}

impl Results {
    fn of<'a>(all: impl Iterator<Item = &'a GuaranteeResult>) -> Self {
        all.fold(Self::default(), |mut results, one| {
            match one {
                GuaranteeResult::Kept => results.kept += 1,
                GuaranteeResult::Violated => results.violated += 1,
                GuaranteeResult::Unknown(_) => results.unknown += 1,
            }
            results
        })
    }

    const fn measured(self) -> usize {
        self.kept + self.violated
    }
}

/// Returns the sentence about all bounds.
fn bounds(seen: &RunReport) -> String {
    let sum = |of: fn(&ContractReport) -> u64| seen.contracts.iter().map(of).sum::<u64>();
    let (sent, excused, unpromised) = (sum(|one| one.flow.sent), sum(|one| one.excused), sum(|one| one.unpromised));
    let results = Results::of(seen.contracts.iter().map(|one| &one.result));
    let results = Results { unknown: results.unknown + seen.silent.len(), ..results };
    let verdict = match (seen.violations(), results) {
        (1.., _) => "NOT all bounds met",
        (0, Results { violated: 1.., .. }) => "NOT all packets arrived",
        (0, Results { kept: 0, .. }) => "no bound tested",
        (0, Results { unknown: 1.., .. }) => "bounds met where measured",
        (0, _) if excused > 0 => "all bounds met, except during stalls of the machine",
        (0, _) => "all bounds met",
    };
    let unsplit = seen.contracts.iter().filter(|one| one.losses.is_none()).count();
    let unsplit = if unsplit > 0 { format!(", unknown for {}", count(unsplit, "contract")) } else { String::new() };
    let lost = sum(|one| one.losses.map_or(0, |losses| losses.network));
    let unfinished = match seen.unfinished() {
        0 => String::new(),
        many => format!(", {} with unknown consequences", count(many, "action")),
    };
    format!(
        "{verdict}: {} measured, {} violated, {} unknown; {} of {} late, {excused} more while the machine stalled, {unpromised} more without a known guarantee; {lost} lost{unsplit}; {} under traffic{unfinished}",
        count(results.measured(), "contract"),
        results.violated,
        results.unknown,
        seen.violations(),
        count(sent, "packet"),
        count(seen.moves(), "move"),
    )
}

/// Writes the traffic that members of contracts of other kinds got.
fn shares(out: &mut impl Write, seen: &RunReport) -> Result<(), Failure> {
    if seen.shares.is_empty() {
        return Ok(());
    }
    let mut table = plain_table(&["CONTRACT", "KIND", "STATE", "MINIMUM", "MIN", "MAX", "TOGETHER", "SHORT"]);
    for one in &seen.shares {
        table.add_row(share_row(one));
    }
    write_table(out, &mut table)?;
    Ok(writeln!(out, "{}", minima(seen))?)
}

/// Returns the cells of a contract; rates that were not measured are no numbers.
pub(super) fn share_row(one: &ShareReport) -> [String; 8] {
    let rates: Option<Vec<Rate>> = one.pairs.iter().map(|pair| one.rate(pair)).collect();
    let rates = rates.unwrap_or_default();
    let sum = Rate::from_bits_per_second(rates.iter().map(|rate| rate.bits_per_second()).sum());
    let rate = |rate: Option<Rate>| rate.map_or_else(|| "-".to_owned(), Human::down);
    let results = Results::of(one.results().iter().map(|(_, result)| result));
    let short = match results {
        Results { kept: 0, violated: 0, unknown: 0 } => "-".to_owned(),
        Results { kept: 0, violated: 0, .. } => "unknown".to_owned(),
        _ => results.violated.to_string(),
    };
    [
        one.promise.id.clone(),
        one.promise.kind.name().to_owned(),
        one.state.clone(),
        one.promise.min.down(),
        rate(rates.iter().min().copied()),
        rate(rates.iter().max().copied()),
        rate((!rates.is_empty()).then_some(sum)),
        short,
    ]
}

/// Returns the sentence about all minima.
fn minima(seen: &RunReport) -> String {
    let all: Vec<GuaranteeResult> =
        seen.shares.iter().flat_map(|one| one.results().into_iter().map(|(_, result)| result)).collect();
    let results = Results::of(all.iter());
    let verdict = match results {
        Results { violated: 1.., .. } => "NOT all minima reached",
        Results { kept: 0, .. } => "no minimum tested",
        Results { unknown: 1.., .. } => "minima reached where measured",
        _ => "all minima reached",
    };
    format!(
        "{verdict}: {} measured, {} short (less than 95 % of the minimum), {} unknown",
        count(results.measured(), "member"),
        results.violated,
        results.unknown
    )
}

/// Writes the report of a run as a JSON document.
pub(super) fn json(seen: &RunReport, refused: &[Applied]) -> Result<(), Failure> {
    let mut out = out();
    serde_json::to_writer_pretty(&mut out, &document(seen, refused))?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

pub(super) fn document(seen: &RunReport, refused: &[Applied]) -> Value {
    let flood = |flow: &FlowReport| json!({ "name": flow.name, "sent": flow.sent, "lost": flow.lost() });
    let unobserved = match &seen.end {
        RunCompletion::Unobserved(why) => Some(why),
        RunCompletion::Complete | RunCompletion::Stopped => None,
    };
    let unknown = |(id, why): (&str, &str)| json!({ "id": id, "reason": why });
    json!({
        "isPartial": seen.end != RunCompletion::Complete,
        "unobserved": unobserved,
        "exited": seen.exited,
        "violations": seen.violations(),
        "moves": seen.moves(),
        "contracts": seen.contracts.iter().map(contract_document).collect::<Vec<_>>(),
        "shares": seen.shares.iter().map(share_document).collect::<Vec<_>>(),
        "short": seen.short(),
        "silent": seen.silent,
        "untested": seen.untested(),
        "unknown": seen.unknown().into_iter().map(unknown).collect::<Vec<_>>(),
        "refused": refused,
        "bestEffort": seen.floods.iter().map(flood).collect::<Vec<_>>(),
        "actions": seen.actions.iter().map(action_document).collect::<Vec<_>>(),
        "stalls": { "count": seen.stalls.all.len(), "longestNs": seen.stalls.longest(), "isStrict": seen.stalls.is_strict },
    })
}

fn contract_document(one: &ContractReport) -> Value {
    let nanos = |time: Option<Time>| time.map(Time::as_nanos);
    json!({
        "id": one.contract.id,
        "serial": one.contract.serial,
        "state": one.state,
        "result": result_name(&one.result),
        "boundNs": one.bound().as_nanos(),
        "waitsNs": one.waits.as_nanos(),
        "worstNs": nanos(one.flow.worst()),
        "p10Ns": nanos(one.flow.per_mille(100)),
        "p50Ns": nanos(one.flow.per_mille(500)),
        "p90Ns": nanos(one.flow.per_mille(900)),
        "p99Ns": nanos(one.flow.per_mille(990)),
        "sent": one.flow.sent,
        "received": one.flow.received(),
        "shaped": one.losses.map(|losses| losses.shaped),
        "lost": one.losses.map(|losses| losses.network),
        "late": one.violations,
        "lateInStalls": one.excused,
        "lateUnpromised": one.unpromised,
        "reordered": one.flow.reordered,
        "duplicates": one.flow.duplicates,
        "moved": one.moved,
    })
}

const fn result_name(result: &GuaranteeResult) -> &'static str {
    match result {
        GuaranteeResult::Kept => "kept",
        GuaranteeResult::Violated => "violated",
        GuaranteeResult::Unknown(_) => "unknown",
    }
}

fn action_document(action: &ActionResult) -> Value {
    let kind = match action.kind {
        NetworkAction::Reroute => "reroute",
        NetworkAction::Free => "free",
        NetworkAction::Cut => "cut",
        NetworkAction::Nothing => "nothing",
    };
    let outcome = action.outcome.as_ref().ok();
    let moved = |outcome: &ActionOutcome| outcome.moved.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
    json!({
        "action": kind,
        "what": action.what,
        "moved": outcome.map(moved),
        "stopped": outcome.map(|outcome| &outcome.stopped),
        "degraded": outcome.map(|outcome| outcome.degraded),
        "tookNs": outcome.map(|outcome| u64::try_from(outcome.took.as_nanos()).unwrap_or(u64::MAX)),
        "failed": action.outcome.as_ref().err(),
    })
}

fn share_document(one: &ShareReport) -> Value {
    let results = one.results();
    let pair = |pair: &PairReport| {
        let result =
            results.iter().find(|(other, _)| std::ptr::eq(*other, pair)).map(|(_, result)| result_name(result));
        json!({
            "from": pair.from,
            "to": pair.to,
            "arrivedBytes": one.measured.is_ok().then_some(pair.arrived.get()),
            "rateBps": one.rate(pair).map(Rate::bits_per_second),
            "result": result,
        })
    };
    json!({
        "id": one.promise.id,
        "kind": one.promise.kind.name(),
        "isAdmitted": one.is_admitted,
        "state": one.state,
        "minBps": one.promise.min.bits_per_second(),
        "pairs": one.pairs.iter().map(pair).collect::<Vec<_>>(),
        "short": one.short().len(),
    })
}
