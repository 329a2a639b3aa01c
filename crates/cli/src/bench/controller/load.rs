//! Case `64-clients`: a controller of its own process, a ledger on disk, and clients that each wait for one answer before they ask again.
//!
//! The clients share the machine with the server, on one thread of this process.

use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bench::Metric;

/// As many as ask at once.
const CLIENTS: usize = 64;

/// Contracts that are asked for, and those before the clock starts.
const CONTRACTS: usize = 40_000;
const WARM_UP: usize = 4_000;

/// Contracts that are read.
const READS: usize = 200_000;

/// How long the server may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// The network: 1,024 hosts, so that all contracts fit.
const TOPOLOGY: &str = "fat-tree:k=16";
const HOSTS: usize = 1_024;

/// Starts a server, asks, and ends it.
pub(crate) fn run(directory: &Path) -> Result<Vec<Metric>, String> {
    let server = Server::start(directory)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("no clients can be run: {error}"))?;
    let measured = runtime.block_on(async {
        server.ready().await?;
        drive(&server, 0..WARM_UP, put).await?;
        let admitted = drive(&server, WARM_UP..WARM_UP + CONTRACTS, put).await?;
        let read = drive(&server, 0..READS, get).await?;
        Ok::<_, Error>((admitted, read))
    });
    let (admitted, read) = measured.map_err(|error| format!("{error}{}", server.last_words()))?;
    let refused = CONTRACTS - admitted.good;
    let mut metrics = admitted.metrics("admissions_per_s", "");
    metrics.push(Metric::new("refused", refused as f64, "contracts"));
    metrics.extend(read.metrics("reads_per_s", "reads_"));
    Ok(metrics)
}

/// A controller in a process of its own.
struct Server {
    child: Child,
    address: SocketAddr,
    token: String,
    log: std::path::PathBuf,
}

impl Server {
    fn start(directory: &Path) -> Result<Self, String> {
        let wrong = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
        let program = std::env::current_exe().map_err(|error| wrong("this program cannot be found", &error))?;
        // Free a moment ago, and hardly taken meanwhile.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|socket| socket.local_addr());
        let address = address.map_err(|error| wrong("no port is free", &error))?;
        let (token_file, log) = (directory.join("token"), directory.join("log"));
        let token = format!("wl_{:064x}", std::process::id());
        std::fs::write(&token_file, &token).map_err(|error| wrong("the token cannot be written", &error))?;
        private(&token_file).map_err(|error| wrong("the token cannot be kept private", &error))?;
        let stderr = std::fs::File::create(&log).map_err(|error| wrong("the log cannot be written", &error))?;
        let child = Command::new(program)
            .args(["serve", "--topology", TOPOLOGY, "--listen", &address.to_string(), "--log-level", "warn"])
            .args(["--rate-limit", "0"])
            .arg("--ledger")
            .arg(directory.join("ledger.db"))
            .arg("--operator-token-file")
            .arg(&token_file)
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn();
        let child = child.map_err(|error| wrong("the server cannot be started", &error))?;
        Ok(Self { child, address, token, log })
    }

