//! Contracts in YAML, JSON and CSV: what they mean, where their fields are, and writing.

use crate::common::{contracts, contracts_yaml, csv, star, terms};
use wayleave_contracts::{Accounting, Contract, Endpoints, LatencyContract, Named};
use wayleave_formats::{
    Addressed, ContractField, ProblemKind, Source, parse_builder, read_contracts, read_contracts_of_all_kinds,
    read_orders, write_contracts,
};
use wayleave_topology::{Hop, Route};
use wayleave_units::{Bytes, Rate, Time};

const PTP: &str = "{ name: ptp-1, tenant: acme, from: h1, to: h9, rate: 220kbit, burst: 300B, deadline: 2ms }";
const LEGACY: &str = "{ name: legacy, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 10ms, accounting: frame, \
                      minFrame: 64B, maxFrame: 1500B, route: [\"h1->s1:0\", \"s1->h2:3\"] }";

fn ptp() -> LatencyContract {
    LatencyContract {
        tenant: Some("acme".into()),
        ..LatencyContract::new(
            "ptp-1",
            star().find_node("h1").unwrap(),
            star().find_node("h9").unwrap(),
            Rate::from_bits_per_second(220_000),
            Bytes::new(300),
            Time::from_millis(2),
        )
    }
}

fn legacy() -> LatencyContract {
    let hop = |link: &str, queue| Hop { link: star().find_link(link).unwrap(), queue };
    LatencyContract {
        name: "legacy".into(),
        tenant: None,
        to: star().find_node("h2").unwrap(),
        rate: Rate::from_mbit(1),
        burst: Bytes::new(1500),
        deadline: Time::from_millis(10),
        accounting: Accounting::Frame { min_frame: Bytes::new(64) },
        max_frame: Some(Bytes::new(1500)),
        route: Some(Route { hops: vec![hop("h1->s1", 0), hop("s1->h2", 3)] }),
        ..ptp()
    }
}

#[test]
fn flow_and_block_style_and_json_mean_the_same() {
    let flow = contracts_yaml(&[PTP, LEGACY]);
    let block = "
kind: Contracts
spec:
  contracts:
  - name: 'ptp-1'
    tenant: acme
    from: h1   # a comment
    to: h9
    rate: 220 kbit
    burst: 0.3kB
    deadline: 2000us
    accounting: wire
  - { name: legacy, from: h1, to: h2, rate: 1Mbit/s, burst: 1500B, deadline: 10ms, accounting: frame, minFrame: 64B,
      maxFrame: 1500B, route: [h1->s1:0, s1->h2:3] }
metadata: { name: tuesday }
apiVersion: wayleave/v1
";
    let json = r#"{"kind":"Contracts","apiVersion":"wayleave/v1","spec":{"contracts":[
        {"name":"ptp-1","tenant":"acme","from":"h1","to":"h9","rate":"220kbit","burst":"300B","deadline":"2ms","route":null},
        {"name":"legacy","from":"h1","to":"h2","rate":"1Mbit","burst":"1500B","deadline":"10ms","accounting":"frame",
         "minFrame":"64B","maxFrame":"1500B","route":["h1->s1:0","s1->h2:3"]}]}}"#;
    for text in [flow.as_str(), block, json] {
        let list = contracts(text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(list.contracts(), [ptp(), legacy()]);
    }
}

#[test]
fn csv_has_one_meaning_for_any_order_of_columns() {
    let text = "\u{feff}deadline,name,from,to,rate,burst,route,tenant,maxFrame,minFrame,accounting\r\n\
                2ms, ptp-1 ,h1,h9,220kbit,300B,,acme,,,\r\n\
                \r\n\
                10ms,\"legacy\",h1,h2,1Mbit,1500B,\"h1->s1:0  s1->h2:3\",,1500B,64B,frame";
    assert_eq!(csv(text).unwrap_or_else(|errors| panic!("{errors}")).contracts(), [ptp(), legacy()]);
}

#[test]
fn a_quoted_csv_field_can_have_commas_quotes_and_lines() {
    let text = "name,from,to,rate,burst,deadline,tenant\na,h1,h2,1Mbit,1500B,2ms,\"one, \"\"two\"\"\nthree\"\n";
    let list = wayleave_formats::read_written(&Source::new("c.csv", text)).unwrap();
    assert_eq!(list.written()[0].text(ContractField::Tenant), Some("one, \"two\"\nthree"));
}

