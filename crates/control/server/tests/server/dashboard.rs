//! Requests of the dashboard: promises by certainty, the network by tier, the past.

use serde_json::{Value, json};
use wayleave_controller::{EnforcedBy, Timeouts};
use wayleave_server::disk::Memory;
use wayleave_units::Time;

use crate::common::{Client, World, classed, contract, options};
use wayleave_repo_checks::TempFolder;

/// A server on a network with classes.
fn fabric() -> World {
    let scratch = std::sync::Arc::new(TempFolder::new("server"));
    let options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
    World::of(wayleave_server::Options { setup: classed(EnforcedBy::Nobody), ..options }, scratch)
}

fn ids(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns all items of a list, read in pages of `limit` items.
fn pages(client: &Client, path: &str, limit: usize) -> Vec<String> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let sign = if path.contains('?') { '&' } else { '?' };
        let page = client.get(&format!("{path}{sign}limit={limit}{after}")).is(200).json();
        let items = ids(&page);
        assert!(items.len() <= limit);
        all.extend(items);
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return all,
        }
    }
}

fn within(from: &str, to: &str, deadline: &str) -> Value {
    json!({ "from": from, "to": to, "rate": "10Mbit", "burst": "3000B", "deadline": deadline })
}

#[test]
fn promises_are_sorted_by_slack_and_paged() {
    let world = World::new();
    let client = &world.client;
    for (name, deadline) in [("wide", "50ms"), ("middle", "20ms"), ("tight", "4ms")] {
        client.put(&format!("/v1/contracts/{name}"), &within("h1", "h16", deadline)).is(201);
    }
    let all = client.get("/v1/health").is(200).json();
    let share = |item: &Value| item["boundNs"].as_f64().unwrap() / item["deadlineNs"].as_f64().unwrap();
    let shares: Vec<f64> = all["items"].as_array().unwrap().iter().map(share).collect();
    assert!(shares.is_sorted_by(|one, other| one >= other), "{shares:?}");
    assert_eq!(ids(&all), ["default:tight", "default:middle", "default:wide"]);
    assert_eq!(
        all["levels"],
        json!({ "violated": 0, "unknown": 0, "unconfirmed": 0, "at-risk": 0, "pending": 0, "not-enforced": 3,
            "best-estimate": 0, "ok": 0 })
    );
    assert_eq!(all.get("next"), None);
    assert_eq!(pages(client, "/v1/health", 1), ids(&all));
    assert_eq!(pages(client, "/v1/health?level=not-enforced", 2), ids(&all));
    assert_eq!(pages(client, "/v1/health?level=violated", 2), [""; 0]);
    for wrong in ["level=none", "after=none", "after=ok.x.a", "after=ok.1", "limit=0"] {
        client.get(&format!("/v1/health?{wrong}")).is_problem(400, "INVALID");
    }
}

#[test]
fn broken_promises_are_first_by_priority_with_their_reasons() {
    let world = World::new();
    let client = &world.client;
    for (name, priority) in [("low", 10), ("high", 90)] {
        let mut body = contract("h1", "h16", "10Mbit");
        body["priority"] = json!(priority);
        client.put(&format!("/v1/contracts/{name}"), &body).is(201);
    }
    client.put("/v1/contracts/other", &contract("h2", "h15", "10Mbit")).is(201);
    client.put("/v1/links/h1-%3Epod1-edge1/state", &json!({ "state": "down", "reason": "cut" })).is(200);
    let all = client.get("/v1/health").is(200).json();
    assert_eq!(ids(&all), ["default:high", "default:low", "default:other"]);
    assert_eq!(all["levels"]["violated"], 2);
    let first = &all["items"][0];
    assert_eq!(
        (&first["level"], &first["state"], &first["reason"]),
        (&json!("violated"), &json!("degraded"), &json!("FAILURE"))
    );
    assert!(first["message"].as_str().unwrap().contains("it cannot use link h1->pod1-edge1,"), "{first}");
}

