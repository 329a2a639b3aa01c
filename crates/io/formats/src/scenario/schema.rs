//! The JSON Schema of scenarios. Its parts about schemes are written from their descriptors; the rest is kept by hand.

use serde_json::{Map, Value, json};
use wayleave_scheme_api::{Descriptor, Parameter, ValueKind};

use super::ports::{MARKING, ROUTING};
use super::schemes::{SchemeChoice, camel, short};
use super::sharing::SCHEME;
use super::transport::CONGESTION;

/// The published schema. Its parts about schemes are replaced, the rest is kept by hand.
const TEXT: &str = include_str!("../../../../../schemas/scenario.schema.json");

/// Returns the JSON Schema of scenarios, with all registered schemes. Members of objects are sorted by name.
pub fn scenario_schema() -> String {
    written(|_| true)
}

/// Returns the schema with the schemes that `is_wanted` accepts.
fn written(is_wanted: impl Fn(&Descriptor) -> bool) -> String {
    let Ok(mut schema) = serde_json::from_str(TEXT) else { return TEXT.to_owned() };
    let of = |choice: &SchemeChoice| -> Vec<&'static Descriptor> {
        choice.all.iter().copied().filter(|scheme| is_wanted(scheme)).collect()
    };
    let (routings, controls, hosts, markings) = (of(&ROUTING), of(&CONGESTION), of(&SCHEME), of(&MARKING));
    choose(&mut schema, "/properties/spec/properties/routing", "/$defs/routing", &routings, &[]);
    choose(&mut schema, "/$defs/congestion", "/$defs/fixed-window", &controls, &[]);
    choose(&mut schema, "/$defs/sharing/properties/scheme", "/$defs/scheme", &hosts, &[]);
    choose(&mut schema, "/$defs/ecn", "/$defs/marking", &markings, &["none"]);
    format!("{schema:#}\n")
}

/// Writes the schemes that can be chosen: by name at `place`, by their parameters in the definition `mapping`. The words of
/// `absent` choose no scheme.
fn choose(schema: &mut Value, place: &str, mapping: &str, schemes: &[&'static Descriptor], absent: &[&str]) {
    let needs_nothing = |scheme: &&&Descriptor| scheme.parameters.iter().all(|one| one.example.is_empty());
    let names = schemes.iter().filter(needs_nothing).map(|scheme| scheme.name);
    if let Some(words) = schema.pointer_mut(&format!("{place}/oneOf/0/enum")) {
        *words = absent.iter().copied().chain(names).collect();
    }
    let adjustable: Vec<&'static Descriptor> =
        schemes.iter().copied().filter(|scheme| !scheme.parameters.is_empty()).collect();
    for scheme in adjustable.iter().filter(|scheme| scheme.parameters.len() > 1) {
        schema["$defs"][scheme.name] = definition(scheme);
    }
    let Some(mapping) = schema.pointer_mut(mapping).and_then(Value::as_object_mut) else { return };
    let properties = adjustable.iter().map(|scheme| (camel(scheme.name), property(scheme))).collect();
    mapping.insert("properties".into(), properties);
    let keys: Vec<String> = adjustable.iter().map(|scheme| camel(scheme.name)).collect();
    if let Some(one) = mapping.get_mut("oneOf") {
        *one = keys.iter().map(|key| json!({ "required": [key] })).collect();
    } else if mapping.contains_key("required") && keys.len() == 1 {
        mapping.insert("required".into(), json!(keys));
    } else {
        mapping.remove("required");
        mapping.insert("minProperties".into(), json!(1));
        mapping.insert("maxProperties".into(), json!(1));
    }
}

/// Returns the schema of the value that a scheme's name has in a mapping.
fn property(scheme: &Descriptor) -> Value {
    match (scheme.parameters, short(scheme)) {
        ([parameter], _) => described(parameter),
        (_, Some(parameter)) => json!({ "oneOf": [described(parameter), reference(scheme.name)] }),
        (_, None) => reference(scheme.name),
    }
}

/// Returns the schema of a scheme's parameters.
fn definition(scheme: &Descriptor) -> Value {
    let properties: Map<_, _> =
        scheme.parameters.iter().map(|parameter| (parameter.key.to_owned(), described(parameter))).collect();
    let mut definition = json!({
        "type": "object",
        "additionalProperties": false,
        "description": format!("{}.", scheme.summary),
        "properties": properties,
    });
    let required = scheme.parameters.iter().filter(|parameter| !parameter.example.is_empty());
    let required: Vec<&str> = required.map(|parameter| parameter.key).collect();
    if !required.is_empty() {
        definition["required"] = json!(required);
    }
    definition
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn described(parameter: &Parameter) -> Value {
    let mut text = parameter.sentence();
    if let Some(default) = parameter.default_text().filter(|_| parameter.example.is_empty()) {
        text += &format!("; {default} if absent");
    }
    text.push('.');
    if !parameter.note.is_empty() {
        text = format!("{text} {}", parameter.note);
    }
    let mut schema = of_kind(&parameter.kind);
    schema["description"] = json!(text);
    schema
}

fn of_kind(kind: &ValueKind) -> Value {
    match kind {
        ValueKind::Time { .. } => reference("time"),
        ValueKind::Rate { .. } => reference("rate"),
        ValueKind::Bytes { .. } => reference("size"),
        ValueKind::Count { least, most } if *most < u64::from(u32::MAX) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ValueKind::Count { least, .. } => json!({ "type": "integer", "minimum": least }),
        ValueKind::Percent { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Hundredths { .. } | ValueKind::Fraction => {
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 })
        }
        ValueKind::Flag => json!({ "type": "boolean" }),
        ValueKind::Word(words) => json!({ "enum": words.iter().map(|word| word.word).collect::<Vec<_>>() }),
        ValueKind::Text { .. } => json!({ "type": "string" }),
        ValueKind::List(kind) => json!({ "type": "array", "items": of_kind(kind) }),
        ValueKind::ByService(kind) => json!({ "type": "object", "additionalProperties": of_kind(kind) }),
        ValueKind::Host => json!({ "type": "string", "minLength": 1 }),
        ValueKind::Scheme(scheme) => reference(scheme.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests are built with the toys, which are not published.
    fn is_published(scheme: &Descriptor) -> bool {
        !scheme.name.starts_with("toy-")
    }

    #[test]
    fn the_published_schema_has_the_parameters_of_the_schemes() {
        let written = written(is_published);
        if std::env::var_os("WAYLEAVE_UPDATE").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../schemas/scenario.schema.json");
            std::fs::write(file, &written).unwrap();
            return;
        }
        let differs = TEXT.lines().zip(written.lines()).find(|(published, written)| published != written);
        assert_eq!(differs, None, "left the file, right the descriptors");
        assert!(TEXT == written, "WAYLEAVE_UPDATE=1 writes it anew");
    }

    #[test]
    fn a_scheme_that_is_added_is_in_the_schema() {
        let all = scenario_schema();
        for choice in [&CONGESTION, &ROUTING, &SCHEME, &MARKING] {
            for scheme in choice.all {
                assert!(all.contains(&format!("\"{}\"", scheme.name)), "{}", scheme.name);
                for parameter in scheme.parameters {
                    let text = serde_json::to_string(&parameter.sentence()).unwrap_or_default();
                    assert!(all.contains(text.trim_matches('"')), "{}: {}", scheme.name, parameter.key);
                }
            }
        }
    }
}
