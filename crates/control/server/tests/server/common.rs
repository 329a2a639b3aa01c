//! A server in this process, and the smallest client that can talk to it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use wayleave_controller::{ControllerConfig, EnforcedBy, SchemeFactory, Timeouts, UnfitPolicy};
use wayleave_ledger::Model;
use wayleave_repo_checks::TempFolder;
use wayleave_schemes::admission::chameleon::{Allocation, Chameleon, Params};
use wayleave_schemes::admission::fabric::{Fabric, Settings};
use wayleave_server::disk::{Disk, Memory};
use wayleave_server::secret::Secret;
use wayleave_server::{LoadClock, Options, Server, ServerLimits};
use wayleave_topology::Classes;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_units::{Rate, WallTime};

pub(crate) struct World {
    pub(crate) runtime: tokio::runtime::Runtime,
    pub(crate) server: Option<Server>,
    pub(crate) client: Client,
    pub(crate) scratch: Arc<TempFolder>,
    /// Time at which reports arrive, in seconds since 1970; 0 until a test sets it.
    pub(crate) report_time: AtomicU64,
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = self.runtime.block_on(server.end());
        }
    }
}

pub(crate) fn setup(enforced_by: EnforcedBy) -> ControllerConfig {
    let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
    let of = network.clone();
    ControllerConfig {
        scheme: SchemeFactory::fixed(move || {
            Chameleon::new(of.clone(), Model::default(), Params::default()).unwrap().into()
        }),
        network,
        model: Model::default(),
        enforced_by,
        timing: Timeouts::default(),
        unfit: UnfitPolicy::Refuse,
    }
}

/// The same network at 10 Gbit/s with queues that are divided among classes, and the scheme that admits contracts of every kind.
pub(crate) fn classed(enforced_by: EnforcedBy) -> ControllerConfig {
    let cabling = Cabling { rate: Rate::from_gbit(10), ..Cabling::default() };
    let network = build::fat_tree(&FatTree { cabling, ..FatTree::default() }).unwrap();
    let network = Arc::new(network.with_classes(Classes::default()).unwrap());
    let of = network.clone();
    let params = Params { allocation: Allocation::PUBLISHED, ..Params::default() };
    let make = move || Fabric::new(of.clone(), Model::default(), params.clone(), &Settings::default()).unwrap().into();
    ControllerConfig { scheme: SchemeFactory::fixed(make), network, ..setup(enforced_by) }
}

pub(crate) fn options(disk: Box<dyn Disk>, directory: &Path, enforced_by: EnforcedBy) -> Options {
    let setup = setup(enforced_by);
    Options {
        document: wayleave_formats::write_topology(&setup.network, "test"),
        setup,
        name: "test".to_owned(),
        scheme: "chameleon".to_owned(),
        disk,
        operator_file: directory.join("operator"),
        operator_file_counts: false,
        limits: ServerLimits::default(),
        tls: None,
        load_file: None,
        load_clock: LoadClock::Caller(None),
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Box::new(Memory::default()), EnforcedBy::Nobody)
    }

    pub(crate) fn with(disk: Box<dyn Disk>, enforced_by: EnforcedBy) -> Self {
        let scratch = Arc::new(TempFolder::new("server"));
        let options = options(disk, &scratch, enforced_by);
        Self::of(options, scratch)
    }

    pub(crate) fn of(options: Options, scratch: Arc<TempFolder>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let file = options.operator_file.clone();
        let server = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            Server::start(options, listener).await.unwrap()
        });
        let secret = Secret::read(&file).unwrap().unwrap().text().to_owned();
        let client = Client { address: server.address(), secret: Some(secret) };
        Self { runtime, server: Some(server), client, scratch, report_time: AtomicU64::new(0) }
    }

    /// Sets the time at which reports arrive, in seconds after an arbitrary one.
    pub(crate) fn set_report_second(&self, second: u64) {
        let time = WallTime::from_nanos((2_000_000_000 + second) * 1_000_000_000);
        self.server.as_ref().unwrap().set_load_time(time);
    }

    /// Ends the server, so that another one can continue.
    pub(crate) fn end(mut self) -> Arc<TempFolder> {
        let server = self.server.take().unwrap();
        self.runtime.block_on(server.end()).unwrap();
        self.scratch.clone()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) secret: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// A problem with this status and code.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, code: &str) -> Value {
        let text = String::from_utf8_lossy(&self.body).into_owned();
        assert_eq!(self.status, status, "{text}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{text}");
        let json = self.json();
        assert_eq!(json["code"], code, "{text}");
        assert_eq!(json["status"], status, "{text}");
        assert!(json["type"].as_str().unwrap().starts_with("urn:wayleave:problem:"), "{text}");
        assert!(!json["detail"].as_str().unwrap().is_empty(), "{text}");
        json
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

