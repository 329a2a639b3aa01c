//! That the document says what the results say, and that the one in `docs` is what was generated.

use std::fs;
use std::path::Path;

use crate::{Axis, CATALOGUE, Centre, Figure, Form, Panel, Point, Series, Statement, find};

use super::*;
use crate::reproduce::measured::MeasuredBy;

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
    let text = render(&[measured("table5", "full")], &Kept::default(), &Reasons::default());
    for part in [
        "- **holds**, 5.1: *It is fast.* Here: 3 us.",
        "**Cause:** a large buffer; with a small one it holds.",
        "**Not the cause:** the weather; the time of day.",
        "| [table5](#table5) |    1 |                    1 |                        1 |                   1 |            1 |",
        "| scenario |                    1 |   2 |",
        "| Silo     | 10.0 (-2.71 to 22.7) |   - |",
        "- A note.\n",
        "`wayleave reproduce table5`, with as many runs as the papers have",
        "on 2026-11-22",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn every_section_says_by_what() {
    let mixed = [measured("table5", "full"), measured("loko-burst", "quick")];
    let mixed = render(&mixed, &Kept::default(), &Reasons::default());
    assert_eq!(mixed.matches("`--quick`, which has a tenth").count(), 1, "{mixed}");
    assert_eq!(mixed.matches("as many runs as the papers have").count(), 1, "{mixed}");
}

#[test]
fn figures_without_results_stay_as_an_earlier_document_has_them() {
    let [table, burst, flows] = ["table5", "loko-burst", "parley-fig9"].map(|id| measured(id, "full"));
    let only = |of: &[&Measured]| -> Vec<Measured> { of.iter().map(|of| measured(of.entry.id, "full")).collect() };
    let all = render(&only(&[&table, &burst, &flows]), &Kept::default(), &Reasons::default());
    // Measured in two steps, whichever comes first.
    for (first, then) in
        [(&[&table, &flows][..], &[&burst][..]), (&[&burst], &[&table, &flows]), (&[&burst, &table, &flows], &[&burst])]
    {
        let earlier = render(&only(first), &Kept::default(), &Reasons::default());
        let kept = Kept::read(&earlier).unwrap();
        assert!(render(&only(then), &kept, &Reasons::default()) == all, "{} figures, then {}", first.len(), then.len());
    }
    // What is measured again counts once.
    let kept = Kept::read(&all).unwrap();
    let again = render(&[measured("loko-burst", "quick")], &kept, &Reasons::default());
    assert!(again.contains("| all                         |    3 |"), "{again}");
    assert_eq!(again.matches("`--quick`, which has a tenth").count(), 1, "{again}");
}

#[test]
fn an_edited_document_is_not_gone_on_from() {
    let text = render(&[measured("table5", "full")], &Kept::default(), &Reasons::default());
    for broken in [text.replace("3 us", "2 us"), String::new(), "# Something else\n".to_owned()] {
        assert!(Kept::read(&broken).unwrap_err().contains("edited by hand"), "{broken}");
    }
    let row = marked(&text.split_once('\n').unwrap().1.replace("|    1 |  ", "|    x |  "));
    assert!(Kept::read(&row).unwrap_err().starts_with("table5: five numbers were expected"));
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reproduction.md");
    let faults = faults(&fs::read_to_string(path).unwrap());
    assert!(faults.is_empty(), "docs/reproduction.md: {}\n`make reproduction` makes it again", faults.join("\n"));
}

#[test]
fn an_edited_document_is_noticed() {
    let text = render(&[measured("table5", "full")], &Kept::default(), &Reasons::default());
    assert_eq!(faults(&text), [""; 0]);
    assert_eq!(faults(&text.replace("3 us", "2 us")).len(), 1);
    assert_eq!(faults(&marked(&text.replace("### table5", "### table6"))).len(), 1);
}
