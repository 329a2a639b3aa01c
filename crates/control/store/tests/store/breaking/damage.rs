//! Bits flip, files are cut or exchanged, pages and rows are old: the store gives exactly what was acknowledged, or refuses.

use std::collections::BTreeMap;
use std::fs;

use wayleave_repo_checks::Random;
use wayleave_store::{Options, SqliteStore, Store, StoreError, verify};

use super::writer::{batch, batch_of};
use super::{factor, seed};
use crate::common::{Scratch, open};

const FILES: [&str; 3] = ["ledger.db", "ledger.db-wal", "ledger.db-seal"];
const PAGE: usize = 4096;
const BATCHES: u64 = 14;
const CASES: usize = 300;

type Image = BTreeMap<&'static str, Vec<u8>>;

/// Returns the files after each batch, while the ledger was open: as a crash would leave them.
fn images() -> Vec<Image> {
    let scratch = Scratch::new();
    let (mut store, _) = open(&scratch.ledger());
    let mut images = Vec::new();
    for n in 1..=BATCHES {
        store.commit(&batch(n)).unwrap();
        if n == 5 || n == 9 {
            store.idle().unwrap();
        }
        images.push(image(&scratch));
    }
    store.close().unwrap();
    images.push(image(&scratch));
    images
}

fn image(scratch: &Scratch) -> Image {
    FILES.into_iter().filter_map(|file| Some((file, fs::read(scratch.path(file)).ok()?))).collect()
}

#[test]
fn damage_of_any_kind_is_refused_or_harmless() {
    let images = images();
    let first = seed(1);
    let cases =
        if std::env::var_os("WAYLEAVE_SEED").is_some() { 1 } else { CASES.saturating_mul(factor()).min(10_000_000) };
    let mut outcomes = BTreeMap::<String, usize>::new();
    for seed in first..first + cases as u64 {
        let again = format!("WAYLEAVE_SEED={seed} cargo test -p wayleave-store --test store breaking::damage");
        let mut random = Random::new(seed);
        // Half of them with a log, half after a clean end.
        let newest = images.len() - 1 - random.index(2);
        let mut damaged = images[newest].clone();
        let older = &images[random.index(newest)];
        let what = damage(&mut damaged, older, &mut random);
        let scratch = Scratch::new();
        for (file, bytes) in &damaged {
            scratch.write(file, bytes);
        }
        let result =
            std::panic::catch_unwind(|| outcome(&scratch)).unwrap_or_else(|_| panic!("{what}; again: {again}"));
        *outcomes.entry(format!("{what}: {result}")).or_default() += 1;
    }
    for (outcome, times) in &outcomes {
        println!("{times:5} {outcome}");
    }
}

/// Applies one kind of damage to one file and returns its description.
fn damage(image: &mut Image, older: &Image, random: &mut Random) -> String {
    let files: Vec<&'static str> = image.keys().copied().filter(|file| !image[file].is_empty()).collect();
    let file = files[random.index(files.len())];
    let bytes = image.get_mut(file).unwrap();
    let kind = random.index(7);
    match kind {
        0 | 1 => {
            let bit = random.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        2 => bytes.truncate(random.index(bytes.len())),
        3 | 4 => {
            let from = random.index(bytes.len().div_ceil(PAGE)) * PAGE;
            let to = (from + PAGE).min(bytes.len());
            let old = older.get(file).and_then(|old| old.get(from..to));
            match (kind, old) {
                (4, Some(old)) => bytes[from..to].copy_from_slice(old),
                _ => bytes[from..to].fill(0),
            }
        }
        5 => match older.get(file) {
            Some(old) => bytes.clone_from(old),
            None => drop(image.remove(file)),
        },
        _ => drop(image.remove(file)),
    }
    let name = ["a bit flips", "a bit flips", "cut short", "a page of zeros", "an old page", "an old copy", "removed"];
    format!("{file}, {}", name[kind])
}

/// Opens it, and checks that it is right, or refused for a reason that `verify` gives too.
fn outcome(scratch: &Scratch) -> String {
    let report = verify(scratch.ledger());
    match SqliteStore::open(scratch.ledger(), &Options::default()) {
        Ok((store, records)) => {
            assert_eq!(batch_of(&records), BATCHES);
            assert_eq!(store.sequence(), BATCHES);
            assert!(report.is_ok_and(|report| report.is_sound()), "verify finds a fault where there is none");
            "harmless".to_owned()
        }
        Err(error) => {
            let foreign = matches!(error, StoreError::NotALedger { .. } | StoreError::Future { .. });
            assert!(error.is_damage() || foreign, "{error}");
            match report {
                Ok(report) => assert_eq!(report.faults.first(), Some(&error)),
                Err(other) => assert_eq!(other, error),
            }
            let text = format!("{error:?}");
            text.split(' ').next().unwrap().to_owned()
        }
    }
}

#[test]
fn every_deleted_or_old_row_is_detected() {
    let images = images();
    for (kind, statement) in [
        ("Count", "DELETE FROM records WHERE key = ?1"),
        ("Record", "UPDATE records SET body = body || '0' WHERE key = ?1"),
        ("Record", "UPDATE records SET key = key || '0' WHERE key = ?1"),
        ("Record", "UPDATE records SET kind = 'other' WHERE key = ?1"),
        ("Record", "UPDATE records SET sum = x'00' WHERE key = ?1"),
        (
            "Structure",
            "INSERT INTO records (kind, key, body, sum) SELECT kind, key, body, sum FROM records WHERE key = ?1",
        ),
        ("State", "UPDATE state SET sequence = sequence + 1 WHERE ?1 <> ''"),
        ("State", "DELETE FROM state WHERE ?1 <> ''"),
    ] {
        for key in ["last", "a-1", "b-14-0"] {
            let scratch = Scratch::new();
            for (file, bytes) in &images[images.len() - 1] {
                scratch.write(file, bytes);
            }
            let sqlite = rusqlite::Connection::open(scratch.ledger()).unwrap();
            assert!(sqlite.execute(statement, [key]).unwrap() == 1, "{statement}");
            drop(sqlite);
            assert_eq!(outcome(&scratch), kind, "{statement} with {key}");
        }
    }
}
