//! `/v1/audit`.

use std::sync::Arc;

use crate::answer::Outcome;
use crate::http::call::AuthorizedRequest;
use crate::http::page::Page;
use crate::log::Entry;
use crate::state::Shared;

pub(crate) fn list(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let (before, only) = (page.after_number()?.unwrap_or(u64::MAX), call.only_tenant());
    let (who, object) = (call.query.text("who"), call.query.text("object"));
    let is_asked = |entry: &&Arc<Entry>| {
        who.is_none_or(|who| entry.who == who) && object.is_none_or(|object| entry.object == object)
    };
    let tables = shared.view.read();
    let shown = tables.audit.before(only, before).filter(is_asked);
    Ok(page.of(shown.map(|entry| (entry.number_for(only), entry.json(only)))))
}
