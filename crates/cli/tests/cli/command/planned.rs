//! `explain` and `what-if` that continue from a printed plan: their answers equal those of deciding again.

use crate::command::{Run, file, requests, wayleave};

const K4: &str = "fat-tree:k=4";

/// A list, and its plan.
fn planned(name: &str, count: u32, options: &str) -> (String, String) {
    let list = requests(&format!("{name}.yaml"), K4, 8, count);
    let plan = wayleave(&format!("plan -t {K4} -f {list} -o json {options}"));
    (list, file(&format!("{name}.json"), plan.stdout))
}

#[test]
fn explain_with_a_plan_prints_the_same_as_without() {
    let (list, plan) = planned("explain-by-plan", 2100, "--reroute");
    let text = std::fs::read_to_string(&plan).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let name = document["requests"][2099]["name"].as_str().unwrap();
    for output in ["table", "json"] {
        let asked = format!("explain {name} -t {K4} -f {list} --reroute -o {output}");
        let (again, by_plan) = (wayleave(&asked), wayleave(&format!("{asked} --plan {plan}")));
        assert_eq!((again.code, again.stdout), (by_plan.code, by_plan.stdout), "{}", by_plan.stderr);
    }
    let other = wayleave(&format!("explain {name} -t {K4} -f {list} --plan {plan}")).ends_with(2);
    assert!(
        other.stderr.contains("scheme.reroute is") && other.stderr.contains("give the same options"),
        "{}",
        other.stderr
    );
}

#[test]
fn what_if_with_a_plan_prints_the_same_as_without() {
    let (list, plan) = planned("what-if-by-plan", 2300, "");
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&plan).unwrap()).unwrap();
    let delete = format!("--delete {} --fail core2", document["requests"][0]["name"].as_str().unwrap());
    for question in ["--fail pod1-agg1", "--fail core1 --fail pod2-edge1->pod2-agg1", &delete, "--drain h3"] {
        for output in ["table", "json"] {
            let asked = format!("what-if -t {K4} -f {list} {question} -o {output}");
            let (again, by_plan) = (wayleave(&asked), wayleave(&format!("{asked} --plan {plan}")));
            assert!(again.stdout.lines().count() > 50, "nothing to compare: {}", again.stderr);
            assert_eq!((again.code, again.stdout), (by_plan.code, by_plan.stdout), "{}", by_plan.stderr);
            assert!(by_plan.stderr.contains("refused initially"), "{}", by_plan.stderr);
        }
    }
}

#[test]
fn what_if_takes_moves_and_tenants_from_a_plan() {
    let (list, plan) = planned("what-if-moved", 1200, "--reroute --routing least-delay");
    let text = std::fs::read_to_string(&plan).unwrap();
    assert!(text.contains("\"after_ns\""), "no flow was moved");
    let asked = format!("what-if -t {K4} -f {list} --reroute --routing least-delay --plan {plan} --fail pod1-agg1");
    assert!(wayleave(&asked).stdout.contains("pod1"), "nothing breaks");
    let own = "apiVersion: wayleave/v1\nkind: Contracts\nmetadata: { name: own }\nspec:\n  contracts:\n    - { name: web, \
               tenant: acme, from: h1, to: h9, rate: 1Mbit, burst: 300B, deadline: 20ms, protection: 2 }\n";
    let own = file("what-if-tenant.yaml", own);
    let plan = file("what-if-tenant.json", wayleave(&format!("plan -t {K4} -f {own} -o json")).ends_with(0).stdout);
    let run = wayleave(&format!("what-if -t {K4} -f {own} --plan {plan} --fail h1->pod1-edge1")).ends_with(3);
    assert!(run.stdout.contains("acme:web"), "{}", run.stdout);
}

