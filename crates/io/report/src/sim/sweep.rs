//! Figures and tables of a sweep: the main figures against what varies, with the spread over seeds.

use crate::markup::MarkupElement;
use crate::plot::axis::Axis;
use crate::plot::{Dot, Join, MAX_LINES, Plot, PlotLine};
use crate::sim::measure::{Group, Measure, traffic_names};
use crate::sim::result::{ReportedEnd, RunResult, SweepParameter, TrafficResult};
use crate::sim::summary::ends;
use crate::tables::Column::{Number, Text};
use crate::tables::{boxed, table};

/// Kinds of traffic of which figures are drawn.
const TRAFFIC: usize = 4;

/// The figures, by traffic.
pub fn figures(results: &[RunResult]) -> Vec<(String, Vec<MarkupElement>)> {
    let groups = Group::all(results);
    let Some(varied) = varied(&groups) else { return Vec::new() };
    let mut figures = Vec::new();
    for (index, traffic) in traffic_names(results).into_iter().take(TRAFFIC).enumerate() {
        let drawn = Measure::ALL.into_iter().enumerate();
        let drawn = drawn.filter_map(|(number, measure)| {
            figure(&format!("sweep-{index}-{number}"), &groups, &varied, traffic, measure)
        });
        figures.push((traffic.name.clone(), drawn.collect()));
    }
    figures
}

/// Parameter on the axis to the right: the one with the most values.
struct Varied {
    path: String,
    /// As they are written, in their order.
    values: Vec<String>,
    /// The same as numbers, where all of them are numbers that rise.
    numbers: Option<Vec<f64>>,
}

