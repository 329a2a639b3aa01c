//! Messages about files that are cut off, empty, too deep, or no YAML, JSON or CSV at all.

use crate::common::{assert_problems, contracts, contracts_yaml, csv, terms, topology};
use wayleave_formats::ProblemKind::{
    BadValue, DuplicateKey, Empty, MissingKey, Syntax, TooLarge, UnknownKey, UnknownName, WrongKind, WrongType,
};

#[test]
fn a_truncated_file_is_recognised() {
    let yaml = contracts_yaml(&[&terms("a"), "{ name: b, from: h1"]);
    assert_problems(
        contracts(&yaml),
        &[(Syntax, "6:7", "this \"{\" is never closed: the file ends on line 6 .. cut off")],
    );
    assert_problems(
        contracts("apiVersion: wayleave/v1\nkind: \"Contra"),
        &[(Syntax, "2:7", "this quotation mark is never closed: the file ends on line 2 .. cut off")],
    );
    assert_problems(
        contracts(
            "{\"apiVersion\": \"wayleave/v1\",\n \"kind\": \"Contracts\",\n \"spec\": {\"contracts\": [{\"name\"",
        ),
        &[(Syntax, "3:32", "the JSON ends before everything that was opened is closed .. cut off")],
    );
    assert_problems(
        csv("name,from,to,rate,burst,deadline\na,h1,h2,1Mbit,1500B,2ms\nb,h1,h2,1M"),
        &[(Syntax, "3:1", "this row has 4 fields, and the header has 6")],
    );
    assert_problems(
        csv("name,from,to,rate,burst,deadline\n\"a,h1,h2,1Mbit,1500B,2ms\nb,h1,h2,1Mbit,1500B,2ms\n"),
        &[(Syntax, "2:1", "this quotation mark is never closed")],
    );
}

#[test]
fn an_empty_file_is_reported_with_the_expected_content() {
    for text in ["", "\n \n", "\u{feff}", "~"] {
        assert_problems(
            contracts(text),
            &[(Empty, "1:1", "expected a document of kind Contracts .. apiVersion: wayleave/v1")],
        );
    }
    assert_problems(topology("# nothing\n"), &[(Empty, "1:1", "there are only comments here")]);
    assert_problems(
        csv(""),
        &[(Empty, "1:1", "a header and one contract per row .. name,from,to,rate,burst,deadline")],
    );
    assert_problems(csv("\n\n"), &[(Empty, "1:1", "the file is empty")]);
    assert_problems(
        contracts("name,from,to\na,h1,h2"),
        &[(WrongType, "1:1", "this is text .. files that end in .csv")],
    );
}

#[test]
fn broken_yaml_is_explained() {
    let cases = [
        ("a: 1\n\tb: 2", "2:1", "YAML does not allow a tab here: indent with spaces"),
        ("a:\n\t- b", "2:1", "tab"),
        ("a: 1\n  b: 2", "2:4", "a colon is not allowed here .. same column"),
        ("a: b: c", "1:5", "a colon is not allowed here .. quotation marks"),
        ("a: 1\nb", "2:1", "a key needs a colon after it .. key: value"),
        ("a: @b", "1:4", "the character @ is not allowed here .. quotation marks"),
        ("a: b\u{1}c", "1:5", "the invisible character \\u{1} is not allowed"),
        ("a: 'it's'", "1:8", "nothing can follow the closing quotation mark .. 'it''s'"),
        ("a: \"\\q\"", "1:4", "a backslash .. is not known"),
        ("a: [1, 2", "1:4", "this \"[\" is never closed"),
        ("a: ]", "1:4", "this bracket closes nothing"),
        ("a: [1}", "1:4", "a \"[\" is closed by a \"}\""),
        ("{ a: 1\n  b: 2 }", "2:4", "a comma or a closing } is expected"),
        ("a: *x", "1:4", "anchor (&name) that does not exist"),
        ("a: &x [ *x ]", "1:9", "write the value out"),
        ("a: !include b", "1:13", "the tag !include is not known here"),
        ("a: 1\n---\nb: 2", "2:1", "a second document begins here"),
        ("- a\nb: 1", "2:1", "the list above continues"),
        ("a: [b\n  c: d", "2:4", "a colon is not allowed here .. a bracket above it was not closed"),
        ("a:\n  b: 'c\n  d: 'e'", "3:3", "that began above continues here .. closing mark is missing"),
        ("a: { b: c,, d: e }", "1:11", "a value is missing here"),
        ("a:\n  * b", "2:3", "needs a name .. begins with \"- \""),
        (" a: 1\nb: 2", "2:1", "the document ended above .. same column as the first one"),
    ];
    for (text, at, words) in cases {
        assert_problems(contracts(text), &[(Syntax, at, words)]);
    }
}

