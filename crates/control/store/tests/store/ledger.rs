//! The store on disk as its users see it: kept data, refused data, and messages.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Scratch, open, put};
use wayleave_store::{
    CommitStep, IfAbsent, Options, SqliteStore, Store, StoreError, StoredRecord, reseal, seal_path, verify,
};

#[test]
fn committed_records_are_read_back_after_reopening() {
    let scratch = Scratch::new();
    let (mut store, records) = open(&scratch.ledger());
    assert!(records.is_empty());
    assert_eq!(store.commit(&[put("a", "1"), put("b", "2"), put("c", "3")]), Ok(1));
    assert_eq!(
        store.commit(&[put("b", "two"), CommitStep::delete("thing", "a"), CommitStep::delete("thing", "never")]),
        Ok(2)
    );
    // Twice in one commit: the order counts.
    assert_eq!(store.commit(&[CommitStep::delete("thing", "c"), put("c", "4"), put("d", "5"), put("d", "6")]), Ok(3));
    assert_eq!(store.commit(&[]), Ok(3));
    let expected = vec![
        StoredRecord::new("thing", "b", "two"),
        StoredRecord::new("thing", "c", "4"),
        StoredRecord::new("thing", "d", "6"),
    ];
    drop(store);
    let (store, records) = open(&scratch.ledger());
    assert_eq!((records, store.sequence(), store.records()), (expected.clone(), 3, 3));
    store.close().unwrap();
    assert!(!scratch.path("ledger.db-wal").exists(), "a log is left behind");
    let (mut store, records) = open(&scratch.ledger());
    assert_eq!(records, expected);
    assert_eq!(store.commit(&[CommitStep::delete("thing", "b")]), Ok(4));
    store.idle().unwrap();
    drop(store);
    assert_eq!(open(&scratch.ledger()).1, expected[1..]);
}

#[test]
fn texts_of_any_kind_are_read_back_unchanged() {
    let scratch = Scratch::new();
    let (mut store, _) = open(&scratch.ledger());
    let texts = ["", "\0", "a\0b", "ü🜁", "'; DROP TABLE records", &"x".repeat(100_000)];
    let records: Vec<StoredRecord> = texts.iter().map(|text| StoredRecord::new("text", *text, *text)).collect();
    store.commit(&records.iter().cloned().map(CommitStep::Put).collect::<Vec<_>>()).unwrap();
    drop(store);
    let mut found = open(&scratch.ledger()).1;
    found.sort_by_key(|record| texts.iter().position(|text| *text == record.key));
    assert_eq!(found, records);
}

#[test]
fn only_its_owner_can_read_a_new_ledger_and_a_writable_one_is_refused() {
    let scratch = Scratch::new();
    let (mut store, _) = open(&scratch.ledger());
    store.commit(&[put("a", "1")]).unwrap();
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-seal"] {
        let mode = fs::metadata(scratch.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    drop(store);
    for file in ["ledger.db", "ledger.db-seal"] {
        fs::set_permissions(scratch.path(file), fs::Permissions::from_mode(0o666)).unwrap();
        let error = refused(&scratch);
        assert!(error.contains("mode 0666") && error.contains(&format!("chmod 600 {}", scratch.path(file).display())));
        fs::set_permissions(scratch.path(file), fs::Permissions::from_mode(0o640)).unwrap();
    }
    open(&scratch.ledger());
}

#[test]
fn a_second_owner_gets_the_identity_of_the_first() {
    let scratch = Scratch::new();
    let (store, _) = open(&scratch.ledger());
    let error = refused(&scratch);
    let expected = format!("{} is in use by process {} (", scratch.ledger().display(), std::process::id());
    assert!(error.starts_with(&expected), "{error}");
    assert!(matches!(verify(scratch.ledger()), Err(StoreError::Locked { .. })));
    assert!(matches!(reseal(scratch.ledger()), Err(StoreError::Locked { .. })));
    drop(store);
    open(&scratch.ledger());
}

#[test]
fn another_connection_of_sqlite_cannot_write_beside_the_owner() {
    let scratch = Scratch::new();
    let (mut store, _) = open(&scratch.ledger());
    store.commit(&[put("a", "1")]).unwrap();
    let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    let error = other.execute("DELETE FROM records", []).unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy), "{error}");
    drop(other);
    assert_eq!(store.commit(&[put("b", "1")]), Ok(2));
}

