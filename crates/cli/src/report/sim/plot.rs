//! Lines over two axes, and bars: what the figures of the report are made of.

use super::axis::Axis;
use crate::report::markup::Element;
use crate::report::scale::Share;
use crate::report::svg::{self, Anchor, Area, Ground, Point, number};

/// A figure's width; narrow enough to be read on a phone, where it is scaled down a little.
const WIDTH: f64 = 460.0;
/// The height of the area between the axes.
const HEIGHT: f64 = 210.0;
/// Where that area begins and ends, from left to right.
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 16.0;
/// A line of the legend.
const LEGEND: f64 = 18.0;
/// How many lines can be told apart: as many as the stylesheet has.
pub(crate) const MOST_LINES: usize = 6;
/// The width of one character of a label, at most, for labels that have to be cut.
const CHARACTER: f64 = 6.6;

/// How a line goes from point to point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// Along the axes, as distributions do.
    Steps,
    /// Straight.
    Straight,
    /// Straight, with a dot on every point.
    Dots,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// In the legend.
    pub(crate) name: String,
    /// From left to right.
    pub(crate) points: Vec<Dot>,
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dot {
    /// To the right.
    pub(crate) x: f64,
    /// Upwards.
    pub(crate) y: f64,
    /// From where to where values spread around it.
    pub(crate) spread: Option<(f64, f64)>,
}

impl Dot {
    /// Without spread.
    pub(crate) fn at(x: f64, y: f64) -> Self {
        Self { x, y, spread: None }
    }
}

/// A figure of lines.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    /// Unique on its page.
    pub(crate) id: String,
    /// Above it.
    pub(crate) title: String,
    /// For those who cannot see it.
    pub(crate) description: String,
    /// To the right.
    pub(crate) x: Axis,
    /// The text of each mark of `x`.
    pub(crate) x_marks: Vec<String>,
    /// What `x` is.
    pub(crate) x_name: String,
    /// Upwards.
    pub(crate) y: Axis,
    /// The text of each mark of `y`.
    pub(crate) y_marks: Vec<String>,
    /// How the lines go.
    pub(crate) join: Join,
    /// [`MOST_LINES`] at most are drawn.
    pub(crate) lines: Vec<Line>,
}

impl Plot {
    /// The figure.
    pub(crate) fn draw(&self) -> Element {
        let lines = &self.lines[..self.lines.len().min(MOST_LINES)];
        let top = 36.0 + LEGEND * lines.len() as f64;
        let height = top + HEIGHT + 46.0;
        let frame = Frame { top, plot: self };
        let mut parts = vec![svg::text(Point { x: 0.0, y: 16.0 }, Anchor::Start, "head", &self.title)];
        parts.extend(lines.iter().enumerate().flat_map(|(index, line)| legend(index, &line.name)));
        parts.extend(frame.grid());
        parts.extend(lines.iter().enumerate().flat_map(|(index, line)| frame.line(index, line)));
        svg::figure(&self.id, (WIDTH, height), Ground::Page, &self.title, &self.description).children(parts)
    }
}

fn legend(index: usize, name: &str) -> Vec<Element> {
    let y = 36.0 + LEGEND * index as f64;
    let most = ((WIDTH - 40.0) / CHARACTER) as usize;
    vec![
        path(&format!("M0 {} H28", number(y - 4.0)), &format!("line s{index}")),
        svg::text(Point { x: 36.0, y }, Anchor::Start, "", shortened(name, most)),
    ]
}

fn path(d: &str, class: &str) -> Element {
    Element::new("path").class(class).with("d", d)
}

/// A text of so many characters at most.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((end, _)) if text.chars().nth(most).is_some() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Where values are in a figure.
struct Frame<'a> {
    top: f64,
    plot: &'a Plot,
}

