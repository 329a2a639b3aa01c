//! Disks that fail, and ledgers that are not as they should be: the server refuses and prints the remedy, or answers
//! 503 until it can write again. It never gives a wrong answer.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};
use wayleave_faults::{Errno, Shim, WriteFault, read};
use wayleave_repo_checks::wait_until;

use crate::crash::client::look;
use crate::crash::process::{
    LedgerDir, Request, Server, ServerAccess, Start, shim, start, start_gated, start_with, wayleave,
};

const PAGE: usize = 4096;

fn contract(rate: &str) -> Value {
    json!({ "from": "h1", "to": "h3", "rate": rate, "burst": "3000B", "deadline": "20ms" })
}

fn plain(place: &LedgerDir) -> Server {
    start(place, "", |_| {}).serves()
}

/// A ledger with the contract `a`, and the trace of the life that wrote it.
fn filled() -> LedgerDir {
    let place = LedgerDir::new();
    let server = plain(&place);
    assert_eq!(server.access().put("/v1/contracts/a", &contract("1Mbit")).unwrap().status, 201);
    assert!(server.end().0.success());
    place
}

/// That ledger without its log: at the end everything was copied into the database. The log of the first commits has
/// all pages of such a small ledger, and damage to the database then does no harm.
fn settled() -> LedgerDir {
    let place = filled();
    fs::remove_file(place.path("ledger.db-wal")).ok();
    place
}

/// That ledger as a kill leaves it: with a log.
fn killed() -> LedgerDir {
    let place = filled();
    let server = plain(&place);
    for rate in ["2Mbit", "3Mbit", "4Mbit"] {
        assert_eq!(server.access().put("/v1/contracts/b", &contract(rate)).unwrap().status / 100, 2);
    }
    server.kill();
    place
}

fn files(place: &LedgerDir) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = (fs::read_dir(&place.0).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        // SQLite makes these when it reads; they mean nothing.
        .filter(|(name, bytes)| !name.ends_with("-shm") && !bytes.is_empty())
        .collect();
    all.sort();
    all
}

/// One more life over a disk on which every call fails from one on. The answers of the server are true afterwards.
fn live_and_check(place: &LedgerDir, shim: &Shim, fault: &WriteFault) -> &'static str {
    let answered = match start_with(place, shim, fault, None) {
        Start::Ended(status, printed) => {
            assert_eq!(status.code(), Some(1), "{fault:?}: {printed}");
            assert!(printed.starts_with("error: ") && printed.contains("ledger.db"), "{fault:?}: {printed}");
            None
        }
        Start::Serves(server) => {
            let access = server.access();
            let answer = access.put("/v1/contracts/new", &contract("1Mbit")).unwrap();
            if answer.status == 503 {
                assert_eq!(answer.json()["code"], "UNAVAILABLE");
                let ready = access.get("/readyz").unwrap();
                assert_eq!(ready.status, 503, "{fault:?}");
                // Operators see the reason also during the fault.
                let why = access.get("/v1/status").unwrap();
                assert_eq!((why.status, &why.json()["ready"]), (200, &false.into()), "{fault:?}");
                assert!(why.json()["message"].as_str().unwrap().contains("ledger.db"), "{fault:?}: {:?}", why.json());
            } else {
                assert_eq!(answer.status, 201, "{fault:?}");
            }
            let (status, printed) = server.end();
            assert!(status.code().is_some() && !printed.contains("panicked"), "{fault:?}: {status} {printed}");
            Some(answer.status)
        }
    };
    let server = plain(place);
    let seen = look(&server.access(), "").unwrap();
    assert!(seen.contains_key("a"), "{fault:?}");
    match answered {
        Some(201) => assert!(seen.contains_key("new"), "{fault:?}"),
        None => assert!(!seen.contains_key("new"), "{fault:?}"),
        _ => {}
    }
    server.kill();
    match answered {
        None => "refused to serve",
        Some(503) => "answered 503",
        _ => "had answered before",
    }
}

#[test]
fn a_disk_error_at_any_call_makes_no_answer_wrong() {
    let (shim, base) = (shim(), killed());
    let trace = base.path("trace");
    let copy = base.copy();
    let server = start_with(&copy, &shim, &WriteFault::None, Some(&trace)).serves();
    server.access().put("/v1/contracts/new", &contract("1Mbit")).unwrap();
    server.end();
    let points = read(&trace).unwrap().len() as u64;
    let mut outcomes = std::collections::BTreeMap::<String, u64>::new();
    for (errno, stride) in [(Errno::NoSpace, 1), (Errno::Io, 4), (Errno::ReadOnly, 4)] {
        for at in (1..=points).step_by(stride) {
            let outcome = live_and_check(&base.copy(), &shim, &WriteFault::Fail(at, errno));
            *outcomes.entry(format!("{errno:?}: {outcome}")).or_default() += 1;
        }
    }
    println!("{points} writes and syncs: {outcomes:?}");
    assert!(outcomes.len() >= 6, "{outcomes:?}");
}

