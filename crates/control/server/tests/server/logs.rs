//! The log of a whole session has no secret in it.

use std::io;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::common::{World, contract};

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The variable that makes this test a session whose log is read.
const SESSION: &str = "WAYLEAVE_TEST_LOGS";

/// The log is that of a whole process, so the session has one of its own.
#[test]
fn no_secret_is_logged_and_every_request_is() {
    if std::env::var_os(SESSION).is_some() {
        return session();
    }
    let mut session = Command::new(std::env::current_exe().unwrap());
    session.args(["--exact", "logs::no_secret_is_logged_and_every_request_is", "--nocapture"]).env(SESSION, "1");
    let output = session.output().unwrap();
    let content = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && content.contains("1 passed"), "{content}");
}

fn session() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .json()
        .with_writer(move || writer.clone())
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .init();
    let world = World::new();
    let client = &world.client;
    let made =
        client.post("/v1/tokens", &json!({ "role": "tenant", "tenant": "default", "label": "x" })).is(201).json();
    let tenant = client.with(made["secret"].as_str().unwrap());
    for (vm, host) in [("web", "h1"), ("db", "h16")] {
        tenant.put(&format!("/v1/vms/{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    tenant.put("/v1/contracts/secret-name?dryRun=false", &contract("web", "db", "10Mbit")).is(201);
    tenant.get("/v1/tokens").is_problem(403, "FORBIDDEN");
    client.with("wl_notatoken").get("/v1").is_problem(401, "UNAUTHORIZED");
    client.send("PUT", "/v1/contracts/b", &[], b"{\"password\": \"hunter2\"}").is_problem(400, "INVALID");
    let secrets = [
        client.secret.clone().unwrap(),
        tenant.secret.clone().unwrap(),
        "wl_notatoken".to_owned(),
        "hunter2".to_owned(),
    ];
    drop(world);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for secret in secrets {
        assert!(!text.contains(&secret) && !text.contains(secret.trim_start_matches("wl_")), "{secret} in {text}");
    }
    let requests: Vec<&str> = text.lines().filter(|line| line.contains("\"message\":\"request\"")).collect();
    assert_eq!(requests.len(), 7, "{text}");
    assert!(requests[3].contains("\"status\":201") && requests[3].contains("\"role\":\"tenant\""), "{}", requests[3]);
    assert!(requests[3].contains("/v1/contracts/{contract}"), "{}", requests[3]);
}
