//! Names that people mistype.

use wayleave_explain::sentences;

use super::{RequestError, Service};
use crate::failure::Failure;

/// What an object is called in the interface, to find the nearest name.
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

/// Where the objects of a sort are listed, and whether they are called by tenant and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// By tenant and name.
    OfTenants(&'static str),
    /// By name.
    OfAll(&'static str),
}

/// Adds the nearest name to what says that there is no such thing.
pub(crate) fn did_you_mean(service: &Service, trouble: RequestError, what: &str, name: &str, names: Names) -> Failure {
    if !trouble.is_not_found() {
        return trouble.into();
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
    /// More names than this are not looked at.
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
