//! Lists of contracts by column, as CSV, names that fit a text, and alerts.

use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_explain::sentences::{REFUSALS, no_other_place};
use wayleave_protocol::problem::Code;
use wayleave_server::disk::Memory;

use crate::common::{Answer, Client, World, classed, contract, options};
use wayleave_repo_checks::{Random, TempFolder};

fn ids(page: &Value) -> Vec<String> {
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns all items of a list, read in pages of this size.
fn all(client: &Client, query: &str, size: usize) -> Vec<Value> {
    let (mut items, mut after): (Vec<Value>, Option<String>) = (Vec::new(), None);
    loop {
        let after_text = after.map(|after| format!("&after={after}")).unwrap_or_default();
        let page = client.get(&format!("/v1/contracts?limit={size}{query}{after_text}")).is(200).json();
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            return items;
        }
    }
}

fn text(answer: Answer) -> String {
    String::from_utf8(answer.is(200).body).unwrap()
}

/// A server with contracts of all kinds, of two tenants.
fn world() -> World {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
    options.setup = classed(EnforcedBy::Nobody);
    options.document = wayleave_formats::write_topology(&options.setup.network, "test");
    let world = World::of(options, scratch);
    let client = &world.client;
    client.post("/v1/tenants", &json!({ "name": "acme" })).is(201);
    for (id, to, rate) in
        [("b", "h16", "20Mbit"), ("a", "h2", "20Mbit"), ("acme:c", "h5", "5Mbit"), ("acme:a.dot", "h9", "70Mbit")]
    {
        client.put(&format!("/v1/contracts/{id}"), &contract("h1", to, rate)).is(201);
    }
    let pair = json!({ "bandwidth": { "from": "h3", "to": "h4", "min": "50Mbit" } });
    client.put("/v1/contracts/pair", &pair).is(201);
    let group = json!({ "bestEffort": { "members": ["h6", "h7"] } });
    client.put("/v1/contracts/acme:group", &group).is(201);
    world
}

