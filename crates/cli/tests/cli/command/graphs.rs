//! Files of other tools, wherever a topology is named.

use crate::command::{file, wayleave};

fn example(name: &str) -> String {
    format!("{}/../../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The options that make a network of `coast.gml`.
const COAST: &str = "--default-rate 1Gbit --delay-from-coordinates --default-delay 200us --hosts leaves";

#[test]
fn a_lab_of_containerlab_is_planned_as_it_is() {
    let run = wayleave(&format!("topology show {}", example("plant.clab.yml"))).ends_with(0);
    assert!(run.stdout.starts_with("plant: 3 hosts, 3 switches, 10 directed links\n"), "{}", run.stdout);
    assert!(run.stdout.contains("0ns ... 500ns"), "delays are a range: {}", run.stdout);
    for part in ["taken for hosts: \"plc1\", \"plc2\", \"historian\"", "left out: \"gateway\" to \"mgmt-net\""] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn promises_on_an_irregular_network_hold_packet_by_packet() {
    let coast = example("coast.gml");
    let hosts = "--default-rate 1Gbit --delay-from-coordinates --default-delay 200us --hosts-per-node 2";
    let list = wayleave(&format!("generate contracts -t {coast} {hosts} --count 60 --seed 3")).ends_with(0).stdout;
    let list = file("graphs-coast.yaml", list);
    for how in ["", "--reroute", "--routing larac-delay", "--routing larac-hops --reroute"] {
        let run = wayleave(&format!("plan -t {coast} {hosts} -f {list} {how} --recheck -o json")).ends_with(0);
        let plan = run.json();
        assert!(run.stderr.contains("sound, all guarantees hold"), "{how}: {}", run.stderr);
        assert_eq!(plan["summary"]["admitted"], 60, "{how}: {}", plan["summary"]);
        // The propagation time of light is part of every bound.
        let requests = plan["requests"].as_array().unwrap();
        let far = |request: &&serde_json::Value| request["decision"] == "admitted" && request["from"] == "Kiel-h1";
        let terms = requests.iter().find(far).unwrap()["terms"].as_array().unwrap();
        assert!(terms.iter().any(|term| term["kind"] == "propagation"), "{how}: {terms:?}");
    }
    let run = wayleave(&format!("verify -t {coast} {hosts} -f {list}")).ends_with(0);
    assert!(run.stdout.contains("all guarantees held"), "{}", run.stdout);
}

#[test]
fn a_network_is_the_same_in_every_format() {
    let yaml = |from: &str, options: &str| wayleave(&format!("topology convert {from} {options}")).ends_with(0).stdout;
    let first = yaml(&example("coast.gml"), COAST);
    assert!(first.contains("name: \"Malmö\"") && first.contains("name: None-2, kind: host"), "{first}");
    let file = file("graphs-coast-first.yaml", &first);
    for ending in ["json", "gml", "graphml"] {
        let path = format!("{}/graphs-coast.{ending}", env!("CARGO_TARGET_TMPDIR"));
        let run = wayleave(&format!("topology convert {file} -o {path}")).ends_with(0);
        assert!(run.stderr.contains("written to"), "{}", run.stderr);
        assert_eq!(yaml(&path, ""), first, "{ending}");
    }
    let run = wayleave(&format!("topology convert {file} --to node-link -o /nowhere/x")).ends_with(1);
    assert!(run.stderr.contains("cannot write /nowhere/x"), "{}", run.stderr);
}

#[test]
fn links_without_a_rate_are_an_error_with_a_place() {
    let coast = example("coast.gml");
    let run = wayleave(&format!("topology validate {coast}")).ends_with(2);
    let expected = "coast.gml:10:3: 3 of 5 links have no rate: the first joins \"Kiel\" and \"Malmö\"";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    assert!(run.stderr.contains("hint: add --default-rate 10Gbit"), "{}", run.stderr);
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let run = wayleave("topology show star:hosts=2 --default-rate 10Gbit").ends_with(2);
    assert!(
        run.stderr.contains("--default-rate is for files of other tools: a builder defines its own"),
        "{}",
        run.stderr
    );
    let own = example("network.yaml");
    let run = wayleave(&format!("topology show {own} --hosts leaves")).ends_with(2);
    assert!(run.stderr.contains("network.yaml is a topology of Wayleave, which defines its own"), "{}", run.stderr);
    let run = wayleave(&format!("topology show {} --hosts none --hosts-per-node 2", example("coast.gml"))).ends_with(2);
    assert!(run.stderr.contains("cannot be combined with --hosts leaves or none"), "{}", run.stderr);
}

#[test]
fn links_too_slow_for_the_smallest_budget_are_warned_of() {
    let list = file(
        "graphs-slow.yaml",
        crate::command::contracts(&["name: a, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 20ms"]),
    );
    let run = wayleave(&format!("plan -t star:hosts=2,rate=100Mbit,budgets=100us -f {list}")).ends_with(0);
    let expected = "warning: queue 0 of s1->h1 and of one more port is unusable for contracts: one packet alone may need \
                    249.92us, above the delay budget of 100us";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    for rate in ["1Gbit", "100Mbit"] {
        let run = wayleave(&format!("plan -t star:hosts=2,rate={rate} -f {list}")).ends_with(0);
        assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    }
}

/// A fabric whose interfaces are not in the order of its links.
const ORDER: &str = "name: order
topology:
  nodes:
    leaf1: { kind: linux, image: frr, zz: 1 }
    spine1: { kind: linux, image: frr }
    srv1: { kind: linux }
    srv2: { kind: linux }
  links:
    - { endpoints: [\"leaf1:eth2\", \"spine1:eth1\"], vars: { rate: 10Gbit } }
    - { endpoints: [\"srv1:eth1\", \"leaf1:eth1\"], vars: { rate: 1Gbit } }
    - { endpoints: [\"srv2:eth1\", \"spine1:eth2\"], vars: { rate: 1Gbit } }
";

#[test]
fn rendered_switches_have_the_interfaces_of_the_lab() {
    let lab = file("graphs-order.clab.yml", ORDER);
    let list = file(
        "graphs-order.yaml",
        crate::command::contracts(&["name: a, from: srv1, to: srv2, rate: 1Mbit, burst: 1500B, deadline: 20ms"]),
    );
    let rate_of = |text: &str, interface: &str| {
        let is_tbf = |line: &&str| line.contains(&format!("dev {interface} ")) && line.contains("tbf");
        text.lines().find(is_tbf).unwrap_or_else(|| panic!("{interface}: {text}")).to_owned()
    };
    let render = |options: &str| {
        wayleave(&format!("export-config --for tc -t {lab} -f {list} --switch leaf1 {options}")).ends_with(0).stdout
    };
    let fast = rate_of(&render(""), "eth2");
    let slow = rate_of(&render(""), "eth1");
    assert_ne!(fast.replace("eth2", "eth1"), slow);
    // A file names the ports of a switch anew: those of the lab do not meet its names.
    let names = file("graphs-order.txt", "leaf1->spine1 eth1\nleaf1->srv1 eth2\n");
    let swapped = render(&format!("--interfaces {names}"));
    assert_eq!(rate_of(&swapped, "eth1"), fast.replace("eth2", "eth1"));
    assert_eq!(rate_of(&swapped, "eth2"), slow.replace("eth1", "eth2"));
}

#[test]
fn strict_refuses_keys_that_are_not_used() {
    let lab = file("graphs-strict.clab.yml", ORDER);
    let run = wayleave(&format!("topology validate {lab}")).ends_with(0);
    assert!(run.stderr.contains("warning: keys not used: \"zz\" of nodes (line 4)"), "{}", run.stderr);
    let run = wayleave(&format!("topology validate {lab} --strict")).ends_with(2);
    assert!(run.stderr.contains("clab.yml:4:39: the key \"zz\" of nodes is not used"), "{}", run.stderr);
    let run = wayleave(&format!("topology validate {lab} --default-mtu 60B")).ends_with(2);
    assert!(run.stderr.contains("--default-mtu is from 64B to 65535B"), "{}", run.stderr);
}