#[test]
fn freed_disk_space_is_used_without_intervention() {
    let shim = shim();
    for errno in [Errno::NoSpace, Errno::Io, Errno::ReadOnly] {
        let place = filled();
        let gate = place.path("gate");
        let server = start_gated(&place, &shim, &WriteFault::Fail(1, errno), None, Some(&gate)).serves();
        let access = server.access();
        let body = contract("2Mbit").to_string();
        let path = "/v1/contracts/b".to_owned();
        let request = Request { method: "PUT", path, key: Some("k".to_owned()), body };
        fs::write(&gate, "").unwrap();
        let answer = access.ask(&request).unwrap();
        assert_eq!((answer.status, &answer.json()["code"]), (503, &json!("UNAVAILABLE")), "{errno:?}");
        assert_eq!(access.get("/readyz").unwrap().status, 503, "{errno:?}");
        assert_eq!(access.get("/healthz").unwrap().status, 200, "{errno:?}");
        assert_eq!(access.get("/v1/contracts").unwrap().status, 503, "what is on disk is not known now");
        fs::remove_file(&gate).unwrap();
        wait_until("the server is ready again", || access.get("/readyz").unwrap().status == 200);
        let answer = access.ask(&request).unwrap();
        assert_eq!(answer.status, 201, "{errno:?}");
        assert_eq!(look(&access, "").unwrap().len(), 2, "{errno:?}");
        server.kill();
        assert_eq!(look(&plain(&place).access(), "").unwrap().len(), 2, "{errno:?}");
    }
}

/// The server does not serve over these files, prints these words, and has changed nothing.
#[track_caller]
fn refuses(place: &LedgerDir, more: &str, code: i32, words: &[&str]) {
    let before = files(place);
    let printed = start(place, more, |_| {}).refuses(code);
    println!("{printed}");
    for word in words {
        assert!(printed.contains(word), "{word:?} is not in: {printed}");
    }
    assert!(files(place) == before, "files were changed");
}

/// Changes a file of a place.
fn change(place: &LedgerDir, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let path = place.path(file);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
}

/// Fate of a ledger after some damage: it is served as it was (false), or refused (true).
#[track_caller]
fn is_refused(place: &LedgerDir, whole: &[(String, String)], what: &str) -> bool {
    match start(place, "", |_| {}) {
        Start::Serves(server) => {
            assert_eq!(rates_of(&server.access()), whole, "{what}");
            false
        }
        Start::Ended(status, printed) => {
            assert_eq!(status.code(), Some(1), "{what}: {printed}");
            assert!(printed.contains("ledger.db") && !printed.contains("panicked"), "{what}: {printed}");
            true
        }
    }
}

#[test]
fn a_partially_written_page_is_refused_or_harmless() {
    let base = settled();
    let whole = rates(&base.copy());
    let pages = fs::metadata(base.ledger()).unwrap().len() as usize / PAGE;
    let (mut torn, mut refused) = (0, 0);
    for page in 0..pages {
        let place = base.copy();
        let mut is_torn = false;
        change(&place, "ledger.db", |bytes| {
            let half = &mut bytes[page * PAGE + PAGE / 2..(page + 1) * PAGE];
            is_torn = half.iter().any(|byte| *byte != 0);
            half.fill(0);
        });
        if is_torn {
            torn += 1;
            refused += usize::from(is_refused(&place, &whole, &format!("page {page}")));
        }
    }
    println!("{torn} of {pages} pages torn, {refused} refused: the others hold nothing that counts");
    assert!(refused > 0, "{refused} of {torn}");
}

#[test]
fn a_flipped_bit_anywhere_is_refused_or_harmless() {
    let base = killed();
    let whole = rates(&base.copy());
    let mut refused = 0;
    for (file, places) in [("ledger.db", 12), ("ledger.db-wal", 12), ("ledger.db-seal", 12)] {
        let length = fs::metadata(base.path(file)).unwrap().len() as usize;
        for step in 0..places {
            let place = base.copy();
            change(&place, file, |bytes| bytes[(step * length / places) + 37 * step % 200] ^= 1 << (step % 8));
            refused += usize::from(is_refused(&place, &whole, &format!("{file}, {step}")));
        }
    }
    assert!(refused >= 12, "{refused}");
}

fn rates(place: &LedgerDir) -> Vec<(String, String)> {
    rates_of(&plain(place).access())
}

fn rates_of(access: &ServerAccess) -> Vec<(String, String)> {
    look(access, "").unwrap().into_iter().map(|(name, shown)| (name, shown.rate)).collect()
}

