//! Contracts that a controller has, as a file that can be applied again.

use serde_json::Value;
use wayleave_formats::API_VERSION;
use wayleave_protocol::contract::ContractSpec;

use crate::failure::Failure;

/// Writes a document of kind Contracts, with one contract on a line. Applied where they come from, it changes nothing.
pub(crate) fn write(specs: &[ContractSpec]) -> Result<String, Failure> {
    let mut text = format!("apiVersion: {API_VERSION}\nkind: Contracts\nspec:\n  contracts:");
    if specs.is_empty() {
        text += " []";
    }
    text.push('\n');
    for spec in specs {
        text += "    - ";
        push(&mut text, &serde_json::to_value(spec)?);
        text.push('\n');
    }
    Ok(text)
}

/// Keys that describe the type of a contract come first, in this order.
const FIRST: [&str; 11] =
    ["name", "tenant", "from", "to", "hose", "goal", "deadline", "members", "min", "weight", "rate"];

/// A value in the flow style of YAML.
fn push(text: &mut String, value: &Value) {
    match value {
        Value::Object(members) => {
            text.push_str("{ ");
            let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(key, _)| rank(key));
            for (number, (key, value)) in members.into_iter().enumerate() {
                if number > 0 {
                    text.push_str(", ");
                }
                push_key(text, key);
                text.push_str(": ");
                push(text, value);
            }
            text.push_str(" }");
        }
        Value::Array(items) => {
            text.push('[');
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    text.push_str(", ");
                }
                push(text, item);
            }
            text.push(']');
        }
        Value::String(word) if is_plain(word) => text.push_str(word),
        other => text.push_str(&other.to_string()),
    }
}

/// Appends a key; keys of labels are arbitrary user input.
fn push_key(text: &mut String, key: &str) {
    let is_word = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte));
    if is_word { text.push_str(key) } else { text.push_str(&Value::from(key).to_string()) }
}

/// Returns `true` for a text that reads as itself without quotes: a word that begins with a letter, or with a digit and has a unit, and is no number, truth value or nothing.
fn is_plain(word: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_special = ["true", "false", "null", "yes", "no", "on", "off", "nan", "inf"];
    word.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && word.bytes().all(is_inner)
        && !is_special.contains(&word.to_ascii_lowercase().as_str())
        && (word.bytes().any(|byte| byte.is_ascii_alphabetic()) && word.parse::<f64>().is_err())
        && !word.to_ascii_lowercase().starts_with("0x")
        && !word.to_ascii_lowercase().starts_with("0o")
}

#[cfg(test)]
mod tests {
    use wayleave_formats::Source;

    use super::*;
    use crate::client::specs::read as read_specs;

    /// Names that would be numbers, truth values or nothing, and texts with signs, are the same when they are read.
    #[test]
    fn a_written_file_is_read_back_unchanged() {
        let names = [
            "a",
            "1",
            "1e5",
            "0x1F",
            "0o7",
            "true",
            "No",
            "null",
            "~",
            "a.b_c-d",
            "1-2",
            "2026-11-27",
            "-",
            "1_000",
            "0b1",
            ".5",
            "12:30",
        ];
        let spec = |name: &&str| ContractSpec {
            name: Some((*name).to_owned()),
            tenant: Some((*name).to_owned()),
            from: Some("h: {1}".to_owned()),
            to: Some("h \"2\" # no".to_owned()),
            rate: Some("10Mbit".to_owned()),
            burst: Some("3kB".to_owned()),
            deadline: Some("1ms".to_owned()),
            route: Some(vec!["h1->s1:0".to_owned(), "s1->h2:0".to_owned()]),
            starts: Some("2026-11-27T00:00:00Z".to_owned()),
            priority: Some(7),
            ..ContractSpec::default()
        };
        let specs: Vec<ContractSpec> = names.iter().map(spec).collect();
        let text = write(&specs).unwrap();
        assert_eq!(read_specs(&Source::new("written.yaml", text.as_str())).unwrap(), specs, "{text}");
        assert!(write(&[]).unwrap().ends_with("  contracts: []\n"));
    }
}
