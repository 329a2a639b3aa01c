//! Terminal output: the measured values, and the statements of the text beside them.

use std::io::Write;

use crate::{Form, Panel, Table, claims};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Width};
use wayleave_explain::table::{TableLayout, fit, plain_table, write_table};

use super::measured::Measured;
use super::totals::{HEADS, Tally, Totals};
use super::values::{axis_name, centre, place, repeats, with_unit};
use wayleave::Error;

/// A table with more columns is no table.
const MAX_COLUMNS: usize = 9;

/// Prints a figure.
pub(super) fn write(out: &mut impl Write, measured: &Measured, layout: TableLayout) -> Result<(), Error> {
    let Measured { entry, figure, .. } = measured;
    writeln!(out, "{}: {} ({})", entry.id, entry.title, entry.paper.name)?;
    for panel in &figure.panels {
        write_panel(out, panel, layout)?;
    }
    // Statements that form a figure's table are written below.
    for table in figure.tables.iter().filter(|table| !repeats(table, &figure.statements)) {
        write_rows(out, table, layout)?;
    }
    write_statements(out, measured, layout)
}

fn write_panel(out: &mut impl Write, panel: &Panel, layout: TableLayout) -> Result<(), Error> {
    let first = panel.series.first().map_or(&[][..], |series| &series.points);
    // The shape of a distribution is for the picture.
    if matches!(panel.form, Form::Steps | Form::Scattered) || first.is_empty() || first.len() > MAX_COLUMNS {
        return Ok(());
    }
    writeln!(out)?;
    let head = format!("{}: {}", panel.title, axis_name(&panel.x));
    let places: Vec<String> = first.iter().map(|point| place(&point.x)).collect();
    let heads: Vec<&str> = std::iter::once(head.as_str()).chain(places.iter().map(String::as_str)).collect();
    let mut table = plain_table(&heads, layout);
    for series in &panel.series {
        let cells = series
            .points
            .iter()
            .map(|point| Cell::new(with_unit(centre(panel, point), &panel.y)).set_alignment(CellAlignment::Right));
        table.add_row(std::iter::once(Cell::new(&series.name)).chain(cells));
    }
    Ok(write_table(out, &mut table)?)
}

fn write_rows(out: &mut impl Write, rows: &Table, layout: TableLayout) -> Result<(), Error> {
    writeln!(out, "\n{}", rows.title)?;
    let heads: Vec<&str> = rows.columns.iter().map(String::as_str).collect();
    let mut table = plain_table(&heads, layout);
    for row in &rows.rows {
        table.add_row(row);
    }
    fit(&mut table);
    Ok(write_table(out, &mut table)?)
}

fn write_statements(out: &mut impl Write, measured: &Measured, layout: TableLayout) -> Result<(), Error> {
    writeln!(out)?;
    let mut table = plain_table(&["verdict", "section", "the text says", "measured"], layout);
    // Two columns are broken into lines here.
    if let Some(claim_text) = table.column_mut(2) {
        claim_text.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(36)));
    }
    for claim in claims(&measured.figure.statements) {
        let first = claim.readings[0];
        let seen = [claim.measured(), claim.remarks()].concat().join("\n");
        table.add_row([claim.verdict().name(), &first.section, &first.claim_text, &seen]);
    }
    Ok(write_table(out, &mut table)?)
}

/// Prints the numbers of statements by result for each figure.
pub(super) fn write_totals(out: &mut impl Write, totals: &Totals, layout: TableLayout) -> Result<(), Error> {
    let heads: Vec<&str> = ["claims"].iter().chain(&HEADS).copied().collect();
    let mut table = plain_table(&heads, layout);
    let numbers = |tally: &Tally| tally.cells().map(|cell| Cell::new(cell).set_alignment(CellAlignment::Right));
    for row in &totals.figures {
        table.add_row(std::iter::once(Cell::new(row.figure)).chain(numbers(&row.tally)));
    }
    if totals.figures.len() > 1 {
        table.add_row(std::iter::once(Cell::new("all")).chain(numbers(&totals.total)));
    }
    write_table(out, &mut table)?;
    for sentence in totals.missing() {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}
