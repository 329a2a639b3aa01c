//! Long commands that Ctrl-C stops: each ends with code 130, names what is missing, and claims nothing that was not tested.
//! `sim` has its own test beside its results.

use std::fs;

use crate::command::{Moment, contracts, file, interrupted, requests};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");

/// Catches: a verdict over all runs, an end after the longest run, and an exit code of a complete verification.
#[test]
fn a_stopped_verification_reports_complete_runs_and_no_verdict() {
    let list = requests("stopped-verify.yaml", "fat-tree:k=4", 8, 400);
    let command = format!("verify -t fat-tree:k=4 -f {list} --effort long --progress");
    let attacks = Moment::Text(", about ");
    let run = interrupted(&command, &attacks).ends_with(130);
    assert!(run.stdout.contains("no violations until the stop, "), "{}", run.stdout);
    assert!(!run.stdout.contains("held") && run.stderr.contains("no guarantee is tested completely"), "{}", run.stderr);
    let json = interrupted(&format!("{command} -o json"), &attacks).ends_with(130).json();
    let runs = |key: &str| json["summary"][key].as_u64();
    assert!(json["summary"]["stopped"] == true && runs("runs") < runs("planned_runs"), "{}", json["summary"]);
    // An injected fault that was not detected until then may be detected later.
    let run = interrupted(&format!("{command} --inject priorities-swapped -o json"), &attacks);
    assert!(matches!(run.code, Some(130 | 4)), "{:?}: {}", run.code, run.stderr);
}

#[test]
fn a_verification_stopped_among_classes_counts_their_promises_as_untested() {
    let list = file(
        "stopped-classes.yaml",
        contracts(&[
            "name: db, bandwidth: { hose: [h1, h4, h6, h8], min: 1500Mbit, max: 3Gbit }",
            "name: copy, bandwidth: { from: h3, to: h7, min: 1Gbit, weight: 300 }",
        ]),
    );
    let command = format!("verify -t {EXAMPLES}/network-fabric.yaml -f {list} --effort long --progress");
    let classes = Moment::Text("minima and objectives, ");
    let run = interrupted(&command, &classes).ends_with(130);
    assert!(run.stdout.contains("of the classes below latency, "), "{}", run.stdout);
    assert!(run.stdout.contains(": no violations until the stop, "), "{}", run.stdout);
    let json = interrupted(&format!("{command} -o json"), &classes).ends_with(130).json();
    assert!(json["summary"]["stopped"] == true && json["classes"]["stopped"] == true, "{json}");
    // Links are attacked after all other runs.
    let untested = json["classes"]["minima"].as_array().unwrap().iter().filter(|one| one["attack"] == "not tested");
    assert!(untested.count() > 0, "{}", json["classes"]["minima"]);
}

/// Catches: a command that ignores Ctrl-C, or ends without a message, before it has results.
#[test]
fn commands_without_partial_results_end_at_once() {
    let list = requests("stopped-none.yaml", "fat-tree:k=8", 8, 4000);
    for command in [
        "tune -t fat-tree:k=8 --candidates 10000".to_owned(),
        format!("analyze -t fat-tree:k=8 -f {list} --all"),
        format!("verify -t fat-tree:k=8 -f {list} --effort long"),
    ] {
        let run = interrupted(&command, &Moment::Start).ends_with(130);
        assert_eq!(run.stderr.lines().last(), Some("stopped before completion; no output was kept"), "{command}");
        assert_eq!(run.stdout, "", "{command}");
    }
}

/// Catches: a measurement that ends after its current runs, which take minutes, and files of an incomplete figure.
#[test]
fn a_stopped_figure_leaves_no_files_and_names_the_way_to_continue() {
    let folder = |name: &str| {
        let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
        let _ = fs::remove_dir_all(&path);
        path
    };
    let (out, runs) = (folder("stopped-figures"), folder("stopped-runs"));
    let command = format!("reproduce ufab-fig17 --servers 128 --out {out}");
    let run = interrupted(&format!("{command} --resume {runs}"), &Moment::Start).ends_with(130);
    assert_eq!(run.stdout, "");
    let last = run.stderr.lines().last().unwrap();
    assert_eq!(last, format!("stopped during ufab-fig17: {runs} holds no complete run of it"));
    let run = interrupted(&command, &Moment::Start).ends_with(130);
    assert!(run.stderr.contains("its runs were not kept; to continue after Ctrl-C, use --resume"), "{}", run.stderr);
    let files = |folder: &str| fs::read_dir(folder).unwrap().count();
    assert_eq!((files(&out), files(&runs)), (0, 0));
}
