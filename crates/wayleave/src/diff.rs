//! Differences between two plans, two runs or two sweeps, as `-o json` prints them.
//!
//! Documents are compared member by member. Items of lists are matched by identity (contracts by name, queues by link
//! and number, runs by parameters and seed), so that an added item changes nothing else. Members that describe how a
//! document was made, and not its results, are left out.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;
use serde_json::{Map, Number, Value};
use wayleave_explain::human::count;
use wayleave_explain::table::{TableLayout, plain_table};
use wayleave_formats::Source;
use wayleave_units::{Bytes, Rate, Time};

use crate::error::Error;

/// Keys that describe how a document was made, or the duration of decisions.
const HOW: [&str; 6] = ["wayleave", "replay", "input_hash", "file", "planned_runs", "decision_us"];

/// Members that identify an item of a list: the first set that the item has. The members of one set apply together.
const KNOWN_BY: [&[&str]; 8] = [
    &["name"],
    &["parameters", "seed"],
    &["traffic", "from", "to"],
    &["link", "queue"],
    &["link"],
    &["node"],
    &["tier"],
    &["from", "to"],
];

/// A plan, a run or a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffInput {
    /// Of `wayleave plan -o json`.
    Plan,
    /// One run of `wayleave sim`.
    Run,
    /// All runs of `wayleave sim -o json`.
    Sweep,
}

/// Two documents of one kind, and their differences.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DocumentDiff {
    /// Kind of both documents.
    pub compared: DiffInput,
    /// Contracts that the first refuses or does not have, and the second admits; of plans.
    pub newly_admitted: Vec<String>,
    /// The other way round.
    pub no_longer_admitted: Vec<String>,
    /// Everything that differs, in the order of the documents.
    pub changes: Vec<ValueChange>,
}

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ValueChange {
    /// Item that the change concerns, such as `requests backup` or `runs seed=1, traffic web`; empty for the document
    /// itself.
    pub of: String,
    /// The value's name.
    pub what: String,
    /// In the first document; absent if it does not have it.
    pub before: Option<Value>,
    /// In the second one.
    pub after: Option<Value>,
}

/// Compares two documents.
///
/// # Errors
/// If one of them is no plan, run or sweep in JSON, or they are not of one kind.
pub fn diff(first: &Source, second: &Source) -> Result<DocumentDiff, Error> {
    diff_values(read(first)?, read(second)?)
}

/// The same of results that are read already: a run, or a list of runs (the files of a folder).
///
/// # Errors
/// As [`diff`].
pub fn diff_values(first: (DiffInput, Value), second: (DiffInput, Value)) -> Result<DocumentDiff, Error> {
    let [(compared, first), (other, second)] = [first, second];
    if compared != other {
        let [this, that] = [compared, other].map(DiffInput::noun);
        return Err(Error::Usage(format!(
            "the first is {this} and the second {that}: diff compares two of the same kind"
        )));
    }
    let mut changes = Vec::new();
    compare("", "", &first, &second, &mut changes);
    let [before, after] = [&first, &second].map(admitted);
    let new = |of: &BTreeMap<String, bool>, than: &BTreeMap<String, bool>| {
        let is_new = |name: &&String| of[*name] && !than.get(*name).copied().unwrap_or(false);
        of.keys().filter(is_new).cloned().collect()
    };
    let (newly_admitted, no_longer_admitted) = (new(&after, &before), new(&before, &after));
    Ok(DocumentDiff { compared, newly_admitted, no_longer_admitted, changes })
}

/// Reads a document, and finds out what it is.
///
/// # Errors
/// If it is no JSON, or none of the three.
pub fn read(source: &Source) -> Result<(DiffInput, Value), Error> {
    let value: Value = serde_json::from_str(source.text()).map_err(|error| {
        let expected = "expected the output of `wayleave plan -o json` or `wayleave sim -o json`";
        Error::Located(format!("{} is not JSON ({error}): {expected}", source.name()))
    })?;
    let has = |key: &str| value.get(key).is_some_and(Value::is_array);
    let compared = match (has("requests"), has("runs"), has("traffic")) {
        (true, _, _) => DiffInput::Plan,
        (_, true, _) => DiffInput::Sweep,
        (_, _, true) => DiffInput::Run,
        _ => {
            let what = "neither a plan nor simulation results: expected the output of `wayleave plan -o json` or `wayleave sim -o json`";
            return Err(Error::Located(format!("{}: {what}", source.name())));
        }
    };
    Ok((compared, value))
}

