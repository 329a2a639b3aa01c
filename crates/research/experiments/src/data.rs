//! Parts of a figure. They are plain data; printing and drawing are elsewhere.

use serde::{Deserialize, Serialize};

use crate::numbers;
use crate::statement::{Runs, Statement};
use crate::stats::Summary;

/// A figure or table of a paper, measured again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figure {
    /// Statements of the paper's text, compared with the measurements.
    pub statements: Vec<Statement>,
    /// Diagrams.
    pub panels: Vec<Panel>,
    /// Tables with text and numbers.
    pub tables: Vec<Table>,
    /// Settings of the measurement.
    pub settings: Vec<Setting>,
    /// The seed of each run, in the order of the values of every point.
    pub seeds: Vec<u64>,
    /// Remarks that a reader needs to judge it: readings, deviations.
    pub notes: Vec<String>,
}

/// One name with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name of the setting.
    pub name: String,
    /// As people write it, with its unit.
    pub value: String,
}

/// Series over two axes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Panel {
    /// Unique in its figure; part of file names.
    pub name: String,
    /// Above it.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// Connection of points.
    pub form: Form,
    /// Statistic that represents a point's values.
    pub centre: Centre,
    /// `true` if the values are times on a clock: those differ between runs, and with the number of threads.
    pub is_timing: bool,
    /// Ranges of `y` that the text names.
    pub bands: Vec<Band>,
    /// Series that are drawn over each other.
    pub series: Vec<Series>,
}

impl Panel {
    /// Of values that are no times on a clock, drawn by their means, without ranges.
    pub(crate) fn new(
        name: impl Into<String>,
        title: impl Into<String>,
        (x, y): (Axis, Axis),
        form: Form,
        series: Vec<Series>,
    ) -> Self {
        let (name, title, centre) = (name.into(), title.into(), Centre::Mean);
        Self { name, title, x, y, form, centre, is_timing: false, bands: Vec::new(), series }
    }
}

/// One axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Name of the quantity.
    pub name: String,
    /// `us`, `%`, `flows`; empty for categories.
    pub unit: String,
    /// Mapping of values to positions.
    pub scale: Scale,
}

impl Axis {
    /// From zero on, in even steps.
    pub fn linear(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), scale: Scale::Linear }
    }

    /// In even factors.
    pub fn logarithmic(name: &str, unit: &str) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned(), scale: Scale::Logarithmic }
    }

    /// Names side by side.
    pub fn categories(name: &str) -> Self {
        Self { name: name.to_owned(), unit: String::new(), scale: Scale::Categories }
    }
}

/// Mapping of values to positions on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// In even steps.
    Linear,
    /// In even factors.
    Logarithmic,
    /// Names side by side.
    Categories,
}

/// Connection of the points of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Not connected; series are side by side at each place.
    Apart,
    /// Side by side, with whiskers from the 10 % to the 90 % percentile.
    Deciles,
    /// Not connected; each point is drawn at its position.
    Scattered,
    /// By straight lines.
    Joined,
    /// Along the axes, as distributions are.
    Steps,
}

/// Statistic that represents the values of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Centre {
    /// Their mean, with its confidence interval.
    Mean,
    /// Their median.
    Median,
}

/// A range of values that the text names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Its lower end.
    #[serde(deserialize_with = "numbers::one")]
    pub low: f64,
    /// Its upper end.
    #[serde(deserialize_with = "numbers::one")]
    pub high: f64,
    /// The text's statement, in a few words.
    pub label: String,
}

/// One system, or one reading of the paper.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// From left to right.
    pub points: Vec<Point>,
}

/// Measurements at one place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// Place on the axis.
    pub x: AxisValue,
    /// One value for each seed; the mean, where a run has many.
    #[serde(deserialize_with = "numbers::many")]
    pub values: Vec<f64>,
    /// Of everything that was measured there.
    pub summary: Summary,
}

impl Point {
    /// From one value for each seed.
    pub fn of(x: impl Into<AxisValue>, values: Vec<f64>) -> Self {
        let summary = Summary::of_runs(&values);
        Self { x: x.into(), values, summary }
    }

    /// From many samples for each seed: percentiles are those of all samples together, the confidence interval is that
    /// of the means of the runs.
    pub fn pooled(x: impl Into<AxisValue>, runs: &[Vec<f64>]) -> Self {
        let (values, summary) = Summary::pooled(runs);
        Self { x: x.into(), values, summary }
    }
}

/// A place on the axis to the right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisValue {
    /// One of several names.
    Name(String),
    /// A number.
    Number(f64),
}

impl From<f64> for AxisValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for AxisValue {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<&str> for AxisValue {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

/// Rows of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Unique in its figure; part of file names.
    pub name: String,
    /// Above it.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// As many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Figure {
    /// Returns the figure with the number of its runs, and of those that are needed, at each statement.
    #[must_use]
    pub(crate) fn counted(mut self, needed: usize) -> Self {
        let runs = (needed > 0).then_some(Runs { made: self.seeds.len(), needed });
        self.statements = self.statements.into_iter().map(|statement| statement.with_runs(runs)).collect();
        self
    }

    /// Adds a setting, or replaces the one of this name.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.settings.retain(|setting| setting.name != name);
        self.settings.push(Setting { name: name.to_owned(), value: value.into() });
        self
    }
}
