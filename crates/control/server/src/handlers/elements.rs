//! `/v1/links/{link}/state` and `/v1/nodes/{node}/state`: failures and recoveries of elements, as declared by
//! clients.

use std::sync::Arc;

use wayleave_controller::{Command, Controller, ElementName, Id, Reply};
use wayleave_protocol::network::{ElementState, StateChangeResult, UpDown};
use wayleave_units::is_plain;

use crate::answer::{HttpReply, Outcome, fault, invalid};
use crate::handlers::change::{Handle, change};
use crate::http::call::AuthorizedRequest;
use crate::state::Shared;

pub(crate) async fn link(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    shared.link(call.name())?;
    let element = ElementName::Link(call.name().to_owned());
    set(&shared, &call, element).await
}

pub(crate) async fn node(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    shared.node(call.name())?;
    let element = ElementName::Node(call.name().to_owned());
    set(&shared, &call, element).await
}

async fn set(shared: &Arc<Shared>, call: &AuthorizedRequest, element: ElementName) -> Outcome {
    let ElementState { state, reason } = call.json()?;
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > 500) {
        return Err(invalid("reason", "expected at most 500 characters"));
    }
    // It is shown in terminals and in logs.
    if reason.as_ref().is_some_and(|reason| !is_plain(reason)) {
        return Err(invalid("reason", "control, bidirectional and invisible characters are not allowed"));
    }
    let down = match state {
        UpDown::Down => Some(reason.unwrap_or_else(|| "reported down".to_owned())),
        UpDown::Up => None,
    };
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let reply = handle(controller, Command::SetElement { element, down }).map_err(fault)?;
        let Reply::Changed { rerouted, degraded, restored } = reply else {
            return Ok(HttpReply::json(200, &StateChangeResult::default()));
        };
        let texts = |ids: Vec<Id>| ids.iter().map(ToString::to_string).collect();
        let (rerouted, degraded, restored) = (texts(rerouted), texts(degraded), texts(restored));
        Ok(HttpReply::json(200, &StateChangeResult { rerouted, degraded, restored }))
    };
    change(shared, call, run).await
}
