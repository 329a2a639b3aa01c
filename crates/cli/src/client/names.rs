//! Names that people mistype.

use wayleave_explain::sentences;

use super::{RequestError, Service};
use crate::failure::Failure;

/// Name of an object in the interface, for the search for the nearest name.
#[derive(serde::Deserialize)]
struct Named {
    #[serde(alias = "id")]
    name: String,
}

/// The identity of contracts and VMs.
#[derive(serde::Deserialize)]
struct Identified {
    id: String,
}

/// Path of the list of objects of a sort, and the form of their names: by tenant and name, or by name only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// By tenant and name.
    OfTenants(&'static str),
    /// By name.
    OfAll(&'static str),
}

/// Adds the nearest name to an error about an unknown object.
pub(crate) fn did_you_mean(service: &Service, error: RequestError, what: &str, name: &str, names: Names) -> Failure {
    if !error.is_not_found() {
        return error.into();
    }
    let near = known(service, names).and_then(|known| {
        let wanted = service.id(name);
        let known: Vec<&str> = known.iter().map(|name| name.strip_prefix("default:").unwrap_or(name)).collect();
        let near = sentences::nearest(wanted.strip_prefix("default:").unwrap_or(&wanted), known.iter().copied());
        near.map(str::to_owned)
    });
    let near = near.map_or_else(String::new, |near| format!(", did you mean {near}?"));
    Failure::Usage(format!("no {what} {name}, or you have no access to it{near}"))
}

/// All names, unless they cannot be had: the first message counts then.
fn known(service: &Service, names: Names) -> Option<Vec<String>> {
    /// Maximum number of names that are inspected.
    const MAX: usize = 10_000;
    match names {
        Names::OfTenants(path) => {
            let list: Vec<Identified> = service.list(path, &[], MAX).ok()?;
            Some(list.into_iter().map(|object| object.id).collect())
        }
        Names::OfAll(path) => {
            let list: Vec<Named> = service.list(path, &[], MAX).ok()?;
            Some(list.into_iter().map(|object| object.name).collect())
        }
    }
}
