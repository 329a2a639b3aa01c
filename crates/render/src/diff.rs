//! What a configuration would change: against one that was rendered before, or against a device's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::Target;
use crate::sonic::PREFIX;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It comes.
    Added(String),
    /// It goes.
    Removed(String),
    /// A value becomes another one.
    Changed {
        /// Which.
        key: String,
        /// What it is.
        from: String,
        /// What it becomes.
        to: String,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(what) => write!(f, "+ {what}"),
            Self::Removed(what) => write!(f, "- {what}"),
            Self::Changed { key, from, to } => write!(f, "~ {key}: {from} -> {to}"),
        }
    }
}

/// What `new` changes of `old`. For SONiC, `old` may be the whole `config_db.json` of a device: entries of others stay, so they are not
/// differences, and a table that both write to is compared key by key.
///
/// # Errors
/// If one of both is no JSON object where it has to be.
pub fn changes(target: Target, old: &str, new: &str) -> Result<Vec<Change>, String> {
    match target {
        Target::Tc => Ok(lines(old, new)),
        Target::Sonic => {
            let (old, new) = (flat(old)?, flat(new)?);
            Ok(values(&old, &new))
        }
    }
}

fn lines(old: &str, new: &str) -> Vec<Change> {
    let set = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (before, after) = (set(old), set(new));
    let gone = old.lines().filter(|&line| !after.contains(line)).map(|line| Change::Removed(line.to_owned()));
    let come = new.lines().filter(|&line| !before.contains(line)).map(|line| Change::Added(line.to_owned()));
    gone.chain(come).collect()
}

fn values(old: &BTreeMap<Key, String>, new: &BTreeMap<Key, String>) -> Vec<Change> {
    // What stood in an entry that is ours, or in one that this configuration writes, and is not written any more.
    let entries: BTreeSet<_> = new.keys().map(|key| (&key.table, &key.entry)).collect();
    let tables: BTreeSet<_> = new.keys().map(|key| &key.table).collect();
    let is_ours = |key: &Key, value: &String| {
        key.entry.starts_with(PREFIX)
            || value.starts_with(PREFIX)
            || tables.contains(&key.table) && entries.contains(&(&key.table, &key.entry))
    };
    let gone = old.iter().filter(|(key, value)| is_ours(key, value) && !new.contains_key(key));
    let mut changes: Vec<Change> = gone.map(|(key, value)| Change::Removed(format!("{key} = {value}"))).collect();
    for (key, to) in new {
        match old.get(key) {
            None => changes.push(Change::Added(format!("{key} = {to}"))),
            Some(from) if from != to => {
                changes.push(Change::Changed { key: key.to_string(), from: from.clone(), to: to.clone() });
            }
            Some(_) => {}
        }
    }
    changes
}

/// A field of an entry of a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    table: String,
    entry: String,
    field: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{} {}", self.table, self.entry, self.field)
    }
}

fn flat(text: &str) -> Result<BTreeMap<Key, String>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
    let Value::Object(tables) = value else { return Err("is no object of tables, as config_db.json is".to_owned()) };
    let mut flat = BTreeMap::new();
    for (table, entries) in tables {
        // Tables and entries of others may be whatever they like.
        let Value::Object(entries) = entries else { continue };
        for (entry, fields) in entries {
            let Value::Object(fields) = fields else { continue };
            for (field, value) in fields {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                flat.insert(Key { table: table.clone(), entry: entry.clone(), field }, value);
            }
        }
    }
    Ok(flat)
}
