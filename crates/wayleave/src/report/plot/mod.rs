//! Lines and points over two axes: what the figures of `wayleave sim` and of `wayleave reproduce` are made of.
//!
//! | module | what |
//! |---|---|
//! | [`axis`] | scales with round numbers on them, linear and logarithmic |
//! | [`bars`] | a bar for each name |

pub(crate) mod axis;
pub(crate) mod bars;
mod draw;
mod frame;

use axis::Axis;

use crate::report::markup::Element;

/// A figure's usual width; narrow enough to be read on a phone, where it is scaled down a little.
pub(crate) const WIDTH: f64 = 460.0;
/// The height of the area between the axes.
const HEIGHT: f64 = 210.0;
/// A line of the legend.
const LEGEND: f64 = 18.0;
/// The line with the name of the axis upwards, where it has one.
const Y_NAME: f64 = 26.0;
/// How many lines can be told apart: as many as the stylesheet has.
pub(crate) const MOST_LINES: usize = 8;
/// The width of one character of a label, at most, for labels that have to be cut.
const CHARACTER: f64 = 6.6;

/// How a line goes from point to point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    /// Along the axes, as distributions do.
    Steps,
    /// Straight.
    Straight,
    /// Straight, with a mark on every point.
    Dots,
    /// Not at all: a mark on every point.
    Marks,
    /// Not at all: marks side by side at every place, which is a whole number from 0.
    Apart,
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
    /// Where the true value is likely to be.
    pub(crate) interval: Option<(f64, f64)>,
}

impl Dot {
    /// Without spread.
    pub(crate) fn at(x: f64, y: f64) -> Self {
        Self { x, y, spread: None, interval: None }
    }
}

/// A range of the axis upwards that is marked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    /// Its lower end.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
    /// What it is.
    pub(crate) label: String,
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
    /// What `y` is; empty where the title says it.
    pub(crate) y_name: String,
    /// Behind the lines.
    pub(crate) bands: Vec<Band>,
    /// How wide it is.
    pub(crate) width: f64,
    /// How the lines go.
    pub(crate) join: Join,
    /// [`MOST_LINES`] at most are drawn.
    pub(crate) lines: Vec<Line>,
    /// The colour, dashes and mark of each line, by number; empty: as they come.
    pub(crate) styles: Vec<usize>,
}

impl Plot {
    /// The style of a line.
    fn style(&self, index: usize) -> usize {
        self.styles.get(index).copied().unwrap_or(index) % MOST_LINES
    }

    /// How high it is.
    pub(crate) fn height(&self) -> f64 {
        self.top() + HEIGHT + 46.0
    }

    /// Where the area between the axes begins.
    fn top(&self) -> f64 {
        let named = if self.y_name.is_empty() { 0.0 } else { Y_NAME };
        36.0 + LEGEND * (self.drawn().len() + self.bands.len()) as f64 + named
    }

    fn drawn(&self) -> &[Line] {
        &self.lines[..self.lines.len().min(MOST_LINES)]
    }
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
