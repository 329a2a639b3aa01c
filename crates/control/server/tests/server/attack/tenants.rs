//! Information that one tenant can obtain about another.

use std::io::BufReader;

use serde_json::{Value, json};
use wayleave_server::ServerLimits;

use super::{tenant, world};
use crate::common::{Client, World, contract, read_head};
use crate::events::until;

/// Everything that a tenant can read, under the address at which it is.
fn everything(client: &Client) -> Vec<(String, String)> {
    let document: Value = client.get("/openapi.json").is(200).json();
    let paths = document["paths"].as_object().unwrap().iter().filter(|(_, verbs)| verbs.get("get").is_some());
    let mut paths: Vec<String> = paths.map(|(path, _)| path.clone()).filter(|path| !path.contains("{node}")).collect();
    let places = [
        ("{contract}", "mine"),
        ("{vm}", "a"),
        ("{tenant}", "acme"),
        ("{host}", "h1"),
        ("{decision}", "none"),
        ("{event}", "1"),
    ];
    for (place, value) in places {
        paths.iter_mut().for_each(|path| *path = path.replace(place, value));
    }
    // In which stretch of time something has happened is a matter of time.
    paths.iter_mut().filter(|path| *path == "/v1/timeline").for_each(|path| path.push_str("?buckets=1"));
    paths.sort();
    let as_text = ["accept", "text/plain"];
    let answers = paths.into_iter().flat_map(|path| {
        [&[][..], &[(as_text[0], as_text[1])]].map(|headers| {
            let answer = client.send("GET", &path, headers, b"");
            let tag = answer.header("etag").unwrap_or_default().to_owned();
            (
                format!("{path} {headers:?}"),
                format!("{} {tag} {}", answer.status, without_refusals(&path, &answer.body)),
            )
        })
    });
    answers.collect()
}

/// Returns the audit without refusals and without numbers: refusals are written within a second, at an undetermined
/// position. Other bodies are returned unchanged.
fn without_refusals(path: &str, body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(mut list) if path == "/v1/audit" && list["items"].is_array() => {
            let items = list["items"].as_array_mut().unwrap();
            items.retain(|item| item["status"].as_u64().is_none_or(|status| status < 400));
            items.iter_mut().filter(|item| item["status"].is_u64()).for_each(|item| item["number"] = Value::Null);
            list.to_string()
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    }
}

/// A tenant with contracts that were admitted and refused.
fn acme(world: &World) -> Client {
    let acme = tenant(world, "acme", json!({}));
    acme.put("/v1/contracts/mine", &contract("a", "b", "10Mbit")).is(201);
    acme.put("/v1/contracts/no", &contract("a", "b", "2Gbit")).is_problem(409, "RATE");
    acme
}

#[test]
fn actions_of_others_change_nothing_that_a_tenant_can_read() {
    let world = world(ServerLimits::default());
    let other = tenant(&world, "other", json!({}));
    let acme = acme(&world);
    let before = everything(&acme);
    assert!(before.len() > 40 && before.iter().filter(|(_, text)| text.starts_with("200")).count() > 20, "{before:?}");
    // The same hosts, and so the same links.
    for number in 0..15 {
        other.put(&format!("/v1/contracts/c{number}"), &contract("a", "b", "10Mbit")).is(201);
        other.put(&format!("/v1/vms/vm{number}"), &json!({})).is(201);
    }
    other.put("/v1/contracts/no", &contract("a", "b", "2Gbit")).is_problem(409, "RATE");
    other.delete("/v1/contracts/c7").is(204);
    other.delete("/v1/vms/vm7").is(204);
    for ((path, before), (_, after)) in before.into_iter().zip(everything(&acme)) {
        assert_eq!(before, after, "{path}");
    }
}

/// An answer without what is its own each time: its number and its time.
fn settled(mut answer: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.retain(|key, _| !matches!(key.as_str(), "decision" | "number" | "at"));
                map.values_mut().for_each(walk);
            }
            Value::Array(list) => list.iter_mut().for_each(walk),
            _ => {}
        }
    }
    if let Some(detail) = answer["detail"].as_str() {
        answer["detail"] = json!(detail.chars().filter(|sign| !sign.is_ascii_digit()).collect::<String>());
    }
    walk(&mut answer);
    answer
}

