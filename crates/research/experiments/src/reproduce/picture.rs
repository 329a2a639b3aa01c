//! A figure as one SVG: its panels side by side, its tables, and the settings of its measurement.

use std::collections::{BTreeMap, BTreeSet};

use crate::{AxisValue, Centre, Figure, Form, Panel, Point, Scale};

use super::grid::{self, wrapped};
use super::measured::Measured;
use super::values::{axis_name, centre, mark, places};
use wayleave_report::plot::axis::Axis;
use wayleave_report::plot::{Band, Dot, Join, Plot, PlotLine, PlotSize, WIDTH};
use wayleave_report::svg::{self, Anchor, FigureBackground, Position as At};

/// The space around everything.
const MARGIN: f64 = 24.0;
/// The space between two panels.
const GAP: f64 = 40.0;
/// Height of the title.
const TOP: f64 = 66.0;
/// A line of the caption.
const LINE: f64 = 17.0;
/// The mean width of a character of the caption.
const CHARACTER: f64 = 6.6;
/// A single panel is wider.
const SINGLE: f64 = 760.0;
/// Of a line with more points only the line is drawn: marks and bars would hide it and those below.
const MAX_MARKS: usize = 48;

impl Measured {
    /// Returns the figure with its panels, tables and settings, as the text of an SVG file.
    pub fn picture(&self) -> String {
        draw(self)
    }
}

/// The text of an SVG file.
fn draw(measured: &Measured) -> String {
    let Measured { entry, figure, .. } = measured;
    let panels = &figure.panels;
    let is_single = panels.len() == 1;
    let width = if is_single { SINGLE } else { 2.0 * WIDTH + GAP };
    let mut parts = vec![
        svg::text(At { x: MARGIN, y: 32.0 }, Anchor::Start, "title", entry.title),
        svg::text(
            At { x: MARGIN, y: 52.0 },
            Anchor::Start,
            "quiet",
            format!("{}, {}, measured again by Wayleave", entry.paper.name, entry.place),
        ),
    ];
    let mut top = TOP;
    for row in panels.chunks(2) {
        let plots: Vec<Plot> =
            row.iter().map(|panel| plot(figure, panel, if is_single { SINGLE } else { WIDTH })).collect();
        for (plot, left) in plots.iter().zip([MARGIN, MARGIN + WIDTH + GAP]) {
            parts.push(svg::moved(At { x: left, y: top }, plot.parts()));
        }
        top += plots.iter().map(Plot::height).fold(0.0, f64::max) + 14.0;
    }
    for table in &figure.tables {
        let laid = grid::lay(table, width);
        parts.push(svg::moved(At { x: MARGIN, y: top }, laid.parts));
        top += laid.height + 20.0;
    }
    for line in caption(measured).iter().flat_map(|line| wrapped(line, (width / CHARACTER) as usize)) {
        top += LINE;
        parts.push(svg::text(At { x: MARGIN, y: top }, Anchor::Start, "quiet", line));
    }
    let size = (width + 2.0 * MARGIN, top + MARGIN);
    svg::file(&svg::figure(entry.id, size, FigureBackground::File, entry.title, &description(figure)).children(parts))
}

/// The settings, the notes, and where it comes from.
fn caption(measured: &Measured) -> Vec<String> {
    let figure = &measured.figure;
    let mut lines: Vec<String> = figure.settings.iter().map(|of| format!("{}: {}.", of.name, of.value)).collect();
    lines.extend(figure.notes.iter().cloned());
    match &figure.seeds[..] {
        [] => {}
        [only] => lines.push(format!("Seed {only}.")),
        [first, .., last] => lines.push(format!("Seeds {first} to {last}.")),
    }
    lines.push(format!("{}, input {}: {}", measured.origin.program(), measured.input_hash(), measured.command));
    lines
}

/// Returns a text description of the figure, for accessibility.
fn description(figure: &Figure) -> String {
    let claim_text =
        figure.statements.iter().map(|of| format!("{}: {} ({}).", of.in_full(), of.measured, of.verdict.name()));
    claim_text.collect::<Vec<_>>().join(" ")
}

/// From data to lines.
fn plot(figure: &Figure, panel: &Panel, width: f64) -> Plot {
    let (x, x_marks) = x_axis(panel);
    let y = y_axis(panel);
    let names = places(panel);
    let has_marks = has_marks(panel);
    let styles = styles(figure);
    let dot = |point: &Point| {
        let x = match &point.x {
            AxisValue::Number(value) => *value,
            AxisValue::Name(name) => names.iter().position(|known| known == name).unwrap_or(0) as f64,
        };
        let summary = &point.summary;
        let interval = summary.ci95.filter(|_| panel.centre == Centre::Mean).map(|[low, high]| (low, high));
        let bars = Dot { x, y: centre(panel, point), spread: Some(whisker(panel, point)), interval };
        if has_marks { bars } else { Dot::at(x, bars.y) }
    };
    let is_there = |point: &&Point| centre(panel, point).is_finite();
    let line = |series: &crate::Series| PlotLine {
        name: series.name.clone(),
        points: series.points.iter().filter(is_there).map(dot).collect(),
    };
    let band = |band: &crate::Band| Band { low: band.low, high: band.high, label: band.label.clone() };
    Plot {
        id: panel.name.clone(),
        title: panel.title.clone(),
        description: String::new(),
        x,
        x_marks,
        x_name: axis_name(&panel.x),
        y_marks: y.marks.iter().map(|&of| mark(of)).collect(),
        y,
        y_name: axis_name(&panel.y),
        bands: panel.bands.iter().map(band).collect(),
        width,
        join: match panel.form {
            Form::Apart | Form::Deciles => Join::Apart,
            Form::Scattered => Join::Marks,
            Form::Joined if has_marks => Join::Dots,
            Form::Joined => Join::Straight,
            Form::Steps => Join::Steps,
        },
        lines: panel.series.iter().map(line).collect(),
        size: PlotSize::Full,
        uncounted: 0.0,
        styles: panel.series.iter().map(|series| styles.get(series.name.as_str()).copied().unwrap_or(0)).collect(),
    }
}

