//! Lines and points over two axes: what the figures of `wayleave sim` and of `wayleave reproduce` are made of.
//!
//! | module | what |
//! |---|---|
//! | [`axis`] | scales with round numbers on them, linear and logarithmic |
//! | [`bars`] | a bar for each name |

pub mod axis;
pub mod bars;
mod draw;
mod frame;
mod panels;

use axis::Axis;

use crate::markup::MarkupElement;
use crate::svg::Position;

/// A figure's usual width; narrow enough to be read on a phone, where it is scaled down a little.
pub const WIDTH: f64 = 460.0;
/// The height of the area between the axes, and that of a panel.
const HEIGHT: f64 = 210.0;
const PANEL_HEIGHT: f64 = 64.0;
/// The line with the title of a panel.
const PANEL_TITLE: f64 = 32.0;
/// The space below a panel, for its marks.
const PANEL_BELOW: f64 = 34.0;
/// A line of the legend.
const LEGEND: f64 = 18.0;
/// The line with the name of the axis upwards, where it has one.
const Y_NAME: f64 = 26.0;
/// Number of colours, dashes and marks in the stylesheet.
pub const STYLES: usize = 8;
/// Maximum number of distinct lines: each style once as it is, and once thin with hollow marks.
pub const MAX_LINES: usize = 2 * STYLES;
/// A line of the title.
const TITLE: f64 = 20.0;
/// The mean width of one of its characters, generously.
const TITLE_CHARACTER: f64 = 9.8;
/// A line of the marks to the right.
const MARK: f64 = 15.0;
/// The space between a mark and the next one, in characters.
const BETWEEN: usize = 1;
/// Maximum number of legend entries in one column; longer legends have two columns if they fit.
const HIGHEST_LEGEND: usize = 6;
/// Left edge of the area between the axes (`LEFT`), and its distance from the right edge (`RIGHT`).
const LEFT: f64 = 74.0;
const RIGHT: f64 = 16.0;
/// Width of the sample before a name in a legend.
const LEGEND_SAMPLE: f64 = 40.0;
/// The width of one character of a label, at most, for labels that have to be cut.
const CHARACTER: f64 = 6.6;

/// Form of a line between its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
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
pub struct PlotLine {
    /// In the legend.
    pub name: String,
    /// From left to right.
    pub points: Vec<Dot>,
}

/// One point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// From where to where values spread around it.
    pub spread: Option<(f64, f64)>,
    /// Interval that is likely to contain the true value.
    pub interval: Option<(f64, f64)>,
}

impl Dot {
    /// Without spread.
    pub fn at(x: f64, y: f64) -> Self {
        Self { x, y, spread: None, interval: None }
    }
}

/// A range of the axis upwards that is marked.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Text in the legend.
    pub label: String,
}

/// Size of a figure of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlotSize {
    /// With a legend and the names of its axes.
    #[default]
    Full,
    /// One of several small ones with the same axes: its title names its line.
    Panel,
}

/// A figure of lines.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Unique on its page.
    pub id: String,
    /// Above it.
    pub title: String,
    /// Text description, for accessibility.
    pub description: String,
    /// To the right.
    pub x: Axis,
    /// The text of each mark of `x`.
    pub x_marks: Vec<String>,
    /// Name of the `x` axis.
    pub x_name: String,
    /// Upwards.
    pub y: Axis,
    /// The text of each mark of `y`.
    pub y_marks: Vec<String>,
    /// Name of the `y` axis; empty if the title contains it.
    pub y_name: String,
    /// Behind the lines.
    pub bands: Vec<Band>,
    /// Width of the figure.
    pub width: f64,
    /// Form of the lines.
    pub join: Join,
    /// [`MAX_LINES`] at most are drawn.
    pub lines: Vec<PlotLine>,
    /// The colour, dashes and mark of each line, by number; empty: as they come.
    pub styles: Vec<usize>,
    /// Size.
    pub size: PlotSize,
    /// End of a range to the right that does not count, from the left end: it is shaded as warm-up. 0 for none.
    pub uncounted: f64,
}