    async fn ready(&self) -> std::io::Result<()> {
        let started = Instant::now();
        loop {
            if let Ok(mut client) = Client::connect(self).await
                && matches!(client.ask("GET", "/readyz", "").await, Ok(200))
            {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                return Err(Error::new(ErrorKind::TimedOut, "the server does not get ready"));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What it said before something went wrong.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(3).collect();
        last.into_iter().rev().fold(String::new(), |words, line| words + "\n  " + line)
    }
}

#[cfg(unix)]
fn private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn private(_: &Path) -> std::io::Result<()> {
    Ok(())
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request.
type Ask = fn(usize) -> (&'static str, String, String);

fn put(number: usize) -> (&'static str, String, String) {
    let (from, round) = (number % HOSTS, number / HOSTS);
    let to = (from + 1 + 37 * round) % HOSTS;
    let to = if to == from { (to + 1) % HOSTS } else { to };
    let body = format!(
        r#"{{"name":"sensor-{number}","from":"h{}","to":"h{}","rate":"100kbit","burst":"200B","deadline":"50ms"}}"#,
        from + 1,
        to + 1
    );
    ("PUT", format!("/v1/contracts/default:sensor-{number}"), body)
}

fn get(number: usize) -> (&'static str, String, String) {
    // A step without a common divisor: every contract is read, and none right after its neighbour.
    let number = number * 7919 % (WARM_UP + CONTRACTS);
    ("GET", format!("/v1/contracts/default:sensor-{number}"), String::new())
}

/// What came of many requests.
struct Driven {
    good: usize,
    took: Duration,
    latencies: Vec<Duration>,
}

/// Asks all of these, as many at once as there are clients.
async fn drive(server: &Server, numbers: std::ops::Range<usize>, ask: Ask) -> std::io::Result<Driven> {
    let mut clients = Vec::with_capacity(CLIENTS);
    for _ in 0..CLIENTS {
        clients.push(Client::connect(server).await?);
    }
    let started = Instant::now();
    let tasks = tokio::task::LocalSet::new();
    let handles: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(at, mut client)| {
            let mine = numbers.clone().skip(at).step_by(CLIENTS);
            tasks.spawn_local(async move {
                let (mut good, mut latencies) = (0, Vec::with_capacity(mine.len()));
                for number in mine {
                    let (method, path, body) = ask(number);
                    let start = Instant::now();
                    let status = client.ask(method, &path, &body).await?;
                    latencies.push(start.elapsed());
                    match status {
                        200..300 => good += 1,
                        409 | 404 => {}
                        other => return Err(Error::other(format!("{method} {path} was answered with {other}"))),
                    }
                }
                Ok((good, latencies))
            })
        })
        .collect();
    tasks.await;
    let mut driven = Driven { good: 0, took: started.elapsed(), latencies: Vec::new() };
    for handle in handles {
        let (good, latencies) = handle.await.map_err(Error::other)??;
        driven.good += good;
        driven.latencies.extend(latencies);
    }
    Ok(driven)
}

impl Driven {
    fn metrics(mut self, rate: &str, prefix: &str) -> Vec<Metric> {
        self.latencies.sort_unstable();
        let at = |share: f64| {
            let index = ((self.latencies.len() as f64 * share) as usize).min(self.latencies.len().saturating_sub(1));
            self.latencies.get(index).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
        };
        vec![
            Metric::new(rate, self.good as f64 / self.took.as_secs_f64(), "1/s"),
            Metric::new(&format!("{prefix}p50_ms"), at(0.5), "ms"),
            Metric::new(&format!("{prefix}p99_ms"), at(0.99), "ms"),
            Metric::new(&format!("{prefix}max_ms"), at(1.0), "ms"),
        ]
    }
}

/// A connection that is kept. It reads no more of an answer than it needs to find its end: the server is measured, not a client.
struct Client {
    stream: TcpStream,
    token: String,
    buffer: Vec<u8>,
}

impl Client {
    async fn connect(server: &Server) -> std::io::Result<Self> {
        let stream = TcpStream::connect(server.address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, token: server.token.clone(), buffer: Vec::with_capacity(8192) })
    }

    /// The status of the answer.
    async fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<u16> {
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
            }
            let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&self.buffer[..end]);
            let body = length_of(&head).ok_or_else(|| Error::other("an answer without Content-Length"))?;
            if self.buffer.len() >= end + 4 + body {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                return status.ok_or_else(|| Error::other("an answer without a status"));
            }
        }
    }
}

/// What an answer says of its length; none is needed where there is no body.
fn length_of(head: &str) -> Option<usize> {
    let has_none = head.split(' ').nth(1).is_some_and(|status| status == "204" || status == "304");
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    length.or(has_none.then_some(0))
}
