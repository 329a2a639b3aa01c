//! Files of measurements: what survives, what is deleted, and what is put aside.

use std::path::PathBuf;

use super::*;

fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("wayleave-measurements-{}-{name}", std::process::id()));
    remove(&path);
    path
}

fn remove(path: &Path) {
    for end in ["", "-wal", "-damaged", "-damaged-2", "-damaged-3", "-damaged-wal"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
}

/// Time of all files, in seconds.
const NOW: u64 = 5_000;

fn open(path: &Path) -> Measurements {
    let opened = Measurements::open(Some(path), NOW).unwrap();
    assert_eq!(opened.put_aside, None);
    opened.measurements
}

fn chunk(series: &str, start: u64, byte: u8) -> Chunk {
    Chunk { series: series.to_owned(), start, points: vec![byte; 160] }
}

#[test]
fn chunks_survive_and_old_ones_are_deleted() {
    let path = file("chunks");
    let mut measurements = open(&path);
    measurements.put_chunks(100, &[chunk("a", 90, 1), chunk("b", 90, 2), chunk("a", 100, 3)]).unwrap();
    measurements.put_chunks(101, &[chunk("a", 100, 4)]).unwrap();
    drop(measurements);
    let mut measurements = open(&path);
    let read = |measurements: &Measurements, series| {
        let chunks = measurements.chunks(series, [80, 90, 100].into_iter()).unwrap();
        chunks.into_iter().map(|(start, points)| (start, points[0])).collect::<Vec<_>>()
    };
    assert_eq!((read(&measurements, "a"), read(&measurements, "b")), (vec![(90, 1), (100, 4)], vec![(90, 2)]));
    let oldest = |series: &str| measurements.oldest_chunk(series).unwrap().map(|(start, _)| start);
    assert_eq!((oldest("a"), oldest("b"), oldest("c")), (Some(90), Some(90), None));
    assert_eq!(measurements.created().unwrap(), NOW);
    measurements.put_chunks(100 + CHUNK_RETENTION, &[]).unwrap();
    assert_eq!(read(&measurements, "a"), [(100, 4)]);
    let _ = std::fs::remove_file(path);
}

#[test]
fn intervals_end_with_the_last_recorded_minute_after_a_restart() {
    let path = file("intervals");
    let begin = |minute, observed| MinuteChange::Begin { serial: 7, minute, observed };
    let (kept, unknown) = (Observed::Kept, Observed::Unknown(5));
    let mut measurements = open(&path);
    let contract = MinuteChange::Contract { serial: 7, tenant: "shop".to_owned(), name: "web".to_owned(), begun: 100 };
    measurements.put_minute(101, None, &[contract.clone(), begin(100, kept)]).unwrap();
    measurements.put_minute(105, None, &[MinuteChange::Close { serial: 7, minute: 104 }, begin(104, unknown)]).unwrap();
    drop(measurements);
    let mut measurements = open(&path);
    let read = |measurements: &Measurements| measurements.contracts("shop", 0, 0, 1_000).unwrap();
    let expected = RecordedContract {
        name: "web".to_owned(),
        begun: 100,
        ended: None,
        intervals: vec![(100, 104, kept), (104, 105, unknown)],
        changes: Vec::new(),
    };
    assert_eq!(read(&measurements), [RecordedContract { ended: Some(105), ..expected.clone() }]);
    let state = MinuteChange::State { serial: 7, at: 7, kind: "violated".to_owned(), text: "late".to_owned() };
    let end = MinuteChange::End { serial: 7, ended: 111 };
    measurements.put_minute(111, None, &[contract, begin(110, kept), state, end]).unwrap();
    let changes = vec![(7, "violated".to_owned(), "late".to_owned())];
    let intervals = vec![(100, 104, kept), (104, 105, unknown), (110, 111, kept)];
    assert_eq!(read(&measurements), [RecordedContract { ended: Some(111), intervals, changes, ..expected }]);
    assert_eq!(measurements.contracts("shop", 0, 111, 200).unwrap(), []);
    assert_eq!(measurements.contracts("shop", 6, 0, 1_000).unwrap().len(), 1);
    assert_eq!(measurements.contracts("shop", 7, 0, 1_000).unwrap(), [], "it is of an earlier tenant");
    assert_eq!(measurements.contracts("other", 0, 0, 1_000).unwrap(), []);
    measurements.prune(111 + INTERVAL_RETENTION + 1).unwrap();
    assert_eq!(read(&measurements), []);
    let again = MinuteChange::Contract { serial: 8, tenant: "shop".to_owned(), name: "web".to_owned(), begun: 5 };
    measurements.put_minute(112, None, &[again]).unwrap();
    assert_eq!(read(&measurements).len(), 1);
    measurements.put_minute(113, None, &[MinuteChange::ForgetTenant { tenant: "shop".to_owned() }]).unwrap();
    assert_eq!(read(&measurements), []);
    let _ = std::fs::remove_file(path);
}

#[test]
fn damaged_files_are_put_aside_and_named_and_the_latest_three_are_kept() {
    let path = file("damaged");
    drop(open(&path));
    let name = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
    let names = ["-damaged", "-damaged-2", "-damaged-3", "-damaged"].map(name);
    for (number, aside) in (0_u64..).zip(&names) {
        let text =
            if number == 1 { format!("SQLite format 3\0 and {number}") } else { format!("no database {number}") };
        let text = text.repeat(1_000);
        std::fs::write(&path, &text).unwrap();
        let written = std::fs::File::options().write(true).open(&path).unwrap();
        written.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(number)).unwrap();
        if number == 0 {
            std::fs::write(name("-wal"), "log").unwrap();
        }
        let opened = Measurements::open(Some(&path), NOW).unwrap();
        let put_aside = opened.put_aside.unwrap();
        assert!(put_aside.ends_with(&aside.display().to_string()) && put_aside.contains("begin anew"), "{put_aside}");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
        assert_eq!(opened.measurements.until().unwrap(), 0);
        drop(opened.measurements);
        assert_eq!(open(&path).until().unwrap(), 0);
    }
    assert!(std::fs::read_to_string(name("-damaged-2")).unwrap().contains("and 1"));
    assert!(std::fs::read_to_string(name("-damaged-3")).unwrap().contains("database 2"));
    assert!(!name("-damaged-wal").exists(), "the log of another file");
    // A directory can be neither read nor put aside as a file.
    let place = std::env::temp_dir();
    assert!(Measurements::open(Some(&place), NOW).unwrap_err().contains(&place.display().to_string()));
    remove(&path);
}

