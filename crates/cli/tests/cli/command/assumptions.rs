//! Assumptions of a promise about nodes and frames: jitter, links of different MTU, Ethernet's smallest frame. The
//! cases are those of an outside audit of version 0.1.0.

use serde_json::Value;

use crate::command::{contracts, file, wayleave};

/// A switch with 20 us of jitter; one queue of its port to d has a budget of 61 us.
const JITTER: &str = r#"
apiVersion: wayleave/v1
kind: Topology
spec:
  defaults: { queues: [ { budget: 1ms, buffer: 200kB }, { budget: 1ms, buffer: 200kB } ], hostQueues: 1 }
  nodes:
    - { name: s1, kind: switch, jitter: 20us }
    - { name: a, kind: host }
    - { name: b, kind: host }
    - { name: d, kind: host }
  links:
    - { between: [a, s1], rate: 40Gbit, hostBudgets: [1us] }
    - { between: [b, s1], rate: 40Gbit, hostBudgets: [13us] }
    - { between: [d, s1], rate: 10Gbit, queues: [ { budget: 61us, buffer: 200kB }, { budget: 1ms, buffer: 200kB } ] }
"#;

/// A packet, and a burst that may pass it.
const LATE_AND_EARLY: [&str; 2] = [
    "name: A, from: a, to: d, rate: 10Mbit, burst: 1562B, deadline: 62us",
    "name: B, from: b, to: d, rate: 100Mbit, burst: 60000B, deadline: 1ms",
];

#[test]
fn contracts_with_jitter_in_any_order_are_admitted_with_their_delay() {
    let (topology, list) = (file("jitter.yaml", JITTER), file("jitter-list.yaml", contracts(&LATE_AND_EARLY)));
    let plan = |options: &str, code| {
        wayleave(&format!("plan -t {topology} -f {list} {options} --recheck -o json")).ends_with(code).json()
    };
    let ordered = plan("--jitter ordered", 0);
    let bounds = |plan: &Value| ["A", "B"].map(|name| find(&plan["requests"], name)["bound_ns"].clone());
    assert_eq!(bounds(&ordered), [62_000, 74_000].map(Value::from), "both in the queue with 61 us");
    assert_eq!(bounds(&plan("--model published", 0)), bounds(&ordered));
    let any = plan("", 3);
    assert_eq!((&ordered["model"]["jitter"], &any["model"]["jitter"]), (&"ordered".into(), &"any".into()));
    // Together they may take longer there, and the queue below is for best effort.
    assert_eq!(bounds(&any), [62_000.into(), Value::Null]);
    let message = find(&any["requests"], "B")["message"].as_str().unwrap();
    assert!(message.contains("would have a worst-case delay of 72.1 us"), "{message}");
}

fn find<'a>(list: &'a Value, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|item| item["name"] == name).unwrap()
}

#[test]
fn a_plan_for_ordered_jitter_breaks_where_packets_are_reordered() {
    let (topology, list) = (file("broken.yaml", JITTER), file("broken-list.yaml", contracts(&LATE_AND_EARLY)));
    let plan = wayleave(&format!("plan -t {topology} -f {list} --jitter ordered -o json")).ends_with(0).stdout;
    let verify = |name: &str, plan: String, options: &str| {
        let plan = file(name, plan);
        wayleave(&format!("verify -t {topology} --plan {plan} --effort quick -o json {options}"))
    };
    verify("kept.json", plan.clone(), "--jitter ordered").ends_with(0);
    let refused = verify("other.json", plan.clone(), "").ends_with(2);
    assert!(refused.stderr.contains("assumes --jitter ordered, but here --jitter any"), "{}", refused.stderr);
    let jitter = "\"jitter\":\"ordered\"";
    let as_pretty = "\"jitter\": \"ordered\"";
    assert!(plan.contains(jitter) || plan.contains(as_pretty), "{plan}");
    let free = plan.replace(jitter, "\"jitter\":\"any\"").replace(as_pretty, "\"jitter\": \"any\"");
    let broken = verify("free.json", free, "").ends_with(4);
    assert!(broken.stderr.contains("discrepancy: queue 0 of s1->d is claimed to delay by"), "{}", broken.stderr);
    let worst = find(&broken.json()["contracts"], "A")["worst_ps"].as_u64().unwrap();
    assert!(worst > 70_000_000 && worst < 72_200_000, "{worst}");
}

