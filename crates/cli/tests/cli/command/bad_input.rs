//! All kinds of bad input: a place, the expected form, an exit code; never a panic.

use crate::command::{contracts, file, wayleave};

const GOOD: &str = "name: a, from: h1, to: h9, rate: 1Mbit, burst: 300B, deadline: 2ms";

/// Plans a text on a star of nine hosts, and checks that the error has the expected place and parts.
#[track_caller]
fn assert_bad(name: &str, text: impl AsRef<[u8]>, place: &str, parts: &[&str]) {
    let path = file(name, text);
    let run = wayleave(&format!("plan -t star:hosts=9 -f {path} -o json")).ends_with(2);
    assert!(run.stderr.contains(&format!("{path}{place}")), "{}", run.stderr);
    for part in parts {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert_eq!(run.stdout, "", "a plan was begun");
}

/// The same for one item of a list.
#[track_caller]
fn assert_bad_item(name: &str, item: &str, column: u32, parts: &[&str]) {
    assert_bad(name, contracts(&[item]), &format!(":5:{column}: "), parts);
}

#[test]
fn a_wrong_unit() {
    let item = GOOD.replace("1Mbit", "1mbps");
    assert_bad_item("bad-unit.yaml", &item, 42, &["\"1mbps\" can mean bits or bytes", "write 1Mbit", "^^^^^"]);
    assert_bad_item("bad-no-unit.yaml", &GOOD.replace("2ms", "2"), 72, &["has no unit", "500us"]);
}

#[test]
fn an_unknown_key() {
    assert_bad_item("bad-key.yaml", &GOOD.replace("burst", "burts"), 49, &["unknown key", "did you mean \"burst\"?"]);
}

#[test]
fn a_duplicate_name() {
    assert_bad("bad-twice.yaml", contracts(&[GOOD, GOOD]), ":6:15: ", &["is already used", "line 5"]);
    let first = file("bad-twice-first.yaml", contracts(&[GOOD]));
    let second = file("bad-twice-second.yaml", contracts(&[GOOD]));
    let run = wayleave(&format!("plan -t star:hosts=9 -f {first} -f {second}")).ends_with(2);
    assert!(run.stderr.contains(&format!("{second}:5:15: the name is already used")), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("{first}:5")), "{}", run.stderr);
}

#[test]
fn a_link_or_a_host_that_does_not_exist() {
    assert_bad_item("bad-host.yaml", &GOOD.replace("h9", "h99"), 32, &["there is no node \"h99\"", "9 hosts"]);
    let pinned = format!("{GOOD}, route: ['h1->s1:0', 's1->h99:0']");
    assert_bad_item("bad-link.yaml", &pinned, 97, &["there is no link \"s1->h99\""]);
}

#[test]
fn a_rate_that_is_zero_or_overflows() {
    assert_bad_item("bad-zero.yaml", &GOOD.replace("1Mbit", "0bit"), 42, &["the rate is zero"]);
    let item = GOOD.replace("1Mbit", "99999999999999999999Tbit");
    assert_bad_item("bad-overflow.yaml", &item, 42, &["too large: expected at most 10Tbit"]);
}

#[test]
fn a_burst_below_one_frame_of_its_own() {
    let item = format!("{GOOD}, maxFrame: 301B");
    assert_bad_item("bad-burst.yaml", &item, 56, &["the burst 300B is smaller than maxFrame 301B"]);
}

#[test]
fn a_truncated_file() {
    let whole = contracts(&[GOOD]);
    assert_bad("bad-cut.yaml", &whole[..whole.len() - 10], ":5:7: ", &["never closed", "cut off"]);
    assert_bad("bad-cut.csv", "name,from,to,rate,burst,deadline\n\"a,h1,h9,1Mb", ":2:1: ", &["never closed"]);
    assert_bad("bad-empty.yaml", "", ":1:1: ", &["the file is empty", "kind: Contracts"]);
}

#[test]
fn bytes_that_are_not_text() {
    assert_bad("bad-bytes.yaml", [0x80, 0x81, 0, 255], ": ", &["is not UTF-8 text"]);
    assert_bad("bad-gzip.yaml", [0x1f, 0x8b, 8, 0], ": ", &["gzip"]);
}

#[test]
fn a_file_that_does_not_exist_or_is_a_folder() {
    let run = wayleave("plan -t star:hosts=9 -f no/such/file.yaml").ends_with(2);
    assert!(run.stderr.contains("no/such/file.yaml: no such file"), "{}", run.stderr);
    let run = wayleave(&format!("plan -t star:hosts=9 -f {}", env!("CARGO_TARGET_TMPDIR"))).ends_with(2);
    assert!(run.stderr.contains("is a directory"), "{}", run.stderr);
}

