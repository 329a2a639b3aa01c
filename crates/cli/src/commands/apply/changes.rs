//! Changes of a file: every field of an object, in the controller and in the file.

use serde::Serialize;
use serde_json::Value;
use wayleave_units::{Bytes, Rate, Time, WallTime};

/// A field that differs; one that is absent is not given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FieldChange {
    /// Its keys, such as `bandwidth.min`.
    pub(crate) field: String,
    /// Value at the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// Value in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

impl FieldChange {
    /// `10Mbit -> 20Mbit`.
    pub(crate) fn line(&self) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
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

pub(super) fn plain(value: &Value) -> String {
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
                "bandwidth.max: not set -> 2Gbit",
                "bandwidth.within: 5ms -> not set"
            ]
        );
        let before = json!({ "spec": { "services": [{ "name": "a", "transmit": { "min": "1Gbit" } }] } });
        let after = json!({ "spec": { "services": [{ "name": "b", "transmit": { "min": "1Gbit" } },
            { "name": "a", "transmit": { "min": "2Gbit" } }] } });
        assert_eq!(
            lines(&before, &after),
            [
                "spec.services.b.name: not set -> b",
                "spec.services.b.transmit.min: not set -> 1Gbit",
                "spec.services.a.transmit.min: 1Gbit -> 2Gbit"
            ]
        );
    }

    #[test]
    fn for_other_objects_only_requested_fields_are_compared() {
        let before = json!({ "name": "a", "quota": { "rate": "1Gbit" }, "usage": { "rate": "5bit" }, "revision": 4 });
        let after = json!({ "name": "a", "quota": { "rate": "1Gbit", "contracts": 3 }, "usage": {}, "revision": 5 });
        let changes = of_object(Some(&before), &after);
        assert_eq!(changes.iter().map(FieldChange::line).collect::<Vec<_>>(), ["quota.contracts: not set -> 3"]);
        assert_eq!(of_object(None::<&Value>, &after).len(), 2);
    }
}
