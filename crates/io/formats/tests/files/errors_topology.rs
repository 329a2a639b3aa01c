//! Messages about impossible networks.

use crate::common::{assert_problems, topology, topology_yaml};
use wayleave_formats::ProblemKind::{
    BadValue, DuplicateKey, Impossible, MissingKey, Syntax, TooLarge, UnknownKey, UnknownName, WrongType,
};
use wayleave_formats::parse_builder;

#[test]
fn an_impossible_network_is_refused_at_its_place() {
    let nodes =
        "  nodes: [ { name: s1, kind: switch }, { name: h1, kind: host }, { name: h2, kind: host } ]\n  links:\n";
    let cases = [
        ("{ between: [s1, s1] }", Impossible, "6:19", "to itself: a link must join two different nodes"),
        ("{ between: [h1, h2] }", Impossible, "6:19", "are both hosts"),
        ("{ between: [h1, s1], rate: 0bit }", Impossible, "6:34", "a rate above zero"),
        ("{ between: [h1, s1], mtu: 63B }", Impossible, "6:33", "an MTU of 63B: expected 64B to 65535B"),
        ("{ between: [h1, s1], queues: 9 }", Impossible, "6:36", "9 queues: expected 1 to 8"),
        ("{ between: [h1, s1], queues: 0 }", Impossible, "6:36", "0 queues"),
        ("{ between: [h1, s1], queues: [] }", Impossible, "6:36", "0 queues"),
        ("{ between: [h1, s1], budgets: [0s] }", Impossible, "6:38", "expected more than zero and at most 10s"),
        ("{ between: [h1, s1], budgets: [1ms, 11s] }", Impossible, "6:43", "a budget of 11s"),
        ("{ between: [h1, s1], queues: 1, budgets: [1ms, 1ms] }", Impossible, "6:48", "2 budgets for 1 queue:"),
        (
            "{ between: [h1, s1], queues: [ { } ], buffer: 1B }",
            WrongType,
            "6:45",
            "queues lists every queue: it cannot be combined with buffer",
        ),
        ("{ from: h1, to: s1, hostQueues: 1 }", Impossible, "6:27", "hostQueues is written without \"host\""),
        ("{ from: h1 }", MissingKey, "6:7", "a link needs the key \"to\""),
        ("{ }", MissingKey, "6:7", "a link needs its two ends .. between: [a, b]"),
        ("{ between: [h1] }", WrongType, "6:18", "between two nodes, not 1"),
        ("{ between: [h1, s1], to: h2 }", WrongType, "6:28", "it cannot be combined with to"),
        ("{ between: h1-s1 }", WrongType, "6:18", "a list of two nodes is expected, not text"),
    ];
    for (link, kind, at, words) in cases {
        assert_problems(topology(&topology_yaml(&format!("{nodes}    - {link}"))), &[(kind, at, words)]);
    }
}

