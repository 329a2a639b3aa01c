//! `wayleave tune`: budgets, queues, costs and rerouting fitted to a mix of contracts, judged on seeds that have not
//! fitted them.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use num_traits::ToPrimitive;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use wayleave_calculus::lp::{CapacityLink, Demand, admitted_upper_bound};
use wayleave_contracts::{Contract, Mix};
use wayleave_ledger::Model;
use wayleave_roles::Request;
use wayleave_schemes::tune::bound::Cuts;
use wayleave_schemes::tune::{Effort, Objective, Sample, climb, judge, methods};
use wayleave_topology::Network;
use wayleave_units::Rate;

use crate::args::OutputFormat;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::{Lists, NetworkArgs};
use crate::model_args::ModelArgs;
use crate::tune::{Ceiling, Report, json, table};

const EXAMPLE: &str = "\
Examples:
  wayleave tune -t fat-tree:k=4 --scenario 8
  wayleave tune -t fat-tree:k=4,hostQueues=3 --scenario 1 --objective rate --candidates 200
  wayleave tune -t network.yaml -f contracts.yaml";

/// Fit delay budgets, queues, costs and rerouting to a mix of contracts
///
/// Candidates are filled with request lists until one is refused, and changed step by step as long as that admits more.
/// Other seeds judge what was found beside the paper's method, with and without rerouting; what is recommended is best
/// there. The bound is what the rates of links alone would let in, by any method.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct TuneArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// The mix: one of the eight scenarios of Chameleon's Table 2
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=8), conflicts_with = "files")]
    scenario: u64,
    /// The mix: your own contracts, in an order that each seed shuffles
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<String>,
    /// What is to be large
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    objective: ObjectiveName,
    /// How many seeds train
    #[arg(long, default_value_t = 4, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    train: u64,
    /// How many seeds judge
    #[arg(long, default_value_t = 10, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    judge: u64,
    /// The first training seed; those that judge follow the last one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many candidates are tried at most
    #[arg(long, default_value_t = 60, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    candidates: u64,
    /// How many times the list until the first refusal is offered when a method is judged
    #[arg(long, default_value_t = 5, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..=100))]
    list: u64,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ObjectiveName {
    /// Flows until the first refusal
    #[default]
    UntilRefusal,
    /// Flows out of a long list
    Flows,
    /// Their bit rate
    Rate,
}

/// Longer lists are not drawn: a refusal that comes later is not waited for.
const MOST_REQUESTS: usize = 2_000_000;

/// Runs the command.
pub(crate) fn run(args: &TuneArgs) -> Result<Exit, Failure> {
    let (name, network) = args.network.read()?;
    if network.hosts().count() < 2 {
        return Err(Failure::Usage("contracts join two hosts, and the network has fewer".into()));
    }
    let model = args.model.model()?;
    let own = own_contracts(args, &network)?;
    let sample = |seed: u64| draw(args, &network, model, own.as_deref(), seed);
    let train: Vec<Sample> = (args.seed..args.seed + args.train).map(sample).collect();
    let judging: Vec<Sample> = (args.seed + args.train..args.seed + args.train + args.judge).map(sample).collect();
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = args.threads.map_or_else(cores, |threads| threads as usize);
    let list = args.list as usize;
    let effort = Effort { candidates: args.candidates as usize, threads, list };
    let objective = args.objective.objective();
    let fits = |error: wayleave_ledger::LedgerError| Failure::Usage(error.to_string());
    let mut progress = crate::tune::Steps::new(args.candidates);
    let tried = climb(&train, objective, effort, |at, method| progress.candidate(at, method)).map_err(fits)?;
    let mut candidates: Vec<_> = methods().map(|(name, params)| (name.to_owned(), params)).into();
    if let Some(best) = tried.first().filter(|best| candidates.iter().all(|(_, params)| *params != best.params)) {
        candidates.push(("tuned".to_owned(), best.params.clone()));
    }
    let params = candidates.iter().map(|(_, params)| params);
    let first = Sample::cut_to(&judging[..1], params, list, threads).map_err(fits)?;
    let ceiling = first.first().and_then(|sample| ceiling(&network, sample));
    let verdict =
        judge(&judging, candidates, objective, (list, threads), |name| progress.judging(name)).map_err(fits)?;
    drop(progress);
    let bounds = judging.iter().map(|sample| {
        let requests = sample.requests.iter().map(|(request, _)| request.clone());
        Cuts::new(&network).until_refusal(requests)
    });
    let report = Report {
        topology: name,
        mix: if args.files.is_empty() { format!("scenario {}", args.scenario) } else { args.files.join(", ") },
        objective,
        seeds: [(args.seed, args.train), (args.seed + args.train, args.judge)],
        list,
        bounds: bounds.collect(),
        ceiling,
        tried,
        verdict,
        has_categories: judging.iter().any(|sample| sample.requests.iter().any(|(_, category)| category.is_some())),
    };
    match args.output {
        OutputFormat::Table => table::print(&report)?,
        OutputFormat::Json => json::print(&report)?,
    }
    Ok(Exit::Fine)
}

