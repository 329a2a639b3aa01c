//! `explain` and `what-if` that go on from a printed plan: the same answers as by deciding again.

use crate::command::{file, requests, wayleave};

const K4: &str = "fat-tree:k=4";

/// A list, and its plan.
fn planned(name: &str, count: u32, options: &str) -> (String, String) {
    let list = requests(&format!("{name}.yaml"), K4, 8, count);
    let plan = wayleave(&format!("plan -t {K4} -f {list} -o json {options}"));
    (list, file(&format!("{name}.json"), plan.stdout))
}

#[test]
fn explain_by_a_plan_says_what_it_says_without() {
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
fn what_if_by_a_plan_says_what_it_says_without() {
    let (list, plan) = planned("what-if-by-plan", 2300, "");
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&plan).unwrap()).unwrap();
    let delete = format!("--delete {} --fail core2", document["requests"][0]["name"].as_str().unwrap());
    for question in ["--fail pod1-agg1", "--fail core1 --fail pod2-edge1->pod2-agg1", &delete, "--drain h3"] {
        for output in ["table", "json"] {
            let asked = format!("what-if -t {K4} -f {list} {question} -o {output}");
            let (again, by_plan) = (wayleave(&asked), wayleave(&format!("{asked} --plan {plan}")));
            assert!(again.stdout.lines().count() > 50, "nothing to compare: {}", again.stderr);
            assert_eq!((again.code, again.stdout), (by_plan.code, by_plan.stdout), "{}", by_plan.stderr);
            assert!(by_plan.stderr.contains("refused from the start"), "{}", by_plan.stderr);
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
