//! The area between the axes: positions of values, and the shapes drawn there.

use super::{Dot, Join, LEFT, MARK, Plot, PlotLine, RIGHT, Style, path};
use crate::markup::MarkupElement;
use crate::svg::{self, Anchor, Area, Position, number};

/// Width from which on a shaded range has its name in it.
const MIN_NAMED: f64 = 46.0;
/// Maximum distance of marks drawn side by side.
const MAX_APART: f64 = 16.0;

/// Area of a plot, which maps values to positions.
pub(super) struct Frame<'a> {
    pub top: f64,
    pub plot: &'a Plot,
    /// Number of drawn lines.
    pub lines: usize,
}

impl Frame<'_> {
    fn right(&self) -> f64 {
        self.plot.width - RIGHT
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.plot.x.share(value) * (self.right() - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + (1.0 - self.plot.y.share(value)) * self.plot.area()
    }

    /// Ranges, behind everything else.
    pub(super) fn bands(&self) -> Vec<MarkupElement> {
        let band = |band: &super::Band| {
            let (low, high) = (self.y(band.low), self.y(band.high));
            svg::rect(
                Area { at: Position { x: LEFT, y: high }, width: self.right() - LEFT, height: low - high },
                "band",
            )
        };
        self.plot.bands.iter().map(band).collect()
    }

    /// Returns the shaded range that does not count, with its name where there is room.
    pub(super) fn uncounted(&self) -> Vec<MarkupElement> {
        let width = self.x(self.plot.uncounted) - LEFT;
        if self.plot.uncounted <= 0.0 || width <= 0.0 {
            return Vec::new();
        }
        let area = Area { at: Position { x: LEFT, y: self.top }, width, height: self.plot.area() };
        let name = svg::text(Position { x: LEFT + 4.0, y: self.top + 12.0 }, Anchor::Start, "quiet label", "warm-up");
        let is_wide = width >= MIN_NAMED;
        [Some(svg::rect(area, "band")), is_wide.then_some(name)].into_iter().flatten().collect()
    }

    /// Returns the rules with their values, and the name of the axis to the right.
    pub(super) fn grid(&self) -> Vec<MarkupElement> {
        let bottom = self.top + self.plot.area();
        let (left, right) = (LEFT, self.right());
        let mut parts = Vec::new();
        for (&mark, text) in self.plot.y.marks.iter().zip(&self.plot.y_marks) {
            let y = self.y(mark);
            parts.push(svg::line(Position { x: left, y }, Position { x: right, y }, 1.0, "rule"));
            parts.push(svg::text(Position { x: left - 8.0, y: y + 4.0 }, Anchor::End, "quiet", text));
        }
        let texts = self.plot.x_texts();
        for (&mark, lines) in self.plot.x.marks.iter().zip(&texts) {
            let x = self.x(mark);
            // The rule separates marks drawn side by side from those at the next place.
            let rule = if self.plot.join == Join::Apart { x + self.plot.place() / 2.0 } else { x };
            parts.push(svg::line(
                Position { x: rule, y: self.top },
                Position { x: rule, y: bottom + 4.0 },
                1.0,
                "rule",
            ));
            // A centred last text would exceed the figure.
            let (at, anchor) = if x > right - 12.0 { (self.plot.width, Anchor::End) } else { (x, Anchor::Middle) };
            for (index, text) in lines.iter().enumerate() {
                let y = bottom + 18.0 + MARK * index as f64;
                parts.push(svg::text(Position { x: at, y }, anchor, "quiet", text));
            }
        }
        let below = MARK * texts.iter().map(Vec::len).max().unwrap_or(1).saturating_sub(1) as f64;
        let middle = Position { x: f64::midpoint(left, right), y: bottom + 38.0 + below };
        if !self.plot.x_name.is_empty() {
            parts.push(svg::text(middle, Anchor::Middle, "quiet", &self.plot.x_name));
        }
        parts
    }

    pub(super) fn line(&self, index: usize, line: &PlotLine) -> Vec<MarkupElement> {
        let mut parts = Vec::new();
        if !matches!(self.plot.join, Join::Apart | Join::Marks) {
            parts.push(path(&self.path(line), &self.plot.style(index).class("line")));
        }
        if matches!(self.plot.join, Join::Dots | Join::Marks | Join::Apart) {
            let known = line.points.iter().filter(|dot| !dot.y.is_nan());
            parts.extend(known.flat_map(|dot| self.dot(index, dot)));
        }
        parts
    }

    fn path(&self, line: &PlotLine) -> String {
        let mut d = String::new();
        // Values that are not known interrupt the line; one between two such values is a short dash.
        for run in line.points.split(|dot| dot.y.is_nan()).filter(|run| !run.is_empty()) {
            for (position, dot) in run.iter().enumerate() {
                let (x, y) = (number(self.x(dot.x)), number(self.y(dot.y)));
                d += &match (position, self.plot.join) {
                    (0, Join::Steps) => format!("M{x} {} V{y}", number(self.top + self.plot.area())),
                    (0, _) if run.len() == 1 => format!("M{} {y} h4", number(self.x(dot.x) - 2.0)),
                    (0, _) => format!("M{x} {y}"),
                    (_, Join::Steps) => format!(" H{x} V{y}"),
                    (_, _) => format!(" L{x} {y}"),
                };
            }
        }
        d
    }

    /// Returns the offset of a mark from its place, so that it is beside the marks of the other lines.
    fn aside(&self, index: usize) -> f64 {
        if self.plot.join != Join::Apart {
            return 0.0;
        }
        let step = (self.plot.place() * 0.8 / self.lines as f64).min(MAX_APART);
        (index as f64 - (self.lines as f64 - 1.0) / 2.0) * step
    }

    /// A mark, the bar of its spread, and that of its interval.
    fn dot(&self, index: usize, dot: &Dot) -> Vec<MarkupElement> {
        let (x, y) = (self.x(dot.x) + self.aside(index), self.y(dot.y));
        let style = self.plot.style(index);
        let mut parts = Vec::new();
        if let Some((low, high)) = dot.spread.filter(|(low, high)| high > low) {
            let (low, high) = (number(self.y(low)), number(self.y(high)));
            let (left, right) = (number(x - 3.0), number(x + 3.0));
            let d = format!("M{x} {low} V{high} M{left} {low} H{right} M{left} {high} H{right}", x = number(x));
            parts.push(path(&d, &style.class("spread")));
        }
        if let Some((low, high)) = dot.interval.filter(|(low, high)| high > low) {
            let d = format!("M{} {} V{}", number(x), number(self.y(low)), number(self.y(high)));
            parts.push(path(&d, &style.class("interval")));
        }
        parts.push(mark(style, Position { x, y }));
        parts
    }
}

