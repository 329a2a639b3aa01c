//! Case `what-if-124k`: a controller with 124,000 contracts answers what-if questions, while a client changes single
//! contracts.
//!
//! 124,000 is the number of contracts in the attack that showed that a question took seconds and a whole controller's
//! memory.

use std::io::Error;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::network::setup;
use super::restart::fill;
use super::server::{Client, Server};
use crate::bench::Metric;

/// Number of contracts.
const CONTRACTS: usize = 124_000;

/// Number of repetitions of each question, sequentially.
const ROUNDS: usize = 5;

/// Pause between two requests of the client that changes contracts.
const PAUSE: Duration = Duration::from_millis(5);

/// The questions, each with a name for its metric.
const QUESTIONS: &[(&str, &str)] = &[
    ("fail_link", r#"{"fail":["pod1-agg1->pod1-edge1"]}"#),
    ("drain_host", r#"{"drain":["h1"]}"#),
    ("delete", r#"{"delete":["sensor-1"]}"#),
    (
        "apply",
        r#"{"apply":[{"name":"new","from":"h1","to":"h900","rate":"100kbit","burst":"200B","deadline":"50ms"}]}"#,
    ),
];

/// Fills a ledger, has it served, and asks.
pub(super) fn run(program: &Path, directory: &Path) -> Result<Vec<Metric>, String> {
    let setup = setup(super::network::TOPOLOGY)?;
    fill(&setup, &directory.join("ledger.db"), CONTRACTS)?;
    let server = Server::start(program, directory)?;
    let measured = super::server::runtime()?.block_on(async {
        server.ready().await?;
        tokio::task::LocalSet::new().run_until(ask(&server)).await
    });
    measured.map_err(|error| format!("{error}{}", server.last_words()))
}

async fn ask(server: &Server) -> std::io::Result<Vec<Metric>> {
    let megabytes = |what: &str| Ok::<_, Error>(server.memory_bytes(what)? as f64 / 1e6);
    // The figures of links are computed after the start.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut metrics = vec![
        Metric::new("contracts", CONTRACTS as f64, "contracts"),
        Metric::new("rss_before_mb", megabytes("VmRSS")?, "MB"),
        Metric::new("rss_per_contract", server.memory_bytes("VmRSS")? as f64 / CONTRACTS as f64, "B"),
    ];
    let ends = Rc::new(());
    let changes = tokio::task::spawn_local(change(Client::connect(server).await?, Rc::downgrade(&ends)));
    let mut client = Client::connect(server).await?;
    for (name, question) in QUESTIONS {
        let mut longest = Duration::ZERO;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            match client.ask_for("POST", "/v1/what-if", question).await? {
                (200, _) => longest = longest.max(start.elapsed()),
                (status, body) => return Err(Error::other(format!("{question} was answered with {status}: {body}"))),
            }
        }
        metrics.push(Metric::new(&format!("{name}_max_ms"), longest.as_secs_f64() * 1e3, "ms"));
    }
    let start = Instant::now();
    match client.ask("PUT", "/v1/tenants/other?dryRun=true", "{}").await? {
        200..300 => metrics.push(Metric::new("dry_run_ms", start.elapsed().as_secs_f64() * 1e3, "ms")),
        status => return Err(Error::other(format!("a dry run was answered with {status}"))),
    }
    drop(ends);
    let mut latencies = changes.await.map_err(Error::other)??;
    latencies.sort_unstable();
    let at = |share: f64| {
        let index = ((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1));
        latencies.get(index).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    };
    metrics.extend([
        Metric::new("rss_most_mb", megabytes("VmHWM")?, "MB"),
        Metric::new("rss_after_mb", megabytes("VmRSS")?, "MB"),
        Metric::new("changes", latencies.len() as f64, "contracts"),
        Metric::new("changes_p50_ms", at(0.5), "ms"),
        Metric::new("changes_p99_ms", at(0.99), "ms"),
        Metric::new("changes_max_ms", at(1.0), "ms"),
    ]);
    Ok(metrics)
}

/// Creates and deletes a contract until the questions are over; what each request took.
async fn change(mut client: Client, until: std::rc::Weak<()>) -> std::io::Result<Vec<Duration>> {
    let body = r#"{"from":"h2","to":"h901","rate":"100kbit","burst":"200B","deadline":"50ms"}"#;
    let mut latencies = Vec::new();
    while until.strong_count() > 0 {
        for (method, body) in [("PUT", body), ("DELETE", "")] {
            tokio::time::sleep(PAUSE).await;
            let start = Instant::now();
            match client.ask(method, "/v1/contracts/changing", body).await? {
                200..300 => latencies.push(start.elapsed()),
                status => return Err(Error::other(format!("{method} was answered with {status}"))),
            }
        }
    }
    Ok(latencies)
}
