//! Contracts of other kinds than latency: created, shown, explained and refused, to operators and to tenants.

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;

use crate::common::{Client, World, classed, contract, options};
use crate::load::MAX_COUNT;
use wayleave_repo_checks::TempFolder;

fn world() -> World {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Hosts);
    options.setup = classed(EnforcedBy::Hosts);
    World::of(options, scratch)
}

fn hose(members: &[&str], min: &str) -> Value {
    json!({ "bandwidth": { "hose": members, "min": min } })
}

/// A tenant with VMs `a` to `c` on h1, h5 and h9.
fn tenant(world: &World, name: &str) -> Client {
    let operator = &world.client;
    operator.put(&format!("/v1/tenants/{name}"), &json!({})).is(201);
    let client = operator.token(json!({ "role": "tenant", "tenant": name }));
    for (vm, host) in [("a", "h1"), ("b", "h5"), ("c", "h9")] {
        client.put(&format!("/v1/vms/{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    client
}

#[test]
fn without_agents_no_kind_is_enforced() {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
    options.setup = classed(EnforcedBy::Nobody);
    let world = World::of(options, scratch);
    let client = &world.client;
    for (name, body) in [
        ("db", hose(&["h1", "h5"], "500Mbit")),
        ("ptp", contract("h1", "h16", "10Mbit")),
        ("search", json!({ "objective": { "goal": "latency", "members": ["h2", "h3"], "weight": "500Mbit" } })),
        ("bulk", json!({ "bestEffort": { "members": ["h4", "h8"] } })),
    ] {
        let created = client.put(&format!("/v1/contracts/{name}"), &body).is(201).json();
        let status = &created["status"];
        assert_eq!((&status["state"], &status["reason"]), (&json!("admitted"), &json!("NOT_ENFORCED")), "{created}");
        assert!(status["message"].as_str().unwrap().starts_with("admitted, not enforced"), "{created}");
        assert_eq!(status.get("effective"), None, "{created}");
    }
    let status = client.get("/v1/status").is(200).json();
    assert_eq!((&status["enforcement"], &status["effective"]), (&json!("none"), &json!(0)));
    assert_eq!(status.get("late"), Some(&Value::Null), "nobody measures: {status}");
    let levels = client.get("/v1/health").is(200).json()["levels"].clone();
    assert_eq!((&levels["not-enforced"], &levels["ok"]), (&json!(3), &json!(0)), "best effort promises nothing");
}

#[test]
fn a_share_is_enforced_once_all_agents_report_its_rule_and_names_missing_ones() {
    let world = world();
    let client = &world.client;
    client.put("/v1/contracts/db", &hose(&["h1", "h5"], "500Mbit")).is(201);
    client
        .put(
            "/v1/contracts/timed",
            &json!({ "bandwidth": { "from": "h1", "to": "h5", "min": "1Gbit", "within": "9ms" } }),
        )
        .is(201);
    client
        .put(
            "/v1/contracts/soon",
            &json!({ "objective": { "deadline": "9ms", "members": ["h1", "h5"], "weight": "1Gbit" } }),
        )
        .is(201);
    let agents = ["h1", "h5"].map(|node| (node, client.token(json!({ "role": "agent", "node": node }))));
    let epochs = agents.each_ref().map(|(node, agent)| {
        agent.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json()["epoch"].clone()
    });
    let report = |at: usize, problems: Value| {
        let (node, agent) = &agents[at];
        let rules = agent.get(&format!("/v1/agents/{node}/shares")).is(200).json()["contracts"].clone();
        let of = |rule: &Value| json!([rule["serial"], rule["version"]]);
        let in_force: Vec<Value> =
            if problems == json!([]) { rules.as_array().unwrap().iter().map(of).collect() } else { Vec::new() };
        let body = json!({ "epoch": epochs[at], "beat": true, "rulesInForce": in_force, "contractProblems": problems });
        agent.post(&format!("/v1/agents/{node}/reports"), &body).is(204);
        client.get("/v1/contracts/db").is(200).json()["status"].clone()
    };
    let status = report(0, json!([]));
    assert_eq!((&status["state"], &status["reason"]), (&json!("admitted"), &json!("NOT_CONFIRMED")));
    assert!(status["message"].as_str().unwrap().contains("the agent of h5"), "{status}");
    let status = report(1, json!([]));
    assert_eq!((&status["state"], &status["reason"]), (&json!("enforced"), &json!("ENFORCED_IN_PART")), "{status}");
    assert_eq!(status["effective"], 1);
    for (name, key) in [("timed", "bandwidth.within"), ("soon", "objective.deadline")] {
        let status = client.get(&format!("/v1/contracts/{name}")).is(200).json()["status"].clone();
        assert_eq!((&status["state"], &status["reason"]), (&json!("enforced"), &json!("ENFORCED_IN_PART")), "{status}");
        assert!(status["message"].as_str().unwrap().contains(&format!("{key} has no effect: ")), "{status}");
    }
    let effective = || client.get("/v1/status").is(200).json()["effective"].clone();
    assert_eq!(effective(), 3);

    let serial = client.get("/v1/contracts/db").json()["status"]["serial"].clone();
    let status = report(1, json!([{ "serial": serial, "why": "the interface of h5 is not there" }]));
    assert_eq!((&status["state"], &status["reason"]), (&json!("degraded"), &json!("NOT_CARRIED_OUT")));
    assert_eq!(status["message"], "the agent of h5 cannot carry it out: the interface of h5 is not there");
    assert_eq!(effective(), 0);
}

/// A counter of a host is at most 2^64 - 1: the sum of two hosts may exceed it.
#[test]
fn forged_counters_of_two_hosts_of_a_hose_are_no_rate() {
    let world = world();
    let client = &world.client;
    client.put("/v1/contracts/db", &hose(&["h1", "h5"], "500Mbit")).is(201);
    let serial = client.get("/v1/contracts/db").is(200).json()["status"]["serial"].clone();
    let agents = ["h1", "h5"].map(|node| (node, client.token(json!({ "role": "agent", "node": node }))));
    let epochs = agents.each_ref().map(|(node, agent)| {
        agent.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json()["epoch"].clone()
    });
    let report = |count: u64| {
        for ((node, agent), epoch) in agents.iter().zip(&epochs) {
            let one = json!({ "serial": serial, "packets": count, "bytes": count, "delayed": count, "waiting": count,
                "queueFull": count, "oversized": count, "waitedNs": count, "waits": [count, 0] });
            let body = json!({ "epoch": epoch, "beat": true, "traffic": [one] });
            agent.post(&format!("/v1/agents/{node}/reports"), &body).is(204);
        }
    };
    for counts in [[0, MAX_COUNT >> 1], [0, MAX_COUNT], [MAX_COUNT >> 1, MAX_COUNT]] {
        counts.into_iter().for_each(&report);
        let of_contract = client.get("/v1/contracts/db/traffic").is(200).json();
        assert_eq!((&of_contract["reporting"], &of_contract["rateBps"]), (&json!(2), &Value::Null), "{of_contract}");
        let listed = client.get("/v1/contracts?sort=measured&order=desc").is(200).json();
        assert_eq!(listed["items"][0]["status"].get("rateBps"), None, "{listed}");
        let top = client.get("/v1/traffic").is(200).json();
        assert_eq!((&top["measured"], &top["rateBps"]), (&json!(0), &Value::Null), "{top}");
        let csv = String::from_utf8(client.get("/v1/contracts?format=csv").is(200).body).unwrap();
        let columns: Vec<&str> = csv.lines().map(|line| line.split(',').nth(12).unwrap()).collect();
        assert_eq!(columns, ["measuredBps", ""]);
        client.get("/metrics").is(200);
        client.get("/v1/alerts").is(200);
    }
}

#[test]
fn agents_of_members_receive_contracts_spare_rates_and_peer_addresses() {
    let world = world();
    let client = &world.client;
    let agents = ["h1", "h5", "h9"].map(|node| client.token(json!({ "role": "agent", "node": node })));
    let answer = |at: usize| agents[at].get(&format!("/v1/agents/{}/shares", ["h1", "h5", "h9"][at])).is(200);
    let first = answer(0);
    assert_eq!((&first.json()["contracts"], &first.json()["transmitBps"]), (&json!([]), &json!(10_000_000_000_u64)));

    client.put("/v1/contracts/db", &hose(&["h1", "h5"], "500Mbit")).is(201);
    client
        .put(
            "/v1/contracts/copy",
            &json!({ "bandwidth": { "from": "h9", "to": "h5", "min": "1Gbit", "max": "2Gbit" } }),
        )
        .is(201);
    let rule = answer(0).json()["contracts"].clone();
    assert_eq!(rule.as_array().unwrap().len(), 1, "h1 is not a member of the other: {rule}");
    assert_eq!(
        (&rule[0]["id"], &rule[0]["minBps"], &rule[0]["weight"]),
        (&json!("default:db"), &json!(500_000_000), &json!(500))
    );
    assert_eq!(rule[0]["members"], json!([{ "name": "h1", "host": "h1" }, { "name": "h5", "host": "h5" }]));
    let pair = answer(2).json()["contracts"][0].clone();
    assert_eq!(
        (&pair["maxBps"], pair["route"][0]["link"].as_str().unwrap().split_once("->").unwrap().0),
        (&json!(2_000_000_000), "h9")
    );

    // Clients with a contract at a host can see the address at which its agent listens. Capacity of latency contracts
    // is not left.
    let before = answer(0);
    let session = agents[1].post("/v1/agents/h5/session", &json!({})).is(200).json()["epoch"].clone();
    let report = json!({ "epoch": session, "hearsAt": "10.0.0.5:7481" });
    agents[1].post("/v1/agents/h5/reports", &report).is(204);
    let after = answer(0);
    assert_eq!(after.json()["peers"], json!({ "h5": "10.0.0.5:7481" }));
    assert_ne!(after.header("etag"), before.header("etag"));
    agents[0].send("GET", "/v1/agents/h1/shares", &[("if-none-match", after.header("etag").unwrap())], b"").is(304);
    client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    let left = std::iter::repeat_with(|| answer(0).json()["transmitBps"].as_u64().unwrap()).take(10_000);
    assert!(left.into_iter().any(|left| left < 10_000_000_000), "the latency contract has a part");
    client.delete("/v1/contracts/db").is(204);
    assert_eq!(answer(0).json()["contracts"], json!([]));
    agents[0].get("/v1/agents/h5/shares").is_problem(404, "NOT_FOUND");
    tenant(&world, "acme").get("/v1/agents/h1/shares").is_problem(403, "FORBIDDEN");
}

#[test]
fn every_kind_is_created_shown_listed_changed_and_deleted() {
    let world = world();
    let client = &world.client;
    let bodies = [
        ("copy", json!({ "bandwidth": { "from": "h1", "to": "h9", "min": "1Gbit", "max": "4Gbit", "within": "3ms" } })),
        ("db", json!({ "bandwidth": { "hose": ["h1", "h5", "h9"], "min": "500Mbit", "weight": 7 }, "priority": 80 })),
        ("search", json!({ "objective": { "deadline": "20ms", "members": ["h2", "h3"], "weight": "500Mbit" } })),
        ("bulk", json!({ "bestEffort": { "members": ["h4", "h8"] } })),
    ];
    let known = [
        ("bandwidth", json!("proven")),
        ("bandwidth", json!("proven")),
        ("objective", json!("proven")),
        ("best-effort", json!(null)),
    ];
    for ((name, body), (kind, certainty)) in bodies.iter().zip(&known) {
        let path = format!("/v1/contracts/{name}");
        let created = client.put(&path, body).is(201).json();
        assert_eq!(
            (&created["status"]["kind"], &created["status"]["certainty"]),
            (&json!(kind), certainty),
            "{created}"
        );
        // The answer repeats the requested terms unchanged.
        let mut asked = created.as_object().unwrap().clone();
        ["id", "name", "tenant", "status"].iter().for_each(|key| drop(asked.remove(*key)));
        assert_eq!(&Value::Object(asked), body);
        // No agent has confirmed it yet.
        assert_eq!(created["status"]["state"], "admitted");
        assert_eq!(created["status"]["reason"], "NOT_CONFIRMED", "{created}");
        assert_eq!((&created["status"]["configured"], created["status"].get("effective")), (&json!(1), None));
        assert_eq!(client.put(&path, body).is(200).json(), created);
        assert_eq!(client.get(&path).is(200).json(), created);
        assert!(created["status"].get("boundNs").is_none(), "{created}");
    }
    client.put("/v1/contracts/ptp", &contract("h1", "h16", "10Mbit")).is(201);
    let list = client.get("/v1/contracts").is(200).json();
    let names: Vec<&str> = list["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bulk", "copy", "db", "ptp", "search"]);
    let within = client.get("/v1/contracts/copy").json()["status"]["withinNs"].as_u64().unwrap();
    assert!(within <= 3_000_000, "{within}");
    // A link shows the promises to the classes.
    let promised = || {
        let link = client.get("/v1/links/h1-%3Epod1-edge1").is(200).json();
        let reserved = |class: &str| {
            let of = link["capacity"].as_array()?.iter().find(|of| of["class"] == class)?;
            of["reservedBps"].as_u64()
        };
        (reserved("guaranteed"), reserved("objective"))
    };
    let promises = std::iter::repeat_with(promised).take(10_000);
    assert!(promises.into_iter().any(|promised| promised == (Some(1_500_000_000), Some(0))), "{:?}", promised());
    // Another minimum, and another kind.
    client.put("/v1/contracts/db", &hose(&["h1", "h5", "h9"], "600Mbit")).is(200);
    let other = client.put("/v1/contracts/db", &contract("h1", "h16", "10Mbit")).is_problem(400, "INVALID");
    assert!(other["detail"].as_str().unwrap().contains("delete it and create a new one"), "{other}");
    for (name, _) in &bodies {
        client.delete(&format!("/v1/contracts/{name}")).is(204);
        client.get(&format!("/v1/contracts/{name}")).is_problem(404, "NOT_FOUND");
    }
}

#[test]
fn a_document_of_every_kind_is_applied_as_a_whole() {
    let world = world();
    let document = |min: &str| {
        json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": [
            { "name": "ptp", "from": "h1", "to": "h16", "rate": "220kbit", "burst": "300B", "deadline": "5ms" },
            { "name": "db", "bandwidth": { "hose": ["h1", "h5", "h9"], "min": min } },
            { "name": "bulk", "bestEffort": { "members": ["h4", "h8"] } },
        ] } })
    };
    let refused = world.client.post("/v1/apply?atomic=true", &document("6Gbit")).is_problem(409, "RATE");
    assert!(refused["detail"].as_str().unwrap().contains("5.099 Gbit/s would fit"), "{refused}");
    assert_eq!(world.client.get("/v1/contracts").json()["items"], json!([]));
    let dry = world.client.post("/v1/apply?dryRun=true", &document("1Gbit")).is(200).json();
    assert_eq!((&dry["done"], &dry["refused"]), (&json!(3), &json!(0)));
    let report = world.client.post("/v1/apply", &document("1Gbit")).is(200).json();
    let content =
        |key: &str| report["items"].as_array().unwrap().iter().map(|one| one[key].clone()).collect::<Vec<_>>();
    assert_eq!(content("certainty"), [json!(null), json!("proven"), json!(null)]);
    assert_eq!(content("state")[1..], [json!("admitted"), json!("admitted")]);
    // The state if a core switch failed, or a larger contract were requested.
    let question = json!({
        "fail": ["core1"],
        "apply": [{ "name": "more", "bandwidth": { "from": "h1", "to": "h2", "min": "4.2Gbit" } },
                  { "name": "less", "bandwidth": { "from": "h1", "to": "h2", "min": "4Gbit" } }]
    });
    let would = world.client.post("/v1/what-if", &question).is(200).json();
    assert_eq!(
        (would["refused"][0]["reason"].as_str(), would["refused"][0]["id"].as_str()),
        (Some("RATE"), Some("default:more"))
    );
    assert_eq!(would["admitted"][0]["certainty"], "proven", "{would}");
    assert_eq!(would["degraded"], json!([]));
}

