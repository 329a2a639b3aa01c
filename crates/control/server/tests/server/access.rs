//! Every route of the document with every role, and two tenants who must not see one another.

use serde_json::{Value, json};
use wayleave_controller::Principal;
use wayleave_server::access::RouteAccess;

use crate::common::{Client, World, contract};

/// Returns the expected access of a route, independently of the server's table, which has to agree.
fn expected(method: &str, path: &str) -> RouteAccess {
    match (method, path) {
        (_, "/healthz" | "/readyz" | "/openapi.json" | "/docs") => RouteAccess::Open,
        (_, "/v1") => RouteAccess::Any,
        (_, "/v1/topology") => RouteAccess::Map,
        (_, "/metrics" | "/v1/alerts" | "/v1/links" | "/v1/links/{link}" | "/v1/nodes/{node}" | "/v1/queues") => {
            RouteAccess::ReadAll
        }
        (_, "/v1/links/{link}/history") => RouteAccess::ReadAll,
        (_, "/v1/topology/summary" | "/v1/tiers" | "/v1/agents" | "/v1/links/{link}/curves") => RouteAccess::ReadAll,
        (_, path) if path.starts_with("/v1/agents/") => RouteAccess::Agent,
        (_, "/v1/tokens" | "/v1/tokens/{token}" | "/v1/what-if" | "/v1/backups" | "/v1/checks") => {
            RouteAccess::Operator
        }
        (_, path) if path.ends_with("/state") => RouteAccess::Operator,
        ("get", "/v1/policies" | "/v1/policies/{policy}") => RouteAccess::ReadAll,
        (_, "/v1/policies/{policy}") => RouteAccess::Operator,
        ("get", _) => RouteAccess::Read,
        (_, path) if path.starts_with("/v1/tenants") => RouteAccess::Operator,
        (_, "/v1/apply" | "/v1/batch") => RouteAccess::Write,
        (_, path) if path.starts_with("/v1/vms") || path.starts_with("/v1/contracts") => RouteAccess::Write,
        _ => panic!("{method} {path}: who may?"),
    }
}

/// The same with something in the places.
fn filled(path: &str) -> String {
    path.replace("{node}", "h1")
        .replace("{host}", "h1")
        .replace("{link}", "h1-%3Ep1e1")
        .replace("{decision}", "1")
        .replace("{event}", "1")
        .replace("{asOf}", "1")
        .replace("{tenant}", "nobody")
        .replace("{token}", "t-none")
        .replace("{vm}", "none")
        .replace("{policy}", "none")
        .replace("{contract}", "none")
}

fn routes(document: &Value) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, verbs)| verbs.as_object().unwrap().keys().map(move |verb| (verb.clone(), path.clone())))
        .collect()
}

#[test]
fn every_route_is_open_to_exactly_its_roles() {
    let world = World::new();
    let client = &world.client;
    let roles: Vec<(Option<Principal>, Client)> = vec![
        (None, client.without()),
        (Some(Principal::Operator), client.token(json!({ "role": "operator" }))),
        (
            Some(Principal::Tenant { tenant: "default".into() }),
            client.token(json!({ "role": "tenant", "tenant": "default" })),
        ),
        (Some(Principal::Agent { node: "h1".into() }), client.token(json!({ "role": "agent", "node": "h1" }))),
        (Some(Principal::Reader { tenant: None }), client.token(json!({ "role": "reader" }))),
        (
            Some(Principal::Reader { tenant: Some("default".into()) }),
            client.token(json!({ "role": "reader", "tenant": "default" })),
        ),
    ];
    let routes = routes(&client.get("/openapi.json").json());
    assert!(routes.len() > 40, "{routes:?}");
    for (verb, path) in routes {
        let access = expected(&verb, &path);
        for (role, client) in &roles {
            let body: &[u8] = if verb == "get" || verb == "delete" { b"" } else { b"{}" };
            let answer = client.send(&verb.to_uppercase(), &filled(&path), &[], body);
            let may = match role {
                None => access == RouteAccess::Open,
                Some(role) => access.allows(role),
            };
            let is_turned_away = matches!(answer.status, 401 | 403);
            assert_eq!(!is_turned_away, may, "{verb} {path} as {role:?}: {}", answer.status);
            assert!(answer.status < 500, "{verb} {path} as {role:?}: {}", String::from_utf8_lossy(&answer.body));
        }
    }
}

