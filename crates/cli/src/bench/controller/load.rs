//! Case `64-clients`: a controller of its own process, a ledger on disk, and clients that each wait for one answer before they ask again.
//!
//! The clients share the machine with the server, on one thread of this process.

use std::io::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use super::etcd::Etcd;
use super::network::contract;
use super::server::{Client, Server};
use crate::bench::Metric;

/// As many as ask at once.
const CLIENTS: usize = 64;
const CLIENTS_OF_ETCD: usize = 256;

/// Contracts that are asked for, and those before the clock starts.
const CONTRACTS: usize = 40_000;
const WARM_UP: usize = 4_000;

/// Contracts that are read.
const READS: usize = 200_000;

/// Starts a server, asks, and ends it.
pub(super) fn run(program: &Path, directory: &Path) -> Result<Vec<Metric>, String> {
    measure(&Server::start(program, directory)?, CLIENTS)
}

/// The same with the ledger in an etcd of three members on this machine, and more clients: a batch takes longer, and more wait for it.
pub(super) fn run_on_etcd(program: &Path, directory: &Path) -> Result<Vec<Metric>, String> {
    let etcd = Etcd::start(directory)?;
    let server = Server::start_with(program, directory, &["--etcd".to_owned(), etcd.addresses()])?;
    measure(&server, CLIENTS_OF_ETCD)
}

fn measure(server: &Server, clients: usize) -> Result<Vec<Metric>, String> {
    let runtime = super::server::runtime()?;
    let measured = runtime.block_on(async {
        server.ready().await?;
        drive(server, clients, 0..WARM_UP, put).await?;
        let admitted = drive(server, clients, WARM_UP..WARM_UP + CONTRACTS, put).await?;
        let read = drive(server, clients, 0..READS, get).await?;
        Ok::<_, Error>((admitted, read))
    });
    let (admitted, read) = measured.map_err(|error| format!("{error}{}", server.last_words()))?;
    let refused = CONTRACTS - admitted.good;
    let mut metrics = admitted.metrics("admissions_per_s", "");
    metrics.push(Metric::new("refused", refused as f64, "contracts"));
    metrics.extend(read.metrics("reads_per_s", "reads_"));
    Ok(metrics)
}

/// One request.
type Ask = fn(usize) -> (&'static str, String, String);

fn put(number: usize) -> (&'static str, String, String) {
    let (from, to) = contract(number);
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

/// Outcome of a series of requests.
struct Driven {
    good: usize,
    took: Duration,
    latencies: Vec<Duration>,
}

/// Asks all of these, as many at once as there are clients.
async fn drive(server: &Server, count: usize, numbers: std::ops::Range<usize>, ask: Ask) -> std::io::Result<Driven> {
    let mut clients = Vec::with_capacity(count);
    for _ in 0..count {
        clients.push(Client::connect(server).await?);
    }
    let started = Instant::now();
    let tasks = tokio::task::LocalSet::new();
    let handles: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(at, mut client)| {
            let mine = numbers.clone().skip(at).step_by(count);
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
