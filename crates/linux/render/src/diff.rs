//! Changes by a configuration: against one that was rendered before, or against a device's own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use wayleave_units::{Bytes, Rate};

use crate::sonic::PREFIX;
use crate::{RenderedPort, Target};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigDifference {
    /// It comes.
    Added(String),
    /// It goes.
    Removed(String),
    /// A value becomes another one.
    Changed {
        /// Key of the value.
        key: String,
        /// Old value.
        from: String,
        /// New value.
        to: String,
    },
}

impl fmt::Display for ConfigDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(what) => write!(f, "+ {what}"),
            Self::Removed(what) => write!(f, "- {what}"),
            Self::Changed { key, from, to } => write!(f, "~ {key}: {from} -> {to}"),
        }
    }
}

/// Returns the changes from `old` to `new`. For SONiC, `old` may be the whole `config_db.json` of a device: entries
/// of others stay, so they are not differences, and a table that both write to is compared key by key.
///
/// # Errors
/// If either text is not a JSON object where it has to be.
pub fn changes(target: Target, old: &str, new: &str) -> Result<Vec<ConfigDifference>, String> {
    match target {
        Target::Tc => Ok(lines(old, new)),
        Target::Sonic => {
            let (Flat { values: old, ranges }, new) = (flat(old)?, flat(new)?.values);
            let written: BTreeSet<(&str, &str)> =
                new.keys().map(|key| (key.table.as_str(), key.entry.as_str())).collect();
            let overlaps = ranges.iter().filter(|range| {
                let single = expanded(&range.table, &range.entry);
                single.iter().any(|entry| written.contains(&(range.table.as_str(), entry.as_str())))
            });
            let mut changes = values(&old, &new);
            changes.extend(overlaps.map(|Range { table, entry }| {
                ConfigDifference::Removed(format!("{table}|{entry}: it overlaps entries of this configuration; write one entry for each port and queue"))
            }));
            Ok(changes)
        }
    }
}

/// A port of a device that is not as the topology has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortDifference {
    /// The link that leaves the port.
    pub link: String,
    /// The interface.
    pub interface: String,
    /// The difference.
    pub what: PortMismatch,
}

/// A difference at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortMismatch {
    /// The device has no such port.
    Missing,
    /// Its rate.
    Rate {
        /// `speed` of the device, in Mbit/s.
        device: String,
        /// Of the topology.
        topology: Rate,
    },
    /// Its MTU.
    Mtu {
        /// Of the device.
        device: String,
        /// Of the topology.
        topology: Bytes,
    },
}

impl fmt::Display for PortDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, interface, what } = self;
        write!(f, "PORT|{interface} ({link}): ")?;
        match what {
            PortMismatch::Missing => f.write_str("no such port on the device"),
            PortMismatch::Rate { device, topology } => {
                write!(f, "speed {device} (Mbit/s), but the rate in the topology is {topology}")
            }
            PortMismatch::Mtu { device, topology } => {
                write!(f, "mtu {device}, but the MTU in the topology is {} B", topology.get())
            }
        }
    }
}

/// The MTU of a port that names none, as the importer of containerlab's files has it.
const DEFAULT_MTU: &str = "9100";

/// Compares the table `PORT` of a device with the ports of the topology; a configuration without the table has no
/// differences. The table is never written.
///
/// # Errors
/// If `old` is no JSON object.
pub fn port_differences(target: Target, old: &str, ports: &[RenderedPort]) -> Result<Vec<PortDifference>, String> {
    if target != Target::Sonic {
        return Ok(Vec::new());
    }
    let device: Value = serde_json::from_str(old).map_err(|error| format!("is not valid JSON: {error}"))?;
    let Some(table) = device.get("PORT").and_then(Value::as_object) else { return Ok(Vec::new()) };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut all = Vec::new();
    for RenderedPort { link, interface, rate, mtu } in ports {
        let mut report = |what| all.push(PortDifference { link: link.clone(), interface: interface.clone(), what });
        let Some(port) = table.get(interface) else {
            report(PortMismatch::Missing);
            continue;
        };
        let device = port.get("speed").map(text);
        if let Some(device) = device.filter(|speed| speed.parse().ok().and_then(mbit) != Some(*rate)) {
            report(PortMismatch::Rate { device, topology: *rate });
        }
        let device = port.get("mtu").map_or_else(|| DEFAULT_MTU.to_owned(), text);
        if device.parse().ok() != Some(mtu.get()) {
            report(PortMismatch::Mtu { device, topology: *mtu });
        }
    }
    Ok(all)
}

