//! History: events, decisions and the audit, also after a restart, within limits.

use std::io::BufReader;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::ServerLimits;
use wayleave_server::disk::Memory;

use crate::common::{Client, World, contract, options, read_head};

fn items(client: &Client, path: &str) -> Vec<Value> {
    client.get(path).is(200).json()["items"].as_array().unwrap().clone()
}

fn begin(disk: &Memory, limits: ServerLimits, scratch: std::sync::Arc<wayleave_repo_checks::TempFolder>) -> World {
    let mut options = options(Box::new(disk.clone()), &scratch, EnforcedBy::Nobody);
    options.limits = limits;
    World::of(options, scratch)
}

#[test]
fn changes_are_recorded_with_their_author_and_survive_a_restart() {
    let disk = Memory::default();
    let world =
        begin(&disk, ServerLimits::default(), std::sync::Arc::new(wayleave_repo_checks::TempFolder::new("server")));
    let operator = world.client.clone();
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    let acme = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    operator.put("/v1/vms/acme:a", &json!({ "placement": { "host": "h1" } })).is(201);
    operator.put("/v1/vms/acme:b", &json!({ "placement": { "host": "h16" } })).is(201);
    let made = acme.put("/v1/contracts/mine", &contract("a", "b", "10Mbit")).is(201);
    acme.send("PUT", "/v1/contracts/mine?dryRun=true", &[], contract("a", "b", "20Mbit").to_string().as_bytes())
        .is(200);
    acme.get("/v1/contracts/mine").is(200);
    let first = items(&operator, "/v1/audit");
    let newest = &first[0];
    assert_eq!(newest["operation"], "putContract", "a dry run and a read are nothing that was done: {first:?}");
    assert_eq!((&newest["object"], &newest["status"]), (&json!("acme:mine"), &json!(201)));
    assert_eq!((&newest["role"], &newest["tenant"]), (&json!("tenant"), &json!("acme")));
    assert_eq!(newest["from"], "127.0.0.1");
    assert_eq!(newest["request"], made.header("x-request-id").unwrap());
    let token = items(&operator, "/v1/tokens").into_iter().find(|token| token["role"] == "tenant").unwrap();
    assert_eq!(newest["who"], token["id"]);
    assert_eq!(items(&operator, "/v1/audit?object=acme:mine").len(), 1);
    assert!(first.iter().any(|entry| entry["who"] == "server"), "the first token: {first:?}");
    let (events, decisions) = (items(&operator, "/v1/events"), items(&operator, "/v1/decisions"));
    let scratch = world.end();
    let world = begin(&disk, ServerLimits::default(), scratch);
    let (operator, acme) = (operator.at(&world), acme.at(&world));
    assert_eq!(items(&operator, "/v1/audit"), first);
    assert_eq!(items(&operator, "/v1/events?limit=1000")[..events.len()], events);
    assert_eq!(items(&operator, "/v1/decisions"), decisions);
    // A tenant sees what its own tokens did, with numbers of its own.
    let own = items(&acme, "/v1/audit");
    assert_eq!(own.iter().map(|entry| entry["number"].as_u64().unwrap()).collect::<Vec<_>>(), [1]);
    // An earlier decision exists; an admitted contract is explained in its present state.
    let number = &decisions[0]["number"];
    acme.get(&format!("/v1/decisions/{number}")).is(200);
    acme.get(&format!("/v1/decisions/{number}/explanation")).is(200);
    // A watcher that has seen all events continues, and one that has seen none receives them all.
    let headers: &[(&str, &str)] = &[("accept", "text/event-stream"), ("last-event-id", "0")];
    let mut stream = BufReader::new(acme.begin("GET", "/v1/events", headers, b""));
    assert_eq!(read_head(&mut stream).0, 200);
    crate::events::until(&mut stream, "admitted");
}

