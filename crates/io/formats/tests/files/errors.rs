//! Messages about wrong files: each has a position and a hint.

use crate::common::{assert_problems, contracts, contracts_yaml, csv, events, terms, topology, topology_yaml};
use wayleave_formats::ProblemKind::{
    BadValue, DuplicateKey, DuplicateName, Impossible, MissingKey, UnknownKey, UnknownName, WrongKind, WrongType,
};
use wayleave_formats::{InputErrors, MAX_PROBLEMS, Source, parse_builder, read_contracts, read_topology};

/// Returns the problems of a document with one contract, on line 5 from column 7.
fn one(contract: &str) -> Result<wayleave_formats::ContractList, InputErrors> {
    contracts(&contracts_yaml(&[contract]))
}

/// A good contract with one text replaced.
fn with(old: &str, new: &str) -> String {
    let terms = terms("a");
    assert!(terms.contains(old), "{old}");
    terms.replace(old, new)
}

// --- How problems are shown -------------------------------------------------------------------------------------

#[test]
fn a_problem_shows_file_line_column_source_and_context() {
    let text = "apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n  - name: ptp-1\n    from: h1\n    rate: 10mbps\n    \
                to: h2\n    burst: 300B\n    deadline: 2ms\n";
    assert_eq!(
        contracts(text).unwrap_err().to_string(),
        "contracts.yaml:7:11: \"10mbps\" can mean bits or bytes (Linux tc and people differ): write 10Mbit if bits per \
         second are meant
   7 |     rate: 10mbps
     |           ^^^^^^
  in contract \"ptp-1\""
    );
}

#[test]
fn several_problems_are_shown_in_order_of_place_with_hints() {
    let errors = one("{ name: a, form: h1, to: h77, rate: 1Mbit, burst: 1500B, deadline: 2ms }").unwrap_err();
    assert_eq!(
        errors.to_string(),
        "contracts.yaml:5:18: unknown key \"form\", did you mean \"from\"?
   5 |     - { name: a, form: h1, to: h77, rate: 1Mbit, burst: 1500B, deadline: 2ms }
     |                  ^^^^
  in contract \"a\"
  hint: the keys of a contract: name, tenant, from, to, rate, burst, deadline, accounting, minFrame, maxFrame, route, protection, priority, starts, ends, match, labels, excess, bandwidth, objective, bestEffort

contracts.yaml:5:32: there is no node \"h77\"
   5 |     - { name: a, form: h1, to: h77, rate: 1Mbit, burst: 1500B, deadline: 2ms }
     |                                ^^^
  in contract \"a\"
  hint: the network has 9 hosts: h1, h2, h3 ... h9"
    );
}

#[test]
fn twenty_problems_are_shown_and_the_others_counted() {
    let wrong = vec!["7"; 25];
    let errors = contracts(&contracts_yaml(&wrong)).unwrap_err();
    assert_eq!((errors.problems().len(), errors.more()), (MAX_PROBLEMS, 5));
    assert!(errors.to_string().ends_with("\n\nand 5 more problems"));
    let errors = contracts(&contracts_yaml(&wrong[..21])).unwrap_err();
    assert!(errors.to_string().ends_with("\n\nand 1 more problem"));
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let padding = "p".repeat(200);
    let errors = one(&with("1Mbit,", &format!("10mbps, tenant: {padding},"))).unwrap_err();
    let shown = errors.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[1],
        format!("   5 |     - {{ name: a, from: h1, to: h2, rate: 10mbps, tenant: {}…", "p".repeat(50))
    );
    assert_eq!(lines[2], format!("     | {}^^^^^^", " ".repeat(41)));
    let long_name = format!("name: {}", "p".repeat(100));
    let errors = one(&with("1Mbit", "10mbps").replace("name: a", &long_name)).unwrap_err();
    let shown = errors.to_string();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].starts_with("   5 | …ppp") && lines[1].contains("rate: 10mbps"), "{shown}");
    assert_eq!(lines[2].find('^').unwrap(), lines[1].replace('…', ".").find("10mbps").unwrap(), "{shown}");
}

