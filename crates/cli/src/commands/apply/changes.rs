//! What a file would change: every field of an object, as the controller has it and as the file has it.

use serde::Serialize;
use serde_json::{Map, Value};
use wayleave::remote::Document;
use wayleave_protocol::contract::{Contract, ContractSpec, Match, State};
use wayleave_protocol::decision::{Applied, Outcome};
use wayleave_units::{Bytes, Rate, Time, WallTime};

use super::item::Item;
use crate::client::{Service, encode};
use crate::failure::Failure;

/// Up to this number of contracts are fetched one by one; of more, the whole list is fetched.
const MAX_SINGLE: usize = 20;

/// A field that differs; one that is absent is not given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FieldChange {
    /// Its keys, such as `bandwidth.min`.
    pub(crate) field: String,
    /// What the controller has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// What the file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

impl FieldChange {
    /// `10Mbit -> 20Mbit`.
    pub(crate) fn line(&self) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not given".to_owned());
        format!("{}: {} -> {}", self.field, text(&self.before), text(&self.after))
    }
}

/// Returns the fields of two objects that differ, in the order of their names; all fields of a new object.
pub(crate) fn between(before: Option<&Value>, after: &Value) -> Vec<FieldChange> {
    let mut fields: Vec<FieldChange> = Vec::new();
    for (field, text) in flat(after) {
        fields.push(FieldChange { field, before: None, after: Some(text) });
    }
    for (field, text) in before.map(flat).unwrap_or_default() {
        match fields.iter_mut().find(|known| known.field == field) {
            Some(known) => known.before = Some(text),
            None => fields.push(FieldChange { field, before: Some(text), after: None }),
        }
    }
    fields.retain(|field| field.before != field.after);
    fields
}

/// The fields of an object with dotted names, and their values as people read them.
fn flat(value: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    flatten("", value, &mut fields);
    fields
}

