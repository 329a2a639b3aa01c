//! What one tenant can learn of another.

use serde_json::{Value, json};
use wayleave_server::Limits;

use super::{tenant, world};
use crate::common::{Client, World, contract};

/// Everything that a tenant can read, under the address at which it is.
fn everything(client: &Client) -> Vec<(String, String)> {
    let document: Value = client.get("/openapi.json").is(200).json();
    let paths = document["paths"].as_object().unwrap().iter().filter(|(_, verbs)| verbs.get("get").is_some());
    let mut paths: Vec<String> = paths.map(|(path, _)| path.clone()).filter(|path| !path.contains("{node}")).collect();
    for (place, value) in
        [("{contract}", "mine"), ("{vm}", "a"), ("{tenant}", "acme"), ("{host}", "h1"), ("{decision}", "none")]
    {
        paths.iter_mut().for_each(|path| *path = path.replace(place, value));
    }
    paths.sort();
    let as_text = ["accept", "text/plain"];
    let answers = paths.into_iter().flat_map(|path| {
        [&[][..], &[(as_text[0], as_text[1])]].map(|headers| {
            let answer = client.send("GET", &path, headers, b"");
            let tag = answer.header("etag").unwrap_or_default().to_owned();
            (
                format!("{path} {headers:?}"),
                format!("{} {tag} {}", answer.status, String::from_utf8_lossy(&answer.body)),
            )
        })
    });
    answers.collect()
}

/// A tenant with contracts that were admitted and refused.
fn acme(world: &World) -> Client {
    let acme = tenant(world, "acme", json!({}));
    acme.put("/v1/contracts/mine", &contract("a", "b", "10Mbit")).is(201);
    acme.put("/v1/contracts/no", &contract("a", "b", "2Gbit")).is_problem(409, "RATE");
    acme
}

#[test]
fn what_others_do_changes_nothing_that_a_tenant_can_read() {
    let world = world(Limits::default());
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
fn a_refusal_says_nothing_of_the_load_of_links() {
    let world = world(Limits::default());
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
    // Why, as JSON and as text, with what would fit for itself, and no name of a link or of the other tenant.
    let decision = &acme.put("/v1/contracts/no", &contract("a", "b", "2Gbit")).json()["decision"];
    for path in [format!("/v1/decisions/{decision}/explanation"), "/v1/contracts/mine/explanation".to_owned()] {
        for headers in [&[][..], &[("accept", "text/plain")]] {
            let answer = acme.send("GET", &path, headers, b"").is(200);
            let text = String::from_utf8(answer.body).unwrap();
            for word in ["other:", "another tenant", "backlog", "queues\":", "delay_ns", "7Mbit"] {
                assert!(!text.contains(word), "{word} in {path} {headers:?}:\n{text}");
            }
        }
    }
    let shown = acme.get(&format!("/v1/decisions/{decision}/explanation")).is(200).json();
    assert!(shown["nearest"]["rate_bps"].as_u64().unwrap() > 0, "{shown}");
    // The operator is told everything.
    let operator = world.client.get(&format!("/v1/decisions/{decision}/explanation")).is(200).json();
    assert!(operator["queues"].as_array().is_some_and(|queues| !queues.is_empty()), "{operator}");
}

#[test]
fn an_address_that_is_taken_names_nobody_and_keeps_nobody_out() {
    let world = world(Limits::default());
    let victim = tenant(&world, "victim", json!({}));
    let squatter = tenant(&world, "squatter", json!({}));
    // The address follows from the name, so it can be known before.
    let mac = victim.put("/v1/vms/web", &json!({})).is(201).json()["mac"].clone();
    let taken = squatter.put("/v1/vms/x", &json!({ "mac": mac })).is_problem(409, "CONFLICT");
    assert!(!taken.to_string().contains("victim"), "{taken}");
    victim.delete("/v1/vms/web").is(204);
    squatter.put("/v1/vms/x", &json!({ "mac": mac })).is(201);
    let again = victim.put("/v1/vms/web", &json!({})).is(201).json();
    assert_ne!(again["mac"], mac);
}
