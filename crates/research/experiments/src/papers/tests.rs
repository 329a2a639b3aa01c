//! The committed pages are those of the committed data, and no page has a number that was not measured.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::reproduce::{Measured, MeasuredBy};
use crate::{Figure, Runs, Statement, find};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/papers")
}

/// `WAYLEAVE_UPDATE=1` writes them.
#[test]
fn the_committed_pages_match_the_committed_data() {
    let results = Results::read(&fs::read_to_string(folder().join(RESULTS)).unwrap()).unwrap();
    if std::env::var_os("WAYLEAVE_UPDATE").is_some() {
        return write_pages(&results, &folder()).unwrap();
    }
    let is = |name: &str, expected: &str| {
        let text = fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(
            text == expected,
            "docs/papers/{name} is not up to date: WAYLEAVE_UPDATE=1 cargo test -p wayleave-experiments papers"
        );
    };
    is(RESULTS, &results.text().unwrap());
    PAPERS.iter().for_each(|paper| is(&format!("{}.md", paper.slug), &page::of(paper, &results)));
    is("figures.md", &page::figures(&results));
    is("README.md", &page::overview(&PAPERS, &results));
}

#[test]
fn each_paper_has_five_to_eight_headline_claims_and_a_short_page() {
    let results = Results::read(COMMITTED).unwrap();
    for paper in PAPERS {
        let claims = HEADLINES.iter().filter(|headline| headline.paper == paper).count();
        assert!((5..=8).contains(&claims), "{}: {claims}", paper.name);
        let words =
            page::of(paper, &results).split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
        assert!(words <= 450, "{}: {words} words", paper.name);
    }
    let words = page::overview(&PAPERS, &results)
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphanumeric))
        .count();
    assert!(words <= 380, "{words} words");
}

/// A result of Fig. 14 of uFAB with this ratio for each seed, of all seeds but `lacking`.
fn measured(ratios: &[f64], claim_text: &str, lacking: usize) -> Measured {
    let statement = Statement::mean_within("5.3", claim_text, 10.5..=42.0, ratios, "in words");
    let runs = Some(Runs { made: 5 - lacking, needed: 5 });
    let figure = Figure { statements: vec![statement.with_runs(runs)], ..Figure::default() };
    let command = "wayleave reproduce ufab-fig14".to_owned();
    let entry = find("ufab-fig14").unwrap();
    Measured { entry, figure, effort: "full".to_owned(), command, origin: MeasuredBy::default() }
}

const TAIL: &str = "uFAB's tail of the total time is 21 times shorter than that of PicNIC'+WCC+Clove";

fn row(results: &Results) -> String {
    let page = page::of(&crate::UFAB, results);
    page.lines()
        .find(|line| line.contains("p99 of storage tasks"))
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_row_has_the_verdict_that_follows_from_the_numbers() {
    let with = |ratios: &[f64], claim_text, lacking| {
        let mut results = Results::default();
        results.update(&[measured(ratios, claim_text, lacking)]);
        // As it is read from the file.
        row(&Results::read(&results.text().unwrap()).unwrap())
    };
    assert!(with(&[20.0; 5], TAIL, 0).contains("| 21x | 20x | holds |"), "{}", with(&[20.0; 5], TAIL, 0));
    assert!(with(&[2.0; 5], TAIL, 0).contains("| 2x | unexplained | hypothesis: "));
    assert!(with(&[20.0; 3], TAIL, 2).contains("| 20x | undecided | 3 of 5 runs. |"));
    assert!(with(&[5.0, 20.0], TAIL, 0).contains("| undecided |"));
}

#[test]
fn a_claim_that_was_not_measured_has_no_number() {
    assert!(row(&Results::default()).contains("| 21x | | not measured |"));
    // A record of another definition is left out; the figure itself was measured.
    let mut results = Results::default();
    results.update(&[measured(&[20.0; 5], TAIL, 0)]);
    let text = results.text().unwrap().replace("21 times shorter", "12 times shorter");
    assert!(row(&Results::read(&text).unwrap()).contains("| 21x | | not measured since its definition changed |"));
}

/// Catches: a verdict in the file that contradicts its numbers.
#[test]
fn a_verdict_in_the_file_is_computed_again() {
    let mut results = Results::default();
    results.update(&[measured(&[2.0; 5], TAIL, 0)]);
    let text = results.text().unwrap();
    let edited = text.replace("\"verdict\": \"unexplained\"", "\"verdict\": \"holds\"");
    assert!(edited != text && Results::read(&edited).unwrap().text().unwrap() == text);
}

/// Catches: `--seeds 1` in place of a measurement with five.
#[test]
fn fewer_seeds_than_needed_replace_no_measurement_with_enough() {
    let mut results = Results::default();
    let seeds = |results: &Results| results.figure("ufab-fig14").and_then(|record| record.seeds()).unwrap().made;
    let update = |results: &mut Results, lacking| results.update(&[measured(&[20.0; 5], TAIL, lacking)]);
    update(&mut results, 4);
    assert_eq!(seeds(&results), 1);
    update(&mut results, 0);
    update(&mut results, 4);
    assert_eq!(seeds(&results), 5);
    assert!(page::figures(&results).contains("| ufab-fig14 "), "{}", page::figures(&results));
}

#[test]
fn figures_measured_in_short_change_no_page() {
    let mut results = Results::default();
    results.update(&[Measured { effort: "quick".to_owned(), ..measured(&[20.0; 5], TAIL, 0) }]);
    assert!(row(&results).contains("not measured"));
}

/// Catches: a completion time that is 32 % longer, shown as "-32 % less".
#[test]
fn reductions_have_the_sign_of_the_text() {
    let shown = |runs: &[f64]| page::shown(&Statement::mean_within("1", "", 20.0..=80.0, runs, ""), "% less");
    assert_eq!([shown(&[40.0, 40.0]), shown(&[-30.0, -30.0])], ["-40 %", "+30 %"]);
    let spread = shown(&[30.0, 31.0]);
    assert!(spread.starts_with("-30.5 % (-36.9 to -24.1"), "{spread}");
}

#[test]
fn an_unknown_paper_is_refused_with_the_known_ones() {
    let error = claims_page("ufap", None).unwrap_err().to_string();
    assert!(error.contains("did you mean ufab?") && error.contains("chameleon, loko, parley, ufab, scc"), "{error}");
}
