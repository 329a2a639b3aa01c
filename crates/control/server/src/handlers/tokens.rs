//! `/v1/tokens`.

use std::sync::Arc;

use wayleave_controller::{self as controller, Command, Controller};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_protocol::tenant::{NewToken, Role, TokenSpec};
use wayleave_units::{WallTime, is_plain};

use crate::answer::{HttpReply, Outcome, fault, invalid, problem};
use crate::certificate_name::unmatched;
use crate::clock::wall;
use crate::handlers::change::{Handle, change, done};
use crate::http::call::AuthorizedRequest;
use crate::http::peer;
use crate::render;
use crate::secret::{self, Secret, hex};
use crate::state::Shared;

/// The longest name of a certificate: that of an address (URI) which begins with a host of 253 characters.
const LONGEST_NAME: usize = 512;

pub(crate) async fn create(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    if call.headers.contains_key("idempotency-key") {
        // The answer would have to be kept on disk, and with it the secret.
        let detail =
            "not accepted for tokens, because a secret is shown only once; if the response was lost, delete the token";
        return Err(invalid("Idempotency-Key", detail));
    }
    let spec: TokenSpec = call.json()?;
    let role = role(&spec)?;
    if spec.label.chars().count() > 200 || !is_plain(&spec.label) {
        return Err(invalid(
            "label",
            "expected at most 200 characters, without control, bidirectional or invisible ones",
        ));
    }
    let expires = spec.expires.as_deref().map(str::parse::<WallTime>).transpose();
    let expires = expires.map_err(|error| invalid("expires", error.to_string()))?;
    if expires.is_some_and(|expires| expires <= wall()) {
        return Err(invalid("expires", "expected a time in the future"));
    }
    let random = |_| problem(Code::Unavailable, "no random numbers from the operating system");
    let id = secret::token_name().map_err(random)?;
    let certificate = spec.certificate.as_deref().map(certificate).transpose()?;
    // A certificate is a secret of its own.
    let secret = if certificate.is_none() { Some(Secret::new().map_err(random)?) } else { None };
    let by_name = certificate.as_ref().map(|name| hex(&peer::hash(name)));
    let Some(hash) = secret.as_ref().map(Secret::hash_text).or(by_name) else {
        return Err(problem(Code::Internal, "a token needs a secret or a certificate"));
    };
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let label = spec.label.clone();
        done(handle(controller, Command::PutToken { id: id.clone(), hash, role, label, expires, certificate }))?;
        let token = controller.tokens().find(|token| token.id == id).map(render::token);
        let Some(token) = token else { return Err(problem(Code::Internal, "the token does not exist")) };
        let secret = secret.map(|secret| secret.text().to_owned());
        Ok(HttpReply::json(201, &NewToken { token, secret }).at(format!("/v1/tokens/{id}")))
    };
    change(&shared, &call, run).await
}

/// A name as certificates have it.
fn certificate(name: &str) -> Result<String, Box<Problem>> {
    let rest = name.strip_prefix("URI:").or_else(|| name.strip_prefix("DNS:")).unwrap_or_default();
    if rest.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        let detail = format!("expected URI: or DNS: and a name of at most {LONGEST_NAME} visible ASCII characters");
        return Err(invalid("certificate", detail));
    }
    if let Some(why) = unmatched(name) {
        return Err(invalid("certificate", why));
    }
    Ok(peer::canonical(name))
}

fn role(spec: &TokenSpec) -> Result<controller::Principal, Box<Problem>> {
    let needs =
        |field: &str, value: &Option<String>| value.clone().ok_or_else(|| invalid(field, "required for this role"));
    let has_none = |field: &str, value: &Option<String>| match value {
        None => Ok(()),
        Some(_) => Err(invalid(field, "not allowed for this role")),
    };
    if spec.role != Role::Agent {
        has_none("node", &spec.node)?;
    }
    Ok(match spec.role {
        Role::Operator => {
            has_none("tenant", &spec.tenant)?;
            controller::Principal::Operator
        }
        Role::Tenant => controller::Principal::Tenant { tenant: needs("tenant", &spec.tenant)? },
        Role::Agent => {
            has_none("tenant", &spec.tenant)?;
            controller::Principal::Agent { node: needs("node", &spec.node)? }
        }
        Role::Reader => controller::Principal::Reader { tenant: spec.tenant.clone() },
    })
}

pub(crate) async fn delete(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let id = call.name().to_owned();
    let run = move |controller: &mut Controller, handle: &mut Handle<'_>| {
        let lasts =
            |token: &&controller::Token| token.role == controller::Principal::Operator && token.expires.is_none();
        let mut operators = controller.tokens().filter(lasts);
        if operators.next().is_some_and(|only| only.id == id) && operators.next().is_none() {
            let detail = "this is the only operator token without an expiry date: create another one first";
            return Err(problem(Code::Conflict, detail));
        }
        drop(operators);
        handle(controller, Command::DeleteToken { id }).map_err(fault)?;
        Ok(HttpReply::nothing())
    };
    change(&shared, &call, run).await
}