/// Nothing is known of a contract that no agent has confirmed, or whose agent is silent.
#[test]
fn unconfirmed_and_silent_contracts_are_not_among_violated_ones() {
    let scratch = std::sync::Arc::new(TempFolder::new("server"));
    let options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Hosts);
    let mut setup = options.setup.clone();
    setup.timing =
        Timeouts { confirm_within: Time::from_millis(1), silent_after: Time::from_millis(1), ..setup.timing };
    let world = World::of(wayleave_server::Options { setup, ..options }, scratch);
    let client = &world.client;
    for (name, from) in [("unconfirmed", "h1"), ("silent", "h2"), ("cut", "h3")] {
        client.put(&format!("/v1/contracts/{name}"), &contract(from, "h16", "10Mbit")).is(201);
    }
    client.put("/v1/nodes/h3/state", &json!({ "state": "down" })).is(200);
    // One heartbeat, and none after it.
    let agent = client.token(json!({ "role": "agent", "node": "h2" }));
    let epoch = agent.post("/v1/agents/h2/session", &json!({})).is(200).json()["epoch"].clone();
    agent.post("/v1/agents/h2/reports", &json!({ "epoch": epoch, "beat": true })).is(204);
    let levels = || client.get("/v1/health").is(200).json()["levels"].clone();
    let expected = json!({ "violated": 1, "unknown": 1, "unconfirmed": 1, "at-risk": 0, "pending": 0, "not-enforced": 0,
        "best-estimate": 0, "ok": 0 });
    let reached = std::iter::repeat_with(levels).take(100_000).any(|levels| levels == expected);
    assert!(reached, "{}", client.get("/v1/health").is(200).json());
    let health = client.get("/v1/health").is(200).json();
    let of = |item: &Value| (item["level"].as_str().unwrap().to_owned(), item["reason"].as_str().unwrap().to_owned());
    let found: Vec<(String, String)> = health["items"].as_array().unwrap().iter().map(of).collect();
    let pairs = [("violated", "FAILURE"), ("unknown", "SILENT"), ("unconfirmed", "UNCONFIRMED")];
    assert_eq!(found, pairs.map(|(level, reason)| (level.to_owned(), reason.to_owned())));
    let metrics = String::from_utf8(client.get("/metrics").is(200).body).unwrap();
    for (reason, count) in [("FAILURE", 1), ("SILENT", 1), ("UNCONFIRMED", 1), ("UNFIT", 0), ("NOT_CARRIED_OUT", 0)] {
        let line = format!("wayleave_contracts_degraded{{reason=\"{reason}\"}} {count}");
        assert!(metrics.lines().any(|known| known == line), "{line}");
    }
    assert!(metrics.lines().any(|line| line == "wayleave_contracts{state=\"violated\"} 0"));
}

#[test]
fn promises_of_every_kind_are_listed_and_best_effort_is_none() {
    let world = fabric();
    let client = &world.client;
    let put = |name: &str, body: Value| client.put(&format!("/v1/contracts/{name}"), &body).is(201);
    put("hose", json!({ "bandwidth": { "hose": ["h1", "h5", "h9"], "min": "1Gbit" } }));
    put("aim", json!({ "objective": { "members": ["h1", "h6"], "weight": "200Mbit", "goal": "completion" } }));
    put("rest", json!({ "bestEffort": { "members": ["h1", "h7"] } }));
    let all = client.get("/v1/health").is(200).json();
    let mut names = ids(&all);
    names.sort();
    assert_eq!(names, ["default:aim", "default:hose"]);
    let hose = all["items"].as_array().unwrap().iter().find(|item| item["id"] == "default:hose").unwrap();
    assert_eq!((&hose["kind"], &hose["min"], &hose["members"]), (&json!("bandwidth"), &json!("1Gbit"), &json!(3)));
    assert_eq!(ids(&client.get("/v1/contracts?kind=best-effort").is(200).json()), ["default:rest"]);
    assert_eq!(ids(&client.get("/v1/contracts?kind=bandwidth").is(200).json()), ["default:hose"]);
}

#[test]
fn contracts_are_found_by_link_kind_state_and_part_of_their_names() {
    let world = World::new();
    let client = &world.client;
    for number in 0..5 {
        client.put(&format!("/v1/contracts/up-{number}"), &contract("h1", "h16", "1Mbit")).is(201);
        client.put(&format!("/v1/contracts/down-{number}"), &contract("h16", "h2", "1Mbit")).is(201);
    }
    let up: Vec<String> = (0..5).map(|number| format!("default:up-{number}")).collect();
    assert_eq!(pages(client, "/v1/contracts?link=h1-%3Epod1-edge1", 2), up);
    assert_eq!(pages(client, "/v1/contracts?text=up-", 3), up);
    assert_eq!(pages(client, "/v1/contracts?text=up-&link=h16-%3Epod4-edge2", 3), [""; 0]);
    assert_eq!(pages(client, "/v1/contracts?state=admitted&kind=latency", 3).len(), 10);
    client.get("/v1/contracts?link=none").is_problem(404, "NOT_FOUND");
    client.get("/v1/contracts?kind=none").is_problem(400, "INVALID");
}

/// Earlier names of routes, each with the present one.
const EARLIER: &[(&str, &str)] = &[("/v1/risks", "/v1/health"), ("/v1/tiers", "/v1/topology/summary")];