#[test]
fn a_refusal_reveals_nothing_about_the_load_of_links() {
    let world = world(ServerLimits::default());
    let other = tenant(&world, "other", json!({}));
    let acme = acme(&world);
    let list = json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": [
        { "name": "listed", "from": "a", "to": "b", "rate": "2Gbit", "burst": "3000B", "deadline": "5ms" }
    ] } });
    let ask = || {
        let refused = acme.put("/v1/contracts/no", &contract("a", "b", "2Gbit")).is_problem(409, "RATE");
        let dry =
            acme.send("PUT", "/v1/contracts/no?dryRun=true", &[], contract("a", "b", "2Gbit").to_string().as_bytes());
        let listed = acme.post("/v1/apply", &list).is(200).json();
        let shown = acme.get(&format!("/v1/decisions/{}", refused["decision"])).is(200).json();
        [refused, dry.is_problem(409, "RATE"), listed, shown].map(settled)
    };
    let before = ask();
    for number in 0..15 {
        other.put(&format!("/v1/contracts/c{number}"), &contract("a", "b", "7Mbit")).is(201);
    }
    assert_eq!(before, ask());
    // The reason, as JSON and as text, without the nearest terms that would fit, and without a name of a link or of
    // the other tenant.
    let decision = &acme.put("/v1/contracts/no", &contract("a", "b", "2Gbit")).json()["decision"];
    for path in [format!("/v1/decisions/{decision}/explanation"), "/v1/contracts/mine/explanation".to_owned()] {
        for headers in [&[][..], &[("accept", "text/plain")]] {
            let answer = acme.send("GET", &path, headers, b"").is(200);
            let text = String::from_utf8(answer.body).unwrap();
            for word in ["other:", "another tenant", "backlog", "queues\":", "delayNs", "7Mbit"] {
                assert!(!text.contains(word), "{word} in {path} {headers:?}:\n{text}");
            }
        }
    }
    let shown = acme.get(&format!("/v1/decisions/{decision}/explanation")).is(200).json();
    assert!(shown.get("nearest").is_none() && shown["decision"]["message"].is_string(), "{shown}");
    // The operator gets all details.
    let operator = world.client.get(&format!("/v1/decisions/acme:{decision}/explanation")).is(200).json();
    assert!(operator["queues"].as_array().is_some_and(|queues| !queues.is_empty()), "{operator}");
}

#[test]
fn an_address_in_use_reveals_no_owner_and_blocks_no_tenant() {
    let world = world(ServerLimits::default());
    let victim = tenant(&world, "victim", json!({}));
    let squatter = tenant(&world, "squatter", json!({}));
    // An address of a VM that was there may be known.
    let mac = victim.put("/v1/vms/web", &json!({})).is(201).json()["mac"].clone();
    let taken = squatter.put("/v1/vms/x", &json!({ "mac": mac })).is_problem(409, "CONFLICT");
    assert!(!taken.to_string().contains("victim"), "{taken}");
    victim.delete("/v1/vms/web").is(204);
    squatter.put("/v1/vms/x", &json!({ "mac": mac })).is(201);
    let again = victim.put("/v1/vms/web", &json!({})).is(201).json();
    assert_ne!(again["mac"], mac);
}

#[test]
fn an_address_computed_from_a_name_does_not_reveal_whether_that_vm_exists() {
    let world = world(ServerLimits::default());
    let victim = tenant(&world, "victim", json!({}));
    let squatter = tenant(&world, "squatter", json!({}));
    let mac = victim.put("/v1/vms/web", &json!({})).is(201).json()["mac"].clone();
    for (own, name) in [("x", "victim:web"), ("y", "victim:nobody"), ("z", "victim:web#1")] {
        let computed = wayleave_packet_format::mac_of(name).to_string();
        assert_ne!(mac, json!(computed));
        squatter.put(&format!("/v1/vms/{own}"), &json!({ "mac": computed })).is(201);
    }
    // Another ledger has another secret.
    let other = super::world(ServerLimits::default());
    let elsewhere = tenant(&other, "victim", json!({})).put("/v1/vms/web", &json!({})).is(201).json()["mac"].clone();
    assert_ne!(elsewhere, mac);
}

