//! `rollback`: contracts as they were, at a ledger file, so that every command opens it again.

use std::time::SystemTime;

use serde_json::{Value, json};
use wayleave_units::WallTime;

use super::client::{Directory, Kinds, Server};

const HEAD: &str = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n";

fn now() -> String {
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    WallTime::from_nanos(u64::try_from(nanos).unwrap()).to_string()
}

/// The terms of all contracts, by identity.
fn terms(kinds: &Kinds) -> Vec<(String, Value)> {
    let list = kinds.run("get contracts -o json").ends_with(0).json();
    let spec = |one: &Value| {
        let mut one = one.clone();
        one.as_object_mut().unwrap().remove("status");
        (one["id"].as_str().unwrap().to_owned(), one)
    };
    let items = list["items"].as_array().unwrap().iter();
    items.filter(|one| one["status"]["state"] != "released").map(spec).collect()
}

fn outcomes(report: &Value) -> Vec<String> {
    let items = report["items"].as_array().unwrap().iter();
    let mut all: Vec<String> =
        items.map(|one| format!("{} {}", one["id"].as_str().unwrap(), one["outcome"].as_str().unwrap())).collect();
    all.sort();
    all
}

/// Applies a file of these contracts.
fn apply(kinds: &Kinds, contracts: &str) {
    kinds.write("change.yaml", &(HEAD.to_owned() + contracts));
    kinds.run("apply -f change.yaml").ends_with(0);
}

/// Deletes one contract of each sort of change, changes others with and without a decision, and creates one.
fn change(kinds: &Kinds) {
    kinds.run("delete contract shop:copy").ends_with(0);
    kinds.run("delete contract default:bulk").ends_with(0);
    apply(
        kinds,
        "    - { name: db, tenant: shop, bandwidth: { hose: [h1, h4, h6, h8], min: 1200Mbit } }
    - { name: search, tenant: web, objective: { deadline: 10ms, members: [h2, h3, h5, h8], weight: 600Mbit }, labels: { app: new }, priority: 9 }
    - { name: bulk, from: h1, to: h8, rate: 1Mbit, burst: 3kB, deadline: 5ms }
    - { name: extra, bestEffort: { members: [h1, h2] } }
",
    );
    apply(kinds, "    - { name: extra, bestEffort: { members: [h1, h2] }, labels: { app: new } }\n");
}

const CHANGED: [&str; 5] =
    ["default:bulk changed", "default:extra deleted", "shop:copy created", "shop:db changed", "web:search changed"];

