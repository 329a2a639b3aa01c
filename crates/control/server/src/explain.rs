//! Explanations of contracts that are kept or were refused, for `wayleave explain`: as JSON, or as text on request.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::ACCEPT;
use wayleave_contracts::Contract as Terms;
use wayleave_controller::{AdmittedContract, Controller, Decided, DecisionRecord, DegradedReason, Id, Principal};
use wayleave_explain::table::TableLayout;
use wayleave_explain::{
    Context, DecidedShare, Explained, ExplainedShare, ExplanationJson, Names, NearestShare, SharedExplanation,
    assumption, inspect_links, sentences, write_share,
};
use wayleave_protocol::contract::Contract;
use wayleave_protocol::problem::{Code, Problem};
use wayleave_scheme_api::Refusal;
use wayleave_topology::{FlowId, ShareId};
use wayleave_units::Human;

use crate::access::{sees, tenant_of};
use crate::answer::{HttpReply, Outcome, problem};
use crate::read_view::View;
use crate::render;

/// Format of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    /// For people, in lines of the usual width.
    Text,
}

impl Form {
    /// Returns the requested format (`Accept`): text only if it is named.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let accepts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let is_text = accepts.flat_map(|value| value.split(',')).any(|media| media.trim().starts_with("text/plain"));
        if is_text { Self::Text } else { Self::Json }
    }

    fn answer(self, context: &Context<'_>, explained: &Explained<'_>) -> Outcome {
        match self {
            Self::Json => Ok(HttpReply::explained(&ExplanationJson::of(context, explained))),
            Self::Text => {
                let mut text = Vec::new();
                let written = wayleave_explain::text::write(&mut text, context, explained, TableLayout::default());
                written.map_err(|error| problem(Code::Internal, error.to_string()))?;
                Ok(HttpReply::of(200, TEXT, text))
            }
        }
    }

    fn share(self, context: &Context<'_>, explained: &ExplainedShare<'_>) -> Outcome {
        match self {
            Self::Json => Ok(HttpReply::explained(&SharedExplanation::of(context, explained))),
            Self::Text => {
                let mut text = Vec::new();
                let written = write_share(&mut text, context, explained, TableLayout::default());
                written.map_err(|error| problem(Code::Internal, error.to_string()))?;
                Ok(HttpReply::of(200, TEXT, text))
            }
        }
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

/// Owners of flows, as far as a role may see them.
struct Owners<'a> {
    controller: &'a Controller,
    role: &'a Principal,
    /// By the shares that are held for them, in words.
    policies: BTreeMap<ShareId, String>,
}

impl<'a> Owners<'a> {
    fn new(controller: &'a Controller, role: &'a Principal) -> Self {
        // Policies are operators' business.
        let sees_all = matches!(role, Principal::Operator | Principal::Reader { tenant: None });
        let policies = if sees_all { controller.policies_by_share() } else { BTreeMap::new() };
        Self { controller, role, policies }
    }
}

impl Names for Owners<'_> {
    fn name_of(&self, flow: FlowId) -> &str {
        match self.controller.owner(flow) {
            Some(grant) if sees(self.role, &grant.id) => &grant.id.name,
            Some(_) => "another tenant's contract",
            None => "",
        }
    }

    fn name_of_share(&self, share: ShareId) -> &str {
        match self.controller.owner_of_share(share) {
            Some(grant) if sees(self.role, &grant.id) => &grant.id.name,
            Some(_) => "another tenant's contract",
            None if self.controller.left_shares().any(|(left, _)| left == share) => "a contract that has ended",
            None => self.policies.get(&share).map_or("policies of services", String::as_str),
        }
    }
}

/// Returns a contract as its tenant sees it.
fn own_document(controller: &Controller, view: &View, grant: &AdmittedContract) -> Result<Contract, Box<Problem>> {
    let contract = view.read().contract_of(controller, grant.serial);
    let document = contract.map(|contract| contract.document(controller.network(), true));
    document.ok_or_else(|| problem(Code::Internal, "no such contract"))
}

/// A contract as its tenant may know it: its own bound and routes. The terms of the proof would show what others have reserved.
fn own_contract(controller: &Controller, view: &View, grant: &AdmittedContract, form: Form) -> Outcome {
    let shown = own_document(controller, view, grant)?;
    let (Some(bound), Some(terms)) = (grant.bound(), grant.terms()) else {
        return Err(problem(Code::Internal, "no such contract"));
    };
    let deadline = terms.deadline;
    let message = format!(
        "every queue on its route has a delay budget that holds whatever else is admitted; with propagation and processing, the sum is {}, within the deadline of {deadline:#}",
        bound.up()
    );
    if form == Form::Json {
        return Ok(HttpReply::explained(&serde_json::json!({ "contract": shown, "message": message })));
    }
    let mut text =
        format!("contract {}: {}\n\nWhy\n  {}\n", grant.id, shown.status.state.name(), sentences::sentence(&message));
    for route in &shown.status.routes {
        let hops: Vec<String> = route.hops.iter().map(|hop| format!("{} (queue {})", hop.link, hop.queue)).collect();
        text += &format!("\nRoute\n  {}\n", hops.join("\n  "));
    }
    Ok(HttpReply::of(200, TEXT, text))
}