#[test]
fn earlier_names_of_routes_are_answered_and_marked_deprecated() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/contracts/a", &contract("h1", "h16", "1Mbit")).is(201);
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let is_deprecated =
        |operations: &Value| operations.as_object().unwrap().values().any(|one| one["deprecated"] == true);
    let paths = document["paths"].as_object().unwrap().iter().filter(|(_, operations)| is_deprecated(operations));
    let deprecated: Vec<&str> = paths.map(|(path, _)| path.as_str()).collect();
    assert_eq!(deprecated, EARLIER.iter().map(|(earlier, _)| *earlier).collect::<Vec<_>>());
    for (earlier, present) in EARLIER {
        let (one, other) = (client.get(earlier).is(200).json(), client.get(present).is(200).json());
        assert_eq!(
            one.as_object().unwrap().keys().collect::<Vec<_>>(),
            other.as_object().unwrap().keys().collect::<Vec<_>>()
        );
    }
}

/// A block by its name.
fn block<'a>(tiers: &'a Value, name: &str) -> &'a Value {
    let all = tiers["tiers"].as_array().unwrap().iter().flat_map(|tier| tier["nodeGroups"].as_array().unwrap());
    all.into_iter().find(|block| block["name"] == name).unwrap_or_else(|| panic!("{name}"))
}

fn bundle<'a>(tiers: &'a Value, from: &str, to: &str) -> &'a Value {
    let (from, to) = (&block(tiers, from)["id"], &block(tiers, to)["id"]);
    let mut all = tiers["linkGroups"].as_array().unwrap().iter();
    all.find(|bundle| bundle["from"] == *from && bundle["to"] == *to).unwrap()
}

/// Repeats a request until the figures of links are current: the engine computes them when it is idle.
fn settled(ask: impl Fn() -> Value, is_settled: impl Fn(&Value) -> bool) -> Value {
    (0..100_000).map(|_| ask()).find(|answer| is_settled(answer)).expect("the figures never settle")
}

