//! Limits of open streams and waiting requests for each account and node.

use std::io::BufReader;
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::ServerLimits;
use wayleave_server::disk::Memory;

use crate::common::{Client, World, options, read_head};
use wayleave_repo_checks::TempFolder;

/// Opens a stream of events; the status of its answer and the connection.
fn watch(client: &Client) -> (u16, TcpStream) {
    let stream = client.begin("GET", "/v1/events", &[("accept", "text/event-stream")], b"");
    let (status, _) = read_head(&mut BufReader::with_capacity(1, &stream));
    (status, stream)
}

fn open(client: &Client) -> Vec<TcpStream> {
    let mut streams = Vec::new();
    loop {
        let (status, stream) = watch(client);
        if status != 200 {
            assert!(matches!(status, 429 | 503), "{status}");
            return streams;
        }
        streams.push(stream);
    }
}

#[test]
fn the_stream_limits_of_a_tenant_and_of_operators_are_separate() {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
    options.limits = ServerLimits { watchers: 10, ..options.limits };
    let world = World::of(options, scratch);
    let client = &world.client;
    let tenant = |name: &str| {
        client.put(&format!("/v1/tenants/{name}"), &json!({})).is(201);
        client.token(json!({ "role": "tenant", "tenant": name }))
    };
    let (a, b, c) = (tenant("a"), tenant("b"), tenant("c"));
    let mut of_a = open(&a);
    assert_eq!(of_a.len(), 4);
    // Its readers and its other tokens are the same account.
    let reader = client.token(json!({ "role": "reader", "tenant": "a" }));
    let problem =
        reader.send("GET", "/v1/events", &[("accept", "text/event-stream")], b"").is_problem(429, "RATE_LIMITED");
    assert!(problem["detail"].as_str().unwrap().starts_with("tenant a already has 4 event streams open"), "{problem}");
    let others = [open(&b), open(&c)];
    assert_eq!(others.each_ref().map(Vec::len), [4, 2], "all together have 10");
    assert_eq!(open(client).len(), 10, "those of operators are counted apart");
    // Closed streams are free again, as soon as the server has noticed.
    assert_eq!(watch(&tenant("d")).0, 503);
    drop(of_a.pop());
    assert!((0..100_000).any(|_| watch(&a).0 == 200));
}

#[test]
fn one_node_cannot_take_all_agent_connections() {
    let world = World::with(Box::new(Memory::default()), EnforcedBy::Hosts);
    let agent = world.client.token(json!({ "role": "agent", "node": "h1" }));
    let epoch = agent.post("/v1/agents/h1/session", &json!({})).is(200).json()["epoch"].clone();
    let path = format!("/v1/agents/h1/messages?epoch={epoch}&wait=60");
    let (report, answer) = std::sync::mpsc::channel();
    for _ in 0..72 {
        let (stream, report) = (agent.begin("GET", &path, &[], b""), report.clone());
        std::thread::spawn(move || {
            let (status, _) = read_head(&mut BufReader::new(stream));
            let _ = report.send(status);
        });
    }
    // Eight wait for a minute, whichever they are; the others are answered at once.
    let statuses: Vec<u16> = answer.iter().take(64).collect();
    assert!(statuses.iter().all(|&status| status == 429), "{statuses:?}");
}
