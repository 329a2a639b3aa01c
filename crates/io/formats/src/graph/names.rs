//! Names of nodes: their labels, made valid and unique.

use std::collections::HashMap;

use wayleave_units::{is_deceptive, is_plain};

use super::remark::Remark;
use crate::messages::quoted;

/// Maximum number of renamings that a remark lists.
const LISTED: usize = 8;

/// Gives out names, each once.
#[derive(Default)]
pub(super) struct Names {
    /// Every name that was given, and the number to try for the next one of the same name.
    taken: HashMap<String, u64>,
    changed: Vec<(String, String)>,
    more: usize,
}

impl Names {
    /// Returns the name itself if it is valid in a network and free, otherwise the nearest free one.
    pub(super) fn give(&mut self, wanted: &str, id: &str) -> String {
        let mut name = valid(wanted);
        if name.is_empty() {
            name = valid(&format!("n{id}"));
        }
        let name = self.free(name);
        if name != wanted && self.changed.len() < LISTED {
            self.changed.push((quoted(wanted), quoted(&name)));
        } else if name != wanted {
            self.more += 1;
        }
        name
    }

    /// Returns a free name.
    pub(super) fn free(&mut self, name: String) -> String {
        let Some(next) = self.taken.get(&name) else {
            self.taken.insert(name.clone(), 2);
            return name;
        };
        let mut number = *next;
        let free = loop {
            let candidate = format!("{name}-{number}");
            number += 1;
            if !self.taken.contains_key(&candidate) {
                break candidate;
            }
        };
        self.taken.insert(name, number);
        self.taken.insert(free.clone(), 2);
        free
    }

    /// Returns a remark about the changed names.
    pub(super) fn remark(&self) -> Option<Remark> {
        if self.changed.is_empty() {
            return None;
        }
        let changes: Vec<String> = self.changed.iter().map(|(from, to)| format!("{from} is now {to}")).collect();
        let more = if self.more > 0 { format!(", and {} more", self.more) } else { String::new() };
        let why = "names are unique, without \"->\" and \"#\"";
        Some(Remark::Assumed(format!("nodes were renamed ({why}): {}{more}", changes.join(", "))))
    }
}

/// Without what the name of a node cannot contain; perhaps empty.
fn valid(name: &str) -> String {
    let is_valid = !name.contains("->") && !name.contains('#') && is_plain(name);
    if is_valid {
        return name.to_owned();
    }
    let words = name.split(|c: char| is_deceptive(c) || c.is_whitespace()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").replace("->", "_").replace('#', "_")
}

/// The name of a file as that of its network: `plant.clab` is `plant`.
pub(super) fn of_file(stem: &str) -> String {
    stem.strip_suffix(".clab").unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_valid_and_unique() {
        let mut names = Names::default();
        let given = ["Oslo", "Oslo", "Oslo-2", "a->b#1", "", "two\nlines", "Oslo"].map(|name| names.give(name, "7"));
        assert_eq!(given, ["Oslo", "Oslo-2", "Oslo-2-2", "a_b_1", "n7", "two lines", "Oslo-3"]);
        let remark = names.remark().unwrap().to_string();
        assert!(remark.contains(r#""Oslo" is now "Oslo-2""#), "{remark}");
        assert!(Names::default().remark().is_none());
    }
}