#[test]
fn every_order_pages_through_every_contract_once() {
    let world = world();
    let client = &world.client;
    let rate = |item: &Value| {
        let text = item["rate"].as_str().or_else(|| item["bandwidth"]["min"].as_str());
        text.map(|text| text.trim_end_matches("Mbit").parse::<u64>().unwrap())
    };
    for column in ["id", "tenant", "kind", "state", "bound", "rate", "measured", "headroom"] {
        for order in ["asc", "desc"] {
            let query = format!("&sort={column}&order={order}");
            let whole = all(client, &query, 1000);
            assert_eq!(whole.len(), 6, "{query}");
            for size in 1..=3 {
                assert_eq!(all(client, &query, size), whole, "{query} in pages of {size}");
            }
        }
    }
    let by = |query: &str| -> Vec<String> {
        all(client, query, 2).iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let rates: Vec<Option<u64>> = all(client, "&sort=rate", 2).iter().map(rate).collect();
    assert_eq!(rates, [Some(5), Some(20), Some(20), Some(50), Some(70), None]);
    let expected = ["acme:a.dot", "default:pair", "default:a", "default:b", "acme:c", "acme:group"];
    assert_eq!(by("&sort=rate&order=desc"), expected, "equal rates by name, unknown ones last");
    let nanoseconds = |item: &Value| item["status"]["boundNs"].as_u64();
    let bounds: Vec<Option<u64>> = all(client, "&sort=bound&order=desc", 2).iter().map(nanoseconds).collect();
    assert!(bounds[..4].windows(2).all(|two| two[0] >= two[1]) && bounds[4..] == [None, None], "{bounds:?}");
    assert_eq!(by("&sort=id&order=desc")[0], "default:pair");
    assert_eq!(by("&sort=rate&tenant=acme"), ["acme:c", "acme:a.dot", "acme:group"]);
    let own = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    assert_eq!(ids(&own.get("/v1/contracts?sort=kind").is(200).json()), ["acme:a.dot", "acme:c", "acme:group"]);
}

#[test]
fn a_page_continues_behind_its_last_contract_also_if_that_one_was_deleted() {
    let world = world();
    let client = &world.client;
    let page = client.get("/v1/contracts?sort=rate&limit=2").is(200).json();
    let next = page["next"].as_str().unwrap();
    assert_eq!(ids(&page), ["acme:c", "default:a"]);
    client.delete("/v1/contracts/default:a").is(204);
    let rest = client.get(&format!("/v1/contracts?sort=rate&limit=9&after={next}")).is(200).json();
    assert_eq!(ids(&rest), ["default:b", "default:pair", "acme:a.dot", "acme:group"]);
    for wrong in ["sort=bound", "sort=rate&order=desc"] {
        let answer = client.get(&format!("/v1/contracts?{wrong}&after={next}"));
        assert!(answer.is_problem(400, "INVALID")["detail"].as_str().unwrap().contains("same order"), "{wrong}");
    }
}

#[test]
fn contracts_of_a_host_or_switch_end_or_have_a_reservation_there() {
    let world = world();
    let client = &world.client;
    let on = |node: &str| ids(&client.get(&format!("/v1/contracts?host={node}")).is(200).json());
    assert_eq!(on("h1"), ["acme:a.dot", "acme:c", "default:a", "default:b"]);
    assert_eq!(on("h6"), ["acme:group"], "a member without a route");
    assert_eq!(on("h16"), ["default:b"]);
    assert_eq!(on("h8"), [""; 0]);
    assert_eq!(on("pod1-edge1"), ["acme:a.dot", "acme:c", "default:a", "default:b"]);
    let own = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    assert_eq!(ids(&own.get("/v1/contracts?host=h1").is(200).json()), ["acme:a.dot", "acme:c"]);
}

#[test]
fn a_filter_by_a_name_that_does_not_exist_is_an_error_with_the_nearest_names() {
    let world = world();
    let client = &world.client;
    client.put("/v1/tenants/empty", &json!({})).is(201);
    assert_eq!(ids(&client.get("/v1/contracts?tenant=empty").is(200).json()), [""; 0]);
    let detail = |client: &Client, query: &str| {
        let problem = client.get(&format!("/v1/{query}")).is_problem(404, "NOT_FOUND");
        problem["detail"].as_str().unwrap().to_owned()
    };
    for (query, expected) in [
        ("contracts?tenant=acne", "no such tenant `acne`; did you mean acme?"),
        ("contracts?tenant=acne&format=csv", "no such tenant `acne`; did you mean acme?"),
        ("vms?tenant=acne", "no such tenant `acne`; did you mean acme?"),
        ("traffic?tenant=acne", "no such tenant `acne`; did you mean acme?"),
        ("contracts?host=something", "no such host or switch `something`"),
        ("vms?host=something", "no such host or switch `something`"),
        ("contracts?link=something", "no such link `something`"),
        ("queues?link=something", "no such link `something`"),
    ] {
        assert_eq!(detail(client, query), expected, "{query}");
    }
    assert!(detail(client, "contracts?host=pod1-egde1").contains("; did you mean pod1-edge1"));
    assert!(detail(client, "contracts?link=h1-%3Epod1-egde1").contains("; did you mean h1->pod1-edge1"));
    // A tenant receives one answer for every other name of a tenant, whether it exists or not.
    let own = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    for list in ["contracts", "vms", "traffic"] {
        let hidden = ["empty", "acne"].map(|name| detail(&own, &format!("{list}?tenant={name}")).replace(name, "*"));
        assert_eq!(hidden[0], hidden[1]);
        assert!(!hidden[0].contains("mean"), "{}", hidden[0]);
        own.get(&format!("/v1/{list}?tenant=acme")).is(200);
    }
    assert!(!detail(&own, "contracts?host=pod1-edge9").contains("pod1-edge1"), "names of switches are hidden");
}

#[test]
fn an_after_that_is_not_the_next_of_this_list_is_refused() {
    let world = world();
    let client = &world.client;
    client.put("/v1/tenants/empty", &json!({})).is(201);
    let next = |list: &str| {
        let page = client.get(&format!("/v1/{list}?limit=1")).is(200).json();
        page["next"].as_str().unwrap().replace('>', "%3E")
    };
    let lists = ["contracts", "tenants", "hosts", "links", "queues", "health", "decisions"];
    for list in lists.into_iter().chain(["vms", "policies", "tokens", "agents", "events", "audit"]) {
        let problem = client.get(&format!("/v1/{list}?after=zzz")).is_problem(400, "INVALID");
        assert!(problem["detail"].as_str().unwrap().starts_with("after: "), "{list}: {problem}");
    }
    for list in lists {
        client.get(&format!("/v1/{list}?after={}", next(list))).is(200);
    }
    for (list, other) in
        [("tenants", "contracts"), ("contracts", "tenants"), ("vms", "contracts"), ("tokens", "tenants")]
    {
        let after = next(other);
        let problem = client.get(&format!("/v1/{list}?after={after}")).is_problem(400, "INVALID");
        assert!(problem["detail"].as_str().unwrap().contains(&format!("`{after}`")), "{list}: {problem}");
    }
}

/// Keys of the columns below do not change while a contract exists.
#[test]
fn unchanged_contracts_are_on_exactly_one_page_while_others_change() {
    let world = World::new();
    let client = &world.client;
    let mut random = Random::new(7);
    let put = |random: &mut Random, name: &str| {
        let rate = format!("{}Mbit", 1 + random.index(4));
        let body = contract("h1", ["h5", "h16"][random.index(2)], &rate);
        client.put(&format!("/v1/contracts/{name}"), &body);
    };
    let stay: Vec<String> = (0..12).map(|number| format!("stay-{number}")).collect();
    stay.iter().for_each(|name| put(&mut random, name));
    for column in ["id", "tenant", "kind", "bound", "rate", "headroom"] {
        for order in ["asc", "desc"] {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let limit = 1 + random.index(4);
                let query = format!("sort={column}&order={order}&limit={limit}{after}");
                let page = client.get(&format!("/v1/contracts?{query}")).is(200).json();
                found.extend(ids(&page).into_iter().filter(|id| id.contains("stay")));
                // Others come and go, also the one at which the next page begins.
                for _ in 0..3 {
                    let number = random.index(30);
                    put(&mut random, &format!("other-{number}"));
                    client.delete(&format!("/v1/contracts/other-{}", random.index(30)));
                }
                let Some(next) = page["next"].as_str() else { break };
                after = format!("&after={next}");
            }
            found.sort();
            let mut expected: Vec<String> = stay.iter().map(|name| format!("default:{name}")).collect();
            expected.sort();
            assert_eq!(found, expected, "{column} {order}");
        }
    }
}