#[test]
fn a_million_lines_with_an_error_in_the_last() {
    use std::fmt::Write;
    let mut text = "name,from,to,rate,burst,deadline\n".to_owned();
    for number in 0..1_000_000 {
        let _ = writeln!(text, "c{number},h1,h9,1kbit,300B,2ms");
    }
    text += "last,h1,h9,1kbit,300B,2";
    assert_bad("bad-million.csv", text, ":1000002:23: ", &["\"2\" has no unit"]);
}

#[test]
fn a_deadline_below_that_of_an_empty_network_is_refused_and_shown() {
    let path =
        file("bad-deadline.yaml", contracts(&[GOOD, &GOOD.replace("2ms", "10us").replace("name: a", "name: b")]));
    let run = wayleave(&format!("plan -t fat-tree:k=4 -f {path} -o json")).ends_with(3);
    let expected =
        format!("{path}:6:72: the deadline 10 us can never be met: even in an empty network h1 -> h9 takes at least");
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
    let plan = run.json();
    assert_eq!(
        (&plan["requests"][0]["decision"], &plan["requests"][1]["reason"]),
        (&"admitted".into(), &"LATENCY".into())
    );
}

#[test]
fn a_disconnected_pair_is_refused_and_shown() {
    let network = file(
        "bad-split.yaml",
        "apiVersion: wayleave/v1
kind: Topology
spec:
  nodes: [{ name: s1, kind: switch }, { name: s2, kind: switch }, { name: h1, kind: host }, { name: h9, kind: host }]
  links: [ { between: [h1, s1] }, { between: [h9, s2] } ]
",
    );
    let path = file("bad-pair.yaml", contracts(&[GOOD]));
    let run = wayleave(&format!("plan -t {network} -f {path} -o json")).ends_with(3);
    assert_eq!(run.json()["requests"][0]["reason"], "NO_PATH");
    assert!(run.stderr.contains(&format!("{path}:5:32: no route exists from h1 to h9")), "{}", run.stderr);
}

#[test]
fn a_path_that_is_too_long_or_too_narrow_is_refused_and_shown() {
    let path = file("bad-long.yaml", contracts(&[GOOD]));
    let run = wayleave(&format!("plan -t line:switches=9 -f {path}")).ends_with(3);
    assert!(
        run.stderr.contains(&format!("{path}:5:32: no route from h1 to h9 within the deadline has 6 switches")),
        "{}",
        run.stderr
    );
    let jumbo = format!("{}, maxFrame: 9000B", GOOD.replace("300B", "9000B"));
    let path = file("bad-jumbo.yaml", contracts(&[&jumbo]));
    let run = wayleave(&format!("plan -t star:hosts=9 -f {path}")).ends_with(3);
    assert!(run.stderr.contains("no path can carry the contract's largest frame"), "{}", run.stderr);
    let pinned = format!("{GOOD}, route: ['h1->s1:0', 's1->h9:7']");
    let path = file("bad-queue.yaml", contracts(&[&pinned]));
    let run = wayleave(&format!("plan -t star:hosts=9 -f {path}")).ends_with(3);
    assert!(run.stderr.contains("contracts may only use queues 0 to 6 of s1->h9"), "{}", run.stderr);
}

#[test]
fn findings_beyond_the_first_twenty_are_counted() {
    let items: Vec<String> =
        (0..25).map(|n| GOOD.replace("2ms", "10us").replace("name: a", &format!("name: c{n}"))).collect();
    let path = file("bad-many.yaml", contracts(&items.iter().map(String::as_str).collect::<Vec<_>>()));
    let run = wayleave(&format!("plan -t star:hosts=9 -f {path}")).ends_with(3);
    assert_eq!(run.stderr.matches("the deadline 10 us can never be met").count(), 20);
    assert!(run.stderr.contains("and 5 more requests"), "{}", run.stderr);
}

#[test]
fn events_that_cannot_happen() {
    let head = "apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n";
    let path = file(
        "bad-events.yaml",
        format!(
            "{head}    - {{ at: 2ms, add: {{ {GOOD} }} }}\n    - {{ at: 1ms, release: a }}\n    - {{ at: 3ms, release: b }}\n"
        ),
    );
    let run = wayleave(&format!("plan -t star:hosts=9 --events {path}")).ends_with(2);
    assert!(run.stderr.contains(&format!("{path}:6:13: 1ms is before 2ms")), "{}", run.stderr);
    assert!(run.stderr.contains("no contract \"b\" was added before"), "{}", run.stderr);
}