fn mbit(speed: u64) -> Option<Rate> {
    Some(Rate::from_bits_per_second(speed.checked_mul(1_000_000)?))
}

fn lines(old: &str, new: &str) -> Vec<ConfigDifference> {
    let set = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (before, after) = (set(old), set(new));
    let gone = old.lines().filter(|&line| !after.contains(line)).map(|line| ConfigDifference::Removed(line.to_owned()));
    let come = new.lines().filter(|&line| !before.contains(line)).map(|line| ConfigDifference::Added(line.to_owned()));
    gone.chain(come).collect()
}

fn values(old: &BTreeMap<Key, String>, new: &BTreeMap<Key, String>) -> Vec<ConfigDifference> {
    // Values of our entries, or of entries that this configuration writes, that are no longer written.
    let entries: BTreeSet<_> = new.keys().map(|key| (&key.table, &key.entry)).collect();
    let tables: BTreeSet<_> = new.keys().map(|key| &key.table).collect();
    let is_ours = |key: &Key, value: &String| {
        key.entry.starts_with(PREFIX)
            || value.starts_with(PREFIX)
            || tables.contains(&key.table) && entries.contains(&(&key.table, &key.entry))
    };
    let gone = old.iter().filter(|(key, value)| is_ours(key, value) && !new.contains_key(key));
    let mut changes: Vec<ConfigDifference> =
        gone.map(|(key, value)| ConfigDifference::Removed(format!("{key} = {value}"))).collect();
    for (key, to) in new {
        match old.get(key) {
            None => changes.push(ConfigDifference::Added(format!("{key} = {to}"))),
            Some(from) if from != to => {
                changes.push(ConfigDifference::Changed { key: key.to_string(), from: from.clone(), to: to.clone() });
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

/// An entry for several ports or queues.
struct Range {
    table: String,
    entry: String,
}

/// Fields of all entries, each for one port and queue.
struct Flat {
    values: BTreeMap<Key, String>,
    /// Entries that were expanded.
    ranges: Vec<Range>,
}

/// Tables whose entries may list ports (`Ethernet0,Ethernet4`) and end with a range of queues (`3-4`); SONiC's `buffers_config.j2` and
/// `qos_config.j2` write them.
const RANGED: [&str; 4] = ["QUEUE", "BUFFER_QUEUE", "BUFFER_PG", "PORT_QOS_MAP"];

/// Expands an entry into entries of one port and queue each.
fn expanded(table: &str, entry: &str) -> Vec<String> {
    if !RANGED.contains(&table) {
        return vec![entry.to_owned()];
    }
    let (ports, queues) = match entry.split_once('|') {
        Some((ports, queues)) => (ports, Some(queues)),
        None => (entry, None),
    };
    let range = |queues: &str| {
        let (first, last) = queues.split_once('-')?;
        let (first, last) = (first.parse::<u8>().ok()?, last.parse::<u8>().ok()?);
        Some((first..=last).map(|queue| format!("|{queue}")).collect::<Vec<_>>())
    };
    let ends = match queues {
        Some(queues) => range(queues).unwrap_or_else(|| vec![format!("|{queues}")]),
        None => vec![String::new()],
    };
    ports.split(',').flat_map(|port| ends.iter().map(move |end| format!("{port}{end}"))).collect()
}

fn flat(text: &str) -> Result<Flat, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is not valid JSON: {error}"))?;
    let Value::Object(tables) = value else {
        return Err("is not an object of tables: expected a config_db.json".to_owned());
    };
    let (mut flat, mut ranges) = (BTreeMap::new(), Vec::new());
    for (table, entries) in tables {
        // Tables and entries of others may have any form.
        let Value::Object(entries) = entries else { continue };
        for (entry, fields) in entries {
            let Value::Object(fields) = fields else { continue };
            let single = expanded(&table, &entry);
            let is_range = single.as_slice() != [entry.clone()];
            if is_range {
                ranges.push(Range { table: table.clone(), entry });
            }
            for (field, value) in fields {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                for entry in &single {
                    let key = Key { table: table.clone(), entry: entry.clone(), field: field.clone() };
                    // An entry of one port and queue takes precedence over a range that includes it.
                    match is_range {
                        true => _ = flat.entry(key).or_insert_with(|| value.clone()),
                        false => _ = flat.insert(key, value.clone()),
                    }
                }
            }
        }
    }
    Ok(Flat { values: flat, ranges })
}
