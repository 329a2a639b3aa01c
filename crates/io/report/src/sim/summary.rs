//! Text output of `wayleave sim`: the main figures, in lines of at most 100 columns.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, Table};
use wayleave_explain::human::count;
use wayleave_explain::table::{TableLayout, plain_table, write_table};

use super::measure::{Group, Measure, SeedSpread, traffic_names};
use super::result::{
    Distribution, DivisionResult, ForwardResult, ReportedEnd, RunResult, ServiceResult, ShareResult, SharingResult,
    ShortfallResult, SizeResult, TrafficKind, TrafficResult,
};
use super::text;
use crate::numbers;

/// The busiest links and the longest queues that are shown.
const SHOWN: usize = 5;
/// The most rows of a sweep; the report has all.
const MAX_ROWS: usize = 40;
/// Shortfalls of guarantees to transmit and to receive.
pub const SHORTFALLS: [fn(&ShareResult) -> Option<&ShortfallResult>; 2] =
    [|share| share.transmit_shortfall.as_ref(), |share| share.receive_shortfall.as_ref()];
/// The most characters of a name in a column of its own.
const MAX_NAME: usize = 28;

/// Prints a single run.
pub fn write_run(out: &mut impl Write, run: &RunResult, layout: TableLayout) -> io::Result<()> {
    writeln!(out, "{}: {}", run.scenario, about(run))?;
    if let Some(forward) = &run.forward {
        writeln!(out, "{}", forwarded(forward))?;
    }
    let flows: Vec<&TrafficResult> = run.traffic.iter().filter(|traffic| traffic.kind == TrafficKind::Flows).collect();
    if !flows.is_empty() {
        writeln!(out)?;
        let heads = ["flows", "begun", "finished", "mean time", "p99", "max", "p99 slowdown", "goodput"];
        write_rows(out, layout, &heads, flows.iter().map(|traffic| flow_row(traffic)))?;
    }
    for traffic in flows.iter().filter(|traffic| traffic.deadlines_met + traffic.deadlines_missed > 0) {
        writeln!(out, "{}", deadlines(traffic))?;
    }
    write_sizes(out, layout, &flows)?;
    let measured: Vec<_> =
        flows.iter().filter_map(|traffic| Some((traffic, traffic.round_trip_ps.as_ref()?))).collect();
    if !measured.is_empty() {
        writeln!(out)?;
        let row = |(traffic, times): &(&&TrafficResult, &Distribution)| {
            let times = Some(*times);
            let values: [fn(&Distribution) -> u64; 3] = [|of| of.p50, |of| of.p99, |of| of.max];
            let mut row = vec![shortened(&traffic.name), mean_of(times)];
            row.extend(values.map(|value| of(times, value)));
            row
        };
        write_rows(out, layout, &["round trips", "mean", "p50", "p99", "max"], measured.iter().map(row))?;
    }
    writeln!(out)?;
    let heads = ["packets", "sent", "mean delay", "p99", "max", "rate", "lost", "marked", "retransmits"];
    write_rows(out, layout, &heads, run.traffic.iter().map(|traffic| packet_row(run, traffic)))?;
    if let Some(sharing) = &run.sharing {
        write_sharing(out, layout, run, sharing)?;
    }
    writeln!(out)?;
    write_rows(
        out,
        layout,
        &["busiest links", "usage"],
        busiest(run, SHOWN).into_iter().map(|link| vec![shortened(&link.link), text::share(link.utilisation)]),
    )?;
    writeln!(out)?;
    let heads = ["longest queues", "peak", "mean wait", "p99", "max", "lost", "marked"];
    write_rows(out, layout, &heads, longest(run, SHOWN).into_iter().map(queue_row))
}

/// Traffic that was skipped.
fn forwarded(forward: &ForwardResult) -> String {
    match &forward.refusal {
        Some(why) => format!("fast-forward: nothing skipped, because {why}"),
        None if forward.skips == 0 => "fast-forward: nothing skipped, no steady state lasted long enough".to_owned(),
        None => format!(
            "fast-forward: {} segments in {} skips were not simulated; completion times are off by {:.2} % at most",
            numbers::count(forward.skipped_segments),
            numbers::count(forward.skips),
            forward.estimated_error_max.unwrap_or(0.0) * 100.0
        ),
    }
}

