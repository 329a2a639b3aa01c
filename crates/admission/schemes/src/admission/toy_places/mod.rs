//! A toy scheme that admits a fixed number of contracts. It shows the minimum that an admission scheme needs: its
//! folder and one line.

use std::sync::Arc;

use wayleave_contracts::BucketDemand;
use wayleave_scheme_api::{
    Admission, Decision, Described, Descriptor, Handover, Parameters, Refusal, RefusalCode, Request, Role, ValueKind,
    params,
};
use wayleave_topology::{FlowId, Hop, Network, Route};
use wayleave_units::Time;

use crate::admitted::{AdmittedFlow, AdmittedSet, Term};
use crate::explanation::Section;
use crate::flow_table::{self, Entry, FlowTable, HasFlowTable};
use crate::registry::{AdmissionScheme, BuildError, SchemeInputs};
use crate::shortest::ShortestPaths;

/// Descriptor of the toy.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "toy-places",
    title: "toy places",
    roles: &[Role::Admission],
    summary: "A fixed number of contracts, regardless of their terms",
    citation: "none: a toy",
    guarantee: "nothing: its bound is stated, not proven",
    parameters: Params::LIST,
};

params! {
    /// The toy's parameters.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Maximum number of contracts.
        pub places: u32 = 3, "places", ValueKind::Count { least: 1, most: 1_000 }, "ours";
        /// Delay bound of every contract.
        pub bound: Time = Time::from_millis(1), "bound", ValueKind::TIME, "ours";
    }
}

/// The toy.
pub struct ToyPlaces {
    network: Arc<Network>,
    params: Params,
    book: FlowTable<()>,
}

impl Described for ToyPlaces {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Params;
}

impl AdmissionScheme for ToyPlaces {
    fn build(setup: &SchemeInputs<'_>, params: Params) -> Result<Self, BuildError> {
        Ok(Self { network: setup.network.clone(), params, book: FlowTable::new() })
    }
}

impl ToyPlaces {
    fn route(&self, request: &Request) -> Result<Route, Refusal> {
        let all = self.params.places;
        if self.book.flows().len() as u64 >= u64::from(all) {
            let text = format!("all {all} places are taken");
            return Err(Refusal::Stated { reason: RefusalCode::Quota, field: None, text });
        }
        if self.params.bound > request.deadline {
            let text = format!(
                "the bound of every contract is {:#}, above the deadline {:#}",
                self.params.bound, request.deadline
            );
            return Err(Refusal::Stated { reason: RefusalCode::Latency, field: Some("deadline"), text });
        }
        let paths = ShortestPaths::new(&self.network, request.from, request.to).first(1);
        let links = paths.into_iter().next().ok_or(Refusal::Disconnected)?;
        Ok(Route { hops: links.into_iter().map(|link| Hop { link, queue: 0 }).collect() })
    }
}

impl Admission for ToyPlaces {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        let route = self.route(request)?;
        let bound = self.params.bound;
        let flow = self.book.enter(Entry {
            route: route.clone(),
            demand: BucketDemand { rate: request.rate, burst: request.burst, max_frame: request.max_frame },
            deadline: request.deadline,
            bound,
            released: bound,
            more: (),
        });
        Ok(Decision { flow, route, bound, copies: Vec::new(), moved: Vec::new(), handover: Handover::New })
    }

    fn release(&mut self, flow: FlowId) -> Option<Route> {
        self.remove_flow(flow).map(|entry| entry.route)
    }

    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        flow_table::change(self, flow, request)
    }

    fn would_admit(&mut self, request: &Request) -> bool {
        self.route(request).is_ok()
    }
}

impl HasFlowTable for ToyPlaces {
    type More = ();

    fn entry(&self, flow: FlowId) -> Option<&Entry<()>> {
        self.book.get(flow)
    }

    fn remove_flow(&mut self, flow: FlowId) -> Option<Entry<()>> {
        self.book.remove(flow)
    }

    fn put_back(&mut self, flow: FlowId, entry: Entry<()>) {
        self.book.put_back(flow, entry);
    }
}

impl AdmittedSet for ToyPlaces {
    fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>> {
        self.book.held(flow)
    }

    fn flows(&self) -> Vec<FlowId> {
        self.book.flows()
    }

    fn terms(&self, flow: FlowId) -> Vec<Term> {
        self.book.get(flow).map(|entry| Term::Own("place", entry.bound)).into_iter().collect()
    }

    fn explain_admitted(&self, _: &Request, _: FlowId) -> Vec<Section> {
        let taken = format!("{} of {} taken", self.book.flows().len(), self.params.places);
        vec![Section { title: "Places".to_owned(), lines: vec![taken], ..Section::default() }]
    }
}