#[test]
fn a_file_that_is_no_ledger_is_refused_and_left_unchanged() {
    let scratch = Scratch::new();
    let refuse = |text: &[u8], expected: &str| {
        fs::write(scratch.ledger(), text).unwrap();
        fs::set_permissions(scratch.ledger(), fs::Permissions::from_mode(0o600)).unwrap();
        let error = refused(&scratch);
        assert!(error.contains("is not a Wayleave ledger") && error.contains(expected), "{error}");
        assert_eq!(fs::read(scratch.ledger()).unwrap(), text);
        fs::remove_file(scratch.ledger()).unwrap();
    };
    refuse(b"apiVersion: wayleave/v1\n", "not a SQLite database");
    refuse(b"SQLite format 3\0", "not a SQLite database");
    let other = rusqlite::Connection::open(scratch.path("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x); PRAGMA application_id = 7").unwrap();
    drop(other);
    refuse(&fs::read(scratch.path("other.db")).unwrap(), "another program (application_id 0x00000007)");
    fs::create_dir(scratch.ledger()).unwrap();
    assert!(refused(&scratch).contains("it is not a file"));
}

#[test]
fn a_later_format_is_refused_with_both_versions() {
    let scratch = Scratch::filled(3);
    let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
    other.pragma_update(None, "user_version", 9).unwrap();
    drop(other);
    let error = refused(&scratch);
    assert!(error.contains("has format 9") && error.contains("knows 5"), "{error}");
}

/// A program that knows format 1 would leave records of later kinds out: it has to refuse a ledger that has one, and only such a ledger.
#[test]
fn the_first_record_of_a_later_kind_raises_the_format() {
    let scratch = Scratch::filled(3);
    let format = || -> u32 {
        let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
        other.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    let (mut store, _) = open(&scratch.ledger());
    store
        .commit(&[CommitStep::delete("shared", "1"), CommitStep::Put(StoredRecord::new("contract", "1", "{}"))])
        .unwrap();
    store.close().unwrap();
    assert_eq!(format(), 1, "as it was");
    let (mut store, records) = open(&scratch.ledger());
    assert_eq!(records.len(), 4);
    store.commit(&[CommitStep::Put(StoredRecord::new("shared", "2", "{}"))]).unwrap();
    store.commit(&[CommitStep::delete("shared", "2")]).unwrap();
    let copy = scratch.path("copy.db");
    store.backup(&copy).unwrap();
    store.close().unwrap();
    assert_eq!(format(), 2);
    assert_eq!(open(&copy).1.len(), 4);
    let (mut store, records) = open(&scratch.ledger());
    assert_eq!(records.len(), 4);
    store.commit(&[CommitStep::Put(StoredRecord::new("history", "1", "{}"))]).unwrap();
    store.close().unwrap();
    assert_eq!(format(), 3);
    let (mut store, _) = open(&scratch.ledger());
    store.commit(&[CommitStep::Put(StoredRecord::new("shared", "3", "{}"))]).unwrap();
    store.close().unwrap();
    assert_eq!(format(), 3, "an earlier kind does not take it back");
}

#[test]
fn a_missing_ledger_is_created_only_on_request() {
    let scratch = Scratch::new();
    let options = Options { absent: IfAbsent::Refuse };
    assert_eq!(
        SqliteStore::open(scratch.ledger(), &options).err(),
        Some(StoreError::Missing { path: scratch.ledger() })
    );
    assert!(fs::read_dir(scratch.path("")).unwrap().next().is_none(), "something was created");
    let nowhere = scratch.path("no/such/ledger.db");
    let error = SqliteStore::open(&nowhere, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("no/such does not exist") && error.contains("mkdir -p"), "{error}");
}

#[test]
fn a_seal_without_database_and_a_database_without_seal_are_refused() {
    let scratch = Scratch::filled(3);
    let seal = seal_path(&scratch.ledger());
    fs::rename(&seal, scratch.path("kept")).unwrap();
    let error = refused(&scratch);
    assert!(error.contains("has no seal") && error.contains("wayleave ledger reseal"), "{error}");
    fs::rename(scratch.path("kept"), &seal).unwrap();
    fs::rename(scratch.ledger(), scratch.path("kept")).unwrap();
    assert!(refused(&scratch).contains("is missing or empty, but commit 3 was acknowledged"));
    fs::write(scratch.ledger(), "").unwrap();
    assert!(refused(&scratch).contains("is missing or empty, but commit 3 was acknowledged"));
    fs::rename(scratch.path("kept"), scratch.ledger()).unwrap();
    assert_eq!(open(&scratch.ledger()).1.len(), 3);
}

#[test]
fn an_interrupted_creation_is_completed() {
    for leftover in [&[][..], &[0; 700], &[0; 1024]] {
        let scratch = Scratch::new();
        fs::write(seal_path(&scratch.ledger()), leftover).unwrap();
        fs::write(scratch.path("ledger.db-new"), "half of a database").unwrap();
        fs::set_permissions(seal_path(&scratch.ledger()), fs::Permissions::from_mode(0o600)).unwrap();
        let (mut store, records) = open(&scratch.ledger());
        assert!(records.is_empty());
        store.commit(&[put("a", "1")]).unwrap();
        assert!(!scratch.path("ledger.db-new").exists());
        drop(store);
        assert_eq!(open(&scratch.ledger()).1.len(), 1);
    }
}

#[test]
fn verify_reports_and_changes_nothing() {
    let scratch = Scratch::filled(3);
    let before = scratch.files();
    let report = verify(scratch.ledger()).unwrap();
    assert!(report.is_sound());
    assert_eq!((report.sequence, report.sealed), (Some(3), Some(3)));
    assert_eq!(report.records.into_iter().collect::<Vec<_>>(), [("thing".into(), 3)]);
    assert_eq!(report.bytes, before.iter().map(|(_, length, _)| *length as u64).sum::<u64>());
    fs::write(seal_path(&scratch.ledger()), "damaged").unwrap();
    let before = scratch.files();
    let report = verify(scratch.ledger()).unwrap();
    assert!(matches!(report.faults[..], [StoreError::SealDamaged { .. }]), "{:?}", report.faults);
    assert_eq!(scratch.files(), before);
}

#[test]
fn reseal_accepts_an_intact_ledger_and_no_number_is_reused() {
    let scratch = Scratch::filled(3);
    let old = fs::read(scratch.ledger()).unwrap();
    let (mut store, _) = open(&scratch.ledger());
    store.commit(&[put("late", "1")]).unwrap();
    store.close().unwrap();
    fs::write(scratch.ledger(), old).unwrap();
    let error = refused(&scratch);
    assert!(error.contains("ends with commit 3, but commit 4 was acknowledged: one commit is lost"), "{error}");
    let report = reseal(scratch.ledger()).unwrap();
    assert!(matches!(report.faults[..], [StoreError::Behind { .. }]), "{:?}", report.faults);
    let (mut store, records) = open(&scratch.ledger());
    assert_eq!(records.len(), 3);
    assert_eq!(store.commit(&[put("d", "1")]), Ok(6));
}

#[test]
fn a_deleted_row_is_detected_and_can_be_accepted() {
    let scratch = Scratch::filled(3);
    let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
    other.execute("DELETE FROM records WHERE key = 'key-2'", []).unwrap();
    drop(other);
    assert!(refused(&scratch).contains("has 2 records, but 3 are expected"));
    assert!(matches!(reseal(scratch.ledger()).unwrap().faults[..], [StoreError::Count { .. }]));
    assert_eq!(open(&scratch.ledger()).1.len(), 2);
}

#[test]
fn a_changed_record_is_named_and_not_accepted() {
    let scratch = Scratch::filled(3);
    let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
    other.execute("UPDATE records SET body = body || ' ' WHERE key = 'key-2'", []).unwrap();
    drop(other);
    let error = refused(&scratch);
    assert!(error.contains("the record thing \"key-2\"") && error.contains("does not match its checksum"), "{error}");
    assert!(matches!(reseal(scratch.ledger()), Err(StoreError::Record { .. })));
}

#[test]
fn a_row_from_an_earlier_state_is_detected() {
    let scratch = Scratch::filled(3);
    let (mut store, _) = open(&scratch.ledger());
    let read = |scratch: &Scratch| -> (String, Vec<u8>) {
        let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
        let row = other
            .query_row("SELECT body, sum FROM records WHERE key = 'key-2'", [], |row| Ok((row.get(0)?, row.get(1)?)));
        row.unwrap()
    };
    store.close().unwrap();
    let old = read(&scratch);
    (store, _) = open(&scratch.ledger());
    store.commit(&[put("key-2", "new")]).unwrap();
    store.close().unwrap();
    let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
    other
        .execute("UPDATE records SET body = ?1, sum = ?2 WHERE key = 'key-2'", rusqlite::params![old.0, old.1])
        .unwrap();
    drop(other);
    let error = refused(&scratch);
    assert!(error.contains("the set does not match the last commit"), "{error}");
}

#[test]
fn a_backup_of_an_open_ledger_can_be_opened_and_is_independent() {
    let scratch = Scratch::new();
    let (mut store, _) = open(&scratch.ledger());
    store.commit(&[put("a", "1"), put("b", "2"), CommitStep::delete("thing", "a")]).unwrap();
    store.commit(&[put("c", "3")]).unwrap();
    store.backup(scratch.path("copy.db")).unwrap();
    let error = store.backup(scratch.path("copy.db")).unwrap_err().to_string();
    assert!(error.contains("creating") && error.contains("exists"), "{error}");
    assert_eq!(store.commit(&[put("d", "4")]), Ok(3));
    let (mut copy, records) = open(&scratch.path("copy.db"));
    assert_eq!(records, [StoredRecord::new("thing", "b", "2"), StoredRecord::new("thing", "c", "3")]);
    assert_eq!(copy.commit(&[put("e", "5")]), Ok(3));
    drop((store, copy));
    // Restored: both files take the place of the old ones.
    assert!(fs::metadata(scratch.path("copy.db")).unwrap().permissions().mode() & 0o777 == 0o600);
    for file in ["ledger.db-wal", "ledger.db", "ledger.db-seal"] {
        drop(fs::remove_file(scratch.path(file)));
    }
    for end in ["", "-wal", "-seal"] {
        fs::rename(scratch.path(&format!("copy.db{end}")), scratch.path(&format!("ledger.db{end}"))).unwrap();
    }
    let keys: String = open(&scratch.ledger()).1.into_iter().map(|record| record.key).collect();
    assert_eq!(keys, "bce");
}

#[test]
fn a_backup_from_the_shell_of_sqlite_has_no_seal_and_can_be_accepted() {
    let scratch = Scratch::filled(3);
    let other = rusqlite::Connection::open(scratch.ledger()).unwrap();
    other.execute("VACUUM INTO ?1", [scratch.path("copy.db").to_str().unwrap()]).unwrap();
    drop(other);
    fs::set_permissions(scratch.path("copy.db"), fs::Permissions::from_mode(0o600)).unwrap();
    let report = reseal(scratch.path("copy.db")).unwrap();
    assert!(matches!(report.faults[..], [StoreError::SealMissing { .. }]), "{:?}", report.faults);
    assert_eq!(open(&scratch.path("copy.db")).1.len(), 3);
}

/// Returns the reason that the ledger is not opened, and checks that it is unchanged.
fn refused(scratch: &Scratch) -> String {
    let before = scratch.files();
    let error = SqliteStore::open(scratch.ledger(), &Options::default()).expect_err("it opened").to_string();
    assert_eq!(scratch.files(), before, "a refusal changed a file: {error}");
    println!("{error}");
    error
}

#[test]
fn a_backup_is_the_state_at_its_start_despite_concurrent_commits() {
    let scratch = Scratch::new();
    let (mut store, _) = open(&scratch.ledger());
    let commit = |store: &mut SqliteStore, from: usize, count: usize| {
        for one in from..from + count {
            store.commit(&[put(&format!("key-{one:05}"), "text"), CommitStep::delete("thing", "key-00000")]).unwrap();
        }
    };
    // With its log empty, and with something in it.
    for (number, before) in [0, 5].into_iter().enumerate() {
        commit(&mut store, 100 * number, 7);
        store.idle().unwrap();
        commit(&mut store, 100 * number + 50, before);
        let (records, sequence) = (store.records(), store.sequence());
        let backup = store.begin_backup().unwrap().unwrap();
        assert!(store.begin_backup().is_err(), "one at a time");
        // More than the log holds before it is copied into the database.
        commit(&mut store, 1000 + 2000 * number, 700);
        store.idle().unwrap();
        let copy = scratch.path(&format!("copy{number}.db"));
        let report = backup.write(&copy).unwrap();
        assert_eq!((report.sequence, report.records.values().sum::<u64>()), (Some(sequence), records));
        commit(&mut store, 90_000 + number, 1);
        let log = fs::metadata(scratch.path("ledger.db-wal")).unwrap().len();
        store.idle().unwrap();
        commit(&mut store, 95_000 + number, 1);
        assert!(fs::metadata(scratch.path("ledger.db-wal")).unwrap().len() <= log, "the log begins anew");
        let (mut restored, found) = open(&copy);
        assert_eq!((found.len() as u64, restored.sequence()), (records, sequence));
        restored.commit(&[put("new", "text")]).unwrap();
        let exists = store.begin_backup().unwrap().unwrap().write(&copy).unwrap_err();
        assert!(exists.to_string().contains("exists"), "{exists}");
    }
    let all = store.records();
    drop(store);
    assert_eq!(open(&scratch.ledger()).1.len() as u64, all);
}

#[test]
fn a_backup_with_the_log_of_another_ledger_names_it_and_opens_without_it() {
    // A ledger that was killed: its log holds commits.
    let killed = Scratch::filled(3);
    let (mut store, _) = open(&killed.ledger());
    for n in 0..40 {
        store.commit(&[put(&format!("key-{n}"), "lost")]).unwrap();
    }
    let log = std::fs::read(killed.path("ledger.db-wal")).unwrap();
    assert!(!log.is_empty());
    // A backup of an earlier time, or of another ledger, is copied over it with its seal.
    for commits in [3, 17] {
        let backup = Scratch::filled(commits);
        let sound: Vec<StoredRecord> = open(&backup.ledger()).1;
        backup.write("ledger.db-wal", &log);
        let before = backup.files();
        let error = SqliteStore::open(backup.ledger(), &Options::default()).unwrap_err();
        let sequence = commits as u64;
        let (path, log) = (backup.ledger(), backup.path("ledger.db-wal"));
        assert_eq!(error, StoreError::LogForeign { path, log: log.clone(), sequence });
        assert!(error.to_string().ends_with(&format!("Remove it: rm {}", log.display())), "{error}");
        assert_eq!(verify(backup.ledger()).unwrap_err(), error);
        assert_eq!(reseal(backup.ledger()).unwrap_err(), error, "what is not of this ledger is not accepted");
        assert_eq!(backup.files(), before, "nothing is changed");
        std::fs::remove_file(&log).unwrap();
        assert_eq!(open(&backup.ledger()).1, sound);
    }
}

#[test]
fn a_log_with_acknowledged_commits_is_never_taken_for_a_foreign_one() {
    let scratch = Scratch::filled(3);
    let (mut store, _) = open(&scratch.ledger());
    store.commit(&[put("last", "acknowledged")]).unwrap();
    let copied: Vec<(&str, Vec<u8>)> = ["ledger.db", "ledger.db-wal", "ledger.db-seal"]
        .into_iter()
        .map(|name| (name, std::fs::read(scratch.path(name)).unwrap()))
        .collect();
    drop(store);
    let other = Scratch::new();
    for (name, bytes) in &copied {
        other.write(name, bytes);
    }
    assert_eq!(open(&other.ledger()).1.len(), 4);
    let damaged = Scratch::new();
    for (name, bytes) in &copied {
        let mut bytes = bytes.clone();
        if *name == "ledger.db-wal" {
            bytes.iter_mut().skip(40).for_each(|byte| *byte ^= 0x55);
        }
        damaged.write(name, &bytes);
    }
    let error = SqliteStore::open(damaged.ledger(), &Options::default()).unwrap_err();
    assert!(matches!(error, StoreError::Behind { found: 3, sealed: 4, .. }), "{error}");
}
