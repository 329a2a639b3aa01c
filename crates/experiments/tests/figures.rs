//! The cheap figures, measured: the paper's worked examples and ticks come out, and threads change nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use std::num::NonZeroUsize;

use wayleave_experiments::{CATALOGUE, Effort, Figure, Run, Verdict, find};

fn measure(id: &str, threads: usize) -> Figure {
    let (one, threads) = (NonZeroUsize::new(1), NonZeroUsize::new(threads).unwrap());
    let run = Run::new(Effort::Quick).with_runs(one).with_threads(threads);
    (find(id).unwrap().measure)(&run).unwrap()
}

/// Every statement of a figure whose outcome is no matter of chance.
fn assert_held(id: &str) {
    for statement in measure(id, 1).statements {
        println!("{} {}: {} ({})", statement.section, statement.says, statement.measured, statement.verdict.name());
        assert_eq!(statement.verdict, Verdict::Holds, "{statement:?}");
    }
}

#[test]
fn the_worked_examples_of_section_2_come_out() {
    assert_held("sec2-examples");
}

#[test]
fn the_ticks_of_table_5_are_those_of_the_systems_that_are_here() {
    assert_held("table5");
}

#[test]
fn threads_change_no_value() {
    let values = |threads| {
        let figure = measure("chameleon-fig8a", threads);
        let points = figure.panels.into_iter().flat_map(|panel| panel.series).flat_map(|series| series.points);
        (points.flat_map(|point| point.values).collect::<Vec<f64>>(), figure.statements)
    };
    let one = values(1);
    assert!(one.0.len() > 100 && one.0.iter().any(|&flows| flows > 100.0));
    assert_eq!(one, values(2));
}

#[test]
fn a_figure_of_times_says_so() {
    for entry in CATALOGUE.iter().filter(|entry| entry.id == "chameleon-fig9b") {
        let figure = measure(entry.id, 1);
        assert!(figure.panels.iter().all(|panel| panel.is_timing));
    }
}
