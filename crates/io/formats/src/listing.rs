//! Lists of contracts as `get contracts -o json` prints them, and as the REST interface lists them.

use serde_json::{Map, Value};

use crate::contracts::read_written;
use crate::document::API_VERSION;
use crate::problem::{InputErrors, Problem};
use crate::source::Source;

/// A list of contracts from a controller.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Terms of each contract, without the fields that only the server writes.
    pub contracts: Vec<Map<String, Value>>,
    /// Identities of released contracts: applied again, they would be created again.
    pub released: Vec<String>,
}

/// Keys of a list beside its items, which the server writes.
const OF_LIST: [&str; 1] = ["next"];

/// State of a released contract.
const RELEASED: &str = "released";

/// Line of the first contract in a document that [`Listing::document`] returns.
pub const FIRST_LINE: usize = 2;

impl Listing {
    /// Returns a document of kind Contracts in JSON, with each contract on a line of its own.
    pub fn document(&self) -> String {
        document(self.contracts.iter().map(|contract| Value::Object(contract.clone()).to_string()))
    }

    /// Returns `tenant:name` of a contract.
    pub fn id(&self, contract: usize) -> Option<String> {
        self.contracts.get(contract).map(identity)
    }
}

/// Returns a document of kind Contracts in JSON from contracts in JSON, with each contract on a line of its own.
pub fn document(contracts: impl IntoIterator<Item = String>) -> String {
    let head = format!(r#"{{"apiVersion":"{API_VERSION}","kind":"Contracts","spec":{{"contracts":["#);
    format!("{head}\n{}\n]}}}}\n", contracts.into_iter().collect::<Vec<_>>().join(",\n"))
}

/// Reads a list with `items`, or a single contract with `id` and `status`. Returns `None` if the text is neither.
///
/// The server writes `id` and `status`. The identity is compared with tenant and name. The status marks released
/// contracts and is otherwise ignored. Every other key is one of a contract, or an error.
pub fn read_listing(source: &Source) -> Option<Result<Listing, InputErrors>> {
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
                let message =
                    format!("unknown key {key:?} beside `items`: expected a list as `get contracts -o json` prints it");
                return Some(Err(located(source, &format!("\"{key}\""), &message).into()));
            }
            items
        }
        None if document.contains_key("id") && document.contains_key("status") => vec![Value::Object(document)],
        _ => return None,
    };
    let listing = items.into_iter().try_fold(Listing::default(), |listing, item| add(listing, item, source));
    Some(listing.and_then(|listing| checked(listing, source)))
}

/// Returns the listing if its contracts have only keys and kinds that contracts have.
fn checked(listing: Listing, source: &Source) -> Result<Listing, InputErrors> {
    let Err(errors) = read_written(&Source::new(source.name(), listing.document())) else { return Ok(listing) };
    // An empty listing is no error here.
    let Some((problem, line)) = errors.problems().first().and_then(|problem| Some((problem, problem.location()?.line)))
    else {
        return Ok(listing);
    };
    let Some(id) = line.checked_sub(FIRST_LINE).and_then(|contract| listing.id(contract)) else { return Ok(listing) };
    Err(located(source, &format!("\"{id}\""), &format!("contract {id}: {}", problem.message())).into())
}

/// Returns a document of the contracts of a listing, and any other source as it is.
///
/// # Errors
/// If a listing has keys that the server does not write.
pub fn listing_as_document(source: Source) -> Result<Source, InputErrors> {
    let Some(listing) = read_listing(&source) else { return Ok(source) };
    Ok(Source::new(&format!("{} (as a document)", source.name()), listing?.document()))
}

fn add(mut listing: Listing, item: Value, source: &Source) -> Result<Listing, InputErrors> {
    const EXPECTED: &str = "a contract as `get contracts -o json` prints it is expected, with `id` and `status`";
    let Value::Object(mut item) = item else { return Err(located(source, "\"items\"", EXPECTED).into()) };
    let (Some(Value::String(id)), Some(status)) = (item.remove("id"), item.remove("status")) else {
        return Err(located(source, &name_of(&item), EXPECTED).into());
    };
    let own = identity(&item);
    if own != id {
        let message = format!("the identity {id} differs from tenant and name, {own}: write both alike");
        return Err(located(source, &format!("\"{id}\""), &message).into());
    }
    if status.get("state").is_some_and(|state| state == RELEASED) {
        listing.released.push(id);
    } else {
        listing.contracts.push(item);
    }
    Ok(listing)
}

fn identity(contract: &Map<String, Value>) -> String {
    ["tenant", "name"].map(|key| contract.get(key).and_then(Value::as_str).unwrap_or_default()).join(":")
}

fn name_of(item: &Map<String, Value>) -> String {
    item.get("name").map_or_else(|| "\"items\"".to_owned(), Value::to_string)
}

/// Returns an error at the first occurrence of a text in the source.
pub fn located(source: &Source, text: &str, message: &str) -> Problem {
    let before = source.text().find(text).map_or("", |at| &source.text()[..at]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    source.finding_at(line, column, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(text: &str) -> Option<Result<Listing, InputErrors>> {
        read_listing(&Source::new("c.json", text))
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
        assert_eq!((list.contracts.len(), &list.released[..]), (1, &["t:b".to_owned()][..]));
        assert_eq!(list.contracts[0]["bestEffort"]["members"], serde_json::json!(["h1", "h2"]));
        assert_eq!(listing(&kept).unwrap().unwrap().contracts, list.contracts);
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
        assert!(unknown.starts_with("c.json:2:11: contract t:a: unknown key \"note\""), "{unknown}");
        let other = refused(&format!(r#"{{ {}, "status": {{}} }}"#, A.replace("t:a", "t:b")));
        assert!(other.starts_with("c.json:1:9: the identity t:b differs from tenant and name, t:a"), "{other}");
        let beside = refused(r#"{ "items": [], "metadata": {} }"#);
        assert!(beside.starts_with("c.json:1:16: unknown key \"metadata\" beside `items`"), "{beside}");
        let vms = refused(r#"{ "items": [{ "id": "t:v", "name": "v", "host": "h1" }] }"#);
        assert!(vms.contains("a contract as `get contracts -o json` prints it is expected"), "{vms}");
        assert!(refused(r#"{ "items": [3] }"#).contains("is expected"));
    }
}
