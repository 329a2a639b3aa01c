//! `topology`: show, validate, list.

use crate::command::{contracts, fed, file, wayleave};

#[test]
fn a_network_is_counted_and_its_links_are_classed() {
    let run = wayleave("topology show fat-tree:k=4").ends_with(0);
    assert!(run.stdout.starts_with("fat-tree: 16 hosts, 20 switches, 96 directed links\n"), "{}", run.stdout);
    for part in ["switch -> switch  64", "8 x 97 kB", "1, unlimited", "h1 ... h16", "1500 B"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

#[test]
fn yaml_reads_back_as_the_same_network() {
    let yaml = wayleave("topology show testbed:parley-testbed -o yaml").ends_with(0).stdout;
    let path = file("topology-back.yaml", &yaml);
    let json = |from: &str| wayleave(&format!("topology show {from} -o json")).ends_with(0).stdout;
    assert_eq!(json("testbed:parley-testbed"), json(&path));
    assert_eq!(fed("topology show - -o yaml", &yaml).ends_with(0).stdout, yaml);
}

#[test]
fn validate_prints_ok_or_the_errors_of_every_file() {
    let good = file("topology-good.yaml", wayleave("topology show star:hosts=3 -o yaml").stdout);
    let bad = file(
        "topology-bad.yaml",
        "apiVersion: wayleave/v1\nkind: Topology\nspec:\n  nodes: [ { name: s1, kind: switch } ]\n  links: [ { between: [s1, s2] } ]\n",
    );
    let run = wayleave(&format!("topology validate {bad} {good}")).ends_with(2);
    assert!(run.stdout.contains("topology-good.yaml is star: 3 hosts, 1 switch, 6 directed links"), "{}", run.stdout);
    assert!(run.stderr.contains("topology-bad.yaml:5:28: there is no node \"s2\""), "{}", run.stderr);
    wayleave(&format!("topology validate {good}")).ends_with(0);
}

#[test]
fn every_listed_builder_can_be_built() {
    let list = wayleave("topology list").ends_with(0).stdout;
    for builder in ["fat-tree", "leaf-spine", "line", "ring"] {
        assert!(list.contains(builder));
        wayleave(&format!("topology validate {builder}")).ends_with(0);
    }
    let testbeds: Vec<&str> = list.split_whitespace().filter(|word| word.starts_with("testbed:")).collect();
    assert!(testbeds.len() >= 5, "{list}");
    for testbed in testbeds {
        wayleave(&format!("topology validate {testbed}")).ends_with(0);
    }
}

#[test]
fn an_error_for_neither_file_nor_builder_mentions_both() {
    let list = file("topology-any.yaml", contracts(&[]));
    let run = wayleave(&format!("plan -t fattree -f {list}")).ends_with(2);
    assert!(
        run.stderr.contains("no such file")
            && run.stderr.contains("it is not a builder either\n  hint: a builder has a colon"),
        "{}",
        run.stderr
    );
    let run = wayleave(&format!("plan -t fattree:k=4 -f {list}")).ends_with(2);
    assert!(run.stderr.contains("did you mean \"fat-tree\"?"), "{}", run.stderr);
    assert!(run.stderr.contains("there is no file \"fattree:k=4\""), "{}", run.stderr);
    let run = wayleave("topology show fat-tree:k=5").ends_with(2);
    assert!(run.stderr.contains("builder:1:12: k is 5"), "{}", run.stderr);
}