#[test]
fn the_record_begins_with_its_first_minute_and_later_after_deletions() {
    let path = file("began");
    let mut measurements = open(&path);
    assert_eq!(measurements.began().unwrap(), None);
    let begin = MinuteChange::Begin { serial: 7, minute: 100, observed: Observed::Kept };
    measurements.put_minute(101, None, &[begin]).unwrap();
    measurements.put_minute(102, None, &[]).unwrap();
    assert_eq!(measurements.began().unwrap(), Some(100));
    measurements.prune(200 + INTERVAL_RETENTION).unwrap();
    assert_eq!(measurements.began().unwrap(), Some(200));
    // A file of a version that did not record its begin.
    measurements.connection.execute_batch("DROP TABLE record").unwrap();
    let begin = MinuteChange::Begin { serial: 7, minute: 150, observed: Observed::Kept };
    measurements.put_minute(151, None, &[begin]).unwrap_err();
    drop(measurements);
    let mut measurements = open(&path);
    assert_eq!((measurements.began().unwrap(), measurements.created().unwrap()), (Some(100), 0));
    measurements.put_minute(152, None, &[]).unwrap();
    assert_eq!(measurements.began().unwrap(), Some(100));
    remove(&path);
}

/// 100,000 contracts that are kept need one interval each until something changes.
#[test]
fn minutes_of_100_000_contracts_take_a_few_megabytes() {
    let path = file("size");
    let mut measurements = open(&path);
    let contract = |serial: u64| {
        let (tenant, name) = (format!("t{}", serial % 100), format!("contract-{serial:06}"));
        MinuteChange::Contract { serial, tenant, name, begun: 100 }
    };
    let begin = |serial| MinuteChange::Begin { serial, minute: 100, observed: Observed::Kept };
    let first: Vec<MinuteChange> = (0..100_000).map(contract).chain((0..100_000).map(begin)).collect();
    measurements.put_minute(101, None, &first).unwrap();
    (102..112).for_each(|until| measurements.put_minute(until, None, &[]).unwrap());
    let pages =
        |name: &str| measurements.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    let bytes = pages("page_count") * pages("page_size");
    assert!(bytes < 12 << 20, "{bytes}");
    let own = measurements.contracts("t7", 0, 0, 1_000).unwrap();
    assert_eq!((own.len(), own[0].intervals.as_slice()), (1_000, [(100, 111, Observed::Kept)].as_slice()));
    drop(measurements);
    let _ = std::fs::remove_file(path);
}

