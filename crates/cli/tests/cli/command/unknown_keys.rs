//! An unknown key in a file is refused by name, by every reader: documents, plans, and the list of all readers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::{contracts, file, wayleave};

const KEY: &str = "unheardOf";

/// A star with classes.
const STAR: &str = "star:hosts=4,rate=10Gbit,delay=4us,queues=8,buffer=500kB";

/// Returns copies of a document, each with one unknown key: one for every object, of a list only for its first items.
fn with_unknown_keys(document: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    objects(document, String::new(), &mut pointers);
    let copy = |pointer: String| {
        let mut copy = document.clone();
        copy.pointer_mut(&pointer).unwrap()[KEY] = 1.into();
        (pointer, copy)
    };
    pointers.into_iter().map(copy).collect()
}

/// Number of items of a list that are tried.
const ITEMS: usize = 3;

fn objects(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| objects(value, format!("{pointer}/{key}"), found));
            found.push(pointer);
        }
        Value::Array(items) => {
            let tried = items.iter().enumerate().take(ITEMS);
            tried.for_each(|(at, value)| objects(value, format!("{pointer}/{at}"), found));
        }
        _ => {}
    }
}

fn document(kind: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "wayleave/v1", "kind": kind, "metadata": { "name": "a" }, "spec": spec })
}

fn documents() -> Vec<(&'static str, String, Value)> {
    let latency = json!({ "name": "l", "from": "h1", "to": "h2", "rate": "1Mbit", "burst": "1500B", "deadline": "5ms",
        "match": { "protocol": "udp", "destinationPort": 80 } });
    let lists = json!({ "contracts": [
        latency.clone(),
        { "name": "b", "bandwidth": { "hose": ["h1", "h2"], "min": "100Mbit" } },
        { "name": "o", "objective": { "goal": "completion", "members": ["h1", "h2"], "weight": "10Mbit" } },
        { "name": "e", "bestEffort": { "members": ["h1", "h2"] } },
    ] });
    let links = json!([
        { "between": ["h1", "s1"], "queues": [{ "budget": "1ms", "buffer": "100kB" }] }, { "between": ["h2", "s1"] }
    ]);
    let nodes =
        json!([{ "name": "s1", "kind": "switch" }, { "name": "h1", "kind": "host" }, { "name": "h2", "kind": "host" }]);
    let on = format!("-t {STAR}");
    vec![
        ("Contracts", format!("plan {on} -f FILE"), document("Contracts", &lists)),
        (
            "Events",
            format!("plan {on} --events FILE"),
            document(
                "Events",
                &json!({ "events": [
            { "at": "0s", "add": latency }, { "at": "1s", "release": "l" }
        ] }),
            ),
        ),
        (
            "Topology",
            "topology show FILE".to_owned(),
            document(
                "Topology",
                &json!({
                    "defaults": { "rate": "1Gbit" }, "nodes": nodes, "links": links
                }),
            ),
        ),
        (
            "Topology",
            "topology show FILE".to_owned(),
            document(
                "Topology",
                &json!({
                    "builder": { "kind": "star", "hosts": 4, "queues": 8 }, "classes": {}
                }),
            ),
        ),
        (
            "Policy",
            format!("policy check {on} FILE"),
            document(
                "Policy",
                &json!({ "level": "rack", "services": [
            { "name": "a", "match": { "protocol": "tcp" }, "min": "6Gbit" }
        ] }),
            ),
        ),
        (
            "Scenario",
            "sim FILE --out OUT".to_owned(),
            document(
                "Scenario",
                &json!({
                    "topology": "star:hosts=3", "duration": "1ms", "switches": { "buffer": { "shared": "1MB" } },
                    "traffic": [{ "name": "a", "from": ["h1"], "to": "h3", "tokenBucket": { "rate": "10Mbit", "burst": "3000B" }, "frame": "300B" }],
                    "record": { "series": "100us" }
                }),
            ),
        ),
        (
            "Agent",
            "agent --config FILE".to_owned(),
            document(
                "Agent",
                &json!({
                    "server": "http://127.0.0.1:1", "tokenFile": "none", "nodes": [{ "name": "h1", "interfaces": {} }]
                }),
            ),
        ),
    ]
}

#[test]
fn an_unknown_key_anywhere_in_a_document_is_refused_by_name() {
    for (kind, command, valid) in documents() {
        for (pointer, wrong) in with_unknown_keys(&valid) {
            // Interfaces of an agent are named by the user.
            if pointer.ends_with("/interfaces") {
                continue;
            }
            let path = file("unknown-key.json", wrong.to_string());
            let run = wayleave(&command.replace("FILE", &path).replace("OUT", &format!("{path}.d")));
            let run = run.ends_with(2);
            assert!(run.stderr.contains(KEY) && run.stderr.contains("unknown key"), "{kind} {pointer}: {}", run.stderr);
        }
    }
}

