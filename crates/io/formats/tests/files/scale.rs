//! Long files: read one contract at a time, and bounded.
//!
//! `WAYLEAVE_SCALE=1000000 cargo test --release -p wayleave-formats --test files scale -- --nocapture --test-threads 1`
//! measures what a test run only samples.

use std::fmt::Write;
use std::time::{Duration, Instant};

use wayleave_formats::{Addressed, Source, parse_builder, read_contracts, read_events, read_order};
use wayleave_topology::Network;

fn count() -> usize {
    std::env::var("WAYLEAVE_SCALE").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000)
}

fn network() -> Network {
    parse_builder("fat-tree:k=4").unwrap().network
}

fn timed<T>(what: &str, megabytes: usize, read: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = read();
    let took = start.elapsed();
    println!("{what}: {} contracts, {} MB in {took:?}", count(), megabytes / 1_000_000);
    (result, took)
}

fn contracts(ending: &str, text: String) {
    let source = Source::new(&format!("long.{ending}"), text);
    let network = network();
    let (list, took) = timed(ending, source.text().len(), || read_contracts(&source, &network));
    let list = list.unwrap();
    assert_eq!(list.contracts().len(), count());
    let last = list.locate(count() - 1, "deadline");
    assert_eq!(source.text()[last.bytes].trim_matches('"'), "2ms");
    // Three seconds for a million lines of CSV in a release build; sixty times that is a hang.
    assert!(took < Duration::from_secs(180));
}

fn ends(index: usize) -> (usize, usize) {
    (index % 16 + 1, (index + 3) % 16 + 1)
}

#[test]
fn a_long_list_of_flow_lines_is_read() {
    let mut text = String::from("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n");
    for index in 0..count() {
        let (from, to) = ends(index);
        writeln!(
            text,
            "    - {{ name: c{index}, tenant: acme, from: h{from}, to: h{to}, rate: 220kbit, burst: 300B, deadline: 2ms }}"
        )
        .unwrap();
    }
    contracts("yaml", text);
}

#[test]
fn a_long_list_of_json_is_read() {
    let mut text = String::from("{\"apiVersion\":\"wayleave/v1\",\"kind\":\"Contracts\",\"spec\":{\"contracts\":[");
    for index in 0..count() {
        let (from, to) = ends(index);
        let comma = if index == 0 { "" } else { "," };
        write!(
            text,
            "{comma}{{\"name\":\"c{index}\",\"tenant\":\"acme\",\"from\":\"h{from}\",\"to\":\"h{to}\",\"rate\":\"220kbit\",\
             \"burst\":\"300B\",\"deadline\":\"2ms\"}}"
        )
        .unwrap();
    }
    contracts("json", text + "]}}");
}

#[test]
fn a_long_csv_is_read() {
    let mut text = String::from("name,tenant,from,to,rate,burst,deadline\n");
    for index in 0..count() {
        let (from, to) = ends(index);
        writeln!(text, "c{index},acme,h{from},h{to},220kbit,300B,2ms").unwrap();
    }
    contracts("csv", text);
}

#[test]
fn a_long_list_of_wrong_contracts_shows_twenty_and_counts_the_rest() {
    let mut text = String::from("name,tenant,from,to,rate,burst,deadline\n");
    for index in 0..count() {
        writeln!(text, "c,acme,h1,h99,220kbps,300B,{index}").unwrap();
    }
    let source = Source::new("wrong.csv", text);
    let network = network();
    let (errors, _) = timed("wrong", source.text().len(), || read_contracts(&source, &network).unwrap_err());
    assert_eq!(errors.problems().len(), 20);
    // An unknown host, an ambiguous rate and a bare number in each row; a taken name in all but the first.
    assert_eq!(errors.more(), 4 * count() - 1 - 20);
}

#[test]
fn duplicate_names_late_in_a_long_file_are_found_without_repeated_scans() {
    let mut text = String::from("name,from,to,rate,burst,deadline\n");
    for index in 0..count() {
        let name = index.min(count() / 2);
        writeln!(text, "c{name},h1,h2,220kbit,300B,2ms").unwrap();
    }
    let source = Source::new("taken.csv", text);
    let network = network();
    let (errors, took) = timed("taken", source.text().len(), || read_contracts(&source, &network).unwrap_err());
    assert_eq!(errors.problems().len() + errors.more(), count() - 1 - count() / 2);
    assert!(took < Duration::from_secs(60));
}

#[test]
fn a_long_list_of_events_is_read() {
    let mut text = String::from("apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n");
    for index in 0..count() / 2 {
        let (from, to) = ends(index);
        writeln!(
            text,
            "    - {{ at: {index}us, add: {{ name: c{index}, from: h{from}, to: h{to}, rate: 1Mbit, burst: 1kB, deadline: 2ms }} }}\n\
             \x20   - {{ at: {index}us, release: c{index} }}"
        )
        .unwrap();
    }
    let source = Source::new("long.yaml", text);
    let network = network();
    let (list, _) = timed("events", source.text().len(), || read_events(&source, &network).unwrap());
    assert_eq!(list.events().len(), count() / 2 * 2);
}

/// A server reads one contract a request; what that takes is printed.
#[test]
fn one_contract_alone_is_read_repeatedly_with_the_same_result() {
    let network = network();
    let bodies: [(&str, &str); 3] = [
        (
            "JSON",
            r#"{"name":"ptp-000123","tenant":"acme","from":"h1","to":"h9","rate":"220kbit","burst":"300B","deadline":"2ms"}"#,
        ),
        (
            "JSON with everything",
            r#"{"name":"ptp-000123","tenant":"acme","from":"h1","to":"h9","rate":"220kbit","burst":"3000B","deadline":"2ms",
            "accounting":"frame","minFrame":"64B","maxFrame":"1500B","protection":2,"priority":80,
            "starts":"2026-11-21T08:00:00Z","ends":"2026-11-21T09:00:00Z",
            "match":{"protocol":"tcp","sourceAddress":"10.0.0.1","destinationAddress":"10.0.0.2","destinationPort":443}}"#,
        ),
        ("YAML", "{ name: ptp-1, tenant: acme, from: h1, to: h9, rate: 220kbit, burst: 300B, deadline: 2ms }"),
    ];
    for (what, body) in bodies {
        let read = || read_order(&Source::new("body", body), &network, &network, Addressed::default()).unwrap();
        let first = read();
        assert_eq!(first.as_latency().unwrap().rate, "220kbit".parse().unwrap());
        let start = Instant::now();
        assert!((0..count()).all(|_| read() == first));
        println!("{what}: {:.2} us", start.elapsed().as_secs_f64() * 1e6 / count() as f64);
    }
}
