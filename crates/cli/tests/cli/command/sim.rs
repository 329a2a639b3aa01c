//! `wayleave sim` and `wayleave trace`: results, files, sweeps, and errors when existing files are an obstacle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::command::{Moment, Run, file, interrupted, wayleave};

/// Two hosts that send 10 Mbit/s each to a third, for 10 ms.
const PACKETS: &str = "apiVersion: wayleave/v1
kind: Scenario
metadata: { name: two-to-one }
spec:
  topology: star:hosts=3,rate=1Gbit
  duration: 10ms
  traffic:
    - { name: control, from: [h1, h2], to: h3, tokenBucket: { rate: 10Mbit, burst: 3000B }, frame: 300B }
";

/// Four runs of random flows, less than a second together.
const SWEEP: &str = "apiVersion: wayleave/v1
kind: Scenario
metadata: { name: loads }
spec:
  topology: star:hosts=4,rate=1Gbit
  duration: 20ms
  traffic: [ { name: web, load: 0.5, sizes: 20kB } ]
  sweep: { seeds: [1, 2], vary: { traffic.web.load: [0.2, 0.6] } }
";

/// A run that ends at once, and one that takes too long to wait for its end.
const ENDLESS: &str = "apiVersion: wayleave/v1
kind: Scenario
metadata: { name: long }
spec:
  topology: star:hosts=3,rate=1Gbit
  duration: 1ms
  traffic: [ { name: bulk, from: h1, to: h3, constantRate: 900Mbit, frame: 1500B } ]
  sweep: { vary: { duration: [1ms, 100000s] } }
";

/// A folder that is not there yet.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    folder
}

/// Every file of a folder with its bytes, in order of their names.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Files that a run leaves in a folder, besides its output.
fn sim(name: &str, scenario: &str, options: &str) -> (Run, PathBuf) {
    let (path, out) = (file(&format!("{name}.yaml"), scenario), folder(name));
    (wayleave(&format!("sim {path} --out {} {options}", out.display())), out)
}

