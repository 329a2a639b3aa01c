//! Fuzz targets for every reader: a fixed number of generated inputs each ([`INPUTS`]), never a fixed time.
//!
//! More: `PROPTEST_CASES=1000000 cargo test --release -p wayleave-formats --test files fuzz_parsers`. A failure
//! prints the smallest input that fails and writes its seed to `proptest-regressions/fuzz_parsers.txt`, from which
//! the same command replays it first.

use crate::robust::check_everything;
use proptest::collection::vec;
use proptest::prelude::*;
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

/// The words that bytes select.
fn spell(bytes: &[u8], words: &[&str; 64]) -> String {
    bytes.iter().map(|&byte| words[usize::from(byte) % words.len()]).collect()
}

/// Documents that are begun well.
const HEADS: [&str; 4] = [
    "Topology\nspec:\n  nodes:\n    - ",
    "Contracts\nspec:\n  contracts:\n    - ",
    "Events\nspec:\n  events:\n    - ",
    "Scenario\nspec:\n  topology: star:hosts=2\n  duration: 2ms\n  traffic:\n    - ",
];

/// Number of inputs of each target, unless `PROPTEST_CASES` is set: about the number that a second sufficed for.
const INPUTS: u32 = 500;

fn inputs() -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases: INPUTS, ..config } }
}

proptest! {
    #![proptest_config(inputs())]

    #[test]
    fn bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..=4096)) {
        match Source::from_reader("x.yaml", bytes.as_slice()) {
            Ok(source) => check_everything(source.text(), &crate::common::star()),
            Err(errors) => assert!(std::str::from_utf8(&bytes).is_err(), "{errors}"),
        }
    }

    // Random bytes are hardly ever UTF-8 beyond the first few: text of the same length as above gets past that.
    #[test]
    fn ascii_is_read_or_refused(bytes in vec(0_u8..128, 0..=4096)) {
        let source = Source::from_reader("x.yaml", bytes.as_slice()).unwrap();
        check_everything(source.text(), &crate::common::star());
    }

    #[test]
    fn words_of_the_formats_are_read_or_refused(bytes in vec(any::<u8>(), 0..=256)) {
        check_everything(&spell(&bytes, &WORDS), &crate::common::star());
    }

    #[test]
    fn words_of_graphs_are_read_or_refused(bytes in vec(any::<u8>(), 0..=128)) {
        check_everything(&spell(&bytes, &GRAPH_WORDS), &crate::common::star());
    }

    #[test]
    fn words_in_a_document_are_read_or_refused(head in prop::sample::select(&HEADS[..]), bytes in vec(any::<u8>(), 0..=127)) {
        check_everything(&format!("apiVersion: wayleave/v1\nkind: {head}{}", spell(&bytes, &WORDS)), &crate::common::star());
    }
}
