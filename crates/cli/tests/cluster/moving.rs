//! From one controller to a cluster and back; and the treatment of large and old entries by the log in a real etcd.

use std::path::Path;
use std::process::{Command, Output};

use nix::sys::signal::Signal;
use wayleave_replica::{ClusterMember, Etcd as _, Gateway, Lease, LogError, MemberRole, Settings, State};
use wayleave_repo_checks::{Random, wait_for, wait_until};
use wayleave_store::{CommitStep, StoredRecord};

use super::clients::{get, put};
use super::processes::{self, Etcd, Process, folder, free};
use super::{alone, text};

pub(crate) fn wayleave(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wayleave")).args(arguments).output().unwrap()
}

/// A controller that answers, and where.
fn serve(folder: &Path, ledger: &Path, etcd: Option<&str>) -> (Process, String) {
    let etcd = etcd.map(|etcd| format!("--etcd={etcd}"));
    let more: Vec<&str> = ["-t", "fat-tree:k=4"].into_iter().chain(etcd.as_deref()).collect();
    serve_with(folder, ledger, &more)
}

/// The same with its topology and other options.
pub(crate) fn serve_with(folder: &Path, ledger: &Path, more: &[&str]) -> (Process, String) {
    let (process, url) = start_with(folder, ledger, more);
    wait_for("a controller answers", || ureq::get(format!("{url}/healthz")).call().ok());
    (process, url)
}

/// Waits until one of the controllers leads, other than `besides`, and returns its index.
pub(crate) fn await_leader(controllers: &[(Process, String)], token: &str, besides: Option<usize>) -> usize {
    wait_for("a leader", || {
        let leads =
            |at: &usize| get(&controllers[*at].1, "/v1/status", token).is_some_and(|(role, _)| role == "leader");
        (0..controllers.len()).filter(|at| Some(*at) != besides).find(leads)
    })
}

/// The same without waiting for it.
pub(crate) fn start_with(folder: &Path, ledger: &Path, more: &[&str]) -> (Process, String) {
    let [port] = free();
    let mut arguments = vec![
        env!("CARGO_BIN_EXE_wayleave").to_owned(),
        "serve".to_owned(),
        format!("--ledger={}", ledger.display()),
        format!("--listen=127.0.0.1:{port}"),
        format!("--operator-token-file={}", folder.join("token").display()),
    ];
    arguments.extend(more.iter().map(|option| (*option).to_owned()));
    let process = Process::start(&folder.join("log"), &arguments);
    (process, format!("http://127.0.0.1:{port}"))
}

pub(crate) fn end((mut process, _): (Process, String)) {
    process.signal(Signal::SIGTERM);
    process.wait();
}

pub(crate) fn a_ledger_is_converted_to_a_cluster_and_back() {
    let _alone = alone();
    let folder = folder("moving");
    let etcd = Etcd::start(&folder, 1);
    let (first, second) = (folder.join("first.db"), folder.join("second.db"));
    let (one, two) = (first.to_str().unwrap(), second.to_str().unwrap());
    let token = || processes::token(&folder);

    let alone = serve(&folder, &first, None);
    assert_eq!(put(&alone.1, "before", &token()), 201);
    end(alone);
    let foreign =
        wayleave(&["serve", "-t", "fat-tree:k=4", "--ledger", one, "--listen", "127.0.0.1:1", "--etcd", &etcd.urls()]);
    assert!(!foreign.status.success(), "a ledger of its own is not mixed with that of a cluster");
    let joined = wayleave(&["ledger", "join", one, "--etcd", &etcd.urls()]);
    assert!(joined.status.success() && text(&joined.stdout).contains("starts with"), "{}", text(&joined.stderr));
    let again = wayleave(&["ledger", "join", one, "--etcd", &etcd.urls()]);
    assert!(text(&again.stderr).contains("already is a copy of a cluster's ledger"), "{}", text(&again.stderr));

    let leader = serve(&folder, &first, Some(&etcd.urls()));
    let follower = serve(&folder, &second, Some(&etcd.urls()));
    wait_for("a leader", || (get(&leader.1, "/v1/status", &token())?.0 == "leader").then_some(()));
    assert_eq!(put(&leader.1, "within", &token()), 201);
    assert_eq!(put(&follower.1, "elsewhere", &token()), 421);
    let has = |url: &str, name: &str| {
        let (role, found) = get(url, &format!("/v1/contracts/default:{name}"), &token())?;
        (found["id"] == format!("default:{name}")).then_some(role)
    };
    for name in ["before", "within"] {
        assert_eq!(wait_for("the follower has it", || has(&follower.1, name)), "follower");
    }
    standings_are_shown(&folder, &leader.1, &follower.1);
    // A client that knows both addresses finds the one that leads.
    let both = format!("{},{}", follower.1, leader.1);
    let response = Command::new(env!("CARGO_BIN_EXE_wayleave"))
        .args(["delete", "contract", "default:within", "--server", &both])
        .env("WAYLEAVE_TOKEN_FILE", folder.join("token"))
        .output()
        .unwrap();
    assert!(response.status.success(), "{}", text(&response.stderr));
    wait_until("the follower has heard of it", || has(&follower.1, "within").is_none());
    end(leader);
    end(follower);

    a_copy_is_known_as_one(two);
    let left = wayleave(&["ledger", "leave", two]);
    assert!(left.status.success(), "{}", text(&left.stderr));
    let not = wayleave(&["ledger", "leave", two]);
    assert!(text(&not.stderr).contains("is not a copy of a cluster's ledger"), "{}", text(&not.stderr));
    let alone = serve(&folder, &second, None);
    assert_eq!(get(&alone.1, "/v1/contracts/default:before", &token()), None, "one by itself says nothing of its role");
    assert_eq!(put(&alone.1, "after", &token()), 201);
    end(alone);
}

