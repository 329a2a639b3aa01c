//! Figures of a run of the simulator.

use std::collections::{BTreeMap, BTreeSet};

use crate::markup::MarkupElement;
use crate::numbers;
use crate::plot::axis::Axis;
use crate::plot::bars::bars;
use crate::plot::{Dot, Join, MAX_LINES, Plot, PlotLine};
use crate::scale::ShareOfWhole;
use crate::sim::result::{Distribution, QueueResult, RunResult, SizeResult, TimesResult, TrafficResult};
use crate::sim::summary::{SHORTFALLS, busiest};
use crate::sim::text;

/// Ratio of the highest time of a figure to the lowest one that is shown.
const SHOWN_RANGE: f64 = 1e5;
/// The links in the bars.
const LINKS: usize = 12;

/// Distributions of times, one line each.
fn distributions(id: &str, title: &str, x_name: &str, named: Vec<(String, &Distribution)>) -> Option<MarkupElement> {
    let known: Vec<_> = named.into_iter().filter(|(_, of)| !of.cdf.is_empty() && of.max > 0).collect();
    let lowest =
        known.iter().flat_map(|(_, of)| of.cdf.iter().map(|point| point.0)).filter(|&value| value > 0).min()?;
    let highest = known.iter().map(|(_, of)| of.max).max()?;
    // Shorter times, and zero, which has no place on a logarithmic axis, are drawn at its low end. Times are read in
    // ns.
    let lowest = (lowest as f64).max(highest as f64 / SHOWN_RANGE).max(1e3);
    let x = Axis::logarithmic(lowest, highest as f64);
    let y = Axis::linear(1.0);
    let describe = |(name, of): &(String, &Distribution)| {
        format!("{name}: median {}, p99 {}, maximum {}.", text::time(of.p50), text::time(of.p99), text::time(of.max))
    };
    let plot = Plot {
        description: known.iter().map(describe).collect::<Vec<_>>().join(" "),
        x_marks: x.marks.iter().map(|&mark| text::mean_time(mark)).collect(),
        x_name: x_name.to_owned(),
        y_marks: y.marks.iter().map(|mark| format!("{:.0} %", mark * 100.0)).collect(),
        ..Plot::new(
            id,
            title,
            (x, y),
            Join::Steps,
            known.into_iter().map(|(name, of)| PlotLine { name, points: points(of) }).collect(),
        )
    };
    Some(plot.draw_readable())
}

fn points(of: &Distribution) -> Vec<Dot> {
    of.cdf.iter().map(|&(value, fraction)| Dot::at(value as f64, fraction)).collect()
}

/// Packet delays by traffic.
pub fn delays(run: &RunResult) -> Option<MarkupElement> {
    let named = run.traffic.iter().filter_map(|traffic| Some((traffic.name.clone(), traffic.delay_ps.as_ref()?)));
    distributions("delays", "Packet delay", "from release to reception of the last bit", named.collect())
}

/// Completion times by traffic.
pub fn completions(run: &RunResult) -> Option<MarkupElement> {
    let named = run.traffic.iter().filter_map(|traffic| Some((traffic.name.clone(), traffic.completion_ps.as_ref()?)));
    distributions("completions", "Flow completion time", "from the first to the last byte", named.collect())
}

/// Waits in the queues with the longest ones.
pub fn waits(run: &RunResult) -> Option<MarkupElement> {
    let mut queues: Vec<(&QueueResult, &Distribution)> = run
        .queues
        .iter()
        .filter_map(|queue| Some((queue, queue.wait_ps.as_ref().filter(|wait| !wait.cdf.is_empty())?)))
        .collect();
    queues.sort_by_key(|(_, wait)| std::cmp::Reverse(wait.p99));
    let named =
        queues.into_iter().take(MAX_LINES).map(|(queue, wait)| (format!("{} q{}", queue.link, queue.queue), wait));
    distributions("waits", "Queueing delay in the longest queues", "from arrival to transmission", named.collect())
}

/// Maximum number of traffics with a figure of their own.
const MAX_SLOWDOWNS: usize = 4;

/// The slowdown by decade of size, of each traffic: many traffics share one figure.
pub fn slowdowns(run: &RunResult) -> Vec<MarkupElement> {
    let finite: Vec<&TrafficResult> = run.traffic.iter().filter(|traffic| traffic.sizes.len() > 1).collect();
    if finite.len() > MAX_SLOWDOWNS {
        return all_slowdowns(&finite).into_iter().collect();
    }
    finite.into_iter().enumerate().filter_map(|(index, traffic)| slowdown(index, traffic)).collect()
}

