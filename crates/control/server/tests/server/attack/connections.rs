//! Connections that ask nothing, read nothing, or wait.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use wayleave_server::ServerLimits;

use super::{times, world};
use crate::common::{World, read};

/// A server with few connections.
fn few() -> World {
    world(ServerLimits { connections: 8, connections_of_address: 8, ..ServerLimits::default() })
}

#[test]
fn silent_connections_block_no_client() {
    let world = few();
    let silent: Vec<TcpStream> = (0..40 * times()).map(|_| TcpStream::connect(world.client.address).unwrap()).collect();
    for _ in 0..20 {
        world.client.get("/v1").is(200);
    }
    drop(silent);
}

#[test]
fn connections_that_read_no_answer_block_no_client() {
    let world = few();
    // Far more than buffers hold: the server can write no more.
    let ask = format!(
        "GET /openapi.json HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {}\r\n\r\n",
        world.client.secret.as_deref().unwrap()
    );
    let deaf = |_| {
        let mut stream = TcpStream::connect(world.client.address).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        for _ in 0..200 {
            if stream.write_all(ask.as_bytes()).is_err() {
                break;
            }
        }
        stream
    };
    let deaf: Vec<TcpStream> = (0..16 * times()).map(deaf).collect();
    for _ in 0..20 {
        world.client.get("/v1").is(200);
    }
    drop(deaf);
}

#[test]
fn waiting_agents_take_no_connections_of_users() {
    let world = few();
    let agent = world.client.token(json!({ "role": "agent", "node": "h1" }));
    agent.post("/v1/agents/h1/session", &json!({ "after": 0, "installed": [] })).is(200);
    let waiting: Vec<TcpStream> =
        (0..30 * times()).map(|_| agent.begin("GET", "/v1/agents/h1/messages?epoch=1&wait=60", &[], b"")).collect();
    let watching: Vec<TcpStream> =
        (0..30).map(|_| world.client.begin("GET", "/v1/events", &[("accept", "text/event-stream")], b"")).collect();
    for _ in 0..20 {
        world.client.get("/v1").is(200);
    }
    // They are still served: what they wait for comes.
    world.client.put("/v1/contracts/c", &crate::common::contract("h1", "h16", "1Mbit")).is(201);
    drop((waiting, watching));
}

#[test]
fn operators_are_answered_when_every_connection_has_an_open_request() {
    let world = world(ServerLimits { connections: 8, connections_of_address: 64, ..ServerLimits::default() });
    let tenant = super::tenant(&world, "noisy", json!({}));
    // Requests whose bodies never come are in hand until their time is over.
    let chunked: &[(&str, &str)] = &[("transfer-encoding", "chunked")];
    let held = || super::metric(&world.client, "wayleave_kept_bytes{what=\"requests\"}");
    let begin = |count: u32| {
        // The connection that has just asked may still count, and then the next one is beyond the limit already: it is answered. One that
        // is not has to be waited for, or it would be in hand after it was given up, and the next one beyond the limit.
        let begun = (0..1_000).find_map(|_| {
            let stream = tenant.begin("PUT", "/v1/contracts/c", chunked, b"");
            stream.set_nonblocking(true).unwrap();
            let is_in_hand = (0..20_000).find_map(|turn| match stream.peek(&mut [0]) {
                Ok(_) => Some(false),
                // A request for the counted bytes occupies a connection for a moment, so it is made after an answer
                // had its time.
                Err(_) if turn < 10_000 => {
                    std::thread::yield_now();
                    None
                }
                Err(_) => (held() >= f64::from(count << 20)).then_some(true),
            });
            is_in_hand.unwrap_or_else(|| panic!("{} B", held())).then_some(stream)
        });
        begun.unwrap_or_else(|| panic!("all were answered, {} B", held()))
    };
    let in_hand: Vec<TcpStream> = (1..=8).map(begin).collect();
    world.client.get("/v1").is(200);
    world.client.without().get("/healthz").is(200);
    tenant.get("/v1").is_problem(503, "UNAVAILABLE");
    drop(in_hand);
    assert!((0..10_000).any(|_| tenant.get("/v1").status == 200), "and tenants are again when those are gone");
}

#[test]
fn a_stream_of_events_ends_with_its_token() {
    let world = few();
    let made = world.client.post("/v1/tokens", &json!({ "role": "reader" })).is(201).json();
    let reader = world.client.with(made["secret"].as_str().unwrap());
    let stream = reader.begin("GET", "/v1/events", &[("accept", "text/event-stream")], b"");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    world.client.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).is(204);
    world.client.put("/v1/contracts/secret", &crate::common::contract("h1", "h16", "1Mbit")).is(201);
    // To its end, which comes.
    let answer = read(&mut std::io::BufReader::new(stream));
    assert!(!String::from_utf8_lossy(&answer.body).contains("secret"), "{}", String::from_utf8_lossy(&answer.body));
}
