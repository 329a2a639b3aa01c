//! Every key of every kind of file has an answer from every driver. It is carried out, and a test shows it; or the
//! driver names it as one that it does not carry out; or it is for something else. There is no fourth possibility
//! (`docs/reference/keys.md`).

mod cell;
mod document;
mod effects;
mod schema;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use wayleave_contracts::{DataPlane, sentences};
use wayleave_formats::{Addressed, Source, read_orders};

use crate::command::{file, wayleave};
use cell::{Cell, expanded};
use table::{ROWS, SCENARIO};

/// Drivers, in the order of the columns of the table.
const DRIVERS: [&str; 4] = ["simulator", "agents", "Open vSwitch", "rendered"];
const KINDS: [&str; 4] = ["Contracts", "Topology", "Policy", "Tenants"];

/// A contract for each key that some driver does not carry out.
const CONTRACTS: &str = "{ apiVersion: wayleave/v1, kind: Contracts, spec: { contracts: [
  { name: a, from: h1, to: h8, rate: 1Mbit, burst: 300B, deadline: 5ms, excess: demote, priority: 9, starts: 2027-01-10T22:00:00Z, ends: 2028-01-10T22:00:00Z, match: { protocol: udp } },
  { name: p, from: h2, to: h8, rate: 1Mbit, burst: 300B, deadline: 5ms, protection: 1 },
  { name: b, bandwidth: { from: h1, to: h5, min: 100Mbit, max: 2Gbit, weight: 7 } },
  { name: w, bandwidth: { from: h2, to: h6, min: 100Mbit, within: 30ms } },
  { name: o, objective: { deadline: 5ms, members: [h2, h6], weight: 50Mbit } },
  { name: g, objective: { goal: completion, members: [h2, h6], weight: 50Mbit } },
  { name: e, bestEffort: { members: [h3, h7], max: 2Mbit } } ] } }";

/// Two hosts with two links each, so that a contract can be protected.
const PROTECTED: &str = "{ apiVersion: wayleave/v1, kind: Topology, spec: { classes: {}, nodes: [
  { name: s1, kind: switch }, { name: s2, kind: switch }, { name: h1, kind: host }, { name: h2, kind: host } ],
  links: [ { between: [h1, s1] }, { between: [h1, s2] }, { between: [h2, s1] }, { between: [h2, s2] } ] } }";
const PROTECTED_CONTRACTS: &str = "{ apiVersion: wayleave/v1, kind: Contracts, spec: { contracts: [
  { name: p, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 50ms, protection: 2 } ] } }";

/// All messages of a driver about keys that it does not carry out, for files with all of these keys.
fn output(driver: usize) -> String {
    let topology = "../../docs/examples/network-fabric.yaml";
    let contracts = file("keys-contracts.yaml", CONTRACTS);
    let protected =
        (file("keys-protected.yaml", PROTECTED), file("keys-protected-contracts.yaml", PROTECTED_CONTRACTS));
    let policy = file(
        "keys-policy.yaml",
        "{ apiVersion: wayleave/v1, kind: Policy, spec: { level: rack, services: [ { name: a, match: { protocol: tcp }, share: 1Mbit, objective: latency } ] } }",
    );
    match DRIVERS[driver] {
        "simulator" => {
            let scenario = |topology: &str, contracts: &str| {
                let topology = std::fs::canonicalize(topology).unwrap();
                let text = format!(
                    "{{ apiVersion: wayleave/v1, kind: Scenario, spec: {{ topology: '{}', contracts: '{contracts}', duration: 1ms, record: {{ promises: true }} }} }}",
                    topology.display()
                );
                wayleave(&format!("sim -o json {}", file("keys-scenario.yaml", text))).stderr
            };
            let swift = "{ apiVersion: wayleave/v1, kind: Scenario, spec: { topology: 'star:hosts=2', duration: 1ms,
              transport: { congestion: { swift: { endpointTarget: 5us } } },
              sharing: { scheme: eyeq, machine: { services: [ { name: a, match: { protocol: tcp }, changes: [ { at: 2027-01-10T22:00:00Z, weight: 5 } ] } ] } },
              traffic: [ { name: f, load: 0.1, sizes: 2kB } ] } }";
            let swift = wayleave(&format!("sim -o json {}", file("keys-swift.yaml", swift))).ends_with(0).stderr;
            [scenario(topology, &contracts), scenario(&protected.0, &protected.1), swift].concat()
        }
        "agents" => {
            let network = wayleave::Network::open(topology).unwrap();
            let source = Source::new("contracts.yaml", CONTRACTS);
            let orders =
                read_orders(&source, &network.graph, &*network.graph, Addressed::default()).unwrap().into_orders();
            let of = |order: &wayleave_contracts::ContractRequest| {
                DataPlane::Agents.not_carried_out(&order.contract, &|key| order.gives(key))
            };
            let found = orders.iter().flat_map(|order| of(order).into_iter().map(move |what| (order.name(), what)));
            let broker = format!(
                "broker rack -t testbed:parley-testbed -f {policy} --machine h1 --listen 127.0.0.1:0 --peers h2=127.0.0.1:9"
            );
            format!("{}\n{}", sentences(found).join("\n"), wayleave(&broker).ends_with(2).stderr)
        }
        // Switches receive no contract and no policy.
        "Open vSwitch" => String::new(),
        _ => {
            let render = |topology: &str, contracts: &str| {
                let run = wayleave(&format!("export-config --for tc -t {topology} -f {contracts}"));
                // Warnings are in the notes as well.
                let named = run.stderr.lines().filter_map(|line| line.strip_prefix("warning: "));
                assert!(named.clone().all(|line| run.stdout.contains(&format!("- {line}"))), "{}", run.stdout);
                format!("{}{}", run.stdout, run.stderr)
            };
            [render(topology, &contracts), render(&protected.0, &protected.1), render(topology, &policy)].concat()
        }
    }
}