#[test]
fn the_caret_is_below_wide_characters_and_tabs() {
    let errors = contracts("apiVersion: wayleave/v1\nkind: Contracts\nspec: { \"名\": 1,\t\"é\": 2, contracts: [] }")
        .unwrap_err();
    let shown = errors.to_string();
    assert!(shown.contains("contracts.yaml:3:17: unknown key \"é\""), "{shown}");
    assert!(
        shown.contains("   3 | spec: { \"名\": 1,→\"é\": 2, contracts: [] }\n     |                  ^^^\n"),
        "{shown}"
    );
}

#[test]
fn a_long_name_is_shortened_and_control_characters_are_escaped() {
    let long = "n".repeat(5000);
    let errors = one(&with("h2", &long)).unwrap_err();
    assert!(errors.problems()[0].message().contains(&format!("{}…\"", "n".repeat(40))));
    assert!(errors.to_string().len() < 600, "{errors}");

    // A terminal escape, a line break, and a mark that reverses what follows it.
    let errors = one(&with("h2", "\"h2\\e[31m\\n\\u202e\"")).unwrap_err();
    assert!(errors.problems()[0].message().contains(r#""h2\u{1b}[31m\u{a}\u{202e}""#), "{errors}");
    let errors = one(&with("h2", "h\u{202e}2")).unwrap_err();
    assert!(!errors.to_string().contains('\u{202e}'), "{errors:?}");
    let source = Source::new("a\u{1b}[2Jb.yaml", "");
    assert!(read_topology(&source).unwrap_err().to_string().starts_with("a\\u{1b}[2Jb.yaml:1:1: "));
}

#[test]
fn a_problem_separates_message_place_context_and_hint() {
    let errors = one(&with("h2", "h77")).unwrap_err();
    let problem = &errors.problems()[0];
    assert_eq!(problem.message(), "there is no node \"h77\"");
    let location = problem.location().unwrap();
    assert_eq!((location.line, location.column), (5, 32));
    assert_eq!(&problem.source_text().text()[location.bytes.clone()], "h77");
    assert_eq!(problem.source_text().name(), "contracts.yaml");
    assert_eq!(problem.context(), Some("contract \"a\""));
    assert!(problem.hint().unwrap().contains("9 hosts"));
}

// --- Values ------------------------------------------------------------------------------------------------------

#[test]
fn an_unreadable_quantity_is_reported_with_the_expected_form() {
    let cases = [
        ("1Mbit", "10", "5:42", "\"10\" has no unit .. 10Gbit, 2.5Mbit/s or 500kbit"),
        ("1Mbit", "10Gbps", "5:42", "can mean bits or bytes .. write 10Gbit"),
        ("1Mbit", "10Gbt", "5:42", "unknown unit, did you mean Gbit?"),
        ("1Mbit", "11Tbit", "5:42", "too large: expected at most 10Tbit"),
        ("1Mbit", "99999999999999999999999999999bit", "5:42", "too large: expected at most"),
        ("1Mbit", "-1Mbit", "5:42", "is negative"),
        ("1Mbit", "fast", "5:42", "does not begin with a number"),
        ("1Mbit", "\"\"", "5:42", "does not begin with a number"),
        ("1Mbit", "1.5.2Mbit", "5:42", "has a misplaced decimal point .. 10Gbit"),
        ("1500B", "1500", "5:56", "has no unit .. 1500B, 97kB or 64KiB"),
        ("1500B", "1Mb", "5:56", "can mean bits or bytes .. write 1MB if bytes are meant"),
        ("1500B", "0.5B", "5:56", "is not a whole number of B"),
        ("2ms", "2", "5:73", "has no unit .. 500us, 1.5ms or 2s"),
        ("2ms", "2m", "5:73", "unknown unit"),
    ];
    for (old, new, at, words) in cases {
        assert_problems(one(&with(old, new)), &[(BadValue, at, words)]);
    }
}

#[test]
fn a_list_or_mapping_where_text_is_expected_is_named() {
    assert_problems(one(&with("1Mbit", "[1Mbit]")), &[(WrongType, "5:42", "text is expected, not a list")]);
    assert_problems(one(&with("1Mbit", "{ a: b }")), &[(WrongType, "5:42", "text is expected, not a mapping")]);
    assert_problems(
        one(&with("2ms", "2ms, route: h1->s1:0")),
        &[(WrongType, "5:85", "a list of hops (LINK:QUEUE) is expected, not text")],
    );
    assert_problems(
        one("seven"),
        &[(WrongType, "5:7", "a contract is expected here, not text .. name, tenant or from")],
    );
    assert_problems(
        contracts("apiVersion: wayleave/v1\nkind: Contracts\nspec: { contracts: 7 }"),
        &[(WrongType, "3:20", "a list of contracts is expected, not text")],
    );
    assert_problems(
        topology(&topology_yaml("  builder: { kind: star, hosts: many }")),
        &[(BadValue, "4:33", "\"many\" is not accepted: expected a whole number such as 4")],
    );
}

#[test]
fn an_impossible_contract_is_refused_at_its_field() {
    let cases = [
        (with("1Mbit", "0bit"), "5:42", "the rate is zero"),
        (with("1500B", "0B"), "5:56", "the burst is zero"),
        (with("1500B", "63B, accounting: frame, minFrame: 64B"), "5:56", "the burst 63B is smaller than minFrame 64B"),
        (with("1500B", "100B, maxFrame: 101B"), "5:56", "smaller than maxFrame 101B"),
        (with("2ms", "0s"), "5:73", "deadline is zero"),
        (with("2ms", "101s"), "5:73", "too long: expected at most 100s"),
        (with("h2", "s1"), "5:32", "to is s1, a switch: contracts join hosts"),
        (with("h2", "h1"), "5:32", "from and to are both h1"),
        (with("2ms", "2ms, minFrame: 64B"), "5:88", "minFrame has no effect .. accounting: frame"),
        (with("2ms", "2ms, route: [h1->s1:0]"), "5:85", "the route ends at s1, not at h2"),
        (with("2ms", "2ms, route: [h1->s1:0, s1->h2:9]"), "5:96", "s1->h2 has no queue 9"),
        (with("2ms", "2ms, route: [h1->s1:0, h1->s1:0]"), "5:96", "hop 2 is h1->s1, but the route is at s1"),
        (with("2ms", "2ms, protection: 0"), "5:90", "protection is 0 .. from 1 (none) to 4"),
        (with("2ms", "2ms, protection: 5"), "5:90", "protection is 5 .. from 1 (none) to 4"),
        (
            with("2ms", "2ms, protection: 2, route: [h1->s1:0, s1->h2:0]"),
            "5:90",
            "a pinned route is one route .. leave out route, or leave out protection",
        ),
    ];
    for (contract, at, words) in cases {
        assert_problems(one(&contract), &[(Impossible, at, words)]);
    }
}

#[test]
fn protection_is_a_number_of_routes() {
    for text in ["two", "-1", "2.0", "300"] {
        assert_problems(
            one(&with("2ms", &format!("2ms, protection: {text}"))),
            &[(BadValue, "5:90", "is not a number of disjoint routes .. a whole number from 1")],
        );
    }
}

#[test]
fn accounting_requires_a_minimum_frame() {
    assert_problems(
        one(&with("2ms", "2ms, accounting: frame")),
        &[(MissingKey, "5:90", "accounting by frame needs minFrame .. such as 64B")],
    );
    assert_problems(
        one(&with("2ms", "2ms, accounting: frames, minFrame: 64B")),
        &[(BadValue, "5:90", "unknown accounting \"frames\", did you mean \"frame\"?")],
    );
    assert_problems(
        one(&with("2ms", "2ms, accounting: bytes")),
        &[(BadValue, "5:90", "unknown accounting \"bytes\": expected wire or frame")],
    );
}

// --- Names and keys ----------------------------------------------------------------------------------------------

#[test]
fn an_unknown_key_is_compared_with_the_known_ones() {
    assert_problems(
        one(&with("burst", "burts")),
        &[(
            UnknownKey,
            "5:49",
            "unknown key \"burts\", did you mean \"burst\"? .. the keys of a contract: name, tenant",
        )],
    );
    assert_problems(
        one(&with("2ms", "2ms, min_frame: 64B, weather: 3")),
        &[
            (UnknownKey, "5:78", "\"min_frame\", did you mean \"minFrame\"?"),
            (UnknownKey, "5:94", "unknown key \"weather\""),
        ],
    );
    assert_problems(one(&with("name", "<<: { to: h3 }, name")), &[(UnknownKey, "5:9", "merge keys (<<) are not read")]);
    assert_problems(
        one(&with("to: h2", "to:h2")),
        &[(UnknownKey, "5:28", "a space is missing after the colon of \"to\" .. `to: ...`")],
    );
    assert_problems(one(&with("name", "[a]: b, name")), &[(WrongType, "5:9", "a key is expected here, not a list")]);
}

#[test]
fn missing_keys_are_named_together() {
    assert_problems(
        contracts(&contracts_yaml(&["{ name: a, to: h1, rate: , deadline: 2ms }", "name: b\n      from: h1"])),
        &[
            (MissingKey, "5:7", "a contract needs the keys \"from\" and \"burst\""),
            (MissingKey, "5:26", "\"rate\" has no value"),
            (MissingKey, "6:7", "needs the keys \"to\", \"rate\", \"burst\" and \"deadline\""),
        ],
    );
    assert_problems(contracts("kind: Contracts\nspec: { contracts: [] }"), &[(MissingKey, "1:1", "\"apiVersion\"")]);
}

#[test]
fn a_duplicate_key_names_the_line_of_the_first() {
    let text = contracts_yaml(&[
        "name: a\n      rate: 1Mbit\n      rate: 2Mbit\n      from: h1\n      to: h2\n      burst: 1kB\n      deadline: 1ms",
    ]);
    assert_problems(contracts(&text), &[(DuplicateKey, "7:7", "\"rate\" is given twice: first on line 6")]);
    let json = r#"{"apiVersion":"wayleave/v1","kind":"Contracts",
        "kind":"Contracts","spec":{"contracts":[]}}"#;
    assert_problems(contracts(json), &[(DuplicateKey, "2:9", "\"kind\" is given twice: first on line 1")]);
}

#[test]
fn a_name_in_use_names_the_line_of_the_first() {
    assert_problems(
        contracts(&contracts_yaml(&[&terms("a"), &terms("b"), &terms("a")])),
        &[(DuplicateName, "7:15", "the name \"a\" is already used on line 5")],
    );
    assert_problems(
        csv("name,from,to,rate,burst,deadline\na,h1,h2,1Mbit,1500B,2ms\na,h1,h3,1Mbit,1500B,2ms\n"),
        &[(DuplicateName, "3:1", "is already used on line 2")],
    );
    assert_problems(
        topology(&topology_yaml("  nodes:\n    - { name: s1, kind: switch }\n    - { name: s1, kind: host }")),
        &[(DuplicateName, "6:15", "the name \"s1\" is already used on line 5")],
    );
}

#[test]
fn an_unknown_node_or_link_is_compared_with_existing_ones() {
    let network = parse_builder("fat-tree:k=4").unwrap().network;
    let read = |contract: String| read_contracts(&Source::new("c.yaml", contracts_yaml(&[&contract])), &network);
    assert_problems(
        read(with("h2", "pod1-edge")),
        &[(UnknownName, "5:32", "there is no node \"pod1-edge\", did you mean \"pod1-edge1\"?")],
    );
    assert_problems(read(with("h2", "h17")), &[(UnknownName, "5:32", "\"h17\" .. 16 hosts: h1, h2, h3 ... h16")]);
    assert_problems(
        read(with("2ms", "2ms, route: [h1->pod1-egde1:0, \"pod1-edge1->h2:3\"]")),
        &[(UnknownName, "5:86", "there is no link \"h1->pod1-egde1\", did you mean \"h1->pod1-edge1\"?")],
    );
    assert_problems(
        read(with("2ms", "2ms, route: [nowhere:0, h1->pod1-edge1, h1->pod1-edge1:x]")),
        &[
            (UnknownName, "5:86", "there is no link \"nowhere\" .. FROM->TO"),
            (BadValue, "5:97", "\"h1->pod1-edge1\" is not a hop: expected LINK:QUEUE"),
            (BadValue, "5:113", "is not a hop"),
        ],
    );
    assert_problems(
        topology(&topology_yaml("  nodes: [ { name: spine, kind: switch } ]\n  links: [ { between: [spine, spin] } ]")),
        &[(UnknownName, "5:31", "there is no node \"spin\", did you mean \"spine\"?")],
    );
}

#[test]
fn another_kind_or_version_suppresses_all_other_errors() {
    let text = contracts_yaml(&["7"; 30]);
    assert_problems(
        topology(&text),
        &[(WrongKind, "2:7", "this is a document of kind Contracts: expected kind Topology")],
    );
    assert_problems(events(&text), &[(WrongKind, "2:7", "expected kind Events")]);
    assert_problems(
        contracts(&text.replace("Contracts", "Contract")),
        &[(WrongKind, "2:7", "unknown kind \"Contract\", did you mean \"Contracts\"?")],
    );
    assert_problems(
        contracts("apiVersion: wayleave/v2\nkind: Pod\nspec: {}"),
        &[(WrongKind, "2:7", "unknown kind \"Pod\": expected Contracts")],
    );
    assert_problems(
        contracts("apiVersion: v1\nkind: Contracts\nspec: { contracts: [] }"),
        &[(WrongKind, "1:13", "unknown apiVersion \"v1\": expected wayleave/v1")],
    );
}

// --- Files -------------------------------------------------------------------------------------------------------

#[test]
fn a_missing_file_is_compared_with_its_neighbours() {
    let folder = std::env::temp_dir().join(format!("wayleave-formats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("contracts.yaml"), "").unwrap();
    let missing = folder.join("contract.yaml");
    let shown = Source::read(&missing).unwrap_err().to_string();
    assert_eq!(shown, format!("{}: no such file, did you mean \"contracts.yaml\"?", missing.display()));
    let shown = Source::read(&folder).unwrap_err().to_string();
    assert_eq!(shown, format!("{}: is a directory: expected a file", folder.display()));
    assert_eq!(Source::read(folder.join("contracts.yaml")).unwrap().text(), "");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn bytes_that_are_not_text_are_located_and_the_encoding_guessed() {
    let cases: [(&[u8], &str, &str); 4] = [
        (b"a: 1\nb: caf\xe9\n", "byte 12 (0xe9), on line 2", "Latin-1"),
        (b"\xff\xfea\0", "byte 1 (0xff), on line 1", "UTF-16"),
        (b"\x1f\x8b\x08", "byte 2 (0x8b)", "gunzip"),
        (b"PK\x03\x04\xff", "byte 5 (0xff)", "spreadsheet"),
    ];
    for (bytes, place, guess) in cases {
        let errors = Source::from_reader("x.yaml", bytes).unwrap_err();
        let problem = &errors.problems()[0];
        assert!(problem.message().contains(place), "{problem}");
        assert!(problem.hint().unwrap().contains(guess), "{problem}");
    }
}
