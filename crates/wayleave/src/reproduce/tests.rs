//! Files of a figure that is measured here: that they are well formed, and say what the data says.

use std::num::NonZeroUsize;

use wayleave_experiments::{Effort, Run, find};
use wayleave_explain::table::Layout;

use super::{Measured, csv, document, page, picture, png, terminal};

fn measured(id: &str, threads: usize) -> Measured {
    let entry = find(id).unwrap();
    let run = Run::new(Effort::Quick).with_runs(NonZeroUsize::new(2)).with_threads(NonZeroUsize::new(threads).unwrap());
    let figure = (entry.measure)(&run).unwrap();
    Measured { entry, figure, effort: "quick", command: format!("wayleave reproduce {id} --quick --seeds 2") }
}

#[test]
fn the_files_of_a_figure_are_the_same_whatever_the_number_of_threads() {
    let of = |threads| {
        let measured = measured("chameleon-fig9a", threads);
        (
            document::of(&measured).unwrap(),
            csv::runs(&measured.figure),
            csv::summaries(&measured.figure),
            picture::draw(&measured),
        )
    };
    assert_eq!(of(1), of(2));
}

#[test]
fn a_picture_is_well_formed_and_becomes_pixels() {
    for id in ["sec2-examples", "chameleon-fig9a"] {
        let measured = measured(id, 2);
        let svg = picture::draw(&measured);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: String = document.descendants().filter_map(|node| node.text()).collect();
        assert!(texts.contains(measured.entry.title) && texts.contains(&measured.input_hash()), "{id}");
        let png = png::of(&svg).unwrap();
        assert_eq!(png.is_some(), png::IS_BUILT_IN);
        if let Some(png) = png {
            // The signature of PNG, and more than a white sheet.
            assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 20_000, "{id}: {} bytes", png.len());
        }
        // The page links to what is written, and to nothing else.
        assert_eq!(page::render(&[measured], "").contains(&format!("{id}.png")), png::IS_BUILT_IN);
    }
}

#[test]
fn every_row_of_a_csv_has_as_many_fields_as_its_head() {
    let measured = measured("chameleon-fig9a", 2);
    for text in [csv::runs(&measured.figure), csv::summaries(&measured.figure)] {
        let fields = |line: &str| {
            // Commas between quotes part nothing.
            line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>() + 1
        };
        let head = fields(text.lines().next().unwrap());
        assert!(text.lines().count() > 500);
        assert!(text.lines().all(|line| fields(line) == head), "{head}");
    }
}

#[test]
fn the_page_and_the_terminal_show_every_statement_with_its_verdict() {
    let measured = vec![measured("sec2-examples", 1)];
    let page = page::render(&measured, "wayleave reproduce sec2-examples");
    let mut printed = Vec::new();
    terminal::write(&mut printed, &measured[0], Layout::default()).unwrap();
    let printed = String::from_utf8(printed).unwrap();
    let statements = &measured[0].figure.statements;
    assert!(statements.len() >= 6);
    for statement in statements {
        assert!(page.contains(&statement.section.replace('&', "&amp;")), "{statement:?}");
        assert!(printed.contains(statement.section), "{statement:?}");
    }
    assert!(printed.matches("holds").count() >= statements.len());
    roxmltree::Document::parse(page.trim_start_matches("<!DOCTYPE html>")).unwrap();
}