fn own_contracts(args: &TuneArgs, network: &Network) -> Result<Option<Vec<Contract>>, Failure> {
    if args.files.is_empty() {
        return Ok(None);
    }
    let contracts: Vec<Contract> =
        Lists::read(&args.files, network)?.iter().map(|(_, contract)| contract.clone()).collect();
    if contracts.is_empty() {
        return Err(Failure::Usage(format!("there are no contracts in {}", args.files.join(", "))));
    }
    Ok(Some(contracts))
}

/// One list, as long as a seed's first refusal and the judges need.
fn draw(args: &TuneArgs, network: &Arc<Network>, model: Model, own: Option<&[Contract]>, seed: u64) -> Sample {
    match own {
        Some(contracts) => {
            let mut contracts = contracts.to_vec();
            contracts.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
            Sample::new(network.clone(), model, contracts.into_iter())
        }
        None => {
            let mix = || Mix::new(network, args.scenario as usize, seed);
            let ask = |contract: Contract| wayleave_schemes::request(&contract, &model);
            let most = Cuts::new(network).until_refusal(mix().map(ask).take(MOST_REQUESTS)).unwrap_or(MOST_REQUESTS);
            let length = (most + 1).saturating_mul(args.list as usize).min(MOST_REQUESTS);
            Sample::new(network.clone(), model, mix().take(length))
        }
    }
}

/// What link rates let in of a list at most, with any split of any flow over any routes; `None` where the linear program
/// would be too large.
fn ceiling(network: &Network, sample: &Sample) -> Option<Ceiling> {
    let capacity = |(_, link): (_, &wayleave_topology::Link)| CapacityLink {
        from: link.from.index(),
        to: link.to.index(),
        capacity: link.rate,
    };
    let links: Vec<CapacityLink> = network.links().map(capacity).collect();
    let most = |weigh: fn(Rate) -> u64| {
        let demand = |(request, _): &(Request, _)| Demand {
            source: request.from.index(),
            sink: request.to.index(),
            rate: request.rate,
            weight: weigh(request.rate),
        };
        let demands: Vec<Demand> = sample.requests.iter().map(demand).collect();
        admitted_upper_bound(network.nodes().count(), &links, &demands).ok()?.weight.to_f64()
    };
    let (flows, rate) = (most(|_| 1)?, most(|rate| rate.bits_per_second())?);
    Some(Ceiling { offered: sample.requests.len(), flows, rate })
}

impl ObjectiveName {
    fn objective(self) -> Objective {
        match self {
            Self::UntilRefusal => Objective::UntilRefusal,
            Self::Flows => Objective::Flows,
            Self::Rate => Objective::Rate,
        }
    }
}