#[test]
fn an_alias_repeats_part_of_a_contract_and_is_reported_where_it_was_written() {
    let items = [
        "{ name: a, from: h1, to: h2, rate: &rate 1Mbit, burst: 1500B, deadline: 2ms, route: &r [h1->s1:0, s1->h2:0] }",
        "{ name: b, from: h1, to: h2, rate: *rate, burst: 1500B, deadline: 2ms, route: *r }",
    ];
    let list = contracts(&contracts_yaml(&items)).unwrap();
    assert_eq!(list.contracts()[0].route, list.contracts()[1].route);
    assert_eq!(list.locate(1, "rate").line, 5);
}

#[test]
fn an_empty_list_is_a_list() {
    assert!(contracts(&contracts_yaml(&[]).replace("contracts:\n", "contracts: []\n")).unwrap().contracts().is_empty());
    assert!(csv("name,from,to,rate,burst,deadline\n").unwrap().contracts().is_empty());
}

#[test]
fn a_list_is_named_by_its_metadata_or_its_file() {
    let unnamed = contracts_yaml(&[PTP]);
    let named = unnamed.replace("spec:", "metadata: { name: tuesday }\nspec:");
    let read = |text| read_contracts(&Source::new("a/b.c.yaml", text), &star()).unwrap().name().to_owned();
    assert_eq!((read(named), read(unnamed)), ("tuesday".to_owned(), "b.c".to_owned()));
}

#[test]
fn every_field_of_every_contract_has_its_place() {
    let text = contracts_yaml(&[PTP, LEGACY]);
    let list = contracts(&text).unwrap();
    let at = |index, field| {
        let location = list.locate(index, field);
        (location.line, location.column, text[location.bytes].to_owned())
    };
    assert_eq!(at(0, "name"), (5, 15, "ptp-1".to_owned()));
    assert_eq!(at(0, "deadline"), (5, 92, "2ms".to_owned()));
    assert_eq!(at(1, "minFrame"), (6, 113, "64B".to_owned()));
    assert_eq!(at(1, "route").2, "[\"h1->s1:0\", \"s1->h2:3\"]");
    assert_eq!(at(0, "route"), at(0, "name"), "a field that is absent is at the contract's name");
    assert_eq!(at(1, "no such field"), at(1, "name"));
    for field in ContractField::ALL {
        assert_eq!(ContractField::from_key(field.key()), Some(field));
        assert_eq!(at(1, field.key()).0, 6);
    }
}

#[test]
fn every_field_of_a_csv_row_has_its_place() {
    let text = "rate,name,from,to,burst,deadline,tenant\r\n1Mbit ,\"a.1\",h1, h2,1500B,2ms,\r\n";
    let list = csv(text).unwrap();
    let at = |field| {
        let location = list.locate(0, field);
        (location.line, location.column, text[location.bytes].to_owned())
    };
    assert_eq!(at("rate"), (2, 1, "1Mbit".to_owned()));
    assert_eq!(at("name"), (2, 8, "\"a.1\"".to_owned()));
    assert_eq!(at("from"), (2, 14, "h1".to_owned()));
    assert_eq!(at("to"), (2, 18, "h2".to_owned()));
    assert_eq!(at("deadline"), (2, 27, "2ms".to_owned()));
}

#[test]
fn a_later_finding_is_shown_where_the_contract_was_read() {
    let list = contracts(&contracts_yaml(&[&terms("a"), &terms("b")])).unwrap();
    let finding = list.finding(1, "deadline", "no path is faster than 3ms").with_hint("ask for 3ms");
    assert_eq!(finding.kind(), ProblemKind::Finding);
    assert_eq!(
        finding.to_string(),
        "contracts.yaml:6:73: no path is faster than 3ms
   6 |     - { name: b, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 2ms }
     |                                                                         ^^^
  in contract \"b\"
  hint: ask for 3ms"
    );
}

