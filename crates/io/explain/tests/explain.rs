//! Tests of explanations: of an admitted contract, of a refusal, of a link that is down.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use std::sync::Arc;

use serde_json::Value;
use wayleave_contracts::{LatencyContract, RequestMix};
use wayleave_explain::table::TableLayout;
use wayleave_explain::{
    Context, EarlierDecisions, Explained, ExplanationJson, Names, Refused, inspect_links, sentences, text,
};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Admission, Decision, Refusal, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{FlowId, LinkId, Network};
use wayleave_units::Time;

/// A scheme with the first contracts of a mix.
struct Desk {
    network: Arc<Network>,
    model: Model,
    scheme: Scheme,
    names: Vec<(FlowId, String)>,
}

impl Names for Desk {
    fn name_of(&self, flow: FlowId) -> &str {
        self.names.iter().find(|(known, _)| *known == flow).map_or("", |(_, name)| name)
    }
}

impl Desk {
    fn new() -> Self {
        let network = Arc::new(build::fat_tree(&FatTree::default()).unwrap());
        let model = Model::default();
        let scheme = Chameleon::new(network.clone(), model, Params::default()).unwrap().into();
        Self { network, model, scheme, names: Vec::new() }
    }

    fn context(&self) -> Context<'_> {
        Context { network: &self.network, model: &self.model, scheme: &self.scheme, names: self }
    }

    fn request(&self, contract: &LatencyContract) -> Request {
        wayleave_schemes::request(contract, &self.model)
    }

    fn admit(&mut self, contract: &LatencyContract) -> Result<Decision, Refusal> {
        let decision = self.scheme.admit(&self.request(contract));
        if let Ok(decision) = &decision {
            self.names.push((decision.flow, contract.name.clone()));
        }
        decision
    }

    fn contracts(&self) -> RequestMix {
        RequestMix::new(&self.network, 8, 1)
    }

    /// Returns the first refused contract, with the details of its refusal.
    fn refused(&mut self) -> (LatencyContract, Result<Decision, Refusal>, Refused) {
        let blocked = |contract: &LatencyContract, desk: &mut Self| {
            let decision = desk.admit(contract);
            matches!(decision, Err(Refusal::Blocked { .. })).then_some(decision)
        };
        let (contract, decision) = self
            .contracts()
            .find_map(|contract| blocked(&contract, self).map(|decision| (contract, decision)))
            .unwrap();
        let refused = self.look_around(&contract, &decision);
        (contract, decision, refused)
    }

    fn look_around(&mut self, contract: &LatencyContract, decision: &Result<Decision, Refusal>) -> Refused {
        let request = self.request(contract);
        inspect_links(&mut self.scheme, &self.model, contract, &request, decision.as_ref().unwrap_err())
    }

    fn answers(
        &self,
        contract: &LatencyContract,
        decision: &Result<Decision, Refusal>,
        before: Option<EarlierDecisions>,
        refused: Option<&Refused>,
    ) -> (Value, String) {
        let request = self.request(contract);
        let explained = Explained { contract, request: &request, decision, starts: None, before, refused };
        let context = self.context();
        let json = serde_json::to_value(ExplanationJson::of(&context, &explained)).unwrap();
        let mut page = Vec::new();
        text::write(&mut page, &context, &explained, TableLayout::default()).unwrap();
        (json, String::from_utf8(page).unwrap())
    }
}

#[test]
fn an_admitted_contract_is_explained_as_at_its_admission() {
    for protection in [1, 2] {
        let mut desk = Desk::new();
        let contract =
            LatencyContract { protection, deadline: Time::from_millis(100), ..desk.contracts().next().unwrap() };
        let decision = desk.admit(&contract);
        let standing = desk.context().admitted(decision.as_ref().unwrap().flow);
        assert_eq!(standing.as_ref(), decision.as_ref().ok());
        // Any of its routes leads to the contract.
        let last = decision.as_ref().unwrap().copies.last().map_or(decision.as_ref().unwrap().flow, |copy| copy.flow);
        assert_eq!(desk.context().admitted(last), standing);
        let (json, page) = desk.answers(&contract, &standing.ok_or(Refusal::Disconnected), None, None);
        assert_eq!(json["request"]["decision"], "admitted");
        let routes = json["request"].get("copies").map_or(0, |copies| copies.as_array().unwrap().len());
        assert_eq!(routes + 1, usize::from(protection));
        let terms = json["request"]["terms"].as_array().unwrap();
        let sum: u64 = terms.iter().map(|term| term["delay_ns"].as_u64().unwrap()).sum();
        assert_eq!(json["request"]["bound_ns"].as_u64(), Some(sum));
        assert!(!page.contains("decided") && page.contains("End-to-end delay bound"), "{page}");
        assert!(!json["queues"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_released_flow_is_not_explained_as_admitted() {
    let mut desk = Desk::new();
    let contract = desk.contracts().next().unwrap();
    let flow = desk.admit(&contract).unwrap().flow;
    desk.scheme.release(flow);
    assert_eq!(desk.context().admitted(flow), None);
}

#[test]
fn a_refusal_states_missing_capacity_its_place_and_what_would_fit() {
    let mut desk = Desk::new();
    let (contract, decision, refused) = desk.refused();
    let admitted = desk.scheme.flows().len() as u64;
    let before = Some(EarlierDecisions { admitted, refused: 0 });
    let (json, page) = desk.answers(&contract, &decision, before, Some(&refused));
    assert_eq!(json["request"]["decision"], "refused");
    let sentence = json["request"]["message"].as_str().unwrap().to_owned();
    let link = json["request"]["binding"]["link"].as_str().unwrap();
    assert!(sentence.contains(link) && sentence.ends_with('.'), "{sentence}");
    assert!(json["nearest"]["rate_bps"].is_u64() || json["nearest"]["burst_bytes"].is_u64(), "{json:#}");
    assert!(page.contains(&format!("decided after {admitted} other contracts, all admitted")), "{page}");
    assert!(
        page.contains("Nearest request that would fit") && page.contains(&format!("Queues of {link} on that route")),
        "{page}"
    );
    // Looking around has left the scheme as it was: the same request is refused in the same words.
    let again = desk.admit(&contract).unwrap_err();
    let clause = sentences::refusal(&desk.network, &contract, &again);
    assert_eq!(sentences::sentence(&clause), sentence);
}

#[test]
fn a_refusal_alone_is_explained_without_alternatives() {
    let mut desk = Desk::new();
    let (contract, decision, _) = desk.refused();
    let (json, page) = desk.answers(&contract, &decision, None, None);
    assert!(json.get("nearest").is_none() && json.get("paths").is_none());
    assert!(page.contains("Why") && !page.contains("Nearest request that would fit"), "{page}");
}

#[test]
fn a_failed_link_is_reported_as_down() {
    let mut desk = Desk::new();
    let contract = desk.contracts().next().unwrap();
    let uplink: LinkId = desk.network.links_from(contract.from)[0];
    desk.scheme.queues_mut().unwrap().close(uplink);
    let decision = desk.admit(&contract);
    let refused = desk.look_around(&contract, &decision);
    let (json, page) = desk.answers(&contract, &decision, None, Some(&refused));
    let down = format!("ink {} is down", desk.network.link(uplink).name);
    assert_eq!(json["request"]["reason"], "NO_PATH");
    assert_eq!(json["request"]["binding"]["limit"], "down");
    assert_eq!(json["request"]["message"], format!("L{down}."));
    assert!(page.contains(&format!("L{down}.")) && page.contains(&format!("l{down}")), "{page}");
    assert!(!page.contains("It is the queue") && !page.contains("Every queue of"), "{page}");
}