/// Contracts of every kind on a network that does not mention classes: as `plan` does, `explain` and `what-if` give
/// it the usual ones.
#[test]
fn queries_without_a_controller_accept_contracts_of_every_kind() {
    let kinds = include_str!("../../../../../schemas/examples/contracts-kinds.yaml");
    // A controller that is imagined has no other tenants than the default one.
    let kinds = file("what-if-kinds.yaml", kinds.replace("tenant: acme, ", "").replace("tenant: beta, ", ""));
    let on = format!("-t fat-tree:k=4,rate=10Gbit -f {kinds}");
    let explained = wayleave(&format!("explain db {on}")).ends_with(0);
    assert!(explained.stdout.contains("db: admitted, proven"), "{}", explained.stdout);
    let asked = format!("what-if {on} --fail h9 --delete copy");
    let would = wayleave(&asked).ends_with(3);
    assert!(would.stdout.contains("would lose their guarantee") && would.stdout.contains("db"), "{}", would.stdout);
    let plan = file("what-if-kinds.json", wayleave(&format!("plan {on} -o json")).ends_with(0).stdout);
    let by_plan = wayleave(&format!("{asked} --plan {plan}"));
    assert_eq!((would.code, would.stdout), (by_plan.code, by_plan.stdout), "{}", by_plan.stderr);
}

/// A policy that is held first leaves less to contracts.
#[test]
fn a_plan_with_a_policy_refuses_capacity_that_services_need() {
    let policy = "apiVersion: wayleave/v1\nkind: Policy\nmetadata: { name: m }\nspec:\n  level: machine\n  services:\n    \
                  - { name: web, match: { protocol: tcp, destinationPort: 80 }, min: 4.5Gbit }\n";
    let policy = file("plan-policy.yaml", policy);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/examples");
    let on = format!("-t {examples}/topology-classes.yaml -f {examples}/contracts-kinds.yaml");
    wayleave(&format!("plan {on}")).ends_with(0);
    let refused = wayleave(&format!("plan {on} --policy {policy} --recheck")).ends_with(3);
    assert!(
        refused.stdout.contains("RATE") && refused.stderr.contains("sound"),
        "{}{}",
        refused.stdout,
        refused.stderr
    );
    // And the policy beside the contracts.
    let check = wayleave(&format!(
        "policy check -t {examples}/topology-classes.yaml {policy} --contracts {examples}/contracts-kinds.yaml"
    ));
    assert!(check.code == Some(3) && check.stderr.contains("refused (RATE)"), "{}", check.stderr);
    let without = wayleave(&format!("plan {on} --scheme chameleon --policy {policy}")).ends_with(2);
    assert!(without.stderr.contains("needs a topology with `classes`"), "{}", without.stderr);
}

/// The README's files name tenants that are not declared. `plan` admits all seven, and so does `what-if`, by deciding
/// and by the plan; two plans differ in nothing.
#[test]
fn tenants_of_contracts_need_no_declaration_without_a_controller() {
    let [network, list] = ["network-fabric", "contracts-fabric"]
        .map(|name| format!("{}/../../docs/examples/{name}.yaml", env!("CARGO_MANIFEST_DIR")));
    let plans = ["first", "second"].map(|name| {
        let plan = wayleave(&format!("plan -t {network} -f {list} -o json")).ends_with(0);
        assert_eq!(plan.json()["summary"]["admitted"], 7, "{}", plan.stdout);
        file(&format!("what-if-readme-{name}.json"), plan.stdout)
    });
    let asked = format!("what-if -t {network} -f {list} --fail spine1 -o json");
    let decided = wayleave(&asked).ends_with(0);
    assert!(!decided.stderr.contains("refused initially"), "{}", decided.stderr);
    let planned = wayleave(&format!("{asked} --plan {}", plans[0])).ends_with(0);
    let names = |run: &Run| {
        let moved = run.json()["rerouted"].clone();
        let names = moved.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!((names(&decided).len(), names(&decided)), (2, names(&planned)), "{}", decided.stdout);
    let gone = wayleave(&format!("what-if -t {network} -f {list} --fail leaf1")).ends_with(3);
    assert!(gone.stdout.contains("would lose their guarantee (6)"), "{}", gone.stdout);
    let same = wayleave(&format!("diff {} {}", plans[0], plans[1])).ends_with(0);
    assert_eq!(same.stdout, "no differences\n");
}