impl DiffInput {
    fn noun(self) -> &'static str {
        match self {
            Self::Plan => "a plan",
            Self::Run => "a run",
            Self::Sweep => "a sweep",
        }
    }
}

/// Returns for each contract of a plan whether it is admitted in the end: the last decision counts.
fn admitted(document: &Value) -> BTreeMap<String, bool> {
    let requests = document.get("requests").and_then(Value::as_array).into_iter().flatten();
    let last = requests.filter_map(|request| {
        let name = request.get("name")?.as_str()?;
        Some((name.to_owned(), request.get("decision").is_some_and(|decision| decision == "admitted")))
    });
    last.collect()
}

fn compare(of: &str, what: &str, first: &Value, second: &Value, changes: &mut Vec<ValueChange>) {
    match (first, second) {
        (Value::Object(first), Value::Object(second)) => compare_objects(of, what, first, second, changes),
        (Value::Array(first), Value::Array(second)) if is_keyed(first) && is_keyed(second) => {
            compare_lists(of, what, first, second, changes);
        }
        _ if first == second => {}
        _ => changes.push(change(of, what, Some(first), Some(second))),
    }
}

fn compare_objects(
    of: &str,
    what: &str,
    first: &Map<String, Value>,
    second: &Map<String, Value>,
    changes: &mut Vec<ValueChange>,
) {
    let added = second.keys().filter(|key| !first.contains_key(*key));
    for key in first.keys().chain(added).filter(|key| !HOW.contains(&key.as_str())) {
        let name = if what.is_empty() { key.clone() } else { format!("{what}.{key}") };
        match (first.get(key), second.get(key)) {
            (Some(first), Some(second)) => compare(of, &name, first, second, changes),
            (first, second) => changes.push(change(of, &name, first, second)),
        }
    }
}

fn compare_lists(of: &str, what: &str, first: &[Value], second: &[Value], changes: &mut Vec<ValueChange>) {
    let [first, second] = [first, second].map(named);
    let place: BTreeMap<&str, &Value> = second.iter().map(|(name, item)| (name.as_str(), *item)).collect();
    let known: BTreeMap<&str, &Value> = first.iter().map(|(name, item)| (name.as_str(), *item)).collect();
    let of = |name: &str| if of.is_empty() { format!("{what} {name}") } else { format!("{of}, {what} {name}") };
    for (name, item) in &first {
        match place.get(name.as_str()) {
            Some(other) => compare(&of(name), "", item, other, changes),
            None => changes.push(change(&of(name), "", Some(item), None)),
        }
    }
    for (name, item) in second.iter().filter(|(name, _)| !known.contains_key(name.as_str())) {
        changes.push(change(&of(name), "", None, Some(item)));
    }
}

fn change(of: &str, what: &str, before: Option<&Value>, after: Option<&Value>) -> ValueChange {
    ValueChange { of: of.to_owned(), what: what.to_owned(), before: before.cloned(), after: after.cloned() }
}

/// Returns `true` if every item of a list has an identity.
fn is_keyed(items: &[Value]) -> bool {
    items.iter().all(|item| key_of(item).is_some())
}

/// Items with their names; those of one name (a contract that comes, changes and goes) are numbered.
fn named(items: &[Value]) -> Vec<(String, &Value)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let name = |item| {
        let key = key_of(item).unwrap_or_default();
        let number = seen.entry(key.clone()).and_modify(|number| *number += 1).or_insert(1);
        let name = if *number == 1 { key } else { format!("{key} ({number})") };
        (name, item)
    };
    items.iter().map(name).collect()
}

