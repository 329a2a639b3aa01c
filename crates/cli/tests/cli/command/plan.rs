//! `plan`: the table, the document, and the options.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::command::{contracts, fed, file, requests, wayleave};

const K4: &str = "fat-tree:k=4";
const GOOD: &str = "name: ptp, from: h1, to: h9, rate: 220kbit, burst: 300B, deadline: 2ms";
const TOO_FAST: &str = "name: flood, from: h1, to: h2, rate: 2Gbit, burst: 1500B, deadline: 2ms";

#[test]
fn admitted_contracts_exit_with_0_and_show_route_and_bound() {
    let list = file("plan-good.yaml", contracts(&[GOOD]));
    let run = wayleave(&format!("plan -t {K4} -f {list}")).ends_with(0);
    assert!(run.stdout.contains("h1 -[0]- pod1-edge1"), "{}", run.stdout);
    assert!(run.stdout.contains("1.8 ms / 2 ms"), "{}", run.stdout);
    let published = wayleave(&format!("plan -t {K4} -f {list} --routing least-delay")).ends_with(0);
    assert!(published.stdout.contains(" 1 ms / 2 ms"), "{}", published.stdout);
    assert!(run.stdout.contains("1 admitted, 0 refused"), "{}", run.stdout);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_refusal_exits_with_3_and_shows_the_remaining_capacity() {
    let list = file("plan-refused.yaml", contracts(&[GOOD, TOO_FAST]));
    let run = wayleave(&format!("plan -t {K4} -f {list} -o json")).ends_with(3);
    let refused = &run.json()["requests"][1];
    assert_eq!((&refused["decision"], &refused["reason"]), (&"refused".into(), &"RATE".into()));
    assert_eq!(refused["message"], "Queue 0 of h1->pod1-edge1 has 999.7 Mbit/s left, but 2 Gbit/s is required.");
    assert_eq!(refused["binding"]["limit"], "rate");
    assert_eq!(refused["binding"]["left_bps"], 999_780_000);
    assert!(refused["route"].is_null() && refused["bound_ns"].is_null());
}

#[test]
fn no_line_of_a_table_is_wider_than_100_columns() {
    let list = requests("plan-wide.yaml", K4, 1, 400);
    let run = wayleave(&format!("plan -t {K4} -f {list}")).ends_with(3);
    assert!(run.stdout.contains("... and 340 more"), "{}", run.stdout);
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
    let all = wayleave(&format!("plan -t {K4} -f {list} --all")).ends_with(3);
    assert!(all.stdout.lines().count() > run.stdout.lines().count() && !all.stdout.contains(" more ("));
    assert!(!run.stdout.contains('\u{1b}'), "colours where no terminal is");
}

/// Every number of a document that follows from its others.
fn assert_consistent(plan: &Value) {
    let list = |key: &str| plan[key].as_array().unwrap();
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}"));
    let mut reserved: BTreeMap<String, u64> = BTreeMap::new();
    let mut refused = 0;
    for request in list("requests") {
        let Some(bound) = request["bound_ns"].as_u64() else {
            refused += 1;
            continue;
        };
        let terms: u64 = request["terms"].as_array().unwrap().iter().map(|term| number(&term["delay_ns"])).sum();
        assert_eq!(terms, bound, "{request}");
        assert!(bound <= number(&request["deadline_ns"]), "{request}");
        for hop in request["route"].as_array().unwrap() {
            let queue = format!("{}:{}", hop["link"], hop["queue"]);
            *reserved.entry(queue).or_default() += number(&request["reserved"]["rate_bps"]);
        }
    }
    assert_eq!(number(&plan["summary"]["refused"]), refused);
    let reasons = plan["summary"]["by_reason"].as_object().unwrap();
    assert_eq!(reasons.values().map(number).sum::<u64>(), refused);
    for queue in list("queues") {
        let inputs = queue["inputs"].as_array().unwrap();
        let rate: u64 = inputs.iter().map(|input| number(&input["rate_bps"])).sum();
        let expected = reserved.remove(&format!("{}:{}", queue["link"], queue["queue"])).unwrap_or(0);
        assert_eq!(rate, expected, "{queue}");
        assert!(number(&queue["delay_bound_ns"]) <= number(&queue["budget_ns"]), "{queue}");
        assert!(number(&queue["backlog_bound_bytes"]) <= number(&queue["buffer_bytes"]), "{queue}");
        assert_eq!(queue["delay_ns"].as_f64().unwrap().ceil() as u64, number(&queue["delay_bound_ns"]), "{queue}");
        assert_eq!(inputs.is_empty(), number(&queue["flows"]) == 0, "{queue}");
    }
    assert!(reserved.is_empty(), "{reserved:?}");
}