impl Plot {
    /// Creates a figure of the usual width without description, texts of axes and bands. Everything in it counts.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        (x, y): (Axis, Axis),
        join: Join,
        lines: Vec<PlotLine>,
    ) -> Self {
        let (id, title, description) = (id.into(), title.into(), String::new());
        let (x_marks, x_name, y_marks, y_name) = (Vec::new(), String::new(), Vec::new(), String::new());
        let (width, size, uncounted) = (WIDTH, PlotSize::Full, 0.0);
        let (bands, styles) = (Vec::new(), Vec::new());
        Self {
            id,
            title,
            description,
            x,
            x_marks,
            x_name,
            y,
            y_marks,
            y_name,
            bands,
            width,
            join,
            lines,
            styles,
            size,
            uncounted,
        }
    }

    /// The style of a line.
    fn style(&self, index: usize) -> Style {
        let number = self.styles.get(index).copied().unwrap_or(index);
        Style { look: number % STYLES, is_second: number % MAX_LINES >= STYLES }
    }

    /// Returns the height of the figure.
    pub fn height(&self) -> f64 {
        if self.size == PlotSize::Panel {
            return PANEL_TITLE + PANEL_HEIGHT + PANEL_BELOW;
        }
        let lines = self.x_texts().iter().map(Vec::len).max().unwrap_or(1);
        self.top() + self.area() + 46.0 + MARK * lines.saturating_sub(1) as f64
    }

    /// Returns the height of the area between the axes.
    fn area(&self) -> f64 {
        match self.size {
            PlotSize::Full => HEIGHT,
            PlotSize::Panel => PANEL_HEIGHT,
        }
    }

    /// The title, line by line.
    fn titles(&self) -> Vec<String> {
        if self.size == PlotSize::Panel {
            return vec![shortened(&self.title, (self.width / CHARACTER) as usize)];
        }
        in_lines(&self.title, ' ', (self.width / TITLE_CHARACTER) as usize)
    }

    /// Returns the top of the legend.
    fn legend_top(&self) -> f64 {
        36.0 + TITLE * (self.titles().len() - 1) as f64
    }

    /// Returns the position of a legend entry: in one column, or in two if there are many short entries.
    fn legend_at(&self, index: usize) -> Position {
        let rows = self.legend_rows();
        let column = (index / rows) as f64;
        Position { x: column * self.width / 2.0, y: self.legend_top() + LEGEND * (index % rows) as f64 }
    }

    fn legend_rows(&self) -> usize {
        let lines = self.drawn().iter().map(|line| &line.name);
        let names: Vec<&String> = lines.chain(self.bands.iter().map(|band| &band.label)).collect();
        let room = (self.width / 2.0 - LEGEND_SAMPLE) / CHARACTER;
        let fits = names.iter().all(|name| name.chars().count() as f64 <= room);
        let columns = if names.len() > HIGHEST_LEGEND && fits { 2 } else { 1 };
        names.len().div_ceil(columns).max(1)
    }

    /// Returns the top of the area between the axes.
    fn top(&self) -> f64 {
        if self.size == PlotSize::Panel {
            return PANEL_TITLE;
        }
        let named = if self.y_name.is_empty() { 0.0 } else { Y_NAME };
        let rows = if self.drawn().is_empty() && self.bands.is_empty() { 0 } else { self.legend_rows() };
        self.legend_top() + LEGEND * rows as f64 + named
    }

    /// The texts of the marks to the right, line by line.
    fn x_texts(&self) -> Vec<Vec<String>> {
        let most = (self.place() / CHARACTER).max(4.0) as usize;
        let text = |text: &String| {
            let lines = in_lines(text, '+', most.saturating_sub(BETWEEN));
            lines.iter().map(|line| shortened(line, most)).collect()
        };
        self.x_marks.iter().map(text).collect()
    }

    /// The width of a mark of the axis to the right.
    fn place(&self) -> f64 {
        (self.width - LEFT - RIGHT) / self.x_marks.len().max(1) as f64
    }

    fn drawn(&self) -> &[PlotLine] {
        &self.lines[..self.lines.len().min(MAX_LINES)]
    }
}

/// Appearance of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Style {
    /// The number of its colour, dashes and mark.
    look: usize,
    /// `true` if another line has the same style: this one is thin, with hollow marks.
    is_second: bool,
}

impl Style {
    /// The classes of something that is drawn so.
    fn class(self, what: &str) -> String {
        format!("{what} s{}{}", self.look, if self.is_second { " second" } else { "" })
    }
}

