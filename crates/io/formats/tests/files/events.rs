//! Events: contracts that come, change and go.

use crate::common::{assert_problems, events, events_yaml, terms};
use wayleave_contracts::EventAction;
use wayleave_formats::ProblemKind::{BadOrder, MissingKey, UnknownName, WrongType};
use wayleave_units::Time;

fn add(at: &str, name: &str) -> String {
    format!("{{ at: {at}, add: {} }}", terms(name))
}

fn change(at: &str, name: &str) -> String {
    format!("{{ at: {at}, change: {} }}", terms(name))
}

fn release(at: &str, name: &str) -> String {
    format!("{{ at: {at}, release: {name} }}")
}

fn read(items: &[String]) -> Result<wayleave_formats::EventList, wayleave_formats::InputErrors> {
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    events(&events_yaml(&items))
}

#[test]
fn events_keep_their_order_times_and_terms() {
    let list =
        read(&[add("0ns", "a"), add("0ns", "b"), change("5ms", "a"), release("9ms", "a"), add("1s", "a")]).unwrap();
    let times: Vec<Time> = list.events().iter().map(|event| event.at).collect();
    assert_eq!(times, [0, 0, 5, 9, 1000].map(Time::from_millis));
    let names: Vec<(&str, &str)> = list
        .events()
        .iter()
        .map(|event| match &event.action {
            EventAction::Add(contract) => ("add", contract.name()),
            EventAction::Change(contract) => ("change", contract.name()),
            EventAction::Release(name) => ("release", name.as_str()),
        })
        .collect();
    assert_eq!(names, [("add", "a"), ("add", "b"), ("change", "a"), ("release", "a"), ("add", "a")]);
}

#[test]
fn every_field_of_an_event_has_its_place() {
    let list = read(&[add("0ns", "a"), release("9ms", "a")]).unwrap();
    let at = |index, field| {
        let location = list.locate(index, field);
        (location.line, location.column)
    };
    assert_eq!((at(0, "at"), at(0, "name"), at(0, "deadline")), ((5, 13), (5, 31), (5, 89)));
    assert_eq!((at(1, "at"), at(1, "name"), at(1, "deadline")), ((6, 13), (6, 27), (6, 27)));
    let finding = list.finding(1, "name", "it was refused").to_string();
    assert!(finding.starts_with("events.yaml:6:27: it was refused\n"), "{finding}");
    assert!(finding.ends_with("in contract \"a\""), "{finding}");
}

#[test]
fn times_of_events_must_not_decrease() {
    assert_problems(
        read(&[add("5ms", "a"), release("4ms", "a"), add("4ms", "b"), add("5ms", "c")]),
        &[
            (BadOrder, "6:13", "4ms is before 5ms, the time of the event on line 5"),
            (BadOrder, "7:13", "4ms is before 5ms, the time of the event on line 5"),
        ],
    );
}

#[test]
fn an_unknown_contract_cannot_change_or_end() {
    assert_problems(
        read(&[add("0ns", "ptp-one"), release("1ns", "ptp-on"), change("2ns", "x")]),
        &[
            (UnknownName, "6:27", "no contract \"ptp-on\" was added before, did you mean \"ptp-one\"?"),
            (UnknownName, "7:34", "no contract \"x\" was added before"),
        ],
    );
}

#[test]
fn an_existing_contract_cannot_be_added_and_a_released_one_cannot_end_again() {
    assert_problems(
        read(&[add("0ns", "a"), add("1ns", "a"), release("2ns", "a"), release("3ns", "a"), change("4ns", "a")]),
        &[
            (BadOrder, "6:31", "\"a\" already exists: it was added on line 5 .. release it first"),
            (BadOrder, "8:27", "\"a\" no longer exists: it was released on line 7"),
            (BadOrder, "9:34", "\"a\" no longer exists: it was released on line 7"),
        ],
    );
}

#[test]
fn later_events_of_an_invalid_contract_are_still_checked() {
    let wrong = add("0ns", "a").replace("1Mbit", "1Mbps");
    let result = read(&[wrong, release("1ns", "a")]);
    let errors = result.unwrap_err();
    assert_eq!(errors.problems().len(), 1, "the release is not wrong as well: {errors}");
    assert_eq!(errors.problems()[0].context(), Some("contract \"a\""));
}

#[test]
fn an_event_has_exactly_one_action() {
    assert_problems(
        read(&[
            "{ at: 1ns }".to_owned(),
            format!("{{ at: 1ns, add: {}, release: b }}", terms("a")),
            format!("{{ at: 1ns, release: {} }}", terms("a")),
            format!("{{ add: {} }}", terms("c")),
            "{ at: 1ns, release: [a] }".to_owned(),
        ]),
        &[
            (MissingKey, "5:7", "an event needs one of the keys \"add\", \"change\" and \"release\""),
            (WrongType, "6:96", "an event has exactly one of these keys, but add and release are given"),
            (WrongType, "7:27", "a release needs only a name"),
            (MissingKey, "8:7", "an event needs the key \"at\""),
            (WrongType, "9:27", "text is expected, not a list"),
        ],
    );
}

#[test]
fn the_example_file_is_read() {
    let path = format!("{}/../../../schemas/examples/events.yaml", env!("CARGO_MANIFEST_DIR"));
    let source = wayleave_formats::Source::read(path).unwrap();
    let list = wayleave_formats::read_events(&source, &crate::common::star()).unwrap();
    assert_eq!((list.name(), list.events().len()), ("events", 3));
}
