//! Delay budgets with which a list fits that was refused for its budgets: `plan` prints them, ready to be pasted into the
//! topology.
//!
//! Every candidate is tried on the whole list, so that a printed block does what it promises. `wayleave tune` searches
//! longer, and for other objectives.

use wayleave_ledger::Model;
use wayleave_scheme_api::{Binding, Refusal};
use wayleave_schemes::admission::chameleon::Allocation;
use wayleave_topology::{LinkId, MAX_BUDGET, NodeKind};
use wayleave_units::{Bytes, Time};

use crate::contracts::Contracts;
use crate::error::Error;
use crate::network::Network;
use crate::schemes::PlanOptions;
use crate::session::Session;

/// Maximum number of decisions of a search: a moment, also for long lists.
const MAX_DECISIONS: usize = 20_000;
/// Maximum number of changes to the best candidate.
const MAX_STEPS: usize = 16;

/// Delay budgets for all ports of a topology, highest priority first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BudgetAdvice {
    /// Of switch ports.
    pub switch: Vec<Time>,
    /// Of host ports, one for each of their queues.
    pub host: Vec<Time>,
    /// Number of contracts that are admitted with them.
    pub admitted: u64,
    /// Number of contracts that are refused with them, for other reasons.
    pub refused: u64,
    /// Distinct ports state budgets of their own, which have to be removed.
    pub replaces_several: bool,
}

/// Result of a candidate.
struct Trial {
    admitted: u64,
    refused: u64,
    by_budgets: u64,
    /// The first refusal that depends on budgets.
    first: Option<Refusal>,
}

impl BudgetAdvice {
    /// Returns budgets with which no contract of the list is refused for its budgets, and more are admitted than
    /// `admitted`; `None` if a short search finds none. The session gives network, scheme and model.
    ///
    /// # Errors
    /// If the network cannot be rebuilt, which would be a mistake here.
    pub fn search(session: &Session, contracts: &Contracts, admitted: u64) -> Result<Option<Self>, Error> {
        let count = contracts.all().count().max(1);
        let mut trials = MAX_DECISIONS / count;
        let Some(ledger) = session.ledger() else { return Ok(None) };
        let replaces_several = states_several(session, NodeKind::Switch) || states_several(session, NodeKind::Host);
        let (switches, hosts) = ladders(session, session.model())?;
        let queues = |id: LinkId| ledger.budgets(id).len();
        let network = session.network();
        let is_switch = |id: &LinkId| network.node(network.link(*id).from).kind == NodeKind::Switch;
        let most = network.links().map(|(id, _)| id).filter(is_switch).map(queues).min().unwrap_or(0);
        let mut best: Option<(Trial, Self)> = None;
        let mut left: Vec<Self> = Vec::new();
        for switch in &switches {
            for host in &hosts {
                let switch = switch[..switch.len().min(most)].to_vec();
                let advice = Self { switch, host: host.clone(), admitted: 0, refused: 0, replaces_several };
                left.push(advice);
            }
        }
        left.reverse();
        let mut steps = 0;
        while let Some(candidate) = left.pop() {
            if trials == 0 {
                return Ok(None);
            }
            trials -= 1;
            let trial = candidate.try_on(session, contracts)?;
            if trial.by_budgets == 0 && trial.admitted > admitted {
                let (admitted, refused) = (trial.admitted, trial.refused);
                return Ok(Some(Self { admitted, refused, ..candidate }));
            }
            let mut last = Some((trial, candidate));
            if steps == 0
                && last.as_ref().zip(best.as_ref()).is_none_or(|(last, best)| last.0.admitted > best.0.admitted)
            {
                best = last.take();
            }
            if left.is_empty() && steps < MAX_STEPS {
                // From the best of the defaults, each change continues the one before.
                let from = if steps == 0 { best.as_ref() } else { last.as_ref() };
                let change = from.and_then(|(trial, known)| known.changed(session, trial.first.as_ref()?));
                left.extend(change);
                steps += 1;
            }
        }
        Ok(None)
    }

    /// Returns the budgets with the one that blocks a contract raised, or the fastest ones lowered for a deadline; `None`
    /// if a port cannot have them.
    fn changed(&self, session: &Session, refusal: &Refusal) -> Option<Self> {
        let mut next = self.clone();
        match refusal.innermost() {
            Refusal::Blocked { binding: Binding::Delay { link, queue, bound, .. }, .. } => {
                let network = session.network();
                let kind = network.node(network.link(*link).from).kind;
                let budgets = if kind == NodeKind::Host { &mut next.host } else { &mut next.switch };
                let raised = Time::from_nanos(bound.as_nanos().checked_next_multiple_of(10_000)?);
                let at = usize::from(*queue);
                *budgets.get_mut(at)? = raised;
                budgets.iter_mut().skip(at + 1).for_each(|budget| *budget = (*budget).max(raised));
            }
            Refusal::Deadline { fastest: bound, deadline, .. } | Refusal::TooSlow { bound, deadline, .. } => {
                let (bound, deadline) = (bound.as_nanos(), deadline.as_nanos());
                for budgets in [&mut next.host, &mut next.switch] {
                    let first = budgets.first_mut()?;
                    // At least a fifth, and one percent more than the ratio, for propagation and processing, which stay.
                    let first_ns = u128::from(first.as_nanos());
                    let in_ratio = first_ns * u128::from(deadline) * 99 / u128::from(bound.max(1)) / 100;
                    let lowered = in_ratio.min(first_ns * 4 / 5);
                    *first = Time::from_nanos(u64::try_from(lowered).ok()? / 100 * 100);
                }
            }
            _ => return None,
        }
        let is_valid = |budget: &Time| *budget > Time::ZERO && *budget <= MAX_BUDGET;
        next.switch.iter().chain(&next.host).all(is_valid).then_some(next)
    }