/// Flows by decade of their size, where there is more than one.
fn write_sizes(out: &mut impl Write, layout: TableLayout, flows: &[&TrafficResult]) -> io::Result<()> {
    let several: Vec<_> = flows.iter().filter(|traffic| traffic.sizes.len() > 1).collect();
    if several.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heads = ["flows by size", "up to", "finished", "mean time", "p99", "slowdown", "p50", "p99"];
    let row = |traffic: &TrafficResult, size: &SizeResult| {
        let times = size.completion_ps.as_ref();
        let mut row = vec![
            shortened(&traffic.name),
            text::size(size.most_bytes),
            numbers::count(size.finished),
            mean_of(times),
            of(times, |times| times.p99),
        ];
        row.extend(slowdown_cells(size.slowdown_thousandths.as_ref()));
        row
    };
    write_rows(
        out,
        layout,
        &heads,
        several.iter().flat_map(|traffic| traffic.sizes.iter().map(|size| row(traffic, size))),
    )
}

/// The mean of slowdowns, half of them, and 99 %; dashes where nothing was measured.
pub fn slowdown_cells(slowdown: Option<&Distribution>) -> [String; 3] {
    let values: [fn(&Distribution) -> f64; 3] = [|of| of.mean, |of| of.p50 as f64, |of| of.p99 as f64];
    values.map(|value| slowdown.map_or_else(|| "-".to_owned(), |known| text::slowdown(value(known))))
}

/// Returns the shortfall of a service's guarantee at all machines together, and the amount owed there.
pub fn missed(service: &ServiceResult, of: fn(&ShareResult) -> Option<&ShortfallResult>) -> Option<(u64, u64)> {
    let all = service.machines.iter().filter_map(of);
    all.map(|shortfall| (shortfall.missed_bytes, shortfall.owed_bytes))
        .reduce(|(missed, owed), (more, most)| (missed + more, owed + most))
        .filter(|&(_, owed)| owed > 0)
}

/// Returns the shortfall as a part of the amount owed, or a dash if nothing was owed.
pub fn missed_cell(missed: Option<(u64, u64)>) -> String {
    missed.map_or_else(|| "-".to_owned(), |(missed, owed)| text::share(text::part(missed, owed)))
}

/// Writes the bandwidth of services: at all machines together, and at the racks' links to other switches.
fn write_sharing(
    out: &mut impl Write,
    layout: TableLayout,
    run: &RunResult,
    sharing: &SharingResult,
) -> io::Result<()> {
    let seconds = run.counted_ns as f64 / 1e9;
    let rate = |bytes: u64| text::rate(if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 });
    let sum = |shares: &[ShareResult], of: fn(&ShareResult) -> u64| shares.iter().map(of).sum::<u64>();
    let is_owed = |service: &ServiceResult| SHORTFALLS.iter().any(|&of| missed(service, of).is_some());
    let is_any_owed = sharing.services.iter().any(is_owed);
    let changes = |service: &ServiceResult| sum(&service.machines, |share| share.path_changes);
    let row = |service: &ServiceResult| {
        let mut row = vec![
            shortened(&service.name),
            rate(sum(&service.machines, |share| share.sent_bytes)),
            rate(sum(&service.racks, |share| share.sent_bytes)),
            numbers::count(service.machines.len() as u64),
            numbers::count(sum(&service.machines, |share| share.drops)),
        ];
        if is_any_owed {
            row.extend(SHORTFALLS.map(|of| missed_cell(missed(service, of))));
        }
        row.push(numbers::count(changes(service)));
        row
    };
    let mut heads = vec!["services", "sent", "between racks", "machines", "lost at limiters"];
    if is_any_owed {
        heads.extend(["missed sending", "receiving"]);
    }
    if sharing.services.iter().any(|service| changes(service) > 0) {
        heads.push("path changes");
    }
    writeln!(out)?;
    let used = sharing.services.iter().filter(|service| !service.machines.is_empty());
    write_rows(
        out,
        layout,
        &heads,
        used.map(row).map(|mut row| {
            row.truncate(heads.len());
            row
        }),
    )?;
    if !sharing.divisions.is_empty() {
        writeln!(out)?;
        write_rows(out, layout, &DIVISIONS, sharing.divisions.iter().map(division_row))?;
    }
    let (messages, lost) = (numbers::counted(sharing.messages, "packet"), numbers::count(sharing.messages_lost));
    writeln!(
        out,
        "messages between hosts and brokers: {messages}, {}, {lost} lost",
        text::size(sharing.message_bytes)
    )?;
    if sharing.probes > 0 {
        let (probes, lost) = (numbers::counted(sharing.probes, "packet"), numbers::count(sharing.probes_lost));
        writeln!(out, "probes: {probes}, {}, {lost} lost", text::size(sharing.probe_bytes))?;
    }
    Ok(())
}

