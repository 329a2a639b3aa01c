//! Budgets, queues, costs and rerouting fitted to a mix of contracts, judged on seeds that have not fitted them.

mod json;
mod table;
mod tuned;

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use wayleave_contracts::{Contract, LatencyContract, RequestMix as Drawn};
use wayleave_ledger::{LedgerError, Model};
use wayleave_schemes::admission::chameleon::{Allocation, Params};
use wayleave_schemes::tune::bound::Cuts;
use wayleave_schemes::tune::{
    Candidate, PortDivision, SearchBudget, TuneObjective, TuneSample, TunedMethod, climb, judge, starts,
};
use wayleave_topology::{Link, LinkId, NodeKind};

use crate::contracts::Contracts;
use crate::error::Error;
use crate::network::Network;
use crate::plan::BudgetAdvice;
use crate::progress::{ProgressStep, Watch};
use crate::schemes::{PlanOptions, SchemeOptions};
use crate::session::Session;

pub use tuned::{Ceiling, Tuned, TunedPorts};

/// Longer lists are not drawn: a refusal that comes later is not waited for.
const MAX_REQUESTS: usize = 2_000_000;

/// Contracts to be admitted.
#[derive(Clone, Copy, Debug)]
pub enum TuneMix<'a> {
    /// One of the eight scenarios of Chameleon's Table 2, from 1.
    Scenario(usize),
    /// These, in an order that each seed shuffles.
    Contracts(&'a Contracts),
}

/// Objective, seeds and effort of a tuning.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TuneOptions {
    objective: TuneObjective,
    train: u64,
    judge: u64,
    seed: u64,
    candidates: usize,
    list: usize,
    threads: NonZeroUsize,
    model: Model,
}

impl Default for TuneOptions {
    fn default() -> Self {
        Self {
            objective: TuneObjective::UntilRefusal,
            train: 4,
            judge: 10,
            seed: 1,
            candidates: 60,
            list: 5,
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            model: Model::default(),
        }
    }
}

impl TuneOptions {
    /// Sets the objective.
    #[must_use]
    pub const fn with_objective(self, objective: TuneObjective) -> Self {
        Self { objective, ..self }
    }

    /// Sets the number of training seeds; at least 1.
    #[must_use]
    pub const fn with_train(self, train: u64) -> Self {
        Self { train, ..self }
    }

    /// Sets the number of evaluation seeds; at least 1.
    #[must_use]
    pub const fn with_judge(self, judge: u64) -> Self {
        Self { judge, ..self }
    }

    /// Sets the first training seed. Evaluation seeds follow the last training seed.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the maximum number of candidates.
    #[must_use]
    pub const fn with_candidates(self, candidates: usize) -> Self {
        Self { candidates, ..self }
    }

    /// Sets the length of the evaluation list, in lists until the first refusal; at least 1.
    #[must_use]
    pub const fn with_list(self, list: usize) -> Self {
        Self { list, ..self }
    }

    /// Sets the number of concurrent candidates. Results do not depend on it.
    #[must_use]
    pub const fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the network model.
    #[must_use]
    pub const fn with_model(self, model: Model) -> Self {
        Self { model, ..self }
    }
}

