//! One network, one model, one scheme, and contracts that are decided one after another: what `plan` and `explain`
//! share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use wayleave_contracts::Contract;
use wayleave_ledger::{BestEffort, Denial, Input, Ledger, Limit, Model};
use wayleave_policy::{Admission, Decision, Refusal, Request};
use wayleave_schemes::registry::Scheme;
use wayleave_topology::{FlowId, Hop, LinkId, Network, NodeKind, Route};
use wayleave_units::{Amount, Rate, Time};

use crate::failure::Failure;
use crate::inputs::NetworkArgs;
use crate::model_args::ModelArgs;
use crate::scheme_args::SchemeArgs;

/// Everything that a session is set up with.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) scheme: SchemeArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// A network with what is admitted on it.
pub(crate) struct Session {
    /// What the topology is called.
    pub(crate) topology: String,
    pub(crate) network: Arc<Network>,
    pub(crate) model: Model,
    pub(crate) scheme: Scheme,
    /// Per flow, whose it is; indices of ended flows are used again.
    names: Vec<String>,
}

/// What became of a request.
pub(crate) struct Verdict {
    pub(crate) request: Request,
    pub(crate) decision: Result<Decision, Refusal>,
    /// What the scheme took for it.
    pub(crate) time: Duration,
}

/// One part of an end-to-end bound.
pub(crate) enum Term {
    /// The constant part of what a packet waits in a node.
    Processing(String, Time),
    /// The budget of a queue.
    Queue(Hop, Time),
    /// Of a link.
    Propagation(String, Time),
}

/// All routes of a decision.
pub(crate) fn routes(decision: &Decision) -> Vec<Route> {
    std::iter::once(&decision.route).chain(decision.copies.iter().map(|copy| &copy.route)).cloned().collect()
}

impl Session {
    /// With nothing admitted; warns of ports that contracts cannot use.
    pub(crate) fn open(args: &SessionArgs) -> Result<Self, Failure> {
        let model = args.model.model()?;
        let (topology, network) = args.network.read()?;
        let scheme = args.scheme.scheme(&network, model)?;
        let session = Self { topology, network, model, scheme, names: Vec::new() };
        session.warn_of_useless_ports();
        session.warn_of_slow_ports();
        Ok(session)
    }

    /// What is reserved.
    pub(crate) fn ledger(&self) -> &Ledger {
        self.scheme.placement().ledger()
    }

    /// What the scheme is asked for a contract.
    pub(crate) fn request(&self, contract: &Contract) -> Request {
        wayleave_schemes::request(contract, &self.model)
    }

    /// Admits or refuses a contract.
    pub(crate) fn admit(&mut self, contract: &Contract) -> Verdict {
        let request = self.request(contract);
        let start = Instant::now();
        let decision = self.scheme.admit(&request);
        let time = start.elapsed();
        self.remember(contract, &decision);
        Verdict { request, decision, time }
    }

    /// Gives an admitted flow the terms of a contract, or leaves it with its own; `None` if there is no such flow.
    pub(crate) fn change(&mut self, flow: FlowId, contract: &Contract) -> Option<Verdict> {
        let request = self.request(contract);
        let start = Instant::now();
        let decision = self.scheme.change(flow, &request)?;
        let time = start.elapsed();
        self.remember(contract, &decision);
        Some(Verdict { request, decision, time })
    }

    fn remember(&mut self, contract: &Contract, decision: &Result<Decision, Refusal>) {
        let Ok(decision) = decision else { return };
        for flow in std::iter::once(decision.flow).chain(decision.copies.iter().map(|copy| copy.flow)) {
            let index = flow.index();
            if self.names.len() <= index {
                self.names.resize(index + 1, String::new());
            }
            self.names[index].clone_from(&contract.name);
        }
    }

    /// The contract that an admitted flow belongs to.
    pub(crate) fn name_of(&self, flow: FlowId) -> &str {
        self.names.get(flow.index()).map_or("", String::as_str)
    }