#[test]
fn every_number_of_the_document_is_consistent_with_the_others() {
    for scenario in [1, 8] {
        let list = requests(&format!("plan-numbers-{scenario}.yaml"), K4, scenario, 700);
        let run = wayleave(&format!("plan -t {K4} -f {list} -o json"));
        let plan = run.json();
        assert_eq!(plan["requests"].as_array().unwrap().len(), 700);
        // 80 ports of switches with seven queues for contracts, 16 of hosts with one.
        assert_eq!(plan["queues"].as_array().unwrap().len(), 80 * 7 + 16);
        assert_eq!(plan["topology"]["links"], 96);
        assert_consistent(&plan);
    }
}

#[test]
fn constants_of_nodes_and_links_are_separate_terms() {
    let network = file(
        "plan-constants.yaml",
        "apiVersion: wayleave/v1
kind: Topology
metadata: { name: slow }
spec:
  defaults: { delay: 3us }
  nodes:
    - { name: s1, kind: switch, processing: 7us }
    - { name: h1, kind: host, processing: 11us }
    - { name: h9, kind: host, processing: 13us }
  links: [ { between: [h1, s1] }, { between: [s1, h9] } ]
",
    );
    let list = file("plan-constants-list.yaml", contracts(&[GOOD]));
    let run = wayleave(&format!("plan -t {network} -f {list} -o json --recheck --routing least-delay")).ends_with(0);
    let request = &run.json()["requests"][0];
    let kinds: Vec<String> = request["terms"].as_array().unwrap().iter().map(|term| term["kind"].to_string()).collect();
    let expected = ["processing", "queue", "propagation", "processing", "queue", "propagation"];
    assert_eq!(kinds, expected.map(|kind| format!("\"{kind}\"")));
    // 0.5 ms and 0.1 ms of budgets; the receiver's processing is no part.
    assert_eq!(request["bound_ns"], 600_000 + 2 * 3_000 + 7_000 + 11_000);
    assert!(run.stderr.contains("sound"), "{}", run.stderr);
}

#[test]
fn rerouting_admits_more_and_names_what_moved() {
    let list = requests("plan-reroute.yaml", K4, 8, 1200);
    let paper = "--routing least-delay";
    let without = wayleave(&format!("plan -t {K4} -f {list} -o json {paper}")).json();
    let with = wayleave(&format!("plan -t {K4} -f {list} -o json --reroute {paper}")).json();
    let admitted = |plan: &Value| plan["summary"]["admitted"].as_u64().unwrap();
    assert!(admitted(&with) > admitted(&without));
    let requests = with["requests"].as_array().unwrap();
    let mover = requests.iter().find(|request| request["moved"].as_array().is_some_and(|moved| !moved.is_empty()));
    let moved = &mover.unwrap()["moved"][0];
    assert!(requests.iter().any(|request| request["name"] == moved["name"]));
    assert_ne!(moved["from"], moved["to"]);
    assert!(mover.unwrap()["activate_after_ns"].as_u64() > Some(0));
    let table = wayleave(&format!("plan -t {K4} -f {list} --reroute --all {paper}"));
    assert!(table.stdout.contains("(moved since)") && table.stdout.contains(" of admitted flows"));
}