#[test]
fn broken_json_is_explained_in_terms_of_json() {
    let cases = [
        ("{\"a\": 1\n \"b\": 2}", "2:2", "invalid JSON: expected `,` or `}`"),
        ("{\"a\" 1}", "1:6", "invalid JSON: expected `:`"),
        ("[\"a\", @]", "1:7", "invalid JSON: expected value"),
    ];
    for (text, at, words) in cases {
        assert_problems(contracts(text), &[(Syntax, at, words)]);
    }
}

#[test]
fn the_depth_of_nesting_is_limited() {
    for open in ["[", "{", "{\"a\":", "- ", "? "] {
        let errors = contracts(&open.repeat(10_000)).unwrap_err();
        assert_eq!(errors.problems().len(), 1);
        let problem = &errors.problems()[0];
        assert!(problem.message().contains("nested"), "{problem}");
        assert_eq!(problem.location().map(|location| location.line), Some(1));
    }
}

#[test]
fn a_billion_laughs_end_early() {
    let mut text = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..20 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    assert_problems(
        contracts(&text),
        &[(TooLarge, "6:40", "anchors and aliases .. expand to more than 1000000 values")],
    );
}

#[test]
fn a_csv_header_is_checked_before_its_rows() {
    assert_problems(
        csv("a,h1,h2,1Mbit,1500B,2ms\n"),
        &[(MissingKey, "1:1", "the first line is not a header .. name,from,to,rate,burst,deadline")],
    );
    assert_problems(csv("name,from,to,rate,burst\n"), &[(MissingKey, "1:1", "the header has no column \"deadline\"")]);
    assert_problems(
        csv("name,from,to,rate,burst,deadline,Name,min-frame,name\n"),
        &[
            (UnknownKey, "1:34", "unknown column \"Name\", did you mean \"name\"?"),
            (UnknownKey, "1:39", "unknown column \"min-frame\", did you mean \"minFrame\"?"),
            (DuplicateKey, "1:49", "the column \"name\" is given twice"),
        ],
    );
    assert_problems(
        csv("name,from,to,rate,burst,deadline\r\na,,h2,1Mbit,1500B,2ms\r\n\r\nb,h1,h2,1Mbit,1500B,2\r\n"),
        &[(MissingKey, "2:3", "\"from\" is empty"), (BadValue, "4:21", "has no unit")],
    );
}

#[test]
fn line_ends_of_windows_and_a_byte_order_mark_shift_nothing() {
    let unix = contracts_yaml(&[&terms("a").replace("1Mbit", "10")]);
    let windows = format!("\u{feff}{}", unix.replace('\n', "\r\n"));
    let (unix, windows) = (contracts(&unix).unwrap_err(), contracts(&windows).unwrap_err());
    assert_eq!(unix.to_string(), windows.to_string());
    let first_line = contracts("\u{feff}apiVersion: v1\r\nkind: Contracts\r\nspec: { contracts: [] }\r\n");
    assert_problems(first_line, &[(WrongKind, "1:13", "wayleave/v1")]);
}

#[test]
fn columns_count_characters_and_not_bytes() {
    let text = contracts_yaml(&["{ name: \"äöü名😀\", from: h1, to: h2, rate: 10, burst: 1kB, deadline: 1ms }"]);
    assert_problems(contracts(&text), &[(BadValue, "5:15", "not a name"), (BadValue, "5:48", "has no unit")]);
}

#[test]
fn a_contract_cut_short_by_a_syntax_error_reports_no_missing_keys() {
    let text = contracts_yaml(&[&terms("a"), "name: b\n      rate: 10\n     from: h1"]);
    assert_problems(
        contracts(&text),
        &[(BadValue, "7:13", "has no unit"), (Syntax, "8:6", "the list above continues")],
    );
}

#[test]
fn an_open_quotation_mark_in_the_header_of_a_csv_is_found() {
    let text = "\"name,from,to,rate,burst,deadline\na,h1,h2,1Mbit,1500B,2ms\n";
    assert_problems(csv(text), &[(Syntax, "1:1", "this quotation mark is never closed")]);
}

#[test]
fn a_hop_in_a_quoted_csv_field_is_located() {
    let header = "name,from,to,rate,burst,deadline,route\n";
    for (route, column) in [("h1->s1:0 s1->h:3", "2:34"), ("\"h1->s1:0 s1->h:3\"", "2:35")] {
        let text = format!("{header}a,h1,h2,1Mbit,1500B,2ms,{route}\n");
        assert_problems(csv(&text), &[(UnknownName, column, "there is no link \"s1->h\"")]);
    }
}