fn key_of(item: &Value) -> Option<String> {
    let item = item.as_object()?;
    let keys = KNOWN_BY.iter().find(|keys| keys.iter().all(|key| item.contains_key(*key)))?;
    let text = |key: &&str| match &item[*key] {
        Value::String(text) => text.clone(),
        Value::Array(parameters) => {
            let pair = |parameter: &Value| {
                Some(format!("{}={}", parameter.get("path")?.as_str()?, parameter.get("value")?.as_str()?))
            };
            parameters.iter().filter_map(pair).collect::<Vec<_>>().join(" ")
        }
        value => format!("{key}={value}"),
    };
    let parts: Vec<String> = keys.iter().map(text).filter(|part| !part.is_empty()).collect();
    Some(parts.join(" "))
}

impl DocumentDiff {
    /// Returns `true` if nothing differs.
    pub fn is_none(&self) -> bool {
        self.changes.is_empty()
    }

    /// Writes the differences, at most `most`: for plans, admitted contracts first, then values.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout, most: usize) -> Result<(), Error> {
        if self.is_none() {
            return Ok(writeln!(out, "no differences")?);
        }
        for (what, names) in [("admitted now", &self.newly_admitted), ("no longer admitted", &self.no_longer_admitted)]
        {
            if !names.is_empty() {
                writeln!(out, "{what}: {}", names.join(", "))?;
            }
        }
        let mut table = plain_table(&["object", "field", "first", "second"], layout);
        // Requests and their results come first; curves are only for programs.
        let is_curve = |change: &ValueChange| {
            matches!(change.what.rsplit('.').next(), Some("arrival" | "service")) || change.of.contains(", inputs ")
        };
        let mut figures: Vec<&ValueChange> = self.changes.iter().filter(|change| !is_curve(change)).collect();
        figures.sort_by_key(|change| !(change.of.starts_with("requests") || change.of.contains("traffic ")));
        for change in figures.iter().take(most) {
            let [what, before, after] = cells(change);
            table.add_row([change.of.clone(), what, before, after]);
        }
        writeln!(out, "{table}")?;
        let curves = match self.changes.len() - figures.len() {
            0 => String::new(),
            1 => "; 1 of them in a curve (-o json shows it)".to_owned(),
            curves => format!("; {curves} of them in curves (-o json shows them)"),
        };
        let more = match figures.len().saturating_sub(most) {
            0 => String::new(),
            more => format!("; --all shows {more} more"),
        };
        Ok(writeln!(out, "\n{}{curves}{more}", count(self.changes.len(), "difference"))?)
    }
}

/// Unit of a number, by the end of its name.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    /// Times in nanoseconds.
    Nanos(f64),
    /// Bits per second.
    Rate,
    /// Amounts of data in bytes.
    Bytes(f64),
}

const SUFFIXES: [(&str, Unit); 7] = [
    ("_ns", Unit::Nanos(1.0)),
    ("_us", Unit::Nanos(1e3)),
    ("_ps", Unit::Nanos(1e-3)),
    ("_bps", Unit::Rate),
    ("_bytes", Unit::Bytes(1.0)),
    ("_nanobits", Unit::Bytes(1.0 / 8e9)),
    ("_bits", Unit::Bytes(1.0 / 8.0)),
];

/// A name without the unit that ends it, and the unit. Distributions have theirs before the name of the member (`delay_ps.mean`), and count some things.
fn unit_of(what: &str) -> (String, Option<Unit>) {
    let (outer, last) = what.rsplit_once('.').map_or(("", what), |(outer, last)| (outer, last));
    let cut = |name: &str| SUFFIXES.iter().find_map(|(end, unit)| Some((name.strip_suffix(end)?.to_owned(), *unit)));
    match (cut(last), cut(outer)) {
        (Some((name, unit)), _) if outer.is_empty() => (name, Some(unit)),
        (Some((name, unit)), _) => (format!("{outer}.{name}"), Some(unit)),
        (None, Some((name, unit))) => (format!("{name}.{last}"), Some(unit).filter(|_| last != "count")),
        (None, None) => (what.to_owned(), None),
    }
}