/// The text is independent of the contracts of others: "4.1Gbit would fit" would be 5.1 where the neighbour has
/// nothing.
#[test]
fn a_refusal_shows_a_tenant_no_figure_that_depends_on_others() {
    let ask = |theirs: Option<&str>| {
        let world = world();
        let (acme, other) = (tenant(&world, "acme"), tenant(&world, "other"));
        if let Some(theirs) = theirs {
            other.put("/v1/contracts/theirs", &hose(&["a", "b", "c"], theirs)).is(201);
        }
        let answer = |body: &Value| {
            let refused = acme.put("/v1/contracts/mine", body).is_problem(409, "RATE");
            let path = format!("/v1/decisions/{}/explanation", refused["decision"]);
            let text =
                String::from_utf8(acme.send("GET", &path, &[("accept", "text/plain")], b"").is(200).body).unwrap();
            let mut shown = acme.get(&path).is(200).json();
            shown["decision"]["at"] = json!("");
            format!("{}\n{text}\n{shown}", refused["detail"])
        };
        let body = hose(&["a", "b", "c"], "9Gbit").to_string();
        let dry = acme.send("PUT", "/v1/contracts/mine?dryRun=true", &[], body.as_bytes());
        let would = dry.is_problem(409, "RATE")["detail"].to_string();
        [answer(&hose(&["a", "b", "c"], "9Gbit")), answer(&contract("a", "b", "20Gbit")), would]
    };
    let alone = ask(None);
    for theirs in ["1Gbit", "1234567kbit", "4Gbit"] {
        assert_eq!(ask(Some(theirs)), alone, "{theirs}");
    }
    assert!(alone.iter().all(|text| !text.contains("would fit") && !text.contains("nearest")), "{alone:?}");
}

