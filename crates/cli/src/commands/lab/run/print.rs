//! Output of a run's results, as text and as JSON.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use wayleave_explain::human::count;
use wayleave_explain::table::write_table;
use wayleave_lab::run::{ActionResult, ContractReport, NetworkAction, PairReport, RunReport, ShareReport};
use wayleave_lab::traffic::FlowReport;
use wayleave_protocol::decision::Applied;
use wayleave_units::{Human, Rate, Time};

use crate::failure::Failure;
use crate::output::out;
use crate::output::plain_table;

/// One line about something that was done.
pub(super) fn action(action: &ActionResult) -> String {
    let moved = count(action.moved.len(), "contract");
    let took = action.took.as_millis();
    let stopped = match action.stopped.len() {
        0 => String::new(),
        many => format!(", {} after a stop", count(many, "contract")),
    };
    match (action.kind, &action.failed) {
        (NetworkAction::Free, _) => format!("all routes available again: {moved} moved in {took} ms{stopped}"),
        (NetworkAction::Reroute, _) => format!("{} got another route in {took} ms{stopped}", action.what),
        (NetworkAction::Cut, _) => {
            format!(
                "{} cut: {moved} moved in {took} ms{stopped}, {} lost their guarantee",
                action.what, action.degraded
            )
        }
        (NetworkAction::Nothing, why) => format!("nothing done: {}", why.as_deref().unwrap_or("unknown reason")),
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

pub(super) fn table(seen: &RunReport, refused: &[Applied]) -> Result<(), Failure> {
    let mut out = out();
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
        table.add_row([
            one.contract.id.clone(),
            one.state.clone(),
            one.bound().up(),
            time(flow.worst()),
            time(flow.per_mille(990)),
            flow.sent.to_string(),
            one.losses.shaped.to_string(),
            one.losses.network.to_string(),
            one.violations.to_string(),
            one.excused.to_string(),
            flow.reordered.to_string(),
            one.moved.to_string(),
        ]);
    }
    write_table(&mut out, &mut table)?;
    for item in refused {
        writeln!(
            out,
            "refused: {} ({})",
            item.id,
            item.error.as_ref().map_or("no reason given", |error| &error.detail)
        )?;
    }
    for one in seen.contracts.iter().filter(|one| one.waits > Time::ZERO) {
        writeln!(
            out,
            "{} ignores its bucket: its packets wait up to {} for tokens on the host; the bound includes this wait",
            one.contract.id,
            one.waits.up()
        )?;
    }
    for name in &seen.silent {
        writeln!(out, "not tested: {name}: its bucket is smaller than a packet with a timestamp (114 B)")?;
    }
    if !seen.floods.is_empty() {
        let sum = |of: fn(&FlowReport) -> u64| seen.floods.iter().map(of).sum::<u64>();
        let (sent, lost) = (sum(|flow| flow.sent), sum(FlowReport::lost));
        writeln!(out, "best effort: {sent} packets sent, {lost} lost")?;
    }
    shares(&mut out, seen)?;
    let sent: u64 = seen.contracts.iter().map(|one| one.flow.sent).sum();
    let excused: u64 = seen.contracts.iter().map(|one| one.excused).sum();
    let unpromised: u64 = seen.contracts.iter().map(|one| one.unpromised).sum();
    let lost: u64 = seen.contracts.iter().map(|one| one.losses.network).sum();
    let verdict = verdict(seen, excused);
    writeln!(
        out,
        "{verdict}: {} of {sent} packets late, {excused} more while the machine stalled, {unpromised} more without a guarantee; {lost} lost; {} under traffic",
        seen.violations(),
        count(seen.moves(), "move"),
    )?;
    if !seen.is_whole {
        writeln!(out, "stopped early: results so far")?;
    }
    let all = &seen.stalls.all;
    let longest = Time::from_nanos(seen.stalls.longest());
    writeln!(out, "CPUs stalled {} times for more than 300 us, for at most {}", all.len(), longest.up())?;
    out.flush()?;
    Ok(())
}

/// Returns the result for all bounds. A contract without an arrival has no delay, so its bound is not tested.
fn verdict(seen: &RunReport, excused: u64) -> String {
    let all = seen.contracts.len() + seen.silent.len();
    let verdict = match (seen.violations(), seen.lost(), excused) {
        (0, 0, _) if seen.untested() == all => return "no bound tested".to_owned(),
        (0, 0, 0) => "all bounds met",
        (0, 0, _) => "all bounds met, except during stalls of the machine",
        (0, ..) => "NOT all packets arrived",
        _ => "NOT all bounds met",
    };
    match seen.untested() {
        0 => verdict.to_owned(),
        untested => format!("{verdict}, {untested} of {all} not tested"),
    }
}

/// Writes the traffic that members of contracts of other kinds got.
fn shares(out: &mut impl Write, seen: &RunReport) -> Result<(), Failure> {
    if seen.shares.is_empty() {
        return Ok(());
    }
    let mut table = plain_table(&["CONTRACT", "KIND", "MINIMUM", "MIN", "MAX", "TOGETHER", "SHORT"]);
    for one in &seen.shares {
        let rates = || one.pairs.iter().map(|pair| one.rate(pair));
        let sum = rates().map(Rate::bits_per_second).sum::<u64>();
        let rate = |rate: Option<Rate>| rate.map_or_else(|| "-".to_owned(), Human::down);
        let (least, most) = (rate(rates().min()), rate(rates().max()));
        let short = match one.is_admitted {
            true => one.short().len().to_string(),
            false => "not admitted".to_owned(),
        };
        let (kind, min) = (one.promise.kind.name().to_owned(), one.promise.min.down());
        table.add_row([one.promise.id.clone(), kind, min, least, most, Rate::from_bits_per_second(sum).down(), short]);
    }
    write_table(out, &mut table)?;
    let pairs: usize = seen.shares.iter().map(|one| one.pairs.len()).sum();
    let verdict = match (pairs, seen.short()) {
        (0, _) => "no minimum tested",
        (_, 0) => "all minima reached",
        _ => "NOT all minima reached",
    };
    writeln!(out, "{verdict}: {} of {pairs} members got less than 95 % of their minimum", seen.short())?;
    Ok(())
}

pub(super) fn json(seen: &RunReport, refused: &[Applied]) -> Result<(), Failure> {
    let nanos = |time: Option<Time>| time.map(Time::as_nanos);
    let contract = |one: &ContractReport| -> Value {
        json!({
            "id": one.contract.id,
            "serial": one.contract.serial,
            "state": one.state,
            "boundNs": one.bound().as_nanos(),
            "waitsNs": one.waits.as_nanos(),
            "worstNs": nanos(one.flow.worst()),
            "p10Ns": nanos(one.flow.per_mille(100)),
            "p50Ns": nanos(one.flow.per_mille(500)),
            "p90Ns": nanos(one.flow.per_mille(900)),
            "p99Ns": nanos(one.flow.per_mille(990)),
            "sent": one.flow.sent,
            "received": one.flow.received(),
            "shaped": one.losses.shaped,
            "lost": one.losses.network,
            "late": one.violations,
            "lateInStalls": one.excused,
            "lateUnpromised": one.unpromised,
            "reordered": one.flow.reordered,
            "duplicates": one.flow.duplicates,
            "moved": one.moved,
        })
    };
    let actions = seen.actions.iter().map(|action| {
        let kind = match action.kind {
            NetworkAction::Reroute => "reroute",
            NetworkAction::Free => "free",
            NetworkAction::Cut => "cut",
            NetworkAction::Nothing => "nothing",
        };
        json!({
            "deed": kind,
            "what": action.what,
            "moved": action.moved.iter().map(|(id, _)| id).collect::<Vec<_>>(),
            "stopped": action.stopped,
            "degraded": action.degraded,
            "tookNs": u64::try_from(action.took.as_nanos()).unwrap_or(u64::MAX),
            "failed": action.failed,
        })
    });
    let share = |one: &ShareReport| {
        let pair = |pair: &PairReport| json!({ "from": pair.from, "to": pair.to, "arrivedBytes": pair.arrived.get(), "rateBps": one.rate(pair).bits_per_second() });
        json!({
            "id": one.promise.id,
            "kind": one.promise.kind.name(),
            "isAdmitted": one.is_admitted,
            "minBps": one.promise.min.bits_per_second(),
            "pairs": one.pairs.iter().map(pair).collect::<Vec<_>>(),
            "short": one.short().len(),
        })
    };
    let flood = |flow: &FlowReport| json!({ "name": flow.name, "sent": flow.sent, "lost": flow.lost() });
    let document = json!({
        "isPartial": !seen.is_whole,
        "violations": seen.violations(),
        "moves": seen.moves(),
        "contracts": seen.contracts.iter().map(contract).collect::<Vec<_>>(),
        "shares": seen.shares.iter().map(share).collect::<Vec<_>>(),
        "short": seen.short(),
        "silent": seen.silent,
        "untested": seen.untested(),
        "refused": refused,
        "bestEffort": seen.floods.iter().map(flood).collect::<Vec<_>>(),
        "actions": actions.collect::<Vec<_>>(),
        "stalls": { "count": seen.stalls.all.len(), "longestNs": seen.stalls.longest(), "isStrict": seen.stalls.is_strict },
    });
    let mut out = out();
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
