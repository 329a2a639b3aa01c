//! Case `record-100k`: agents of 1,024 hosts report the counters of 100,000 contracts, and the controller records the
//! measured load every ten seconds.
//!
//! `record_ms` is the processor time of the thread that records, for one record: it also decides a minute in some of them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::network::{TOPOLOGY, setup};
use super::restart::fill;
use super::server::{Client, Server, runtime};
use crate::bench::Metric;

/// Number of contracts.
const CONTRACTS: usize = 100_000;
/// Number of records that are measured: a minute is decided in one of them.
const RECORDS: u32 = 7;
/// Interval of records.
const EVERY: Duration = Duration::from_secs(10);
/// Name of the thread that records.
const THREAD: &str = "load";

/// Fills a ledger, and measures a controller with it.
pub(super) fn run(program: &Path, directory: &Path) -> Result<Vec<Metric>, String> {
    let setup = setup(TOPOLOGY)?;
    let filled = fill(&setup, &directory.join("ledger.db"), CONTRACTS)?;
    let names = setup.network.hosts().map(|host| setup.network.node(host).name.clone());
    let hosts: Vec<String> = names.collect();
    let server = Server::start_with(program, directory, &["--enforcement".to_owned(), "hosts".to_owned()])?;
    let measured = runtime()?.block_on(measure(&server, &hosts));
    let measured = measured.map_err(|error| format!("{error}{}", server.last_words()))?;
    Ok([vec![Metric::new("contracts", filled as f64, "contracts")], measured].concat())
}

/// Agent of a host.
struct Agent {
    host: String,
    epoch: u64,
    serials: Vec<u64>,
}

impl Agent {
    async fn begin(client: &mut Client, host: &str) -> std::io::Result<Self> {
        let session = ask(client, "POST", &format!("/v1/agents/{host}/session"), &json!({})).await?;
        let epoch = session["epoch"].as_u64().unwrap_or(0);
        let messages = ask(client, "GET", &format!("/v1/agents/{host}/messages"), &Value::Null).await?;
        let operations = messages["operations"].as_array().into_iter().flatten();
        let done: Vec<(u64, u64)> = operations
            .filter_map(|operation| Some((operation["serial"].as_u64()?, operation["version"].as_u64()?)))
            .collect();
        let confirmations = json!({ "epoch": epoch, "done": done });
        ask(client, "POST", &format!("/v1/agents/{host}/confirmations"), &confirmations).await?;
        let serials = done.into_iter().map(|(serial, _)| serial).collect();
        Ok(Self { host: host.to_owned(), epoch, serials })
    }

    async fn report(&self, client: &mut Client, second: u64) -> std::io::Result<()> {
        let traffic = self.serials.iter().map(|serial| {
            json!({ "serial": serial, "packets": second, "bytes": second * (1_000 + serial % 5_000), "delayed": 0,
                "waiting": 0, "queueFull": 0, "oversized": 0, "waitedNs": 0, "waits": [] })
        });
        let reports = json!({ "epoch": self.epoch, "beat": true, "traffic": traffic.collect::<Vec<_>>() });
        ask(client, "POST", &format!("/v1/agents/{}/reports", self.host), &reports).await.map(drop)
    }
}

async fn ask(client: &mut Client, method: &str, path: &str, body: &Value) -> std::io::Result<Value> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (status, text) = client.ask_for(method, path, &body).await?;
    if !(200..300).contains(&status) {
        return Err(std::io::Error::other(format!("{path} was answered with {status}: {text}")));
    }
    Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
}

async fn measure(server: &Server, hosts: &[String]) -> std::io::Result<Vec<Metric>> {
    server.ready().await?;
    let (mut client, mut agents) = (Client::connect(server).await?, Vec::new());
    for host in hosts {
        agents.push(Agent::begin(&mut client, host).await?);
    }
    let reported: usize = agents.iter().map(|agent| agent.serials.len()).sum();
    let (mut before, mut rounds) = (Duration::ZERO, 0);
    let mut start = tokio::time::Instant::now();
    for second in 1_u64.. {
        let round = tokio::time::Instant::now();
        for agent in &agents {
            agent.report(&mut client, second).await?;
        }
        // The first record has no rates yet.
        if second == 2 {
            (before, start) = (server.cpu_of_thread(THREAD)?, round);
        }
        rounds += 1;
        if second > 2 && start.elapsed() >= EVERY * RECORDS {
            break;
        }
        tokio::time::sleep_until(round + Duration::from_secs(1)).await;
    }
    let records = start.elapsed().as_secs_f64() / EVERY.as_secs_f64();
    let took = server.cpu_of_thread(THREAD)?.saturating_sub(before);
    Ok(vec![
        Metric::new("reported_contracts", reported as f64, "contracts"),
        Metric::new("report_rounds", f64::from(rounds), "rounds"),
        Metric::new("record_ms", took.as_secs_f64() * 1e3 / records, "ms"),
        Metric::new("record_cpu", took.as_secs_f64() * 100.0 / start.elapsed().as_secs_f64(), "%"),
    ])
}
