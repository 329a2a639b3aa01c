//! Errors as tenants see them: no path of the controller's files, on any route and in any state of the ledger.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::{Disk, Memory, Opened};
use wayleave_store::{Failure, StoreError};

use crate::common::{Client, World, contract};

/// Folder of the ledger in the errors of the disk.
const FOLDER: &str = "/srv/hidden-ledger";

/// A disk that cannot be opened again while it is broken.
#[derive(Clone)]
struct Broken {
    memory: Memory,
    is_broken: Arc<AtomicBool>,
}

impl Disk for Broken {
    fn open(&mut self) -> Result<Opened, StoreError> {
        if self.is_broken.load(Ordering::SeqCst) {
            let message = format!("{FOLDER}/ledger.db: no space is left");
            return Err(StoreError::Elsewhere { place: self.name(), message });
        }
        self.memory.open()
    }

    fn name(&self) -> String {
        format!("{FOLDER}/ledger.db")
    }
}

/// Every route, with a method and an address.
fn routes() -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap().clone();
    let of = |(path, methods): (String, Value)| -> Vec<(String, String)> {
        let named = path.split('/').map(|part| if part.starts_with('{') { "none" } else { part });
        let path = named.collect::<Vec<_>>().join("/");
        let methods = methods.as_object().unwrap().clone();
        methods.keys().map(|method| (method.to_uppercase(), path.clone())).collect()
    };
    paths.into_iter().flat_map(of).collect()
}

/// Returns the answers of all routes to requests that fail. Streams are left out: they do not end.
fn errors(client: &Client) -> Vec<String> {
    let asked = routes().into_iter().filter(|(_, path)| !path.contains("watch"));
    let answers = asked.flat_map(|(method, path)| {
        let bodies: &[&str] = if matches!(method.as_str(), "GET" | "DELETE") { &[""] } else { &["{", "{}"] };
        let of = |body: &&str| {
            let answer = client.send(&method, &path, &[], body.as_bytes());
            (answer.status >= 400).then(|| format!("{method} {path}: {}", String::from_utf8_lossy(&answer.body)))
        };
        bodies.iter().filter_map(of).collect::<Vec<_>>()
    });
    answers.collect()
}

#[test]
fn no_error_for_a_tenant_has_a_path_of_the_controller() {
    let disk = Broken { memory: Memory::default(), is_broken: Arc::default() };
    let (store, is_broken) = (disk.memory.0.clone(), disk.is_broken.clone());
    let world = World::with(Box::new(disk), EnforcedBy::Hosts);
    let operator = &world.client;
    operator.put("/v1/tenants/acme", &json!({})).is(201);
    let scratch = world.scratch.display().to_string();
    let roles = [json!({ "role": "tenant", "tenant": "acme" }), json!({ "role": "reader", "tenant": "acme" })];
    let clients: Vec<Client> = roles.into_iter().map(|role| operator.token(role)).collect();
    let clients: Vec<Client> = clients.into_iter().chain([operator.without()]).collect();
    let is_hidden = |state: &str| {
        for text in clients.iter().flat_map(errors) {
            for path in [FOLDER, scratch.as_str(), env!("CARGO_MANIFEST_DIR"), ".rs:"] {
                assert!(!text.contains(path), "{state}: {text}");
            }
        }
    };
    assert!(routes().len() > 60 && errors(&clients[0]).len() > 50, "{}", errors(&clients[0]).len());
    is_hidden("ready");

    is_broken.store(true, Ordering::SeqCst);
    store.lock().unwrap().fail_next(Failure::Before);
    operator.put("/v1/contracts/a", &contract("h1", "h16", "1Mbit")).is_problem(503, "UNAVAILABLE");
    // Operators receive the reason with the path.
    let change = || operator.put("/v1/contracts/a", &contract("h1", "h16", "1Mbit"));
    let reason = std::iter::repeat_with(change).map(|answer| String::from_utf8_lossy(&answer.body).into_owned());
    assert!(reason.into_iter().take(100_000).any(|text| text.contains(FOLDER)), "the ledger is not broken");
    is_hidden("broken");
    is_broken.store(false, Ordering::SeqCst);
}