#[test]
fn a_run_prints_its_figures_and_writes_its_report() {
    let (run, out) = sim("sim-packets", PACKETS, "");
    let run = run.ends_with(0);
    let expected = [
        "two-to-one: 10 ms simulated; 3 hosts, 1 switch; seed 1\n",
        // Each host sends its burst of ten, then 300 B every 240 us: 51 packets in 10 ms.
        "control   102    10.24 us  48.24 us  50.4 us  24.48 Mbit/s     0       0            0\n",
        "busiest links",
        "longest queues",
        &format!("report: {}", out.join("report.html").display()),
    ];
    for part in expected {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
    assert!(run.stderr.contains(" packet-hops in "), "{}", run.stderr);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for part in ["two-to-one", "kind: Scenario", "--out", "Busiest links", "input hash"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(content(&out.join("runs")).len(), 1);
}

/// That what is counted adds up.
fn assert_consistent(run: &Value) {
    for traffic in run["traffic"].as_array().unwrap() {
        let number = |key: &str| traffic[key].as_u64().unwrap();
        assert!(number("delivered") + number("drops") <= number("sent"), "{traffic}");
        let delay = &traffic["delay_ps"];
        assert_eq!(delay["count"].as_u64().unwrap(), number("delivered"), "{traffic}");
        let order = ["min", "p50", "p90", "p99", "p99_9", "max"].map(|key| delay[key].as_u64().unwrap());
        assert!(order.is_sorted(), "{order:?}");
        assert_eq!(delay["cdf"].as_array().unwrap().last().unwrap()[1], 1.0);
    }
    let hops: u64 =
        run["queues"].as_array().unwrap().iter().map(|queue| queue["wait_ps"]["count"].as_u64().unwrap()).sum();
    assert!(hops <= run["hops"].as_u64().unwrap() + 1, "{hops} of {}", run["hops"]);
}

#[test]
fn the_document_describes_its_run_and_adds_up() {
    let path = file("sim-json.yaml", PACKETS);
    let run = wayleave(&format!("sim {path} -o json")).ends_with(0);
    let document = run.json();
    assert_eq!((&document["partial"], &document["planned_runs"]), (&false.into(), &1.into()));
    let result = &document["runs"][0];
    assert_eq!(result["wayleave"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&result["seed"], &result["ending"]), (&1.into(), &"complete".into()));
    assert_eq!(result["input_hash"], document["input_hash"]);
    assert_eq!(result["replay"], format!("wayleave sim {path} --seed 1"));
    assert_consistent(result);
    // Ten packets of 300 B from each of two hosts, the last one behind 19 others on the last link: at
    // 1 Gbit/s 2.4 us each, and 2.4 us on the first link.
    assert_eq!(result["traffic"][0]["delay_ps"]["max"], 2_400_000 * 21);
}

#[test]
fn json_output_alone_writes_no_files() {
    let here = folder("sim-nowhere");
    fs::create_dir_all(&here).unwrap();
    let path = file("sim-nowhere.yaml", PACKETS);
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    let output = command.args(["sim", &path, "-o", "json"]).current_dir(&here).output().unwrap();
    assert!(output.status.success());
    assert_eq!(content(&here), []);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (one, one_folder) = sim("sim-threads-1", SWEEP, "--threads 1 -o json");
    let (three, three_folder) = sim("sim-threads-3", SWEEP, "--threads 3 -o json");
    let same = |text: &str| text.replace("sim-threads-3", "sim-threads-1");
    assert_eq!(one.ends_with(0).stdout, same(&three.ends_with(0).stdout));
    let texts = |folder: &Path| -> Vec<(String, String)> {
        content(&folder.join("runs"))
            .into_iter()
            .map(|(name, bytes)| (name, same(&String::from_utf8(bytes).unwrap())))
            .collect()
    };
    assert_eq!(texts(&one_folder), texts(&three_folder));
    assert_eq!(texts(&one_folder).len(), 4);
    let page = |folder: &Path| same(&fs::read_to_string(folder.join("report.html")).unwrap());
    assert_eq!(page(&one_folder), page(&three_folder));
}

#[test]
fn every_run_of_a_sweep_is_another_and_can_be_replayed_alone() {
    let (run, _) = sim("sim-replay", SWEEP, "-o json");
    let document = run.ends_with(0).json();
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().enumerate().all(|(at, run)| runs[..at].iter().all(|other| other["hops"] != run["hops"])));
    runs.iter().for_each(assert_consistent);
    let third = &runs[2];
    assert_eq!(third["parameters"], serde_json::json!([{ "path": "traffic.web.load", "value": "0.6" }]));
    let command = third["replay"].as_str().unwrap().strip_prefix("wayleave ").unwrap();
    let again = wayleave(&format!("{command} -o json")).ends_with(0).json();
    assert_eq!(again["runs"], serde_json::json!([third]));
}

#[test]
fn a_sweep_prints_means_over_its_seeds() {
    let (run, out) = sim("sim-means", SWEEP, "");
    let run = run.ends_with(0);
    assert!(run.stdout.starts_with("loads: 4 runs of 2 sets of parameters, at most 2 seeds each\n"), "{}", run.stdout);
    let rows: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("0.")).collect();
    assert_eq!(rows.len(), 2, "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for part in
        ["A sweep of 4 runs over traffic.web.load.", "p99 completion time", "Every run", "--only traffic.web.load=0.6"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn resuming_runs_missing_results_and_keeps_existing_ones() {
    let (first, out) = sim("sim-resume", SWEEP, "-o json");
    let first = first.ends_with(0);
    let runs = content(&out.join("runs"));
    let path = |index: usize| out.join("runs").join(&runs[index].0);
    // One is missing, one is broken, and one has a mark that a new run would not have.
    fs::remove_file(path(0)).unwrap();
    fs::write(path(1), &runs[1].1[..100]).unwrap();
    let marked = String::from_utf8(runs[2].1.clone()).unwrap().replace("\"peak_packets\":", "\"peak_packets\":77");
    fs::write(path(2), marked).unwrap();
    let again = format!("sim {} --out {} -o json --resume", file("sim-resume.yaml", SWEEP), out.display());
    let second = wayleave(&again).ends_with(0);
    assert!(second.stderr.contains("2 of 4 runs are already complete"), "{}", second.stderr);
    assert!(second.stderr.contains("not a result of a run"), "{}", second.stderr);
    assert!(second.stdout.contains("\"peak_packets\":77"));
    fs::remove_file(path(2)).unwrap();
    let third = wayleave(&again).ends_with(0);
    assert!(third.stderr.contains("3 of 4 runs are already complete"), "{}", third.stderr);
    assert_eq!(third.stdout, first.stdout);
}

#[test]
fn results_of_another_input_are_not_resumed() {
    let (_, out) = sim("sim-changed", SWEEP, "");
    let changed = file("sim-changed.yaml", SWEEP.replace("20kB", "30kB"));
    let run = wayleave(&format!("sim {changed} --out {} --resume", out.display())).ends_with(0);
    assert!(run.stderr.contains("0 of 4 runs are already complete"), "{}", run.stderr);
}

#[test]
fn ctrl_c_keeps_complete_runs_and_marks_the_rest() {
    let (path, out) = (file("sim-stopped.yaml", ENDLESS), folder("sim-stopped"));
    let command = format!("sim {path} --threads 1 --progress -o json --out {}", out.display());
    let run = interrupted(&command, &Moment::Text("1 of 2 runs, ")).ends_with(130);
    let (document, stderr_text) = (run.json(), run.stderr);
    assert_eq!((&document["partial"], &document["planned_runs"]), (&true.into(), &2.into()));
    let endings: Vec<&Value> = document["runs"].as_array().unwrap().iter().map(|run| &run["ending"]).collect();
    assert_eq!(endings, ["complete", "stopped"]);
    assert!(document["runs"][1]["simulated_ns"].as_u64() < document["runs"][1]["duration_ns"].as_u64());
    let resume =
        format!("stopped: 1 of 2 runs are complete; to continue: wayleave sim {path} --out {} --resume", out.display());
    assert!(stderr_text.contains(&resume), "{stderr_text}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("These results are partial: 1 of 2 runs complete."));
}

#[test]
fn a_scenario_larger_than_memory_is_refused_before_it_starts() {
    let scenario = format!("{PACKETS}  record: {{ trace: 1000000000000 }}\n");
    let trace = folder("sim-memory.trace");
    let (run, out) = sim("sim-memory", &scenario, &format!("--trace {}", trace.display()));
    let run = run.ends_with(2);
    assert!(run.stderr.starts_with("error: not enough memory: a run of "), "{}", run.stderr);
    assert!(run.stderr.contains(" takes about 32"), "{}", run.stderr);
    assert!(run.stderr.contains(" are available\n  hint: record fewer events (record.trace)"), "{}", run.stderr);
    assert!(!out.exists() && !trace.exists());
    // The trace is not asked for, so nothing is recorded.
    sim("sim-memory", &scenario, "").0.ends_with(0);
}

#[test]
fn a_trace_is_written_shown_and_captured() {
    let out = folder("sim-trace");
    let (trace, capture) = (out.join("packets.trace"), out.join("packets.pcap"));
    fs::create_dir_all(&out).unwrap();
    let path = file("sim-trace.yaml", PACKETS);
    let options = format!("--trace {} --pcap {} -o json", trace.display(), capture.display());
    let run = wayleave(&format!("sim {path} {options}")).ends_with(0);
    let document = run.json();
    let shown = wayleave(&format!("trace show {}", trace.display())).ends_with(0);
    let hash = document["input_hash"].as_str().unwrap();
    let head = format!("# wayleave {}, seed 1, input {hash}\n", env!("CARGO_PKG_VERSION"));
    assert!(shown.stdout.starts_with(&head), "{}", shown.stdout);
    let delivered = shown.stdout.lines().filter(|line| line.contains("  delivered  ")).count();
    assert_eq!(delivered as u64, document["runs"][0]["traffic"][0]["delivered"].as_u64().unwrap());
    // The classic format with nanoseconds.
    assert_eq!(fs::read(&capture).unwrap()[..4], 0xa1b2_3c4d_u32.to_le_bytes());
    // Recording changes nothing else.
    let without = wayleave(&format!("sim {path} -o json")).ends_with(0);
    assert_eq!(without.stdout, run.stdout);
    // Half a trace is none.
    let whole = fs::read(&trace).unwrap();
    fs::write(&trace, &whole[..whole.len() / 2]).unwrap();
    let cut = wayleave(&format!("trace show {}", trace.display())).ends_with(2);
    assert!(cut.stderr.contains("packets.trace: this trace is truncated: it ends after "), "{}", cut.stderr);
    assert_eq!(cut.stdout, "");
}

#[test]
fn a_trace_needs_one_run_and_a_place() {
    let one = file("sim-trace-one.yaml", PACKETS);
    let sweep = file("sim-trace-sweep.yaml", SWEEP);
    let bad = |arguments: &str, expected: &str| {
        let run = wayleave(&format!("sim {arguments}")).ends_with(2);
        assert_eq!(run.stderr.trim_end(), expected);
    };
    let choose = "error: a trace covers one run, but there are 4: choose one with --only and --seed";
    bad(&format!("{sweep} --trace t"), choose);
    bad(&format!("{one} --trace no/such/t"), "error: no/such/t cannot be written: there is no directory no/such");
    bad(&format!("{one} --trace /dev/full"), "error: /dev/full cannot be written: it exists and is not a regular file");
}

/// Runs in a shell in which no file may grow beyond some kilobytes: what a full disk looks like to a program.
#[cfg(target_os = "linux")]
fn on_a_full_disk(kilobytes: u32, arguments: &str) -> (Option<i32>, String) {
    // A program that does not ignore the signal is ended by it.
    let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" {arguments}");
    let output = Command::new("bash").args(["-c", &script, env!("CARGO_BIN_EXE_wayleave")]).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_no_partial_file() {
    let path = file("sim-full.yaml", PACKETS);
    let out = folder("sim-full");
    fs::create_dir_all(&out).unwrap();
    let trace = out.join("packets.trace");
    let (code, stderr) = on_a_full_disk(4, &format!("sim {path} -o json --trace {}", trace.display()));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.starts_with(&format!("cannot write {}: ", trace.display())) || stderr.contains("cannot write"),
        "{stderr}"
    );
    assert_eq!(content(&out), []);
    let (code, stderr) = on_a_full_disk(1, &format!("sim {path} --out {}", out.display()));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains(" could not be written: "), "{stderr}");
    assert_eq!(content(&out.join("runs")), []);
    assert!(!out.join("report.html").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error() {
    let path = file("sim-full-out.yaml", PACKETS);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    let output = command.args(["sim", &path, "-o", "json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the output could not be written: No space left on device"), "{stderr}");
}

#[test]
fn an_unknown_value_of_a_sweep_cannot_be_chosen() {
    let sweep = file("sim-only.yaml", SWEEP);
    let one = file("sim-only-one.yaml", PACKETS);
    let bad = |arguments: &str, expected: &str| {
        let run = wayleave(&format!("sim {arguments}")).ends_with(2);
        assert_eq!(run.stderr.trim_end(), expected);
    };
    let none = "error: --only chooses runs of a sweep, and this scenario has no parameters to vary";
    bad(&format!("{one} --only a=b"), none);
    let path = "error: this sweep does not vary \"load\": it varies traffic.web.load";
    bad(&format!("{sweep} --only load=0.2"), path);
    let value = "error: no run has traffic.web.load = 0.3: its values are 0.2, 0.6";
    bad(&format!("{sweep} --only traffic.web.load=0.3"), value);
}

#[test]
fn a_wrong_scenario_is_an_error_with_a_place_and_nothing_is_run() {
    let (run, out) = sim("sim-wrong", &PACKETS.replace("10Mbit", "10mbps"), "");
    let run = run.ends_with(2);
    assert!(run.stderr.contains("sim-wrong.yaml:8:"), "{}", run.stderr);
    assert!(run.stderr.contains("\"10mbps\" can mean bits or bytes"), "{}", run.stderr);
    assert!(!out.exists());
}

/// The text of the first block of a kind after a line of docs/theory/simulation.md.
fn block<'a>(page: &'a str, after: &str, kind: &str) -> &'a str {
    let rest = page.split_once(after).unwrap().1;
    rest.split_once(&format!("```{kind}\n")).unwrap().1.split_once("```").unwrap().0
}

#[test]
fn the_documentation_shows_the_printed_output() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/theory/simulation.md");
    let page = fs::read_to_string(path).unwrap();
    let scenario = block(&page, "## An example", "yaml");
    let sweep = block(&page, "## Sweeps", "yaml");
    for (name, text, after) in [("control", scenario, "## An example"), ("control-sweep", sweep, "## Sweeps")] {
        let (run, out) = sim(&format!("sim-doc-{name}"), text, "");
        let printed = run.ends_with(0).stdout.replace(out.to_str().unwrap(), "wayleave-sim");
        assert_eq!(printed, block(&page, after, "text"));
    }
    let trace = PathBuf::from(file("sim-doc.trace", ""));
    let file = file("sim-doc.yaml", scenario);
    wayleave(&format!("sim {file} -o json --trace {}", trace.display())).ends_with(0);
    let shown = wayleave(&format!("trace show {}", trace.display())).ends_with(0).stdout;
    assert!(shown.starts_with(block(&page, "## Packet traces", "text")), "{}", &shown[..300]);
}

#[test]
fn a_run_reports_missed_guarantees_and_the_number_of_probes() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/scenario-ufab.yaml");
    let shown = wayleave(&format!("sim {example} --out {}", folder("sim-ufab").display())).ends_with(0).stdout;
    assert!(shown.contains("missed sending") && shown.contains("\nprobes: "), "{shown}");
    let run = wayleave(&format!("sim {example} -o json --out {}", folder("sim-ufab-json").display())).ends_with(0);
    let sharing = &run.json()["runs"][0]["sharing"];
    assert!(sharing["probes"].as_u64() > Some(1_000) && sharing["messages"].as_u64() == Some(0), "{sharing}");
}