/// The name of a value without its unit, and both values as people read them; an item that only one of both has is added or removed.
fn cells(change: &ValueChange) -> [String; 3] {
    let (name, unit) = unit_of(&change.what);
    match (&change.before, &change.after) {
        (None, Some(Value::Object(_))) => [name, String::new(), "added".to_owned()],
        (Some(Value::Object(_)), None) => [name, "removed".to_owned(), String::new()],
        (before, after) => {
            let text = |is_exact: bool| [before, after].map(|value| shown(value.as_ref(), unit, is_exact));
            let rounded = text(false);
            let [before, after] = if rounded[0] == rounded[1] { text(true) } else { rounded };
            [name, before, after]
        }
    }
}

/// A value with its unit.
fn shown(value: Option<&Value>, unit: Option<Unit>, is_exact: bool) -> String {
    const MAX_CHARS: usize = 60;
    let text = match value {
        None => return "-".to_owned(),
        Some(Value::Null) => return "none".to_owned(),
        Some(Value::String(text)) => return text.clone(),
        Some(Value::Number(number)) => match unit {
            Some(unit) => return with_unit(number, unit, is_exact),
            None => number.to_string(),
        },
        Some(Value::Array(items)) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
            items.iter().map(|item| shown(Some(item), unit, is_exact)).collect::<Vec<_>>().join(", ")
        }
        Some(value) => value.to_string(),
    };
    if text.chars().count() <= MAX_CHARS || is_exact {
        return text;
    }
    text.chars().take(MAX_CHARS - 3).chain("...".chars()).collect()
}