#[test]
fn a_name_that_a_spreadsheet_would_evaluate_is_a_text_in_csv() {
    let world = World::new();
    let client = &world.client;
    client.put("/v1/contracts/-2-3", &contract("h1", "h16", "1Mbit")).is(201);
    let csv = text(client.get("/v1/contracts?format=csv"));
    let line = csv.lines().nth(1).unwrap();
    assert!(line.starts_with("default:-2-3,default,'-2-3,latency,"), "{csv}");
}

#[test]
fn unknown_values_of_parameters_are_refused_with_the_known_ones() {
    let world = World::new();
    for (query, expected) in [
        ("sort=size", "query parameter sort: expected one of id, tenant, kind, state, bound, rate, measured, headroom"),
        ("order=up", "query parameter order: expected one of asc, desc"),
        ("format=xml", "query parameter format: expected one of json, csv"),
        ("kind=video", "query parameter kind: expected one of latency, bandwidth, objective, best-effort"),
        (
            "state=good",
            "query parameter state: expected one of pending, admitted, enforced, degraded, violated, released",
        ),
        ("format=csv&limit=7", "limit: a list in CSV is complete and has no pages: omit it, or `format`"),
        ("format=csv&after=a", "after: a list in CSV is complete and has no pages: omit it, or `format`"),
    ] {
        let problem = world.client.get(&format!("/v1/contracts?{query}")).is_problem(400, "INVALID");
        assert_eq!(problem["detail"], expected);
    }
    let problem = world.client.get("/v1/health?level=bad").is_problem(400, "INVALID");
    assert!(
        problem["detail"].as_str().unwrap().ends_with("at-risk, pending, not-enforced, best-estimate, ok"),
        "{problem}"
    );
}

