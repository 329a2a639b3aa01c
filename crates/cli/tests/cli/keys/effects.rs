//! Pairs of scenarios that differ in one key, and have different outcomes: the simulator carries out the key.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use wayleave::{Batch, RunSelection, Watch, simulate};
use wayleave_formats::Source;

use super::schema::canonical;

/// A key with two values of itself, or of the object that it is a part of.
struct Pair<'v> {
    spec: &'v Value,
    files: Option<&'v Map<String, Value>>,
    /// The key as the file has it, or with its kind in front: `Contracts spec.contracts[].rate`.
    key: &'v str,
    /// Place of both values.
    path: &'v str,
    values: [&'v Value; 2],
}

/// The pairs of a group of `effects.json`.
fn pairs(group: &Value) -> Vec<Pair<'_>> {
    let (spec, files) = (&group["spec"], group["files"].as_object());
    let mut all = Vec::new();
    for (name, values) in group["keys"].as_object().into_iter().flatten() {
        let (key, path) = name.split_once('@').unwrap_or((name, name));
        all.push(Pair { spec, files, key, path, values: [&values[0], &values[1]] });
    }
    all
}

/// Sets a value at a path with dots; null removes the key.
fn set(spec: &mut Value, path: &str, value: &Value) {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (spec, rest) {
        (Value::Array(items), Some(rest)) => set(&mut items[first.parse::<usize>().unwrap()], rest, value),
        (Value::Array(items), None) => items[first.parse::<usize>().unwrap()] = value.clone(),
        (Value::Object(entries), None) if value.is_null() => drop(entries.remove(first)),
        (Value::Object(entries), None) => drop(entries.insert(first.to_owned(), value.clone())),
        (Value::Object(entries), Some(rest)) => {
            let below = entries.entry(first).or_insert(Value::Null);
            if !below.is_object() && !below.is_array() {
                *below = json!({});
            }
            set(below, rest, value);
        }
        (other, _) => panic!("{path} in {other}"),
    }
}

/// The kind and the key in the form of a schema: `Scenario`, `spec.traffic[].rpc.think`.
fn named(key: &str) -> (&'static str, String) {
    if let Some(key) = key.strip_prefix("Contracts ") {
        return ("Contracts", key.to_owned());
    }
    let word =
        |word: &str| if word.bytes().all(|byte| byte.is_ascii_digit()) { "[]".to_owned() } else { format!(".{word}") };
    canonical(&format!("spec{}", key.split('.').map(word).collect::<String>()))
}

/// The kinds and keys of all pairs, in the form of a schema.
pub(super) fn keys() -> BTreeSet<(&'static str, String)> {
    groups().iter().flat_map(pairs).map(|pair| named(pair.key)).collect()
}

fn groups() -> Vec<Value> {
    serde_json::from_str(include_str!("effects.json")).unwrap()
}

impl Pair<'_> {
    /// Outcome of a run with one of the values, and its warnings about keys that are not carried out.
    fn outcome(&self, value: &Value) -> (Value, Vec<String>) {
        let mut spec = self.spec.clone();
        set(&mut spec, self.path, value);
        let seed = spec.as_object_mut().unwrap().remove("seed").and_then(|seed| seed.as_u64());
        let text = json!({ "apiVersion": "wayleave/v1", "kind": "Scenario", "spec": spec }).to_string();
        let open = |name: &str| {
            let text = self.files.and_then(|files| files.get(name)).and_then(Value::as_str);
            Ok(Source::new(name, text.unwrap_or_else(|| panic!("{}: there is no {name}", self.key))))
        };
        let choice = RunSelection::default().with_seed(seed);
        let batch = Batch::parse_with(&Source::new("scenario.json", text), "scenario.json", &choice, &open);
        let batch = batch.unwrap_or_else(|error| panic!("{}: {error}", self.key));
        let run = &batch.runs()[0];
        let result = simulate(&run.scenario, run.seed, &mut Watch::none()).unwrap();
        let mut result = serde_json::to_value(&result).unwrap();
        // A seed by itself is no outcome.
        result.as_object_mut().unwrap().remove("seed");
        (result, batch.not_carried_out().to_vec())
    }

    /// Reason for which the key is not shown to be carried out.
    fn fault(&self) -> Option<String> {
        let outcomes = self.values.map(|value| self.outcome(value));
        let leaf = self.key.rsplit('.').next().unwrap_or(self.key);
        let files = || self.files.map_or_else(String::new, |files| json!(files).to_string().replace('\\', ""));
        let stands = |value: &Value| {
            let mut spec = self.spec.clone();
            set(&mut spec, self.path, value);
            format!("{spec}{}", files()).contains(&format!("\"{leaf}\""))
        };
        if self.values[0] == self.values[1] || !self.values.iter().any(|value| stands(value)) {
            return Some(format!("{}: no two values of it are compared", self.key));
        }
        if let Some(output) = outcomes.iter().flat_map(|(_, output)| output).find(|output| output.starts_with(self.key))
        {
            return Some(format!("{}: {output}", self.key));
        }
        (outcomes[0].0 == outcomes[1].0)
            .then(|| format!("{}: {} and {} are the same", self.key, self.values[0], self.values[1]))
    }
}

#[test]
fn different_values_of_a_key_have_different_outcomes() {
    let groups = groups();
    let pairs: Vec<Pair<'_>> = groups.iter().flat_map(pairs).collect();
    let faults: Vec<String> = pairs.par_iter().filter_map(Pair::fault).collect();
    assert!(faults.is_empty(), "{} of {} pairs:\n{}", faults.len(), pairs.len(), faults.join("\n"));
}