#[test]
fn a_tenant_learns_whether_it_fits_and_nothing_about_others() {
    let world = world();
    let (acme, other) = (tenant(&world, "acme"), tenant(&world, "other"));
    other.put("/v1/contracts/theirs", &hose(&["a", "b", "c"], "4Gbit")).is(201);
    let refused = acme.put("/v1/contracts/mine", &hose(&["a", "b", "c"], "2Gbit")).is_problem(409, "RATE");
    let decision = refused["decision"].as_u64().unwrap();
    let path = format!("/v1/decisions/{decision}/explanation");
    for headers in [&[][..], &[("accept", "text/plain")]] {
        let text = String::from_utf8(acme.send("GET", &path, headers, b"").is(200).body).unwrap();
        for word in ["other", "theirs", "->", "4Gbit", "left"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
    // A smaller contract fits, and the operator sees the maximum.
    let answer = world.client.get(&format!("/v1/decisions/acme:{decision}/explanation")).is(200).json();
    assert_eq!(answer["nearest"]["minBps"], 1_100_000_000_u64, "{answer}");
    acme.put("/v1/contracts/mine", &hose(&["a", "b", "c"], "1.1Gbit")).is(201);
    let own = acme.get("/v1/contracts/mine/explanation").is(200).json();
    assert!(own["assumption"].as_str().unwrap().contains("shortest paths") && own.get("links").is_none(), "{own}");
    // The operator sees the link and the owners.
    let answer = world.client.get(&format!("/v1/decisions/acme:{decision}/explanation")).is(200).json();
    assert_eq!(answer["links"][0]["holders"], json!(["theirs", "mine"]), "{answer}");
    let answer = world.client.get("/v1/contracts/acme:mine/explanation").is(200).json();
    assert_eq!(
        (&answer["links"][0]["promisedBps"], &answer["links"][0]["leftBps"]),
        (&json!(5_100_000_000_u64), &json!(0))
    );
    let text = world.client.send(
        "GET",
        &format!("/v1/decisions/acme:{decision}/explanation"),
        &[("accept", "text/plain")],
        b"",
    );
    let text = text.is(200).body;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("Limiting link") && text.contains("theirs"), "{text}");
    // A host where it has no VM is not its to name, and another tenant's contract does not exist.
    acme.put("/v1/contracts/far", &hose(&["a", "h16"], "1Mbit")).is_problem(400, "INVALID");
    acme.get("/v1/contracts/other:theirs").is_problem(404, "NOT_FOUND");
    acme.get("/v1/contracts/other:theirs/explanation").is_problem(404, "NOT_FOUND");
}

/// Without classes the answer names the missing part, in this and in every other place.
#[test]
fn a_network_without_classes_promises_latency_only() {
    let world = World::new();
    let refused = world.client.put("/v1/contracts/db", &hose(&["h1", "h5"], "1Mbit")).is_problem(409, "POLICY");
    let decision = world.client.get(&format!("/v1/decisions/{}", refused["decision"])).is(200).json();
    assert!(decision["message"].as_str().unwrap().contains("--scheme fabric"), "{decision}");
    world.client.put("/v1/contracts/bulk", &json!({ "bestEffort": { "members": ["h1", "h5"] } })).is(201);
}

#[test]
fn contracts_of_every_kind_are_found_by_their_labels_and_keep_them() {
    let world = world();
    let client = &world.client;
    let labelled = |mut body: Value, labels: Value| {
        body["labels"] = labels;
        body
    };
    let web = json!({ "app": "web", "tier": "db" });
    client.put("/v1/contracts/db", &labelled(hose(&["h1", "h5"], "500Mbit"), web.clone())).is(201);
    client.put("/v1/contracts/ptp", &labelled(contract("h1", "h5", "10Mbit"), json!({ "app": "web" }))).is(201);
    client.put("/v1/contracts/other", &contract("h1", "h9", "10Mbit")).is(201);
    let ids = |query: &str| -> Vec<String> {
        let page = client.get(&format!("/v1/contracts?labels={query}")).is(200).json();
        page["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids("app%3Dweb"), ["default:db", "default:ptp"]);
    assert_eq!(ids("app%3Dweb,tier%3Ddb"), ["default:db"]);
    assert_eq!(ids("app%3Dshop"), [""; 0]);
    client.get("/v1/contracts?labels=app").is_problem(400, "INVALID");
    assert_eq!(client.get("/v1/contracts/db").is(200).json()["labels"], web);
    // Other labels are a change, and the same are none.
    let again = client.put("/v1/contracts/db", &labelled(hose(&["h1", "h5"], "500Mbit"), web)).is(200).json();
    let changed = client.put("/v1/contracts/db", &hose(&["h1", "h5"], "500Mbit")).is(200).json();
    assert!(changed["status"]["revision"].as_u64() > again["status"]["revision"].as_u64(), "{changed}");
    assert_eq!(ids("tier%3Ddb"), [""; 0]);
}

/// The names of members, at any depth.
fn members(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            found.extend(map.keys().cloned());
            map.values().for_each(|value| members(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| members(value, found)),
        _ => {}
    }
}

/// Explanations and curves have no schema: their names are those of the documents that have one.
#[test]
fn answers_without_a_schema_are_in_camel_case_for_every_kind() {
    let world = world();
    let client = &world.client;
    client.put("/v1/contracts/lat", &contract("h1", "h9", "100Mbit")).is(201);
    client.put("/v1/contracts/hose", &hose(&["h1", "h5", "h9"], "1Gbit")).is(201);
    client.put("/v1/contracts/pair", &json!({ "bandwidth": { "from": "h1", "to": "h5", "min": "1Mbit" } })).is(201);
    client.put("/v1/contracts/best", &json!({ "bestEffort": { "members": ["h1", "h5"] } })).is(201);
    let refused = [("much", contract("h1", "h9", "900Gbit")), ("more", hose(&["h1", "h5", "h9"], "900Gbit"))];
    let refused = refused.map(|(name, body)| {
        let problem = client.put(&format!("/v1/contracts/{name}"), &body);
        format!("/v1/decisions/{}/explanation", problem.json()["decision"])
    });
    let admitted = ["lat", "hose", "pair", "best"].map(|name| format!("/v1/contracts/{name}/explanation"));
    let links = client.get("/v1/links").is(200).json();
    let link = links["items"][0]["name"].as_str().unwrap().replace('>', "%3E");
    let mut all = Vec::new();
    for path in admitted.into_iter().chain(refused).chain([format!("/v1/links/{link}/curves")]) {
        let before = all.len();
        members(&client.get(&path).is(200).json(), &mut all);
        assert!(all.len() > before, "{path}");
    }
    for known in ["delayBoundNs", "lineBps", "nearest", "burstNanobits"] {
        assert!(all.iter().any(|name| name == known), "{known} is not found in {all:?}");
    }
    all.retain(|name| !super::openapi::is_camel_case(name));
    assert!(all.is_empty(), "{all:?}");
}