/// Catches: a key that a reader of plans skips, as if it had been checked. What the plan states about its queues, model,
/// scheme and summary is compared member by member, so an unknown key there is a discrepancy.
#[test]
fn an_unknown_key_anywhere_in_a_plan_is_refused_or_reported_by_name() {
    let list = file(
        "unknown-plan.yaml",
        contracts(&[
            "name: l, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 5ms",
            "name: r, from: h1, to: h2, rate: 20Gbit, burst: 1500B, deadline: 5ms",
            "name: b, bandwidth: { from: h1, to: h2, min: 100Mbit }",
        ]),
    );
    let plan = wayleave(&format!("plan -t {STAR} -f {list} -o json")).ends_with(3).json();
    for (pointer, wrong) in with_unknown_keys(&plan) {
        // Reasons of refusals and times of decisions prove nothing, and nothing is compared with them.
        if ["/binding", "/other_bindings", "/tried", "/decision_us"].iter().any(|free| pointer.contains(free)) {
            continue;
        }
        let path = file("unknown-plan.json", wrong.to_string());
        let run = wayleave(&format!("verify -t {STAR} --plan {path} --replay together,1"));
        assert!(
            matches!(run.code, Some(2 | 4)) && run.stderr.contains(KEY),
            "{pointer}: {:?} {}",
            run.code,
            run.stderr
        );
        // `explain` computes these again, and reads nothing of them.
        let unused = ["/topology", "/summary", "/inputs", "/arrival", "/service", "/terms"];
        if unused.iter().any(|unused| pointer.contains(unused)) {
            continue;
        }
        let run = wayleave(&format!("explain b -t {STAR} -f {list} --plan {path}"));
        assert!(run.code == Some(2) && run.stderr.contains(KEY), "{pointer}: {:?} {}", run.code, run.stderr);
    }
}

#[test]
fn a_plan_with_a_rate_or_a_burst_of_zero_is_refused() {
    let list =
        file("zero-plan.yaml", contracts(&["name: l, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 5ms"]));
    let plan = wayleave(&format!("plan -t {STAR} -f {list} -o json")).ends_with(0).json();
    for (pointer, key) in
        [("", "burst_bytes"), ("", "rate_bps"), ("/reserved", "burst_bytes"), ("/reserved", "rate_bps")]
    {
        let mut wrong = plan.clone();
        wrong.pointer_mut(&format!("/requests/0{pointer}")).unwrap()[key] = 0.into();
        let path = file("zero-plan.json", wrong.to_string());
        let run = wayleave(&format!("verify -t {STAR} --plan {path} --effort quick")).ends_with(2);
        assert!(run.stderr.contains(&format!("l has {key} 0")), "{pointer}/{key}: {}", run.stderr);
    }
}

/// Source files that parse JSON or TOML, by the treatment of unknown keys.
const READERS: [(&str, &[&str]); 5] = [
    (
        "refuse unknown keys of a file or a body that a user writes",
        &[
            "cli/src/client/contexts",
            "cli/src/client/specs/mod",
            "control/server/src/handlers/what_if",
            "io/formats/src/listing",
            "control/server/src/http/call",
            "linux/broker/src/process/lines",
            "research/experiments/src/reproduce/checkpoints",
            "wayleave/src/plan/saved",
            "wayleave/src/verify/plan",
        ],
    ),
    (
        "compare, show or check every member, known or not",
        &["io/formats/src/syntax", "linux/render/src/diff", "wayleave/src/diff", "wayleave/src/verify/plan/compared"],
    ),
    (
        "read replies of the rest interface, which may have new members",
        &[
            "cli/src/client/peers",
            "cli/src/commands/explain",
            "control/client/src/http",
            "control/client/src/request_error",
            "control/client/src/service",
            "control/replica/src/gateway",
            "linux/agent/src/controller_client",
        ],
    ),
    (
        "read what this program has written, behind a version or a hash",
        &[
            "cli/src/bench/controller/record",
            "control/controller/src/controller/load",
            "control/replica/src/log",
            "control/replica/src/member",
            "control/server/src/agent_text",
            "control/server/src/answer",
            "control/server/src/explain",
            "control/server/src/handlers/checks",
            "control/server/src/handlers/details",
            "control/server/src/handlers/export",
            "control/server/src/handlers/timeline",
            "control/server/src/history",
            "control/server/src/past",
            "io/formats/src/scenario/schema",
            "io/formats/src/shapes",
            "linux/agent/src/rule_store",
            "linux/agent/src/shares/broker",
            "linux/lab/src/state",
            "research/experiments/src/papers/results",
            "research/experiments/src/reproduce/document",
            "wayleave/src/sim/store",
        ],
    ),
    (
        "read the output of another program, which may have new members",
        &["linux/agent/src/notifier", "linux/dataplane/src/net/attached", "linux/dataplane/src/net/counters"],
    ),
];

/// Catches: a new reader whose treatment of unknown keys is not recorded.
#[test]
fn every_reader_of_json_and_toml_is_known() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let known: BTreeSet<String> =
        READERS.iter().flat_map(|(_, files)| *files).map(|file| format!("crates/{file}.rs")).collect();
    assert_eq!(
        readers(&root),
        known,
        "left the sources, right READERS: add a new reader to the list that it belongs to"
    );
}

/// Returns the source files that parse JSON or TOML, without tests.
fn readers(root: &Path) -> BTreeSet<String> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![root.join("crates")]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.contains("/src/") && name.ends_with(".rs") && !name.contains("tests") {
                let text = std::fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]").next().unwrap();
                let code = || text.lines().filter(|line| !line.trim_start().starts_with("//"));
                if code().any(|line| line.contains("serde_json::from_") || line.contains("toml::from_")) {
                    found.insert(name);
                }
            }
        }
    }
    found
}
