//! Measures the store on the disk of a directory: `cargo run --release --example measure -- DIRECTORY`.
//! The figures of `docs/operate/ledger.md` come from here.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wayleave_store::{CommitStep, Options, SqliteStore, Store, StoredRecord, seal_path};

/// Contracts of the restart, bytes of each, and contracts in a commit.
const CONTRACTS: usize = 100_000;
const BODY: usize = 700;
const BATCH: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).ok_or("usage: measure DIRECTORY")?);
    let path = directory.join("measure.db");
    for file in [path.clone(), seal_path(&path), directory.join("measure.db-wal")] {
        drop(std::fs::remove_file(file));
    }
    let (mut store, _) = SqliteStore::open(&path, &Options::default())?;
    let mut times = Vec::new();
    for batch in 0..CONTRACTS.div_ceil(BATCH) {
        let changes: Vec<CommitStep> = (batch * BATCH..).take(BATCH).map(|n| CommitStep::Put(contract(n))).collect();
        let start = Instant::now();
        store.commit(&changes)?;
        times.push(start.elapsed());
    }
    print("new contracts, 64 a commit", &mut times);
    let mut times = Vec::new();
    for n in 0..2000 {
        let changes = [CommitStep::Put(contract(n * 7919 % CONTRACTS))];
        let start = Instant::now();
        store.commit(&changes)?;
        times.push(start.elapsed());
    }
    print("one contract a commit", &mut times);
    let start = Instant::now();
    store.idle()?;
    println!("idle: {:?}", start.elapsed());
    let copy = directory.join("measure-copy.db");
    for file in [copy.clone(), seal_path(&copy)] {
        drop(std::fs::remove_file(file));
    }
    let start = Instant::now();
    store.backup(&copy)?;
    println!("backup: {:?}", start.elapsed());
    drop(store);
    let mut bytes = 0;
    for file in [path.clone(), seal_path(&path), directory.join("measure.db-wal")] {
        bytes += std::fs::metadata(file).map_or(0, |file| file.len());
    }
    println!("{} B on disk a contract", bytes / CONTRACTS as u64);
    for how in ["after a crash", "after a close"] {
        let start = Instant::now();
        let (store, records) = SqliteStore::open(&path, &Options::default())?;
        println!("opened {} records {how}: {:?}", records.len(), start.elapsed());
        store.close()?;
    }
    Ok(())
}

/// Keys in no order, as names of tenants are.
fn contract(n: usize) -> StoredRecord {
    let name = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    StoredRecord::new("contract", format!("tenant-{}:backup-{name:016x}", n % 50), format!("{n:0>BODY$}"))
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let total: Duration = times.iter().sum();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let rate = times.len() as f64 / total.as_secs_f64();
    println!(
        "{what}: {rate:.0} commits/s; mean {:?}, median {:?}, p99 {:?}, p99.9 {:?}, worst {:?}",
        total / times.len() as u32,
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}