/// Breaks a text into lines of at most `most` characters: between words, after the character `behind`, and before the
/// capitals of a word that is too long.
fn in_lines(text: &str, behind: char, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let pieces = text.split_inclusive([' ', behind]).flat_map(|piece| {
        let fits = piece.trim_end().chars().count() <= most;
        let capital = |&(at, letter): &(usize, char)| at > 0 && letter.is_uppercase();
        let at = piece.char_indices().find(capital).map_or(piece.len(), |(at, _)| at);
        let (first, rest) = piece.split_at(if fits { piece.len() } else { at });
        [first, rest].into_iter().filter(|part| !part.is_empty())
    });
    for piece in pieces {
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() || line.chars().count() + piece.trim_end().chars().count() <= most {
            line.push_str(piece);
        } else {
            lines.push(piece.to_owned());
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

fn path(d: &str, class: &str) -> MarkupElement {
    MarkupElement::new("path").class(class).with("d", d)
}

/// Cuts a text to at most `most` characters.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most.saturating_sub(1)) {
        Some((end, _)) if text.chars().nth(most).is_some() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::number;

    pub(super) fn plot(title: &str, lines: usize, marks: &[&str]) -> Plot {
        let line =
            |at: usize| PlotLine { name: format!("line {at}"), points: vec![Dot::at(0.0, 1.0), Dot::at(1.0, 2.0)] };
        let places: Vec<f64> = (0..marks.len()).map(|at| at as f64).collect();
        Plot {
            x_marks: marks.iter().map(|&mark| mark.to_owned()).collect(),
            ..Plot::new(
                "p",
                title,
                (Axis::exactly(-0.5, marks.len() as f64 - 0.5, places), Axis::linear(2.0)),
                Join::Dots,
                (0..lines).map(line).collect(),
            )
        }
    }

    fn drawn(plot: &Plot) -> String {
        plot.draw().to_string()
    }

    #[test]
    fn a_long_title_is_wrapped_to_the_width_of_the_figure() {
        let title = "What tenants get under PicNIC'+WCC+Clove, gap 200 us, first seed";
        let plots = [plot("Short", 1, &["a"]), plot(title, 1, &["a"])];
        assert_eq!(plots[1].titles().join(" "), title);
        assert!(plots[1].titles().iter().all(|line| line.len() as f64 * TITLE_CHARACTER <= WIDTH));
        assert_eq!(plots[1].height() - plots[0].height(), TITLE);
    }

    /// Twelve tenants are twelve lines, no two alike: beyond the eighth they are thin, with hollow marks.
    #[test]
    fn lines_beyond_the_styles_are_drawn_and_differ_from_the_first() {
        let svg = drawn(&plot("t", 12, &["a"]));
        for at in 0..12 {
            assert!(svg.contains(&format!("line {at}<")), "{at}");
        }
        assert!(svg.contains("\"line s3\"") && svg.contains("\"line s3 second\""));
        assert!(svg.contains("\"mark s3 second\"") && !svg.contains("s4 second"));
    }

    #[test]
    fn a_line_is_interrupted_where_a_value_is_missing() {
        let mut plot = plot("t", 1, &["a", "b", "c", "d", "e"]);
        plot.join = Join::Straight;
        let d = |plot: &Plot| {
            drawn(plot)
                .split(" d=\"")
                .skip(2)
                .map(|part| part.split('"').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        plot.lines[0].points =
            [1.0, 2.0, f64::NAN, 1.0, 2.0].iter().zip(0..).map(|(&y, x)| Dot::at(f64::from(x), y)).collect();
        let line = d(&plot).concat();
        assert_eq!(line.matches('M').count(), 2, "{line}");
        assert!(!line.contains("NaN"), "{line}");
    }

    #[test]
    fn a_warm_up_is_shaded_and_named() {
        let mut plot = plot("t", 1, &["a", "b"]);
        assert!(!drawn(&plot).contains("warm-up"));
        plot.uncounted = 0.9;
        assert!(drawn(&plot).contains("warm-up") && drawn(&plot).contains("class=\"band\""));
    }

    #[test]
    fn a_legend_of_many_short_names_has_two_columns() {
        let (six, seven) = (plot("t", 6, &["a"]), plot("t", 7, &["a"]));
        assert_eq!((six.legend_rows(), seven.legend_rows()), (6, 4));
        let at = seven.legend_at(4);
        assert_eq!((number(at.x), at.y), (number(WIDTH / 2.0), seven.legend_at(0).y));
    }

    #[test]
    fn names_below_the_axis_are_wrapped_before_they_are_cut() {
        let marks =
            ["without MongoDB", "PicNIC'+WCC+Clove", "uFAB", "a", "ElasticSwitch+Clove", "unbreakable-as-it-is"];
        let plot = plot("t", 1, &marks);
        let texts = plot.x_texts();
        assert_eq!(texts[0], ["without", "MongoDB"]);
        assert_eq!(texts[1].concat(), marks[1]);
        assert_eq!(texts[2], ["uFAB"]);
        assert_eq!(texts[4], ["Elastic", "Switch+", "Clove"]);
        assert!(texts[5][0].ends_with('…'));
    }
}