/// The names of all tests of the repository: functions below an attribute that ends in `test]`.
fn tests() -> BTreeSet<String> {
    fn files(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => files(&path, all),
                false if path.extension().is_some_and(|extension| extension == "rs") => all.push(path),
                false => {}
            }
        }
    }
    let (mut all, mut names) = (Vec::new(), BTreeSet::new());
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut all);
    for path in all {
        let text = std::fs::read_to_string(path).unwrap();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let Some(name) = name.and_then(|rest| rest.split('(').next()).filter(|_| is_test) {
                names.insert(name.to_owned());
            }
            // Other attributes may come between.
            // Targets without libtest list their tests, which are functions of the crate.
            if let Some(name) = line.strip_prefix("pub(crate) fn ").and_then(|rest| rest.strip_suffix("() {")) {
                names.insert(name.to_owned());
            }
            is_test = line == "#[test]" || line.starts_with("#[tokio::test") || (is_test && line.starts_with("#["));
        }
    }
    names
}

#[test]
fn every_key_of_every_schema_has_an_answer_from_every_driver() {
    let effects = effects::keys();
    let mut faults = Vec::new();
    let mut rows: BTreeMap<(&str, String), [Cell; 4]> = BTreeMap::new();
    for row in ROWS {
        for key in row.keys.iter().flat_map(|key| expanded(key)) {
            if rows.insert((row.kind, key.clone()), row.cells).is_some() {
                faults.push(format!("{} {key} stands in two rows", row.kind));
            }
        }
    }
    for kind in KINDS {
        let of_table: BTreeSet<String> =
            rows.keys().filter(|(of, _)| *of == kind).map(|(_, key)| key.clone()).collect();
        let of_schema = schema::keys(kind);
        faults.extend(of_schema.difference(&of_table).map(|key| format!("{kind} {key} has no row")));
        faults.extend(of_table.difference(&of_schema).map(|key| format!("{kind} {key} is no key of the schema")));
    }
    let is_shown = |kind: &'static str, key: &str| {
        let below =
            |found: &str| found.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        effects.iter().any(|(of, found)| *of == kind && below(found))
    };
    for ((kind, key), cells) in &rows {
        let kind = KINDS.into_iter().find(|one| one == kind).unwrap();
        if cells[0] == Cell::Changes && !is_shown(kind, key) {
            faults.push(format!("{kind} {key}: effects.json has no two values of it"));
        }
    }
    let excepted: BTreeSet<String> =
        SCENARIO.iter().flat_map(|(keys, _)| keys.iter().flat_map(|key| expanded(key))).collect();
    let of_schema: BTreeSet<String> = schema::keys("Scenario")
        .iter()
        .map(|key| schema::canonical(key))
        .filter(|(kind, _)| *kind == "Scenario")
        .map(|(_, key)| key)
        .collect();
    for key in &of_schema {
        match (is_shown("Scenario", key), excepted.contains(key)) {
            (false, false) => {
                faults.push(format!("Scenario {key}: effects.json has no two values of it, and no row says why"))
            }
            (true, true) if key != "spec" => faults.push(format!("Scenario {key} has an effect and an exception")),
            _ => {}
        }
    }
    faults.extend(excepted.difference(&of_schema).map(|key| format!("Scenario {key} is no key of the schema")));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn tests_named_by_the_table_exist() {
    let tests = tests();
    let cells = ROWS.iter().flat_map(|row| row.cells).chain(SCENARIO.iter().map(|(_, cell)| *cell));
    let missing: BTreeSet<&str> = cells
        .filter_map(|cell| if let Cell::Test(name) = cell { Some(name) } else { None })
        .filter(|name| !tests.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_driver_names_its_unsupported_keys() {
    let mut faults = Vec::new();
    for (driver, name) in DRIVERS.iter().enumerate() {
        let output = output(driver);
        let of_rows = ROWS.iter().map(|row| (row.keys, row.cells[driver]));
        let of_scenarios = SCENARIO.iter().filter(|_| driver == 0).map(|(keys, cell)| (*keys, *cell));
        for (keys, cell) in of_rows.chain(of_scenarios) {
            if let Cell::Named(words) = cell
                && !output.contains(words)
            {
                faults.push(format!("{name}, {keys:?}: {words:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "not said:\n{}", faults.join("\n"));
}

#[test]
fn a_scenario_is_refused_by_every_command_that_reads_another_kind() {
    let scenario = "../../docs/examples/scenario-fabric.yaml";
    let topology = "../../docs/examples/network-fabric.yaml";
    for command in [
        format!("plan -t {topology} -f {scenario}"),
        format!("plan -t {scenario} -f {scenario}"),
        format!("export-config --for tc -t {topology} -f {scenario}"),
        format!("policy check -t {topology} {scenario}"),
    ] {
        let output = wayleave(&command).ends_with(2).stderr;
        assert!(output.contains("of kind Scenario"), "{command}: {output}");
    }
}
