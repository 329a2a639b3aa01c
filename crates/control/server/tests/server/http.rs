//! Every faulty request is answered with an explanation, independently of the place of the fault.

use std::sync::Arc;

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::ServerLimits;
use wayleave_server::disk::Memory;

use crate::common::{World, contract, options};
use wayleave_repo_checks::TempFolder;

/// End of a body in chunks (RFC 9112, section 7.1).
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[test]
fn wrong_requests_are_problems() {
    let world = World::new();
    let client = &world.client;
    client.get("/").is_problem(404, "NOT_FOUND");
    client.get("/v1/nothing").is_problem(404, "NOT_FOUND");
    let wrong = client.send("PATCH", "/v1/contracts/a", &[], b"{}");
    wrong.is_problem(405, "METHOD_NOT_ALLOWED");
    let allow = wrong.header("allow").unwrap();
    assert!(["GET", "PUT", "DELETE", "HEAD"].iter().all(|method| allow.contains(method)), "{allow}");
    client.without().get("/v1").is_problem(401, "UNAUTHORIZED");
    assert!(client.without().get("/v1").header("www-authenticate").is_some());
    client.with("wl_wrong").get("/v1").is_problem(401, "UNAUTHORIZED");
    let unknown = client.get("/v1/contracts?limt=3").is_problem(400, "INVALID");
    assert!(unknown["detail"].as_str().unwrap().contains("did you mean limit?"), "{unknown}");
    for query in ["limit=0", "limit=1001", "limit=-1", "limit=1&limit=2", "state=wrong", "after=%2F%2F", "tenant="] {
        client.get(&format!("/v1/contracts?{query}")).is_problem(400, "INVALID");
    }
    client.get("/v1/contracts/%ff").is_problem(400, "INVALID");
    client.get("/v1/contracts/a%2Fb").is_problem(400, "INVALID");
    client.get("/v1/decisions/x").is_problem(404, "NOT_FOUND");
}

#[test]
fn wrong_bodies_are_problems_with_their_place() {
    let world = World::new();
    let client = &world.client;
    let put = |headers: &[(&str, &str)], body: &[u8]| client.send("PUT", "/v1/contracts/a", headers, body);
    put(&[], b"{\"from\": \"h1\",").is_problem(400, "INVALID");
    put(&[], b"\xff\xfe").is_problem(400, "INVALID");
    put(&[], b"").is_problem(400, "INVALID");
    put(&[], b"[]").is_problem(400, "INVALID");
    let typo = put(&[], b"{\n  \"form\": \"h1\"\n}").is_problem(400, "INVALID");
    assert_eq!(typo["errors"][1]["line"], 2, "{typo}");
    put(&[("content-type", "text/html")], b"<p>").is_problem(415, "UNSUPPORTED_MEDIA_TYPE");
    put(&[("content-type", "application/x-www-form-urlencoded")], b"a=b").is_problem(415, "UNSUPPORTED_MEDIA_TYPE");
    client
        .send("POST", "/v1/vms", &[("content-type", "application/yaml")], b"name: a")
        .is_problem(415, "UNSUPPORTED_MEDIA_TYPE");
    let tenant = client.send("PUT", "/v1/tenants/acme", &[], b"{\n\"quota\": {\"rat\": 1}}").is_problem(400, "INVALID");
    assert_eq!(tenant["errors"][0]["line"], 2, "{tenant}");
    let other = put(
        &[],
        json!({ "name": "b", "from": "h1", "to": "h2", "rate": "1Mbit", "burst": "300B", "deadline": "5ms" })
            .to_string()
            .as_bytes(),
    );
    other.is_problem(400, "INVALID");
    put(&[("idempotency-key", "")], contract("h1", "h2", "1Mbit").to_string().as_bytes()).is_problem(400, "INVALID");
    put(&[("if-match", "*"), ("if-none-match", "*")], contract("h1", "h2", "1Mbit").to_string().as_bytes())
        .is_problem(400, "INVALID");
}

#[test]
fn a_huge_body_is_refused_before_it_is_read() {
    let world = World::new();
    let body = vec![b' '; (1 << 20) + 1];
    world.client.send("PUT", "/v1/contracts/a", &[], &body).is_problem(413, "TOO_LARGE");
    world.client.get("/v1/contracts/a").is_problem(404, "NOT_FOUND");
}

#[test]
fn a_body_in_chunks_arrives_whole() {
    let world = World::new();
    let text = contract("h1", "h16", "10Mbit").to_string();
    let body = text.as_bytes();
    let many: Vec<&[u8]> = body.chunks(1).collect();
    let (front, back) = body.split_at(body.len() / 2);
    for (name, chunks) in [("one", vec![body]), ("two", vec![front, back]), ("many", many)] {
        let path = format!("/v1/contracts/{name}");
        world.client.send_chunks(&path, &chunks, LAST_CHUNK).is(201);
        let known = world.client.get(&path).is(200).json();
        for (key, value) in [("from", "h1"), ("to", "h16"), ("rate", "10Mbit"), ("burst", "3kB"), ("deadline", "5ms")] {
            assert_eq!(known[key], value, "in chunks: {name}");
        }
    }
}

