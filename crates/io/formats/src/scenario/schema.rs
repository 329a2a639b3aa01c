//! The JSON Schema of scenarios. What it says of schemes is written from their descriptors; all else is kept by hand.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use wayleave_scheme_api::{Descriptor, Kind, Parameter};

use super::ports::{MARKING, ROUTING};
use super::schemes::{SchemeChoice, camel, short};
use super::sharing::SCHEME;
use super::transport::CONGESTION;

/// The published schema, and what is kept of it by hand.
const TEXT: &str = include_str!("../../../../../schemas/scenario.schema.json");

/// The JSON Schema of scenarios, with all schemes that there are.
pub fn scenario_schema() -> String {
    written(|_| true)
}

/// The schema with those schemes that are wanted.
fn written(is_wanted: impl Fn(&Descriptor) -> bool) -> String {
    let Ok(mut schema) = serde_json::from_str::<Json>(TEXT) else { return TEXT.to_owned() };
    let of = |choice: &SchemeChoice| -> Vec<&'static Descriptor> {
        choice.all.iter().copied().filter(|scheme| is_wanted(scheme)).collect()
    };
    let (routings, controls, hosts, markings) = (of(&ROUTING), of(&CONGESTION), of(&SCHEME), of(&MARKING));
    schema.choose(&["properties", "spec", "properties", "routing"], &["$defs", "routing"], &routings, &[]);
    schema.choose(&["$defs", "congestion"], &["$defs", "fixed-window"], &controls, &[]);
    schema.choose(&["$defs", "sharing", "properties", "scheme"], &["$defs", "scheme"], &hosts, &[]);
    schema.choose(&["$defs", "ecn"], &["$defs", "marking"], &markings, &["none"]);
    match serde_json::to_string_pretty(&schema) {
        Ok(text) => text + "\n",
        Err(_) => TEXT.to_owned(),
    }
}

/// JSON whose members keep their order.
#[derive(Clone, Debug, PartialEq)]
enum Json {
    Null,
    Flag(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn number(number: u64) -> Self {
        Self::Number(number.into())
    }

    fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(key, value)| (key.to_owned(), value)).to_vec())
    }

    fn reference(name: &str) -> Self {
        Self::object([("$ref", Self::text(format!("#/$defs/{name}")))])
    }

    /// The value of a member, which is made if it is not there.
    fn at(&mut self, key: &str) -> &mut Self {
        if !matches!(self, Self::Object(_)) {
            *self = Self::Object(Vec::new());
        }
        let Self::Object(members) = self else { return self };
        let place = members.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            members.push((key.to_owned(), Self::Null));
            members.len() - 1
        });
        &mut members[place].1
    }

    fn under(&mut self, path: &[&str]) -> &mut Self {
        path.iter().fold(self, |json, key| json.at(key))
    }

    fn set(&mut self, key: &str, value: Self) {
        *self.at(key) = value;
    }

    fn remove(&mut self, key: &str) {
        if let Self::Object(members) = self {
            members.retain(|(known, _)| known != key);
        }
    }

    /// Writes which schemes can be chosen: by name at `place`, by their parameters in the definition `mapping`. What stands
    /// for no scheme is `absent`.
    fn choose(&mut self, place: &[&str], mapping: &[&str], schemes: &[&'static Descriptor], absent: &[&str]) {
        let needs_nothing = |scheme: &&&Descriptor| scheme.parameters.iter().all(|one| one.example.is_empty());
        let names = schemes.iter().filter(needs_nothing).map(|scheme| Self::text(scheme.name));
        let names = absent.iter().map(|word| Self::text(*word)).chain(names).collect();
        if let Self::List(ways) = self.under(place).at("oneOf")
            && let Some(words) = ways.first_mut()
        {
            words.set("enum", Self::List(names));
        }
        let adjustable: Vec<&'static Descriptor> =
            schemes.iter().copied().filter(|scheme| !scheme.parameters.is_empty()).collect();
        for scheme in adjustable.iter().filter(|scheme| scheme.parameters.len() > 1) {
            self.at("$defs").set(scheme.name, definition(scheme));
        }
        let properties = adjustable.iter().map(|scheme| (camel(scheme.name), property(scheme))).collect();
        let keys: Vec<Self> = adjustable.iter().map(|scheme| Self::text(camel(scheme.name))).collect();
        let mapping = self.under(mapping);
        mapping.set("properties", Self::Object(properties));
        let has = |mapping: &Self, key: &str| matches!(mapping, Self::Object(members) if members.iter().any(|(known, _)| known == key));
        if has(mapping, "oneOf") {
            let one = keys.into_iter().map(|key| Self::object([("required", Self::List(vec![key]))]));
            mapping.set("oneOf", Self::List(one.collect()));
        } else if has(mapping, "required") && keys.len() == 1 {
            mapping.set("required", Self::List(keys));
        } else {
            mapping.remove("required");
            mapping.set("minProperties", Self::number(1));
            mapping.set("maxProperties", Self::number(1));
        }
    }
}