/// Returns all answers that a tenant gets during these operations: answers to changes with their headers, then all
/// readable objects. Parts that differ each time are left out: times, names of requests and of tokens. Its VMs are at
/// one switch: where there are several routes, a contract's route depends on other contracts, and is shown to its
/// tenant.
fn story(world: &World, meanwhile: &mut dyn FnMut()) -> Vec<String> {
    let acme = tenant(world, "acme", json!({ "contracts": 3 }));
    let reader = world.client.token(json!({ "role": "reader", "tenant": "acme" }));
    let mut stream = BufReader::new(acme.begin("GET", "/v1/events", &[("accept", "text/event-stream")], b""));
    assert_eq!(read_head(&mut stream).0, 200);
    let (mut received, mut step) = (Vec::new(), 0);
    let mut change = |method: &str, path: &str, body: Value| {
        meanwhile();
        step += 1;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = acme.send(method, path, &[("idempotency-key", &format!("step-{step}"))], body.as_bytes());
        let headers =
            answer.headers.iter().filter(|(name, _)| !matches!(&**name, "x-request-id" | "date" | "content-length"));
        let headers: Vec<_> = headers.collect();
        received.push(format!(
            "{method} {path}: {} {headers:?} {}",
            answer.status,
            String::from_utf8_lossy(&answer.body)
        ));
    };
    change("PUT", "/v1/vms/c", json!({ "placement": { "host": "h2" } }));
    change("PUT", "/v1/contracts/one", contract("a", "c", "10Mbit"));
    change("PUT", "/v1/contracts/two", contract("a", "c", "10Mbit"));
    change("PUT", "/v1/contracts/no", contract("a", "c", "2Gbit"));
    change("PUT", "/v1/contracts/two", contract("a", "c", "20Mbit"));
    change("DELETE", "/v1/contracts/one", Value::Null);
    // The departure of its last packets is only a matter of time.
    let is_gone = || String::from_utf8_lossy(&acme.get("/v1/events?limit=1000").body).contains("\"gone\"");
    assert!((0..1_000_000).any(|_| is_gone()), "it is held for ever");
    change("PUT", "/v1/contracts/three", contract("c", "a", "1Mbit"));
    change("DELETE", "/v1/vms/b", Value::Null);
    meanwhile();
    received.extend(probes(&acme).into_iter().chain(probes(&reader)));
    // All events of the stream, except keep-alive comments and the lengths of pieces: the number of digits of a time
    // is random.
    let is_figure = |line: &String| ["id:", "event:", "data:"].iter().any(|key| line.starts_with(key));
    let events = until(&mut stream, "deleted").into_iter().filter(is_figure);
    received.push(format!("heard: {}", events.collect::<Vec<_>>().join("\n")));
    for (client, name) in [(&acme, "tenant"), (&reader, "reader")] {
        received.extend(everything(client).into_iter().map(|(path, text)| format!("{name}, {path}: {text}")));
    }
    received.extend([1, 2, 3, 4, 5].map(|number| {
        let answer = acme.get(&format!("/v1/decisions/{number}"));
        format!("decision {number}: {}", String::from_utf8_lossy(&answer.body))
    }));
    received.iter().map(|text| timeless(text)).collect()
}

