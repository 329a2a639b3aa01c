//! Fuzz targets for every reader. `cargo test` runs each for a second, on stable.
//!
//! Longer: `BOLERO_RANDOM_TEST_TIME_MS=600000 cargo test --release -p wayleave-formats --test files fuzz_parsers`. A failure
//! prints `BOLERO_RANDOM_SEED=...`: with that variable set, the same command replays it. Guided by coverage:
//! `cargo bolero test -p wayleave-formats bytes_are_read_or_refused` (needs `cargo-bolero`).

use crate::robust::check_everything;
use wayleave_formats::Source;

/// Words and signs of the formats: a byte of the fuzzer selects one, so that it gets further than into syntax errors.
const WORDS: [&str; 64] = [
    "apiVersion: wayleave/v1\n",
    "kind: Topology\n",
    "kind: Contracts\n",
    "kind: Events\n",
    "spec:\n",
    "  contracts:\n",
    "  events:\n",
    "  nodes:\n",
    "  links:\n",
    "  defaults: ",
    "  builder: ",
    "    - ",
    "{ ",
    " }",
    "[ ",
    " ]",
    ", ",
    "\n",
    "      ",
    "name: ",
    "from: ",
    "to: ",
    "rate: ",
    "burst: ",
    "deadline: ",
    "at: ",
    "add: ",
    "change: ",
    "release: ",
    "between: ",
    "kind: ",
    "queues: ",
    "buffer: ",
    "budgets: ",
    "hostQueues: ",
    "budget: ",
    "mtu: ",
    "accounting: ",
    "minFrame: ",
    "route: ",
    "host",
    "switch",
    "frame",
    "h1",
    "h2",
    "s1",
    "1Mbit",
    "300B",
    "1500B",
    "2ms",
    "0",
    "8",
    "star",
    "fat-tree",
    "hosts: ",
    "k: ",
    "4",
    "h1->s1:0",
    "\"",
    "# x",
    "&a ",
    "*a",
    "\t",
    "name,from,to,rate,burst,deadline\n",
];

#[test]
fn bytes_are_read_or_refused() {
    let network = crate::common::star();
    bolero::check!().with_max_len(4096).for_each(|bytes: &[u8]| match Source::from_reader("x.yaml", bytes) {
        Ok(source) => check_everything(source.text(), &network),
        Err(errors) => assert!(std::str::from_utf8(bytes).is_err(), "{errors}"),
    });
}

#[test]
fn words_of_the_formats_are_read_or_refused() {
    let network = crate::common::star();
    bolero::check!().with_max_len(256).for_each(|bytes: &[u8]| {
        let words: String = bytes.iter().map(|&byte| WORDS[usize::from(byte) % WORDS.len()]).collect();
        check_everything(&words, &network);
    });
}

/// Words of graphs, as [`WORDS`].
const GRAPH_WORDS: [&str; 64] = [
    "graph [ ",
    "node [ id 0 ] ",
    "node [ id 1 label \"",
    "edge [ source 0 target 1 ",
    "] ",
    "[ ",
    "\" ",
    "id ",
    "0 ",
    "1 ",
    "10000000000.0 ",
    "LinkSpeedRaw ",
    "LinkSpeed ",
    "LinkSpeedUnits \"G\" ",
    "Longitude ",
    "Latitude ",
    "&#246;",
    "&quot;",
    "# ",
    "\n",
    "directed 1 ",
    "<graphml>",
    "<graph edgedefault=\"directed\">",
    "<node id=\"a\"/>",
    "<node id=\"b\">",
    "</node>",
    "<edge source=\"a\" target=\"b\">",
    "</edge>",
    "<data key=\"d0\">",
    "</data>",
    "</graph></graphml>",
    "<![CDATA[",
    "]]>",
    "<key id=\"d0\" for=\"edge\" attr.name=\"rate\">",
    "</key>",
    "<default>",
    "</default>",
    "<!--",
    "-->",
    "&lt;",
    "topology:\n",
    "  nodes:\n",
    "    a:\n",
    "    b: { kind: linux }\n",
    "  links:\n",
    "    - endpoints: [\"a:e\", \"b:e\"]\n",
    "      vars: { rate: ",
    " }\n",
    "      type: veth\n",
    "{\"nodes\": [",
    "{\"id\": ",
    "\"a\"",
    "}",
    "], \"edges\": [",
    "]}",
    ", ",
    "{\"source\": \"a\", \"target\": ",
    "\"bandwidth\": ",
    "1e",
    "-3",
    "Gbps",
    "ms",
    "<<: ",
    "hosts",
];

#[test]
fn words_of_graphs_are_read_or_refused() {
    let network = crate::common::star();
    bolero::check!().with_max_len(128).for_each(|bytes: &[u8]| {
        let words: String = bytes.iter().map(|&byte| GRAPH_WORDS[usize::from(byte) % GRAPH_WORDS.len()]).collect();
        check_everything(&words, &network);
    });
}

#[test]
fn words_in_a_document_are_read_or_refused() {
    let network = crate::common::star();
    let heads = [
        "Topology\nspec:\n  nodes:\n    - ",
        "Contracts\nspec:\n  contracts:\n    - ",
        "Events\nspec:\n  events:\n    - ",
        "Scenario\nspec:\n  topology: star:hosts=2\n  duration: 2ms\n  traffic:\n    - ",
    ];
    bolero::check!().with_max_len(128).for_each(|bytes: &[u8]| {
        let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
        let words: String = rest.iter().map(|&byte| WORDS[usize::from(byte) % WORDS.len()]).collect();
        let head = heads[usize::from(*first) % heads.len()];
        check_everything(&format!("apiVersion: wayleave/v1\nkind: {head}{words}"), &network);
    });
}
