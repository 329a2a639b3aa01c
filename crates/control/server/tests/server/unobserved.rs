//! Figures and states that no agent has reported: they are unknown, neither 0 nor "up".

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_repo_checks::TempFolder;

use crate::common::{World, contract};
use crate::load::{self, Agent, SECOND, at, counted, new_world, now_s, record, set_time};

/// Everything that shows figures of agents.
struct Shown {
    status: Value,
    alerts: Value,
    metrics: String,
    link: Value,
}

impl Shown {
    fn of(world: &World) -> Self {
        let get = |path: &str| world.client.get(path).is(200);
        Self {
            status: get("/v1/status").json(),
            alerts: get("/v1/alerts").json(),
            metrics: String::from_utf8(get("/metrics").body).unwrap(),
            link: get("/v1/links/h1-%3Epod1-edge1").json(),
        }
    }

    fn has(&self, series: &str) -> bool {
        self.metrics.lines().any(|line| line.starts_with(&format!("wayleave_{series}")))
    }

    fn decides(&self, alert: &str) -> bool {
        self.alerts["unknown"].as_array().unwrap().iter().all(|one| one["name"] != alert)
    }
}

/// A figure, the field of a report that shows it, and `true` if it is shown.
type Figure = (&'static str, &'static str, fn(&Shown) -> bool);

/// All figures that are numbers only if an agent has reported something beside its heartbeat.
const FIGURES: [Figure; 18] = [
    ("status.late", "measured", |shown| !shown.status["late"].is_null()),
    ("alert of late packets", "measured", |shown| shown.decides("WayleaveContractsViolated")),
    ("status.down", "withoutCarrier", |shown| !shown.status["down"].is_null()),
    ("metric of elements that are down", "withoutCarrier", |shown| shown.has("elements_down ")),
    ("alert of elements that are down", "withoutCarrier", |shown| shown.decides("WayleaveElementsDown")),
    ("link.state", "withoutCarrier", |shown| shown.link["state"] != "unknown"),
    ("link.measured", "links", |shown| shown.link["measured"].is_object()),
    ("metric of contracts above their rules", "traffic", |shown| shown.has("contracts_rate_exceeded ")),
    ("metric of sent packets", "traffic", |shown| shown.has("contract_packets_total{became=\"sent\"}")),
    ("metric of dropped packets", "traffic", |shown| shown.has("contract_packets_total{became=\"queue-full\"}")),
    ("metric of sampled packets", "samples", |shown| shown.has("contract_packets_total{became=\"followed\"}")),
    ("metric of lost packets", "samples", |shown| shown.has("contract_packets_total{became=\"lost\"}")),
    ("metric of timed packets", "samples", |shown| shown.has("contract_packets_total{became=\"timed\"}")),
    ("metric of late packets", "samples", |shown| shown.has("contract_packets_total{became=\"late\"}")),
    ("alert of dropped packets", "traffic", |shown| shown.decides("WayleaveQueueFull")),
    ("metric of waiting packets", "traffic", |shown| shown.has("contract_packets_waiting ")),
    ("alert of lost packets", "samples", |shown| shown.decides("WayleavePacketsLost")),
    ("metric of packets of a host", "packets", |shown| shown.has("host_packets_total{node=\"h1\"")),
];

/// The field of a report with figures that are all 0.
fn field(name: &str, status: &Value, second: u64) -> Value {
    let (serial, bound_ns) = (&status["serial"], &status["boundNs"]);
    match name {
        "measured" => json!([{ "serial": serial, "packets": 5, "late": 0, "worstNs": 1 }]),
        "withoutCarrier" => json!([]),
        "links" => json!({ "readNs": second * SECOND, "counters": [
            { "link": "h1->pod1-edge1", "interface": 1, "bytes": 0, "packets": 0, "dropped": 0 }] }),
        "traffic" => json!([counted(serial, 0)]),
        "samples" => json!({ "number": second, "level": 0, "clock": { "boot": "one", "aheadNs": 0 }, "sent": [
            { "serial": serial, "to": "h16", "via": [], "boundNs": bound_ns, "packets": [[second, 100]] }] }),
        "packets" => json!({ "sent": 0 }),
        _ => panic!("no figures for {name}"),
    }
}