/// The 99th percentile by decade of size, with a line for each traffic.
fn all_slowdowns(traffics: &[&TrafficResult]) -> Option<MarkupElement> {
    let p99 = |traffic: &TrafficResult| -> BTreeMap<u64, u64> {
        let of = |size: &SizeResult| Some((size.most_bytes, size.slowdown_thousandths.as_ref()?.p99));
        traffic.sizes.iter().filter_map(of).collect()
    };
    let known: Vec<(&str, BTreeMap<u64, u64>)> =
        traffics.iter().map(|traffic| (traffic.name.as_str(), p99(traffic))).collect();
    let sizes: BTreeSet<u64> = known.iter().flat_map(|(_, of)| of.keys().copied()).collect();
    let highest = known.iter().flat_map(|(_, of)| of.values().copied()).max()?;
    let line = |(name, of): &(&str, BTreeMap<u64, u64>)| PlotLine {
        name: (*name).to_owned(),
        points: sizes
            .iter()
            .enumerate()
            .map(|(at, size)| Dot::at(at as f64, of.get(size).map_or(f64::NAN, |&p99| p99 as f64 / 1e3)))
            .collect(),
    };
    let describe = |(name, of): &(&str, BTreeMap<u64, u64>)| {
        let of_size =
            |(&size, &p99): (&u64, &u64)| format!("up to {} {}", text::size(size), text::slowdown(p99 as f64));
        format!("{name}: {}.", of.iter().map(of_size).collect::<Vec<_>>().join(", "))
    };
    let last = sizes.len().saturating_sub(1).max(1) as f64;
    let y = Axis::logarithmic(1.0, highest as f64 / 1e3);
    let plot = Plot {
        description: known.iter().map(describe).collect::<Vec<_>>().join(" "),
        x_marks: sizes.iter().map(|&size| text::size(size)).collect(),
        x_name: "flow size, up to".to_owned(),
        y_marks: y.marks.iter().map(|mark| format!("{mark}")).collect(),
        ..Plot::new(
            "slowdowns",
            "Slowdown by size, p99",
            (Axis::exactly(0.0, last, (0..sizes.len()).map(|at| at as f64).collect()), y),
            Join::Dots,
            known.iter().map(line).collect(),
        )
    };
    Some(plot.draw_readable())
}

fn slowdown(index: usize, traffic: &TrafficResult) -> Option<MarkupElement> {
    let known: Vec<(String, &Distribution)> = traffic
        .sizes
        .iter()
        .filter_map(|size| Some((text::size(size.most_bytes), size.slowdown_thousandths.as_ref()?)))
        .collect();
    let highest = known.iter().map(|(_, of)| of.p99).max()?;
    let line = |name: &str, value: fn(&Distribution) -> f64| PlotLine {
        name: name.to_owned(),
        points: known.iter().enumerate().map(|(at, (_, of))| Dot::at(at as f64, value(of) / 1e3)).collect(),
    };
    let y = Axis::logarithmic(1.0, highest as f64 / 1e3);
    let describe = |(size, of): &(String, &Distribution)| {
        format!("Up to {size}: mean {}, p99 {}.", text::slowdown(of.mean), text::slowdown(of.p99 as f64))
    };
    let plot = Plot {
        description: known.iter().map(describe).collect::<Vec<_>>().join(" "),
        x_marks: known.iter().map(|(size, _)| size.clone()).collect(),
        x_name: "flow size, up to".to_owned(),
        y_marks: y.marks.iter().map(|mark| format!("{mark}")).collect(),
        ..Plot::new(
            format!("slowdown-{index}"),
            format!("Slowdown by size: {}", traffic.name),
            (Axis::exactly(0.0, known.len() as f64 - 1.0, (0..known.len()).map(|at| at as f64).collect()), y),
            Join::Dots,
            vec![line("p99", |of| of.p99 as f64), line("mean", |of| of.mean)],
        )
    };
    Some(plot.draw())
}

/// Throughput over time, where it is recorded.
pub fn throughput(run: &RunResult) -> Option<MarkupElement> {
    let known: Vec<_> =
        run.traffic.iter().filter_map(|traffic| Some((&traffic.name, traffic.throughput.as_ref()?))).collect();
    let of = |interval_ps: u64, bytes: &[u64]| {
        let last = run.simulated_ns.saturating_mul(1_000);
        let rate = |(at, &amount): (usize, &u64)| {
            let start = at as u64 * interval_ps;
            // The last interval may be cut.
            let length = interval_ps.min(last.saturating_sub(start)).max(1);
            (start, start + length, amount as f64 * 8e12 / length as f64)
        };
        bytes.iter().enumerate().map(rate).collect::<Vec<_>>()
    };
    let lines: Vec<PlotLine> = known
        .iter()
        .map(|(name, series)| PlotLine {
            name: (*name).clone(),
            points: of(series.interval_ps, &series.bytes)
                .into_iter()
                .map(|(start, end, rate)| Dot::at((start + end) as f64 / 2.0, rate))
                .collect(),
        })
        .collect();
    let interval = text::time(known.first()?.1.interval_ps);
    over_time(run, ("throughput", "Throughput"), &format!("time; means over {interval}"), lines, text::rate)
}

