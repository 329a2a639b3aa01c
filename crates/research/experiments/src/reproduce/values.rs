//! Numbers as they are read: three digits, and no more than were measured.

use crate::{Axis, AxisValue, Centre, Panel, Point, Statement, Table};

pub(crate) use crate::digits::{mark, number};

/// A value with the unit of its axis; flows need none.
pub(crate) fn with_unit(value: f64, axis: &Axis) -> String {
    match axis.unit.as_str() {
        "" | "flows" => number(value),
        "x" => format!("{}x", number(value)),
        unit => format!("{} {unit}", number(value)),
    }
}

/// `time of one decision, us`.
pub(crate) fn axis_name(axis: &Axis) -> String {
    // The name already contains the unit "flows" or "times".
    if matches!(axis.unit.as_str(), "" | "flows" | "x") {
        axis.name.clone()
    } else {
        format!("{}, {}", axis.name, axis.unit)
    }
}

/// Returns the central value of a point.
pub(crate) fn centre(panel: &Panel, point: &Point) -> f64 {
    match panel.centre {
        Centre::Mean => point.summary.mean,
        Centre::Median => point.summary.median,
    }
}

/// A place on the axis to the right.
pub(crate) fn place(x: &AxisValue) -> String {
    match x {
        AxisValue::Name(name) => name.clone(),
        AxisValue::Number(value) => number(*value),
    }
}

/// The places of a panel, in the order in which they come.
pub(crate) fn places(panel: &Panel) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for point in panel.series.iter().flat_map(|series| &series.points) {
        let name = place(&point.x);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns `true` if a table has a row for each statement and nothing else, so that it only repeats the statements.
pub(crate) fn repeats(table: &Table, statements: &[Statement]) -> bool {
    let mut rows = table.rows.iter().zip(statements);
    table.rows.len() == statements.len() && rows.all(|(row, statement)| row.contains(&statement.claim_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_omitted_for_its_content_and_not_for_its_size() {
        let statements = [Statement::claim("1", "one", true, "1"), Statement::claim("1", "two", true, "2")];
        let table = |cells: [&str; 2]| Table {
            name: "t".to_owned(),
            title: "T".to_owned(),
            columns: vec!["says".to_owned()],
            rows: cells.map(|cell| vec![cell.to_owned()]).to_vec(),
        };
        assert!(repeats(&table(["one", "two"]), &statements));
        assert!(!repeats(&table(["one", "1.5 ms"]), &statements), "as many rows as statements");
    }
}