#[test]
fn analyses_refuse_sets_with_reordering_nodes() {
    let (topology, list) = (file("analyze.yaml", JITTER), file("analyze-list.yaml", contracts(&LATE_AND_EARLY)));
    let refused = wayleave(&format!("analyze -t {topology} -f {list}")).ends_with(2);
    assert!(refused.stderr.contains("--jitter ordered"), "{}", refused.stderr);
    wayleave(&format!("analyze -t {topology} -f {list} --jitter ordered")).ends_with(0);
}

/// Two hosts; the first has a link of 9,000 B and one of 1,500 B.
fn unequal(name: &str, cables: &str) -> String {
    let head = "apiVersion: wayleave/v1\nkind: Topology\nspec:\n  defaults: { queues: 3, budgets: [1ms, 5ms], buffer: 200kB, \
                hostBudgets: [1ms] }\n  nodes: [ { name: a, kind: host }, { name: b, kind: host }, { name: s1, kind: switch }, \
                { name: s2, kind: switch } ]\n  links:\n    - { between: [a, s1], mtu: 9000B }\n    - { between: [a, s2], mtu: \
                1500B }\n    - { between: [b, s1], mtu: 9000B }\n";
    file(name, format!("{head}{cables}"))
}

#[test]
fn verify_runs_where_a_host_has_links_of_different_mtu() {
    let topology = unequal("mtu.yaml", "");
    for more in ["", ", maxFrame: 5000B"] {
        let contract = format!("name: p, from: a, to: b, rate: 10Mbit, burst: 20kB, deadline: 50ms{more}");
        let list = file("mtu-list.yaml", contracts(&[&contract]));
        let json = wayleave(&format!("verify -t {topology} -f {list} --effort quick -o json")).ends_with(0).json();
        assert!(json["contracts"][0]["packets"].as_u64() > Some(0), "{json}");
    }
}

#[test]
fn a_protected_contract_on_links_of_different_mtu_is_limited_and_reports_it() {
    let topology = unequal("protected.yaml", "    - { between: [b, s2], mtu: 1500B }\n");
    let contract = "name: p, from: a, to: b, rate: 10Mbit, burst: 20000B, deadline: 50ms, protection: 2";
    let list = file("protected-list.yaml", contracts(&[contract]));
    let plan = wayleave(&format!("plan -t {topology} -f {list} -o json")).ends_with(0).json();
    assert_eq!(plan["requests"][0]["reserved"]["max_frame_bytes"], 1546);
    let text = wayleave(&format!("explain -t {topology} -f {list} p")).ends_with(0).stdout;
    assert!(text.contains("Frames above 1.546 kB on the wire are dropped by the sending host"), "{text}");
    wayleave(&format!("verify -t {topology} -f {list} --effort quick")).ends_with(0);
}

#[test]
fn small_frames_are_reserved_with_their_padding() {
    let contract =
        "name: p, from: h1, to: h5, rate: 1Mbit, burst: 1000B, deadline: 50ms, accounting: frame, minFrame: 20B";
    let list = file("padded.yaml", contracts(&[contract]));
    let plan = wayleave(&format!("plan -t fat-tree:k=4 -f {list} -o json")).ends_with(0).json();
    let reserved = &plan["requests"][0]["reserved"];
    assert_eq!((&reserved["rate_bps"], &reserved["burst_bytes"]), (&4_200_000.into(), &4_200.into()));
}
