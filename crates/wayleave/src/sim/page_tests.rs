//! Tests of the page of simulated runs: it is one well-formed file, and agrees with the terminal output.

use roxmltree::{Document, Node, ParsingOptions};
use wayleave_explain::table::TableLayout;

use crate::sim::{Batch, RunSelection, convert};
use wayleave_report::sim::result::RunResult;
use wayleave_report::sim::{page, summary};

const SCENARIO: &str = "apiVersion: wayleave/v1
kind: Scenario
metadata: { name: \"<web> & \\\"control\\\"\" }
spec:
  topology: star:hosts=4,rate=10Gbit
  duration: 30ms
  warmup: 1ms
  traffic:
    - { name: web, load: 0.3, sizes: web-search }
    - { name: control, from: [h1, h2], to: h3, tokenBucket: { rate: 10Mbit, burst: 3000B }, frame: 300B }
";
const SWEEP: &str = "  sweep: { seeds: [1, 2], vary: { traffic.web.load: [0.2, 0.4], duration: [5ms, 6ms, 7ms] } }\n";

/// A batch of a text, with the results of all its runs, of which those of a sweep are condensed.
fn simulated(name: &str, text: &str, go_on: bool) -> (Batch, Vec<RunResult>) {
    let path = std::env::temp_dir().join(format!("wayleave-{}-{name}.yaml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let batch = Batch::read(path.to_str().unwrap(), &RunSelection::default()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let results = batch.runs.iter().map(|planned| {
        let outcome = wayleave_sim::run(&planned.scenario, planned.seed, |_| go_on).unwrap();
        let result = convert::run_result(&batch, planned, &outcome);
        if batch.is_sweep() { result.condensed() } else { result }
    });
    let results = results.collect();
    (batch, results)
}

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap()
}

#[track_caller]
fn assert_whole(page: &str) {
    let document = parse(page);
    let mut ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
    let loads = |node: &Node<'_, '_>| {
        ["src", "href", "srcset", "data", "poster", "action"].into_iter().any(|name| node.has_attribute(name))
    };
    assert!(!document.descendants().any(|node| loads(&node)));
    assert!(!page.contains("@import") && !page.contains("url("));
    for wrong in ["NaN", "inf\"", " inf "] {
        assert!(!page.contains(wrong), "{wrong}");
    }
}

fn figures(page: &str) -> usize {
    parse(page).descendants().filter(|node| node.tag_name().name() == "svg").count()
}

#[test]
fn the_page_of_a_run_is_complete_and_loads_nothing() {
    let (batch, results) = simulated("run", &format!("{SCENARIO}  record: {{ series: 1ms }}\n"), true);
    let page = page::render(&batch.reported(), &results, "wayleave sim x.yaml");
    assert_whole(&page);
    // Flows, packets, slowdowns, throughput, round trips, backlog, waits, links.
    assert_eq!(figures(&page), 8);
}

#[test]
fn every_number_of_the_terminal_is_on_the_page() {
    let (batch, results) = simulated("figures", &format!("{SCENARIO}  record: {{ series: 1ms }}\n"), true);
    assert!(results[0].traffic[0].round_trip_ps.is_some() && results[0].traffic[0].sizes.len() > 1);
    let page = page::render(&batch.reported(), &results, "wayleave sim x.yaml");
    let mut text = Vec::new();
    summary::write_run(&mut text, &results[0], TableLayout::default()).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(wayleave_report::page::missing_figures(&text, &page), Vec::<String>::new());
}

#[test]
fn the_page_of_a_sweep_has_a_figure_for_each_measure_of_each_traffic() {
    let (batch, results) = simulated("sweep", &format!("{SCENARIO}{SWEEP}"), true);
    let page = page::render(&batch.reported(), &results, "wayleave sim x.yaml");
    assert_whole(&page);
    // Nothing is lost, so no losses are drawn, and packets have no slowdown.
    assert_eq!((results.len(), figures(&page)), (12, 4 + 3));
    assert!(page.contains("duration") && page.contains("load = 0.4"));
}

#[test]
fn a_page_without_results_is_complete() {
    let (batch, _) = simulated("nothing", &format!("{SCENARIO}{SWEEP}"), false);
    let page = page::render(&batch.reported(), &[], "wayleave sim x.yaml");
    assert_whole(&page);
    assert!(page.contains("These results are partial: 0 of 12 runs complete."));
}
