//! The experiment of sections 5.1 and 5.2: requests are offered to a system until the first is refused (5.1.2).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use wayleave_contracts::{Category, JavaMix, LatencyContract, RequestMix};
use wayleave_scheme_api::Admission;
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{FlowId, Link, LinkId, Network, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

use super::system::System;
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;

/// A fat tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Size {
    pub(crate) k: u64,
    pub(crate) hosts_per_edge: u64,
    /// Of each switch port, where the system uses queues.
    pub(crate) queues: usize,
}

/// The network of section 5.1: k = 4, 16 hosts, 8 queues.
pub(super) const SMALL: Size = Size { k: 4, hosts_per_edge: 2, queues: 8 };

/// One filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Case {
    pub(crate) size: Size,
    pub(crate) system: System,
    /// Of Table 2.
    pub(crate) scenario: usize,
    pub(crate) seed: u64,
}

/// Result of a filling.
#[derive(Clone, Debug)]
pub(crate) struct FillResult {
    /// Flows admitted before the first refusal.
    pub(crate) accepted: usize,
    /// Fate of each flow, in the order of admission; only for systems that move flows.
    pub(crate) fates: Vec<AdmittedFlowFate>,
    /// Reserved share of the rate of each link between switches, from 0 to 1; only of the small network.
    pub(crate) utilisation: Vec<f64>,
    /// Duration of each decision in ns, including the refusal.
    pub(crate) times_ns: Vec<u32>,
    /// Number of flows that each admitted request moved; only for systems that move flows.
    pub(crate) moved: Vec<u32>,
    /// `true` if the refused request does not fit an empty network either; only for Silo.
    pub(crate) is_hopeless: bool,
}

/// An admitted flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdmittedFlowFate {
    pub(crate) category: Category,
    pub(crate) rate: Rate,
    pub(crate) burst: Bytes,
    pub(crate) deadline: Time,
    /// Number of moves.
    pub(crate) moves: u32,
}

/// A list of requests ends at the latest here: ten times what any system has been seen to admit.
const MAX_REQUESTS: usize = 1_000_000;

/// Fillings that were made already. Figures of one paper share them.
#[derive(Default)]
struct Fillings {
    known: Mutex<HashMap<Case, Arc<FillResult>>>,
}

impl Fillings {
    fn known(&self) -> MutexGuard<'_, HashMap<Case, Arc<FillResult>>> {
        // A thread that panicked while holding the lock has inserted whole fillings or none.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run<'_> {
    /// The fillings of these cases, in their order.
    pub(crate) fn fillings(&self, cases: &[Case]) -> Result<Vec<Arc<FillResult>>, Failed> {
        let fillings = self.shared().get_or_default::<Fillings>();
        let is_new = |case: &&Case| !fillings.known().contains_key(case);
        // The largest first, so that the last thread does not end long after the others.
        let mut seen = HashSet::new();
        let mut missing: Vec<Case> = cases.iter().filter(is_new).filter(|case| seen.insert(**case)).copied().collect();
        missing.sort_by_key(|case| std::cmp::Reverse(case.size.k));
        let found = self.map(&missing, |case| fill(self.simulator(), case))?;
        let mut known = fillings.known();
        known.extend(missing.into_iter().zip(found.into_iter().map(Arc::new)));
        let take = |case| known.get(case).cloned().ok_or(Failed::Stopped);
        cases.iter().map(take).collect()
    }
}

/// The network of a case.
fn network(case: &Case) -> Result<Network, Failed> {
    let queues = case.system.queues(case.size.queues);
    let buffer = Cabling::published_buffer(queues).ok_or_else(|| Failed::broken("no published buffer"))?;
    let cabling = Cabling { switch_port: PortSpec::uniform(queues, buffer), ..Cabling::default() };
    let spec =
        FatTree { k: case.size.k, hosts_per_edge: Some(case.size.hosts_per_edge), cabling, ..FatTree::default() };
    build::fat_tree(&spec).map_err(Failed::broken)
}

fn fill(simulator: &Simulator, case: &Case) -> Result<FillResult, Failed> {
    let network = Arc::new(network(case)?);
    fill_with(simulator, case, &network, RequestMix::new(&network, case.scenario, case.seed))
}

/// Fills the network of a case with the requests of the Java program that ran the published controller.
pub(super) fn fill_as_published(simulator: &Simulator, case: &Case) -> Result<FillResult, Failed> {
    let network = Arc::new(network(case)?);
    fill_with(simulator, case, &network, JavaMix::new(&network, case.scenario, case.seed))
}

fn fill_with(
    simulator: &Simulator,
    case: &Case,
    network: &Arc<Network>,
    requests: impl Iterator<Item = LatencyContract>,
) -> Result<FillResult, Failed> {
    let mut scheme = case.system.scheme(network)?;
    let model = case.system.model();
    let mut filling = FillResult {
        accepted: 0,
        fates: Vec::new(),
        utilisation: Vec::new(),
        times_ns: Vec::new(),
        moved: Vec::new(),
        is_hopeless: false,
    };
    let mut moves: HashMap<FlowId, u32> = HashMap::new();
    let mut flows = Vec::new();
    for contract in requests.take(MAX_REQUESTS) {
        simulator.check()?;
        let request = wayleave_schemes::request(&contract, &model);
        let start = Instant::now();
        let decision = scheme.admit(&request);
        filling.times_ns.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
        let Ok(decision) = decision else {
            filling.is_hopeless =
                matches!(case.system, System::Silo(_)) && !case.system.scheme(network)?.would_admit(&request);
            break;
        };
        filling.accepted += 1;
        if matches!(case.system, System::Rerouting(_)) {
            filling.moved.push(decision.moved.len() as u32);
        }
        for moved in decision.moved {
            *moves.entry(moved.flow).or_default() += 1;
        }
        let category = Category::of(&contract).ok_or_else(|| Failed::broken("a request without a category"))?;
        let (rate, burst, deadline) = (contract.rate, contract.burst, contract.deadline);
        flows.push((decision.flow, AdmittedFlowFate { category, rate, burst, deadline, moves: 0 }));
    }
    if case.size == SMALL {
        let moved = |(flow, fate): (FlowId, AdmittedFlowFate)| AdmittedFlowFate {
            moves: moves.get(&flow).copied().unwrap_or(0),
            ..fate
        };
        filling.fates = flows.into_iter().map(moved).collect();
        filling.utilisation = utilisation(&scheme, network);
    }
    Ok(filling)
}

/// Reserved share of each link between switches: the links of hosts are left out (5.1.4).
fn utilisation(scheme: &Scheme, network: &Network) -> Vec<f64> {
    let mut reserved = vec![0_u64; network.links().len()];
    for held in scheme.flows().into_iter().filter_map(|flow| scheme.held(flow)) {
        for hop in &held.route.hops {
            reserved[hop.link.index()] += held.demand.rate.bits_per_second();
        }
    }
    let is_inner = |link: &Link| [link.from, link.to].iter().all(|&node| network.node(node).kind == NodeKind::Switch);
    let share = |(id, link): (LinkId, &Link)| reserved[id.index()] as f64 / link.rate.bits_per_second() as f64;
    network.links().filter(|(_, link)| is_inner(link)).map(share).collect()
}