fn flatten(name: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    let below = |key: &str| if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(members) => members.iter().for_each(|(key, value)| flatten(&below(key), value, fields)),
        // Services of a policy have names, later terms of a service have times.
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            for (index, item) in items.iter().enumerate() {
                let key = ["name", "at"].into_iter().find_map(|key| item.get(key)?.as_str());
                flatten(&below(&key.map_or_else(|| index.to_string(), str::to_owned)), item, fields);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            fields.push((name.to_owned(), format!("[{}]", items.join(", "))));
        }
        value => {
            let key = name.rsplit('.').next().unwrap_or_default();
            fields.push((name.to_owned(), with_units(key, &plain(value))));
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A quantity in its shortest unit, so that 1500Mbit and 1.5Gbit are one value; anything else as it is written.
fn with_units(key: &str, text: &str) -> String {
    let shown = match key {
        "rate" | "min" | "max" | "peak" | "share" => text.parse::<Rate>().ok().map(|rate| rate.to_string()),
        "burst" | "minFrame" | "maxFrame" => text.parse::<Bytes>().ok().map(|bytes| bytes.to_string()),
        "deadline" | "within" => text.parse::<Time>().ok().map(|time| time.to_string()),
        "starts" | "ends" | "at" => text.parse::<WallTime>().ok().map(|time| time.to_string()),
        _ => None,
    };
    shown.unwrap_or_else(|| text.to_owned())
}

/// Returns the changes of contracts, in the order of the items that the controller has answered.
pub(super) fn of_contracts(service: &Service, document: &Document, items: Vec<Applied>) -> Result<Vec<Item>, Failure> {
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
fn current(service: &Service, ids: &[&str]) -> Result<Vec<Contract>, Failure> {
    let mut found: Vec<Contract> = Vec::new();
    if ids.len() <= MAX_SINGLE {
        for id in ids {
            match service.get(&format!("/v1/contracts/{}", encode(id))) {
                Ok(contract) => found.push(contract),
                Err(trouble) if trouble.is_not_found() => {}
                Err(trouble) => return Err(Failure::from(trouble)),
            }
        }
    } else {
        found = service.list("/v1/contracts", &[], usize::MAX).map_err(Failure::from)?;
    }
    found.retain(|contract| contract.status.state != State::Released);
    Ok(found)
}

/// The terms of a contract: without its name, and without what is written out but would be so anyway.
fn terms(spec: &ContractSpec) -> Value {
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
        objective.remove("aim");
    }
    Value::Object(fields)
}

/// An object of another kind, before and after: what the controller itself writes is no change.
pub(super) fn of_object(before: Option<&impl Serialize>, after: &impl Serialize) -> Vec<FieldChange> {
    const OWN: [&str; 6] = ["id", "name", "tenant", "usage", "needs", "revision"];
    let shown = |value: Value| match value {
        Value::Object(mut fields) => {
            fields.retain(|key, _| !OWN.contains(&key.as_str()));
            Value::Object(fields)
        }
        other => other,
    };
    let value = |object: Result<Value, _>| object.map(shown).unwrap_or_default();
    let before = before.map(|before| value(serde_json::to_value(before)));
    between(before.as_ref(), &value(serde_json::to_value(after)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value) -> Vec<String> {
        between(Some(before), after).iter().map(FieldChange::line).collect()
    }

    #[test]
    fn fields_of_every_kind_are_compared_as_values_and_shown_in_units() {
        let before = json!({ "rate": "10Mbit", "burst": "3000B", "deadline": "2ms", "starts": "2026-01-01T00:00:00Z" });
        let after =
            json!({ "rate": "20000kbit", "burst": "3kB", "deadline": "2000us", "starts": "2026-01-01T01:00:00+01:00" });
        assert_eq!(lines(&before, &after), ["rate: 10Mbit -> 20Mbit"]);
        let before = json!({ "bandwidth": { "hose": ["h1", "h2"], "min": "1Gbit", "within": "5ms" } });
        let after = json!({ "bandwidth": { "hose": ["h1", "h3"], "min": "1000Mbit", "max": "2Gbit" } });
        assert_eq!(
            lines(&before, &after),
            [
                "bandwidth.hose: [h1, h2] -> [h1, h3]",
                "bandwidth.max: not given -> 2Gbit",
                "bandwidth.within: 5ms -> not given"
            ]
        );
        let before = json!({ "spec": { "services": [{ "name": "a", "transmit": { "min": "1Gbit" } }] } });
        let after = json!({ "spec": { "services": [{ "name": "b", "transmit": { "min": "1Gbit" } },
            { "name": "a", "transmit": { "min": "2Gbit" } }] } });
        assert_eq!(
            lines(&before, &after),
            [
                "spec.services.b.name: not given -> b",
                "spec.services.b.transmit.min: not given -> 1Gbit",
                "spec.services.a.transmit.min: 1Gbit -> 2Gbit"
            ]
        );
    }

    /// Every default that a file may write out is no change, and every other value is one.
    #[test]
    fn what_is_written_out_but_would_be_so_anyway_is_no_change() {
        let read = |text: &str| terms(&serde_json::from_str::<ContractSpec>(text).unwrap());
        let long = r#"{"name":"a","tenant":"t","from":"h1","accounting":"wire","excess":"wait","priority":50,"protection":1,
            "match":{"protocol":6}}"#;
        let short = r#"{"from":"h1","match":{"protocol":"tcp"}}"#;
        assert_eq!(lines(&read(long), &read(short)), [""; 0]);
        let other = r#"{"from":"h1","accounting":"frame","excess":"drop","priority":51,"protection":2,"match":{"protocol":"udp"}}"#;
        assert_eq!(between(Some(&read(short)), &read(other)).len(), 5);
        let [one, other] = [
            r#"{"objective":{"aim":"deadline","deadline":"1ms","members":[],"min":"1bit"}}"#,
            r#"{"objective":{"deadline":"1ms","members":[],"min":"1bit"}}"#,
        ]
        .map(read);
        assert_eq!(lines(&one, &other), [""; 0]);
    }

    #[test]
    fn of_other_objects_only_what_was_asked_counts() {
        let before = json!({ "name": "a", "quota": { "rate": "1Gbit" }, "usage": { "rate": "5bit" }, "revision": 4 });
        let after = json!({ "name": "a", "quota": { "rate": "1Gbit", "contracts": 3 }, "usage": {}, "revision": 5 });
        let changes = of_object(Some(&before), &after);
        assert_eq!(changes.iter().map(FieldChange::line).collect::<Vec<_>>(), ["quota.contracts: not given -> 3"]);
        assert_eq!(of_object(None::<&Value>, &after).len(), 2);
    }
}
