//! Events, as a list and as a stream.

use std::io::{BufRead, BufReader};

use serde_json::json;

use crate::common::{World, contract, read_head};

/// The lines of a stream up to this event.
pub(crate) fn until(stream: &mut impl BufRead, event: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "it ended: {lines:?}");
        lines.push(line.trim_end().to_owned());
        if lines.last().is_some_and(|last| last.starts_with("data:"))
            && lines.iter().any(|line| line == &format!("event: {event}"))
        {
            return lines;
        }
    }
}

#[test]
fn a_watcher_receives_events_and_resumes_where_it_was() {
    let world = World::new();
    let client = &world.client;
    let accept: &[(&str, &str)] = &[("accept", "text/event-stream")];
    let mut stream = BufReader::new(client.begin("GET", "/v1/events", accept, b""));
    let (status, headers) = read_head(&mut stream);
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())));
    client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let lines = until(&mut stream, "admitted");
    let id = lines.iter().rev().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    drop(stream);
    client.delete("/v1/contracts/a").is(204);
    let mut stream = BufReader::new(client.begin("GET", "/v1/events", &[accept[0], ("last-event-id", &id)], b""));
    read_head(&mut stream);
    let lines = until(&mut stream, "released");
    assert!(!lines.iter().any(|line| line == "event: admitted"), "that was heard before: {lines:?}");
    let listed = client.get(&format!("/v1/events?after={id}")).is(200).json();
    assert_eq!(listed["items"][0]["type"], "released", "{listed}");
}

#[test]
fn a_watcher_that_missed_events_receives_a_reset() {
    let world = World::new();
    let headers: &[(&str, &str)] = &[("accept", "text/event-stream"), ("last-event-id", "999999")];
    let mut stream = BufReader::new(world.client.begin("GET", "/v1/events", headers, b""));
    read_head(&mut stream);
    until(&mut stream, "reset");
    let wrong: &[(&str, &str)] = &[("accept", "text/event-stream"), ("last-event-id", "x")];
    world.client.send("GET", "/v1/events", wrong, b"").is_problem(400, "INVALID");
}

#[test]
fn a_tenant_receives_only_its_own_events() {
    let world = World::new();
    let client = &world.client;
    for tenant in ["acme", "other"] {
        client.put(&format!("/v1/tenants/{tenant}"), &json!({})).is(201);
        client.put(&format!("/v1/contracts/{tenant}:a"), &contract("h1", "h16", "1Mbit")).is(201);
    }
    client.put("/v1/nodes/h5/state", &json!({ "state": "down" })).is(200);
    let acme = client.token(json!({ "role": "tenant", "tenant": "acme" }));
    let listed = acme.get("/v1/events?limit=1000").is(200).json();
    let events = listed["items"].as_array().unwrap();
    assert!(!events.is_empty() && events.iter().all(|event| event["tenant"] == "acme"), "{listed}");
}
