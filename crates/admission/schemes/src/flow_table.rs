//! A list of admitted flows, for schemes that reserve no queues: dense indices, used again when a flow has ended.

use wayleave_contracts::BucketDemand;
use wayleave_scheme_api::{Admission, Decision, Handover, Refusal, Request};
use wayleave_topology::{FlowId, Route};
use wayleave_units::Time;

use crate::admitted::AdmittedFlow;

/// Record of an admitted flow; `more` is the scheme's own part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry<T> {
    pub(crate) route: Route,
    pub(crate) demand: BucketDemand,
    pub(crate) deadline: Time,
    pub(crate) bound: Time,
    pub(crate) released: Time,
    pub(crate) more: T,
}

/// The admitted flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowTable<T> {
    entries: Vec<Option<Entry<T>>>,
    vacant: Vec<FlowId>,
}

impl<T> FlowTable<T> {
    pub(crate) fn new() -> Self {
        Self { entries: Vec::new(), vacant: Vec::new() }
    }

    pub(crate) fn enter(&mut self, entry: Entry<T>) -> FlowId {
        let flow = self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(None);
            FlowId(self.entries.len() as u32 - 1)
        });
        self.entries[flow.index()] = Some(entry);
        flow
    }

    pub(crate) fn get(&self, flow: FlowId) -> Option<&Entry<T>> {
        self.entries.get(flow.index())?.as_ref()
    }

    pub(crate) fn remove(&mut self, flow: FlowId) -> Option<Entry<T>> {
        let entry = self.entries.get_mut(flow.index())?.take()?;
        self.vacant.push(flow);
        Some(entry)
    }

    /// Restores a flow that was just removed, under its old index.
    pub(crate) fn put_back(&mut self, flow: FlowId, entry: Entry<T>) {
        self.vacant.retain(|&vacant| vacant != flow);
        self.entries[flow.index()] = Some(entry);
    }

    pub(crate) fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>> {
        let entry = self.get(flow)?;
        let &Entry { ref route, demand, deadline, bound, released, .. } = entry;
        Some(AdmittedFlow { route, demand, deadline, bound, released })
    }

    pub(crate) fn flows(&self) -> Vec<FlowId> {
        (0..self.entries.len() as u32).map(FlowId).filter(|&flow| self.get(flow).is_some()).collect()
    }
}

/// A scheme that keeps a book.
pub(crate) trait HasFlowTable: Admission {
    type More;

    fn entry(&self, flow: FlowId) -> Option<&Entry<Self::More>>;

    /// Frees what a flow holds.
    fn remove_flow(&mut self, flow: FlowId) -> Option<Entry<Self::More>>;

    /// Restores a flow that was just removed, with its resources.
    fn put_back(&mut self, flow: FlowId, entry: Entry<Self::More>);
}

/// Changes the terms of a flow. If old and new terms fit together, the flow holds both, which is safe at any moment.
/// Otherwise the new terms replace the old ones, and hold only after the packets in flight have left. A refusal
/// leaves the flow unchanged.
pub(crate) fn change(
    scheme: &mut impl HasFlowTable,
    flow: FlowId,
    request: &Request,
) -> Option<Result<Decision, Refusal>> {
    scheme.entry(flow)?;
    if let Ok(decision) = scheme.admit(request) {
        scheme.remove_flow(flow);
        return Some(Ok(Decision { handover: Handover::Beside, ..decision }));
    }
    let old = scheme.remove_flow(flow)?;
    Some(match scheme.admit(request) {
        Ok(decision) => Ok(Decision { handover: Handover::Instead, ..decision }),
        Err(refusal) => {
            scheme.put_back(flow, old);
            Err(refusal)
        }
    })
}
