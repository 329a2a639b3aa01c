//! Long lists, which once stopped every other change until they were done.

use serde_json::{Value, json};
use wayleave_server::ServerLimits;

use super::{tenant, times, world};
use crate::common::contract;

fn list(count: usize) -> String {
    let contract = |number: usize| json!({ "name": format!("c{number}"), "from": "a", "to": "b", "rate": "1kbit", "burst": "64B", "deadline": "50ms" });
    let contracts: Vec<Value> = (0..count).map(contract).collect();
    json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": contracts } }).to_string()
}

#[test]
fn changes_of_others_are_made_while_a_list_is_applied() {
    let world = world(ServerLimits::default());
    let (noisy, quiet) = (tenant(&world, "noisy", json!({})), tenant(&world, "quiet", json!({})));
    let count = 8_000 * times();
    let sender = noisy.clone();
    let list = std::thread::spawn(move || sender.send("POST", "/v1/apply", &[], list(count).as_bytes()));
    assert!((0..1_000_000).any(|_| noisy.get("/v1/contracts/c0").status == 200), "the list does not begin");
    let mine = quiet.put("/v1/contracts/mine", &contract("a", "b", "1Mbit")).is(201).json();
    let report = list.join().unwrap().is(200).json();
    assert_eq!(report["items"].as_array().unwrap().len(), count);
    // The numbers show, independently of a clock, that it was made before the list was complete.
    let done = report["items"].as_array().unwrap().iter().rposition(|item| item["outcome"] == "created").unwrap();
    let last = world.client.get(&format!("/v1/contracts/noisy:c{done}")).is(200).json();
    assert!(mine["status"].get("serial").is_none(), "it would tell how many contracts others have: {mine}");
    let mine = world.client.get("/v1/contracts/quiet:mine").is(200).json();
    let (mine, last) = (&mine["status"]["serial"], &last["status"]["serial"]);
    assert!(mine.as_u64() < last.as_u64(), "{mine} came after {last}, the last of the list");
}

#[test]
fn an_atomic_batch_has_a_limited_length() {
    let world = world(ServerLimits { together: 50, ..ServerLimits::default() });
    let noisy = tenant(&world, "noisy", json!({}));
    for query in ["atomic=true", "dryRun=true", "atomic=true&dryRun=true"] {
        let path = format!("/v1/apply?{query}");
        let refused = noisy.send("POST", &path, &[], list(51).as_bytes()).is_problem(413, "TOO_LARGE");
        assert!(refused["detail"].as_str().unwrap().contains("at most 50"), "{refused}");
        noisy.send("POST", &path, &[], list(50).as_bytes()).is(200);
    }
    // An operator's may be four times as long.
    let hosts = |count| list(count).replace("\"a\"", "\"h1\"").replace("\"b\"", "\"h2\"");
    let atomic = |count| world.client.send("POST", "/v1/apply?atomic=true", &[], hosts(count).as_bytes());
    let refused = atomic(201).is_problem(413, "TOO_LARGE");
    assert!(refused["detail"].as_str().unwrap().contains("at most 200 are admitted from operators"), "{refused}");
    // A long dry run of one is made in a copy.
    let dry = world.client.send("POST", "/v1/apply?dryRun=true", &[], hosts(201).as_bytes());
    assert_eq!(dry.is(200).json()["done"], 201);
    assert_eq!(world.client.get("/v1/contracts?tenant=default").is(200).json()["items"], json!([]));
    atomic(200).is(200);
}

#[test]
fn a_list_with_a_key_is_applied_once_even_while_it_is_applied() {
    let world = world(ServerLimits::default());
    let noisy = tenant(&world, "noisy", json!({}));
    let text = list(4_000);
    let answers: Vec<u16> = std::thread::scope(|scope| {
        let ask = || noisy.send("POST", "/v1/apply", &[("idempotency-key", "one")], text.as_bytes()).status;
        let asked: Vec<_> = (0..3).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    // A client that retries too early gets an error and has to retry later.
    assert!(answers.contains(&200) && answers.iter().all(|status| matches!(status, 200 | 503)), "{answers:?}");
    let decisions = world.client.get("/v1/decisions?limit=1").is(200).json();
    assert!(decisions["items"][0]["number"].as_u64().unwrap() <= 4_000, "{decisions}");
}
