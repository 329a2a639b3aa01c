//! Case `restart-100k`: a ledger with 100,000 contracts is written, and a controller starts with it.
//!
//! `seconds` is the time that an operator waits: from the start of the process to its first answer. The other metrics
//! are parts of this time.

use std::path::Path;
use std::time::{Duration, Instant};

use wayleave_contracts::{ContractRequest, LatencyContract};
use wayleave_controller::{
    Command, Controller, ControllerConfig, Effect, Mode, Precondition, RecordKind, Reply, Timestamps,
};
use wayleave_store::{Options, SqliteStore, Store, StoredRecord};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time, WallTime};

use super::network::{TOPOLOGY, contract, setup};
use super::server::{Client, Server, runtime};
use crate::bench::Metric;

/// Number of contracts.
const CONTRACTS: usize = 100_000;

/// Number of contracts that are written to disk together while the ledger is filled.
const GROUP: usize = 1_000;

/// Fills a ledger, then opens it and begins.
pub(super) fn run(program: &Path, directory: &Path) -> Result<Vec<Metric>, String> {
    let path = directory.join("ledger.db");
    // 1,024 hosts with about 100 small contracts each.
    let setup = setup(TOPOLOGY)?;
    let filled = fill(&setup, &path, CONTRACTS)?;
    let bytes: u64 = std::fs::read_dir(directory)
        .and_then(|files| files.map(|file| Ok(file?.metadata()?.len())).sum())
        .map_err(|error| format!("the ledger cannot be measured: {error}"))?;

    let start = Instant::now();
    let (store, records) = SqliteStore::open(&path, &Options::default()).map_err(|error| error.to_string())?;
    let opened = start.elapsed();
    let wall = WallTime::from_nanos(0);
    let controller = Controller::load(&setup, wall, readable(&records)?).map_err(|error| error.to_string())?;
    let loaded = start.elapsed();
    let found = controller.grants().count();
    store.close().map_err(|error| error.to_string())?;
    if found != filled {
        return Err(format!("{filled} contracts were put on disk, and {found} came back"));
    }
    let start = Instant::now();
    let server = Server::start(program, directory)?;
    let ready = runtime()?.block_on(server.ready());
    ready.map_err(|error| format!("{error}{}", server.last_words()))?;
    let seconds = start.elapsed();
    let memory =
        server.memory_bytes("VmRSS").map_err(|error| format!("the memory of the server is unknown: {error}"))?;
    let pages = runtime()?.block_on(pages(&server));
    let pages = pages.map_err(|error| format!("{error}{}", server.last_words()))?;
    let mut metrics = vec![
        Metric::new("contracts", found as f64, "contracts"),
        Metric::new("seconds", seconds.as_secs_f64(), "s"),
        Metric::new("load_seconds", loaded.as_secs_f64(), "s"),
        Metric::new("open_seconds", opened.as_secs_f64(), "s"),
        Metric::new("bytes_per_contract", bytes as f64 / found as f64, "B"),
        Metric::new("rss_mb", memory as f64 / 1e6, "MB"),
        Metric::new("rss_per_contract", memory as f64 / found as f64, "B"),
    ];
    metrics.extend(pages);
    Ok(metrics)
}

/// Longest time of each of these requests to the dashboard's lists.
async fn pages(server: &Server) -> std::io::Result<Vec<Metric>> {
    /// Number of repetitions of each request.
    const ROUNDS: usize = 5;
    let lists = [
        ("page_id", "/v1/contracts"),
        ("page_sort_rate", "/v1/contracts?sort=rate&order=desc"),
        ("page_sort_headroom", "/v1/contracts?sort=headroom"),
        ("page_sort_measured", "/v1/contracts?sort=measured&order=desc"),
        ("page_host", "/v1/contracts?host=pod1-agg1&sort=bound"),
        ("names", "/v1/names?prefix=sensor-99"),
        ("csv", "/v1/contracts?format=csv"),
    ];
    let (mut client, mut metrics) = (Client::connect(server).await?, Vec::new());
    for (name, path) in lists {
        let mut longest = Duration::ZERO;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            match client.ask("GET", path, "").await? {
                200 => longest = longest.max(start.elapsed()),
                status => return Err(std::io::Error::other(format!("{path} was answered with {status}"))),
            }
        }
        metrics.push(Metric::new(&format!("{name}_max_ms"), longest.as_secs_f64() * 1e3, "ms"));
    }
    Ok(metrics)
}

fn readable(records: &[StoredRecord]) -> Result<Vec<(RecordKind, &str, &str)>, String> {
    let one = |record: &'_ StoredRecord| {
        RecordKind::of(&record.kind).ok_or_else(|| format!("a record of kind {}", record.kind))
    };
    records.iter().map(|record| Ok((one(record)?, record.key.as_str(), &*record.body))).collect()
}

/// Admits contracts between hosts that follow one another in a fixed pattern; how many there are in the end.
pub(super) fn fill(setup: &ControllerConfig, path: &Path, contracts: usize) -> Result<usize, String> {
    let now = Timestamps { steady: Time::ZERO, wall: WallTime::from_nanos(0) };
    let (mut store, _) = SqliteStore::open(path, &Options::default()).map_err(|error| error.to_string())?;
    let mut controller = Controller::load(setup, now.wall, []).map_err(|error| error.to_string())?;
    let hosts: Vec<NodeId> = setup.network.hosts().collect();
    let mut admitted = 0;
    for group in 0..contracts / GROUP {
        let orders = (group * GROUP..(group + 1) * GROUP)
            .map(|number| (order(&setup.network, &hosts, number), Precondition::None));
        let command = Command::Apply { orders: orders.collect(), mode: Mode::Each, effect: Effect::Commit };
        let Ok(Reply::Each(applied)) = controller.handle(now, command) else {
            return Err("the controller does not answer each".to_owned());
        };
        admitted += applied.iter().filter(|one| one.result.is_ok()).count();
        let changes: Vec<_> = controller.take_output().changes.into_iter().map(stored).collect();
        store.commit(&changes).map_err(|error| error.to_string())?;
    }
    store.close().map_err(|error| error.to_string())?;
    if admitted == contracts { Ok(admitted) } else { Err(format!("only {admitted} of {contracts} contracts fit")) }
}

fn stored(change: wayleave_controller::RecordChange) -> wayleave_store::CommitStep {
    match change.body {
        Some(body) => wayleave_store::CommitStep::Put(StoredRecord::new(change.kind.name(), change.key, body)),
        None => wayleave_store::CommitStep::delete(change.kind.name(), change.key),
    }
}

/// A small contract.
fn order(network: &Network, hosts: &[NodeId], number: usize) -> ContractRequest {
    let (from, to) = contract(number);
    let (from, to) = (hosts[from], hosts[to]);
    let terms = LatencyContract::new(
        format!("sensor-{number}"),
        from,
        to,
        Rate::from_bits_per_second(100_000),
        Bytes::new(200),
        Time::from_millis(50),
    );
    let name = |node| network.node(node).name.as_str();
    let (from, to) = (name(from), name(to));
    ContractRequest::plain(terms, &[from, to])
}
