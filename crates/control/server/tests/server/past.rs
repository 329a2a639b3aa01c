//! Contracts as they were, and changes that are made together or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::ServerLimits;
use wayleave_server::disk::Memory;
use wayleave_units::WallTime;

use crate::common::{Client, World, classed, contract, options};
use wayleave_repo_checks::TempFolder;

fn begin(disk: &Memory, scratch: Arc<TempFolder>, limits: ServerLimits) -> World {
    let mut options = options(Box::new(disk.clone()), &scratch, EnforcedBy::Nobody);
    options.setup = classed(EnforcedBy::Nobody);
    options.limits = limits;
    World::of(options, scratch)
}

fn world() -> World {
    begin(&Memory::default(), Arc::new(TempFolder::new("server")), ServerLimits::default())
}

fn now() -> String {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    WallTime::from_nanos(u64::try_from(nanos).unwrap()).to_string()
}

/// Returns the requested terms of every contract that is not released, by identity.
fn contracts(client: &Client) -> BTreeMap<String, Value> {
    let list = client.get("/v1/contracts?limit=1000").is(200).json();
    let kept = list["items"].as_array().unwrap().iter().filter(|one| one["status"]["state"] != "released");
    let spec = |one: &Value| {
        let mut one = one.clone();
        let id = one["id"].as_str().unwrap().to_owned();
        ["id", "status"].iter().for_each(|key| drop(one.as_object_mut().unwrap().remove(*key)));
        (id, one)
    };
    kept.map(spec).collect()
}

fn newest(client: &Client) -> u64 {
    let events = client.get("/v1/events?limit=1000").is(200).json();
    events["items"].as_array().unwrap().last().map_or(0, |event| event["number"].as_u64().unwrap())
}

/// Returns the present contracts with the changes since `to` undone.
fn then(client: &Client, to: impl std::fmt::Display) -> BTreeMap<String, Value> {
    let past = client.get(&format!("/v1/past/{to}")).is(200).json();
    assert_eq!(past["unknown"], json!([]), "{past}");
    let mut all = contracts(client);
    for one in past["contracts"].as_array().unwrap() {
        let id = one["id"].as_str().unwrap();
        match one.get("spec") {
            Some(spec) => drop(all.insert(id.to_owned(), spec.clone())),
            None => drop(all.remove(id)),
        }
    }
    all
}

/// Returns steps that change contracts differently: with and without a decision, of every kind.
fn steps() -> Vec<(&'static str, &'static str, Value)> {
    let with = |mut body: Value, key: &str, value: Value| {
        body[key] = value;
        body
    };
    let lat = contract("h1", "h9", "10Mbit");
    vec![
        ("put", "default:lat", lat.clone()),
        ("put", "acme:hose", json!({ "bandwidth": { "hose": ["h1", "h5"], "min": "1Gbit" } })),
        ("put", "acme:best", json!({ "bestEffort": { "members": ["h1", "h2"] } })),
        ("put", "default:lat", contract("h1", "h9", "20Mbit")),
        ("put", "default:lat", with(contract("h1", "h9", "20Mbit"), "labels", json!({ "app": "web" }))),
        (
            "put",
            "acme:hose",
            with(json!({ "bandwidth": { "hose": ["h1", "h5"], "min": "1Gbit" } }), "priority", json!(70)),
        ),
        ("delete", "acme:hose", Value::Null),
        (
            "put",
            "acme:hose",
            json!({ "objective": { "deadline": "20ms", "members": ["h1", "h6"], "weight": "1Gbit" } }),
        ),
        ("delete", "default:lat", Value::Null),
        ("put", "default:lat", contract("h2", "h9", "10Mbit")),
        ("put", "default:lat", contract("h2", "h9", "10Mbit")),
        ("delete", "acme:best", Value::Null),
    ]
}