/// Candidates are filled with request lists until one is refused, and changed step by step as long as that admits more.
/// Other seeds judge what was found beside the paper's method, with and without rerouting.
///
/// # Errors
/// If the network has fewer than two hosts, there is no such scenario, a count is zero, or queues do not fit the model.
///
/// ```
/// use wayleave::{TuneMix, Network, Watch, TuneOptions, tune};
/// let network = Network::open("leaf-spine:leaves=2,spines=1,hosts=2,queues=4")?;
/// let options = TuneOptions::default().with_train(1).with_judge(2).with_candidates(2);
/// let tuned = tune(&network, TuneMix::Scenario(8), &options, &mut Watch::none())?;
/// println!("{}", tuned.options().unwrap_or_else(|| "the defaults are best".to_owned()));
/// # Ok::<(), wayleave::Error>(())
/// ```
pub fn tune(network: &Network, mix: TuneMix<'_>, options: &TuneOptions, watch: &mut Watch<'_>) -> Result<Tuned, Error> {
    let &TuneOptions { objective, train, judge: judging, seed, candidates, list, threads, model } = options;
    let kinds = matches!(mix, TuneMix::Contracts(contracts) if contracts.has_other_kinds());
    let network = &if kinds { network.with_classes()? } else { network.clone() };
    let graph = &network.graph;
    if graph.hosts().count() < 2 {
        return Err(Error::Usage("contracts need at least two hosts, but the network has fewer".into()));
    }
    if train == 0 || judging == 0 || list == 0 {
        return Err(Error::Usage(
            "at least one training seed, one test seed and one pass over the list are needed".into(),
        ));
    }
    if let TuneMix::Scenario(scenario) = mix
        && !(1..=8).contains(&scenario)
    {
        return Err(Error::Usage(format!("no scenario {scenario}: expected 1 to 8")));
    }
    let sample = |seed: u64| draw(graph, mix, model, list, seed);
    let training: Vec<TuneSample> = (seed..seed + train).map(sample).collect();
    let judges: Vec<TuneSample> = (seed + train..seed + train + judging).map(sample).collect();
    let effort = SearchBudget { candidates, threads: threads.get(), list };
    let fits = |error: LedgerError| Error::Usage(error.to_string());
    let report =
        |number: usize, method: &TunedMethod| watch.step(ProgressStep::Candidate { number, value: method.value });
    let division = graph.classes().map(|&classes| PortDivision::new(classes, kinds));
    let mut candidates = starts(division);
    let fitted = match mix {
        TuneMix::Contracts(contracts) => fitted(network, contracts, model, division)?,
        TuneMix::Scenario(_) => None,
    };
    candidates.extend(fitted.map(|candidate| ("fitted".to_owned(), candidate)));
    let tried = climb(&training, candidates.clone(), objective, effort, report).map_err(fits)?;
    if let Some(best) = tried.first().filter(|best| candidates.iter().all(|(_, known)| *known != best.candidate)) {
        candidates.push(("tuned".to_owned(), best.candidate.clone()));
    }
    let known = candidates.iter().map(|(_, candidate)| candidate);
    let first = TuneSample::cut_to(&judges[..1], known, list, threads.get()).map_err(fits)?;
    let ceiling = first.first().filter(|_| division.is_none()).and_then(|sample| ceiling(graph, sample));
    let report = |method: &str| watch.step(ProgressStep::Judging { method });
    let verdict = judge(&judges, candidates, objective, (list, threads.get()), report).map_err(fits)?;
    let bounds = judges.iter().map(|sample| {
        // Cuts count what latency contracts reserve, and nothing else.
        let requests = sample.requests.iter().filter_map(|(ask, _)| ask.latency().cloned());
        Cuts::new(graph).until_refusal(requests).filter(|_| division.is_none())
    });
    let chosen = verdict.summaries.get(verdict.choice).map(|summary| &summary.candidate);
    Ok(Tuned {
        ports: chosen.map_or_else(Vec::new, |chosen| port_budgets(graph, &model, chosen)),
        topology: network.name.clone(),
        mix: match mix {
            TuneMix::Scenario(scenario) => format!("scenario {scenario}"),
            TuneMix::Contracts(contracts) => contracts.sources().join(", "),
        },
        objective,
        seeds: [(seed, train), (seed + train, judging)],
        list,
        bounds: bounds.collect(),
        ceiling,
        tried,
        verdict,
        has_categories: judges.iter().any(|sample| sample.requests.iter().any(|(_, category)| category.is_some())),
    })
}

