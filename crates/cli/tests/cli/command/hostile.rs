//! Control sequences in text from outside: no command passes them on to the terminal.
//!
//! A controller refuses or escapes such text. To test the output by itself, a proxy between a server and the commands
//! puts hostile text in place of a marker, which clients and agents have written into every field that takes a text.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};
use wayleave_client::encode;

use super::Run;
use super::client::{Directory, Server};

const MARKER: &str = "marker";
/// A title, a colour, a bell, a forged line, text in another order, and C1.
const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[31m\u{7f}\r\nforged line\u{202e}\u{2066}\u{200b}\u{9b}2J";

/// One request on a connection of its own; the status, the head and the body.
fn ask(server: SocketAddr, head: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, answer[end..].to_vec())
}

/// A client of the interface.
struct Client {
    server: SocketAddr,
    secret: String,
}

impl Client {
    #[track_caller]
    fn send(&self, method: &str, path: &str, body: &Value, expected: u16) -> Value {
        let (body, secret) = (body.to_string(), &self.secret);
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\nauthorization: Bearer {secret}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        let (status, _, answer) = ask(self.server, &head, body.as_bytes());
        assert_eq!(status, expected, "{method} {path}: {}", String::from_utf8_lossy(&answer));
        serde_json::from_slice(&answer).unwrap_or_default()
    }
}

/// Hands a request on, and its answer with hostile text in it.
fn pass_on(stream: TcpStream, server: SocketAddr) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        if !lower.starts_with("connection:") {
            // A name that a command has read is asked for as the server knows it.
            head += &line.replace(&encode(HOSTILE), MARKER);
        }
    }
    head += "connection: close\r\n\r\n";
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, headers, body) = ask(server, &head, &body);
    let is_json = headers.contains("json\r\n");
    let text = String::from_utf8(body).ok()?;
    // In a text of several lines a forged line cannot be distinguished from a real one, so it has all but line
    // breaks.
    let hostile =
        if is_json { json!(HOSTILE).to_string().trim_matches('"').to_owned() } else { HOSTILE.replace('\n', "") };
    let body = text.replace(MARKER, &hostile);
    let media = if is_json { "application/json" } else { "text/plain" };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: {media}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    (&stream).write_all((head + &body).as_bytes()).ok()
}

/// The address of a proxy before a server.
fn proxy(server: SocketAddr) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || pass_on(stream, server));
        }
    });
    format!("http://{address}")
}

/// Fills a server: the marker is in every text that a client or an agent may set.
fn fill(client: &Client) {
    let ends =
        |from: &str, to: &str| json!({ "from": from, "to": to, "rate": "1Mbit", "burst": "3000B", "deadline": "5ms" });
    client.send("PUT", "/v1/tenants/marker", &json!({}), 201);
    for (vm, host) in [("marker", "h3"), ("other", "h4")] {
        client.send("PUT", &format!("/v1/vms/marker:{vm}"), &json!({ "placement": { "host": host } }), 201);
    }
    let mut contract = ends("marker", "other");
    contract["labels"] = json!({ "marker": "marker" });
    client.send("PUT", "/v1/contracts/marker:marker", &contract, 201);
    client.send("PUT", "/v1/contracts/marker", &ends("h1", "h16"), 201);
    let mut refused = ends("h1", "h16");
    refused["rate"] = json!("2Gbit");
    client.send("PUT", "/v1/contracts/marker-refused", &refused, 409);
    client.send("PUT", "/v1/nodes/h5/state", &json!({ "state": "down", "reason": MARKER }), 200);
    client.send("PUT", "/v1/links/h6-%3Epod2-edge1/state", &json!({ "state": "down", "reason": MARKER }), 200);
    client.send("POST", "/v1/tokens", &json!({ "role": "reader", "label": MARKER, "certificate": "URI:marker" }), 201);
    let nobody = Client { server: client.server, secret: MARKER.to_owned() };
    nobody.send("PUT", "/v1/contracts/marker-of-nobody", &json!({}), 401);
    let secret = client.send("POST", "/v1/tokens", &json!({ "role": "agent", "node": "h1" }), 201)["secret"].clone();
    let agent = Client { server: client.server, secret: secret.as_str().unwrap().to_owned() };
    let epoch = agent.send("POST", "/v1/agents/h1/session", &json!({}), 200)["epoch"].clone();
    let all = client.send("GET", "/v1/contracts", &json!({}), 200);
    let serials = all["items"].as_array().unwrap().iter().map(|one| one["status"]["serial"].clone());
    let problems: Vec<Value> = serials.map(|serial| json!({ "serial": serial, "why": MARKER })).collect();
    let report = json!({ "epoch": epoch, "beat": true, "repairs": [MARKER], "troubles": [MARKER], "hearsAt": MARKER,
        "rulesInForce": [], "contractProblems": problems, "packets": { MARKER: 1 } });
    agent.send("POST", "/v1/agents/h1/reports", &report, 204);
}