#[test]
fn an_invalid_node_causes_no_errors_at_its_links() {
    let text = topology_yaml(
        "  nodes: [ { name: s1, kind: swich, processing: 1 }, { name: \"a->b\", kind: host } ]
  links: [ { between: [s1, \"a->b\"] } ]",
    );
    assert_problems(
        topology(&text),
        &[
            (BadValue, "4:30", "unknown kind of node \"swich\", did you mean \"switch\"?"),
            (BadValue, "4:49", "\"1\" has no unit"),
            (Impossible, "4:62", "\"a->b\" cannot be a node's name"),
        ],
    );
}

#[test]
fn wrong_defaults_are_reported_once_and_not_at_every_link() {
    let text = topology_yaml(
        "  defaults: { rate: 0bit, hostBuffers: 1B }
  nodes: [ { name: a, kind: switch }, { name: b, kind: switch } ]
  links: [ { between: [a, b] }, { between: [b, a] } ]",
    );
    assert_problems(
        topology(&text),
        &[(Impossible, "4:21", "above zero"), (UnknownKey, "4:27", "did you mean \"hostBuffer\"?")],
    );
}

#[test]
fn too_many_parallel_links_are_refused() {
    let links = "    - { between: [a, b] }\n".repeat(65);
    let text = topology_yaml(&format!(
        "  nodes: [ {{ name: a, kind: switch }}, {{ name: b, kind: switch }} ]\n  links:\n{links}"
    ));
    assert_problems(topology(&text), &[(TooLarge, "70:7", "more than 64 links in this direction")]);
}

#[test]
fn a_builder_names_what_it_cannot_build() {
    let cases = [
        ("{ kind: fat-tree, k: 5 }", Impossible, "4:33", "k is 5: expected an even number from 2 to 64"),
        ("{ kind: fat-tree, hosts: 0 }", Impossible, "4:37", "hosts per edge switch is 0"),
        ("{ kind: fattree }", BadValue, "4:20", "unknown builder \"fattree\", did you mean \"fat-tree\"?"),
        ("{ kind: ring, switches: 2 }", Impossible, "4:36", "expected 3 or more"),
        ("{ kind: leaf-spine, parallel: 65 }", Impossible, "4:42", "parallel links is 65"),
        ("{ kind: star }", MissingKey, "4:12", "a star needs the key \"hosts\""),
        (
            "{ kind: testbed, name: parly-testbed }",
            UnknownName,
            "4:35",
            "did you mean \"parley-testbed\"? .. scc-testbed",
        ),
        ("{ kind: testbed }", MissingKey, "4:12", "a testbed needs the key \"name\""),
        ("{ k: 4 }", MissingKey, "4:12", "a builder needs a kind: fat-tree, leaf-spine"),
        ("fat-tree", WrongType, "4:12", "a builder is a mapping, not text .. { kind: fat-tree, k: 4 }"),
        ("{ kind: star, hosts: 1, leaves: 2 }", UnknownKey, "4:36", "unknown key \"leaves\" .. the keys of a star"),
        ("{ kind: line, hosts: 1, hostsPerSwitch: 2 }", DuplicateKey, "4:26", "hosts is short for hostsPerSwitch"),
        (
            "{ kind: leaf-spine, leaves: 100000, spines: 100000 }",
            TooLarge,
            "4:20",
            "10000400000 cables: at most 1000000",
        ),
        ("{ kind: star, hosts: 18446744073709551616 }", BadValue, "4:33", "a whole number"),
    ];
    for (builder, kind, at, words) in cases {
        assert_problems(topology(&topology_yaml(&format!("  builder: {builder}"))), &[(kind, at, words)]);
    }
    assert_problems(
        topology(&topology_yaml("  builder: { kind: star, hosts: 1 }\n  nodes: []")),
        &[(WrongType, "5:3", "it cannot be combined with nodes .. either a builder, or nodes and links")],
    );
}

#[test]
fn a_builder_in_one_line_is_located_as_well() {
    let cases = [
        ("", BadValue, "1:1", "unknown builder \"\" .. fat-tree, leaf-spine"),
        ("fat-tree:k=x", BadValue, "1:12", "a whole number"),
        ("fat-tree:k=4,k=2", DuplicateKey, "1:14", "\"k\" is given twice"),
        ("fat-tree:k", Syntax, "1:10", "expected KEY=VALUE"),
        ("star:hosts=3,", Syntax, "1:14", "expected KEY=VALUE"),
        ("fat-tree: k = 4 , host = 2", UnknownKey, "1:19", "\"host\", did you mean \"hosts\"?"),
        ("fat-tree:budgets=1us+2", BadValue, "1:22", "\"2\" has no unit"),
        ("parley-testbed", BadValue, "1:1", "testbed:parley-testbed"),
        ("testbed:foo", UnknownName, "1:9", "there is no testbed \"foo\""),
    ];
    for (line, kind, at, words) in cases {
        assert_problems(parse_builder(line), &[(kind, at, words)]);
    }
}