/// Returns the mark of a line: another shape for each, for readers who see no colours.
pub(super) fn mark(style: Style, at: Position) -> MarkupElement {
    let Position { x, y } = at;
    let polygon = |corners: &[(f64, f64)]| {
        let corners = corners.iter().map(|(dx, dy)| format!("{} {}", number(x + dx), number(y + dy)));
        format!("M{} Z", corners.collect::<Vec<_>>().join(" L"))
    };
    let d = match style.look {
        0 => format!("M{} {} a3.8 3.8 0 1 0 7.6 0 a3.8 3.8 0 1 0 -7.6 0 Z", number(x - 3.8), number(y)),
        1 => polygon(&[(-3.4, -3.4), (3.4, -3.4), (3.4, 3.4), (-3.4, 3.4)]),
        2 => polygon(&[(0.0, -4.8), (4.4, 3.2), (-4.4, 3.2)]),
        3 => polygon(&[(0.0, -4.8), (4.8, 0.0), (0.0, 4.8), (-4.8, 0.0)]),
        4 => polygon(&[(0.0, 4.8), (4.4, -3.2), (-4.4, -3.2)]),
        5 => polygon(&[(-4.8, -1.5), (4.8, -1.5), (4.8, 1.5), (-4.8, 1.5)]),
        6 => polygon(&[(-1.5, -4.8), (1.5, -4.8), (1.5, 4.8), (-1.5, 4.8)]),
        _ => polygon(&[(0.0, -4.8), (4.6, -1.5), (2.8, 3.9), (-2.8, 3.9), (-4.6, -1.5)]),
    };
    path(&d, &style.class("mark"))
}