#[test]
fn the_network_by_tier_has_racks_as_counters_that_open() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/contracts/a", &contract("h1", "h16", "100Mbit")).is(201);
    let whole = settled(
        || client.get("/v1/topology/summary").is(200).json(),
        |tiers| tiers["busiest"].as_array().unwrap().len() == 6,
    );
    let names: Vec<&str> =
        whole["tiers"].as_array().unwrap().iter().map(|tier| tier["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["core", "aggregation", "edge", "hosts"]);
    let counts: Vec<usize> =
        whole["tiers"].as_array().unwrap().iter().map(|tier| tier["nodeGroups"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [4, 8, 8, 8], "16 hosts in 8 racks");
    let rack = block(&whole, "hosts of pod1-edge1");
    assert_eq!((&rack["nodes"], &rack["group"]), (&json!(2), &json!("switch:pod1-edge1")));
    // 100 Mbit/s of a link of 1 Gbit/s.
    assert_eq!(bundle(&whole, "hosts of pod1-edge1", "pod1-edge1")["ratePpm"], 100_000);
    assert_eq!(bundle(&whole, "hosts of pod1-edge1", "pod1-edge1")["meanRatePpm"], 50_000);
    assert_eq!(bundle(&whole, "pod1-edge1", "hosts of pod1-edge1")["ratePpm"], 0);
    let open = client.get("/v1/topology/summary?group=switch:pod1-edge1").is(200).json();
    assert_eq!((&open["name"], &open["within"]), (&json!("pod1-edge1"), &json!([{ "name": "test" }])));
    assert_eq!(bundle(&open, "h1", "pod1-edge1")["busiest"], "h1->pod1-edge1");
    assert_eq!(block(&open, "pod1-agg1")["outside"], true);
    let pod = client.get("/v1/topology/summary?group=pod:pod1-edge1").is(200).json();
    assert_eq!(pod["name"], "pod1");
    assert_eq!(
        (&block(&pod, "core outside")["nodes"], &block(&pod, "core outside")["outside"]),
        (&json!(4), &json!(true))
    );
    for wrong in ["none", "pod:none", "switch:h1", "pod:core1", "rack:pod1-edge1"] {
        client.get(&format!("/v1/topology/summary?group={wrong}")).is_problem(404, "NOT_FOUND");
    }
}

#[test]
fn failed_elements_are_counted_in_their_block_and_bundle() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/nodes/pod1-agg1/state", &json!({ "state": "down", "reason": "power" })).is(200);
    client.put("/v1/links/h3-%3Epod1-edge2/state", &json!({ "state": "down" })).is(200);
    let tiers = client.get("/v1/topology/summary").is(200).json();
    assert_eq!(block(&tiers, "pod1-agg1")["down"], 1);
    assert_eq!(bundle(&tiers, "pod1-edge1", "pod1-agg1")["down"], 1);
    assert_eq!(bundle(&tiers, "hosts of pod1-edge2", "pod1-edge2")["down"], 1);
    assert_eq!(bundle(&tiers, "pod1-edge2", "hosts of pod1-edge2")["down"], 1, "a cable has two directions");
    assert_eq!(
        tiers["down"],
        json!([
            { "element": "link h3->pod1-edge2", "state": "down", "reason": "reported down" }, { "element": "node pod1-agg1", "state": "down", "reason": "power" }
        ])
    );
}

#[test]
fn the_past_is_reconstructed_from_events_backwards() {
    let world = World::new();
    let client = &world.client;
    client.get("/v1/timeline/99").is_problem(404, "NOT_FOUND");
    for name in ["a", "b"] {
        client.put(&format!("/v1/contracts/{name}"), &contract("h1", "h16", "1Mbit")).is(201);
    }
    let state = |state: &str| client.put("/v1/nodes/h1/state", &json!({ "state": state })).is(200);
    state("down");
    state("up");
    let events = client.get("/v1/events?limit=1000").is(200).json();
    let events = events["items"].as_array().unwrap();
    let find = |kind: &str, object: &str| {
        let found = events.iter().find(|event| event["type"] == kind && event["object"] == object);
        found.unwrap_or_else(|| panic!("{kind} {object}"))["number"].as_u64().unwrap()
    };
    let snapshot = |number: u64| client.get(&format!("/v1/timeline/{number}")).is(200).json();
    let one = snapshot(find("admitted", "default:a"));
    assert_eq!((&one["contracts"]["admitted"], &one["down"]), (&json!(1), &json!([])));
    let broken = snapshot(find("degraded", "default:b").max(find("degraded", "default:a")));
    assert_eq!((&broken["contracts"]["degraded"], &broken["contracts"]["admitted"]), (&json!(2), &json!(0)));
    assert_eq!(broken["down"], json!(["node h1"]));
    assert_eq!(ids(&json!({ "items": broken["unmet"] })).len(), 2);
    let last = snapshot(events.last().unwrap()["number"].as_u64().unwrap());
    assert_eq!((&last["contracts"]["admitted"], &last["down"], &last["unmet"]), (&json!(2), &json!([]), &json!([])));
    let timeline = client.get("/v1/timeline?buckets=50").is(200).json();
    let buckets = timeline["buckets"].as_array().unwrap();
    assert!((1..=50).contains(&buckets.len()), "{}", buckets.len());
    let received = buckets.iter().flat_map(|bucket| bucket["events"].as_object().unwrap().values());
    assert_eq!(received.map(|count| count.as_u64().unwrap()).sum::<u64>(), events.len() as u64);
    assert_eq!(buckets.last().unwrap()["contracts"]["admitted"], 2);
    assert_eq!(buckets.last().unwrap()["down"], 0);
    for wrong in ["buckets=0", "buckets=401", "buckets=x"] {
        client.get(&format!("/v1/timeline?{wrong}")).is_problem(400, "INVALID");
    }
    client.get("/v1/timeline/x").is_problem(400, "INVALID");
}

#[test]
fn a_tenant_sees_its_own_promises_and_past_and_nothing_about_links() {
    let world = World::new();
    let operator = &world.client;
    for (tenant, host) in [("acme", "h2"), ("other", "h2")] {
        operator.put(&format!("/v1/tenants/{tenant}"), &json!({})).is(201);
        operator.put(&format!("/v1/vms/{tenant}:vm"), &json!({ "placement": { "host": host } })).is(201);
        operator.put(&format!("/v1/contracts/{tenant}:c"), &contract("vm", "h16", "1Mbit")).is(201);
    }
    operator.put("/v1/nodes/h2/state", &json!({ "state": "down", "reason": "rack 7 is on fire" })).is(200);
    for role in ["tenant", "reader"] {
        let client = operator.token(json!({ "role": role, "tenant": "acme" }));
        let health = client.get("/v1/health").is(200).json();
        assert_eq!((ids(&health), &health["levels"]["violated"]), (vec!["acme:c".to_owned()], &json!(1)));
        // A page that begins behind another tenant's contract.
        assert_eq!(ids(&client.get("/v1/health?after=violated.0.other:c").is(200).json()), ["acme:c"]);
        assert_eq!(ids(&client.get("/v1/contracts?link=h2-%3Epod1-edge1").is(200).json()), ["acme:c"]);
        // The answer does not reveal the names of links and switches.
        for (filter, names) in [("link", ["none", "h1-%3Epod1-edge1"]), ("host", ["none", "pod2-edge1"])] {
            let hidden = names.map(|name| {
                let problem = client.get(&format!("/v1/contracts?{filter}={name}")).is_problem(404, "NOT_FOUND");
                problem["detail"].as_str().unwrap().replace(&name.replace("%3E", ">"), "*")
            });
            assert_eq!(hidden[0], hidden[1]);
        }
        assert_eq!(ids(&client.get("/v1/contracts?host=pod1-edge1").is(200).json()), ["acme:c"]);
        assert_eq!(ids(&client.get("/v1/contracts?text=other").is(200).json()), [""; 0]);
        let last = client.get("/v1/events?limit=1000").is(200).json()["items"].as_array().unwrap().len();
        for number in 1..=last {
            let snapshot = client.get(&format!("/v1/timeline/{number}")).is(200).json();
            assert_eq!(snapshot.get("down"), None, "{number}");
            assert!(!snapshot.to_string().contains("other"), "{snapshot}");
        }
        client.get(&format!("/v1/timeline/{}", last + 1)).is_problem(404, "NOT_FOUND");
        let timeline = client.get("/v1/timeline").is(200).json();
        assert!(timeline["buckets"].as_array().unwrap().iter().all(|one| one.get("down").is_none()), "{timeline}");
        for path in ["/v1/topology/summary", "/v1/agents", "/v1/links/h2-%3Epod1-edge1/curves"] {
            client.get(path).is_problem(403, "FORBIDDEN");
        }
    }
}

#[test]
fn curves_of_a_link_are_those_of_the_ledger() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/contracts/a", &contract("h1", "h16", "100Mbit")).is(201);
    let curves = client.get("/v1/links/h1-%3Epod1-edge1/curves").is(200).json();
    let used: Vec<&Value> = curves["queues"].as_array().unwrap().iter().filter(|queue| queue["flows"] != 0).collect();
    let [queue] = used[..] else { panic!("{curves}") };
    assert_eq!((&queue["flows"], &queue["link"]), (&json!(1), &json!("h1->pod1-edge1")));
    assert!(queue["delayBoundNs"].as_u64().unwrap() <= queue["budgetNs"].as_u64().unwrap());
    assert_eq!(queue["inputs"][0]["rateBps"], 100_000_000);
    client.get("/v1/links/none/curves").is_problem(404, "NOT_FOUND");
}

