//! CSV as RFC 4180 has it: the values of every run, their summaries, and tables.

use std::fmt::Write;

use wayleave_formats::csv_field;

use crate::{Figure, Table};

use super::values::place;

/// One value for each run, in the order of the seeds (and, where scenarios are pooled, scenario by scenario).
pub(crate) fn runs(figure: &Figure) -> String {
    let mut text = "panel,series,x,run,value\n".to_owned();
    for panel in &figure.panels {
        for series in &panel.series {
            for point in &series.points {
                for (run, value) in (1..).zip(&point.values) {
                    let fields = [&panel.name, &series.name, &plain(point), &run.to_string(), &value.to_string()];
                    row(&mut text, fields.map(String::as_str));
                }
            }
        }
    }
    text
}

/// Returns the summary of each point's values.
pub(crate) fn summaries(figure: &Figure) -> String {
    let mut text = "panel,series,x,samples,mean,ci95_low,ci95_high,median,p1,p10,p90,p99,min,max\n".to_owned();
    for panel in &figure.panels {
        for series in &panel.series {
            for point in &series.points {
                let of = &point.summary;
                let [low, high] = of.ci95.map_or([None, None], |[low, high]| [Some(low), Some(high)]);
                let percentiles = [of.median, of.p1, of.p10, of.p90, of.p99, of.min, of.max].map(Some);
                let numbers = [Some(of.mean), low, high].into_iter().chain(percentiles);
                let numbers: Vec<String> = numbers
                    .map(|value| {
                        value.filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string())
                    })
                    .collect();
                let head = [panel.name.clone(), series.name.clone(), plain(point), of.samples.to_string()];
                row(&mut text, head.iter().chain(&numbers).map(String::as_str));
            }
        }
    }
    text
}

/// A table as it is.
pub(crate) fn table(table: &Table) -> String {
    let mut text = String::new();
    for cells in std::iter::once(&table.columns).chain(&table.rows) {
        row(&mut text, cells.iter().map(String::as_str));
    }
    text
}

/// A place, without the marks that people read thousands by.
fn plain(point: &crate::Point) -> String {
    match &point.x {
        crate::AxisValue::Number(value) => value.to_string(),
        name @ crate::AxisValue::Name(_) => place(name),
    }
}

fn row<'a>(text: &mut String, fields: impl IntoIterator<Item = &'a str>) {
    for (at, field) in fields.into_iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        // Writing to a String does not fail.
        let _ = write!(text, "{comma}{}", csv_field(field));
    }
    text.push('\n');
}
