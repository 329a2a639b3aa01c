//! Metrics that rules and dashboards read: counters never fall, and unknown figures have no series.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::common::{World, contract};
use crate::load::{Agent, counted, new_world, now_s, set_time};

/// Series of a scrape, with their values.
fn series(world: &World) -> BTreeMap<String, f64> {
    let text = String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').map(|(name, value)| (name.to_owned(), value.parse().unwrap())).unwrap())
        .collect()
}

fn unknown_alerts(world: &World) -> BTreeSet<String> {
    let alerts = world.client.get("/v1/alerts").is(200).json();
    alerts["unknown"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// Creates contracts between these hosts; returns their serial numbers.
fn create(world: &World, names: [&str; 2]) -> [Value; 2] {
    names.map(|name| {
        let path = format!("/v1/contracts/{name}");
        world.client.put(&path, &contract("h1", "h16", "10Mbit")).is(201).json()["status"]["serial"].clone()
    })
}

/// Catches: `rate()` that takes the deletion of a contract for a restart of the counter, and counts all other packets again.
#[test]
fn packet_counters_keep_deleted_contracts_and_never_fall() {
    let base = now_s();
    let world = new_world(base);
    let (agent, [a, b]) = (Agent::new(&world, base, "h1"), create(&world, ["a", "b"]));
    let reports = |count: u64, serial: &Value| {
        let mut one = counted(serial, 1_000 * count);
        (one["queueFull"], one["delayed"], one["waiting"]) = (json!(count), json!(count), json!(1));
        (one["waitedNs"], one["waits"]) = (json!(500_000_000 * count), json!([0, count]));
        one
    };
    let mut last = BTreeMap::new();
    for (second, traffic, expected, waiting) in [
        (1, json!([reports(100, &a), reports(10, &b)]), 0.0, 2.0),
        (2, json!([reports(120, &a), reports(11, &b)]), 21.0, 2.0),
        (3, json!([reports(120, &a)]), 21.0, 1.0),
        // The counters of the host began anew.
        (4, json!([reports(3, &a)]), 21.0, 1.0),
        (5, json!([reports(10, &a), reports(11, &b)]), 28.0, 2.0),
    ] {
        set_time(&world, base + second);
        agent.report(json!({ "traffic": traffic, "packets": { "spoofed": second } }));
        let shown = series(&world);
        for became in ["sent", "delayed", "queue-full"] {
            assert_eq!(shown[&format!("wayleave_contract_packets_total{{became=\"{became}\"}}")], expected, "{second}");
        }
        assert_eq!(shown["wayleave_contract_packets_waiting"], waiting, "{second}");
        let waits = ["bucket{le=\"0.000125\"}", "bucket{le=\"+Inf\"}", "count", "sum"];
        let waits = waits.map(|part| shown[&format!("wayleave_contract_wait_seconds_{part}")]);
        assert_eq!(waits, [0.0, expected, expected, expected / 2.0], "{second}");
        assert_eq!(shown["wayleave_host_packets_total{node=\"h1\",became=\"spoofed\"}"], second as f64);
        let falls = last.iter().filter(|(name, value): &(&String, &f64)| {
            let is_counter = name.contains("_total") || name.contains("_bucket") || name.contains("_count");
            is_counter && shown.get(*name).is_none_or(|now| now < value)
        });
        assert_eq!(falls.collect::<Vec<_>>(), [], "{second}");
        last = shown;
    }
    set_time(&world, base + 11);
    let shown = series(&world);
    assert_eq!(shown.get("wayleave_contract_packets_waiting"), None, "the last report is older than five seconds");
    assert_eq!(shown["wayleave_contract_packets_total{became=\"sent\"}"], 28.0);
}

/// Catches: "0 packets were sent", "0 were lost" before an agent has reported a contract; an alert that contradicts its metric.
#[test]
fn packets_are_unknown_until_an_agent_has_reported_those_of_a_contract() {
    let base = now_s();
    let world = new_world(base);
    let (agent, [serial, _]) = (Agent::new(&world, base, "h1"), create(&world, ["a", "b"]));
    let samples = |second: u64, sent: Value| json!({ "number": second, "level": 0, "clock": { "boot": "one", "aheadNs": 0 }, "sent": sent });
    let bound = world.client.get("/v1/contracts/a").is(200).json()["status"]["boundNs"].clone();
    let sent = json!([{ "serial": serial, "to": "h16", "via": [], "boundNs": bound, "packets": [[11, 100]] }]);
    let mut counters = counted(&serial, 0);
    counters["waits"] = json!([0, 0]);
    for (second, traffic, sent, is_counted, is_sampled) in [
        (1, json!([]), json!([]), false, false),
        (2, json!([counters]), json!([]), true, false),
        (3, json!([counters]), sent, true, true),
        // Counters remain known.
        (4, json!([]), json!([]), true, true),
    ] {
        set_time(&world, base + second);
        agent.report(json!({ "traffic": traffic, "samples": samples(second, sent) }));
        let (shown, unknown) = (series(&world), unknown_alerts(&world));
        for (became, is_known) in [
            ("sent", is_counted),
            ("delayed", is_counted),
            ("queue-full", is_counted),
            ("oversized", is_counted),
            ("followed", is_sampled),
            ("lost", is_sampled),
            ("timed", is_sampled),
            ("late", is_sampled),
        ] {
            let name = format!("wayleave_contract_packets_total{{became=\"{became}\"}}");
            assert_eq!(shown.contains_key(&name), is_known, "{became} in second {second}");
        }
        assert_eq!(shown.contains_key("wayleave_contract_wait_seconds_count"), is_counted, "{second}");
        for (alert, is_known) in [
            ("WayleaveQueueFull", is_counted),
            ("WayleaveRateExceeded", is_counted),
            ("WayleavePacketsLost", is_sampled),
        ] {
            assert_eq!(!unknown.contains(alert), is_known, "{alert} in second {second}: {unknown:?}");
        }
    }
}

/// Counters without a series before the first event: those of what agents count are unknown, and a request names its series.
const LATER: [&str; 3] =
    ["wayleave_contract_packets_total", "wayleave_host_packets_total", "wayleave_http_requests_total"];

/// Catches: a first increase that Prometheus does not count, because its series begins with it.
#[test]
fn counters_of_the_controller_begin_at_0() {
    let world = new_world(now_s());
    let text = String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
    let kinds: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter")).collect();
    let shown = series(&world);
    let of = |kind: &str| shown.keys().filter(|name| name.split('{').next() == Some(kind)).count();
    let found: Vec<(&str, usize)> =
        kinds.into_iter().filter(|kind| !LATER.contains(kind)).map(|kind| (kind, of(kind))).collect();
    assert_eq!(
        found,
        [
            // Admitted, and each reason of a refusal.
            ("wayleave_decisions_total", 7),
            // The 16 hosts; switches have no agents here.
            ("wayleave_repairs_total", 16),
            ("wayleave_limits_reached_total", 7),
            ("wayleave_log_lines_dropped_total", 1),
        ]
    );
    assert_eq!(shown["wayleave_repairs_total{node=\"h16\"}"], 0.0);
    assert!(!shown.contains_key("wayleave_repairs_total{node=\"pod1-edge1\"}"));
}

/// Catches: "0 elements are down", and an alert that is evaluated, although no agent observes an element since it was reported down.
#[test]
fn an_element_that_was_reported_down_and_is_not_observed_is_unknown() {
    let base = now_s();
    let world = new_world(base);
    let (first, other) = (Agent::new(&world, base, "h1"), Agent::new(&world, base, "h2"));
    let shown = || {
        let (shown, status) = (series(&world), world.client.get("/v1/status").is(200).json());
        let of = |name: &str| shown.get(&format!("wayleave_elements_{name}")).copied();
        (of("down"), of("unobserved"), status["down"].clone(), unknown_alerts(&world).contains("WayleaveElementsDown"))
    };
    other.report(json!({ "withoutCarrier": [] }));
    first.report(json!({ "withoutCarrier": ["h1->pod1-edge1"] }));
    assert_eq!(shown(), (Some(1.0), Some(0.0), json!(1), false));
    first.report(json!({ "leaves": true }));
    assert_eq!(shown(), (None, Some(1.0), Value::Null, true), "h2 observes other links");
    let link = world.client.get("/v1/links/h1-%3Epod1-edge1").is(200).json();
    assert_eq!(link["state"], "unknown");
    // An element that is known to be down still counts, and fires.
    world.client.put("/v1/nodes/h3/state", &json!({ "state": "down" })).is(200);
    assert_eq!(shown(), (Some(1.0), Some(1.0), json!(1), false));
}
