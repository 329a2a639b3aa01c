//! Memory that clients make the server use.

use serde_json::json;
use wayleave_server::ServerLimits;

use super::{metric, tenant, times, world};
use crate::common::contract;

#[test]
fn stored_answers_are_charged_to_the_tenant_that_asked() {
    let most = (64 << 10) * times() as u64;
    let world = world(ServerLimits { answer_bytes: most, ..ServerLimits::default() });
    let victim = tenant(&world, "victim", json!({}));
    let noisy = tenant(&world, "noisy", json!({ "contracts": 1 }));
    let (path, body) = ("/v1/contracts/mine", contract("a", "b", "1Mbit").to_string());
    let key: &[(&str, &str)] = &[("idempotency-key", "once")];
    let first = victim.send("PUT", path, key, body.as_bytes()).is(201);
    victim.delete(path).is(204);

    let mut asked = 0;
    let refused = loop {
        let key = format!("key-{asked}");
        let path = format!("/v1/contracts/c{}", asked % 3);
        let answer = noisy.send("PUT", &path, &[("idempotency-key", &key)], body.as_bytes());
        asked += 1;
        if answer.status == 429 {
            break answer.is_problem(429, "RATE_LIMITED");
        }
        assert!((asked as u64) < most / 100, "{asked} answers are kept, each of at least 100 B");
    };
    assert!(refused["detail"].as_str().unwrap().contains("stored answers of tenant noisy"), "{refused}");
    assert_eq!(metric(&world.client, "wayleave_limits_reached_total{limit=\"answers\"}"), 1.0);
    let kept = metric(&world.client, "wayleave_kept_bytes{what=\"answers\"}");
    assert!(kept < most as f64 + 10_000.0, "{kept} B are kept");

    // It may continue without keys, and its earlier answers are still known.
    noisy.put("/v1/contracts/c0", &contract("a", "b", "2Mbit")).is(200);
    noisy.send("PUT", "/v1/contracts/c0", &[("idempotency-key", "key-0")], body.as_bytes()).is(201);
    // A retry of the victim is no second request.
    assert_eq!(victim.send("PUT", path, key, body.as_bytes()).is(201).body, first.body);
    victim.get(path).is(404);
}

#[test]
fn the_answer_to_a_long_list_is_stored_shortened() {
    let world = world(ServerLimits::default());
    let noisy = tenant(&world, "noisy", json!({ "contracts": 100 }));
    let contracts: Vec<_> = (0..500)
        .map(|number| {
            json!({ "name": format!("c{number}"), "from": "a", "to": "b", "rate": "1kbit", "burst": "100B", "deadline": "50ms" })
        })
        .collect();
    let list =
        json!({ "apiVersion": "wayleave/v1", "kind": "Contracts", "spec": { "contracts": contracts } }).to_string();
    let key: &[(&str, &str)] = &[("idempotency-key", "list")];
    let first = noisy.send("POST", "/v1/apply", key, list.as_bytes()).is(200);
    let (whole, again) = (first.json(), noisy.send("POST", "/v1/apply", key, list.as_bytes()).is(200).json());
    assert_eq!(whole["items"].as_array().unwrap().len(), 500);
    for count in ["done", "refused"] {
        assert_eq!(again[count], whole[count], "{again}");
    }
    let items = again["items"].as_array().unwrap().len();
    assert_eq!(again["omitted"].as_u64().unwrap() as usize + items, 500);
    assert!(again["items"].as_array().unwrap().iter().all(|item| item["outcome"] == "refused"), "{again}");
    assert!(first.body.len() > 50_000 && metric(&world.client, "wayleave_kept_bytes{what=\"answers\"}") < 20_000.0);
}

#[test]
fn incomplete_bodies_take_no_memory_from_others() {
    let world = world(ServerLimits { open_bytes: 20 << 20, ..ServerLimits::default() });
    let noisy = tenant(&world, "noisy", json!({}));
    // Each may send 16 MiB, the largest list, and sends nothing.
    let half =
        |client: &crate::common::Client| client.begin("POST", "/v1/apply", &[("transfer-encoding", "chunked")], b"");
    let _first = half(&noisy);
    let is_held = || metric(&world.client, "wayleave_kept_bytes{what=\"requests\"}") >= f64::from(16 << 20);
    assert!((0..100_000).any(|_| is_held()), "the first request is not counted");
    let refused = crate::common::read(&mut std::io::BufReader::new(half(&noisy)));
    let refused = refused.is_problem(429, "RATE_LIMITED");
    assert!(refused["detail"].as_str().unwrap().contains("tenant noisy"), "{refused}");
    let quiet = tenant(&world, "quiet", json!({}));
    quiet.put("/v1/contracts/c", &contract("a", "b", "1Mbit")).is(201);
}

#[test]
fn a_tenant_has_a_limited_number_of_vms() {
    let world = world(ServerLimits { vms: 5, ..ServerLimits::default() });
    // With two VMs already.
    let noisy = tenant(&world, "noisy", json!({}));
    let made: Vec<u16> = (0..5).map(|number| noisy.put(&format!("/v1/vms/v{number}"), &json!({})).status).collect();
    assert_eq!(made, [201, 201, 201, 409, 409]);
    let refused = noisy.post("/v1/vms", &json!({ "name": "more" })).is_problem(409, "QUOTA");
    assert!(refused["detail"].as_str().unwrap().contains("5 VMs"), "{refused}");
    noisy.put("/v1/vms/v0", &json!({})).is(200);
    noisy.delete("/v1/vms/v1").is(204);
    noisy.put("/v1/vms/more", &json!({})).is(201);
}
