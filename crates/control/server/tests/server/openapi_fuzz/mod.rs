//! Requests derived from the document alone: for every operation valid, nearly valid and wild ones, of every role.
//!
//! No answer may be a 5xx; every error is a problem with a documented code; every status is one that the document
//! names for the operation; every JSON body fits its schema; a request that does not fit its schema is refused.
//! Clients are generated from the document: where it and the server differ, one of them is wrong.
mod check;
mod generate;

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::sync::Arc;

use serde_json::{Value, json};
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;

use crate::common::{Answer, Client, World, classed, options, read, read_head};
use check::Checker;
use generate::Generator;
use wayleave_repo_checks::{Random, TempFolder};

/// Number of requests to one server: later requests meet the objects of earlier ones.
const REQUESTS: usize = 800;
/// Servers of a usual run. `WAYLEAVE_SERVERS=1000` asks that many.
const SERVERS: u64 = 12;
/// Seed of the first server; `WAYLEAVE_SEED=n WAYLEAVE_SERVERS=1` replays the one of a failure.
const SEED: u64 = 1;
/// Average number of choices per faulty one.
const RARELY: u64 = 12;

#[derive(Debug)]
struct Made {
    method: String,
    address: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Place at which a JSON body does not fit the schema of the operation, if any.
    misfit: Option<String>,
}

struct Operation<'a> {
    method: String,
    path: String,
    value: &'a Value,
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, verbs)| {
        verbs.as_object().unwrap().iter().map(move |(verb, value)| Operation {
            method: verb.to_uppercase(),
            path: path.clone(),
            value,
        })
    });
    all.collect()
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number")))
}

#[test]
fn the_server_follows_its_document_for_any_request() {
    let document: Value = serde_json::from_str(&wayleave_server::openapi()).unwrap();
    let (seed, servers) = (number("WAYLEAVE_SEED", SEED), number("WAYLEAVE_SERVERS", SERVERS));
    let mut done: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seed..seed + servers {
        ask(&document, seed, &mut done);
    }
    println!("{} requests", servers * REQUESTS as u64);
    if servers >= SERVERS {
        // A generator that is always turned away has tested nothing.
        let all = operations(&document);
        let names = all.iter().map(|one| one.value["operationId"].as_str().unwrap());
        // These servers keep their ledgers in memory, which has no files to copy, and no agents send probes.
        let names = names.filter(|name| !matches!(*name, "createBackup" | "runCheck"));
        let never: Vec<&str> = names.filter(|name| !done.contains_key(*name)).collect();
        assert_eq!(never, Vec::<&str>::new(), "never carried out");
    }
}

/// One server with its requests.
fn ask(document: &Value, seed: u64, done: &mut BTreeMap<String, usize>) {
    let enforced_by = if seed.is_multiple_of(2) { EnforcedBy::Hosts } else { EnforcedBy::Nobody };
    // Queues are divided among classes in half of the servers.
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, enforced_by);
    if seed % 4 < 2 {
        options.setup = classed(enforced_by);
    }
    let world = World::of(options, scratch);
    let mut tokens = Tokens::new(&world.client);
    let mut checker = Checker::new(document);
    let mut generator = Generator { document, random: Random::new(seed) };
    let operations = operations(document);
    for step in 0..REQUESTS {
        let mut operation = generator.random.pick(&operations);
        if !operation.path.contains("contract") && generator.random.one_in(2) {
            operation = generator.random.pick(&operations);
        }
        let made = make(&mut generator, &mut checker, operation);
        let role = generator.random.index(Tokens::ROLES.len());
        // Most requests come from a permitted role.
        let role = if generator.random.one_in(2) { 0 } else { role };
        let role = if operation.path.starts_with("/v1/agents/") && generator.random.one_in(2) { 2 } else { role };
        let answer = send(tokens.of(role), &made);
        let name = operation.value["operationId"].as_str().unwrap();
        let verdict = checker.answer(operation.value, &answer).and_then(|()| match &made.misfit {
            Some(misfit) if answer.status < 300 && !is_harmless(misfit) => {
                Err(format!("accepted, although the body does not fit: {misfit}"))
            }
            _ => Ok(()),
        });
        if let Err(wrong) = verdict {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(1500).collect::<String>();
            panic!(
                "{wrong}\n{} {} as {:?} {:?}\n{}\nanswer {}: {}\nreplay: WAYLEAVE_SEED={seed} WAYLEAVE_SERVERS=1 \
                 cargo test --locked -p wayleave-server openapi_fuzz (request {step})",
                made.method,
                made.address,
                Tokens::ROLES[role],
                made.headers,
                show(&made.body),
                answer.status,
                show(&answer.body)
            );
        }
        if answer.status < 300 {
            *done.entry(name.to_owned()).or_default() += 1;
        }
        if answer.status == 401 {
            tokens.renew(role);
        }
    }
}