impl Client {
    pub(crate) fn with(&self, secret: &str) -> Self {
        Self { address: self.address, secret: Some(secret.to_owned()) }
    }

    /// The same client of another server.
    pub(crate) fn at(&self, world: &World) -> Self {
        Self { address: world.client.address, secret: self.secret.clone() }
    }

    pub(crate) fn without(&self) -> Self {
        Self { address: self.address, secret: None }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"")
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        self.send("PUT", path, &[], body.to_string().as_bytes())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[], body.to_string().as_bytes())
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.begin(method, path, headers, body);
        // A server that refuses a body early may close the connection before the whole body was sent; its answer
        // counts.
        let _ = stream.write_all(body);
        read(&mut BufReader::new(stream))
    }

    /// Sends a body in these chunks (RFC 9112, section 7.1), without an announced length. A chunk need not arrive if
    /// the server has refused the request already. `end` is the text behind the chunks: empty if the client never
    /// ends the body.
    pub(crate) fn send_chunks(&self, path: &str, chunks: &[&[u8]], end: &[u8]) -> Answer {
        let mut stream = self.begin("PUT", path, &[("transfer-encoding", "chunked")], b"");
        // A server that waits for a missing chunk fails the test instead of blocking it.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        for chunk in chunks {
            let mut piece = format!("{:x}\r\n", chunk.len()).into_bytes();
            piece.extend_from_slice(chunk);
            piece.extend(b"\r\n");
            if stream.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = stream.write_all(end);
        read(&mut BufReader::new(stream))
    }

    /// Sends everything but the body.
    pub(crate) fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n");
        if let Some(secret) = &self.secret {
            head += &format!("authorization: Bearer {secret}\r\n");
        }
        if !headers.iter().any(|(name, _)| *name == "content-type") && !body.is_empty() {
            head += "content-type: application/json\r\n";
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !headers.iter().any(|(name, _)| *name == "transfer-encoding") {
            head += &format!("content-length: {}\r\n", body.len());
        }
        head += "\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// A token of this role, and a client that has it.
    pub(crate) fn token(&self, spec: Value) -> Self {
        let secret = self.post("/v1/tokens", &spec).is(201).json()["secret"].as_str().unwrap().to_owned();
        self.with(&secret)
    }
}

/// The head of an answer.
pub(crate) fn read_head(stream: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}")).parse().unwrap();
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    (status, headers)
}

pub(crate) fn read(stream: &mut impl BufRead) -> Answer {
    let (status, headers) = read_head(stream);
    let mut body = Vec::new();
    let _ = stream.read_to_end(&mut body);
    Answer { status, headers, body }
}

/// A contract between two hosts.
pub(crate) fn contract(from: &str, to: &str, rate: &str) -> Value {
    json!({ "from": from, "to": to, "rate": rate, "burst": "3000B", "deadline": "5ms" })
}

/// Returns the reason that a server cannot start with these options.
pub(crate) fn refused(options: Options) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Server::start(options, listener).await
    });
    started.err().expect("it begins")
}
