//! That the document says what the results say, and that the one in `docs` is what was generated.

use std::fs;
use std::path::Path;

use wayleave_experiments::{Axis, CATALOGUE, Centre, Figure, Form, Panel, Point, Series, Statement, find};

use super::*;

/// A made-up result of a figure, through JSON and back, as it comes from a folder.
fn measured(id: &str, effort: &str) -> Measured {
    let statements = vec![
        Statement::claim("5.1", "It is fast", true, "3 us"),
        Statement::claim("5.2", "It is small", false, "3 GB").tested("a large buffer; with a small one it holds"),
        Statement::claim("5.2", "It is cheap", false, "3 EUR").ruled_out(["the weather", "the time of day"]),
        Statement::within("5.3", "At least 2x", 2.0..=f64::INFINITY, &[1.0], "1x"),
        Statement::not_compared("5.4", "It is new", "10 years"),
    ];
    let panel = Panel {
        name: "flows".to_owned(),
        title: "Flows".to_owned(),
        x: Axis::categories("scenario"),
        y: Axis::linear("admitted", "flows"),
        form: Form::Apart,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series: vec![Series {
            name: "Silo".to_owned(),
            points: vec![Point::of("1", vec![9.0, 11.0]), Point::of("2", vec![])],
        }],
    };
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
fn the_document_says_what_the_results_say() {
    let text = render(&[measured("table5", "full")], &Reasons::default());
    for part in [
        "- **holds**, 5.1: *It is fast.* Here: 3 us.",
        "**Cause:** a large buffer; with a small one it holds.",
        "**Not the cause:** the weather; the time of day.",
        "| [table5](#table5) |    1 |                    1 |                        1 |                   1 |            1 |",
        "| scenario |                    1 |   2 |",
        "| Silo     | 10.0 (-2.71 to 22.7) |   - |",
        "- A note.\n",
        "`wayleave reproduce table5`, seeds 1 to 2.",
        "on 2026-11-22",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn every_section_says_by_what_where_that_differs() {
    let same = render(&[measured("table5", "full"), measured("loko-burst", "full")], &Reasons::default());
    assert_eq!(same.matches("as many runs as the papers have").count(), 1, "{same}");
    let mixed = render(&[measured("table5", "full"), measured("loko-burst", "quick")], &Reasons::default());
    assert_eq!(mixed.matches("`--quick`, which has a tenth").count(), 1, "{mixed}");
    assert_eq!(mixed.matches("as many runs as the papers have").count(), 1, "{mixed}");
}

/// What is wrong with a document: it was edited, or the catalogue has changed since.
fn faults(text: &str) -> Vec<String> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut faults = Vec::new();
    if first != mark(rest) {
        faults.push(format!("its first line is not\n  {}\nIt was edited by hand.", mark(rest)));
    }
    let sections: Vec<&str> = rest.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let figures: Vec<&str> = CATALOGUE.iter().map(|entry| entry.id).collect();
    if sections != figures {
        faults.push(format!("its sections are\n  {sections:?}\nand the figures are\n  {figures:?}"));
    }
    faults
}

#[test]
fn the_document_of_the_repository_was_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction.md");
    let faults = faults(&fs::read_to_string(path).unwrap());
    assert!(faults.is_empty(), "docs/reproduction.md: {}\n`make reproduction` makes it again", faults.join("\n"));
}

#[test]
fn an_edited_document_is_noticed() {
    let text = render(&[measured("table5", "full")], &Reasons::default());
    assert_eq!(faults(&text), [""; 0]);
    assert_eq!(faults(&text.replace("3 us", "2 us")).len(), 1);
    assert_eq!(faults(&marked(&text.replace("### table5", "### table6"))).len(), 1);
}