/// A refusal as its tenant may know it: why in general. The largest request that would fit is the capacity less what others have.
fn own_refusal(controller: &Controller, record: &DecisionRecord, role: &Principal, form: Form) -> Outcome {
    let shown = render::decision(controller.network(), record, role);
    if form == Form::Json {
        return Ok(HttpReply::explained(&serde_json::json!({ "decision": shown })));
    }
    let (reason, message) = (shown.reason.unwrap_or_default(), shown.message.unwrap_or_default());
    let text = format!("contract {}: refused ({reason})\n\nWhy\n  {message}\n", record.id);
    Ok(HttpReply::of(200, TEXT, text))
}

/// Explains an existing contract, given the contracts that are admitted now, with its present state: the proof assumes that
/// its rules are in force.
pub(crate) fn contract(
    controller: &Controller,
    view: &View,
    grant: &AdmittedContract,
    role: &Principal,
    form: Form,
) -> Outcome {
    let mut reply = proof(controller, view, grant, role, form)?;
    let status = own_document(controller, view, grant)?.status;
    let (Some(reason), Some(message)) = (&status.reason, &status.message) else { return Ok(reply) };
    let state = status.state.name();
    let stated = match form {
        Form::Text => {
            let text = String::from_utf8_lossy(&reply.body);
            let (head, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
            format!("{head}\n\nState\n  {state} ({reason}): {message}\n\n{rest}")
        }
        Form::Json => {
            let mut document: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            if let Some(members) = document.as_object_mut() {
                let status = serde_json::json!({ "state": state, "reason": reason, "message": message });
                members.insert("status".to_owned(), status);
            }
            document.to_string()
        }
    };
    reply.body = stated.into();
    Ok(reply)
}

fn proof(controller: &Controller, view: &View, grant: &AdmittedContract, role: &Principal, form: Form) -> Outcome {
    // A reservation that is kept for a repair, or until the last packets have left, promises nothing now.
    if grant.is_ended() {
        return Err(problem(
            Code::Conflict,
            format!("contract {} is deleted, so there is no promise to explain", grant.id),
        ));
    }
    if let Some(DegradedReason::Failed { .. } | DegradedReason::Unfit { .. }) = &grant.degraded_reason {
        let status = own_document(controller, view, grant)?.status;
        let (code, message) = (status.reason.unwrap_or_default(), status.message.unwrap_or_default());
        return Err(problem(Code::Conflict, format!("contract {} is degraded ({code}): {message}", grant.id)));
    }
    let Some(contract) = grant.terms() else { return share(controller, view, grant, role, form) };
    let has_place = !controller.routes(grant).is_empty();
    if has_place && tenant_of(role).is_some() {
        return own_contract(controller, view, grant, form);
    }
    let owners = Owners::new(controller, role);
    let (network, model, scheme) = (&**controller.network(), controller.model(), controller.scheme());
    let context = Context { network, model, scheme, names: &owners };
    let routes = controller.routes(grant);
    let cluster_state = routes.first().and_then(|&(flow, _)| context.admitted(flow));
    let Some(decision) = cluster_state else {
        let detail = format!(
            "contract {} has no route now, so there is no bound to explain; see the reason in its status",
            grant.id
        );
        return Err(problem(Code::Conflict, detail));
    };
    let request = wayleave_schemes::request(contract, model);
    let explained =
        Explained { contract, request: &request, decision: &Ok(decision), starts: None, before: None, refused: None };
    form.answer(&context, &explained)
}

/// Explains an existing contract of another kind than latency, given the contracts that are admitted now.
fn share(controller: &Controller, view: &View, grant: &AdmittedContract, role: &Principal, form: Form) -> Outcome {
    let contract = &grant.order.contract;
    let share = controller.share_of(grant);
    let decision = controller.promise_of(grant);
    if decision.is_none() && !matches!(contract, Terms::BestEffort(_)) {
        let detail = format!(
            "contract {} has no route now, so there is no bound to explain; see the reason in its status",
            grant.id
        );
        return Err(problem(Code::Conflict, detail));
    }
    let decision = &Ok(decision);
    let decided = DecidedShare { contract, decision, start: None, event: None };
    if tenant_of(role).is_some() {
        return own_share(controller, view, grant, &decided, form);
    }
    let owners = Owners::new(controller, role);
    let (network, model, scheme) = (&**controller.network(), controller.model(), controller.scheme());
    let context = Context { network, model, scheme, names: &owners };
    form.share(&context, &ExplainedShare { decided, share, nearest: None })
}

/// The same as its tenant may know it: what it is promised, under which assumption, and nothing of links.
fn own_share(
    controller: &Controller,
    view: &View,
    grant: &AdmittedContract,
    decided: &DecidedShare<'_>,
    form: Form,
) -> Outcome {
    let shown = own_document(controller, view, grant)?;
    let message = sentences::sentence(&decided.sentence(controller.network()));
    let assumption = assumption(decided.contract, grant.certainty());
    if form == Form::Json {
        let explained = serde_json::json!({ "contract": shown, "message": message, "assumption": assumption });
        return Ok(HttpReply::explained(&explained));
    }
    let mut text = format!("contract {}: {}\n\nWhy\n  {message}\n", grant.id, shown.status.state.name());
    if let Some(assumption) = assumption {
        text += &format!("\nAssumption\n  {}\n", sentences::sentence(assumption));
    }
    Ok(HttpReply::of(200, TEXT, text))
}

/// A refusal of another kind than latency.
fn refused_share(
    controller: &Controller,
    record: &DecisionRecord,
    refusal: &Refusal,
    role: &Principal,
    form: Form,
) -> Outcome {
    if tenant_of(role).is_some() {
        return own_refusal(controller, record, role, form);
    }
    let contract = &record.order.contract;
    let nearest = NearestShare::of(controller.scheme(), contract, refusal);
    let owners = Owners::new(controller, role);
    let (network, model, scheme) = (&**controller.network(), controller.model(), controller.scheme());
    let context = Context { network, model, scheme, names: &owners };
    let decision = &Err(refusal.clone());
    let decided = DecidedShare { contract, decision, start: None, event: None };
    form.share(&context, &ExplainedShare { decided, share: None, nearest: Some(nearest) })
}

/// Explains a decision, given the contracts that are admitted now; an admitted contract is explained in its present
/// state.
pub(crate) fn decision(
    controller: &mut Controller,
    view: &View,
    record: &DecisionRecord,
    role: &Principal,
    form: Form,
) -> Outcome {
    let refusal = match &record.decided {
        Decided::Admitted(_) => return admitted(controller, view, record, role, form),
        Decided::Quota(short) if form == Form::Text => {
            let text = format!("contract {}: refused (QUOTA)\n\nWhy\n  {}\n", record.id, render::quota_short(short));
            return Ok(HttpReply::of(200, TEXT, text));
        }
        Decided::Quota(short) => {
            let shown = render::decision(controller.network(), record, role);
            return Ok(HttpReply::explained(
                &serde_json::json!({ "decision": shown, "message": render::quota_short(short) }),
            ));
        }
        Decided::Refused(refusal) => refusal,
    };
    let Terms::Latency(contract) = &record.order.contract else {
        return refused_share(controller, record, refusal, role, form);
    };
    if tenant_of(role).is_some() {
        return own_refusal(controller, record, role, form);
    }
    let model = *controller.model();
    let request = wayleave_schemes::request(contract, &model);
    let refused = inspect_links(controller.scheme_for_questions(), &model, contract, &request, refusal);
    let owners = Owners::new(controller, role);
    let (network, scheme) = (&**controller.network(), controller.scheme());
    let context = Context { network, model: &model, scheme, names: &owners };
    let (decision, refused) = (&Err(refusal.clone()), Some(&refused));
    let explained = Explained { contract, request: &request, decision, starts: None, before: None, refused };
    form.answer(&context, &explained)
}

fn admitted(controller: &Controller, view: &View, record: &DecisionRecord, role: &Principal, form: Form) -> Outcome {
    admitted_contract(controller, view, &record.id, record.number, role, form).unwrap_or_else(|| {
        let detail = format!("contract {} has been changed or deleted since that decision", record.id);
        Err(problem(Code::Conflict, detail))
    })
}

/// Of a contract that is still there as this decision has left it.
pub(crate) fn admitted_contract(
    controller: &Controller,
    view: &View,
    id: &Id,
    decision: u64,
    role: &Principal,
    form: Form,
) -> Option<Outcome> {
    let grant = controller.grant(id).filter(|grant| grant.decision == decision)?;
    Some(contract(controller, view, grant, role, form))
}