/// Commands that open ledgers recognise a copy of a cluster's ledger and name `ledger leave`.
fn a_copy_is_known_as_one(copy: &str) {
    let topology = ["-t", "fat-tree:k=4"];
    for more in [&[][..], &topology] {
        let checked = wayleave(&[&["ledger", "check", copy], more].concat());
        let output = text(&checked.stdout);
        assert!(checked.status.success(), "{output}{}", text(&checked.stderr));
        assert!(output.contains("a copy of the ledger of cluster wayleave, up to batch "), "{output}");
    }
    let listen = ["serve", "--listen", "127.0.0.1:1"];
    for command in [&["get", "contracts"][..], &["status"], &["get", "links"], &listen] {
        let asked = wayleave(&[command, &["--ledger", copy], &topology].concat());
        let output = text(&asked.stderr);
        let leave = format!("wayleave ledger leave {copy}");
        assert!(!asked.status.success() && output.contains(&leave) && output.contains("cluster wayleave"), "{output}");
    }
}

/// `wayleave status` with both addresses names the leader, and the progress of the other one; metrics agree.
fn standings_are_shown(folder: &Path, leader: &str, follower: &str) {
    let absent = format!("http://127.0.0.1:{}", free::<1>()[0]);
    let screen = || {
        let response = Command::new(env!("CARGO_BIN_EXE_wayleave"))
            .args(["status", "-o", "json", "--server", &format!("{follower},{leader},{absent}")])
            .env("WAYLEAVE_TOKEN_FILE", folder.join("token"))
            .output()
            .unwrap();
        assert!(response.status.success(), "{}", text(&response.stderr));
        serde_json::from_slice::<serde_json::Value>(&response.stdout).unwrap()
    };
    let screen = wait_for("the follower has all", || {
        let found = screen();
        (found["controllers"][0]["behind"] == 0).then_some(found)
    });
    let [one, two, three] = [0, 1, 2].map(|at| &screen["controllers"][at]);
    assert_eq!((&one["role"], &one["leader"]), (&"follower".into(), &leader.into()), "{one}");
    assert_eq!((&two["role"], &two["behind"], &two["commit"]), (&"leader".into(), &0.into(), &one["commit"]), "{two}");
    assert_eq!(two["epoch"], one["epoch"]);
    assert!(two["leaseRemainingMs"].as_u64().unwrap() > 0 && one["leaseRemainingMs"] == 0, "{two}");
    assert!(three["message"].as_str().unwrap().contains("no answer"), "{three}");
    for (url, role, standing) in [(leader, "leader", "leads"), (follower, "follower", "follows")] {
        let token = std::fs::read_to_string(folder.join("token")).unwrap();
        let asked = ureq::get(format!("{url}/v1/status")).header("authorization", format!("Bearer {}", token.trim()));
        let asked = asked.call().unwrap();
        let header = |name: &str| asked.headers().get(name).unwrap().to_str().unwrap().to_owned();
        assert_eq!((header("x-wayleave-role"), header("x-wayleave-standing")), (role.to_owned(), standing.to_owned()));
    }
    let metric = |url: &str, name: &str| {
        let token = std::fs::read_to_string(folder.join("token")).unwrap();
        let asked = ureq::get(format!("{url}/metrics")).header("authorization", format!("Bearer {}", token.trim()));
        let response = asked.call().unwrap().body_mut().read_to_string().unwrap();
        let line = response.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {response}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    for (url, standing) in [(leader, "leads"), (follower, "follows")] {
        assert_eq!(metric(url, &format!("wayleave_cluster_standing{{standing=\"{standing}\"}}")), 1.0);
        assert_eq!(metric(url, "wayleave_cluster_standing{standing=\"unknown\"}"), 0.0);
        assert_eq!(metric(url, "wayleave_cluster_leaders_total"), 1.0);
        assert_eq!(metric(url, "wayleave_cluster_commit"), one["commit"].as_f64().unwrap());
        assert_eq!(metric(url, "wayleave_cluster_epoch"), one["epoch"].as_f64().unwrap());
    }
    assert!(metric(leader, "wayleave_cluster_lease_left_seconds") > 0.0);
    assert_eq!(metric(follower, "wayleave_cluster_lease_left_seconds"), 0.0);
    let batches = metric(leader, "wayleave_cluster_batches_total");
    // With each its transaction, and those that were needed to lead.
    assert!(batches > 0.0 && metric(leader, "wayleave_etcd_transaction_seconds_count") > batches);
    assert_eq!(metric(follower, "wayleave_cluster_batches_total"), 0.0);
}

/// 160 kB that can hardly be made smaller.
fn noise(seed: u64) -> String {
    let mut random = Random::new(seed);
    (0..12_000).map(|_| format!("{:08x}\u{1F600}\n", random.number() >> 32)).collect()
}

pub(crate) fn batches_of_any_size_and_snapshots_are_read_back_unchanged() {
    let _alone = alone();
    let folder = folder("log");
    let etcd = Etcd::start(&folder, 1);
    let member = |id: &str| {
        let settings = Settings {
            cluster: "log".to_owned(),
            id: id.to_owned(),
            address: format!("http://{id}"),
            lease_s: 60,
            basis: None,
            replaces: None,
        };
        ClusterMember::new(Gateway::new(etcd.access()), settings, Lease::default(), (State::new(), 0))
    };
    let (quiet, fits) = (&mut |_: u64, _: &[CommitStep]| Ok(()), &mut |_: &State| Ok(()));
    let (mut leader, mut early) = (member("a"), member("b"));
    assert_eq!(leader.follow(0, quiet, fits).unwrap(), MemberRole::Leads);
    assert!(
        matches!(early.follow(0, quiet, fits).unwrap(), MemberRole::Follows(Some(found)) if found.address == "http://a")
    );
    assert_eq!(early.commit(&[]).unwrap_err(), LogError::Deposed);
    let record = |key: usize, size: usize| {
        CommitStep::Put(StoredRecord::new("contract", format!("k{key}"), "x\u{1F600}\n".repeat(size)))
    };
    // Of three parts and more; then many small ones, more than are read at once.
    let large: Vec<CommitStep> =
        (0..40).map(|key| CommitStep::Put(StoredRecord::new("contract", format!("k{key}"), noise(key)))).collect();
    leader.commit(&large).unwrap();
    let parts = Gateway::new(etcd.access()).range("/wayleave/log/part/", "/wayleave/log/part0", 100).unwrap().keys;
    assert!(parts.len() >= 3 && parts.iter().all(|part| part.value.len() <= 1 << 20), "{} parts", parts.len());
    for key in 0..70 {
        leader.commit(&[record(key % 50, 3), CommitStep::delete("contract", format!("k{}", (key + 25) % 50))]).unwrap();
    }
    early.follow(0, quiet, fits).unwrap();
    assert_eq!((early.state(), early.number()), (leader.state(), 71));
    leader.tidy(true).unwrap();
    leader.commit(&[record(99, 1)]).unwrap();
    // A member that begins now, and one that was there before, find the snapshot and the batches behind it.
    let mut late = member("c");
    late.follow(0, quiet, fits).unwrap();
    early.follow(0, quiet, fits).unwrap();
    assert_eq!((late.state(), late.number(), early.state()), (leader.state(), 72, leader.state()));
    leader.resign().unwrap();
    assert_eq!(early.follow(0, quiet, fits).unwrap(), MemberRole::Leads);
    assert_eq!(leader.commit(&[record(1, 1)]).unwrap_err(), LogError::Deposed);
    assert_eq!(early.commit(&[record(1, 1)]).unwrap(), 73);
    // An etcd that has lost what a controller has seen.
    let settings = Settings {
        cluster: "other".to_owned(),
        id: "d".to_owned(),
        address: String::new(),
        lease_s: 60,
        basis: None,
        replaces: None,
    };
    let mut ahead = ClusterMember::new(Gateway::new(etcd.access()), settings, Lease::default(), (State::new(), 5));
    let why = ahead.follow(0, quiet, fits).unwrap_err().to_string();
    assert!(why.contains("this controller has seen batch 5"), "{why}");
    drop(etcd);
}