/// Catches: "0 packets were late", "0 elements are down" where agents report heartbeats only.
#[test]
fn a_figure_is_shown_only_if_an_agent_has_reported_it_in_its_present_session() {
    let fields = ["", "measured", "withoutCarrier", "links", "traffic", "samples", "packets"];
    for reported in fields {
        let base = now_s();
        let world = new_world(base);
        let sender = Agent::new(&world, base, "h16");
        let agent = Agent::new(&world, base, "h1");
        world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
        world.client.put("/v1/contracts/b", &contract("h16", "h1", "10Mbit")).is(201);
        let path = if reported == "measured" { "/v1/contracts/b" } else { "/v1/contracts/a" };
        let status = world.client.get(path).json()["status"].clone();
        for second in 1..=3 {
            set_time(&world, base + second);
            let mut report = json!({ "traffic": null, "links": null });
            sender.report(report.clone());
            if !reported.is_empty() {
                report[reported] = field(reported, &status, second);
            }
            agent.report(report);
        }
        let shown = Shown::of(&world);
        for (figure, of, is_shown) in FIGURES {
            assert_eq!(
                is_shown(&shown),
                of == reported,
                "{figure} with {reported:?}: {} {}",
                shown.status,
                shown.alerts
            );
        }
        // Reports of an earlier session show nothing about this one.
        let again = Agent::new(&world, base, "h1");
        again.report(json!({ "traffic": null, "links": null }));
        assert_eq!(Shown::of(&world).status["late"], Value::Null, "{reported}");
    }
}

/// Catches: packets of one tenant that show another one a figure.
#[test]
fn late_packets_of_a_tenant_are_known_by_reports_about_its_own_contracts() {
    let base = now_s();
    let world = new_world(base);
    let agent = Agent::new(&world, base, "h16");
    let late = |name: &str| {
        world.client.put(&format!("/v1/tenants/{name}"), &json!({})).is(201);
        world.client.put(&format!("/v1/vms/{name}:a"), &json!({ "placement": { "host": "h1" } })).is(201);
        world.client.put(&format!("/v1/vms/{name}:b"), &json!({ "placement": { "host": "h16" } })).is(201);
        let tenant = world.client.token(json!({ "role": "tenant", "tenant": name }));
        tenant.put("/v1/contracts/one", &contract("a", "b", "10Mbit")).is(201);
        let shown = world.client.get(&format!("/v1/contracts/{name}:one")).is(200).json();
        let serial = shown["status"]["serial"].clone();
        (serial, move || tenant.get("/v1/status").is(200).json().get("late").cloned())
    };
    let ((serial, acme), (_, other)) = (late("acme"), late("other"));
    agent.report(json!({ "measured": [{ "serial": serial, "packets": 5, "late": 0, "worstNs": 1 }] }));
    assert_eq!((acme(), other()), (Some(json!(0)), Some(Value::Null)));
    assert_eq!(world.client.get("/v1/status").json().get("late"), Some(&json!(0)));
}

