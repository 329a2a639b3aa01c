//! Changes of a file of contracts: the terms of each contract, in the controller and in the file.

use crate::client::specs::Document;
use serde_json::{Map, Value};
use wayleave_protocol::contract::{Contract, ContractSpec, Match, State};
use wayleave_protocol::decision::{Applied, Outcome};

use super::changes::{between, plain};
use super::item::Item;
use crate::client::{Service, encode};
use crate::failure::Failure;

/// Up to this number of contracts are fetched one by one; of more, the whole list is fetched.
const MAX_SINGLE: usize = 20;

/// Returns the changes of contracts, in the order of the items that the controller has answered.
pub(super) fn with_changes(service: &Service, document: &Document, items: Vec<Applied>) -> Result<Vec<Item>, Failure> {
    let specs = document.specs()?;
    let differs = |item: &&Applied| matches!(item.outcome, Outcome::Changed | Outcome::Refused);
    let ids: Vec<&str> = items.iter().filter(differs).map(|item| item.id.as_str()).collect();
    let current = current(service, &ids)?;
    let has_all = specs.len() == items.len();
    let items = items.into_iter().enumerate().map(|(index, applied)| {
        let after = specs.get(index).filter(|_| has_all).map(terms);
        let before = current.iter().find(|contract| contract.id == applied.id).map(|contract| terms(&contract.spec));
        let changes = match (applied.outcome, &after) {
            (Outcome::Unchanged, _) | (_, None) => Vec::new(),
            (Outcome::Refused, Some(_)) if before.is_none() => Vec::new(),
            (_, Some(after)) => between(before.as_ref(), after),
        };
        Item { kind: "contract", applied, changes }
    });
    Ok(items.collect())
}

/// The contracts of these names that the controller has and that are not released.
pub(crate) fn current(service: &Service, ids: &[&str]) -> Result<Vec<Contract>, Failure> {
    let mut found: Vec<Contract> = Vec::new();
    if ids.len() <= MAX_SINGLE {
        for id in ids {
            match service.get(&format!("/v1/contracts/{}", encode(id))) {
                Ok(contract) => found.push(contract),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(Failure::from(error)),
            }
        }
    } else {
        found = service.list("/v1/contracts", &[], usize::MAX).map_err(Failure::from)?;
    }
    found.retain(|contract| contract.status.state != State::Released);
    Ok(found)
}

/// The terms of a contract: without its name, and without what is written out but would be so anyway.
pub(crate) fn terms(spec: &ContractSpec) -> Value {
    const DEFAULTS: [(&str, &str); 4] =
        [("accounting", "wire"), ("excess", "wait"), ("priority", "50"), ("protection", "1")];
    let matching = spec.matching.as_ref().map(|matching| {
        // A protocol by its name, however it is written.
        wayleave_contracts::Match::try_from(matching).map_or_else(|_| matching.clone(), Match::from)
    });
    let spec = ContractSpec { name: None, tenant: None, matching, ..spec.clone() };
    let Ok(Value::Object(mut fields)) = serde_json::to_value(spec) else { return Value::Object(Map::new()) };
    fields.retain(|key, value| !DEFAULTS.contains(&(key.as_str(), plain(value).as_str())));
    if let Some(Value::Object(objective)) = fields.get_mut("objective")
        && objective.contains_key("deadline")
    {
        objective.remove("goal");
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::apply::changes::FieldChange;

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        between(Some(before), after).iter().map(FieldChange::line).collect()
    }

    /// Every default that a file may write out is no change, and every other value is one.
    #[test]
    fn an_explicit_default_is_no_change() {
        let read = |text: &str| terms(&serde_json::from_str::<ContractSpec>(text).unwrap());
        let long = r#"{"name":"a","tenant":"t","from":"h1","accounting":"wire","excess":"wait","priority":50,"protection":1,
            "match":{"protocol":6}}"#;
        let short = r#"{"from":"h1","match":{"protocol":"tcp"}}"#;
        assert_eq!(lines(&read(long), &read(short)), [""; 0]);
        let other = r#"{"from":"h1","accounting":"frame","excess":"drop","priority":51,"protection":2,"match":{"protocol":"udp"}}"#;
        assert_eq!(between(Some(&read(short)), &read(other)).len(), 5);
        let [one, other] = [
            r#"{"objective":{"goal":"deadline","deadline":"1ms","members":[],"weight":"1bit"}}"#,
            r#"{"objective":{"deadline":"1ms","members":[],"weight":"1bit"}}"#,
        ]
        .map(read);
        assert_eq!(lines(&one, &other), [""; 0]);
    }
}