#[test]
fn agents_are_listed_with_their_reported_problems() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    for node in ["h1", "h2", "h3"] {
        let agent = client.token(json!({ "role": "agent", "node": node }));
        let epoch = agent.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json()["epoch"].clone();
        let troubles = if node == "h2" { json!(["no clock"]) } else { json!([]) };
        agent
            .post(
                &format!("/v1/agents/{node}/reports"),
                &json!({ "epoch": epoch, "beat": true, "troubles": troubles, "contractProblems": [] }),
            )
            .is(204);
    }
    let all = client.get("/v1/agents?limit=2").is(200).json();
    let nodes: Vec<&str> =
        all["items"].as_array().unwrap().iter().map(|agent| agent["node"].as_str().unwrap()).collect();
    assert_eq!((nodes, &all["next"]), (vec!["h1", "h2"], &json!("h2")));
    let rest = client.get("/v1/agents?after=h2").is(200).json();
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    let problems = client.get("/v1/agents?problems=true").is(200).json();
    let [only] = &problems["items"].as_array().unwrap()[..] else { panic!("{problems}") };
    assert_eq!((&only["node"], &only["open"], &only["problems"]), (&json!("h2"), &json!(true), &json!(["no clock"])));
    client.get("/v1/agents?after=none").is_problem(400, "INVALID");
}

#[test]
fn an_answer_to_what_if_states_the_number_of_omitted_entries() {
    let world = World::new();
    let client = &world.client;
    for number in 0..5 {
        client.put(&format!("/v1/contracts/c{number}"), &contract("h1", "h16", "1Mbit")).is(201);
    }
    let question = json!({ "fail": ["h1"] });
    let few = client.post("/v1/what-if?limit=2", &question).is(200).json();
    assert_eq!(few["degraded"].as_array().unwrap().len(), 2);
    assert_eq!(few["omitted"], json!({ "degraded": 3 }));
    let all = client.post("/v1/what-if", &question).is(200).json();
    assert_eq!((all["degraded"].as_array().unwrap().len(), all.get("omitted")), (5, None));
}