#[test]
fn contracts_are_read_back_as_they_were_written() {
    // A name and a tenant that YAML would read as other values.
    let list = [ptp(), legacy(), LatencyContract { name: "1e3".into(), tenant: Some("null".into()), ..ptp() }];
    let text = write_contracts(&list, &star(), "x");
    assert_eq!(contracts(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}")).contracts(), list);
    let none = write_contracts(&[], &star(), "x");
    assert!(contracts(&none).unwrap().contracts().is_empty());
}

/// Catches: files that can be planned and not applied.
#[test]
fn names_of_contracts_and_tenants_are_checked_by_every_reader() {
    let names = [
        "a",
        "ptp-1.backup",
        "A_b",
        "ACME",
        "1e3",
        ".",
        "..",
        "",
        "a b",
        "ä",
        "a/b",
        "a:b",
        &"n".repeat(64),
        &"n".repeat(101),
    ];
    let kinds = [
        "from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 2ms",
        "bandwidth: { from: h1, to: h2, min: 1Mbit }",
        "objective: { deadline: 20ms, members: [h1, h2], weight: 1Mbit }",
        "bestEffort: { members: [h1, h2] }",
    ];
    for (name, terms) in names.iter().flat_map(|name| kinds.map(|terms| (*name, terms))) {
        for (named, contract) in [
            (Named::Contract, format!("{{ name: '{name}', {terms} }}")),
            (Named::Tenant, format!("{{ name: a, tenant: '{name}', {terms} }}")),
        ] {
            let source = Source::new("c.yaml", contracts_yaml(&[&contract]));
            let network = star();
            let latency = terms.starts_with("from").then(|| read_contracts(&source, &network).map(drop));
            let any = read_contracts_of_all_kinds(&source, &network).map(drop);
            let orders = read_orders(&source, &network, &network, Addressed::default()).map(drop);
            for read in latency.into_iter().chain([any, orders]) {
                let expected = named.check(name).map_err(|error| error.to_string());
                let found = read.map_err(|errors| errors.problems()[0].message().to_owned());
                // An empty tenant or name is reported as a missing value.
                assert!(found == expected || name.is_empty() && found.is_err(), "{contract}: {found:?}");
            }
        }
    }
}

#[test]
fn the_example_files_are_read() {
    let folder = format!("{}/../../../schemas/examples", env!("CARGO_MANIFEST_DIR"));
    let source = |name: &str| Source::read(format!("{folder}/{name}")).unwrap();
    let network = wayleave_formats::read_topology(&source("topology-links.yaml")).unwrap().network;
    let yaml = read_contracts(&source("contracts.yaml"), &network).unwrap();
    let csv = read_contracts(&source("contracts.csv"), &network).unwrap();
    assert_eq!(yaml.contracts(), csv.contracts());
    assert_eq!(yaml.contracts().len(), 3);
}

#[test]
fn contracts_of_a_built_network_find_its_hosts() {
    let network = parse_builder("fat-tree:k=4,hosts=2").unwrap().network;
    let text = "name,from,to,rate,burst,deadline\na,h1,h16,1Mbit,1500B,2ms\n";
    assert!(read_contracts(&Source::new("a.CSV", text), &network).is_ok());
}

/// Rows with a minimum are pairs, others latency contracts; what one kind has is empty for the other.
#[test]
fn a_csv_has_latency_contracts_and_pairs() {
    let text = "name,from,to,rate,burst,deadline,min,max,weight,within,tenant,priority\n\
                ptp,h1,h2,1Mbit,1500B,2ms,,,,,,\n\
                copy,h1,h9,,,,1Gbit,4Gbit,7,3ms,acme,80\n";
    let list = wayleave_formats::read_contracts_of_all_kinds(&Source::new("c.csv", text), &star()).unwrap();
    let [Contract::Latency(_), Contract::Bandwidth(copy)] = list.contracts() else { panic!("{list:?}") };
    let host = |name: &str| star().find_node(name).unwrap();
    assert_eq!(copy.between, Endpoints::Pair(host("h1"), host("h9")));
    assert_eq!((copy.min, copy.max), (Rate::from_gbit(1), Some(Rate::from_gbit(4))));
    assert_eq!((copy.weight.unwrap().get(), copy.within), (7, Some(Time::from_millis(3))));
    assert_eq!(copy.tenant.as_deref(), Some("acme"));
    // Pairs alone need no column of latency contracts.
    let alone = Source::new("p.csv", "name,from,to,min\na,h1,h2,1Mbit\n");
    assert_eq!(wayleave_formats::read_contracts_of_all_kinds(&alone, &star()).unwrap().contracts().len(), 1);
    let orders = wayleave_formats::read_orders(&alone, &star(), &star(), Default::default()).unwrap();
    assert_eq!(orders.orders()[0].members.len(), 2);
    let wrong = |text: &str| {
        let source = Source::new("w.csv", text);
        wayleave_formats::read_contracts_of_all_kinds(&source, &star()).unwrap_err().to_string()
    };
    let both = wrong("name,from,to,rate,burst,deadline,min\na,h1,h2,1Mbit,,,1Mbit\n");
    assert!(both.contains("rate is a term of latency contracts"), "{both}");
    let neither = wrong("name,from,to,rate,burst,deadline,min\na,h1,h2,,,,\n");
    assert!(neither.contains("\"rate\" is empty"), "{neither}");
    // If only latency contracts are read, a pair is an error at its position.
    let refused = read_contracts(&alone, &star()).unwrap_err().to_string();
    assert!(refused.contains("of kind bandwidth"), "{refused}");
}