/// Round trips over time, where they are recorded.
pub fn round_trips(run: &RunResult) -> Option<MarkupElement> {
    let known: Vec<_> =
        run.traffic.iter().filter_map(|traffic| Some((&traffic.name, traffic.round_trips.as_ref()?))).collect();
    let points = |times: &TimesResult| {
        let middle = |at: usize| (at as f64 + 0.5) * times.interval_ps as f64;
        // Intervals without arrivals have no value.
        let known = |time: u64, count: u64| if count > 0 { time as f64 } else { f64::NAN };
        let all = times.p99_ps.iter().zip(&times.count).enumerate();
        all.map(|(at, (&time, &count))| Dot::at(middle(at), known(time, count))).collect()
    };
    let lines = known.iter().map(|(name, times)| PlotLine { name: (*name).clone(), points: points(times) }).collect();
    let interval = text::time(known.first()?.1.interval_ps);
    let x_name = format!("time; p99 of each {interval}");
    over_time(run, ("round-trips", "Round-trip time"), &x_name, lines, text::mean_time)
}

/// Returns the shortfall of guarantees over time, if it is recorded: of each service, at all machines together.
pub fn missed(run: &RunResult) -> Option<MarkupElement> {
    let services = run.sharing.iter().flat_map(|sharing| &sharing.services);
    let mut interval = None;
    let mut lines = Vec::new();
    for (service, (direction, of)) in services.flat_map(|service| {
        ["sending", "receiving"].into_iter().zip(SHORTFALLS).map(move |direction| (service, direction))
    }) {
        let mut sum: Vec<u64> = Vec::new();
        for series in service.machines.iter().filter_map(|share| of(share)).map(|shortfall| &shortfall.missed) {
            interval = Some(series.interval_ps);
            sum.resize(sum.len().max(series.bytes.len()), 0);
            sum.iter_mut().zip(&series.bytes).for_each(|(sum, bytes)| *sum += bytes);
        }
        let length = interval.unwrap_or(1) as f64;
        let dot = |(at, &bytes): (usize, &u64)| Dot::at((at as f64 + 0.5) * length, bytes as f64 * 8e12 / length);
        if sum.iter().any(|&bytes| bytes > 0) {
            let points = sum.iter().enumerate().map(dot).collect();
            lines.push(PlotLine { name: format!("{}, {direction}", service.name), points });
        }
    }
    let x_name = format!("time; means over {}", text::time(interval?));
    over_time(run, ("missed", "Missed guaranteed rate"), &x_name, lines, text::rate)
}

/// Returns the backlog of the links with the longest queues, if it is recorded.
pub fn backlogs(run: &RunResult) -> Option<MarkupElement> {
    let most = |levels: &crate::sim::result::LevelsResult| levels.most_bytes.iter().copied().max().unwrap_or(0);
    let mut known: Vec<_> = run.links.iter().filter_map(|link| Some((&link.link, link.backlog.as_ref()?))).collect();
    known.sort_by_key(|(_, levels)| std::cmp::Reverse(most(levels)));
    known.truncate(MAX_LINES);
    let points = |levels: &crate::sim::result::LevelsResult| {
        let middle = |at: usize| (at as f64 + 0.5) * levels.interval_ps as f64;
        levels.most_bytes.iter().enumerate().map(|(at, &bytes)| Dot::at(middle(at), bytes as f64)).collect()
    };
    let lines = known.iter().map(|(name, levels)| PlotLine { name: (*name).clone(), points: points(levels) }).collect();
    let interval = text::time(known.first()?.1.interval_ps);
    let x_name = format!("time; maximum in each {interval}");
    over_time(run, ("backlogs", "Queue depth"), &x_name, lines, |bytes| text::size(bytes as u64))
}

fn over_time(
    run: &RunResult,
    (id, title): (&str, &str),
    x_name: &str,
    lines: Vec<PlotLine>,
    show: fn(f64) -> String,
) -> Option<MarkupElement> {
    let values = || lines.iter().flat_map(|line| line.points.iter().map(|dot| dot.y));
    let highest = values().reduce(f64::max).filter(|&highest| highest > 0.0)?;
    let (x, y) = (Axis::between(0.0, run.simulated_ns as f64 * 1e3), Axis::linear(highest));
    // Results do not count the beginning.
    let uncounted = run.simulated_ns.saturating_sub(run.counted_ns) as f64 * 1e3;
    let plot = Plot {
        description: format!("{}, maximum {}.", numbers::counted(lines.len(), "line"), show(highest)),
        x_marks: x.marks.iter().map(|&mark| text::mean_time(mark)).collect(),
        x_name: if uncounted > 0.0 { format!("{x_name}; warm-up is shaded") } else { x_name.to_owned() },
        y_marks: y.marks.iter().map(|&mark| show(mark)).collect(),
        uncounted,
        ..Plot::new(id, title, (x, y), Join::Straight, lines)
    };
    Some(plot.draw_readable())
}

/// The busiest links.
pub fn links(run: &RunResult) -> Option<MarkupElement> {
    let rows: Vec<_> = busiest(run, LINKS)
        .into_iter()
        .map(|link| (link.link.clone(), ShareOfWhole::of(link.utilisation, 1.0), text::share(link.utilisation)))
        .collect();
    let describe = |(name, _, share): &(String, ShareOfWhole, String)| format!("{name}: {share}.");
    let description = rows.iter().map(describe).collect::<Vec<_>>().join(" ");
    (!rows.is_empty()).then(|| bars("links", "Busiest links", &description, &rows))
}