/// Headings of the table of divisions.
pub const DIVISIONS: [&str; 9] = ["divisions", "objective", "share", "wanted", "due", "got", "mean", "p99", "missed"];

/// A division in a table. The times are those of packets for latency, and of flows for the other objectives.
pub fn division_row(division: &DivisionResult) -> Vec<String> {
    let rate = |bits: u64| text::rate(bits as f64);
    let flows = division.deadlines_met + division.deadlines_missed;
    vec![
        shortened(&division.name),
        division.objective.clone().unwrap_or_else(|| "-".to_owned()),
        rate(division.share_bps),
        division.wanted_bps.map_or_else(|| "more".to_owned(), rate),
        rate(division.due_bps),
        rate(division.carried_bps),
        division.mean_ps.map_or_else(|| "-".to_owned(), text::mean_time),
        division.p99_ps.map_or_else(|| "-".to_owned(), text::time),
        if flows > 0 { text::share(text::part(division.deadlines_missed, flows)) } else { "-".to_owned() },
    ]
}

/// `50ms simulated, the first 5ms not counted; 32 hosts, 6 switches; seed 1`.
pub fn about(run: &RunResult) -> String {
    let time = |nanos: u64| text::time(nanos.saturating_mul(1_000));
    let mut text = format!("{} simulated", time(run.simulated_ns));
    match run.ending {
        ReportedEnd::Complete => {}
        ReportedEnd::Stopped => text += &format!(" of {}, then stopped", time(run.duration_ns)),
        ReportedEnd::TooManyFlows => text += &format!(" of {}: too many flows", time(run.duration_ns)),
    }
    let warmup = run.simulated_ns.saturating_sub(run.counted_ns);
    if warmup > 0 {
        text += &format!(", the first {} not counted", time(warmup));
    }
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let switches = count(number(run.switches), "switch");
    format!("{text}; {}, {switches}; seed {}", count(number(run.hosts), "host"), run.seed)
}

/// `incast: 3 of 31 deadlines missed (9.7 %)`.
pub fn deadlines(traffic: &TrafficResult) -> String {
    let (missed, all) = (traffic.deadlines_missed, traffic.deadlines_met + traffic.deadlines_missed);
    let share = text::share(text::part(missed, all));
    format!("{}: {} of {} deadlines missed ({share})", traffic.name, numbers::count(missed), numbers::count(all))
}

/// A time of a distribution, or a dash where nothing was measured.
pub fn of(distribution: Option<&Distribution>, value: fn(&Distribution) -> u64) -> String {
    distribution.map_or_else(|| "-".to_owned(), |known| text::time(value(known)))
}

/// The mean of a distribution of times, or a dash.
pub fn mean_of(distribution: Option<&Distribution>) -> String {
    distribution.map_or_else(|| "-".to_owned(), |known| text::mean_time(known.mean))
}

fn flow_row(traffic: &TrafficResult) -> Vec<String> {
    let times = traffic.completion_ps.as_ref();
    let slowdown = traffic.slowdown_thousandths.as_ref();
    vec![
        shortened(&traffic.name),
        numbers::count(traffic.begun),
        numbers::count(traffic.finished),
        mean_of(times),
        of(times, |times| times.p99),
        of(times, |times| times.max),
        slowdown.map_or_else(|| "-".to_owned(), |slowdown| text::slowdown(slowdown.p99 as f64)),
        text::rate(traffic.goodput_bps as f64),
    ]
}

/// Bit/s on the wire that arrived.
pub fn wire_rate(run: &RunResult, traffic: &TrafficResult) -> String {
    let seconds = run.counted_ns as f64 / 1e9;
    text::rate(if seconds > 0.0 { traffic.delivered_bytes as f64 * 8.0 / seconds } else { 0.0 })
}

fn packet_row(run: &RunResult, traffic: &TrafficResult) -> Vec<String> {
    let delay = traffic.delay_ps.as_ref();
    vec![
        shortened(&traffic.name),
        numbers::count(traffic.sent),
        mean_of(delay),
        of(delay, |delay| delay.p99),
        of(delay, |delay| delay.max),
        wire_rate(run, traffic),
        numbers::count(traffic.drops),
        numbers::count(traffic.marked),
        numbers::count(traffic.again),
    ]
}

