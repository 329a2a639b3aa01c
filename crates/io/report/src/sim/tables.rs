//! The tables of a run.

use crate::markup::MarkupElement;
use crate::numbers;
use crate::sim::result::{Distribution, RunResult, ServiceResult, SizeResult, Tier, TrafficKind, TrafficResult};
use crate::sim::summary::{
    DIVISIONS, SHORTFALLS, division_row, longest, mean_of, missed, missed_cell, of, slowdown_cells, wire_rate,
};
use crate::sim::text;
use crate::tables::Column::{self, Number, Text};
use crate::tables::{boxed, table};

/// The most queues of the table; the JSON has all.
const QUEUES: usize = 40;

/// Flows by traffic, if there are any.
pub fn flows(run: &RunResult) -> Option<MarkupElement> {
    let flows: Vec<&TrafficResult> = run.traffic.iter().filter(|traffic| traffic.kind == TrafficKind::Flows).collect();
    let has_deadlines = flows.iter().any(|traffic| traffic.deadlines_met + traffic.deadlines_missed > 0);
    let mut heads = vec![("traffic", Text), ("begun", Number), ("finished", Number)];
    heads.extend(times());
    heads.extend([("mean slowdown", Number), ("p99 slowdown", Number), ("goodput", Number)]);
    if has_deadlines {
        heads.push(("deadlines missed", Number));
    }
    let row = |traffic: &&TrafficResult| {
        let slowdown = |value: fn(&Distribution) -> f64| {
            traffic.slowdown_thousandths.as_ref().map_or_else(|| "-".to_owned(), |known| text::slowdown(value(known)))
        };
        let mut row = vec![traffic.name.clone(), numbers::count(traffic.begun), numbers::count(traffic.finished)];
        row.extend(time_cells(traffic.completion_ps.as_ref()));
        row.extend([slowdown(|of| of.mean), slowdown(|of| of.p99 as f64), text::rate(traffic.goodput_bps as f64)]);
        let all = traffic.deadlines_met + traffic.deadlines_missed;
        row.push(match all {
            0 => "-".to_owned(),
            _ => format!("{} of {}", numbers::count(traffic.deadlines_missed), numbers::count(all)),
        });
        row.truncate(heads.len());
        row
    };
    let rows: Vec<_> = flows.iter().map(row).collect();
    let table = table("Flows: completion times, from the first to the last byte", &[], &heads, rows);
    (!flows.is_empty()).then(|| boxed("Flows", table))
}

/// Flows by decade of their size, where there is more than one.
pub fn sizes(run: &RunResult) -> Option<MarkupElement> {
    let mut heads = vec![("traffic", Text), ("up to", Number), ("finished", Number)];
    heads.extend(times());
    heads.extend(["mean slowdown", "p50 slowdown", "p99 slowdown"].map(|head| (head, Number)));
    let row = |traffic: &TrafficResult, size: &SizeResult| {
        let mut row = vec![traffic.name.clone(), text::size(size.most_bytes), numbers::count(size.finished)];
        row.extend(time_cells(size.completion_ps.as_ref()));
        row.extend(slowdown_cells(size.slowdown_thousandths.as_ref()));
        row
    };
    let several = run.traffic.iter().filter(|traffic| traffic.sizes.len() > 1);
    let rows: Vec<_> = several.flat_map(|traffic| traffic.sizes.iter().map(|size| row(traffic, size))).collect();
    let caption = "Flows by size: completion times and slowdown";
    (!rows.is_empty()).then(|| boxed("Flows by size", table(caption, &[], &heads, rows)))
}

/// Round trips by traffic, where they are recorded.
pub fn round_trips(run: &RunResult) -> Option<MarkupElement> {
    let mut heads = vec![("traffic", Text), ("acknowledgements", Number)];
    heads.extend(times());
    let row = |traffic: &TrafficResult| {
        let known = traffic.round_trip_ps.as_ref()?;
        let mut row = vec![traffic.name.clone(), numbers::count(known.count)];
        row.extend(time_cells(Some(known)));
        Some(row)
    };
    let rows: Vec<_> = run.traffic.iter().filter_map(row).collect();
    let caption = "Round trips: from a segment's transmission to its acknowledgement, measured by senders";
    (!rows.is_empty()).then(|| boxed("Round trips", table(caption, &[], &heads, rows)))
}

/// Tasks that follow others, by traffic.
pub fn chains(run: &RunResult) -> Option<MarkupElement> {
    let mut heads = vec![("traffic", Text), ("tasks", Number)];
    heads.extend(times());
    let row = |traffic: &TrafficResult| {
        let known = traffic.chain_ps.as_ref()?;
        let mut row = vec![traffic.name.clone(), numbers::count(known.count)];
        row.extend(time_cells(Some(known)));
        Some(row)
    };
    let rows: Vec<_> = run.traffic.iter().filter_map(row).collect();
    let caption = "Tasks: from the beginning of the first flow of their chain";
    (!rows.is_empty()).then(|| boxed("Since the chain began", table(caption, &[], &heads, rows)))
}