/// Catches: contracts, VMs and tokens of an earlier tenant in events, decisions and the past of a later one of its name.
#[test]
fn a_tenant_created_again_reads_nothing_of_an_earlier_one() {
    let disk = Memory::default();
    let world =
        begin(&disk, ServerLimits::default(), std::sync::Arc::new(wayleave_repo_checks::TempFolder::new("server")));
    let operator = world.client.clone();
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    operator.token(json!({ "role": "tenant", "tenant": "acme", "label": "secret-label" }));
    for (vm, host) in [("secret-a", "h1"), ("secret-b", "h16")] {
        operator.put(&format!("/v1/vms/acme:{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    operator.put("/v1/contracts/acme:secret-c", &contract("secret-a", "secret-b", "10Mbit")).is(201);
    operator.put("/v1/contracts/acme:secret-d", &contract("secret-a", "secret-b", "100Gbit"));
    operator.delete("/v1/contracts/acme:secret-c?force=true").is(204);
    // Reservations are held for the bound of the route.
    for object in ["vms/acme:secret-a", "vms/acme:secret-b", "tenants/acme"] {
        while operator.delete(&format!("/v1/{object}")).status == 409 {}
    }
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    let acme = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    let is_separated = |operator: &Client, acme: &Client| {
        let numbers: Vec<u64> =
            items(operator, "/v1/events?limit=1000").iter().map(|event| event["number"].as_u64().unwrap()).collect();
        let lists = ["/v1/events?limit=1000", "/v1/decisions", "/v1/timeline", "/v1/audit"].map(str::to_owned);
        let one = |number: &u64| ["decisions", "timeline", "past"].map(|list| format!("/v1/{list}/{number}"));
        for path in lists.into_iter().chain(numbers.iter().flat_map(one)) {
            let answer = acme.send("GET", &path, &[], b"");
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(!text.contains("secret"), "{path}: {text}");
        }
        let all = items(operator, "/v1/events?limit=1000");
        assert!(all.iter().any(|event| event["object"] == "acme:secret-c"), "operators keep it: {all:?}");
    };
    is_separated(&operator, &acme);
    let world = begin(&disk, ServerLimits::default(), world.end());
    is_separated(&operator.at(&world), &acme.at(&world));
}

#[test]
fn refusals_are_recorded_counted_and_need_no_token() {
    let disk = Memory::default();
    let world =
        begin(&disk, ServerLimits::default(), std::sync::Arc::new(wayleave_repo_checks::TempFolder::new("server")));
    let operator = world.client.clone();
    for _ in 0..50 {
        operator.with("wl_wrong").get("/v1/contracts").is_problem(401, "UNAUTHORIZED");
    }
    let reader = operator.token(json!({ "role": "reader" }));
    reader.put("/v1/tenants/x", &json!({})).is_problem(403, "FORBIDDEN");
    operator.delete("/v1/tenants/default").is_problem(403, "FORBIDDEN");
    // At the end, what waits is written.
    let world = begin(&disk, ServerLimits::default(), world.end());
    let audit = items(&operator.at(&world), "/v1/audit?limit=1000");
    let count = |status: u64, operation: &str| -> u64 {
        let same = audit.iter().filter(|entry| entry["status"] == status && entry["operation"] == operation);
        same.map(|entry| entry["count"].as_u64().unwrap_or(1)).sum()
    };
    assert_eq!(count(401, "listContracts"), 50, "{audit:?}");
    assert_eq!((count(403, "putTenant"), count(403, "deleteTenant")), (1, 1), "{audit:?}");
    let nobody: Vec<&Value> = audit.iter().filter(|entry| entry["who"] == "nobody").collect();
    assert!(nobody.len() < 40 && nobody.iter().all(|entry| entry["from"] == "127.0.0.1"), "{nobody:?}");
    assert!(audit.iter().any(|entry| entry["detail"] == "FORBIDDEN" && entry["object"] == "default"));
}

#[test]
fn actions_of_a_tenant_evict_only_its_own_history() {
    let disk = Memory::default();
    let limits = ServerLimits { history_bytes: 16 << 10, ..ServerLimits::default() };
    let world = begin(&disk, limits.clone(), std::sync::Arc::new(wayleave_repo_checks::TempFolder::new("server")));
    let operator = world.client.clone();
    let tenant = |name: &str| {
        operator.put(&format!("/v1/tenants/{name}"), &json!({})).is(201);
        operator.token(json!({ "role": "tenant", "tenant": name }))
    };
    let (quiet, noisy) = (tenant("quiet"), tenant("noisy"));
    quiet.put("/v1/vms/a", &json!({})).is(201);
    let before = [items(&quiet, "/v1/audit"), items(&quiet, "/v1/events")];
    for _ in 0..60 {
        noisy.put("/v1/vms/a", &json!({})).is(201);
        noisy.delete("/v1/vms/a").is(204);
    }
    assert_eq!(before, [items(&quiet, "/v1/audit"), items(&quiet, "/v1/events")]);
    let kept = super::attack::metric(&operator, "wayleave_kept_bytes{what=\"history\"}");
    assert!(kept > 0.0 && kept < f64::from(8 * (16 << 10)), "{kept} B");
    let own = items(&noisy, "/v1/audit?limit=1000");
    assert!(own.len() < 100 && own[0]["number"] == 120, "{} of {}", own.len(), own[0]["number"]);
    // Its own watcher has missed something, and that of the other has not.
    for (client, expected) in [(&noisy, "reset"), (&quiet, "put")] {
        let headers: &[(&str, &str)] = &[("accept", "text/event-stream"), ("last-event-id", "0")];
        let mut stream = BufReader::new(client.begin("GET", "/v1/events", headers, b""));
        read_head(&mut stream);
        crate::events::until(&mut stream, expected);
    }
    // On disk, too.
    let world = begin(&disk, limits, world.end());
    assert_eq!(items(&noisy.at(&world), "/v1/audit?limit=1000"), own);
    assert_eq!(before, [items(&quiet.at(&world), "/v1/audit"), items(&quiet.at(&world), "/v1/events")]);
}