/// Returns the answers to a tenant that probes for objects of the other tenant by name, and tries requests that
/// change nothing.
fn probes(client: &Client) -> Vec<String> {
    let order = || contract("a", "c", "1Mbit");
    let foreign = json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": [
        { "name": "c0-1", "tenant": "other", "from": "a", "to": "b", "rate": "1Mbit", "burst": "3000B", "deadline": "5ms" },
        { "name": "near", "tenant": "other", "from": "v0-9", "to": "b", "rate": "1Mbit", "burst": "3000B", "deadline": "5ms" }
    ] } });
    let mut asked: Vec<(&str, String, Value)> = Vec::new();
    for name in ["other:c0-1", "other:no", "c0-1"] {
        for rest in ["", "/explanation", "/traffic"] {
            asked.push(("GET", format!("/v1/contracts/{name}{rest}"), Value::Null));
        }
    }
    for link in ["h1-%3Epod1-edge1", "pod1-edge1-%3Eh2", "h9-%3Epod3-edge1", "none"] {
        asked.push(("GET", format!("/v1/contracts?link={link}"), Value::Null));
    }
    for path in ["/v1/contracts?text=other", "/v1/contracts?kind=bandwidth", "/v1/health?after=ok.0.other:c0-1"] {
        asked.push(("GET", path.to_owned(), Value::Null));
    }
    for path in [
        "/v1/topology/summary",
        "/v1/agents",
        "/v1/links/h1-%3Epod1-edge1/curves",
        "/v1/timeline/9",
        "/v1/timeline?buckets=1",
    ] {
        asked.push(("GET", path.to_owned(), Value::Null));
    }
    for what in ["contracts", "vms", "decisions", "events", "audit"] {
        asked.push(("GET", format!("/v1/{what}?after=other:c0-1"), Value::Null));
        asked.push(("GET", format!("/v1/{what}?tenant=other"), Value::Null));
    }
    for path in
        ["/v1/tenants/other", "/v1/vms/other:v0-1", "/v1/decisions/other:1", "/v1/decisions/other:1/explanation"]
    {
        asked.push(("GET", path.to_owned(), Value::Null));
    }
    for path in ["/v1/audit?object=other:c0-1", "/v1/links", "/v1/queues", "/v1/nodes/h1", "/v1/topology", "/metrics"] {
        asked.push(("GET", path.to_owned(), Value::Null));
    }
    asked.push(("PUT", "/v1/contracts/other:c0-1".to_owned(), order()));
    asked.push(("PUT", "/v1/contracts/other:new".to_owned(), order()));
    asked.push(("DELETE", "/v1/contracts/other:c0-1".to_owned(), Value::Null));
    asked.push(("DELETE", "/v1/vms/other:v0-1".to_owned(), Value::Null));
    asked.push(("PUT", "/v1/vms/other:v0-1".to_owned(), json!({})));
    asked.push(("PUT", "/v1/tenants/other".to_owned(), json!({})));
    asked.push(("POST", "/v1/apply".to_owned(), foreign));
    asked.push(("POST", "/v1/what-if".to_owned(), json!({ "delete": ["other:c0-1"] })));
    asked.push(("POST", "/v1/tokens".to_owned(), json!({ "role": "tenant", "tenant": "other" })));
    for path in ["/v1/contracts/tried?dryRun=true", "/v1/contracts/two?dryRun=true"] {
        asked.push(("PUT", path.to_owned(), order()));
    }
    asked.push(("DELETE", "/v1/contracts/two?dryRun=true".to_owned(), Value::Null));
    asked.push(("PUT", "/v1/vms/tried?dryRun=true".to_owned(), json!({ "placement": { "host": "h2" } })));
    asked.push(("DELETE", "/v1/vms/c?dryRun=true".to_owned(), Value::Null));
    let answers = asked.into_iter().map(|(method, path, body)| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = client.send(method, &path, &[], body.as_bytes());
        format!("{method} {path}: {} {}", answer.status, without_refusals("/v1/audit", &answer.body))
    });
    answers.collect()
}

/// Without times (RFC 3339), names of tokens (`t-` and 12 hexadecimal digits) and of requests (16 of them), and addresses of VMs, which are others in each
/// ledger.
fn timeless(text: &str) -> String {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | ':' | '.' | '_');
    let words = text.split_inclusive(|sign| !is_sign(sign)).map(|word| {
        let bare = word.trim_end_matches(|sign| !is_sign(sign));
        let is_time = bare.len() >= 20 && bare.ends_with('Z') && bare.contains('T');
        let is_hex = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_name = is_hex(bare, 16) || bare.strip_prefix("t-").is_some_and(|rest| is_hex(rest, 12));
        let is_mac = bare.len() == 17 && bare.split(':').filter(|part| is_hex(part, 2)).count() == 6;
        if is_time || is_name || is_mac { word.replace(bare, "*") } else { word.to_owned() }
    });
    words.collect()
}

#[test]
fn numbers_count_actions_of_the_tenant_only() {
    let (alone, busy) = (world(ServerLimits::default()), world(ServerLimits::default()));
    let expected = story(&alone, &mut || {});
    let mut other = None;
    let mut turn = 0;
    // The tenant is created before the other begins: the start of its numbers reveals the earlier activity, once.
    let received = story(&busy, &mut || {
        let other = other.get_or_insert_with(|| tenant(&busy, "other", json!({})));
        for number in 0..5 {
            let name = format!("/v1/contracts/c{turn}-{number}");
            other.put(&name, &contract("a", "b", "1Mbit")).is(201);
            other.put(&format!("/v1/vms/v{turn}-{number}"), &json!({})).is(201);
            other.put("/v1/contracts/no", &contract("a", "b", "2Gbit")).is_problem(409, "RATE");
            other.delete(&name).is(204);
        }
        turn += 1;
    });
    assert!(expected.len() > 150, "{}", expected.len());
    assert_eq!(expected.len(), received.len());
    for (expected, received) in expected.iter().zip(&received) {
        assert_eq!(expected, received);
    }
}
