//! `wayleave analyze`: the example of the documents, and admitted contracts.

use serde_json::Value;

use crate::command::{file, wayleave};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/port-network.json");

fn examples(file: &str) -> String {
    format!("{}/../../docs/examples/{file}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_document_shows_the_output_of_the_example() {
    let run = wayleave(&format!("analyze {EXAMPLE}")).ends_with(0);
    let document =
        std::fs::read_to_string(format!("{}/../../docs/theory/analysis.md", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let shown = run.stdout.split("\n\n*").next().unwrap();
    assert!(document.contains(shown), "{shown}");
}

#[test]
fn bounds_are_exact_in_json_and_the_tightest_is_named() {
    let run = wayleave(&format!("analyze {EXAMPLE} --flow camera --shaping off -o json")).ends_with(0);
    let json = run.json();
    let flow = &json["flows"][0];
    // s1: 12 us + (1500 + 6000 + 300) B at 100 Mbit/s = 636 us. s2: the bursts are 1500 B + 2 Mbit/s 636 us = 1659 B, 7590 B and
    // 339.75 B, with 9000 B of backup: 12 us + 18588.75 B at 100 Mbit/s = 1499.1 us.
    assert_eq!(flow["bounds"]["tfa"], serde_json::json!({ "exact": "2135100 ns", "ns": 2_135_100 }));
    assert_eq!(flow["path"], serde_json::json!(["s1", "s2"]));
    assert_eq!(flow["tightest"], serde_json::json!(["lp"]));
    assert_eq!(json["servers"].as_array().map(Vec::len), Some(3));
}

/// Exported files are read again, and give equal bounds; of contracts no smaller ones.
#[test]
fn exported_files_give_the_same_bounds() {
    let bounds = |run: serde_json::Value| {
        let flows = run["flows"].as_array().unwrap().clone();
        flows.into_iter().map(|flow| flow["bounds"]["tfa"]["ns"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let path = file("exported.json", "");
    let first = wayleave(&format!("analyze {EXAMPLE} -o json --analysis tfa --export {path}")).ends_with(0).json();
    let again = wayleave(&format!("analyze {path} -o json --analysis tfa")).ends_with(0).json();
    assert_eq!(bounds(first.clone()), bounds(again));
    let path = file("exported.xml", "");
    let run = wayleave(&format!("analyze {EXAMPLE} -o json --analysis tfa --export {path}")).ends_with(0);
    assert!(run.stderr.contains("written with less: 1, so bounds"), "a flow has two paths: {}", run.stderr);
    let again = bounds(wayleave(&format!("analyze {path} -o json --analysis tfa")).ends_with(0).json());
    assert!(bounds(first.clone()).iter().zip(&again).all(|(first, again)| first <= again), "{first} {again:?}");
    let path = file("contracts.json", "");
    let (network, contracts) = (examples("network.yaml"), examples("contracts.yaml"));
    let options = format!("-t {network} -f {contracts} --shaping off -o json --analysis tfa --export {path}");
    let admitted = bounds(wayleave(&format!("analyze {options}")).ends_with(0).json());
    let exported = bounds(wayleave(&format!("analyze {path} -o json --analysis tfa")).ends_with(0).json());
    assert_eq!(admitted.len(), exported.len());
    for (admitted, exported) in admitted.iter().zip(&exported) {
        assert!(exported >= admitted && *exported < admitted + 10.0, "{admitted} {exported}");
    }
}

#[test]
fn a_missing_bound_has_a_reason() {
    let text = std::fs::read_to_string(EXAMPLE).unwrap().replace("\"rates\": [20]", "\"rates\": [99]");
    let path = file("overloaded.json", text);
    let run = wayleave(&format!("analyze {path}")).ends_with(0);
    assert!(run.stdout.contains("[1] no bound: server \"s1\" gets more than it serves"), "{}", run.stdout);
    let run = wayleave(&format!("analyze {EXAMPLE} --multiplexing arbitrary --analysis lp")).ends_with(0);
    assert!(run.stdout.contains("no bound: the linear program is for FIFO"), "{}", run.stdout);
}

#[test]
fn units_of_thousandths_are_refused() {
    let text = std::fs::read_to_string(EXAMPLE).unwrap();
    assert!(text.contains("\"Mbps\""), "{text}");
    let path = file("thousandths.json", text.replace("\"Mbps\"", "\"mbps\""));
    let run = wayleave(&format!("analyze {path}")).ends_with(2);
    assert!(run.stderr.contains("write Mbps if millions are meant"), "{}", run.stderr);
    assert!(!run.stderr.contains("serves nothing"), "{}", run.stderr);
}

/// Every queue's delay is within its budget, so that what is analysed is never above what admission promises.
#[test]
fn analyses_of_admitted_contracts_are_within_their_budgets() {
    let command = format!("analyze -t {} -f {} -o json", examples("network.yaml"), examples("contracts.yaml"));
    let run = wayleave(&command).ends_with(0);
    assert!(run.stderr.contains("refused of 3 contracts: 1"), "{}", run.stderr);
    let json = run.json();
    let flows = json["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    for flow in flows {
        let nanos = |value: &Value| value["ns"].as_u64().unwrap();
        assert!(nanos(&flow["bounds"]["lp"]) <= nanos(&flow["bounds"]["tfa"]), "{flow}");
        assert!(nanos(&flow["bounds"]["tfa"]) <= nanos(&flow["budgets"]), "{flow}");
        assert!(flow["bounds"]["pmoo"]["none"].as_str().unwrap().contains("strict"), "{flow}");
    }
}

#[test]
fn wrong_inputs_are_reported_with_their_places() {
    let text = std::fs::read_to_string(EXAMPLE).unwrap().replace("\"path\": [\"s2\"", "\"path\": [\"s22\"");
    let path = file("unknown-server.json", text);
    let run = wayleave(&format!("analyze {path}")).ends_with(2);
    assert!(run.stderr.contains("there is no server \"s22\", did you mean \"s2\"?"), "{}", run.stderr);
    let run = wayleave(&format!("analyze {EXAMPLE} --flow contrl")).ends_with(2);
    assert!(run.stderr.contains("did you mean \"control\"?"), "{}", run.stderr);
    wayleave("analyze").ends_with(2);
    wayleave(&format!("analyze {EXAMPLE} -t star:hosts=3")).ends_with(2);
}