#[test]
fn a_tenant_can_neither_read_nor_change_objects_of_others() {
    let world = World::new();
    let operator = &world.client;
    for tenant in ["acme", "other"] {
        operator.put(&format!("/v1/tenants/{tenant}"), &json!({ "quota": { "contracts": 5 } })).is(201);
        operator.put(&format!("/v1/vms/{tenant}:vm"), &json!({ "placement": { "host": "h2" } })).is(201);
        operator.put(&format!("/v1/contracts/{tenant}:c"), &contract("vm", "h16", "1Mbit")).is(201);
    }
    let refused = operator.put("/v1/contracts/acme:big", &contract("vm", "h16", "2Gbit")).is_problem(409, "RATE");
    let decision = &refused["decision"];
    let before = operator.get("/v1/contracts?tenant=acme").json();
    let other = operator.token(json!({ "role": "tenant", "tenant": "other" }));
    let reader = operator.token(json!({ "role": "reader", "tenant": "other" }));
    for (method, path, body) in [
        ("GET", "/v1/tenants/acme".to_owned(), json!(null)),
        ("GET", "/v1/vms/acme:vm".to_owned(), json!(null)),
        ("GET", "/v1/contracts/acme:c".to_owned(), json!(null)),
        ("GET", "/v1/contracts/acme:c/explanation".to_owned(), json!(null)),
        ("GET", format!("/v1/decisions/acme:{decision}"), json!(null)),
        ("GET", format!("/v1/decisions/acme:{decision}/explanation"), json!(null)),
        ("PUT", "/v1/vms/acme:new".to_owned(), json!({})),
        ("DELETE", "/v1/vms/acme:vm".to_owned(), json!(null)),
        ("PUT", "/v1/contracts/acme:c".to_owned(), contract("vm", "h16", "2Mbit")),
        ("DELETE", "/v1/contracts/acme:c".to_owned(), json!(null)),
        ("POST", "/v1/vms".to_owned(), json!({ "name": "x", "tenant": "acme" })),
    ] {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        other.send(method, &path, &[], body.as_bytes()).is_problem(404, "NOT_FOUND");
        if method == "GET" {
            reader.send(method, &path, &[], b"").is_problem(404, "NOT_FOUND");
        }
    }
    let mut foreign = contract("h1", "h16", "1Mbit");
    (foreign["name"], foreign["tenant"]) = (json!("x"), json!("acme"));
    let answer = other.post("/v1/contracts", &foreign);
    assert!(matches!(answer.status, 400 | 404), "{}", answer.status);
    for path in [
        "/v1/tenants",
        "/v1/vms",
        "/v1/contracts",
        "/v1/hosts",
        "/v1/decisions",
        "/v1/events?limit=1000",
        "/v1/contracts/c/explanation",
    ] {
        for client in [&other, &reader] {
            let text = String::from_utf8(client.get(path).is(200).body).unwrap();
            assert!(!text.contains("acme"), "{path}: {text}");
        }
    }
    let own = other.get("/v1/contracts/c").is(200).json();
    assert_eq!(own["id"], "other:c");
    assert_eq!(operator.get("/v1/contracts?tenant=acme").json(), before);
}

#[test]
fn a_tenant_sees_its_vms_and_their_hosts() {
    let world = World::new();
    let operator = &world.client;
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    for (vm, host) in [("web", "h2"), ("db", "h16")] {
        operator.put(&format!("/v1/vms/acme:{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    let tenant = operator.token(json!({ "role": "tenant", "tenant": "acme" }));
    tenant.put("/v1/contracts/flow", &contract("web", "db", "1Mbit")).is(201);
    tenant.put("/v1/contracts/aggregate", &contract("h2", "h16", "1Mbit")).is(201);
    for ends in [("h3", "h16"), ("h2", "h15")] {
        let refused = tenant.put("/v1/contracts/foreign", &contract(ends.0, ends.1, "1Mbit"));
        let problem = refused.is_problem(400, "INVALID");
        assert!(problem["detail"].as_str().unwrap().contains("without VMs of tenant"), "{problem}");
    }
    operator.put("/v1/contracts/acme:foreign", &contract("h3", "h15", "1Mbit")).is(201);
}
