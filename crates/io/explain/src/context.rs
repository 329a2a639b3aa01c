//! Subject of a decision, as its caller keeps it.

use wayleave_ledger::{Ledger, Model, QueueReport};
use wayleave_scheme_api::{Decision, DisjointRoute, Handover};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::placement::Placement;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::{FlowId, Hop, LinkId, Network, Route, ShareId};

/// Mapping from admitted flows and shares to the names of their contracts.
pub trait Names {
    /// The name of the contract; empty if there is no such flow.
    fn name_of(&self, flow: FlowId) -> &str;

    /// Returns the name of the contract of a share; empty if no shares are admitted.
    fn name_of_share(&self, share: ShareId) -> &str {
        let _ = share;
        ""
    }

    /// Returns `true` if a share is promised now. A contract that is cut off keeps its place, but nothing is promised
    /// to it until it is restored.
    fn is_promised_share(&self, share: ShareId) -> bool {
        let _ = share;
        true
    }
}

/// A network with its admitted contracts.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The network.
    pub network: &'a Network,
    /// Accounting of bytes and frames.
    pub model: &'a Model,
    /// The scheme with its admitted contracts.
    pub scheme: &'a Scheme,
    /// Names of the contracts.
    pub names: &'a dyn Names,
}

impl Context<'_> {
    /// Returns the reservations by queue; `None` in schemes without queues.
    pub fn ledger(&self) -> Option<&Ledger> {
        self.scheme.queues().map(Placement::ledger)
    }

    /// Returns the reservations on a link; none in schemes without queues.
    pub(crate) fn reports(&self, link: LinkId) -> Vec<QueueReport> {
        self.ledger().map_or_else(Vec::new, |ledger| ledger.report(link))
    }

    /// One queue.
    pub(crate) fn report(&self, hop: Hop) -> Option<QueueReport> {
        self.reports(hop.link).into_iter().nth(usize::from(hop.queue))
    }

    /// Returns the number of flows in a queue.
    pub(crate) fn flows_in(&self, link: LinkId, queue: u8) -> u32 {
        self.report(Hop { link, queue }).map_or(0, |report| report.flows)
    }

    /// The contract that an admitted flow belongs to, as a decision that is made now: where it goes at present, and
    /// nothing moved for it. `None` if there is no such flow.
    pub fn admitted(&self, flow: FlowId) -> Option<Decision> {
        let mut routes = self.scheme.routes_of(flow).into_iter().filter_map(|flow| {
            let held = self.scheme.held(flow)?;
            Some(DisjointRoute { flow, route: held.route.clone(), bound: held.bound })
        });
        let DisjointRoute { flow, route, bound } = routes.next()?;
        let copies = routes.collect();
        Some(Decision { flow, route, copies, bound, moved: Vec::new(), handover: Handover::New })
    }
}

/// All routes of a decision.
pub(crate) fn routes(decision: &Decision) -> Vec<Route> {
    std::iter::once(&decision.route).chain(decision.copies.iter().map(|copy| &copy.route)).cloned().collect()
}