#[test]
fn a_full_disk_loses_the_whole_write_and_nothing_else() {
    let path = file("full");
    let mut measurements = open(&path);
    measurements.put_chunks(100, &[chunk("a", 90, 1)]).unwrap();
    let pages =
        |name: &str| measurements.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    let full = pages("page_count") + 2;
    let limit = |measurements: &Measurements, pages: i64| {
        measurements.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    limit(&measurements, full);
    let many: Vec<Chunk> = (0..1_000).map(|series| chunk(&format!("series {series}"), 100, 2)).collect();
    let error = measurements.put_chunks(101, &many).unwrap_err();
    assert!(error.contains("full"), "{error}");
    let found = |measurements: &Measurements, series: &str| measurements.chunks(series, [90, 100].into_iter()).unwrap();
    assert_eq!((found(&measurements, "series 0").len(), found(&measurements, "a").len()), (0, 1));
    limit(&measurements, 1_000_000);
    measurements.put_chunks(101, &many).unwrap();
    assert_eq!(found(&measurements, "series 999").len(), 1);
    let _ = std::fs::remove_file(path);
}

#[test]
fn other_users_cannot_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let path = file("mode");
    drop(open(&path));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
    let _ = std::fs::remove_file(path);
}

#[test]
fn gaps_of_the_record_begin_with_the_last_recorded_minute() {
    let path = file("gaps");
    let mut measurements = open(&path);
    measurements.put_minute(101, Some(100 * 60 + 7), &[]).unwrap();
    measurements.put_minute(102, None, &[]).unwrap();
    // A restart that adjoins leaves no gap.
    measurements.put_minute(103, Some(102 * 60), &[]).unwrap();
    measurements.put_minute(111, Some(110 * 60 + 30), &[]).unwrap();
    // Nothing of a minute that cannot be written.
    measurements.put_minute(111, Some(110 * 60 + 50), &[]).unwrap_err();
    drop(measurements);
    let mut measurements = open(&path);
    let (first, second) = ((0, 6_007), (6_180, 6_630));
    assert_eq!(measurements.gaps(0, 9_999).unwrap(), [first, second]);
    assert_eq!(
        (measurements.gaps(6_007, 6_180).unwrap(), measurements.gaps(6_629, 6_630).unwrap()),
        (vec![], vec![second])
    );
    measurements.prune(110 + INTERVAL_RETENTION).unwrap();
    assert_eq!(measurements.gaps(0, 9_999).unwrap(), [second]);
    // The latest are kept.
    let transaction = measurements.connection.transaction().unwrap();
    for at in 0..MAX_GAPS {
        transaction.execute("INSERT INTO gap VALUES (?1, ?2)", [10_000 + 60 * at, 10_030 + 60 * at]).unwrap();
    }
    transaction.commit().unwrap();
    measurements.prune(111 + INTERVAL_RETENTION - 10).unwrap();
    assert_eq!(measurements.gaps(0, 9_999).unwrap(), []);
    let last = 10_030 + 60 * u64::try_from(MAX_GAPS - 1).unwrap();
    let read = measurements.gaps(0, u64::MAX).unwrap();
    assert_eq!((read.len(), read.last().unwrap().1), (1_000, last));
    let _ = std::fs::remove_file(path);
}

/// Catches: a version that takes unknown minutes for kept ones reads them.
#[test]
fn a_file_of_version_1_is_used_on_and_later_versions_are_put_aside() {
    let path = file("version");
    let mut measurements = open(&path);
    let begin = MinuteChange::Begin { serial: 7, minute: 100, observed: Observed::Kept };
    let contract = MinuteChange::Contract { serial: 7, tenant: "shop".to_owned(), name: "web".to_owned(), begun: 100 };
    measurements.put_minute(101, None, &[contract, begin]).unwrap();
    measurements.connection.pragma_update(None, "user_version", 1).unwrap();
    drop(measurements);
    let measurements = open(&path);
    let version = |measurements: &Measurements| {
        measurements.connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(measurements.contracts("shop", 0, 0, 999).unwrap()[0].intervals, [(100, 101, Observed::Kept)]);
    assert_eq!(version(&measurements), 2);
    measurements.connection.pragma_update(None, "user_version", 3).unwrap();
    drop(measurements);
    assert!(Measurements::open(Some(&path), NOW).unwrap().put_aside.is_some());
    remove(&path);
}

/// The file of an earlier version has a begin and no gap: a later gap does not begin with 0.
#[test]
fn a_record_of_an_earlier_version_keeps_its_begin() {
    let path = file("earlier-gaps");
    let mut measurements = open(&path);
    measurements.put_minute(101, Some(6_007), &[]).unwrap();
    measurements.connection.execute_batch("DROP TABLE gap").unwrap();
    drop(measurements);
    let mut measurements = open(&path);
    measurements.put_minute(111, Some(6_630), &[]).unwrap();
    assert_eq!(
        (measurements.began().unwrap(), measurements.gaps(0, 9_999).unwrap()),
        (Some(100), vec![(6_060, 6_630)])
    );
    let _ = std::fs::remove_file(path);
}
