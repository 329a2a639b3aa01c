//! `/v1/alerts`: alerts that fire. They are about the operation of the network, so tenants have no access.

use std::sync::Arc;

use crate::answer::{HttpReply, Outcome};
use crate::http::call::AuthorizedRequest;
use crate::state::Shared;

pub(crate) fn list(shared: &Arc<Shared>, _call: &AuthorizedRequest) -> Outcome {
    Ok(HttpReply::json(200, &shared.alerts_now()))
}
