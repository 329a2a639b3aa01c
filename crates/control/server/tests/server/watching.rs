//! The dashboard and the alerts that are shipped ask for metrics that exist, with the labels that they have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::ServerLimits;
use wayleave_server::disk::Memory;

use crate::common::{World, contract, options};
use crate::exposition;
use wayleave_repo_checks::TempFolder;

const FILES: [(&str, &str); 3] = [
    ("wayleave.json", include_str!("../../../../../packaging/grafana/wayleave.json")),
    ("wayleave-tenants.json", include_str!("../../../../../packaging/grafana/wayleave-tenants.json")),
    ("wayleave.rules.yaml", include_str!("../../../../../packaging/prometheus/wayleave.rules.yaml")),
];

/// Every word that begins as metrics do.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_name(c));
    words.filter(|word| word.starts_with("wayleave_")).map(str::to_owned).collect()
}

/// A server with agents that exports metrics of this number of tenants and of links.
fn detailed(series: usize) -> World {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Hosts);
    options.limits = ServerLimits { metric_series: series, ..options.limits };
    World::of(options, scratch)
}

#[test]
fn metrics_by_tenant_and_link_have_a_bounded_number_of_series() {
    let plain = World::new();
    let metrics = |world: &World| String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
    assert!(!metrics(&plain).contains("wayleave_tenant_"), "they are off by default");
    let world = detailed(3);
    let client = &world.client;
    for (tenant, rate) in [("other", 90), ("a", 10), ("b", 30), ("c", 20), ("d", 5), ("e", 0)] {
        client.post("/v1/tenants", &json!({ "name": tenant })).is(201);
        let path = format!("/v1/contracts/{tenant}:x");
        if rate > 0 {
            client.put(&path, &contract("h1", "h16", &format!("{rate}Mbit"))).is(201);
        }
    }
    let text = metrics(&world);
    assert_eq!(exposition::text_faults(&text), Vec::<String>::new(), "{text}");
    let lines = |name: &str| -> Vec<String> {
        let mut lines: Vec<String> =
            text.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let reserved = lines("wayleave_tenant_reserved_bits_per_second{tenant=");
    assert_eq!(reserved, ["\"a\"} 10000000.0", "\"b\"} 30000000.0", "\"c\"} 20000000.0", "\"other\"} 95000000.0"]);
    let contracts = lines("wayleave_tenant_contracts{tenant=\"other\",state=\"admitted\"}");
    assert_eq!(contracts, [" 2"], "of the tenants `other` and d");
    assert_eq!(lines("wayleave_tenant_contracts{").len(), 4 * 6);
    assert_eq!(lines("wayleave_tenant_measured_bits_per_second{"), [""; 0], "nothing was reported");
    assert!(lines("wayleave_link_reserved_bits_per_second{").len() <= 4);
}

#[test]
fn shipped_prometheus_rules_and_grafana_dashboards_use_existing_metrics() {
    for (_, dashboard) in &FILES[..2] {
        let _: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    }
    let world = detailed(5);
    let client = &world.client;
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].clone();
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let traffic = json!([{ "serial": 1, "packets": 7, "bytes": 700, "delayed": 4, "waiting": 1, "queueFull": 2, "oversized": 0,
        "waitedNs": 9, "waits": [1, 3, 0] }]);
    agent
        .post(
            "/v1/agents/h1/reports",
            &json!({ "epoch": epoch, "beat": true, "traffic": traffic, "packets": { "spoofed": 1 }, "repairs": ["a queue"],
                "withoutCarrier": [] }),
        )
        .is(204);
    // A rate is known from the second report on.
    let more = json!([{ "serial": 1, "packets": 9, "bytes": 900, "delayed": 4, "waiting": 1, "queueFull": 2, "oversized": 0,
        "waitedNs": 9, "waits": [1, 3, 0] }]);
    let links = |second: u64, bytes: u64| {
        let counters =
            json!([{ "link": "h1->pod1-edge1", "interface": 2, "bytes": bytes, "packets": 1, "dropped": 0 }]);
        json!({ "epoch": epoch, "traffic": more, "links": { "readNs": second * 1_000_000_000, "counters": counters } })
    };
    agent.post("/v1/agents/h1/reports", &links(10, 1_000)).is(204);
    agent.post("/v1/agents/h1/reports", &links(11, 2_000)).is(204);
    let accept = [("accept", "application/openmetrics-text")];
    let metrics = || String::from_utf8(client.send("GET", "/metrics", &accept, b"").is(200).body).unwrap();
    // Figures of links are those last computed by the engine, possibly a moment ago.
    let reserved = "wayleave_link_reserved_bits_per_second{link=\"h1->pod1-edge1\"}";
    let is_computed = |text: &String| text.contains("budget_use_max") && text.contains(reserved);
    let text = (0..10_000).map(|_| metrics()).find(is_computed).unwrap_or_else(metrics);
    assert_eq!(exposition::faults(&text), Vec::<String>::new(), "{text}");
    let link = "wayleave_link_measured_bits_per_second{link=\"h1->pod1-edge1\"} 8000.0";
    assert!(text.contains(link), "1,000 B in a second: {text}");
    let plain = String::from_utf8(client.get("/metrics").is(200).body).unwrap();
    assert_eq!(exposition::text_faults(&plain), Vec::<String>::new(), "{plain}");
    let samples = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(samples(&plain) >= samples(&text), "no sample is lost: {plain}");
    let known = metrics_in(&text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"));
    for (file, asked) in FILES.map(|(file, text)| (file, metrics_in(text))) {
        assert!(asked.len() >= 4, "{file} asks for hardly anything: {asked:?}");
        let missing: Vec<&String> = asked.difference(&known).collect();
        assert!(missing.is_empty(), "{file} asks for {missing:?}, which are not among\n{known:#?}");
    }
    let kinds: BTreeMap<&str, &str> =
        plain.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    for (file, expression) in FILES.iter().flat_map(|(file, text)| expressions(file, text)) {
        let faults = faults_of(&expression, &kinds);
        assert!(faults.is_empty(), "{file}: {expression}: {faults:?}");
    }
}

/// Returns the expressions of a file.
fn expressions(file: &'static str, text: &str) -> Vec<(&'static str, String)> {
    let is_rules = file.ends_with(".yaml");
    let lines =
        text.lines().filter_map(|line| line.trim().strip_prefix(if is_rules { "expr: " } else { "\"expr\": " }));
    let plain = |line: &str| match is_rules {
        true => line.to_owned(),
        false => serde_json::from_str(line.trim_end_matches(',')).unwrap(),
    };
    lines.map(|line| (file, plain(line))).collect()
}

/// Restricts a gauge to the controller that leads: followers export it, too.
const OF_LEADER: &str = " and on (job, instance) (wayleave_ready == 1)";
/// Gauges of which each controller has its own.
const OF_EACH: [&str; 2] = ["wayleave_ready", "wayleave_requests_waiting"];

/// Returns what is wrong with the use of metrics, of which the types are known, in an expression.
fn faults_of(expression: &str, kinds: &BTreeMap<&str, &str>) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, _) in expression.match_indices("wayleave_") {
        let rest = &expression[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let rest = rest.strip_prefix('{').and_then(|labels| labels.split_once('}')).map_or(rest, |(_, rest)| rest);
        let family = name.strip_suffix("_bucket").unwrap_or(name);
        let kind = kinds.get(family).copied().unwrap_or("unknown");
        let is_range = rest.starts_with('[');
        if is_range != matches!(kind, "counter" | "histogram") {
            faults.push(format!("{name}: a {kind}, and rates are those of counters"));
        }
        let is_of_leader = rest.strip_prefix(" > 0").unwrap_or(rest).starts_with(OF_LEADER);
        if kind == "gauge" && !OF_EACH.contains(&name) && !is_of_leader {
            faults.push(format!("{name}: of each controller of a cluster, not of its leader"));
        }
    }
    faults
}

#[test]
fn sums_over_all_controllers_and_rates_of_gauges_are_found() {
    let kinds = BTreeMap::from([("wayleave_a", "gauge"), ("wayleave_b_total", "counter"), ("wayleave_ready", "gauge")]);
    for (expression, faults) in [
        ("sum by (x) (wayleave_a and on (job, instance) (wayleave_ready == 1))", 0),
        ("wayleave_a{x=\"1\"} > 0 and on (job, instance) (wayleave_ready == 1)", 0),
        ("sum(rate(wayleave_b_total{x=\"1\"}[5m])) > 0 or max(wayleave_ready)", 0),
        ("sum(wayleave_a)", 1),
        ("sum(wayleave_a) / sum(wayleave_a and on (job, instance) (wayleave_ready == 1))", 1),
        ("sum(wayleave_b_total)", 1),
        ("rate(wayleave_a[5m])", 2),
        ("wayleave_c", 0),
    ] {
        assert_eq!(faults_of(expression, &kinds).len(), faults, "{expression}");
    }
}