#[test]
fn a_run_reports_the_rates_of_services() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/scenario-sharing.yaml");
    let shown = wayleave(&format!("sim {example} --out {}", folder("sim-sharing").display())).ends_with(0).stdout;
    assert!(shown.contains("lost at limiters") && shown.contains("messages between hosts and brokers: "), "{shown}");
    let run = wayleave(&format!("sim {example} -o json --out {}", folder("sim-sharing-json").display())).ends_with(0);
    let sharing = run.json()["runs"][0]["sharing"].clone();
    assert!(sharing["messages"].as_u64() > Some(100), "{sharing}");
    let services = sharing["services"].as_array().unwrap();
    let arrived = |name: &str| -> Vec<u64> {
        let service = services.iter().find(|service| service["name"] == name).unwrap();
        let rack = service["racks"].as_array().unwrap().iter().find(|rack| !rack["receive"].is_null()).unwrap();
        rack["receive"]["bytes"].as_array().unwrap().iter().map(|bytes| bytes.as_u64().unwrap()).collect()
    };
    // In the last 50 ms b has at least its 6 Gbit/s of 12, and a no more than its 6.
    let mean = |bytes: Vec<u64>| bytes[25..].iter().sum::<u64>() as f64 * 8.0 / (bytes.len() - 25) as f64 / 0.01;
    let (a, b) = (mean(arrived("a")), mean(arrived("b")));
    assert!((1e9..6.1e9).contains(&a) && (5.9e9..12.0e9).contains(&b), "{a} {b}");
}

