//! Numbers as they are read: three digits, and no more than were measured.

use crate::{Axis, AxisValue, Centre, Panel, Point, Statement, Table};

use wayleave_report::numbers;

/// With three digits or, from a thousand on, whole.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "-".to_owned(),
        _ if size >= 99.95 => {
            let whole = numbers::count(size.round() as usize);
            if value < 0.0 { format!("-{whole}") } else { whole }
        }
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 || size == 0.0 => trimmed(format!("{value:.2}")),
        _ => trimmed(format!("{value:.3}")),
    }
}

/// A round value of an axis.
pub(crate) fn mark(value: f64) -> String {
    trimmed(number(value))
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

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
    // Flows, and how many times as many, are in the name already.
    if matches!(axis.unit.as_str(), "" | "flows" | "x") {
        axis.name.clone()
    } else {
        format!("{}, {}", axis.name, axis.unit)
    }
}

/// What stands for the values of a point.
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

/// Whether a table has a row for each statement and nothing else: where statements are shown, it says everything twice.
pub(crate) fn repeats(table: &Table, statements: &[Statement]) -> bool {
    let mut rows = table.rows.iter().zip(statements);
    table.rows.len() == statements.len() && rows.all(|(row, statement)| row.contains(&statement.says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_left_out_for_what_it_says_and_not_for_its_size() {
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

    #[test]
    fn three_digits_are_kept() {
        let shown = [0.0, 0.012_34, 0.5, 1.0, 3.456, 42.26, 99.97, 1_940.4, 16_000.0, -123.0, f64::NAN].map(number);
        assert_eq!(shown, ["0", "0.012", "0.5", "1", "3.46", "42.3", "100", "1,940", "16,000", "-123", "-"]);
    }
}