#[test]
fn lists_are_exported_as_csv_without_pages() {
    let world = world();
    let client = &world.client;
    let labelled = json!({ "from": "h1", "to": "h3", "rate": "1Mbit", "burst": "3000B", "deadline": "5ms",
        "labels": { "app": "web", "tier": "db" } });
    client.put("/v1/contracts/acme:labels", &labelled).is(201);
    let answer = client.get("/v1/contracts?format=csv&sort=rate&order=desc");
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let csv = text(answer);
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert!(lines[0].starts_with("id,tenant,name,kind,state,reason,hosts,rateBps,"), "{csv}");
    assert!(
        lines[1].starts_with("acme:a.dot,acme,a.dot,latency,admitted,NOT_ENFORCED,h1 h9,70000000,3000,5000000,"),
        "{csv}"
    );
    assert!(lines[6].ends_with(",\"app=web,tier=db\""), "{csv}");
    assert!(
        lines[7].starts_with("acme:group,acme,group,best-effort,admitted,NOT_ENFORCED,h6 h7,,,,,,,"),
        "unknown is empty: {csv}"
    );
    assert_eq!(lines.len(), 8);
    let own = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    let mine = text(own.get("/v1/contracts?format=csv"));
    assert!(mine.lines().skip(1).all(|line| line.starts_with("acme:")) && mine.lines().count() == 5, "{mine}");
    // Figures of links are those last computed by the engine, possibly a moment ago.
    let links = || text(client.get("/v1/links?format=csv"));
    let is_known =
        |csv: &String| csv.lines().any(|line| line.starts_with("h3->pod1-edge2,h3,pod1-edge2,up,,10000000000,"));
    let csv = (0..10_000).map(|_| links()).find(is_known).unwrap_or_else(links);
    assert_eq!(csv.lines().count(), 1 + 96, "{csv}");
    own.get("/v1/links?format=csv").is_problem(403, "FORBIDDEN");
    let tenants = text(client.get("/v1/tenants?format=csv"));
    assert!(tenants.contains("\r\nacme,76000000,9000,4,,,\r\n"), "{tenants}");
}

#[test]
fn names_that_begin_with_a_text_come_before_those_that_contain_it() {
    let world = world();
    let client = &world.client;
    let found = |client: &Client, query: &str| -> Vec<String> {
        let names = client.get(&format!("/v1/names?{query}")).is(200).json();
        let name = |item: &Value| format!("{} {}", item["kind"].as_str().unwrap(), item["name"].as_str().unwrap());
        names["items"].as_array().unwrap().iter().map(name).collect()
    };
    let pairs = found(client, "prefix=PAIR");
    assert_eq!(pairs, ["contract default:pair"]);
    assert_eq!(found(client, "prefix=ac&kind=tenant"), ["tenant acme"]);
    assert_eq!(found(client, "prefix=h1&kind=host")[..2], ["host h1", "host h10"]);
    assert_eq!(found(client, "prefix=pod1-agg1&kind=node"), ["switch pod1-agg1"]);
    assert_eq!(found(client, "prefix=agg1-%3Ecore&kind=link").len(), 8, "links that contain it");
    let many = client.get("/v1/names?prefix=pod").is(200).json();
    assert_eq!((many["items"].as_array().unwrap().len(), &many["more"]), (20, &json!(true)));
    let few = client.get("/v1/names?prefix=pair").is(200).json();
    assert_eq!(few["more"], json!(false));
    client.get("/v1/names?kind=wire").is_problem(400, "INVALID");
    // A tenant knows its own contracts and hosts, and neither links, switches nor other tenants.
    let own = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    assert_eq!(found(&own, "prefix=pair"), [""; 0]);
    assert_eq!(
        found(&own, "prefix=a"),
        ["tenant acme", "contract acme:a.dot", "contract acme:c", "contract acme:group"]
    );
    assert_eq!(found(&own, "kind=link"), [""; 0]);
    assert_eq!(found(&own, "prefix=default"), [""; 0]);
    assert_eq!(found(&own, "prefix=pod"), [""; 0]);
    let agent = client.token(json!({ "role": "agent", "node": "h1" }));
    agent.get("/v1/names").is_problem(403, "FORBIDDEN");
}

#[test]
fn a_question_about_a_name_that_does_not_exist_names_the_nearest() {
    let world = world();
    let ask = |query: Value| {
        let problem = world.client.post("/v1/what-if", &query).is_problem(404, "NOT_FOUND");
        problem["detail"].as_str().unwrap().to_owned()
    };
    let link = ask(json!({ "fail": ["h1->pod1-egde1"] }));
    assert!(link.starts_with("no such link or node `h1->pod1-egde1`; did you mean h1->pod1-edge1"), "{link}");
    assert_eq!(ask(json!({ "restore": ["something else"] })), "no such link or node `something else`");
    assert_eq!(ask(json!({ "delete": ["pear"] })), "no such contract `default:pear`; did you mean default:pair?");
    assert!(ask(json!({ "drain": ["pod1-agg1"] })).starts_with("no such host `pod1-agg1`"));
    let long = ask(json!({ "fail": ["x".repeat(100_000)] }));
    assert!(long.len() < 300, "{}", long.len());
}