/// Four long flows across the pods of a fat tree, whose parts can run by themselves.
const PODS: &str = "apiVersion: wayleave/v1
kind: Scenario
metadata: { name: pods }
spec:
  topology: fat-tree:k=4,rate=1Gbit,delay=1us
  duration: 10ms
  traffic: [ { name: bulk, pairs: [[h1, h9], [h2, h13], [h10, h5], [h16, h4]], sizes: endless } ]
";

#[test]
fn several_threads_give_the_same_files_and_a_fallback_to_one_has_a_reason() {
    let has_reason = |run: &Run| run.stderr.contains(" one thread: ");
    let [alone, beside] = ["1", "2"].map(|threads| {
        let (run, out) = sim(&format!("sim-threads-{threads}"), PODS, &format!("--threads-per-run {threads}"));
        assert!(!has_reason(&run.ends_with(0)), "a run of {threads}");
        let (_, text) = content(&out.join("runs")).pop().unwrap();
        let mut run: Value = serde_json::from_slice(&text).unwrap();
        // The replay command names the file.
        run["replay"] = Value::Null;
        run
    });
    assert!(alone["hops"].as_u64().unwrap() > 10_000, "{}", alone["hops"]);
    assert_eq!(alone, beside);

    let (web, _) = sim("sim-threads-web", SWEEP, "--threads-per-run 2");
    assert!(has_reason(&web.ends_with(0)));
    let (zero, _) = sim("sim-threads-0", PODS, "--threads-per-run 0");
    assert!(zero.ends_with(2).stderr.contains("0 is not in 1.."));
}