impl Frame<'_> {
    fn x(&self, value: f64) -> f64 {
        LEFT + self.plot.x.share(value) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        self.top + (1.0 - self.plot.y.share(value)) * HEIGHT
    }

    /// Rules with their values, and what the axis to the right is.
    fn grid(&self) -> Vec<Element> {
        let bottom = self.top + HEIGHT;
        let mut parts = Vec::new();
        for (&mark, text) in self.plot.y.marks.iter().zip(&self.plot.y_marks) {
            let y = self.y(mark);
            parts.push(svg::line(Point { x: LEFT, y }, Point { x: RIGHT, y }, 1.0, "rule"));
            parts.push(svg::text(Point { x: LEFT - 8.0, y: y + 4.0 }, Anchor::End, "quiet", text));
        }
        for (&mark, text) in self.plot.x.marks.iter().zip(&self.plot.x_marks) {
            let x = self.x(mark);
            parts.push(svg::line(Point { x, y: self.top }, Point { x, y: bottom + 4.0 }, 1.0, "rule"));
            let width = (RIGHT - LEFT) / self.plot.x_marks.len().max(1) as f64;
            let text = shortened(text, (width / CHARACTER).max(4.0) as usize);
            // The last one would stand out of the figure.
            let (at, anchor) = if x > RIGHT - 12.0 { (WIDTH, Anchor::End) } else { (x, Anchor::Middle) };
            parts.push(svg::text(Point { x: at, y: bottom + 18.0 }, anchor, "quiet", text));
        }
        let middle = Point { x: (LEFT + RIGHT) / 2.0, y: bottom + 38.0 };
        parts.push(svg::text(middle, Anchor::Middle, "quiet", &self.plot.x_name));
        parts
    }

    fn line(&self, index: usize, line: &Line) -> Vec<Element> {
        let mut d = String::new();
        for (position, dot) in line.points.iter().enumerate() {
            let (x, y) = (number(self.x(dot.x)), number(self.y(dot.y)));
            d += &match (position, self.plot.join) {
                (0, Join::Steps) => format!("M{x} {} V{y}", number(self.top + HEIGHT)),
                (0, _) => format!("M{x} {y}"),
                (_, Join::Steps) => format!(" H{x} V{y}"),
                (_, _) => format!(" L{x} {y}"),
            };
        }
        let mut parts = vec![path(&d, &format!("line s{index}"))];
        if self.plot.join == Join::Dots {
            parts.extend(line.points.iter().flat_map(|dot| self.dot(index, dot)));
        }
        parts
    }

    /// A dot, and the bar of its spread.
    fn dot(&self, index: usize, dot: &Dot) -> Vec<Element> {
        let (x, y) = (self.x(dot.x), self.y(dot.y));
        let circle = Element::new("circle").class(&format!("s{index}")).with("cx", number(x)).with("cy", number(y));
        let mut parts = vec![circle.with("r", 3.5)];
        if let Some((low, high)) = dot.spread.filter(|(low, high)| high > low) {
            let (low, high) = (number(self.y(low)), number(self.y(high)));
            let (left, right) = (number(x - 4.0), number(x + 4.0));
            let d = format!("M{x} {low} V{high} M{left} {low} H{right} M{left} {high} H{right}", x = number(x));
            parts.push(path(&d, &format!("spread s{index}")));
        }
        parts
    }
}

/// A bar for each name, with its share and the text of it.
pub(crate) fn bars(id: &str, title: &str, description: &str, rows: &[(String, Share, String)]) -> Element {
    const ROW: f64 = 24.0;
    const BAR: f64 = 12.0;
    const NAME: f64 = 190.0;
    const VALUE: f64 = 64.0;
    let full = WIDTH - NAME - VALUE;
    let mut parts = vec![svg::text(Point { x: 0.0, y: 16.0 }, Anchor::Start, "head", title)];
    for (index, (name, share, text)) in rows.iter().enumerate() {
        let y = 34.0 + index as f64 * ROW;
        let area = |width| Area { at: Point { x: NAME, y }, width, height: BAR };
        let baseline = y + BAR - 2.0;
        let name = shortened(name, ((NAME - 8.0) / CHARACTER) as usize);
        parts.push(svg::text(Point { x: 0.0, y: baseline }, Anchor::Start, "", name));
        parts.push(svg::rect(area(full), "pipe"));
        parts.push(svg::rect(area(share.length(full)), "step2"));
        parts.push(svg::text(Point { x: WIDTH, y: baseline }, Anchor::End, "", text));
    }
    let height = 34.0 + rows.len() as f64 * ROW + 4.0;
    svg::figure(id, (WIDTH, height), Ground::Page, title, description).children(parts)
}
