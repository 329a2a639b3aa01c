//! Contracts of every kind in one file.

use crate::common::star;
use wayleave_contracts::{BandwidthContract, Contract, ContractKind, Endpoints, Excess, FlowObjective};
use wayleave_formats::{
    MixedList, Source, read_contracts, read_contracts_of_all_kinds, read_topology, write_contracts_of_all_kinds,
};
use wayleave_units::{Rate, Time};

fn yaml(items: &[&str]) -> String {
    let items: String = items.iter().map(|item| format!("    - {item}\n")).collect();
    format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n{items}")
}

fn read(items: &[&str]) -> Result<MixedList, String> {
    let source = Source::new("mixed.yaml", yaml(items));
    read_contracts_of_all_kinds(&source, &star()).map_err(|errors| errors.to_string())
}

#[test]
fn the_example_has_every_kind_and_is_written_as_it_is_read() {
    let folder = format!("{}/../../../schemas/examples", env!("CARGO_MANIFEST_DIR"));
    let source = |name: &str| Source::read(format!("{folder}/{name}")).unwrap();
    let network = read_topology(&source("topology-classes.yaml")).unwrap().network;
    let list = read_contracts_of_all_kinds(&source("contracts-kinds.yaml"), &network).unwrap();
    for kind in ContractKind::ALL {
        assert!(list.contracts().iter().any(|contract| contract.kind() == kind), "{}", kind.name());
    }
    let text = write_contracts_of_all_kinds(list.contracts(), &network, "again");
    let again = read_contracts_of_all_kinds(&Source::new("again.yaml", text.clone()), &network);
    assert_eq!(again.unwrap_or_else(|errors| panic!("{errors}\n{text}")).contracts(), list.contracts());
}

#[test]
fn terms_of_bandwidth_and_objectives_are_read() {
    let list = read(&[
        "{ name: a, tenant: acme, bandwidth: { from: h1, to: h2, min: 1Mbit, max: 2Mbit, weight: 7, within: 3ms } }",
        "{ name: b, objective: { goal: completion, members: [h1, h2], weight: 1Mbit } }",
        "{ name: c, objective: { deadline: 20ms, members: [h1, h2], weight: 1Mbit } }",
        "{ name: d, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 2ms, excess: drop }",
    ])
    .unwrap();
    let Contract::Bandwidth(bandwidth) = &list.contracts()[0] else { panic!("{:?}", list.contracts()[0]) };
    let expected = BandwidthContract {
        tenant: Some("acme".to_owned()),
        max: Some(Rate::from_mbit(2)),
        weight: std::num::NonZeroU32::new(7),
        within: Some(Time::from_millis(3)),
        ..BandwidthContract::pair(
            "a",
            star().find_node("h1").unwrap(),
            star().find_node("h2").unwrap(),
            Rate::from_mbit(1),
        )
    };
    assert_eq!(*bandwidth, expected);
    assert!(matches!(bandwidth.between, Endpoints::Pair(..)));
    let objective = |index: usize| match &list.contracts()[index] {
        Contract::Objective(contract) => (contract.objective, contract.deadline),
        other => panic!("{other:?}"),
    };
    assert_eq!(objective(1), (FlowObjective::Completion, None));
    assert_eq!(objective(2), (FlowObjective::Deadline, Some(Time::from_millis(20))));
    assert_eq!(list.contracts()[3].as_latency().map(|contract| contract.excess), Some(Excess::Drop));
}

