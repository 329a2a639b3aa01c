//! Answers of Loko about the contracts that it has admitted.

use wayleave_scheme_api::{Refusal, Request, Value};
use wayleave_topology::FlowId;

use super::{Loko, Params, Services, explanation};
use crate::admitted::{AdmittedFlow, AdmittedSet, AssumedService, Term};
use crate::explanation::Section;

impl AdmittedSet for Loko {
    fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>> {
        self.book.held(flow)
    }

    fn flows(&self) -> Vec<FlowId> {
        self.book.flows()
    }

    fn terms(&self, flow: FlowId) -> Vec<Term> {
        self.book.get(flow).map_or_else(Vec::new, |entry| self.terms_of(&entry.route).collect())
    }

    fn term_words(&self, term: Term) -> Option<String> {
        explanation::term(&self.network, term)
    }

    fn explain_admitted(&self, _: &Request, flow: FlowId) -> Vec<Section> {
        vec![explanation::admitted(self, flow)]
    }

    fn explain_refused(&self, refusal: &Refusal) -> Vec<Section> {
        explanation::refused(self, refusal).into_iter().collect()
    }

    fn granted_shares(&self) -> Option<(&'static str, Value)> {
        Some(("services", explanation::granted_shares(self)))
    }

    fn shared_services(&self) -> Vec<AssumedService> {
        let Params { model, services, .. } = self.params;
        let service =
            |switch| AssumedService { switch, rate: model.rate, latency: model.latency, buffer: model.buffer };
        match services {
            Services::PerSwitch => self.network.switches().map(service).collect(),
            Services::PerPort => Vec::new(),
        }
    }
}