fn queue_row(queue: &super::result::QueueResult) -> Vec<String> {
    let wait = queue.wait_ps.as_ref();
    vec![
        format!("{} q{}", shortened(&queue.link), queue.queue),
        text::size(queue.peak_bytes),
        mean_of(wait),
        of(wait, |wait| wait.p99),
        of(wait, |wait| wait.max),
        numbers::count(queue.drops),
        numbers::count(queue.marks),
    ]
}

/// The links that are used most, busiest first.
pub fn busiest(run: &RunResult, most: usize) -> Vec<&super::result::LinkResult> {
    let mut links: Vec<_> = run.links.iter().filter(|link| link.sent_bytes > 0).collect();
    links.sort_by(|one, other| other.utilisation.total_cmp(&one.utilisation));
    links.truncate(most);
    links
}

/// The queues that held most, longest first.
pub fn longest(run: &RunResult, most: usize) -> Vec<&super::result::QueueResult> {
    let mut queues: Vec<_> = run.queues.iter().collect();
    queues.sort_by_key(|queue| std::cmp::Reverse(queue.peak_bytes));
    queues.truncate(most);
    queues
}

/// Prints a sweep: each traffic for each choice of parameters, over its seeds.
pub fn write_sweep(out: &mut impl Write, name: &str, results: &[RunResult], layout: TableLayout) -> io::Result<()> {
    let groups = Group::all(results);
    let seeds = groups.iter().map(|group| group.runs.len()).max().unwrap_or(0);
    let complete = results.iter().filter(|run| run.is_complete()).count();
    let choices = count(groups.len(), "set");
    writeln!(
        out,
        "{name}: {} of {choices} of parameters, at most {} each",
        count(complete, "run"),
        count(seeds, "seed")
    )?;
    writeln!(out)?;
    let (heads, rows) = sweep_rows(&groups, results);
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let left = rows.len().saturating_sub(MAX_ROWS);
    write_rows(out, layout, &heads, rows.into_iter().take(MAX_ROWS))?;
    if left > 0 {
        writeln!(out, "... and {left} more (the report and -o json have everything)")?;
    }
    Ok(())
}

/// Heads and rows of the table of a sweep.
fn sweep_rows(groups: &[Group<'_>], results: &[RunResult]) -> (Vec<String>, Vec<Vec<String>>) {
    let traffic = traffic_names(results);
    // The last step of a path serves as its name.
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let mut heads: Vec<String> = groups
        .first()
        .map_or_else(Vec::new, |group| group.parameters.iter().map(|parameter| last(&parameter.path)).collect());
    heads.extend(["traffic", "mean time", "p99", "(min to max)", "goodput", "lost"].map(str::to_owned));
    let mut rows = Vec::new();
    for group in groups {
        for known in &traffic {
            let mut row: Vec<String> = group.parameters.iter().map(|parameter| shortened(&parameter.value)).collect();
            row.push(shortened(&known.name));
            let spread = |measure: Measure| group.spread(&known.name, measure);
            let mean =
                |measure: Measure| spread(measure).map_or_else(|| "-".to_owned(), |spread| measure.show(spread.mean));
            row.extend([mean(Measure::MeanTime), mean(Measure::TailTime)]);
            row.push(
                spread(Measure::TailTime).map_or_else(|| "-".to_owned(), |spread| ends(Measure::TailTime, spread)),
            );
            row.extend([mean(Measure::Goodput), mean(Measure::Lost)]);
            rows.push(row);
        }
    }
    (heads, rows)
}

/// `1.2ms to 1.4ms`.
pub fn ends(measure: Measure, spread: SeedSpread) -> String {
    format!("{} to {}", measure.show(spread.lowest), measure.show(spread.highest))
}

/// A table whose first column is text and whose others are numbers.
fn write_rows(
    out: &mut impl Write,
    layout: TableLayout,
    heads: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut table: Table = plain_table(heads, layout);
    for row in rows {
        table.add_row(row.into_iter().map(Cell::new));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if index + 1 == heads.len() {
            column.remove_constraint();
        }
    }
    write_table(out, &mut table)
}

/// A name that leaves room for other columns.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