fn varied(groups: &[Group<'_>]) -> Option<Varied> {
    let first = groups.first()?;
    let values = |at: usize| {
        let mut values: Vec<String> = Vec::new();
        for group in groups {
            let value = &group.parameters[at].value;
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        values
    };
    let all: Vec<Vec<String>> = (0..first.parameters.len()).map(values).collect();
    // Of two with as many values, the first.
    let at = (0..all.len()).rev().max_by_key(|&at| all[at].len()).filter(|&at| all[at].len() > 1)?;
    let numbers: Option<Vec<f64>> = all[at].iter().map(|value| value.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.windows(2).all(|pair| pair[0] < pair[1]));
    Some(Varied { path: first.parameters[at].path.clone(), values: all[at].clone(), numbers })
}

impl Varied {
    fn place(&self, group: &Group<'_>) -> Option<f64> {
        let value = &group.parameters.iter().find(|parameter| parameter.path == self.path)?.value;
        let at = self.values.iter().position(|known| known == value)?;
        Some(self.numbers.as_ref().map_or(at as f64, |numbers| numbers[at]))
    }

    /// The axis, with a mark for every value.
    fn axis(&self) -> (Axis, Vec<String>) {
        let places: Vec<f64> =
            self.numbers.clone().unwrap_or_else(|| (0..self.values.len()).map(|at| at as f64).collect());
        let (low, high) = (places.first().copied().unwrap_or(0.0), places.last().copied().unwrap_or(1.0));
        (Axis::exactly(low, high, places), self.values.clone())
    }
}

/// Returns the other parameters, as the name of a line.
fn name_of(parameters: &[SweepParameter], varied: &Varied) -> String {
    let others = parameters.iter().filter(|parameter| parameter.path != varied.path);
    let named: Vec<String> =
        others.map(|parameter| format!("{} = {}", last_step(&parameter.path), parameter.value)).collect();
    if named.is_empty() { "mean of the seeds, and their spread".to_owned() } else { named.join(", ") }
}

/// Returns the last step of a path, which serves as its name.
pub fn last_step(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn figure(
    id: &str,
    groups: &[Group<'_>],
    varied: &Varied,
    traffic: &TrafficResult,
    measure: Measure,
) -> Option<MarkupElement> {
    let mut lines: Vec<PlotLine> = Vec::new();
    for group in groups {
        let Some((place, spread)) = varied.place(group).zip(group.spread(&traffic.name, measure)) else { continue };
        let dot = Dot { x: place, y: spread.mean, spread: Some((spread.lowest, spread.highest)), interval: None };
        let name = name_of(group.parameters, varied);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(dot),
            None => lines.push(PlotLine { name, points: vec![dot] }),
        }
    }
    let highest = lines.iter().flat_map(|line| &line.points).filter_map(|dot| dot.spread).map(|spread| spread.1);
    let highest = highest.reduce(f64::max).filter(|&highest| highest > 0.0)?;
    lines.iter_mut().for_each(|line| line.points.sort_by(|one, other| one.x.total_cmp(&other.x)));
    let (x, x_marks) = varied.axis();
    let y = Axis::linear(highest);
    let describe = |line: &PlotLine| {
        let values: Vec<String> = line.points.iter().map(|dot| measure.show(dot.y)).collect();
        format!("{}: {}.", line.name, values.join(", "))
    };
    let plot = Plot {
        description: lines.iter().map(describe).collect::<Vec<_>>().join(" "),
        x_marks,
        x_name: varied.path.clone(),
        y_marks: y.marks.iter().map(|&mark| measure.show(mark)).collect(),
        ..Plot::new(id, sentence(measure.name(traffic)), (x, y), Join::Dots, lines)
    };
    Some(plot.draw())
}

fn sentence(text: &str) -> String {
    if text.starts_with("p99") { text.to_owned() } else { crate::numbers::sentence(text) }
}

/// Returns the number of lines that no figure shows.
pub fn lines_left_out(results: &[RunResult]) -> usize {
    let groups = Group::all(results);
    let Some(varied) = varied(&groups) else { return 0 };
    let mut names: Vec<String> = groups.iter().map(|group| name_of(group.parameters, &varied)).collect();
    names.sort_unstable();
    names.dedup();
    names.len().saturating_sub(MAX_LINES)
}

/// Over the seeds: each traffic for each choice of parameters.
pub fn choices(results: &[RunResult]) -> MarkupElement {
    let groups = Group::all(results);
    let traffic = traffic_names(results);
    let paths: Vec<&str> = results
        .first()
        .map_or_else(Vec::new, |run| run.parameters.iter().map(|parameter| parameter.path.as_str()).collect());
    let mut heads: Vec<(&str, _)> = paths.iter().map(|path| (last_step(path), Text)).collect();
    heads.extend([("traffic", Text), ("seeds", Number)]);
    for head in ["mean time", "p99 time", "lowest to highest", "p99 slowdown", "goodput", "lost"] {
        heads.push((head, Number));
    }
    let row = |group: &Group<'_>, known: &TrafficResult| {
        let spread = |measure: Measure| group.spread(&known.name, measure);
        let mean =
            |measure: Measure| spread(measure).map_or_else(|| "-".to_owned(), |spread| measure.show(spread.mean));
        let mut row: Vec<String> = group.parameters.iter().map(|parameter| parameter.value.clone()).collect();
        row.extend([known.name.clone(), group.runs.len().to_string()]);
        row.extend([mean(Measure::MeanTime), mean(Measure::TailTime)]);
        row.push(spread(Measure::TailTime).map_or_else(|| "-".to_owned(), |spread| ends(Measure::TailTime, spread)));
        row.extend([mean(Measure::TailSlowdown), mean(Measure::Goodput), mean(Measure::Lost)]);
        row
    };
    let rows = groups.iter().flat_map(|group| traffic.iter().map(|known| row(group, known)));
    let caption = "Means over the seeds. Times are those of flows where flows come to an end, otherwise of packets.";
    boxed("By parameters", table(caption, &[], &heads, rows))
}

/// Every run.
pub fn runs(results: &[RunResult]) -> MarkupElement {
    let traffic = traffic_names(results);
    let paths: Vec<&str> = results
        .first()
        .map_or_else(Vec::new, |run| run.parameters.iter().map(|parameter| parameter.path.as_str()).collect());
    let mut heads: Vec<(&str, _)> = paths.iter().map(|path| (last_step(path), Text)).collect();
    heads.extend([("seed", Number), ("traffic", Text)]);
    for head in ["mean time", "p99 time", "p99 slowdown", "goodput", "lost"] {
        heads.push((head, Number));
    }
    heads.push(("ended", Text));
    let row = |run: &RunResult, known: &TrafficResult| {
        let of = run.traffic.iter().find(|traffic| traffic.name == known.name);
        let mut row: Vec<String> = run.parameters.iter().map(|parameter| parameter.value.clone()).collect();
        row.extend([run.seed.to_string(), known.name.clone()]);
        row.extend([Measure::MeanTime, Measure::TailTime, Measure::TailSlowdown, Measure::Goodput, Measure::Lost].map(
            |measure| {
                of.and_then(|traffic| measure.of(traffic)).map_or_else(|| "-".to_owned(), |value| measure.show(value))
            },
        ));
        let ended = match run.ending {
            ReportedEnd::Complete => "complete",
            ReportedEnd::Stopped => "stopped",
            ReportedEnd::TooManyFlows => "too many flows",
        };
        row.push(ended.to_owned());
        row
    };
    let rows = results.iter().flat_map(|run| traffic.iter().map(|known| row(run, known)));
    let table = table("Every run; a column's head sorts by it", &[], &heads, rows);
    boxed("Every run", table.class("sortable"))
}
