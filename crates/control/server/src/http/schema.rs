//! Corrections of the schemas derived from types.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Makes one object of each type that has another type flattened into it.
///
/// The derived schema is `allOf` of both. Where the inner type forbids other keys, as in requests, no value would
/// ever match.
pub(crate) fn merge(schemas: &mut Value) {
    let names: Vec<String> = schemas.as_object().into_iter().flat_map(Map::keys).cloned().collect();
    for name in names {
        if let Some(merged) = merged(schemas, &schemas[&name]) {
            schemas[&name] = merged;
        }
    }
}

/// All parts of an `allOf` of objects as one object.
fn merged(schemas: &Value, schema: &Value) -> Option<Value> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in schema["allOf"].as_array()? {
        let named = part["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        let part = named.map_or(part, |name| &schemas[name]);
        let deeper = merged(schemas, part);
        let part = deeper.as_ref().unwrap_or(part);
        properties.extend(part["properties"].as_object()?.clone());
        required.extend(part["required"].as_array().into_iter().flatten().cloned());
    }
    let description = &schema["description"];
    Some(json!({ "type": "object", "description": description, "properties": properties, "required": required }))
}

/// The names of these schemas and of all that they refer to.
pub(crate) fn within<'a>(schemas: &Value, names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let (mut known, mut open) = (BTreeSet::new(), names.into_iter().map(str::to_owned).collect::<Vec<_>>());
    while let Some(name) = open.pop() {
        if !known.contains(&name) {
            refer(&schemas[&name], &mut open);
            known.insert(name);
        }
    }
    known
}

/// The names to which a schema refers.
fn refer(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(keys) => {
            let name = keys.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
            names.extend(name.map(str::to_owned));
            keys.values().for_each(|value| refer(value, names));
        }
        Value::Array(items) => items.iter().for_each(|item| refer(item, names)),
        _ => {}
    }
}

/// Takes `null` away from optional keys of an object: where such objects are written or read, a key without a value is left out.
/// A required key may be `null`: the controller does not know its value.
pub(crate) fn without_null(schema: &mut Value) {
    let required: BTreeSet<String> =
        schema["required"].as_array().into_iter().flatten().filter_map(|key| Some(key.as_str()?.to_owned())).collect();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (_, property) in properties.into_iter().flatten().filter(|(key, _)| !required.contains(*key)) {
        if let Some(kinds) = property.get_mut("type").and_then(Value::as_array_mut) {
            kinds.retain(|kind| kind != "null");
            if let [only] = &kinds[..] {
                property["type"] = only.clone();
            }
        }
        let is_null = |choice: &Value| choice["type"] == "null";
        let other = property["oneOf"].as_array().and_then(|all| all.iter().find(|choice| !is_null(choice))).cloned();
        if let Some(other) = other {
            *property = other;
        }
    }
}

/// Returns the pattern of names: those in addresses, by their parameter, and those in objects, by their key.
pub(crate) fn pattern(name: &str) -> Option<&'static str> {
    match name {
        "policy" => Some("^[A-Za-z0-9._-]{1,100}$"),
        "contract" | "vm" => Some("^([a-z0-9-]{1,63}:)?[A-Za-z0-9._-]{1,100}$"),
        "decision" => Some("^([a-z0-9-]{1,63}:)?[0-9]{1,20}$"),
        "event" => Some("^[0-9]{1,20}$"),
        "tenant" => Some("^[a-z0-9-]{1,63}$"),
        _ => None,
    }
}

/// Adds the patterns of names that clients choose.
pub(crate) fn with_patterns(schemas: &mut Value) {
    let named = |schema: &str, key: &str| match (schema, key) {
        ("TenantSpec", "name") | (_, "tenant") => pattern("tenant"),
        ("Contract" | "ContractSpec" | "VmSpec", "name") => Some("^[A-Za-z0-9._-]{1,100}$"),
        _ => None,
    };
    for (name, schema) in schemas.as_object_mut().into_iter().flatten() {
        let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (key, property) in properties.into_iter().flatten() {
            if let (Some(pattern), Some(property)) = (named(name, key), property.as_object_mut())
                && property.contains_key("type")
            {
                property.insert("pattern".to_owned(), pattern.into());
            }
        }
    }
}