/// Catches: a node that is shown as up although nothing observes it.
#[test]
fn a_node_is_up_only_if_a_connected_agent_observes_it() {
    let base = now_s();
    let world = new_world(base);
    let client = &world.client;
    let state = |node: &str| client.get(&format!("/v1/nodes/{node}")).is(200).json()["state"].clone();
    let states = || ["h1", "h2", "pod1-edge1", "pod1-agg1"].map(|node| state(node).as_str().unwrap().to_owned());
    let unknown = || client.get("/v1/topology").is(200).json()["unknown"].as_array().unwrap().len();
    let all = unknown();
    assert_eq!((states(), all), (["unknown"; 4].map(str::to_owned), 36));
    assert_eq!(client.get("/v1/hosts/h1").is(200).json()["state"], "unknown");
    let agent = Agent::new(&world, base, "h1");
    agent.report(json!({}));
    assert_eq!(states(), ["up", "unknown", "unknown", "unknown"], "its own agent is connected");
    agent.report(json!({ "withoutCarrier": [] }));
    assert_eq!(
        (states(), unknown()),
        (["up", "unknown", "up", "unknown"].map(str::to_owned), 34),
        "its link has a carrier"
    );
    let summary = client.get("/v1/topology/summary").is(200).json();
    let sum: u64 = summary["tiers"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|tier| tier["nodeGroups"].as_array().unwrap())
        .map(|group| group["unknown"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, 34, "{summary}");
    let agents = client.get("/v1/agents").is(200).json();
    assert_eq!(agents["items"][0]["state"], "up", "{agents}");
    agent.report(json!({ "withoutCarrier": ["h1->pod1-edge1", "pod1-edge1->h1"] }));
    assert_eq!(states(), ["up", "unknown", "unknown", "unknown"]);
    client.put("/v1/nodes/h1/state", &json!({ "state": "down" })).is(200);
    assert_eq!(states(), ["down", "unknown", "unknown", "unknown"]);
    client.put("/v1/nodes/h1/state", &json!({ "state": "up" })).is(200);
    assert_eq!(state("h1"), "unknown", "its session ended: an operator's word is no observation");
}

/// Catches: a kept minute although the host does not report which contracts it cannot enforce.
#[test]
fn a_minute_is_unknown_if_a_host_leaves_out_its_contract_problems_and_the_field_is_named() {
    let base = now_s() / 60 * 60 + 120;
    let world = new_world(base);
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let (sender, receiver) = (Agent::new(&world, base, "h1"), Agent::new(&world, base, "h16"));
    sender.confirm();
    // Left out of one report in minute 2, and of all in minute 3.
    for second in 1..=280 {
        set_time(&world, base + second);
        let leaves_out = second == 150 || (180..240).contains(&second);
        let problems = if leaves_out { Value::Null } else { json!([]) };
        sender.report(json!({ "contractProblems": problems }));
        receiver.report(json!({}));
        let named = world.client.get("/v1/status").is(200).json()["problems"].to_string();
        assert_eq!(named.contains("h1: its last report lacks `contractProblems`"), leaves_out, "{second} {named}");
        if second % 10 == 0 {
            record(&world, base + second);
        }
    }
    let month = at(base).to_string()[..7].to_owned();
    let statement = world.client.get(&format!("/v1/tenants/default/statement?month={month}")).is(200).json();
    let one = &statement["contracts"][0];
    assert_eq!((&one["minutes"]["kept"], &one["minutes"]["broken"]), (&json!(1), &json!(0)), "{statement}");
    let unknown = json!({ "reason": "not-confirmed", "minutes": 2 });
    assert!(one["unknown"].as_array().unwrap().contains(&unknown), "{statement}");
}

/// Catches: an accusation of a contract whose counter goes back and forth between two values.
#[test]
fn a_counter_that_goes_back_is_a_new_start_and_no_rate() {
    let base = now_s() / 60 * 60 + 120;
    let world = new_world(base);
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "20Mbit")).is(201);
    let serial = world.client.get("/v1/contracts/a").json()["status"]["serial"].clone();
    let (sender, receiver) = (Agent::new(&world, base, "h1"), Agent::new(&world, base, "h16"));
    sender.confirm();
    let mut sent = 100_000_000;
    for second in 1..=260 {
        set_time(&world, base + second);
        // It sends 16 Mbit/s. Minutes 1 and 2: 15 MB are missing in every other report. Then, the counter is halved.
        sent = if second >= 180 && second % 7 == 0 { sent / 2 } else { sent + 2_000_000 };
        let is_missing = (60..180).contains(&second) && second % 2 == 0;
        sender.report(json!({ "traffic": [counted(&serial, sent - if is_missing { 15_000_000 } else { 0 })] }));
        receiver.report(json!({}));
        let traffic = world.client.get("/v1/contracts/a/traffic").is(200).json();
        if second > 60 && (is_missing || (second > 180 && second % 7 == 0)) {
            assert_eq!(traffic["rateBps"], Value::Null, "{second}: {traffic}");
        }
        if second % 10 == 0 {
            record(&world, base + second);
            let status = world.client.get("/v1/contracts/a").is(200).json()["status"].clone();
            assert_eq!(status["state"], "enforced", "{second}: {status}");
        }
    }
    let problems = world.client.get("/v1/status").is(200).json()["problems"].to_string();
    assert!(problems.contains("h1: its reports have counters that went back"), "{problems}");
    let month = at(base).to_string()[..7].to_owned();
    let statement = world.client.get(&format!("/v1/tenants/default/statement?month={month}")).is(200).json();
    let one = &statement["contracts"][0];
    assert_eq!((&one["minutes"]["kept"], &one["minutes"]["broken"]), (&json!(0), &json!(0)), "{statement}");
    assert!(one["events"][0]["text"].as_str().unwrap().contains("have counters that went back"), "{statement}");
}

