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
use wayleave_scheme_api::{Admission, Binding, Decision, Refusal, Request};
use wayleave_schemes::admission::chameleon::{Chameleon, Params};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::builders::{FatTree, build};
use wayleave_topology::{FailureElement, FlowId, LinkId, Network, Route};
use wayleave_units::{Bytes, Rate, Time};

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

/// Catches: "no route has enough room left after existing reservations" for a refusal that has another reason.
#[test]
fn tenants_read_the_reason_of_a_refusal_without_other_links() {
    let network = build::fat_tree(&FatTree::default()).unwrap();
    let [from, to] = ["h1", "h16"].map(|host| network.find_node(host).unwrap());
    let (rate, burst) = (Rate::from_mbit(1), Bytes::new(3000));
    let contract = LatencyContract::new("a", from, to, rate, burst, Time::from_millis(5));
    let pinned = LatencyContract { route: Some(Route { hops: Vec::new() }), ..contract.clone() };
    let protected = LatencyContract { protection: 2, ..contract.clone() };
    let link = network.find_link("pod4-edge2->h16").unwrap();
    let blocked = |binding| Refusal::Blocked { route: Route { hops: Vec::new() }, binding, others: Vec::new() };
    let down = || blocked(Binding::Down { link, queue: 0 });
    let full = || blocked(Binding::Rate { link, queue: 0, asked: rate, left: Rate::ZERO });
    let copy = |refusal| Refusal::Copy { copy: 2, of: 2, refusal: Box::new(refusal) };
    let cut = vec![FailureElement::Cable(link)];
    let fast = || Refusal::TooSlow {
        route: Route { hops: Vec::new() },
        bound: Time::from_millis(6),
        deadline: Time::from_millis(5),
    };
    let cases = [
        (&contract, down(), "no route from h1 to h16 is usable: a link or node is down, and no other route fits"),
        (&pinned, down(), "a link or node on the pinned route is down"),
        (&protected, copy(down()), "not enough disjoint routes from h1 to h16 are usable: a link or node is down"),
        (&contract, full(), "no usable route has enough rate left from h1 to h16 after existing reservations"),
        (&pinned, full(), "the pinned route has not enough rate left from h1 to h16 after existing reservations"),
        (
            &protected,
            copy(full()),
            "not enough disjoint routes have enough rate left from h1 to h16 after existing reservations",
        ),
        (
            &protected,
            Refusal::TooFewDisjoint { asked: 2, most: 1, cut },
            "2 disjoint routes were requested from h1 to h16, but there is only 1",
        ),
        (&pinned, fast(), "the pinned route has a bound of 6 ms, above the deadline 5 ms"),
        (&contract, fast(), "no usable route has enough time left from h1 to h16 after existing reservations"),
    ];
    for (contract, refusal, expected) in cases {
        assert_eq!(sentences::refusal_to_tenant(&network, contract, &refusal), expected, "{refusal:?}");
    }
}
