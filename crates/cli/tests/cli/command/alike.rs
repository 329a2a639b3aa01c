//! The same files mean the same everywhere: `plan`, `what-if` with files, and a server that the files were applied to decide alike, on random
//! networks with random contracts of every kind. `ALIKE_SEED` runs one of them alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use wayleave_repo_checks::TempFolder;

use super::kinds::{run, serve};

const SEEDS: std::ops::Range<u64> = 0..6;

fn topology(random: &mut ChaCha8Rng) -> (String, u64) {
    let builders: [(&str, u64); 4] = [
        ("{ kind: leaf-spine, leaves: 2, spines: 2, hosts: 3, rate: 10Gbit, delay: 1us, queues: 8 }", 6),
        ("{ kind: star, hosts: 5, rate: 1Gbit, delay: 20us, queues: 8 }", 5),
        ("{ kind: line, switches: 3, hosts: 2, rate: 10Gbit, delay: 5us, queues: 8 }", 6),
        ("{ kind: fat-tree, k: 4, rate: 1Gbit, delay: 1us, queues: 8 }", 16),
    ];
    let &(builder, hosts) = builders.choose(random).unwrap();
    let classes = "{ latency: 5, guaranteed: 6, objective: 3, bestEffort: 1 }";
    let head = "apiVersion: wayleave/v1\nkind: Topology\nmetadata: { name: random }\nspec:\n";
    (format!("{head}  builder: {builder}\n  classes: {classes}\n"), hosts)
}

/// Names of different hosts, in a random order.
fn some(random: &mut ChaCha8Rng, hosts: u64, count: usize) -> Vec<String> {
    let mut all: Vec<u64> = (1..=hosts).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count.min(hosts as usize) {
        let at = random.random_range(0..all.len());
        chosen.push(format!("h{}", all.swap_remove(at)));
    }
    chosen
}

fn contracts(random: &mut ChaCha8Rng, hosts: u64) -> String {
    let mut text = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n".to_owned();
    for number in 0..random.random_range(6..16) {
        let tenant = ["", ", tenant: shop", ", tenant: plant"].choose(random).unwrap();
        let mbit = *[1, 30, 200, 700, 3_000].choose(random).unwrap();
        let many = random.random_range(2..5);
        let members = some(random, hosts, many);
        let (from, to, list) = (&members[0], &members[1], members.join(", "));
        let within = if random.random_bool(0.3) { ", within: 20ms" } else { "" };
        let terms = match random.random_range(0..6) {
            0 | 1 => {
                let ms = *[1, 2, 20].choose(random).unwrap();
                let protection = if random.random_bool(0.2) { ", protection: 2" } else { "" };
                format!("from: {from}, to: {to}, rate: {mbit}Mbit, burst: 3kB, deadline: {ms}ms{protection}")
            }
            2 => format!("bandwidth: {{ from: {from}, to: {to}, min: {mbit}Mbit{within} }}"),
            3 => format!("bandwidth: {{ hose: [{list}], min: {mbit}Mbit{within} }}"),
            4 => format!("objective: {{ goal: completion, members: [{list}], min: {mbit}Mbit }}"),
            _ => format!("bestEffort: {{ members: [{list}] }}"),
        };
        writeln!(text, "    - {{ name: c{number}{tenant}, {terms} }}").unwrap();
    }
    text
}

fn json_of(directory: &Path, line: &str, codes: &[i32]) -> Value {
    let run = run(directory, line);
    assert!(codes.contains(&run.code.unwrap()), "{line}: {:?}\n{}", run.code, run.stderr);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{line}: {error}\n{}{}", run.stdout, run.stderr))
}

