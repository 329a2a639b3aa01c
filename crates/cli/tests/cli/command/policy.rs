//! `policy`: check, show.

use serde_json::Value;

use crate::command::{file, wayleave};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/policy.yaml");

fn policy(services: &str) -> String {
    format!("apiVersion: wayleave/v1\nkind: Policy\nspec:\n  level: machine\n  services:\n{services}")
}

#[test]
fn a_policy_is_valid_wrong_or_refused() {
    let run = wayleave(&format!("policy check -t testbed:parley-testbed {EXAMPLE}")).ends_with(0);
    assert!(run.stdout.ends_with("is rack: 3 services at 9 racks\n"), "{}", run.stdout);
    let wrong = file("policy-wrong.yaml", policy("    - { name: a, parent: b }\n"));
    let run = wayleave(&format!("policy check -t testbed:parley-testbed {wrong} {EXAMPLE}")).ends_with(2);
    assert!(run.stderr.contains("policy-wrong.yaml:6:26: no service \"b\" in this policy"), "{}", run.stderr);
    assert!(run.stdout.starts_with("ok: "), "{}", run.stdout);
    let over = file("policy-over.yaml", policy("    - { name: a, min: 11Gbit }\n"));
    let run = wayleave(&format!("policy check -t testbed:parley-testbed {over}")).ends_with(3);
    let refusal = "refused (RATE): policy \"policy-over\" guarantees 11 Gbit/s to transmit at machine h1 (h1->leaf1), but \
                   only 10 Gbit/s is available";
    assert!(run.stderr.contains(refusal), "{}", run.stderr);
}

#[test]
fn water_filling_follows_weights_above_the_minima() {
    let show = |demands: &str| {
        let run = wayleave(&format!("policy show -t testbed:parley-testbed -f {EXAMPLE} --demands {demands} -o json"));
        let rows = run.ends_with(0).json();
        let rows = rows.as_array().unwrap().clone();
        move |name: &str| {
            let row = rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}: {rows:#?}"));
            (row["share_bits_per_second"].as_u64().unwrap(), row["limited"] == Value::Bool(true))
        }
    };
    // Of the 6 Gbit/s above hbase's minimum three quarters are hbase's.
    let share = show("dfs=all,dfs:hbase=all,vms@h1=all,other=2Gbit");
    assert_eq!(share("dfs"), (8_000_000_000, true));
    assert_eq!(share("dfs (other)"), (1_500_000_000, true));
    assert_eq!(share("vms"), (1_000_000_000, true));
    assert_eq!(share("other"), (2_000_000_000, false));
    assert_eq!(show("dfs=1Gbit")("dfs (other)"), (1_000_000_000, false));
}

#[test]
fn wrong_demands_and_places_are_errors_with_the_valid_ones() {
    let show = |rest: &str| {
        wayleave(&format!("policy show -t testbed:parley-testbed -f {EXAMPLE} {rest}")).ends_with(2).stderr
    };
    let output = show("--demands dsf=1Gbit");
    assert!(
        output.contains("\"dsf\" is not at this contention point: the services are dfs, hbase, vms, other"),
        "{output}"
    );
    assert!(show("--demands dfs").contains("expected SERVICE=RATE"));
    assert!(show("--demands dfs=10mbps").contains("write 10Mbit"));
    assert!(show("--at h1").contains("but at leaf1, leaf2, leaf3"));
}

#[test]
fn the_sharing_benchmark_has_its_metrics() {
    let run = wayleave("bench sharing flat-100 --seed 2").ends_with(0);
    let lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for metric in ["ms", "update", "limited"] {
        let line = lines.iter().find(|line| line["metric"] == metric).unwrap_or_else(|| panic!("no {metric}"));
        assert_eq!((&line["bench"], &line["case"]), (&"sharing".into(), &"flat-100".into()));
        assert!(line["value"].as_f64().unwrap() > 0.0, "{line}");
    }
}

#[test]
fn capacity_reserved_by_contracts_is_not_available_to_services() {
    let contracts = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n    - { name: video, from: h1, to: h2, rate: 4Gbit, burst: 3kB, deadline: 10ms }\n";
    let contracts = file("policy-contracts.yaml", contracts);
    let services = file("policy-beside.yaml", policy("    - { name: a, min: 8Gbit }\n"));
    let network = "-t testbed:parley-testbed";
    wayleave(&format!("policy check {network} {services}")).ends_with(0);
    let run = wayleave(&format!("policy check {network} {services} --contracts {contracts}")).ends_with(3);
    assert!(
        run.stderr.contains("guarantees 8 Gbit/s to transmit at machine h1 (h1->leaf1), but only "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains(" is promised to contracts"), "{}", run.stderr);
    let show = format!("policy show {network} -f {services} --at h1 --demands a=all");
    let share = |rest: &str| {
        let rows = wayleave(&format!("{show} {rest} -o json")).ends_with(0).json();
        rows[0]["share_bits_per_second"].as_u64().unwrap()
    };
    let (alone, beside) = (share(""), share(&format!("--contracts {contracts}")));
    // Wire bytes are more than the contract's.
    assert!(alone == 10_000_000_000 && (5_000_000_000..=6_000_000_000).contains(&beside), "{alone} {beside}");
}