#[test]
fn truncated_old_or_missing_files_are_refused() {
    let (old, base) = (filled(), killed());
    let case = |words: &[&str], spoil: &dyn Fn(&LedgerDir)| {
        let place = base.copy();
        spoil(&place);
        refuses(&place, "", 1, words);
    };
    // Without the log, which may still have the same pages.
    let cut = filled();
    drop(fs::remove_file(cut.path("ledger.db-wal")));
    change(&cut, "ledger.db", |bytes| bytes.truncate(bytes.len() / 2));
    refuses(&cut, "", 1, &["ledger.db is damaged", "Restore a backup"]);
    case(&["was acknowledged", "lost"], &|place| {
        change(place, "ledger.db-wal", |bytes| bytes.truncate(bytes.len() / 2));
    });
    case(&["was acknowledged", "lost"], &|place| fs::remove_file(place.path("ledger.db-wal")).unwrap());
    case(&["ledger.db-seal", "damaged"], &|place| change(place, "ledger.db-seal", |bytes| bytes.truncate(10)));
    case(&["no seal", "reseal"], &|place| fs::remove_file(place.path("ledger.db-seal")).unwrap());
    case(&["missing or empty", "Restore a backup"], &|place| {
        fs::remove_file(place.path("ledger.db")).unwrap();
        fs::remove_file(place.path("ledger.db-wal")).unwrap();
    });
    // An older copy: the same ledger, before its last commits.
    let first = base.copy();
    let server = plain(&first);
    assert!(server.end().0.success());
    let copied = fs::read(first.path("ledger.db")).unwrap();
    let server = plain(&first);
    assert_eq!(server.access().put("/v1/contracts/b", &contract("7Mbit")).unwrap().status, 200);
    assert!(server.end().0.success());
    fs::write(first.path("ledger.db"), copied).unwrap();
    // With its log it would still be whole.
    drop(fs::remove_file(first.path("ledger.db-wal")));
    refuses(&first, "", 1, &["was acknowledged", "lost"]);
    // The database of one with the seal of another.
    case(&["another ledger"], &|place| {
        fs::copy(old.path("ledger.db-seal"), place.path("ledger.db-seal")).unwrap();
    });
}

#[test]
fn a_file_that_is_no_ledger_of_this_version_is_refused() {
    let place = LedgerDir::new();
    fs::write(place.ledger(), "to do: buy milk\n".repeat(500)).unwrap();
    fs::set_permissions(place.ledger(), fs::Permissions::from_mode(0o600)).unwrap();
    refuses(&place, "", 1, &["is not a Wayleave ledger", "nothing was changed"]);
    let place = settled();
    // The user version of SQLite's header (https://sqlite.org/fileformat.html, 1.3): offset 60, big-endian.
    change(&place, "ledger.db", |bytes| bytes[60..64].copy_from_slice(&99_u32.to_be_bytes()));
    refuses(&place, "", 1, &["has format 99", "Use the version that wrote it"]);
}

#[test]
fn files_accessible_to_others_are_refused() {
    for (file, words) in [
        ("ledger.db", ["can be read or changed by other users", "chmod 600"]),
        ("ledger.db-seal", ["can be read or changed by other users", "chmod 600"]),
    ] {
        let place = filled();
        fs::set_permissions(place.path(file), fs::Permissions::from_mode(0o666)).unwrap();
        refuses(&place, "", 1, &words);
    }
    let place = filled();
    fs::set_permissions(place.path("ledger.db-operator"), fs::Permissions::from_mode(0o644)).unwrap();
    let file = place.path("ledger.db-operator");
    let printed = start(&place, &format!("--operator-token-file {}", file.display()), |_| {}).refuses(1);
    assert!(printed.contains("readable by other users; run chmod 600"), "{printed}");
    let missing = LedgerDir::new();
    fs::remove_dir(&missing.0).unwrap();
    let printed = start(&missing, "", |_| {}).refuses(1);
    assert!(printed.contains("does not exist. Create it"), "{printed}");
}

#[test]
fn a_ledger_has_one_server() {
    let place = filled();
    let server = plain(&place);
    let printed = start(&place, "", |_| {}).refuses(1);
    assert!(printed.contains("is in use by") && printed.contains("one owner at a time"), "{printed}");
    for command in ["ledger reseal", "ledger check"] {
        let mut command: Command = wayleave(command);
        let output = command.arg(place.ledger()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(rates_of(&server.access()).len(), 1);
    server.kill();
    // A copy is checked elsewhere, with the log that a killed server has left, and nothing is touched.
    let files = || ["", "-wal", "-seal"].map(|end| fs::read(format!("{}{end}", place.ledger().display())).ok());
    let before = files();
    let output = wayleave("ledger check --copy -t star:hosts=4").arg(place.ledger()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("sound: a controller can start with it"));
    assert!(before == files() && before[1].is_some());
    assert_eq!(rates(&place).len(), 1, "who was killed holds nothing any more");
}

#[test]
fn a_network_other_than_that_of_the_ledger_is_refused() {
    let place = filled();
    for (topology, words) in [
        ("star:hosts=2", ["default:a", "h3"]),
        ("star:hosts=4,rate=500kbit", ["a queue of link", "would exceed its delay budget"]),
    ] {
        let printed = start(&place, &format!("-t {topology}"), |_| {}).refuses(1);
        println!("{printed}");
        assert!(words.iter().all(|word| printed.contains(word)), "{topology}: {printed}");
        assert!(printed.contains("was written for another topology"), "{topology}: {printed}");
    }
    // The right one is still right.
    assert_eq!(rates(&place).len(), 1);
}
