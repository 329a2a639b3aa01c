//! Trees compared with those of a second reader, `serde_norway`. Its parser is libyaml, which shares nothing with `granit-parser`: a
//! fault in one of them shows as a difference.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests assert by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_norway::Value as Other;

use crate::tree::{Loader, Node, Value};

/// All constructs that the format's users write, and some that they copy from elsewhere.
const DOCUMENTS: [&str; 30] = [
    "a: 1\nb: text\nc: 1.5e3\nd: true\ne: null\nf: ~\ng:\n",
    "- a\n- - b\n  - c\n-\n  - d\n- e: 1\n  f: 2\n-\n  g: 3\n",
    "a:\n- 1\n- 2\nb:\n  - 3\n",
    "{a: [1, two, {b: 3}], 'c': \"d\", e: , f: []}\n",
    "a: [1,\n  2, # why\n  3]\nb: {c: 1,\n  d: 2}\n",
    "{\"a\":1,\"b\":[true,null,\"c\"],\"d\":{\"e\":-1.5E-3}}",
    "[\n\t\"tabs\",\n\t\"are fine here\"\n]\n",
    "# before\na: 1 # behind\n\n  # between\nb: c#d # a \"#\" in a word\n",
    "a: one\n  two\n  three\n\n  four\nb: 5\n",
    "a: 'one\n  two\n\n  three'\nb: \"four\n  five\\\n  six\\n\n\n  seven\"\n",
    "a: 'it''s'\nb: \"say \\\"b\\\"\"\nc: 'a \\n is two characters'\n",
    "a: \"\\0\\a\\b\\t\\n\\v\\f\\r\\e\\x41\\u00e9\\U0001F600\\\\\\/\\N\\_\\L\\P\"\n",
    "a: |\n  one\n    two\n\n  three\n\n\nb: 1\n",
    "a: |-\n  one\n  two\n\nb: |+\n  one\n\nc: 1\n",
    "a: >\n  one\n  two\n\n  three\n    four\n  five\n\nb: >-\n  six\n  seven\n",
    "a: |2\n    two more\n  none\nb: >1-\n  one more\n",
    "a: |\n  # no comment\n  key: no key\n# a comment\nb: 1\n",
    "- &x { a: 1, b: [2] }\n- *x\n- c: *x\n- &y text\n- *y\n",
    "? a\n: 1\n? [b, c]\n: 2\n",
    "a: http://h:80/p?q#f\nb: 10:30\nc: a:b\nd: -1\ne: -a -\n",
    "a: 0x1F\nb: 0o17\nc: 010\nd: +5\ne: .5\nf: 1_000\ng: 1e400\n",
    "a: yes\nb: No\nc: on\nd: True\ne: NULL\nf: \"null\"\ng: 'true'\n",
    "a: 2026-11-21T08:00:00Z\nb: 10Gbit\nc: 1.5Gbit/s\nd: 64KiB\n",
    "---\na: 1\n...\n",
    "%YAML 1.1\n---\na: 1\n",
    "a: 1\r\nb:\r\n  - c\r\n  - |\r\n    one\r\n    two\r\nd: e\r\n  f\r\n",
    "é: ü\n😀: \"中\"\nß : ' x '\n",
    "\"a b\": 1\n'c: d': 2\ne f: 3\n",
    "a:   \n  b:   c   \n\n\n  d: e\n",
    "a: !!str 1\nb: !!int \"2\"\n",
];

fn ours(text: &str) -> Node<'_> {
    let loaded = Loader::new(text, ["", ""], &mut |_| panic!("no list is handed over")).load();
    match loaded {
        Ok(node) => node.unwrap_or_else(|| panic!("there is nothing in {text:?}")),
        Err(fault) => panic!("{text:?} is not read: {:?} at {:?}", fault.kind, fault.span),
    }
}

/// Ours keeps scalars as they are written, so theirs has to be what they read where that is written alone.
fn is_same(ours: &Node<'_>, theirs: &Other) -> bool {
    match (&ours.value, theirs) {
        (Value::Null, Other::Null) => true,
        (Value::Scalar(text), Other::String(other)) => **text == **other,
        (Value::Scalar(text), Other::Bool(_) | Other::Number(_)) => {
            serde_norway::from_str::<Other>(text).is_ok_and(|alone| alone == *theirs)
        }
        (Value::Sequence(items), Other::Sequence(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(item, other)| is_same(item, other))
        }
        (Value::Mapping(entries), Other::Mapping(others)) => {
            entries.len() == others.len()
                && entries
                    .iter()
                    .zip(others)
                    .all(|(entry, (key, value))| is_same(&entry.key, key) && is_same(&entry.value, value))
        }
        _ => false,
    }
}

#[track_caller]
fn check(what: &str, text: &str) {
    let theirs: Other = serde_norway::from_str(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    let ours = ours(text);
    assert!(is_same(&ours, &theirs), "{what}\nour reader: {ours:#?}\nthe second reader: {theirs:#?}");
}

#[test]
fn a_second_parser_agrees_in_every_style() {
    for text in DOCUMENTS {
        check(text, text);
    }
}

#[test]
fn a_second_parser_agrees_on_the_examples() {
    let mut count = 0;
    for folder in ["schemas/examples", "docs/examples"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(folder);
        let paths = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        for path in paths.filter(is_yaml) {
            check(&path.display().to_string(), &fs::read_to_string(&path).unwrap());
            count += 1;
        }
    }
    assert!(count >= 20, "only {count} examples were found");
}

#[test]
fn a_difference_is_detected() {
    for (text, other) in [
        ("a: 1\n", "a: 2\n"),
        ("a: 1\n", "b: 1\n"),
        ("a: 1\n", "a: 1\nb: 1\n"),
        ("- 1\n- 2\n", "- 2\n- 1\n"),
        ("a: |\n  b\n", "a: |-\n  b\n"),
        ("a: ''\n", "a:\n"),
        ("a: [b]\n", "a: b\n"),
    ] {
        assert!(!is_same(&ours(text), &serde_norway::from_str(other).unwrap()), "{text:?} and {other:?}");
    }
}
