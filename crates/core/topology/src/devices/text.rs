//! Scenarios as options and files write them: `entries=17,match=five-tuple+all,packet=306B`.

use std::fmt;
use std::str::FromStr;

use super::{Action, MatchType, PacketScenario, Priorities, UsedEntry};

/// The dimensions, in the order of a table's columns.
const DIMENSIONS: [&str; 6] = ["entries", "match", "action", "used", "priorities", "packet"];

/// `proof-of-concept`, `whole`, or values of some dimensions; a dimension that is not named has all its values.
///
/// ```
/// use wayleave_topology::devices::PacketScenario;
/// let scenario: PacketScenario = "entries=17,match=five-tuple+all,packet=306B".parse()?;
/// assert_eq!(scenario.cases().count(), 2 * 8 * 2 * 2);
/// assert!("match=five".parse::<PacketScenario>().unwrap_err().contains("five-tuple"));
/// # Ok::<(), String>(())
/// ```
impl FromStr for PacketScenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "whole" => return Ok(PacketScenario::whole()),
            "proof-of-concept" => return Ok(PacketScenario::proof_of_concept()),
            _ => {}
        }
        let mut scenario = PacketScenario::whole();
        for part in text.split(',') {
            let Some((name, values)) = part.split_once('=') else {
                let expected = "proof-of-concept, whole, or DIMENSION=VALUE+VALUE,... is expected";
                return Err(format!("{} is not a key of a scenario: {expected}", Quoted(part)));
            };
            match name {
                "entries" => {
                    scenario.entries =
                        several(name, values, |text| text.parse().ok().filter(|&count| count > 0), &["17"])?
                }
                "match" => scenario.match_types = several(name, values, MatchType::from_word, MatchType::WORDS)?,
                "action" => scenario.actions = several(name, values, Action::from_word, Action::WORDS)?,
                "used" => scenario.used = several(name, values, UsedEntry::from_word, UsedEntry::WORDS)?,
                "priorities" => scenario.priorities = several(name, values, Priorities::from_word, Priorities::WORDS)?,
                "packet" => scenario.packets = several(name, values, |text| text.parse().ok(), &["306B"])?,
                _ => {
                    return Err(format!("{} is not a dimension: expected {}", Quoted(name), one_of(&DIMENSIONS)));
                }
            }
        }
        Ok(scenario)
    }
}

fn several<T>(name: &str, values: &str, read: impl Fn(&str) -> Option<T>, words: &[&str]) -> Result<Vec<T>, String> {
    let one = |text: &str| {
        let expected = if words.len() == 1 { format!("a value such as {}", words[0]) } else { one_of(words) };
        read(text).ok_or_else(|| format!("{name} is {}: expected {expected}", Quoted(text)))
    };
    values.split('+').map(one).collect()
}

/// `a, b or c`.
fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

/// A text in a message: its first characters, with nothing that a terminal would act upon.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 40;
        let shown: String = self.0.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        write!(f, "\"{shown}{}\"", if self.0.chars().nth(SHOWN).is_some() { "…" } else { "" })
    }
}