    fn try_on(&self, session: &Session, contracts: &Contracts) -> Result<Trial, Error> {
        let network = self.applied(&session.to_network())?;
        let options = PlanOptions::default().with_scheme(session.options().clone()).with_model(*session.model());
        let mut session = Session::open(&network, &options)?;
        let mut trial = Trial { admitted: 0, refused: 0, by_budgets: 0, first: None };
        for (_, contract) in contracts.all() {
            let refusal = match contract.as_latency() {
                Some(contract) => session.admit(contract).decision.err(),
                None => session.admit_share(contract).0.err(),
            };
            match refusal {
                None => trial.admitted += 1,
                Some(refusal) => {
                    trial.refused += 1;
                    if refusal.depends_on_budgets() {
                        trial.by_budgets += 1;
                        trial.first.get_or_insert(refusal);
                    }
                }
            }
        }
        Ok(trial)
    }

    /// Returns a network with these budgets at every port.
    ///
    /// # Errors
    /// If it cannot be rebuilt, which would be a mistake here.
    fn applied(&self, network: &Network) -> Result<Network, Error> {
        let changed = network.graph.with_ports(|kind, _, port| {
            let budgets = match kind {
                NodeKind::Switch => &self.switch,
                NodeKind::Host => {
                    let queue = port.queues.first().cloned();
                    port.queues = queue.into_iter().cycle().take(self.host.len()).collect();
                    &self.host
                }
            };
            for (at, queue) in port.queues.iter_mut().enumerate() {
                queue.budget = budgets.get(at).copied();
            }
        });
        let changed = changed.map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Network::new(&network.name, changed))
    }

    /// Returns the keys for `defaults` or the builder of a topology file, in flow style.
    pub fn keys(&self) -> String {
        let list = |budgets: &[Time]| budgets.iter().map(Time::to_string).collect::<Vec<_>>().join(", ");
        let (switch, host) = (list(&self.switch), list(&self.host));
        format!("budgets: [{switch}], hostQueues: {}, hostBudgets: [{host}]", self.host.len())
    }

    /// Returns the keys for a builder on a command line.
    pub fn builder_keys(&self) -> String {
        let list = |budgets: &[Time]| budgets.iter().map(Time::to_string).collect::<Vec<_>>().join("+");
        let (switch, host) = (list(&self.switch), list(&self.host));
        format!("budgets={switch},hostQueues={},hostBudgets={host}", self.host.len())
    }
}

/// Returns `true` if ports of a kind state different budgets.
fn states_several(session: &Session, kind: NodeKind) -> bool {
    let network = session.network();
    let ports = network.links().filter(|(_, link)| network.node(link.from).kind == kind);
    let stated = |id| network.queues(id).iter().filter_map(|queue| queue.budget).collect::<Vec<_>>();
    let mut all = ports.map(|(id, _)| stated(id));
    let first = all.next();
    all.any(|budgets| Some(budgets) != first)
}

/// Budgets of each port, highest priority first.
type BudgetLists = Vec<Vec<Time>>;

/// Returns the different default budgets of switch ports and of host ports, those of the slowest links first.
fn ladders(session: &Session, model: &Model) -> Result<(BudgetLists, BudgetLists), Error> {
    let graph = session.network();
    let two = |buffer: Bytes| vec![wayleave_topology::PortQueue { buffer, budget: None }; 2];
    let bare = graph.with_ports(|kind, _, port| match kind {
        NodeKind::Switch => port.queues.iter_mut().for_each(|queue| queue.budget = None),
        NodeKind::Host => port.queues = two(port.queues.first().map_or(Bytes::MAX, |queue| queue.buffer)),
    });
    let bare = bare.map_err(|error| Error::Internal(error.to_string()))?;
    let budgets = Allocation::default().budgets(&bare, model);
    let of = |kind: NodeKind| {
        let mut links: Vec<_> = bare.links().filter(|(_, link)| bare.node(link.from).kind == kind).collect();
        links.sort_by_key(|(id, link)| (link.rate, *id));
        let mut all: Vec<Vec<Time>> = links.into_iter().map(|(id, _)| budgets[id.index()].clone()).collect();
        all.dedup();
        all.truncate(4);
        all
    };
    Ok((of(NodeKind::Switch), of(NodeKind::Host)))
}