/// Commands that ask a controller, each with the formats that it has.
const COMMANDS: &[&str] = &[
    "status",
    "status -o json",
    "events",
    "events -o json",
    "audit",
    "audit -o json",
    "top --times 1",
    "get contracts",
    "get contracts -o wide",
    "get contracts -o json",
    "get contracts -o yaml",
    "get contract marker:marker",
    "get vms",
    "get vms -o json",
    "get tenants",
    "get policies",
    "get hosts",
    "get hosts -o json",
    "get links",
    "get links -o json",
    "get nodes",
    "get nodes -o json",
    "get queues --limit 3",
    "get decisions",
    "get decisions -o json",
    "get tokens",
    "get tokens -o json",
    "get topology",
    "describe contract marker",
    "describe contract marker:marker",
    "describe vm marker:marker",
    "describe tenant marker",
    "describe node h5",
    "describe host h1",
    "describe link h6->pod2-edge1",
    "explain marker",
    "explain marker -o json",
    "explain marker:marker",
    "explain marker-refused",
    "what-if --fail pod1-agg1 --drain h3",
    "what-if --drain h1 -o json",
    "get contract marker:marked",
    "get vm marker:marked",
    "describe contract marker:marked",
    "delete tenant marker",
    "delete vm marker:marker",
    "delete contract marker-of-nobody",
    "link fail h1->pod1-edge1 --reason marker",
    "link restore h1->pod1-edge1",
    "node fail marker",
    "apply -f hostile.yaml --dry-run",
    "apply -f hostile.yaml",
    "delete contract marker:marker",
];

/// Commands among them that show no text of others here.
const NOTHING_TO_SHOW: &[&str] = &[
    "get policies",
    "get queues --limit 3",
    "get topology",
    "explain marker-refused",
    "get contract marker:marked",
    "get vm marker:marked",
    "describe contract marker:marked",
    "delete contract marker-of-nobody",
    "node fail marker",
    "delete contract marker:marker",
];

fn assert_harmless(command: &str, run: &Run) {
    for (name, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
        let found: Vec<char> = text.chars().filter(|&one| one != '\n' && wayleave_units::is_deceptive(one)).collect();
        assert!(found.is_empty(), "{command}: {name} has {found:?}: {text}");
        let forged = text.lines().find(|line| line.trim_start().starts_with("forged line"));
        assert_eq!(forged, None, "{command}: {name}: {text}");
    }
    assert!(!run.stderr.contains("panicked"), "{command}: {}", run.stderr);
}

#[test]
fn no_command_prints_terminal_control_sequences_from_a_server() {
    let directory = Directory::new("hostile");
    let listen = ["--ledger", "l.db", "--listen", "127.0.0.1:0", "--log-level", "warn", "--enforcement", "hosts"];
    let server = Server::run(&directory.0, &[&["serve", "-t", "fat-tree:k=4"][..], &listen].concat());
    let address: SocketAddr = server.url.strip_prefix("http://").unwrap().parse().unwrap();
    let secret = std::fs::read_to_string(directory.0.join("l.db-operator")).unwrap().trim().to_owned();
    fill(&Client { server: address, secret });
    let refused = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    \
         - { name: marker-too, tenant: marker, from: marker, to: other, rate: 2Gbit, burst: 3000B, deadline: 5ms }\n    \
         - { name: marker-three, tenant: marker, from: marker, to: other, rate: 1Mbit, burst: 3000B, deadline: 5ms }\n";
    std::fs::write(directory.0.join("hostile.yaml"), refused).unwrap();
    let url = proxy(address);
    let mut silent = Vec::new();
    for command in COMMANDS {
        let more = ["--server", &url, "--token-file", "l.db-operator"];
        let run = directory.run(&command.split(' ').chain(more).collect::<Vec<_>>());
        assert_harmless(command, &run);
        assert!(
            !run.stderr.contains("Usage:") && !run.stderr.contains("unexpected argument"),
            "{command}: {}",
            run.stderr
        );
        if ![&run.stdout, &run.stderr].into_iter().any(|text| text.contains("\\u001b]0;owned\\u0007")) {
            silent.push(*command);
        }
    }
    // A command that shows no hostile text tests nothing.
    assert_eq!(silent, NOTHING_TO_SHOW);
}

/// Files of others are read before a controller is asked.
#[test]
fn no_command_prints_terminal_control_sequences_from_a_file() {
    let directory = Directory::new("hostile-files");
    let text = json!(HOSTILE).to_string();
    let contracts = format!(
        "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - {{ name: {text}, from: h1, to: {text}, rate: 1Mbit, burst: 3000B, deadline: 5ms }}\n"
    );
    let topology = format!(
        "apiVersion: wayleave/v1\nkind: Topology\nspec:\n  nodes: [ {{ name: {text}, kind: host }}, {{ name: s, kind: switch }} ]\n  links: [ {{ from: {text}, to: s, rate: 1Gbit }} ]\n"
    );
    std::fs::write(directory.0.join("contracts.yaml"), contracts).unwrap();
    std::fs::write(directory.0.join("topology.yaml"), topology).unwrap();
    for command in
        ["plan -t fat-tree:k=4 contracts.yaml", "plan -t topology.yaml contracts.yaml", "topology show topology.yaml"]
    {
        let run = directory.run(&command.split(' ').collect::<Vec<_>>());
        assert_harmless(command, &run);
        assert_ne!(run.code, Some(0), "{command}: {}", run.stdout);
    }
}
