//! Answers of QJump about the contracts that it has admitted.

use wayleave_scheme_api::{Refusal, Request, Value};
use wayleave_topology::FlowId;

use super::admission::{CONTENTION, EPSILON, SHAPER, times};
use super::{Qjump, explanation};
use crate::admitted::{AdmittedFlow, AdmittedSet, Term};
use crate::explanation::Section;

impl AdmittedSet for Qjump {
    fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>> {
        self.book.held(flow)
    }

    fn flows(&self) -> Vec<FlowId> {
        self.book.flows()
    }

    fn terms(&self, flow: FlowId) -> Vec<Term> {
        let Some(entry) = self.book.get(flow) else { return Vec::new() };
        let mut terms = Vec::new();
        if let Some(epochs) = entry.more.epochs.checked_sub(1).filter(|&epochs| epochs > 0) {
            terms.push(Term::Own(SHAPER, times(self.epoch.length(), epochs)));
        }
        terms.extend([Term::Own(CONTENTION, self.epoch.contention()), Term::Own(EPSILON, self.epoch.epsilon())]);
        terms
    }

    fn term_words(&self, term: Term) -> Option<String> {
        explanation::term(self, term)
    }

    fn explain_admitted(&self, request: &Request, flow: FlowId) -> Vec<Section> {
        vec![explanation::admitted(self, request, flow)]
    }

    fn explain_refused(&self, refusal: &Refusal) -> Vec<Section> {
        vec![explanation::refused(self, refusal)]
    }

    fn granted_shares(&self) -> Option<(&'static str, Value)> {
        Some(("epoch", explanation::granted_shares(self)))
    }
}
