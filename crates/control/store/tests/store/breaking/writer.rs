//! The program that is killed: it commits numbered batches and prints which are acknowledged. It is this test
//! program, run again.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use wayleave_store::{CommitStep, Options, SqliteStore, Store, StoreError, StoredRecord};

const LEDGER: &str = "WAYLEAVE_WRITER_LEDGER";
const BATCHES: &str = "WAYLEAVE_WRITER_BATCHES";

/// Returns a command that runs this program as a writer of this number of batches to `ledger.db` in a directory;
/// acknowledgements go to `acknowledged`.
pub(crate) fn command(directory: &Path, batches: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "breaking::writer::writer", "--nocapture", "--test-threads=1"]);
    command.env(LEDGER, directory.join("ledger.db")).env(BATCHES, batches.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Returns the numbers of the batches that the writer found at its start, or received acknowledgements for since.
pub(crate) fn acknowledged(directory: &Path) -> Vec<u64> {
    let text = fs::read_to_string(directory.join("acknowledged")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
#[ignore = "a program that other tests start"]
fn writer() {
    let ledger = std::env::var_os(LEDGER).unwrap();
    let batches = std::env::var(BATCHES).unwrap().parse().unwrap();
    if let Err(error) = write(Path::new(&ledger), batches) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn write(ledger: &Path, batches: u64) -> Result<(), StoreError> {
    let file = ledger.with_file_name("acknowledged");
    let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    let mut acknowledge = |sequence: u64| file.write_all(format!("{sequence}\n").as_bytes()).unwrap();
    let (mut store, records) = SqliteStore::open(ledger, &Options::default())?;
    assert_eq!(batch_of(&records), store.sequence());
    // Served batches count as acknowledged, also if no acknowledgement was read before.
    acknowledge(store.sequence());
    for n in store.sequence() + 1..=batches {
        let sequence = store.commit(&batch(n)).inspect_err(|_| assert!(is_broken(&mut store)))?;
        assert_eq!(sequence, n);
        acknowledge(sequence);
        if n % 3 == 0 {
            store.idle().inspect_err(|_| assert!(is_broken(&mut store)))?;
        }
    }
    store.close()
}

fn is_broken(store: &mut SqliteStore) -> bool {
    matches!(store.commit(&batch(1)), Err(StoreError::Broken { .. }))
}

/// The changes of batch n: some records are new, some replaced, one is deleted, and they are of several sizes.
pub(crate) fn batch(n: u64) -> Vec<CommitStep> {
    let record =
        |key: String, length: usize| CommitStep::Put(StoredRecord::new("thing", key, format!("{n:0>length$}")));
    let mut changes = vec![record("last".to_owned(), 20), record(format!("a-{}", n % 3), 5000)];
    changes.extend((0..3).map(|i| record(format!("b-{n}-{i}"), 700)));
    changes.push(CommitStep::delete("thing", format!("b-{}-1", n.saturating_sub(2))));
    changes
}

/// The records after batch n.
pub(crate) fn after(n: u64) -> Vec<StoredRecord> {
    let mut records = BTreeMap::new();
    for change in (1..=n).flat_map(batch) {
        match change {
            CommitStep::Put(record) => drop(records.insert(record.key.clone(), record)),
            CommitStep::Delete { key, .. } => drop(records.remove(&key)),
        }
    }
    records.into_values().collect()
}

/// The batch after which these are the records; nothing but whole batches can be there.
pub(crate) fn batch_of(records: &[StoredRecord]) -> u64 {
    let last = records.iter().find(|record| record.key == "last");
    let n = last.map_or(0, |record| record.body.trim_start_matches('0').parse().expect("a number"));
    assert!(records == after(n), "these are not the records after batch {n}");
    n
}
