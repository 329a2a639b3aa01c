//! A policy of a file.

use crate::client::specs::Document;
use wayleave_client::Method;
use wayleave_formats::{Source, name_of};
use wayleave_protocol::policy::Policy;

use super::item::Item;
use super::tenants::{item, put_by};
use crate::client::{Service, encode};
use crate::failure::Failure;

/// Has it kept, if its minima fit.
pub(crate) fn apply(service: &Service, source: &Source, dry_run: bool) -> Result<Item, Failure> {
    let document = Document::of(source)?;
    let name = name_of(source);
    let path = format!("/v1/policies/{}", encode(&name));
    let query = if dry_run { "?dryRun=true" } else { "" };
    let became = put_by::<Policy>(
        service,
        &path,
        dry_run,
        |policy| policy.revision,
        || service.send_text(Method::Put, &format!("{path}{query}"), document.text()),
    );
    match became {
        // Errors in the file are reported with their position in it.
        Err(error) if error.problem().is_some_and(|problem| !problem.errors.is_empty()) => Err(document.locate(error)),
        became => item("policy", name, became).map_err(Failure::Usage),
    }
}
