//! The dashboard and the alerts that are shipped ask for metrics that exist, with the labels that they have.

use std::collections::BTreeSet;

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;

use crate::common::{World, contract};
use crate::exposition;

const FILES: [(&str, &str); 2] = [
    ("wayleave.json", include_str!("../../../../../packaging/grafana/wayleave.json")),
    ("wayleave.rules.yaml", include_str!("../../../../../packaging/prometheus/wayleave.rules.yaml")),
];

/// Every word that begins as metrics do.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    words.filter(|word| word.starts_with("wayleave_")).map(str::to_owned).collect()
}

#[test]
fn shipped_prometheus_rules_and_grafana_dashboards_use_existing_metrics() {
    let _: serde_json::Value = serde_json::from_str(FILES[0].1).unwrap();
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].clone();
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let traffic = json!([{ "serial": 1, "packets": 7, "bytes": 700, "delayed": 4, "waiting": 1, "queueFull": 2, "oversized": 0,
        "waitedNs": 9, "waits": [1, 3, 0] }]);
    agent
        .post(
            "/v1/agents/h1/reports",
            &json!({ "epoch": epoch, "beat": true, "traffic": traffic, "packets": { "spoofed": 1 }, "repairs": ["a queue"] }),
        )
        .is(204);
    let metrics = || String::from_utf8(client.get("/metrics").is(200).body).unwrap();
    // Figures of links are those last computed by the engine, possibly a moment ago.
    let text = (0..10_000).map(|_| metrics()).find(|text| text.contains("budget_use_max")).unwrap_or_else(metrics);
    assert_eq!(exposition::faults(&text), Vec::<String>::new(), "{text}");
    let known = metrics_in(&text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"));
    for (file, asked) in FILES.map(|(file, text)| (file, metrics_in(text))) {
        assert!(asked.len() >= 5, "{file} asks for hardly anything: {asked:?}");
        let missing: Vec<&String> = asked.difference(&known).collect();
        assert!(missing.is_empty(), "{file} asks for {missing:?}, which are not among\n{known:#?}");
    }
}