    /// The contracts that are admitted, each by its flows: one for each of its routes.
    pub(crate) fn admitted(&self) -> impl Iterator<Item = Vec<FlowId>> {
        let placement = self.scheme.placement();
        let flows = placement.ledger().flows().map(|(flow, _)| (flow, placement.routes_of(flow)));
        flows.filter(|(flow, routes)| routes.first() == Some(flow)).map(|(_, routes)| routes)
    }

    /// How many flows a queue holds.
    pub(crate) fn flows_in(&self, link: LinkId, queue: u8) -> u32 {
        self.ledger().report(link).get(usize::from(queue)).map_or(0, |report| report.flows)
    }

    /// What adds up to the bound of a route: the source's tagger, then, for every link, its queue, its propagation, and
    /// the switch that it enters. Zeros are left out, but for queues.
    pub(crate) fn terms(&self, route: &Route) -> Vec<Term> {
        let network = &self.network;
        let mut terms = Vec::new();
        let processing = |node| {
            let node = network.node(node);
            Some(Term::Processing(node.name.clone(), node.processing)).filter(|_| node.processing > Time::ZERO)
        };
        terms.extend(route.hops.first().and_then(|hop| processing(network.link(hop.link).from)));
        for &hop in &route.hops {
            let link = network.link(hop.link);
            terms.push(Term::Queue(hop, self.ledger().budget(hop)));
            if link.propagation > Time::ZERO {
                terms.push(Term::Propagation(link.name.clone(), link.propagation));
            }
            if network.node(link.to).kind == NodeKind::Switch {
                terms.extend(processing(link.to));
            }
        }
        terms
    }

    /// The same for the route of a decision, and for each of its further routes; nothing for a refusal.
    pub(crate) fn terms_of(&self, verdict: &Verdict) -> (Vec<Term>, Vec<Vec<Term>>) {
        let Ok(decision) = &verdict.decision else { return (Vec::new(), Vec::new()) };
        let copies = decision.copies.iter().map(|copy| self.terms(&copy.route)).collect();
        (self.terms(&decision.route), copies)
    }

    /// A port without a queue for contracts is mostly an oversight: best effort has taken its only one.
    fn warn_of_useless_ports(&self) {
        let ledger = self.ledger();
        let useless = |kind| {
            let mut links = self.network.links();
            links.find(|&(id, link)| self.network.node(link.from).kind == kind && ledger.budgets(id).len() == 0)
        };
        let Some((id, link)) = useless(NodeKind::Switch).or_else(|| useless(NodeKind::Host)) else { return };
        let taken = self.model.best_effort == BestEffort::LowestQueue && self.network.queues(id).len() == 1;
        let what_to_do = if taken {
            "its only queue is kept for traffic without a contract: give the port more queues, or add --best-effort off"
        } else {
            "none of its queues has a delay budget: give it one in the topology, or with --budgets or --host-budget"
        };
        eprintln!("warning: contracts cannot use {}: {what_to_do}", link.name);
    }

    /// A budget is a time, and frames take longer on slow links: there the highest queue may be out of reach for every
    /// contract, also in an empty network.
    fn warn_of_slow_ports(&self) {
        let ledger = self.ledger();
        let smallest = (Rate::from_bits_per_second(1), Amount::from_nanobits(0));
        let out_of_reach = |id| {
            ledger.budgets(id).next()?;
            ledger.denial(id, 0, Input::LOCAL, smallest.0, smallest.1)
        };
        let mut slow = self.network.links().filter_map(|(id, link)| Some((link, out_of_reach(id)?)));
        let Some((link, Denial { limit: Limit::Delay { bound, budget }, .. })) = slow.next() else { return };
        let others = match slow.count() {
            0 => String::new(),
            1 => " and of one more port".to_owned(),
            count => format!(" and of {count} more ports"),
        };
        eprintln!(
            "warning: contracts cannot use the highest queue of {}{others}: with nothing else in it a packet may take \
             {bound} there, longer than the budget of {budget} (slow links need larger budgets: --budgets)",
            link.name
        );
    }
}