#[test]
fn a_failure_has_the_reason_that_what_if_predicted() {
    let world = World::new();
    let client = &world.client;
    // Each takes more than half of one of the two uplinks of pod1-edge1.
    for (name, from, to) in [("a", "h1", "h16"), ("b", "h2", "h15")] {
        client.put(&format!("/v1/contracts/{name}"), &contract(from, to, "600Mbit")).is(201);
    }
    let expected = client.post("/v1/what-if", &json!({ "fail": ["pod1-agg1"] })).is(200).json();
    let predicted = expected["degraded"][0].clone();
    client.put("/v1/nodes/pod1-agg1/state", &json!({ "state": "down" })).is(200);
    let id = predicted["id"].as_str().unwrap();
    let status = client.get(&format!("/v1/contracts/{id}")).is(200).json()["status"].clone();
    assert_eq!((&status["state"], &status["reason"]), (&json!("degraded"), &json!("FAILURE")));
    assert_eq!(
        (&predicted["reason"], &predicted["message"].as_str().unwrap().split(" is down").nth(1)),
        (&status["reason"], &status["message"].as_str().unwrap().split(" is down").nth(1))
    );
    let message = status["message"].as_str().unwrap();
    let why = client.get(&format!("/v1/contracts/{id}/explanation")).is_problem(409, "CONFLICT");
    assert!(why["detail"].as_str().unwrap().ends_with(message), "{why}");
    let decision = client.get("/v1/decisions?limit=1").is(200).json()["items"][0].clone();
    assert_eq!(decision["contract"], predicted["id"]);
    let expected = no_other_place(decision["reason"].as_str().unwrap());
    assert!(message.contains(&expected), "{message}: {decision}");
}

#[test]
fn every_code_of_a_refusal_has_words_that_agree_with_it() {
    let words = ["route", "rate", "delay", "buffer", "quota", "supported"];
    for ((code, clause), word) in REFUSALS.into_iter().zip(words) {
        let known = Code::of(code.code()).unwrap();
        assert_eq!((known.status(), known.text()), (409, code.code()));
        let others = words.iter().filter(|other| **other != word);
        assert!(clause.contains(word) && others.clone().all(|other| !clause.contains(other)), "{code:?}: {clause}");
        let text = no_other_place(code.code());
        assert!(text.ends_with(&format!("({})", code.code())), "{text}");
        assert_eq!(text.contains("no other usable route exists"), code.code() == "NO_PATH", "{text}");
    }
    assert_eq!(no_other_place("GONE"), "no other route was found (GONE)", "a code of an earlier version");
}

#[test]
fn alerts_are_for_those_who_operate_the_network() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let client = &world.client;
    let alerts = client.get("/v1/alerts").is(200).json();
    assert_eq!((&alerts["items"], &alerts["rules"]), (&json!([]), &json!(14)));
    let unknown: Vec<&str> =
        alerts["unknown"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(unknown.contains(&"WayleaveControllerGone") && unknown.contains(&"WayleaveQueueFull"), "{alerts}");
    // An alert without a `for` fires as soon as its condition is met.
    let agent = |node: &str| {
        let agent = client.token(json!({ "role": "agent", "node": node }));
        let epoch = agent.post(&format!("/v1/agents/{node}/session"), &json!({})).is(200).json()["epoch"].clone();
        (agent, epoch)
    };
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let ((sender, from), (receiver, to)) = (agent("h1"), agent("h16"));
    let operation = sender.get("/v1/agents/h1/messages").is(200).json()["operations"][0].clone();
    let done = json!({ "epoch": from, "done": [[operation["serial"], operation["version"]]] });
    sender.post("/v1/agents/h1/confirmations", &done).is(204);
    let late = json!({ "epoch": to, "measured": [{ "serial": operation["serial"], "packets": 10, "late": 3, "worstNs": 9_000_000 }] });
    receiver.post("/v1/agents/h16/reports", &late).is(204);
    let alerts = client.get("/v1/alerts").is(200).json();
    assert_eq!(alerts["items"][0]["name"], "WayleaveContractsViolated", "{alerts}");
    assert_eq!(alerts["items"][0]["severity"], "critical");
    assert_eq!(alerts["items"][0]["summary"], "Contracts with packets beyond their delay bound: 1.");
    let reader = client.token(json!({ "role": "reader" }));
    assert_eq!(reader.get("/v1/alerts").is(200).json()["items"][0]["name"], "WayleaveContractsViolated");
    for role in [json!({ "role": "tenant", "tenant": "default" }), json!({ "role": "reader", "tenant": "default" })] {
        client.token(role).get("/v1/alerts").is_problem(403, "FORBIDDEN");
    }
}
