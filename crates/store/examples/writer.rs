//! Commits numbered batches to a ledger and says which are acknowledged: the program that the tests of crashes kill.
//!
//! `writer LEDGER ACKNOWLEDGEMENTS BATCHES`: batch n replaces the records `a-n`, `b-n` modulo 5, deletes one, and puts `last`, which says n.
//! After each acknowledged batch a line with its number goes to the second file. A ledger that holds some goes on from there.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;

use wayleave_store::{Change, Options, Record, SqliteStore, Store};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ledger, acknowledgements, batches] = &arguments[..] else {
        return Err("usage: writer LEDGER ACKNOWLEDGEMENTS BATCHES".into());
    };
    let mut acknowledged = OpenOptions::new().create(true).append(true).open(acknowledgements)?;
    let (mut store, _) = SqliteStore::open(ledger, &Options::default())?;
    let batches: u64 = batches.parse()?;
    for n in store.sequence() + 1..=batches {
        let sequence = store.commit(&batch(n))?;
        acknowledged.write_all(format!("{sequence}\n").as_bytes())?;
        if n % 4 == 0 {
            store.idle()?;
        }
    }
    store.close()?;
    Ok(())
}

/// The changes of a batch; `crates/store/tests/breaking` knows what they leave.
fn batch(n: u64) -> Vec<Change> {
    let record = |key: String, length: usize| Change::Put(Record::new("thing", key, format!("{n:0>length$}")));
    let mut changes = vec![record("last".to_owned(), 20), record(format!("a-{}", n % 5), 3000)];
    changes.extend((0..3).map(|i| record(format!("b-{n}-{i}"), 700)));
    changes.push(Change::delete("thing", format!("b-{}-1", n.saturating_sub(3))));
    changes
}