/// Contracts are read as YAML is, where a name may look like a number; and an empty list passes for an object whose keys are all
/// optional.
fn is_harmless(misfit: &str) -> bool {
    misfit.ends_with(r#"is not of type "string""#) || misfit.contains(": [] is not ")
}

/// A token of each role, and none.
struct Tokens {
    first: Client,
    clients: Vec<Client>,
}

impl Tokens {
    const ROLES: &[&str] = &[
        r#"{"role":"operator"}"#,
        r#"{"role":"tenant","tenant":"default"}"#,
        r#"{"role":"agent","node":"h1"}"#,
        r#"{"role":"reader"}"#,
        r#"{"role":"reader","tenant":"default"}"#,
        "nobody",
        "a stranger",
    ];

    fn new(first: &Client) -> Self {
        let clients = vec![first.without(); Self::ROLES.len()];
        let mut all = Self { first: first.clone(), clients };
        (0..Self::ROLES.len()).for_each(|role| all.renew(role));
        all
    }

    fn renew(&mut self, role: usize) {
        self.clients[role] = match Self::ROLES[role] {
            "nobody" => self.first.without(),
            "a stranger" => self.first.with("wl_somebody"),
            spec => self.first.token(serde_json::from_str(spec).unwrap()),
        };
    }

    fn of(&self, role: usize) -> &Client {
        &self.clients[role]
    }
}

fn make(generator: &mut Generator<'_>, checker: &mut Checker<'_>, operation: &Operation<'_>) -> Made {
    let mut made = Made {
        method: operation.method.clone(),
        address: operation.path.clone(),
        headers: Vec::new(),
        body: Vec::new(),
        misfit: None,
    };
    let mut query = Vec::new();
    for parameter in operation.value["parameters"].as_array().unwrap() {
        let name = parameter["name"].as_str().unwrap();
        match parameter["in"].as_str().unwrap() {
            "path" => {
                let text = if name == "token" { "t-none".to_owned() } else { generator.text(name) };
                let text = if generator.random.one_in(RARELY) { generator.wild_text() } else { text };
                made.address = made.address.replace(&format!("{{{name}}}"), &escape(&text));
            }
            "query" if generator.random.one_in(3) => {
                query.push((name, in_query(generator, name, &parameter["schema"])))
            }
            "header" if generator.random.one_in(8) => made.headers.push((name.to_owned(), in_header(generator, name))),
            _ => {}
        }
    }
    if generator.random.one_in(4 * RARELY) {
        query.push(("unknown", "1".to_owned()));
    }
    let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
    if !pairs.is_empty() {
        made.address += &format!("?{}", pairs.join("&"));
    }
    if let Some(body) = operation.value.get("requestBody") {
        fill(generator, checker, &body["content"], &mut made);
    }
    made
}

fn in_query(generator: &mut Generator<'_>, name: &str, schema: &Value) -> String {
    if generator.random.one_in(RARELY) {
        return generator.wild_text();
    }
    match schema["type"].as_str().unwrap() {
        // No request waits here.
        "integer" if name == "wait" => "0".to_owned(),
        "string" => generator.text(name),
        _ => match generator.value(schema, name, 0) {
            Value::String(text) => text,
            other => other.to_string(),
        },
    }
}

fn in_header(generator: &mut Generator<'_>, name: &str) -> String {
    let texts: &[&str] = match name {
        "If-Match" => &["*", "\"1\"", "\"2\"", "W/\"1\"", "", "\"", "1, 2", "\"99999999999999999999\""],
        "If-None-Match" => &["*", "\"1\"", "\"1\", \"2\"", "nonsense"],
        "Idempotency-Key" => &["k1", "k2", "k3", "", "with space", "é"],
        _ => &["1", "0", "-1", "18446744073709551615", "x"],
    };
    if generator.random.one_in(3 * RARELY) { "k".repeat(4000) } else { (*generator.random.pick(texts)).to_owned() }
}

/// The body, with its type.
fn fill(generator: &mut Generator<'_>, checker: &mut Checker<'_>, content: &Value, made: &mut Made) {
    let schema = &content["application/json"]["schema"];
    let mut value = generator.value(schema, "", 0);
    if made.method == "PUT" && !generator.random.one_in(RARELY) {
        // The address has these fields.
        value.as_object_mut().unwrap().retain(|key, _| key != "name" && key != "tenant");
    }
    if generator.random.one_in(3) {
        for _ in 0..=generator.random.index(2) {
            generator.disturb(&mut value);
        }
    }
    made.misfit = checker.fits(schema, &value).err();
    made.body = value.to_string().into_bytes();
    let is_wild = generator.random.one_in(RARELY);
    if is_wild {
        (made.body, made.misfit) = (generator.wild_bytes(&made.body), None);
    }
    let kind = match generator.random.below(2 * RARELY) {
        0 => *generator.random.pick(&["text/plain", "application/xml", "é", "application/json; charset=utf-16", "/"]),
        1..=3 if content.get("application/yaml").is_some() => "application/yaml",
        _ => "application/json",
    };
    made.headers.push(("content-type".to_owned(), kind.to_owned()));
}

/// Escapes a text for an address.
fn escape(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn send(client: &Client, made: &Made) -> Answer {
    let headers: Vec<(&str, &str)> = made.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut stream = client.begin(&made.method, &made.address, &headers, &made.body);
    let _ = stream.write_all(&made.body);
    read(&mut BufReader::new(stream))
}

#[test]
fn a_stream_of_events_begins_for_any_query() {
    let world = World::new();
    for id in ["0", "18446744073709551615", "x", "", "-1"] {
        let headers = [("accept", "text/event-stream"), ("last-event-id", id)];
        let stream = world.client.begin("GET", "/v1/events", &headers, b"");
        let (status, headers) = read_head(&mut BufReader::new(stream));
        assert!(matches!(status, 200 | 400), "{id}: {status}");
        let media = &headers.iter().find(|(name, _)| name == "content-type").unwrap().1;
        assert_eq!(media, if status == 200 { "text/event-stream" } else { "application/problem+json" }, "{id}");
    }
    assert_eq!(world.client.get("/readyz").status, 200, "{}", json!(null));
}