#[test]
fn errors_name_cause_kind_and_place() {
    let error = |item: &str| read(&[item]).unwrap_err();
    let messages = |item: &str, parts: &[&str]| {
        let error = error(item);
        assert!(parts.iter().all(|part| error.contains(part)), "{item}\n{error}");
        assert!(error.contains("contract \"x\""), "{error}");
    };
    messages(
        "{ name: x, bandwidth: { hose: [h1], min: 1Mbit } }",
        &["hose has 1 host: expected at least two", "mixed.yaml:5:37"],
    );
    messages("{ name: x, bandwidth: { hose: [h1, h2, h1], min: 1Mbit } }", &["hose has h1 twice", "mixed.yaml:5:46"]);
    messages("{ name: x, bandwidth: { hose: [h1, s1], min: 1Mbit } }", &["hose has s1, a switch", "mixed.yaml:5:42"]);
    messages("{ name: x, bandwidth: { hose: [h1, hx], min: 1Mbit } }", &["hx"]);
    messages(
        "{ name: x, bandwidth: { from: h1, hose: [h1, h2], min: 1Mbit } }",
        &["a pair and a hose", "mixed.yaml:5:37"],
    );
    messages(
        "{ name: x, bandwidth: { from: h1, to: h1, min: 1Mbit } }",
        &["from and to are both h1", "mixed.yaml:5:45"],
    );
    messages("{ name: x, bandwidth: { from: h1, to: h2 } }", &["bandwidth needs the key \"min\""]);
    messages("{ name: x, bandwidth: { from: h1, min: 1Mbit } }", &["bandwidth needs the key \"to\""]);
    messages("{ name: x, bandwidth: { from: h1, to: h2, min: 0bit } }", &["the minimum is zero"]);
    messages("{ name: x, bandwidth: { from: h1, to: h2, min: 2Mbit, max: 1Mbit } }", &["the maximum 1Mbit is below"]);
    messages(
        "{ name: x, bandwidth: { from: h1, to: h2, min: 2Mbit, max: 3Mbit, within: 3ms } }",
        &["the maximum 3Mbit is too close", "a max of at least 4Mbit"],
    );
    messages("{ name: x, bandwidth: { from: h1, to: h2, min: 2Mbit, weight: 0 } }", &["\"0\" is not a weight"]);
    messages("{ name: x, bandwidth: { from: h1, to: h2, min: 2Mbit, within: 0s } }", &["within is zero"]);
    messages("{ name: x, bandwidth: { from: h1, to: h2, mim: 2Mbit } }", &["did you mean \"min\"?"]);
    messages(
        "{ name: x, objective: { members: [h1, h2], weight: 1Mbit } }",
        &["needs the key \"deadline\" or \"goal\""],
    );
    messages(
        "{ name: x, objective: { goal: completon, members: [h1, h2], weight: 1Mbit } }",
        &["did you mean \"completion\"?"],
    );
    messages(
        "{ name: x, objective: { goal: deadline, members: [h1, h2], weight: 1Mbit } }",
        &["needs the time limit of a flow"],
    );
    messages(
        "{ name: x, objective: { goal: latency, deadline: 1ms, members: [h1, h2], weight: 1Mbit } }",
        &["a deadline means nothing where the objective is latency"],
    );
    messages("{ name: x, bestEffort: { members: [h1] } }", &["members has 1 host"]);
    messages(
        "{ name: x, rate: 1Mbit, bandwidth: { from: h1, to: h2, min: 1Mbit } }",
        &["rate is a term of latency contracts, and this one is about bandwidth", "mixed.yaml:5:24"],
    );
    messages(
        "{ name: x, bestEffort: { members: [h1, h2] }, bandwidth: { from: h1, to: h2, min: 1Mbit } }",
        &["a contract has one kind"],
    );
    messages(
        "{ name: x, from: h1, to: h2, rate: 1Mbit, burst: 300B, deadline: 2ms, excess: wat }",
        &["did you mean \"wait\"?"],
    );
    messages("{ name: x, from: h1, to: h2, rate: 1Mbit }", &["a contract needs the keys \"burst\" and \"deadline\""]);
}

#[test]
fn names_are_unique_over_all_kinds() {
    let bandwidth = "{ name: a, bandwidth: { from: h1, to: h2, min: 1Mbit } }";
    let error = read(&[bandwidth, "{ name: a, bestEffort: { members: [h1, h2] } }"]).unwrap_err();
    assert!(error.contains("the name \"a\" is already used"), "{error}");
}

#[test]
fn a_reader_of_latency_contracts_only_refuses_other_kinds() {
    let source = Source::new("mixed.yaml", yaml(&["{ name: a, bandwidth: { from: h1, to: h2, min: 1Mbit } }"]));
    let error = read_contracts(&source, &star()).unwrap_err().to_string();
    assert!(error.contains("this contract is of kind bandwidth, and only latency contracts are read here"), "{error}");
}