/// Returns `true` if points have marks and bars.
fn has_marks(panel: &Panel) -> bool {
    panel.form != Form::Joined || panel.series.iter().all(|series| series.points.len() <= MAX_MARKS)
}

/// From where to where the values of a point spread.
fn whisker(panel: &Panel, point: &Point) -> (f64, f64) {
    let summary = &point.summary;
    if panel.form == Form::Deciles { (summary.p10, summary.p90) } else { (summary.p1, summary.p99) }
}

/// Returns the style of each series: equal in all panels of a figure, and distinct from all other series of these
/// panels.
fn styles(figure: &Figure) -> BTreeMap<&str, usize> {
    let mut styles: BTreeMap<&str, usize> = BTreeMap::new();
    for name in figure.panels.iter().flat_map(|panel| &panel.series).map(|series| series.name.as_str()) {
        if styles.contains_key(name) {
            continue;
        }
        let beside = figure.panels.iter().filter(|panel| panel.series.iter().any(|series| series.name == name));
        let taken: BTreeSet<usize> = beside
            .flat_map(|panel| &panel.series)
            .filter_map(|other| styles.get(other.name.as_str()).copied())
            .collect();
        styles.insert(name, (0..).find(|style| !taken.contains(style)).unwrap_or(0));
    }
    styles
}

fn x_axis(panel: &Panel) -> (Axis, Vec<String>) {
    if panel.x.scale == Scale::Categories {
        let names = places(panel);
        let last = names.len() as f64 - 0.5;
        return (Axis::exactly(-0.5, last, (0..names.len()).map(|at| at as f64).collect()), names);
    }
    let mut values: Vec<f64> = panel
        .series
        .iter()
        .flat_map(|series| &series.points)
        .filter_map(|point| if let AxisValue::Number(value) = point.x { Some(value) } else { None })
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let (low, high) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(1.0));
    let axis = match panel.x.scale {
        Scale::Logarithmic => Axis::logarithmic(low, high),
        // A mark for every value, where they are few.
        _ if values.len() <= 12 => {
            let room = (high - low) * 0.04;
            Axis::exactly(low - room, high + room, values)
        }
        _ => Axis::between(low, high),
    };
    let marks = axis.marks.iter().map(|&of| mark(of)).collect();
    (axis, marks)
}

fn y_axis(panel: &Panel) -> Axis {
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    let points = panel.series.iter().flat_map(|series| &series.points);
    let has_marks = has_marks(panel);
    let ends = points.flat_map(|point| {
        if !has_marks {
            return [centre(panel, point); 5];
        }
        let summary = &point.summary;
        let [from, to] = summary.ci95.filter(|_| panel.centre == Centre::Mean).unwrap_or([f64::NAN; 2]);
        let (low, high) = whisker(panel, point);
        [centre(panel, point), low, high, from, to]
    });
    for value in ends.chain(panel.bands.iter().flat_map(|band| [band.low, band.high])).filter(|value| value.is_finite())
    {
        // Nothing has no place on a logarithmic axis.
        if panel.y.scale != Scale::Logarithmic || value > 0.0 {
            low = low.min(value);
        }
        high = high.max(value);
    }
    match panel.y.scale {
        Scale::Logarithmic => Axis::logarithmic(low, high),
        _ if panel.form == Form::Steps => Axis::linear(high.min(100.0)),
        _ => Axis::linear(if high.is_finite() { high } else { 1.0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(names: &[&str]) -> Panel {
        let series = |name: &&str| crate::Series { name: (*name).to_owned(), points: Vec::new() };
        Panel::new(
            "p",
            String::new(),
            (
                crate::Axis { name: String::new(), unit: String::new(), scale: Scale::Linear },
                crate::Axis { name: String::new(), unit: String::new(), scale: Scale::Linear },
            ),
            Form::Joined,
            names.iter().map(series).collect(),
        )
    }

    /// Tenants in one panel and systems in another begin at the same style; a series in both panels keeps its style.
    #[test]
    fn series_of_a_panel_differ_and_have_equal_styles_in_other_panels() {
        let panels = vec![panel(&["vf1", "vf2", "vf3"]), panel(&["uFAB", "PWC"]), panel(&["PWC", "vf1", "ES"])];
        let figure = Figure { panels, ..Figure::default() };
        let styles = styles(&figure);
        assert_eq!([styles["vf1"], styles["vf2"], styles["vf3"], styles["uFAB"]], [0, 1, 2, 0]);
        for panel in &figure.panels {
            let distinct: BTreeSet<usize> = panel.series.iter().map(|series| styles[series.name.as_str()]).collect();
            assert_eq!(distinct.len(), panel.series.len());
        }
    }
}