#[test]
fn past_states_of_contracts_are_known_to_tenants_and_after_a_restart() {
    let disk = Memory::default();
    let world = begin(&disk, Arc::new(TempFolder::new("server")), ServerLimits::default());
    let operator = &world.client.clone();
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    let acme = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    operator.put("/v1/vms/acme:h", &json!({ "placement": { "host": "h3" } })).is(201);
    let of_acme = |all: &BTreeMap<String, Value>| {
        let own = all.iter().filter(|(id, _)| id.starts_with("acme:"));
        own.map(|(id, spec)| (id.clone(), spec.clone())).collect::<BTreeMap<_, _>>()
    };
    let mut known = vec![(newest(operator), newest(&acme), true, now(), contracts(operator))];
    for (verb, id, body) in steps() {
        let path = format!("/v1/contracts/{id}");
        let answer = if verb == "put" { operator.put(&path, &body) } else { operator.delete(&path) };
        assert!((200..300).contains(&answer.status), "{verb} {id}: {}", answer.json());
        let number = newest(operator);
        // A change without an event belongs to no number: right after the last event it was not made.
        let is_figure = number != known.last().unwrap().0;
        known.push((number, newest(&acme), is_figure, now(), contracts(operator)));
    }
    assert_eq!(known.iter().filter(|step| !step.2).count(), 4, "a rate, labels, a priority, and nothing at all");
    let check = |operator: &Client, acme: &Client| {
        for (number, own, is_figure, time, all) in &known {
            assert_eq!(then(operator, time), *all, "at {time}");
            assert_eq!(then(acme, time), of_acme(all), "at {time}");
            if *is_figure {
                assert_eq!(then(operator, number), *all, "after event {number}");
            }
            if *is_figure && *own > 0 && known.iter().filter(|step| step.1 == *own).count() == 1 {
                assert_eq!(then(acme, own), of_acme(all), "after event {own} of acme");
            }
        }
    };
    check(operator, &acme);
    // A question about one tenant is answered for this tenant; a tenant sees no other.
    let asked = |client: &Client, tenant: &str| {
        let past = client.get(&format!("/v1/past/{}?tenant={tenant}", known[0].3)).is(200).json();
        past["contracts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(asked(operator, "default"), ["default:lat"]);
    assert_eq!(asked(operator, "acme"), ["acme:best", "acme:hose"]);
    for (client, tenant) in [(&acme, "default"), (&acme, "nosuch"), (operator, "nosuch")] {
        client.get(&format!("/v1/past/{}?tenant={tenant}", known[0].3)).is_problem(404, "NOT_FOUND");
    }
    let scratch = world.end();
    let world = begin(&disk, scratch, ServerLimits::default());
    check(&operator.at(&world), &acme.at(&world));
}

#[test]
fn a_dropped_past_is_unknown_and_only_for_its_tenant() {
    let limits = ServerLimits { history_bytes: 8 << 10, ..ServerLimits::default() };
    let world = begin(&Memory::default(), Arc::new(TempFolder::new("server")), limits);
    let operator = &world.client;
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    operator.put("/v1/contracts/acme:one", &contract("h1", "h9", "10Mbit")).is(201);
    let start = now();
    operator.put("/v1/contracts/acme:one", &contract("h1", "h9", "11Mbit")).is(200);
    for rate in 1..40 {
        operator.put("/v1/contracts/busy", &contract("h1", "h9", &format!("{rate}Mbit")));
    }
    let past = operator.get(&format!("/v1/past/{start}")).is(200).json();
    assert_eq!(past["contracts"].as_array().unwrap().len(), 1, "{past}");
    assert_eq!(past["contracts"][0]["spec"]["rate"], "10Mbit");
    assert_eq!(past["unknown"][0]["tenant"], "default", "{past}");
    let since = past["unknown"][0]["since"].as_str().unwrap().to_owned();
    let known = operator.get(&format!("/v1/past/{since}")).is(200).json();
    assert_eq!(known["unknown"], json!([]), "what is said to be known is");
}

#[test]
fn a_malformed_or_future_time_is_refused() {
    let world = world();
    for (to, what) in [("yesterday", "expected an event number or a time"), ("2500-01-01T00:00:00Z", "in the future")] {
        let problem = world.client.get(&format!("/v1/past/{to}")).is_problem(400, "INVALID");
        assert!(problem["detail"].as_str().unwrap().contains(what), "{problem}");
    }
    world.client.get("/v1/past/4711").is_problem(404, "NOT_FOUND");
}

fn named(mut body: Value, name: &str) -> Value {
    body["name"] = name.into();
    body
}

fn outcomes(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    report["items"].as_array().unwrap().iter().map(|item| (text(&item["id"]), text(&item["outcome"]))).collect()
}

fn pair(id: &str, outcome: &str) -> (String, String) {
    (format!("default:{id}"), outcome.to_owned())
}

#[test]
fn a_batch_is_applied_as_a_whole_or_not_at_all() {
    let world = world();
    let client = &world.client;
    client.put("/v1/contracts/a", &contract("h1", "h9", "10Mbit")).is(201);
    let before = (contracts(client), newest(client));
    let mut fast = contract("h1", "h9", "10Mbit");
    fast["deadline"] = "1us".into();
    let body = json!({ "delete": ["a"], "apply": [named(contract("h2", "h9", "1Mbit"), "b"), named(fast, "c")] });
    let problem = client.post("/v1/batch", &body);
    assert!(problem.status == 409, "{}", problem.json());
    assert!(problem.json()["detail"].as_str().unwrap().starts_with("none of the"), "{}", problem.json());
    assert_eq!((contracts(client), newest(client)), before, "nothing has changed, and nobody was told of anything");
    // A dry run names each.
    let tried = client.post("/v1/batch?dryRun=true", &body).is(200).json();
    assert_eq!(outcomes(&tried), [pair("a", "deleted"), pair("b", "created"), pair("c", "refused")]);
    assert_eq!((contracts(client), newest(client)), before);
    let body = json!({ "delete": ["a", "gone"], "apply": [named(contract("h2", "h9", "1Mbit"), "b")] });
    let done = client.post("/v1/batch", &body).is(200).json();
    assert_eq!(outcomes(&done), [pair("a", "deleted"), pair("gone", "absent"), pair("b", "created")]);
    assert_eq!(contracts(client).into_keys().collect::<Vec<_>>(), ["default:b"]);
}

/// Quota and name of a deleted contract are free for a new one. Its reservation is held until its last packets have
/// left.
#[test]
fn a_batch_reuses_quota_and_names_of_its_deletions_but_no_reservation() {
    let world = world();
    let client = &world.client;
    client.put("/v1/tenants/default", &json!({ "quota": { "contracts": 2 } })).is(200);
    client.put("/v1/contracts/a", &contract("h1", "h9", "10Mbit")).is(201);
    let mut rates = (1..20).rev().map(|rate| format!("{}Mbit", rate * 500));
    let most = rates.find(|rate| client.put("/v1/contracts/most", &contract("h2", "h9", rate)).status == 201);
    let most = most.expect("something fits beside");
    client.put("/v1/contracts/third", &contract("h3", "h9", "1Mbit")).is_problem(409, "QUOTA");
    let before = (contracts(client), newest(client));
    let body = |rate: &str| json!({ "delete": ["most"], "apply": [named(contract("h3", "h9", rate), "third")] });
    client.post("/v1/batch", &body(&most)).is_problem(409, "RATE");
    assert_eq!((contracts(client), newest(client)), before);
    assert_eq!(outcomes(&client.post("/v1/batch?dryRun=true", &body("1Mbit")).is(200).json()).len(), 2);
    assert_eq!((contracts(client), newest(client)), before);
    let done = client.post("/v1/batch", &body("1Mbit")).is(200).json();
    assert_eq!(outcomes(&done), [pair("most", "deleted"), pair("third", "created")]);
    // Of another kind and under the same name, which a change is not.
    let hose = json!({ "name": "a", "objective": { "deadline": "20ms", "members": ["h1", "h5"], "weight": "1Mbit" } });
    client.post("/v1/batch", &json!({ "apply": [hose.clone()] })).is_problem(400, "INVALID");
    let done = client.post("/v1/batch", &json!({ "delete": ["a"], "apply": [hose] })).is(200).json();
    assert_eq!(outcomes(&done), [pair("a", "deleted"), pair("a", "created")]);
    assert_eq!(contracts(client)["default:a"]["objective"]["deadline"], "20ms");
}

#[test]
fn errors_of_a_batch_are_reported_and_tenants_change_only_their_objects() {
    let world = world();
    let operator = &world.client;
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    operator.put("/v1/contracts/a", &contract("h1", "h9", "10Mbit")).is(201);
    let acme = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    acme.post("/v1/batch", &json!({ "delete": ["default:a"] })).is_problem(404, "NOT_FOUND");
    assert_eq!(contracts(operator).len(), 1);
    for (body, what) in [
        (json!({}), "nothing to delete or apply"),
        (json!({ "delete": ["a", "default:a"] }), "twice"),
        (json!({ "apply": [{ "name": "b", "from": "h1", "to": "h99" }] }), "h99"),
        (json!({ "remove": ["a"] }), "unknown field `remove`"),
    ] {
        let problem = operator.post("/v1/batch", &body).is_problem(400, "INVALID");
        assert!(problem.to_string().contains(what), "{problem}");
    }
}

/// The share of a bandwidth contract is held until its last packets have left.
#[test]
fn a_batch_that_needs_the_share_of_its_own_deletion_is_refused() {
    let world = world();
    let client = &world.client;
    let wide = |name: &str| named(json!({ "bandwidth": { "from": "h1", "to": "h9", "min": "4Gbit" } }), name);
    client.put("/v1/contracts/old", &wide("old")).is(201);
    let before = (contracts(client), newest(client));
    let body = json!({ "delete": ["old"], "apply": [wide("new")] });
    client.post("/v1/batch", &body).is_problem(409, "RATE");
    assert_eq!((contracts(client), newest(client)), before);
    assert_eq!(client.get("/v1").is(200).json()["generation"], 1, "the ledger was not opened again");
}