/// Decision about each contract: the reason of a refusal, or the promise.
fn planned(plan: &Value) -> BTreeMap<String, Value> {
    let of = |one: &Value| {
        let id = format!("{}:{}", one["tenant"].as_str().unwrap_or("default"), one["name"].as_str().unwrap());
        let decided = if one["decision"] == "admitted" {
            json!([one["bound_ns"], one["certainty"], one["there_within_ns"]])
        } else {
            one["reason"].clone()
        };
        (id, decided)
    };
    let mut decided: BTreeMap<String, Value> = plan["requests"].as_array().unwrap().iter().map(of).collect();
    // Certainty of a promise after all of the list, where that is another word than when it was decided.
    for one in plan["changed_certainty"].as_array().into_iter().flatten() {
        let end = format!(":{}", one["name"].as_str().unwrap());
        let (_, promised) = decided.iter_mut().find(|(id, _)| id.ends_with(&end)).unwrap();
        promised[1] = one["to"].clone();
    }
    decided
}

fn served(applied: &Value, contracts: &Value) -> BTreeMap<String, Value> {
    let refused = applied["items"].as_array().unwrap().iter().filter(|one| one["outcome"] == "refused");
    let refused = refused.map(|one| (one["id"].as_str().unwrap().to_owned(), one["error"]["code"].clone()));
    let kept = contracts["items"].as_array().unwrap().iter().map(|one| {
        let status = &one["status"];
        let promised = json!([status["boundNs"], status["certainty"], status["withinNs"]]);
        (one["id"].as_str().unwrap().to_owned(), promised)
    });
    refused.chain(kept).collect()
}

fn alike(seed: u64) {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let directory = TempFolder::new("alike");
    let (topology, hosts) = topology(random);
    let contracts = contracts(random, hosts);
    let tenants = "apiVersion: wayleave/v1\nkind: Tenants\nspec: { tenants: [ { name: shop }, { name: plant } ] }\n";
    for (name, text) in [("t.yaml", topology.as_str()), ("c.yaml", &contracts), ("tenants.yaml", tenants)] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let context = format!("ALIKE_SEED={seed}\n{topology}\n{contracts}");

    let plan = planned(&json_of(&directory, "plan -t t.yaml -f c.yaml -o json", &[0, 3]));
    let server = serve(&directory);
    let at = |line: &str| format!("{line} --server {} --token-file l.db-operator", server.url);
    assert_eq!(run(&directory, &at("apply -f tenants.yaml")).code, Some(0));
    let applied = json_of(&directory, &at("apply -f c.yaml -o json"), &[0, 3]);
    let listed = json_of(&directory, &at("get contracts -o json"), &[0]);
    assert_eq!(plan, served(&applied, &listed), "{context}");

    // The output of the server is a file of those contracts to `plan`. They come in another order, so that others may
    // be refused.
    std::fs::write(directory.join("listed.json"), listed.to_string()).unwrap();
    let again = planned(&json_of(&directory, "plan -t t.yaml -f listed.json -o json", &[0, 3]));
    let ids =
        |items: &Value| items.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    let kept: BTreeSet<String> = ids(&listed["items"]);
    assert_eq!(again.keys().cloned().collect::<BTreeSet<_>>(), kept, "{context}");

    // The same question to the files and to the server.
    for element in ["h1", "--fail-first-switch"] {
        let name = if element == "h1" { "h1".to_owned() } else { switch(&topology) };
        let question = format!("what-if --fail {name} -o json");
        let by_files = json_of(&directory, &format!("{question} -t t.yaml -f c.yaml"), &[0, 3]);
        let by_server = json_of(&directory, &at(&question), &[0, 3]);
        assert_eq!(by_files, by_server, "{question}\n{context}");
    }
}

/// A switch of the network.
fn switch(topology: &str) -> String {
    let kinds = [("leaf-spine", "spine1"), ("star", "s1"), ("line", "s1"), ("fat-tree", "core1")];
    kinds.iter().find(|(kind, _)| topology.contains(&format!("kind: {kind},"))).unwrap().1.to_owned()
}

#[test]
fn files_and_a_server_make_equal_decisions() {
    let only = std::env::var("ALIKE_SEED").ok().map(|seed| seed.parse().unwrap());
    match only {
        Some(seed) => alike(seed),
        None => SEEDS.for_each(alike),
    }
}