/// Catches: a kept minute that claims a comparison with a rule that has no upper bound.
#[test]
fn a_kept_minute_of_a_rule_without_an_upper_bound_claims_no_comparison() {
    let base = now_s() / 60 * 60 + 120;
    let world = new_world(base);
    let mut terms = contract("h1", "h16", "20Mbit");
    terms["excess"] = json!("demote");
    world.client.put("/v1/contracts/a", &terms).is(201);
    let serial = world.client.get("/v1/contracts/a").json()["status"]["serial"].clone();
    let (sender, receiver) = (Agent::new(&world, base, "h1"), Agent::new(&world, base, "h16"));
    sender.confirm();
    for second in 1..=140 {
        set_time(&world, base + second);
        // Six times the rate: the rest belongs to another class.
        sender.report(json!({ "traffic": [counted(&serial, second * 15_000_000)] }));
        receiver.report(json!({}));
        if second % 10 == 0 {
            record(&world, base + second);
        }
    }
    let month = at(base).to_string()[..7].to_owned();
    let statement = world.client.get(&format!("/v1/tenants/default/statement?month={month}")).is(200).json();
    assert_eq!(statement["contracts"][0]["minutes"]["kept"], 1, "{statement}");
    let document: Value = world.client.get("/openapi.json").is(200).json();
    let kept = &document["components"]["schemas"]["StatementMinutes"]["properties"]["kept"]["description"];
    let kept = kept.as_str().unwrap().replace('\n', " ");
    let stated =
        "without an upper bound (a minimum without `max`, an objective, `excess: demote`), they are not compared";
    assert!(kept.contains(stated), "{kept}");
}

/// Catches: broken minutes after a restart without an event with their reason.
#[test]
fn a_statement_names_the_state_of_a_contract_when_its_record_begins_anew() {
    let (disk, scratch) = (Arc::default(), Arc::new(TempFolder::new("server")));
    let (file, base) = (scratch.join("load"), now_s() / 60 * 60 + 120);
    let first = load::world(base, &disk, scratch.clone(), Some(&file));
    first.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let down = json!({ "state": "down", "reason": "cut" });
    first.client.put("/v1/links/h1-%3Epod1-edge1/state", &down).is(200);
    first.end();
    let again = load::world(base + 30, &disk, scratch, Some(&file));
    load::run(&again, base, 31..=140, &[]);
    let month = &at(base).to_string()[..7];
    let statement = again.client.get(&format!("/v1/tenants/default/statement?month={month}")).is(200).json();
    let shown = &statement["contracts"][0];
    let broken = shown["minutes"]["broken"].as_u64().unwrap();
    assert!(broken > 0, "{statement}");
    let event = &shown["events"][0];
    assert_eq!((&event["kind"], &event["at"]), (&json!("degraded"), &json!(at(base + 30).to_string())), "{statement}");
    let text = event["text"].as_str().unwrap();
    assert!(text.starts_with("when the record began anew: ") && text.contains("h1->pod1-edge1"), "{statement}");
}