/// Returns a number with its unit: exactly, or rounded to four digits.
fn with_unit(number: &Number, unit: Unit, is_exact: bool) -> String {
    const DIGITS: i32 = 4;
    let (factor, smallest) = match unit {
        Unit::Nanos(factor) => (factor, "ns"),
        Unit::Rate => (1.0, "bit/s"),
        Unit::Bytes(factor) => (factor, "B"),
    };
    let whole = |value: f64| match unit {
        Unit::Nanos(_) => format!("{:#}", Time::from_nanos(value as u64)),
        Unit::Rate => format!("{:#}", Rate::from_bits_per_second(value as u64)),
        Unit::Bytes(_) => format!("{:#}", Bytes::new(value as u64)),
    };
    let Some(value) = number.as_f64().map(|value| value * factor) else { return number.to_string() };
    let before_point = if value >= 1.0 { value.log10().floor() as i32 + 1 } else { 0 };
    if !is_exact && before_point >= DIGITS {
        let step = 10f64.powi(before_point - DIGITS);
        return whole((value / step).round() * step);
    }
    if value >= 0.0 && value.fract() == 0.0 {
        return whole(value);
    }
    if is_exact {
        return format!("{value} {smallest}");
    }
    let decimals = usize::try_from(DIGITS - before_point).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    format!("{} {smallest}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(requests: Value) -> (DiffInput, Value) {
        (
            DiffInput::Plan,
            json!({ "wayleave": "0.1.0", "requests": requests, "queues": [{ "link": "a->b", "queue": 0, "delay_ns": 5 }] }),
        )
    }

    fn text(difference: &DocumentDiff) -> String {
        let mut text = Vec::new();
        difference.write_text(&mut text, TableLayout::default().with_width(None), 40).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_document_does_not_differ_from_itself_nor_by_its_generator() {
        let one = plan(json!([{ "name": "a", "decision": "admitted", "bound_ns": 1000 }]));
        let mut other = one.clone();
        other.1["wayleave"] = json!("0.2.0");
        let difference = diff_values(one, other).unwrap();
        assert!(difference.is_none());
        assert_eq!(text(&difference), "no differences\n");
    }

    #[test]
    fn contracts_are_matched_by_name_and_values_have_units() {
        let before = plan(
            json!([{ "name": "a", "decision": "admitted", "bound_ns": 1000 }, { "name": "b", "decision": "admitted" }]),
        );
        let after = plan(json!([
            { "name": "c", "decision": "admitted" },
            { "name": "b", "decision": "refused", "reason": "no" },
            { "name": "a", "decision": "admitted", "bound_ns": 2000 },
        ]));
        let difference = diff_values(before, after).unwrap();
        assert_eq!(
            (&difference.newly_admitted[..], &difference.no_longer_admitted[..]),
            (&["c".to_owned()][..], &["b".to_owned()][..])
        );
        let changes: Vec<(&str, &str)> =
            difference.changes.iter().map(|change| (change.of.as_str(), change.what.as_str())).collect();
        assert_eq!(
            changes,
            [("requests a", "bound_ns"), ("requests b", "decision"), ("requests b", "reason"), ("requests c", "")]
        );
        let text = text(&difference);
        assert!(text.contains("1 us") && text.contains("2 us") && text.ends_with("4 differences\n"), "{text}");
    }

    /// Every suffix of a name has a unit, also in lists, in members of distributions and with fractions; what is no quantity stays as it is.
    #[test]
    fn values_are_shown_in_readable_units() {
        let row =
            |what: &str, before: Value, after: Value| cells(&change("requests a", what, Some(&before), Some(&after)));
        let rows = [
            row("deadline_ns", json!(2_000_000), json!(10_000_000)),
            row("min_bps", json!(1_500_000_000), json!(10_000_000)),
            row("reserved.burst_bytes", json!(64_000), json!(3006.248)),
            row("delay_ns", json!(7685.751), json!(0.25)),
            row("burst_nanobits", json!(39_000_000_000_000_u64), json!(8_000_000_000_u64)),
            row("waited_us", json!(1.5), json!(2_000)),
            row("delay_ps.mean", json!(1_500_000), json!(999)),
            row("delay_ps.count", json!(3), json!(4)),
            row("budgets_ns", json!([1_000, 2_000]), Value::Null),
            row("members", json!(["h1", "h2"]), json!(["h1"])),
            row("backlog_bytes", json!(3006.2481), json!(3006.2482)),
            row("certainty", json!("proven"), json!("measured")),
        ];
        let rows: Vec<String> = rows.iter().map(|row| row.join(" | ")).collect();
        assert_eq!(
            rows,
            [
                "deadline | 2 ms | 10 ms",
                "min | 1.5 Gbit/s | 10 Mbit/s",
                "reserved.burst | 64 kB | 3.006 kB",
                "delay | 7.686 us | 0.25 ns",
                "burst | 4.875 kB | 1 B",
                "waited | 1.5 us | 2 ms",
                "delay.mean | 1.5 us | 0.999 ns",
                "delay.count | 3 | 4",
                "budgets | 1 us, 2 us | none",
                "members | h1, h2 | h1",
                "backlog | 3006.2481 B | 3006.2482 B",
                "certainty | proven | measured",
            ]
        );
        let item = json!({ "name": "a" });
        assert_eq!(cells(&change("requests a", "", None, Some(&item))), ["", "", "added"]);
        assert_eq!(cells(&change("requests a", "", Some(&item), None)), ["", "removed", ""]);
    }

    #[test]
    fn runs_are_matched_by_parameters_and_seed() {
        let run = |load: &str, seed: u64, events: u64| json!({ "parameters": [{ "path": "load", "value": load }], "seed": seed, "events": events });
        let sweep = |runs: Value| (DiffInput::Sweep, json!({ "runs": runs }));
        let before = sweep(json!([run("0.2", 1, 10), run("0.2", 2, 20), run("0.8", 1, 30)]));
        let after = sweep(json!([run("0.8", 1, 31), run("0.2", 2, 20)]));
        let difference = diff_values(before, after).unwrap();
        let changes: Vec<String> =
            difference.changes.iter().map(|change| format!("{} {}", change.of, change.what)).collect();
        assert_eq!(changes, ["runs load=0.2 seed=1 ", "runs load=0.8 seed=1 events"]);
    }

    #[test]
    fn a_plan_and_a_run_are_not_compared() {
        let run = (DiffInput::Run, json!({ "traffic": [] }));
        let error = diff_values(plan(json!([])), run).unwrap_err();
        assert_eq!(error.to_string(), "the first is a plan and the second a run: diff compares two of the same kind");
    }
}