/// What stands under the name of a scheme.
fn property(scheme: &Descriptor) -> Json {
    match (scheme.parameters, short(scheme)) {
        ([parameter], _) => described(&parameter.kind, parameter),
        (_, Some(parameter)) => {
            let either = vec![described(&parameter.kind, parameter), Json::reference(scheme.name)];
            Json::object([("oneOf", Json::List(either))])
        }
        (_, None) => Json::reference(scheme.name),
    }
}

/// The parameters of a scheme.
fn definition(scheme: &Descriptor) -> Json {
    let properties = scheme.parameters.iter();
    let properties = properties.map(|parameter| (parameter.key.to_owned(), described(&parameter.kind, parameter)));
    let mut definition = Json::object([
        ("type", Json::text("object")),
        ("additionalProperties", Json::Flag(false)),
        ("description", Json::text(format!("{}.", scheme.summary))),
    ]);
    let required = scheme.parameters.iter().filter(|parameter| !parameter.example.is_empty());
    let required: Vec<Json> = required.map(|parameter| Json::text(parameter.key)).collect();
    if !required.is_empty() {
        definition.set("required", Json::List(required));
    }
    definition.set("properties", Json::Object(properties.collect()));
    definition
}

fn described(kind: &Kind, parameter: &Parameter) -> Json {
    let mut text = parameter.sentence();
    if let Some(default) = parameter.default_text().filter(|_| parameter.example.is_empty()) {
        text += &format!("; {default} if absent");
    }
    text.push('.');
    if !parameter.note.is_empty() {
        text = format!("{text} {}", parameter.note);
    }
    let mut json = of_kind(kind);
    json.set("description", Json::text(text));
    json
}

fn of_kind(kind: &Kind) -> Json {
    let typed = |name: &str| Json::object([("type", Json::text(name))]);
    match kind {
        Kind::Time { .. } => Json::reference("time"),
        Kind::Rate { .. } => Json::reference("rate"),
        Kind::Bytes { .. } => Json::reference("size"),
        Kind::Count { least, most } => whole(*least, Some(*most).filter(|&most| most < u64::from(u32::MAX))),
        Kind::Percent { least, most } => whole((*least).into(), Some((*most).into())),
        Kind::Hundredths { .. } | Kind::Fraction => {
            let mut number = typed("number");
            number.set("exclusiveMinimum", Json::number(0));
            number.set("maximum", Json::number(1));
            number
        }
        Kind::Flag => typed("boolean"),
        Kind::Word(words) => {
            let words = words.iter().map(|word| Json::text(word.word)).collect();
            Json::object([("enum", Json::List(words))])
        }
        Kind::Text { .. } => typed("string"),
        Kind::List(kind) => Json::object([("type", Json::text("array")), ("items", of_kind(kind))]),
        Kind::ByService(kind) => {
            Json::object([("type", Json::text("object")), ("additionalProperties", of_kind(kind))])
        }
        Kind::Host => Json::object([("type", Json::text("string")), ("minLength", Json::number(1))]),
        Kind::Scheme(scheme) => Json::reference(scheme.name),
    }
}

fn whole(least: u64, most: Option<u64>) -> Json {
    let mut json = Json::object([("type", Json::text("integer")), ("minimum", Json::number(least))]);
    if let Some(most) = most {
        json.set("maximum", Json::number(most));
    }
    json
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(key, value)| (key, value))),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::number(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(serde_json::Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Json::Object(object))
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
    fn the_published_schema_is_what_the_schemes_say() {
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
