//! `explain`: reasons, and the contracts that would fit.

use serde_json::Value;

use crate::command::{contracts, file, requests, wayleave};

const K4: &str = "fat-tree:k=4";

/// The first contract of a plan with this decision or reason.
fn first(list: &str, key: &str, value: &str) -> String {
    let plan = wayleave(&format!("plan -t {K4} -f {list} -o json")).json();
    let requests = plan["requests"].as_array().unwrap();
    let found = requests.iter().rev().find(|request| request[key] == value).unwrap();
    found["name"].as_str().unwrap().to_owned()
}

#[test]
fn an_admitted_contract_is_explained_term_by_term() {
    let list = requests("explain-admitted.yaml", K4, 8, 100);
    let name = first(&list, "decision", "admitted");
    let run = wayleave(&format!("explain {name} -t {K4} -f {list}")).ends_with(0);
    for part in ["admitted", "decided after", "End-to-end delay bound", "guaranteed", "total", "arrival", "service"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let document = wayleave(&format!("explain {name} -t {K4} -f {list} -o json")).ends_with(0).json();
    let request = &document["request"];
    let terms = request["terms"].as_array().unwrap().iter().map(|term| term["delayNs"].as_u64().unwrap());
    assert_eq!(Some(terms.sum::<u64>()), request["boundNs"].as_u64());
    assert!(document["nearest"].is_null() && document["paths"].is_null());
}

#[test]
fn an_explanation_of_a_refusal_lists_obstacles_and_what_would_fit() {
    let list = requests("explain-refused.yaml", K4, 1, 500);
    for reason in ["LATENCY", "RATE"] {
        let name = first(&list, "reason", reason);
        let run = wayleave(&format!("explain {name} -t {K4} -f {list}")).ends_with(3);
        for part in
            ["refused", reason, "Why", "Queues of", "Shortest paths", "Nearest request that would fit", "deadline:"]
        {
            assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
        }
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 110), "{}", run.stdout);
        let document = wayleave(&format!("explain {name} -t {K4} -f {list} -o json")).ends_with(3).json();
        assert_eq!(document["request"]["reason"], reason);
        assert_eq!(document["paths"]["total"], document["paths"]["tried"].as_array().unwrap().len());
        assert!(document["paths"]["tried"].as_array().unwrap().iter().all(|path| path["outcome"] == "blocked"));
        assert!(document["breaks"]["flows"].is_u64());
    }
}

/// Plans everything before a contract and then the contract with one field replaced.
fn with_field(list: &str, name: &str, key: &str, value: &str) -> Option<i32> {
    let text = std::fs::read_to_string(list).unwrap();
    let mut kept = Vec::new();
    for line in text.lines() {
        if !line.contains(&format!("name: {name},")) {
            kept.push(line.to_owned());
            continue;
        }
        let (before, after) = line.split_once(&format!("{key}: ")).unwrap();
        let rest = &after[after.find([',', ' ']).unwrap()..];
        kept.push(format!("{before}{key}: {value}{rest}"));
        break;
    }
    let path = file("explain-one-more.yaml", kept.join("\n") + "\n");
    let run = wayleave(&format!("explain {name} -t {K4} -f {path} -o json"));
    run.code
}

#[test]
fn the_nearest_request_fits_and_one_step_more_does_not() {
    let list = requests("explain-nearest.yaml", K4, 1, 400);
    let plan = wayleave(&format!("plan -t {K4} -f {list} -o json")).json();
    let refused = |request: &&Value| request["decision"] == "refused";
    let names: Vec<&str> = plan["requests"]
        .as_array()
        .unwrap()
        .iter()
        .filter(refused)
        .map(|r| r["name"].as_str().unwrap())
        .take(3)
        .collect();
    let mut tested = 0;
    for name in names {
        let nearest = &wayleave(&format!("explain {name} -t {K4} -f {list} -o json")).json()["nearest"];
        for (key, field, unit, step) in
            [("burst", "burstBytes", "B", 1i64), ("rate", "rateBps", "bit", 1), ("deadline", "deadlineNs", "ns", -1)]
        {
            let Some(value) = nearest[field].as_i64() else { continue };
            assert_eq!(with_field(&list, name, key, &format!("{value}{unit}")), Some(0), "{name} {key}");
            assert_eq!(with_field(&list, name, key, &format!("{}{unit}", value + step)), Some(3), "{name} {key}");
            tested += 1;
        }
    }
    assert!(tested > 0);
}

#[test]
fn an_explanation_of_a_contract_in_frame_bytes_uses_frame_bytes() {
    let item = |burst: &str| {
        format!(
            "name: a, from: h1, to: h2, rate: 1Mbit, burst: {burst}, deadline: 2ms, accounting: frame, minFrame: 100B"
        )
    };
    let list = file("explain-frame.yaml", contracts(&[&item("90kB")]));
    let document = wayleave(&format!("explain a -t {K4} -f {list} -o json")).ends_with(3).json();
    let burst = document["nearest"]["burstBytes"].as_u64().unwrap();
    for (bytes, code) in [(burst, 0), (burst + 1, 3)] {
        let list = file("explain-frame-again.yaml", contracts(&[&item(&format!("{bytes}B"))]));
        wayleave(&format!("explain a -t {K4} -f {list}")).ends_with(code);
    }
}

#[test]
fn a_contract_that_can_never_be_met_is_located_in_its_file() {
    let list =
        file("explain-never.yaml", contracts(&["name: a, from: h1, to: h9, rate: 1Mbit, burst: 300B, deadline: 10us"]));
    let run = wayleave(&format!("explain a -t {K4} -f {list}")).ends_with(3);
    assert!(run.stderr.contains("explain-never.yaml:5:"), "{}", run.stderr);
    assert!(run.stdout.contains("Shortest paths with their best queues (all 4)"), "{}", run.stdout);
    assert!(run.stdout.contains("too slow: its fastest queues have a bound of 1 ms"), "{}", run.stdout);
    assert!(run.stdout.contains("deadline:  1ms"), "{}", run.stdout);
}

#[test]
fn a_misspelt_name_is_an_error_with_the_nearest() {
    let list = file(
        "explain-typo.yaml",
        contracts(&["name: clock, from: h1, to: h9, rate: 1Mbit, burst: 300B, deadline: 2ms"]),
    );
    let run = wayleave(&format!("explain clcok -t {K4} -f {list}")).ends_with(2);
    assert!(run.stderr.contains("did you mean \"clock\"?"), "{}", run.stderr);
}
