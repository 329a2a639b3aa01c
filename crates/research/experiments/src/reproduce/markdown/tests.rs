//! Pages of figures have what their results have.

use crate::{Axis, Figure, Form, Panel, Point, Series, Statement, find};

use super::*;
use crate::reproduce::measured::MeasuredBy;

/// A made-up result of a figure, through JSON and back, as it comes from a folder.
fn measured(id: &str, effort: &str) -> Measured {
    let statements = vec![
        Statement::claim("5.1", "It is fast", true, "3 us"),
        Statement::claim("5.2", "It is small", false, "3 GB").tested("a small buffer", &[1.0]),
        Statement::claim("5.2", "It is cheap", false, "3 EUR")
            .supposed("the moon")
            .ruled_out(["the weather", "the time of day"]),
        Statement::within("5.3", "At least 2x", 2.0..=f64::INFINITY, &[1.0], "1x")
            .reading("the usual size")
            .tested("twice the size", &[1.5]),
        Statement::not_compared("5.4", "It is new", "10 years"),
    ];
    let panel = Panel::new(
        "flows",
        "Flows",
        (Axis::categories("scenario"), Axis::linear("admitted", "flows")),
        Form::Apart,
        vec![Series { name: "Silo".to_owned(), points: vec![Point::of("1", vec![9.0, 11.0]), Point::of("2", vec![])] }],
    );
    let figure = Figure {
        statements,
        panels: vec![panel],
        notes: vec!["A note.".to_owned()],
        seeds: vec![1, 2],
        ..Figure::default()
    };
    let entry = find(id).unwrap();
    let origin = MeasuredBy { date: Some("2026-11-22".to_owned()), ..MeasuredBy::default() };
    let measured =
        Measured { entry, figure, effort: effort.to_owned(), command: format!("wayleave reproduce {id}"), origin };
    crate::reproduce::document::read(&crate::reproduce::document::of(&measured).unwrap()).unwrap()
}

#[test]
fn the_page_of_a_figure_contains_the_results() {
    let text = figure(&measured("table5", "full"));
    for part in [
        "# table5\n",
        "- **holds**, 5.1: *It is fast.* Here: 3 us.",
        "- **holds under a named reading**, 5.2: *It is small.*",
        "Experiment, brings it into the range: a small buffer.",
        "- **unexplained**, 5.2: *It is cheap.* Here: 3 EUR. Hypothesis, without numbers: the moon.",
        "Not the cause: the weather; the time of day.",
        "- **partly explained**, 5.3: *At least 2x.* Here: the usual size: 1x.",
        "moves it by 0.5 of 1: twice the size.",
        "- **not compared**, 5.4",
        "| scenario |                    1 |   2 |",
        "| Silo     | 10.0 (-2.71 to 22.7) |   - |",
        "- A note.\n",
        "`wayleave reproduce table5`, with as many runs as a verdict needs",
        "on 2026-11-22",
    ] {
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part) || joined.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn the_index_has_a_row_for_each_figure_and_reasons_for_others() {
    let text = index(&[measured("table5", "full"), measured("loko-burst", "quick")], &Reasons::default());
    for part in
        ["2 of 55 figures", "| [table5](table5.md) |", "| [loko-burst](loko-burst.md) |", "parley-fig9: Not measured"]
    {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    assert_eq!(text.matches("## ").count(), 6, "{text}");
}