/// Of one kind of traffic some arrives. Pairs of which nothing does are still named, and so are flows after the end.
#[test]
fn traffic_that_never_arrives_is_named_by_its_endpoints() {
    let scenario = |name: &str, rest: &str| {
        let text = format!(
            "apiVersion: wayleave/v1\nkind: Scenario\nmetadata: {{ name: x }}\nspec:\n  topology: star:hosts=4,rate=1Gbit\n  duration: 10ms\n  traffic:\n{rest}"
        );
        file(name, text)
    };
    let run =
        |path: &str, exit: i32| wayleave(&format!("sim {path} --out {}", folder("in-vain").display())).ends_with(exit);
    let failed = "  outages:\n    - { at: 0ns, fail: \"h4->s1\" }\n";
    let packets = "    - { name: u, pairs: [[h4, h3], [h2, h3]], constantRate: 100Mbit }\n";
    let flows = "    - { name: u, from: [h2, h4], to: h3, sizes: 1MB }\n";
    for (name, traffic) in [("in-vain-packets.yaml", packets), ("in-vain-flows.yaml", flows)] {
        let stderr_text = run(&scenario(name, &format!("{traffic}{failed}")), 7).stderr;
        let expected = "traffic \"u\" delivered nothing in the measured period from h4 to h3\n";
        assert!(stderr_text.contains(expected), "{stderr_text}");
        run(&scenario(name, traffic), 0);
    }
    let late = "    - { name: u, flows: [{ at: 1ms, from: h1, to: h2, size: 1kB }, { at: 10ms, from: h1, to: h3, size: 1kB }] }\n";
    let stderr_text = run(&scenario("in-vain-late.yaml", late), 7).stderr;
    assert!(
        stderr_text.contains("one listed flow of the traffic \"u\" begins after the end of the run\n"),
        "{stderr_text}"
    );
}
