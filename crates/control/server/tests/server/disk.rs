//! Every answered change is on disk: over restarts, over a failing disk, and at the end.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::{File, Memory};
use wayleave_store::Failure;

use crate::common::{World, contract, options};
use wayleave_repo_checks::TempFolder;

fn on_file(scratch: &Arc<TempFolder>) -> World {
    let disk = Box::new(File(scratch.join("ledger.db")));
    World::of(options(disk, &scratch, EnforcedBy::Nobody), scratch.clone())
}

/// A ledger of format 1, as the version of commit 3508e3be left it: two contracts, one of which has lost its host, and an answer that was kept.
const FORMAT_1: [(&str, &[u8]); 3] = [
    ("ledger.db", include_bytes!("../data/format-1.db")),
    ("ledger.db-seal", include_bytes!("../data/format-1.db-seal")),
    ("operator", b"wl_fa6ec357773aa06d5639ba8585cbe8c11e89e23a35eda3ae8b8fd26691a8f774"),
];

#[test]
fn a_ledger_of_format_1_opens_with_all_its_contents() {
    let scratch = Arc::new(TempFolder::new("server"));
    for (name, bytes) in FORMAT_1 {
        let path = scratch.join(name);
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    // The version of the content is in the header (SQLite's user_version).
    let format = || std::fs::read(scratch.join("ledger.db")).map(|bytes| bytes[60..64].to_vec()).unwrap();
    assert_eq!(format(), [0, 0, 0, 1]);
    let world = on_file(&scratch);
    let client = world.client.clone();
    let kept = client.get("/v1/contracts/acme:c1").is(200).json();
    assert_eq!((&kept["status"]["boundNs"], &kept["status"]["revision"]), (&json!(5_000_000), &json!(7)), "{kept}");
    let first = &kept["status"]["routes"][0]["hops"][0]["link"];
    assert_eq!((&kept["from"], first), (&json!("a"), &json!("h1->pod1-edge1")));
    assert_eq!(client.get("/v1/contracts/c2").is(200).json()["status"]["reason"], "FAILURE");
    assert_eq!(client.get("/v1/tenants/acme").is(200).json()["usage"]["contracts"], 1);
    let order = r#"{"from":"a","to":"b","rate":"10Mbit","burst":"3000B","deadline":"5ms"}"#;
    let key: &[(&str, &str)] = &[("idempotency-key", "k1")];
    let again = client.send("PUT", "/v1/contracts/acme:c1", key, order.as_bytes()).is(201).json();
    assert_eq!(again["status"]["revision"], 7, "the answer of then: {again}");
    // Failed elements are repaired as if there had been no restart, and new events are in the history of the next
    // server.
    client.put("/v1/nodes/h4/state", &json!({ "state": "up" })).is(200);
    assert_eq!(client.get("/v1/contracts/c2").is(200).json()["status"]["state"], "admitted");
    world.end();
    // A contract that has changed has a record of format 5.
    assert_eq!(format(), [0, 0, 0, 5]);
    let world = on_file(&scratch);
    assert_eq!(world.client.get("/v1/contracts/acme:c1").is(200).json(), kept);
    let audit = world.client.get("/v1/audit").is(200).json();
    assert_eq!(audit["items"][0]["operation"], "putNodeState", "{audit}");
}

#[test]
fn another_server_continues_from_the_state_of_this_one() {
    let scratch = Arc::new(TempFolder::new("server"));
    let world = on_file(&scratch);
    let client = world.client.clone();
    client.put("/v1/tenants/acme", &json!({ "quota": { "contracts": 3 } })).is(201);
    client.put("/v1/vms/acme:web", &json!({ "placement": { "host": "h1" } })).is(201);
    let made = client.put("/v1/contracts/acme:a", &contract("web", "h16", "10Mbit")).is(201).json();
    let mut body = contract("h2", "h15", "10Mbit");
    body["name"] = json!("b");
    let key: &[(&str, &str)] = &[("idempotency-key", "k")];
    let first = client.send("POST", "/v1/contracts", key, body.to_string().as_bytes()).is(201);
    let generation = client.get("/v1").json()["generation"].as_u64().unwrap();
    world.end();

    let world = on_file(&scratch);
    let client = &world.client;
    assert_eq!(client.get("/v1").is(200).json()["generation"].as_u64().unwrap(), generation + 1);
    assert_eq!(client.get("/v1/contracts/acme:a").is(200).json(), made);
    assert_eq!(client.get("/v1/tenants/acme").json()["usage"]["contracts"], 1);
    assert_eq!(client.get("/v1/hosts/h1").json()["vms"], json!(["acme:web"]));
    let second = client.send("POST", "/v1/contracts", key, body.to_string().as_bytes()).is(201);
    assert_eq!(
        (first.body, first.headers.iter().find(|(name, _)| name == "location")),
        (second.body, second.headers.iter().find(|(name, _)| name == "location"))
    );
    assert_eq!(client.get("/v1/contracts").json()["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_failed_commit_is_not_acknowledged() {
    for failure in [Failure::Before, Failure::After] {
        let disk = Memory::default();
        let store = disk.0.clone();
        let world = World::with(Box::new(disk), EnforcedBy::Nobody);
        let client = &world.client;
        client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
        store.lock().unwrap().fail_next(failure);
        let body = contract("h2", "h15", "10Mbit").to_string();
        let failed = client.send("PUT", "/v1/contracts/b", &[("idempotency-key", "b")], body.as_bytes());
        failed.is_problem(503, "UNAVAILABLE");
        assert_eq!(failed.header("retry-after"), Some("1"));
        // It opens the ledger again by itself; until then it reports that it is not ready.
        while client.without().get("/readyz").status != 200 {
            std::thread::yield_now();
        }
        let there = client.get("/v1/contracts/b").status;
        assert_eq!(there, if failure == Failure::After { 200 } else { 404 });
        client.send("PUT", "/v1/contracts/b", &[("idempotency-key", "b")], body.as_bytes()).is(201);
        client.get("/v1/contracts/a").is(200);
    }
}

#[test]
fn no_acknowledged_change_is_lost_in_a_crash() {
    let scratch = Arc::new(TempFolder::new("server"));
    let world = on_file(&scratch);
    let is_over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|number| {
            let (client, is_over) = (world.client.clone(), is_over.clone());
            std::thread::spawn(move || {
                let mut answered = Vec::new();
                for at in 0.. {
                    let name = format!("c-{number}-{at}");
                    if is_over.load(Ordering::Relaxed) {
                        return answered;
                    }
                    // After the end the server does not listen any more: the client would panic, by which the test
                    // detects the end.
                    let path = format!("/v1/contracts/{name}");
                    let (from, to) = (format!("h{}", 1 + (number + at) % 8), format!("h{}", 9 + at % 8));
                    let body = contract(&from, &to, "1kbit");
                    match std::panic::catch_unwind(|| client.put(&path, &body).status) {
                        Ok(201) => answered.push(name),
                        Ok(409) => {}
                        Ok(_) | Err(_) => return answered,
                    }
                }
                answered
            })
        })
        .collect();
    while world.client.get("/v1/status").json()["contracts"]["admitted"].as_u64() < Some(20) {
        std::thread::yield_now();
    }
    world.end();
    is_over.store(true, Ordering::Relaxed);
    let answered: Vec<String> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
    assert!(answered.len() >= 20);
    let world = on_file(&scratch);
    for name in answered {
        world.client.get(&format!("/v1/contracts/{name}")).is(200);
    }
}

#[test]
fn the_secret_of_the_first_operator_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let file = world.scratch.join("operator");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(world.client.get("/v1/tokens").json()["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_backup_is_made_while_clients_are_active_and_can_be_restored() {
    let scratch = Arc::new(TempFolder::new("server"));
    let ledger = scratch.join("ledger.db");
    let world = World::of(options(Box::new(File(ledger.clone())), &scratch, EnforcedBy::Nobody), scratch);
    let client = world.client.clone();
    client.put("/v1/contracts/before", &contract("h1", "h16", "1Mbit")).is(201);
    let (go_on, done) = (client.clone(), std::sync::atomic::AtomicBool::new(false));
    let made = std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            (0..1_000_000).take_while(|_| !done.load(std::sync::atomic::Ordering::Relaxed)).for_each(|number| {
                let path = format!("/v1/contracts/c{}", number % 5);
                assert!(go_on.put(&path, &contract("h1", "h16", "1Mbit")).status < 300);
                go_on.delete(&path).is(204);
            });
        });
        let made = client.post("/v1/backups", &json!({ "name": "copy.db" })).is(201).json();
        client.post("/v1/backups", &json!({ "name": "copy.db" })).is_problem(409, "CONFLICT");
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        busy.join().unwrap();
        made
    });
    for name in ["../x", "", ".hidden", "-x", "a/b", "a\u{e4}"] {
        client.post("/v1/backups", &json!({ "name": name })).is_problem(400, "INVALID");
    }
    let tenant = client.token(json!({ "role": "tenant", "tenant": "default" }));
    tenant.post("/v1/backups", &json!({ "name": "mine.db" })).is_problem(403, "FORBIDDEN");
    client.put("/v1/contracts/after", &contract("h1", "h16", "1Mbit")).is(201);
    let scratch = world.end();
    assert!(made["records"].as_u64().unwrap() > 3, "{made}");
    // As in docs/operate/ledger.md: the copy and its seal replace the ledger, and the old log is removed.
    for end in ["", "-wal", "-seal"] {
        let (old, new) = (format!("ledger.db{end}"), format!("copy.db{end}"));
        drop(std::fs::remove_file(scratch.join(&old)));
        if scratch.join(&new).exists() {
            std::fs::rename(scratch.join(&new), scratch.join(&old)).unwrap();
        }
    }
    let world = World::of(options(Box::new(File(ledger)), &scratch, EnforcedBy::Nobody), scratch);
    let client = client.at(&world);
    client.get("/v1/contracts/before").is(200);
    client.get("/v1/contracts/after").is_problem(404, "NOT_FOUND");
    let audit = client.get("/v1/audit?object=default:before").is(200).json();
    assert_eq!(audit["items"][0]["operation"], "putContract");
}