/// Returns the table of shortfalls of services' guarantees, if they are recorded.
pub fn guarantees(run: &RunResult) -> Option<MarkupElement> {
    let heads = [
        ("service", Text),
        ("owed (sending)", Number),
        ("missed", Number),
        ("miss rate", Number),
        ("owed (receiving)", Number),
        ("missed", Number),
        ("miss rate", Number),
        ("path changes", Number),
    ];
    let row = |service: &ServiceResult| {
        let known = SHORTFALLS.map(|of| missed(service, of));
        let cells = |of: Option<(u64, u64)>| {
            let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".to_owned(), text::size);
            [size(of.map(|(_, owed)| owed)), size(of.map(|(missed, _)| missed)), missed_cell(of)]
        };
        let mut row = vec![service.name.clone()];
        row.extend(known.into_iter().flat_map(cells));
        row.push(numbers::count(service.machines.iter().map(|share| share.path_changes).sum::<u64>()));
        known.iter().any(Option::is_some).then_some(row)
    };
    let rows: Vec<_> = run.sharing.iter().flat_map(|sharing| &sharing.services).filter_map(row).collect();
    let caption = "Guarantees: bytes owed while there was demand, and bytes missed, summed over all hosts";
    (!rows.is_empty()).then(|| boxed("Guarantees", table(caption, &[], &heads, rows)))
}

/// Returns the table of divisions with their bandwidth and the results for their objectives, if there are any.
pub fn divisions(run: &RunResult) -> Option<MarkupElement> {
    let heads = DIVISIONS.map(|head| (head, if matches!(head, "divisions" | "objective") { Text } else { Number }));
    let rows: Vec<_> = run.sharing.iter().flat_map(|sharing| &sharing.divisions).map(division_row).collect();
    let caption = "Divisions: rate due by share and demand, rate received, and the objective's metric: packet delays for latency, completion times and missed deadlines for the others";
    (!rows.is_empty()).then(|| boxed("Divisions", table(caption, &[], &heads, rows)))
}

/// Packets by traffic.
pub fn packets(run: &RunResult) -> MarkupElement {
    let mut heads = vec![("traffic", Text), ("sent", Number), ("received", Number)];
    heads.extend(times());
    heads.extend(["rate", "lost", "loss rate", "marked", "retransmits", "timeouts"].map(|head| (head, Number)));
    let row = |traffic: &TrafficResult| {
        let mut row = vec![traffic.name.clone(), numbers::count(traffic.sent), numbers::count(traffic.delivered)];
        row.extend(time_cells(traffic.delay_ps.as_ref()));
        row.extend([
            wire_rate(run, traffic),
            numbers::count(traffic.drops),
            loss_rate(traffic.drops, traffic.sent),
            numbers::count(traffic.marked),
            numbers::count(traffic.again),
            numbers::count(traffic.timeouts),
        ]);
        row
    };
    let caption = "Packets: delays, from release to reception of the last bit";
    boxed("Packets", table(caption, &[], &heads, run.traffic.iter().map(row)))
}

/// Returns the part of packets that were lost, or a dash if none was sent.
pub fn loss_rate(lost: u64, sent: u64) -> String {
    if sent == 0 { "-".to_owned() } else { text::share(text::part(lost, sent)) }
}

fn times() -> [(&'static str, Column); 6] {
    ["mean", "p50", "p90", "p99", "p99.9", "max"].map(|head| (head, Number))
}

fn time_cells(times: Option<&Distribution>) -> Vec<String> {
    let values: [fn(&Distribution) -> u64; 5] = [|of| of.p50, |of| of.p90, |of| of.p99, |of| of.p99_9, |of| of.max];
    std::iter::once(mean_of(times)).chain(values.map(|value| of(times, value))).collect()
}

/// The longest queues.
pub fn queues(run: &RunResult) -> MarkupElement {
    let heads = [
        ("port and queue", Text),
        ("peak depth", Number),
        ("packets", Number),
        ("mean wait", Number),
        ("p99", Number),
        ("p99.9", Number),
        ("max", Number),
        ("lost", Number),
        ("marked", Number),
    ];
    let rows = longest(run, QUEUES).into_iter().map(|queue| {
        let wait = queue.wait_ps.as_ref();
        vec![
            format!("{} q{}", queue.link, queue.queue),
            text::size(queue.peak_bytes),
            numbers::count(wait.map_or(0, |wait| wait.count)),
            mean_of(wait),
            of(wait, |wait| wait.p99),
            of(wait, |wait| wait.p99_9),
            of(wait, |wait| wait.max),
            numbers::count(queue.drops),
            numbers::count(queue.marks),
        ]
    });
    let all = run.queues.len();
    let caption = if all > QUEUES {
        format!("The {QUEUES} longest of {} queues", numbers::count(all as u64))
    } else {
        "Queues, longest first".to_owned()
    };
    boxed("Queues", table(&caption, &[], &heads, rows))
}

/// Links by tier.
pub fn tiers(run: &RunResult) -> MarkupElement {
    let heads = [("links", Text), ("number", Number), ("mean usage", Number), ("maximum usage", Number)];
    let rows = Tier::ALL.into_iter().filter_map(|tier| {
        let used: Vec<f64> = run.links.iter().filter(|link| link.tier == tier).map(|link| link.utilisation).collect();
        let highest = used.iter().copied().reduce(f64::max)?;
        let mean = used.iter().sum::<f64>() / used.len() as f64;
        Some(vec![tier.name().to_owned(), numbers::count(used.len() as u64), text::share(mean), text::share(highest)])
    });
    boxed("Links by tier", table("Utilisation of the line rate", &[], &heads, rows))
}
