//! The search for parameters: the methods as they are, then steps from the best of them as long as one helps.

use std::cmp::Reverse;

use wayleave_ledger::{LedgerError, Model};
use wayleave_topology::{MAX_BUDGET, Network, NodeKind};
use wayleave_units::Time;

use crate::admission::chameleon::{Allocation, Params, Rerouting, Routing};
use crate::costs::Scarcity;
use crate::tune::candidate::{Candidate, PortDivision};
use crate::tune::fill::{ListLength, Score, TuneObjective, TuneSample, fill_all};

/// A candidate with a name, and their result on the training samples.
#[derive(Clone, Debug)]
pub struct TunedMethod {
    /// As it is called in tables.
    pub name: String,
    /// The candidate.
    pub candidate: Candidate,
    /// The mean of the objective.
    pub value: f64,
}

/// Effort limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchBudget {
    /// The most candidates that are tried.
    pub candidates: usize,
    /// Threads.
    pub threads: usize,
    /// Length of the offered list, as a multiple of the list until the first refusal, if the objective includes later
    /// requests.
    pub list: usize,
}

/// Returns the methods that are compared before tuning: the paper's method and ours, each with and without rerouting.
pub fn methods() -> [(&'static str, Params); 4] {
    let rerouting = |how: Rerouting, params: Params| Params { rerouting: Some(how), ..params };
    [
        ("paper", Params::published()),
        ("paper, rerouting", rerouting(Rerouting::default(), Params::published())),
        ("scarcity", Params::default()),
        ("scarcity, rerouting", rerouting(Rerouting::with_tightening(), Params::default())),
    ]
}

/// Returns the methods as candidates. If queues are divided among classes, the scheme for all kinds has only one
/// route search.
pub fn starts(division: Option<PortDivision>) -> Vec<(String, Candidate)> {
    let usual = Params::default().routing;
    let is_there = |(_, params): &(&str, Params)| division.is_none() || params.routing == usual;
    let methods = methods().into_iter().filter(is_there);
    methods.map(|(name, params)| (name.to_owned(), Candidate { params, division })).collect()
}

/// Returns every candidate that was tried, best first; calls `seen` for each when it is done. The first candidates are
/// `starts`, which divide queues alike.
///
/// # Errors
/// Never for samples on one network: steps keep to budgets that it can have.
pub fn climb(
    samples: &[TuneSample],
    starts: Vec<(String, Candidate)>,
    objective: TuneObjective,
    effort: SearchBudget,
    mut seen: impl FnMut(usize, &TunedMethod),
) -> Result<Vec<TunedMethod>, LedgerError> {
    let division = starts.first().and_then(|(_, candidate)| candidate.division);
    let (length, samples) = if objective.needs_whole_list() {
        let candidates = starts.iter().map(|(_, candidate)| candidate);
        (ListLength::Whole, TuneSample::cut_to(samples, candidates, effort.list, effort.threads)?)
    } else {
        (ListLength::FirstRefusal, samples.to_vec())
    };
    let mut tried: Vec<TunedMethod> = Vec::new();
    let mut attempt = |name: String, candidate: Candidate, tried: &mut Vec<TunedMethod>| -> Result<f64, LedgerError> {
        let scores = fill_all(&samples, &candidate, length, effort.threads)?;
        let value = mean(&scores, objective);
        tried.push(TunedMethod { name, candidate, value });
        if let Some(method) = tried.last() {
            seen(tried.len(), method);
        }
        Ok(value)
    };
    for (name, candidate) in starts {
        attempt(name, candidate, &mut tried)?;
    }
    let Some((network, model)) = samples.first().map(|sample| (&sample.network, &sample.model)) else {
        return Ok(tried);
    };
    let best = |tried: &[TunedMethod]| tried.iter().max_by(|a, b| a.value.total_cmp(&b.value)).cloned();
    let Some(mut here) = best(&tried) else { return Ok(tried) };
    let allocation = &mut here.candidate.params.allocation;
    let divided = division.and_then(|division| (**network).clone().with_classes(division.classes).ok());
    *allocation = spelled_out(allocation, divided.as_ref().unwrap_or(network), model);
    let mut has_moved = true;
    while has_moved && tried.len() < effort.candidates {
        has_moved = false;
        for (step, candidate) in around(&here.candidate, network) {
            if tried.len() >= effort.candidates {
                break;
            }
            if tried.iter().any(|method| method.candidate == candidate) {
                continue;
            }
            let value = attempt(step.clone(), candidate.clone(), &mut tried)?;
            if value > here.value {
                here = TunedMethod { name: step, candidate, value };
                has_moved = true;
            }
        }
    }
    tried.sort_by(|a, b| b.value.total_cmp(&a.value));
    Ok(tried)
}

fn mean(scores: &[Score], objective: TuneObjective) -> f64 {
    scores.iter().map(|score| objective.of(score)).sum::<f64>() / scores.len().max(1) as f64
}

/// Returns default budgets written out, so that each can be changed: those of the slowest port with most queues.
fn spelled_out(allocation: &Allocation, network: &Network, model: &Model) -> Allocation {
    let budgets = allocation.budgets(network, model);
    let of = |kind: NodeKind| {
        let ports = network.links().filter(|(_, link)| network.node(link.from).kind == kind);
        let slowest = ports.max_by_key(|(id, link)| (budgets[id.index()].len(), Reverse(link.rate), Reverse(*id)));
        slowest.map(|(id, _)| budgets[id.index()].clone()).filter(|budgets| !budgets.is_empty())
    };
    Allocation {
        switch: allocation.switch.clone().or_else(|| of(NodeKind::Switch)),
        host: allocation.host.clone().or_else(|| of(NodeKind::Host)),
        ..allocation.clone()
    }
}

/// Returns the candidates that differ by one change: of weights first, which decide for most.
fn around(here: &Candidate, network: &Network) -> Vec<(String, Candidate)> {
    let weights = here.division.iter().flat_map(PortDivision::steps);
    let weights = weights.map(|(name, division)| (name, Candidate { division: Some(division), ..here.clone() }));
    let is_there = |(_, params): &(String, Params)| here.division.is_none() || params.routing == here.params.routing;
    let params = steps(&here.params, network).into_iter().filter(is_there);
    let params = params.map(|(name, params)| (name, Candidate { params, ..here.clone() }));
    weights.chain(params).collect()
}

/// One change of one parameter at a time, the ones that matter most first.
fn steps(params: &Params, network: &Network) -> Vec<(String, Params)> {
    let mut steps = Vec::new();
    let allocation = &params.allocation;
    let with_host = |host: Vec<Time>| Params {
        allocation: Allocation { host: Some(host), ..allocation.clone() },
        ..params.clone()
    };
    let with_switch = |switch: Vec<Time>| Params {
        allocation: Allocation { switch: Some(switch), ..allocation.clone() },
        ..params.clone()
    };
    let host = allocation.host.clone().unwrap_or_default();
    for host in changed(&host, host_queues(network)) {
        steps.push((format!("host budgets {}", list(&host)), with_host(host)));
    }
    let switch = allocation.switch.clone().unwrap_or_default();
    for switch in changed(&switch, switch.len()) {
        steps.push((format!("switch budgets {}", list(&switch)), with_switch(switch)));
    }
    if let Routing::Scarcity(scarcity) = params.routing {
        let steep = [scarcity.steepness / 1.5, scarcity.steepness * 1.5];
        let dormant = [scarcity.dormant - 0.2, scarcity.dormant + 0.2].map(|dormant| dormant.clamp(0.0, 1.0));
        let large = [scarcity.large / 2.0, scarcity.large * 2.0];
        let all = steep
            .map(|steepness| (format!("steepness {steepness:.1}"), Scarcity { steepness, ..scarcity }))
            .into_iter()
            .chain(dormant.map(|dormant| (format!("dormant {dormant:.1}"), Scarcity { dormant, ..scarcity })))
            .chain(large.map(|large| (format!("large {large:.3}"), Scarcity { large, ..scarcity })));
        steps.extend(all.map(|(name, to)| (name, Params { routing: Routing::Scarcity(to), ..params.clone() })));
    }
    steps
}

/// The queues that hosts have for contracts.
fn host_queues(network: &Network) -> usize {
    let ports = network.links().filter(|(_, link)| network.node(link.from).kind == NodeKind::Host);
    ports.map(|(_, link)| network.port(link.port).queues.len()).min().unwrap_or(0)
}

/// Each budget shorter and longer, one queue less, and one more as far as there are any; budgets grow with the queues.
fn changed(budgets: &[Time], most: usize) -> Vec<Vec<Time>> {
    let scaled = |budget: Time, (times, by): (u64, u64)| Time::from_nanos(budget.as_nanos() * times / by);
    let mut all: Vec<Vec<Time>> = Vec::new();
    for (at, &budget) in budgets.iter().enumerate() {
        for factor in [(1, 2), (2, 3), (3, 2), (2, 1)] {
            let mut next = budgets.to_vec();
            next[at] = scaled(budget, factor);
            all.push(next);
        }
    }
    if budgets.len() > 1 {
        all.extend((0..budgets.len()).map(|gone| {
            let kept = budgets.iter().enumerate().filter(|&(at, _)| at != gone);
            kept.map(|(_, &budget)| budget).collect()
        }));
    }
    if let Some(&last) = budgets.last().filter(|_| budgets.len() < most) {
        all.push(budgets.iter().copied().chain([scaled(last, (4, 1))]).collect());
    }
    let sound = |budgets: &Vec<Time>| {
        budgets.is_sorted_by(|a, b| a < b) && budgets.iter().all(|&budget| budget > Time::ZERO && budget <= MAX_BUDGET)
    };
    all.retain(sound);
    all
}

fn list(budgets: &[Time]) -> String {
    budgets.iter().map(|budget| format!("{budget:#}")).collect::<Vec<_>>().join(", ")
}
