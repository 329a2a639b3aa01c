//! Tables as spreadsheets write them: other separators, decimal commas, a byte order mark, and cables in a table.

use crate::common::{contracts, contracts_yaml, csv, star};
use wayleave_contracts::{Contract, Endpoints};
use wayleave_formats::{ImportOptions, Source, read_contracts_of_all_kinds, read_network};
use wayleave_topology::NodeKind;
use wayleave_units::{Bytes, Rate, Time};

#[test]
fn semicolons_and_tabs_separate_fields_where_a_header_has_no_comma() {
    let plain = csv("name,from,to,rate,burst,deadline\na,h1,h2,2.5Mbit,1.5kB,2ms\n").unwrap();
    for separator in [";", "\t"] {
        let text = "\u{feff}name,from,to,rate,burst,deadline\r\na,h1,h2,2#5Mbit,1#5kB,2ms\r\n";
        let text = text.replace(',', separator).replace('#', ",");
        let list = csv(&text).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(list.contracts(), plain.contracts(), "{text:?}");
    }
    let contract = &plain.contracts()[0];
    assert_eq!((contract.rate, contract.burst), (Rate::from_bits_per_second(2_500_000), Bytes::new(1_500)));
}

#[test]
fn a_decimal_comma_elsewhere_is_named() {
    let item = "{ name: a, from: h1, to: h2, rate: \"2,5Mbit\", burst: 1500B, deadline: 2ms }";
    let error = contracts(&contracts_yaml(&[item])).unwrap_err().to_string();
    assert!(error.contains("decimal comma: write 2.5Mbit"), "{error}");
}

#[test]
fn a_rate_without_its_unit_is_completed_and_a_link_without_its_arrow() {
    let of = |text: &str| contracts(&contracts_yaml(&[text])).unwrap_err().to_string();
    let error = of("{ name: a, from: h1, to: h2, rate: 10M, burst: 1500B, deadline: 2ms }");
    assert!(error.contains("write 10Mbit if bits per second are meant"), "{error}");
    let error =
        of("{ name: a, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 2ms, route: ['h1-s1:0', 's1->h2:0'] }");
    assert!(error.contains("did you mean \"h1->s1\"?"), "{error}");
}

#[test]
fn a_table_of_cables_is_a_network() {
    let text = "from;to;rate;delay\nplc1;sw1;100Mbit;0,5us\nsw1;sw2;;\nnas;sw2;1Gbit;\n";
    let options = ImportOptions::default().with_default_rate(Rate::from_gbit(1));
    let network = read_network(&Source::new("plant.csv", text), &options).unwrap().topology.network;
    let kind = |name: &str| network.node(network.find_node(name).unwrap()).kind;
    assert_eq!(
        ["plc1", "nas", "sw1", "sw2"].map(kind),
        [NodeKind::Host, NodeKind::Host, NodeKind::Switch, NodeKind::Switch]
    );
    let link = network.link(network.find_link("sw1->plc1").unwrap());
    assert_eq!((link.rate, link.propagation), (Rate::from_mbit(100), Time::from_nanos(500)));
    let error = read_network(&Source::new("plant.csv", "a,b\n1,2\n"), &options).unwrap_err().to_string();
    assert!(error.contains("columns \"from\" and \"to\""), "{error}");
}

/// Links of about 1 Gbit/s have one host queue, others two; stated budgets count their queues.
#[test]
fn the_queues_of_a_host_follow_from_its_link_unless_they_are_stated() {
    let of = |line: &str| {
        let network = wayleave_formats::parse_builder(line).unwrap().network;
        network.queues(network.find_link("h1->s1").unwrap()).len()
    };
    assert_eq!(["100Mbit", "1Gbit", "10Gbit"].map(|rate| of(&format!("star:hosts=2,rate={rate}"))), [2, 1, 2]);
    assert_eq!(of("star:hosts=2,rate=100Mbit,hostQueues=1"), 1);
    assert_eq!(of("star:hosts=2,rate=100Mbit,hostBudgets=1ms"), 1);
    assert_eq!(of("star:hosts=2,hostBudgets=1ms+2ms+4ms"), 3);
}

#[test]
fn a_cap_needs_no_minimum_and_best_effort_has_one_too() {
    let read = |item: &str| read_contracts_of_all_kinds(&Source::new("c.yaml", contracts_yaml(&[item])), &star());
    let bandwidth = |item: &str| match read(item).unwrap_or_else(|errors| panic!("{errors}")).contracts() {
        [Contract::Bandwidth(contract)] => (contract.min, contract.max, matches!(contract.between, Endpoints::Hose(_))),
        other => panic!("{other:?}"),
    };
    let (mega, half) = (Rate::from_mbit(1), Rate::from_mbit(500));
    assert_eq!(bandwidth("{ name: a, bandwidth: { from: h1, to: h2, max: 500Mbit } }"), (mega, Some(half), false));
    assert_eq!(bandwidth("{ name: a, bandwidth: { hose: [h1, h2], max: 500Mbit } }"), (mega, Some(half), true));
    let small = Rate::from_bits_per_second(200_000);
    assert_eq!(bandwidth("{ name: a, bandwidth: { from: h1, to: h2, max: 200kbit } }"), (small, Some(small), false));
    let capped = read("{ name: a, bestEffort: { members: [h1, h2], max: 500Mbit } }");
    let capped = capped.unwrap_or_else(|errors| panic!("{errors}"));
    assert!(matches!(capped.contracts(), [Contract::BestEffort(one)] if one.max == Some(half)), "{capped:?}");
    let error = read("{ name: a, bestEffort: { members: [h1, h2], max: 0Mbit } }").unwrap_err().to_string();
    assert!(error.contains("the maximum is zero"), "{error}");
    // No host enforces less than 64 kbit/s.
    for body in ["bestEffort: { members: [h1, h2], ", "bandwidth: { from: h1, to: h2, min: 1bit, "] {
        let with = |max: &str| read(&format!("{{ name: a, {body}max: {max} }} }}"));
        assert!(with("64kbit").is_ok(), "{body}");
        for small in ["1bit", "63999bit"] {
            let error = with(small).unwrap_err().to_string();
            assert!(error.contains(small) && error.contains("expected at least 64kbit"), "{error}");
        }
    }
    let rows = Source::new("c.csv", "name,from,to,max\na,h1,h2,500Mbit\n");
    let list = read_contracts_of_all_kinds(&rows, &star()).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(matches!(list.contracts(), [Contract::Bandwidth(one)] if one.max == Some(half) && one.min == mega));
}