#[test]
fn a_body_in_chunks_is_accepted_up_to_the_limit_and_refused_beyond() {
    let world = World::new();
    let limit = ServerLimits::default().body_bytes;
    let mut body = contract("h1", "h16", "10Mbit").to_string().into_bytes();
    body.resize(limit, b' ');
    let chunks: Vec<&[u8]> = body.chunks(0x2000).collect();
    world.client.send_chunks("/v1/contracts/a", &chunks, LAST_CHUNK).is(201);

    let mut more = chunks.clone();
    more.push(b" ");
    // With its end, and without: the answer does not wait for an end that never comes.
    for end in [LAST_CHUNK, b""] {
        let refused = world.client.send_chunks("/v1/contracts/b", &more, end).is_problem(413, "TOO_LARGE");
        assert!(refused["detail"].as_str().unwrap().contains(&limit.to_string()), "{refused}");
    }
    // Far too long, so that the client still sends when it is refused.
    let endless = vec![chunks[1]; 1000];
    world.client.send_chunks("/v1/contracts/b", &endless, b"").is_problem(413, "TOO_LARGE");
    world.client.get("/v1/contracts/b").is_problem(404, "NOT_FOUND");
    world.client.get("/v1/contracts/a").is(200);
}

#[test]
fn malformed_chunks_are_a_problem_and_change_nothing() {
    let world = World::new();
    let text = contract("h1", "h16", "10Mbit").to_string();
    let (front, back) = text.as_bytes().split_at(text.len() / 2);
    for end in [&b"no size\r\n"[..], b"-1\r\n", b"fffffffffffffffff\r\n"] {
        world.client.send_chunks("/v1/contracts/a", &[front, back], end).is_problem(400, "INVALID");
    }
    world.client.get("/v1/contracts/a").is_problem(404, "NOT_FOUND");
}

#[test]
fn a_token_has_a_limited_request_rate() {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
    options.limits = ServerLimits { requests_per_second: 3.0, ..ServerLimits::default() };
    let world = World::of(options, scratch);
    let answers: Vec<u16> = (0..20).map(|_| world.client.get("/v1").status).collect();
    assert!(answers.contains(&200) && answers.contains(&429), "{answers:?}");
    let refused = loop {
        let answer = world.client.get("/v1");
        if answer.status == 429 {
            break answer;
        }
    };
    refused.is_problem(429, "RATE_LIMITED");
    assert_eq!(refused.header("retry-after"), Some("1"));
}

#[test]
fn head_is_get_without_a_body() {
    let world = World::new();
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    let head = world.client.send("HEAD", "/v1/contracts/a", &[], b"");
    let get = world.client.get("/v1/contracts/a");
    assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, get.header("etag")));
}

#[test]
fn health_and_documentation_need_no_token() {
    let world = World::new();
    let nobody = world.client.without();
    assert_eq!(nobody.get("/healthz").is(200).body, b"ok\n");
    assert_eq!(nobody.get("/readyz").is(200).body, b"ok\n");
    assert_eq!(nobody.get("/openapi.json").is(200).json()["openapi"], "3.1.0");
    let page = nobody.get("/docs").is(200);
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    let html = String::from_utf8(page.body).unwrap();
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http"), "nothing comes from elsewhere");
    nobody.get("/metrics").is_problem(401, "UNAUTHORIZED");
    world.client.put("/v1/contracts/a", &contract("h1", "h16", "10Mbit")).is(201);
    world.client.put("/v1/contracts/b", &contract("h1", "h16", "2Gbit"));
    let metrics = || String::from_utf8(world.client.get("/metrics").is(200).body).unwrap();
    // The engine computes its links at intervals, and not while it decides.
    let reserved = "wayleave_links_reserved_bits_per_second{class=\"host-up\"} 10000000";
    let text = (0..10_000).map(|_| metrics()).find(|text| text.contains(reserved)).unwrap_or_else(metrics);
    for line in [
        "wayleave_decisions_total{result=\"admitted\",reason=\"\"} 1",
        "wayleave_decisions_total{result=\"refused\",reason=\"RATE\"} 1",
        "wayleave_contracts{state=\"admitted\"} 1",
        reserved,
        "wayleave_http_requests_total{route=\"/v1/contracts/{contract}\",method=\"PUT\",status=\"201\"} 1",
        "wayleave_ready 1",
        "wayleave_build_info{version=",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let asked = |accept: &str| world.client.send("GET", "/metrics", &[("accept", accept)], b"").is(200);
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let open = asked("application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2");
    assert_eq!(open.header("content-type"), Some(media));
    assert!(open.body.ends_with(b"# EOF\n"));
    let plain = asked("*/*");
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!String::from_utf8(plain.body).unwrap().contains("# EOF"));
}