#[test]
fn contracts_of_every_kind_are_restored_to_their_earlier_state() {
    let kinds = Kinds::new("rollback");
    let (before, start) = (terms(&kinds), now());
    let last = kinds.run("events -o json").ends_with(0).stdout;
    let last: Value = serde_json::from_str(last.trim().lines().last().unwrap()).unwrap();
    change(&kinds);
    let changed = terms(&kinds);
    assert_ne!(changed, before);
    let number = last["number"].as_u64().unwrap();
    for to in [start.clone(), number.to_string()] {
        let tried = kinds.run(&format!("rollback --to {to} --dry-run -o json")).ends_with(0).json();
        assert_eq!(outcomes(&tried), CHANGED);
        assert_eq!((&tried["dryRun"], &tried["unknown"], &tried["ended"]), (&json!(true), &json!([]), &json!([])));
    }
    let table = kinds.run(&format!("rollback --to {start} --dry-run")).ends_with(0).stdout;
    for part in [
        "bandwidth.min: 1.2Gbit -> 1.5Gbit",
        "priority: 9 -> not set",
        "labels.app: new -> not set",
        "bestEffort.members",
        "planned: 1 created, 3 changed, 1 deleted",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let asked = kinds.run(&format!("rollback --to {start}")).ends_with(2);
    assert!(
        asked.stderr.contains("add --yes") && asked.stdout.contains("shop:copy"),
        "{}{}",
        asked.stdout,
        asked.stderr
    );
    assert_eq!(terms(&kinds), changed, "neither a question nor a dry run changes anything");
    let middle = now();
    let done = kinds.run(&format!("rollback --to {start} --yes -o json")).ends_with(0).json();
    assert_eq!(outcomes(&done), CHANGED);
    assert_eq!(terms(&kinds), before);
    assert!(kinds.run(&format!("rollback --to {start}")).ends_with(0).stdout.contains("nothing to do"));
    // A rollback can be rolled back.
    kinds.run(&format!("rollback --to {middle} --yes")).ends_with(0);
    assert_eq!(terms(&kinds), changed);
}

#[test]
fn a_rollback_can_be_of_one_tenant_or_of_contracts_with_a_label() {
    let kinds = Kinds::new("rollback-some");
    let start = now();
    change(&kinds);
    let of = |more: &str| {
        outcomes(&kinds.run(&format!("rollback --to {start} --dry-run -o json {more}")).ends_with(0).json())
    };
    assert_eq!(of("--tenant shop"), ["shop:copy created", "shop:db changed"]);
    assert_eq!(of("-l app=new"), ["default:extra deleted", "web:search changed"], "labels of then or of now");
    assert_eq!(of("-l app=new --tenant web"), ["web:search changed"]);
    kinds.run(&format!("rollback --to {start} --tenant shop --yes")).ends_with(0);
    assert_eq!(of(""), ["default:bulk changed", "default:extra deleted", "web:search changed"]);
}

/// Capacity that was free then is not free now: the answer names the contract, and nothing is changed.
#[test]
fn a_rollback_that_does_not_fit_changes_nothing() {
    let kinds = Kinds::new("rollback-refused");
    let start = now();
    kinds.run("delete contract shop:db").ends_with(0);
    kinds.run("delete contract web:search").ends_with(0);
    let most = (2..9).rev().find(|min| {
        kinds.write(
            "most.yaml",
            &format!(
                "{HEAD}    - {{ name: most, tenant: plant, bandwidth: {{ hose: [h1, h4, h6, h8], min: {min}Gbit }} }}\n"
            ),
        );
        kinds.run("apply -f most.yaml").code == Some(0)
    });
    assert!(most.is_some());
    let before = terms(&kinds);
    for more in ["--dry-run", "--yes"] {
        let run = kinds.run(&format!("rollback --to {start} --tenant shop {more} -o json")).ends_with(3).json();
        assert_eq!(outcomes(&run), ["shop:db refused"], "{more}: {run}");
        assert_eq!(terms(&kinds), before);
    }
    // The share of a minimum is held until its last packets have left, so that it cannot be given to another one in
    // one batch.
    let run = kinds.run(&format!("rollback --to {start} --yes")).ends_with(3);
    assert!(
        run.stderr.contains("note: the reservation of plant:most is held until its last packets have left"),
        "{}",
        run.stderr
    );
    assert_eq!(terms(&kinds), before);
}

#[test]
fn a_malformed_time_or_event_is_refused() {
    let kinds = Kinds::new("rollback-wrong");
    for (to, what) in [
        ("yesterday", "expected an event number or a time (RFC 3339)"),
        ("2500-01-01T00:00:00Z", "is in the future"),
        ("99999", "no event 99999"),
    ] {
        let wrong = kinds.run(&format!("rollback --to {to} --yes")).ends_with(2).stderr;
        assert!(wrong.contains(what), "{to}: {wrong}");
    }
    assert!(kinds.run("rollback --yes").ends_with(2).stderr.contains("--to <EVENT|TIME>"));
}

/// A tenant whose history was pushed out is named and left alone; others are rolled back.
#[test]
fn contracts_without_known_history_are_left_unchanged() {
    let directory = Directory::new("rollback-unknown");
    let serve = "serve -t fat-tree:k=4 --ledger l.db --listen 127.0.0.1:0 --log-level warn --history-limit 8kB";
    let server = Server::run(&directory.0, &serve.split(' ').collect::<Vec<_>>());
    let run = |line: &str| {
        let line = format!("{line} --server {} --token-file l.db-operator", server.url);
        directory.run(&line.split(' ').collect::<Vec<_>>())
    };
    let apply = |contracts: &str| {
        std::fs::write(directory.0.join("change.yaml"), HEAD.to_owned() + contracts).unwrap();
        run("apply -f change.yaml").ends_with(0);
    };
    let of_acme = |rate: &str| {
        format!(
            "    - {{ name: one, tenant: acme, from: web-1, to: db-1, rate: {rate}, burst: 300B, deadline: 5ms }}\n"
        )
    };
    run("apply -f tenants.yaml").ends_with(0);
    apply(&of_acme("1Mbit"));
    let start = now();
    apply(&of_acme("2Mbit"));
    for round in 0..3 {
        let line = |at: usize| {
            format!("    - {{ name: c{round}-{at}, from: h1, to: h9, rate: 1Mbit, burst: 300B, deadline: 5ms }}\n")
        };
        apply(&(0..20).map(line).collect::<String>());
    }
    let done = run(&format!("rollback --to {start} --yes -o json")).ends_with(7);
    assert_eq!(outcomes(&done.json()), ["acme:one changed"]);
    assert_eq!(done.json()["unknown"][0]["tenant"], "default");
    let note = "note: contracts of tenant default are not changed: their state at that time is unknown, only since ";
    assert!(done.stderr.starts_with(note), "{}", done.stderr);
    let rate = run("get contract acme:one -o json").ends_with(0).json()["rate"].clone();
    assert_eq!(rate, "1Mbit");
    let count = run("get contracts -o json --tenant default").ends_with(0).json()["items"].as_array().unwrap().len();
    assert_eq!(count, 60);
    assert!(run(&format!("rollback --to {start} --tenant default")).ends_with(7).stdout.contains("nothing to do"));
}
