//! Contracts as `get contracts -o json` prints them, and as the interface lists them.

use serde_json::{Map, Value};
use wayleave_formats::{API_VERSION, Source};
use wayleave_protocol::contract::{ContractSpec, State};

use crate::error::Error;

/// The contracts of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Terms of each of them.
    pub(crate) specs: Vec<ContractSpec>,
    /// Identities of those that are released: applied, they would be created again.
    pub(crate) released: Vec<String>,
}

/// Keys of a list beside its items, which the server writes.
const OF_LIST: [&str; 1] = ["next"];

/// Reads a list with `items`, or a single contract with `id` and `status`. Returns `None` if the text is neither.
///
/// The server writes `id` and `status`: the identity is compared with tenant and name, the status says what is released and is ignored otherwise. Every
/// other key is one of a contract, or an error.
pub(crate) fn read(source: &Source) -> Option<Result<Listing, Error>> {
    let text = source.text();
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let Ok(Value::Object(mut document)) = serde_json::from_str(text) else { return None };
    if document.contains_key("kind") || document.contains_key("apiVersion") {
        return None;
    }
    let items = match document.remove("items") {
        Some(Value::Array(items)) => {
            if let Some(key) = document.keys().find(|key| !OF_LIST.contains(&key.as_str())) {
                let message = format!(
                    "unknown key {key:?} beside `items`: a list as `get contracts -o json` prints it is expected"
                );
                return Some(Err(located(source, &format!("\"{key}\""), &message)));
            }
            items
        }
        None if document.contains_key("id") && document.contains_key("status") => vec![Value::Object(document)],
        _ => return None,
    };
    Some(items.into_iter().try_fold(Listing::default(), |listing, item| add(listing, item, source)))
}

/// The first contract of a document that [`lines`] has written is on this line.
pub(crate) const FIRST_LINE: usize = 2;

/// Returns a document of kind Contracts in JSON, with each contract on a line of its own.
pub(crate) fn lines(specs: &[ContractSpec]) -> Result<String, Error> {
    let lines = specs.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let head = format!(r#"{{"apiVersion":"{API_VERSION}","kind":"Contracts","spec":{{"contracts":["#);
    Ok(format!("{head}\n{}\n]}}}}\n", lines.join(",\n")))
}

/// Returns a document of the contracts of a listing, and any other source as it is.
pub(crate) fn as_document(source: Source) -> Result<Source, Error> {
    let Some(listing) = read(&source) else { return Ok(source) };
    Ok(Source::new(&format!("{} (as a document)", source.name()), lines(&listing?.specs)?))
}

fn add(mut listing: Listing, item: Value, source: &Source) -> Result<Listing, Error> {
    const EXPECTED: &str = "a contract as `get contracts -o json` prints it is expected, with `id` and `status`";
    let Value::Object(mut item) = item else { return Err(located(source, "\"items\"", EXPECTED)) };
    let (Some(Value::String(id)), Some(status)) = (item.remove("id"), item.remove("status")) else {
        return Err(located(source, &name_of(&item), EXPECTED));
    };
    let place = format!("\"{id}\"");
    let spec: ContractSpec = serde_json::from_value(Value::Object(item))
        .map_err(|error| located(source, &place, &format!("contract {id}: {error}")))?;
    let own = [spec.tenant.as_deref(), spec.name.as_deref()].map(Option::unwrap_or_default).join(":");
    if own != id {
        let message = format!("the identity {id} differs from tenant and name, {own}: write both alike");
        return Err(located(source, &place, &message));
    }
    let is_released = status.get("state").is_some_and(|state| state == State::Released.name());
    if is_released {
        listing.released.push(id)
    } else {
        listing.specs.push(spec)
    }
    Ok(listing)
}

fn name_of(item: &Map<String, Value>) -> String {
    item.get("name").map_or_else(|| "\"items\"".to_owned(), Value::to_string)
}

/// An error at the first place where a text stands in the source.
pub(crate) fn located(source: &Source, text: &str, message: &str) -> Error {
    let before = source.text().find(text).map_or("", |at| &source.text()[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Error::Located(source.finding_at(line, column, message).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(text: &str) -> Option<Result<Listing, Error>> {
        read(&Source::new("c.json", text))
    }

    fn refused(text: &str) -> String {
        listing(text).unwrap().unwrap_err().to_string()
    }

    const A: &str = r#""id": "t:a", "name": "a", "tenant": "t", "bestEffort": { "members": ["h1", "h2"] }"#;

    #[test]
    fn a_list_and_a_single_contract_are_read_and_released_ones_are_left_out() {
        let kept = format!(r#"{{ {A}, "status": {{ "state": "enforced" }} }}"#);
        let released = kept.replace("enforced", "released").replace("t:a", "t:b").replace(r#""a""#, r#""b""#);
        let list = listing(&format!(r#"{{ "items": [{kept}, {released}], "next": "t:b" }}"#)).unwrap().unwrap();
        assert_eq!((list.specs.len(), &list.released[..]), (1, &["t:b".to_owned()][..]));
        assert_eq!(list.specs[0].best_effort.as_ref().unwrap().members, ["h1", "h2"]);
        assert_eq!(listing(&kept).unwrap().unwrap().specs, list.specs);
        assert_eq!(listing(r#"{ "items": [] }"#).unwrap().unwrap(), Listing::default());
    }

    #[test]
    fn files_of_a_kind_and_yaml_are_no_listing() {
        for text in ["items: []", r#"{ "kind": "Contracts", "items": [] }"#, r#"{ "name": "a" }"#, "{ items: [] }"] {
            assert!(listing(text).is_none(), "{text}");
        }
    }

    /// Nothing is ignored but what the server writes.
    #[test]
    fn other_keys_and_identities_are_refused_at_their_place() {
        let unknown = refused(&format!("{{ \"items\": [\n  {{ {A}, \"status\": {{}}, \"note\": 1 }}\n] }}"));
        assert!(unknown.starts_with("c.json:2:11: contract t:a: unknown field `note`"), "{unknown}");
        let other = refused(&format!(r#"{{ {}, "status": {{}} }}"#, A.replace("t:a", "t:b")));
        assert!(other.starts_with("c.json:1:9: the identity t:b differs from tenant and name, t:a"), "{other}");
        let beside = refused(r#"{ "items": [], "metadata": {} }"#);
        assert!(beside.starts_with("c.json:1:16: unknown key \"metadata\" beside `items`"), "{beside}");
        let vms = refused(r#"{ "items": [{ "id": "t:v", "name": "v", "host": "h1" }] }"#);
        assert!(vms.contains("a contract as `get contracts -o json` prints it is expected"), "{vms}");
        assert!(refused(r#"{ "items": [3] }"#).contains("is expected"));
    }
}