#[test]
fn contracts_come_from_several_files_and_from_standard_input() {
    let first = file("plan-first.csv", "name,from,to,rate,burst,deadline\na,h1,h2,1Mbit,300B,2ms\n");
    let second = contracts(&["name: b, from: h1, to: h3, rate: 1Mbit, burst: 300B, deadline: 2ms"]);
    let run = fed(&format!("plan -t {K4} -f {first} -f - -o json"), &second).ends_with(0);
    let names: Vec<Value> =
        run.json()["requests"].as_array().unwrap().iter().map(|request| request["name"].clone()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn options_of_the_model_reach_the_model() {
    let list = file("plan-model.yaml", contracts(&[GOOD]));
    let model = |options: &str| wayleave(&format!("plan -t {K4} -f {list} -o json {options}")).json()["model"].clone();
    let published = model("--model published");
    assert_eq!(published["residual"], "first-slope");
    assert_eq!(published["max_frame_bytes"], 1530);
    assert_eq!((&published["compare"], &published["jitter"]), (&"strict".into(), &"ordered".into()));
    assert_eq!((&published["overhead"], &published["best_effort"]), (&false.into(), &false.into()));
    let options = "--residual full --max-frame mtu --overhead on --tags 3 --best-effort on --compare non-strict";
    let mixed = model(&format!("--model published {options} --shaping off --jitter any"));
    let expected = serde_json::json!({
        "residual": "full", "max_frame_bytes": null, "overhead": true, "tags": 3, "best_effort": true,
        "compare": "non-strict", "shaping": false, "jitter": "any",
    });
    assert_eq!(mixed, expected);
}

#[test]
fn budgets_and_buffers_can_be_given() {
    let list = file("plan-budgets.yaml", contracts(&[GOOD]));
    let options = "--budgets 200us,4ms --host-budget 300us --buffer 50kB --host-buffer 1MB";
    let plan = wayleave(&format!("plan -t {K4} -f {list} -o json {options}")).ends_with(0).json();
    assert_eq!(plan["requests"][0]["bound_ns"], 300_000 + 5 * 200_000);
    let queues = plan["queues"].as_array().unwrap();
    assert_eq!(queues.len(), 80 * 2 + 16);
    assert!(queues.iter().all(|queue| queue["buffer_bytes"] == 50_000 || queue["buffer_bytes"] == 1_000_000));
    let silo = wayleave(&format!("plan -t {K4} -f {list} -o json --scheme silo --silo-budget 150us")).ends_with(0);
    assert_eq!(silo.json()["requests"][0]["bound_ns"], 6 * 150_000);
    assert_eq!(silo.json()["scheme"], serde_json::json!({ "name": "silo", "budget_ns": 150_000, "route": "shortest" }));
}

#[test]
fn a_port_usable_only_by_best_effort_causes_a_warning() {
    let list = file("plan-one-queue.yaml", contracts(&[GOOD]));
    let run = wayleave(&format!("plan -t star:hosts=9,queues=1 -f {list}")).ends_with(3);
    assert!(run.stderr.contains("warning: contracts cannot use s1->h1"), "{}", run.stderr);
    assert!(run.stderr.contains("--best-effort off"), "{}", run.stderr);
    let run = wayleave(&format!("plan -t star:hosts=9,queues=1 -f {list} --best-effort off")).ends_with(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn a_reader_that_stops_early_causes_no_error() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let list = requests("plan-pipe.yaml", K4, 8, 500);
    let mut child = Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(["plan", "-t", K4, "-f", &list, "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    // Some bursts of Table 1 are below the smallest frame on the wire.
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.lines().all(|line| line.starts_with("warning: the bursts of ")), "{stderr}");
}

#[test]
fn progress_of_long_work_is_shown_on_request() {
    let list = requests("plan-progress.yaml", "fat-tree:k=8", 1, 3_000);
    let started = std::time::Instant::now();
    let run = wayleave(&format!("plan -t fat-tree:k=8 -f {list} --reroute --reroute-limit 1 --progress"));
    let took_long = started.elapsed().as_secs() >= 3;
    let is_shown = run.stderr.contains(" of 3000, ") && run.stderr.contains(" left");
    assert!(is_shown || !took_long, "{}", run.stderr);
}