/// Returns a candidate with budgets that `plan` advises for a list, if the defaults refuse some of it. It changes the
/// first budgets of hosts and of switches together, which no single step does.
fn fitted(
    network: &Network,
    contracts: &Contracts,
    model: Model,
    division: Option<PortDivision>,
) -> Result<Option<Candidate>, Error> {
    let scheme = SchemeOptions::named(if division.is_some() { "fabric" } else { "chameleon" })?;
    let options = PlanOptions::default().with_scheme(scheme).with_model(model);
    let mut session = Session::open(network, &options)?;
    let mut admitted = 0;
    for (_, contract) in contracts.all() {
        admitted += u64::from(match contract.as_latency() {
            Some(contract) => session.try_admit(contract),
            None => session.admit_share(contract).0.is_ok(),
        });
    }
    if admitted == contracts.all().count() as u64 {
        return Ok(None);
    }
    let advice = BudgetAdvice::search(&session, contracts, admitted)?;
    Ok(advice.map(|BudgetAdvice { switch, host, .. }| {
        let allocation = Allocation { switch: Some(switch), host: Some(host), ..Allocation::default() };
        Candidate { params: Params { allocation, ..Params::default() }, division }
    }))
}

/// Returns the budgets of each kind of port with a candidate: of hosts and of switches, by rate.
fn port_budgets(network: &wayleave_topology::Network, model: &Model, candidate: &Candidate) -> Vec<TunedPorts> {
    let divided = candidate.division.and_then(|division| network.clone().with_classes(division.classes).ok());
    let network = divided.as_ref().unwrap_or(network);
    let budgets = candidate.params.allocation.budgets(network, model);
    let of = |(id, link): (LinkId, &Link)| TunedPorts {
        is_host: network.node(link.from).kind == NodeKind::Host,
        rate: link.rate,
        budgets: budgets[id.index()].clone(),
    };
    let all: BTreeSet<TunedPorts> = network.links().map(of).collect();
    all.into_iter().collect()
}

/// One list, as long as a seed's first refusal and the judges need.
fn draw(
    network: &Arc<wayleave_topology::Network>,
    mix: TuneMix<'_>,
    model: Model,
    list: usize,
    seed: u64,
) -> TuneSample {
    match mix {
        TuneMix::Contracts(contracts) => {
            let mut contracts: Vec<Contract> = contracts.all().map(|(_, contract)| contract.clone()).collect();
            contracts.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
            TuneSample::new(network.clone(), model, contracts.into_iter())
        }
        TuneMix::Scenario(scenario) => {
            let mix = || Drawn::new(network, scenario, seed);
            let ask = |contract: LatencyContract| wayleave_schemes::request(&contract, &model);
            let most = Cuts::new(network).until_refusal(mix().map(ask).take(MAX_REQUESTS)).unwrap_or(MAX_REQUESTS);
            let length = (most + 1).saturating_mul(list).min(MAX_REQUESTS);
            TuneSample::new(network.clone(), model, mix().take(length).map(Contract::Latency))
        }
    }
}

/// Returns the maximum of a list that link rates permit, with any split of any flow over any routes. `None` if the
/// linear program would be too large, or without the feature `lp`.
#[cfg(feature = "lp")]
fn ceiling(network: &wayleave_topology::Network, sample: &TuneSample) -> Option<Ceiling> {
    use num_traits::ToPrimitive;
    use wayleave_calculus::lp::{CapacityLink, RequestedRate, admitted_upper_bound};
    use wayleave_scheme_api::Request;
    use wayleave_units::Rate;

    let capacity = |(_, link): (_, &wayleave_topology::Link)| CapacityLink {
        from: link.from.index(),
        to: link.to.index(),
        capacity: link.rate,
    };
    let links: Vec<CapacityLink> = network.links().map(capacity).collect();
    let most = |weigh: fn(Rate) -> u64| {
        let demand = |request: &Request| RequestedRate {
            source: request.from.index(),
            sink: request.to.index(),
            rate: request.rate,
            weight: weigh(request.rate),
        };
        let latency = sample.requests.iter().filter_map(|(ask, _)| ask.latency());
        let demands: Vec<RequestedRate> = latency.map(demand).collect();
        admitted_upper_bound(network.nodes().count(), &links, &demands).ok()?.weight.to_f64()
    };
    let (flows, rate) = (most(|_| 1)?, most(|rate| rate.bits_per_second())?);
    Some(Ceiling { offered: sample.requests.len(), flows, rate })
}

#[cfg(not(feature = "lp"))]
fn ceiling(_network: &wayleave_topology::Network, _sample: &TuneSample) -> Option<Ceiling> {
    None
}
