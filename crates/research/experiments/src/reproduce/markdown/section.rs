//! The page of one figure.

use crate::{Centre, Claim, Entry, Figure, Form, Panel, Point, Table, claims};

use super::text::{Align, bullet, escaped, paragraph, table};
use crate::reproduce::measured::{Measured, MeasuredBy};
use crate::reproduce::values::{axis_name, centre, number, place, places, repeats};

/// A panel with more columns is left to its picture.
const MAX_COLUMNS: usize = 9;
/// A table with more rows is left to its file.
const MAX_ROWS: usize = 40;

/// Returns the heading of a figure, and its subject.
fn head(entry: &Entry) -> String {
    let place: String =
        entry.place.char_indices().map(|(at, c)| if at == 0 { c.to_ascii_uppercase() } else { c }).collect();
    format!("# {}\n\n{}", entry.id, paragraph(&format!("{place}: {}.", escaped(entry.title))))
}

/// Returns the program, the effort and the date of a measurement.
fn origin(origin: &MeasuredBy, effort: &str) -> String {
    let runs = if effort == "full" {
        "with as many runs as a verdict needs"
    } else {
        "with `--quick`, which has a tenth of the runs"
    };
    let commit = origin.commit.as_ref().map_or_else(String::new, |commit| format!(" (commit {commit})"));
    let date = origin.date.as_ref().map_or_else(String::new, |date| format!(" on {date}"));
    format!("{runs}, by {}{commit}{date}", origin.program())
}

/// Returns the page of a figure.
pub(super) fn of(measured: &Measured) -> String {
    let Measured { entry, figure, .. } = measured;
    let mut parts = vec![head(entry)];
    parts.extend(list(figure.notes.iter().map(|note| bullet(&escaped(note)))));
    parts.extend(figure.panels.iter().map(|panel| of_panel(entry, panel)));
    let tables = figure.tables.iter().filter(|table| !repeats(table, &figure.statements));
    parts.extend(tables.map(|table| of_table(entry, table)));
    parts.extend(list(claims(&figure.statements).iter().map(claim)));
    parts.push(settings(measured));
    parts.join("\n")
}

/// One list of all items; nothing if there are none.
fn list(items: impl Iterator<Item = String>) -> Option<String> {
    Some(items.collect::<String>()).filter(|items| !items.is_empty())
}

/// Returns an item for a claim, with an item below it for each reading if there are several.
fn claim(of: &Claim<'_>) -> String {
    let (first, verdict) = (of.readings[0], of.verdict().name());
    let text = format!("**{verdict}**, {}: *{}*", first.section, sentence(&first.claim_text));
    let remarks = of.remarks();
    let sentences = |of: &[String]| of.iter().map(|text| sentence(text)).collect::<Vec<_>>().join(" ");
    match &of.measured()[..] {
        [only] => bullet(&[format!("{text} Here: {}", sentence(only)), sentences(&remarks)].join(" ")),
        readings => {
            let below =
                |reading: &String| bullet(&sentence(reading)).lines().map(|line| format!("  {line}\n")).collect();
            let below: Vec<String> = readings.iter().map(below).collect();
            bullet(&format!("{text} {}", sentences(&remarks))) + &below.concat()
        }
    }
}

/// With a mark at its end, and without what Markdown reads as its own.
fn sentence(text: &str) -> String {
    let end = if text.ends_with(['.', '!', '?', ':']) { "" } else { "." };
    format!("{}{end}", escaped(text))
}

fn of_panel(entry: &Entry, panel: &Panel) -> String {
    let places = places(panel);
    let title = format!("**{}**, {}", escaped(&panel.title), escaped(&axis_name(&panel.y)));
    // The shape of a distribution is for the picture, and so are many points.
    if matches!(panel.form, Form::Steps | Form::Scattered) || places.len() > MAX_COLUMNS {
        let points: usize = panel.series.iter().map(|series| series.points.len()).sum();
        return paragraph(&format!(
            "{title}, over {}: {points} points, in `{id}.svg` and `{id}-summary.csv`.",
            escaped(&axis_name(&panel.x)),
            id = entry.id
        ));
    }
    let what = match panel.centre {
        Centre::Mean => "means with their 95 % intervals",
        Centre::Median => "medians",
    };
    let clock = if panel.is_timing { "; times of the machine that measured" } else { "" };
    let heads: Vec<String> = std::iter::once(axis_name(&panel.x)).chain(places.iter().cloned()).collect();
    let rows: Vec<Vec<String>> = panel
        .series
        .iter()
        .map(|series| {
            let cell = |name: &String| {
                let point = series.points.iter().find(|point| place(&point.x) == *name);
                point.map_or_else(String::new, |point| value(panel, point))
            };
            std::iter::once(series.name.clone()).chain(places.iter().map(cell)).collect()
        })
        .collect();
    format!("{}\n{}", paragraph(&format!("{title} ({what}{clock}):")), table(&heads, &rows, Align::NumbersRight))
}

/// Returns a mean, with its interval if that adds information.
fn value(panel: &Panel, point: &Point) -> String {
    let middle = number(centre(panel, point));
    let interval = point.summary.ci95.filter(|_| panel.centre == Centre::Mean);
    match interval.map(|ends| ends.map(number)) {
        Some([low, high]) if low != high => format!("{middle} ({low} to {high})"),
        _ => middle,
    }
}

fn of_table(entry: &Entry, of: &Table) -> String {
    if of.rows.len() > MAX_ROWS {
        let file = format!("`{}-{}.csv`", entry.id, of.name);
        return paragraph(&format!("**{}**: {} rows, in {file}.", escaped(&of.title), of.rows.len()));
    }
    format!("{}\n{}", paragraph(&format!("**{}**:", escaped(&of.title))), table(&of.columns, &of.rows, Align::Left))
}

/// The command, the seeds and the settings.
fn settings(measured: &Measured) -> String {
    let Figure { settings, seeds, .. } = &measured.figure;
    let mut text = format!("`{}`, {}", measured.command, origin(&measured.origin, &measured.effort));
    text += &match &seeds[..] {
        [] => String::new(),
        [only] => format!(", seed {only}"),
        [first, .., last] => format!(", seeds {first} to {last}"),
    };
    let settings: Vec<String> =
        settings.iter().map(|of| format!("{}: {}", escaped(&of.name), escaped(&of.value))).collect();
    if !settings.is_empty() {
        text += &format!(". Settings: {}", settings.join("; "));
    }
    paragraph(&format!("{}.", text.trim_end_matches('.')))
}
