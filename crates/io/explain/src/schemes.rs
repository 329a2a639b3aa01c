//! Descriptions of schemes as JSON: their settings, and the granted shares of schemes without queues.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use wayleave_scheme_api::{Parameter, Value, ValueKind};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_units::Time;

use crate::context::Context;

/// A value in its JSON form: quantities are whole numbers of ns, bytes and bit/s; the suffix of the key gives the
/// unit.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueJson(pub Value);

impl Serialize for ValueJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Absent => serializer.serialize_none(),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Count(count) => serializer.serialize_u64(*count),
            Value::Percent(percent) | Value::Hundredths(percent) => serializer.serialize_u8(*percent),
            Value::Number(number) => serializer.serialize_f64(*number),
            Value::Time(time) => serializer.serialize_u64(time.as_nanos()),
            Value::Rate(rate) => serializer.serialize_u64(rate.bits_per_second()),
            Value::Bytes(bytes) => serializer.serialize_u64(bytes.get()),
            Value::Word(word) => serializer.serialize_str(word),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(&Self(value.clone())))?;
                list.end()
            }
            Value::ByName(values) => {
                let mut map = serializer.serialize_map(Some(values.len()))?;
                values.iter().try_for_each(|(name, value)| map.serialize_entry(name, &Self(value.clone())))?;
                map.end()
            }
            Value::Record(values) => {
                let mut map = serializer.serialize_map(Some(values.len()))?;
                for (key, value) in values {
                    map.serialize_entry(&format!("{key}{}", unit_of(value)), &Self(value.clone()))?;
                }
                map.end()
            }
            Value::Node(_) | Value::Scheme(_) => serializer.serialize_str(&self.0.to_string()),
        }
    }
}

/// Returns the suffix of a key, by its value.
fn unit_of(value: &Value) -> &'static str {
    match value {
        Value::Time(_) => "_ns",
        Value::Rate(_) => "_bps",
        Value::Bytes(_) => "_bytes",
        Value::Percent(_) | Value::Hundredths(_) => "_percent",
        _ => "",
    }
}

/// Returns the suffix of a key, by its kind, so that an absent value has one as well.
fn unit(kind: &ValueKind) -> &'static str {
    match kind {
        ValueKind::Time { .. } => "_ns",
        ValueKind::Rate { .. } => "_bps",
        ValueKind::Bytes { .. } => "_bytes",
        ValueKind::Percent { .. } | ValueKind::Hundredths { .. } => "_percent",
        ValueKind::List(kind) => unit(kind),
        _ => "",
    }
}

/// A scheme with its settings. Settings that depend on a flag are in an object under the flag's name, which is null
/// without the flag.
#[derive(Clone, Debug)]
pub struct SettingsJson {
    /// The scheme.
    pub name: &'static str,
    /// Settings in effect.
    pub settings: Vec<(&'static Parameter, Value)>,
}

impl SettingsJson {
    /// A setting that is a time.
    pub fn time(&self, key: &str) -> Option<Time> {
        let (_, value) = self.settings.iter().find(|(parameter, _)| parameter.key == key)?;
        if let Value::Time(time) = value { Some(*time) } else { None }
    }
}

impl Serialize for SettingsJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name)?;
        for (parameter, value) in self.settings.iter().filter(|(parameter, _)| parameter.group.is_empty()) {
            let group = Group { flag: parameter.key, settings: &self.settings };
            let key = || format!("{}{}", parameter.key, unit(&parameter.kind));
            match value {
                Value::Flag(true) if group.members().next().is_some() => map.serialize_entry(parameter.key, &group)?,
                Value::Flag(false) if group.members().next().is_some() => map.serialize_entry(parameter.key, &())?,
                value => map.serialize_entry(&key(), &ValueJson(value.clone()))?,
            }
        }
        map.end()
    }
}

/// The settings that mean something with a flag.
struct Group<'a> {
    flag: &'static str,
    settings: &'a [(&'static Parameter, Value)],
}

impl Group<'_> {
    fn members(&self) -> impl Iterator<Item = &(&'static Parameter, Value)> {
        self.settings.iter().filter(|(parameter, _)| parameter.group == self.flag)
    }
}

impl Serialize for Group<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.members().map(|(parameter, value)| {
            (format!("{}{}", parameter.key, unit(&parameter.kind)), ValueJson(value.clone()))
        });
        serializer.collect_map(entries)
    }
}

/// Resources of a scheme without queues, in total and remaining, under the scheme's name for them; `None` for other
/// schemes.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedShares(Option<(&'static str, Value)>);

impl GrantedShares {
    /// Returns the remaining resources at present.
    pub fn of(context: &Context<'_>) -> Self {
        Self(context.scheme.granted_shares())
    }

    /// Its name and value, for documents that are written member by member.
    pub fn member(&self) -> Option<(&'static str, ValueJson)> {
        self.0.as_ref().map(|(name, value)| (*name, ValueJson(value.clone())))
    }
}

impl Serialize for GrantedShares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.member())
    }
}
