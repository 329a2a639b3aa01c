//! Helpers shared by the tests of the readers.

pub(crate) mod graphs;
pub(crate) mod scenarios;

use wayleave_formats::{
    ContractList, EventList, InputErrors, ProblemKind, Source, Topology, parse_builder, read_contracts, read_events,
    read_topology,
};
use wayleave_topology::Network;

/// Nine hosts on one switch.
pub(crate) fn star() -> Network {
    parse_builder("star:hosts=9").unwrap().network
}

/// A good contract, but for its name.
pub(crate) fn terms(name: &str) -> String {
    format!("{{ name: {name}, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 2ms }}")
}

/// A contracts document with these items, the first of them on line 5 from column 7.
pub(crate) fn contracts_yaml(items: &[&str]) -> String {
    let items: String = items.iter().map(|item| format!("    - {item}\n")).collect();
    format!("apiVersion: wayleave/v1\nkind: Contracts\nspec:\n  contracts:\n{items}")
}

/// An events document with these items, the first of them on line 5 from column 7.
pub(crate) fn events_yaml(items: &[&str]) -> String {
    let items: String = items.iter().map(|item| format!("    - {item}\n")).collect();
    format!("apiVersion: wayleave/v1\nkind: Events\nspec:\n  events:\n{items}")
}

/// A topology document with this spec, which begins on line 4.
pub(crate) fn topology_yaml(spec: &str) -> String {
    format!("apiVersion: wayleave/v1\nkind: Topology\nspec:\n{spec}\n")
}

pub(crate) fn contracts(text: &str) -> Result<ContractList, InputErrors> {
    read_contracts(&Source::new("contracts.yaml", text), &star())
}

pub(crate) fn csv(text: &str) -> Result<ContractList, InputErrors> {
    read_contracts(&Source::new("contracts.csv", text), &star())
}

pub(crate) fn events(text: &str) -> Result<EventList, InputErrors> {
    read_events(&Source::new("events.yaml", text), &star())
}

pub(crate) fn topology(text: &str) -> Result<Topology, InputErrors> {
    read_topology(&Source::new("network.yaml", text))
}

/// Asserts that exactly these problems were found: their kind, `line:column`, and words that their message and hint
/// contain, separated by ` .. `.
#[track_caller]
pub(crate) fn assert_problems<T>(result: Result<T, InputErrors>, expected: &[(ProblemKind, &str, &str)]) {
    let Err(errors) = result else { panic!("nothing was found wrong: {expected:?} was expected") };
    let found: Vec<(ProblemKind, String)> = errors
        .problems()
        .iter()
        .map(|problem| {
            let place = problem.location().map(|location| format!("{}:{}", location.line, location.column));
            (problem.kind(), place.unwrap_or_default())
        })
        .collect();
    let places: Vec<(ProblemKind, String)> = expected.iter().map(|(kind, at, _)| (*kind, (*at).to_owned())).collect();
    assert_eq!(found, places, "\n{errors}");
    for (problem, (_, _, words)) in errors.problems().iter().zip(expected) {
        let messages = format!("{} {}", problem.message(), problem.hint().unwrap_or_default());
        for word in words.split(" .. ") {
            assert!(messages.contains(word), "{word:?} is not in {messages:?}");
        }
    }
}
