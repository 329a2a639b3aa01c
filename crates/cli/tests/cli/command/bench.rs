//! `bench admission`: JSON lines from processes of their own.

use serde_json::Value;

use crate::command::{run_in, wayleave};

#[test]
fn every_line_is_an_object_with_bench_case_metric_value_and_unit() {
    let run = wayleave("bench admission k4-q8-noreroute --seed 2 --model published").ends_with(0);
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for metric in ["mean_us", "p50_us", "p99_us", "max_us", "accepted", "setup_ms", "rss_mb"] {
        let line = lines.iter().find(|line| line["metric"] == metric).unwrap_or_else(|| panic!("no {metric}"));
        assert_eq!((&line["bench"], &line["case"]), (&"admission".into(), &"k4-q8-noreroute".into()));
        assert!(line["value"].is_number() && line["unit"].is_string(), "{line}");
    }
}

#[test]
fn cases_are_listed_and_unknown_ones_refused() {
    let run = wayleave("bench admission --list").ends_with(0);
    assert!(run.stdout.lines().any(|line| line == "k12-q4-reroute"), "{}", run.stdout);
    let run = wayleave("bench admission k5-q4").ends_with(2);
    assert!(run.stderr.contains("k12-q4-reroute"), "{}", run.stderr);
}

#[test]
fn without_etcd_its_case_is_skipped_and_named() {
    let run = run_in(&[("PATH", "")], "bench controller 256-clients-etcd", "").ends_with(7);
    assert_eq!(run.stderr, "256-clients-etcd: skipped: etcd is not installed\n");
}
