//! `wayleave tune`: budgets, queues, costs and rerouting fitted to a mix of contracts, judged on seeds that have not
//! fitted them.

use std::io::Write;
use std::num::NonZeroUsize;

use clap::{Args, ValueEnum};
use wayleave::{Contracts, Network, TuneMix, TuneOptions, Watch, tune};
use wayleave_schemes::tune::TuneObjective;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::NetworkArgs;
use crate::interrupt;
use crate::model_args::ModelArgs;
use crate::output::{OutputFormat, layout, out};
use crate::progress::tuning::Progress;

const EXAMPLE: &str = "\
Examples:
  wayleave tune -t fat-tree:k=4 --scenario 8
  wayleave tune -t fat-tree:k=4,hostQueues=3 --scenario 1 --objective rate --candidates 200
  wayleave tune -t network.yaml -f contracts.yaml";

/// Search delay budgets, queues, costs and rerouting for a mix of contracts
///
/// Each candidate admits request lists until the first refusal, and is changed step by step as long as it admits
/// more. The candidates and the paper's method, with and without rerouting, are then evaluated with other seeds, and
/// the best one is recommended. The upper bound is the maximum that link rates alone permit, for any method.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct TuneArgs {
    /// Mix of flow types (Table 2 of Chameleon)
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=8), conflicts_with = "files")]
    scenario: u64,
    /// Contracts in place of a mix, shuffled by each seed
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<String>,
    /// Objective
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    objective: ObjectiveName,
    /// Number of training seeds
    #[arg(long, default_value_t = 4, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    train: u64,
    /// Number of evaluation seeds
    #[arg(long, default_value_t = 10, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1000))]
    judge: u64,
    /// First training seed; evaluation seeds follow the last one
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Maximum number of candidates
    #[arg(long, default_value_t = 60, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    candidates: u64,
    /// Length of the long list, as a multiple of the flows until the first refusal
    #[arg(long, default_value_t = 5, value_name = "TIMES", value_parser = clap::value_parser!(u64).range(1..=100))]
    list: u64,
    /// Number of threads [default: number of cores]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ObjectiveName {
    /// Flows until the first refusal
    #[default]
    UntilRefusal,
    /// Flows admitted from a long list
    Flows,
    /// Bit rate admitted from a long list
    Rate,
}

/// Runs the command.
pub(crate) fn run(args: &TuneArgs) -> Result<Exit, Failure> {
    interrupt::end_without_results()?;
    let network = args.network.read()?;
    if network.graph.hosts().count() < 2 {
        return Err(Failure::Usage("contracts need at least two hosts, but the network has fewer".into()));
    }
    let options = args.options()?;
    let own = own_contracts(args, &network)?;
    let mix = own.as_ref().map_or(TuneMix::Scenario(args.scenario as usize), TuneMix::Contracts);
    let mut progress = Progress::new(args.candidates);
    let mut tuned = tune(&network, mix, &options, &mut Watch::progress(&mut progress))?;
    interrupt::results_begin();
    drop(progress);
    if own.is_some() {
        tuned.mix = args.files.join(", ");
    }
    let mut out = out();
    match args.output {
        OutputFormat::Table => tuned.write_text(&mut out, layout())?,
        OutputFormat::Json => tuned.write_json(&mut out)?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn own_contracts(args: &TuneArgs, network: &Network) -> Result<Option<Contracts>, Failure> {
    if args.files.is_empty() {
        return Ok(None);
    }
    let contracts = Contracts::read_all_kinds(&args.files, network)?;
    if contracts.is_empty() {
        return Err(Failure::Usage(format!("no contracts in {}", args.files.join(", "))));
    }
    Ok(Some(contracts))
}

impl TuneArgs {
    fn options(&self) -> Result<TuneOptions, Failure> {
        let options = TuneOptions::default()
            .with_objective(self.objective.objective())
            .with_train(self.train)
            .with_judge(self.judge)
            .with_seed(self.seed)
            .with_candidates(self.candidates as usize)
            .with_list(self.list as usize)
            .with_model(self.model.model()?);
        let threads = self.threads.and_then(|threads| NonZeroUsize::new(threads as usize));
        Ok(threads.map_or(options, |threads| options.with_threads(threads)))
    }
}

impl ObjectiveName {
    fn objective(self) -> TuneObjective {
        match self {
            Self::UntilRefusal => TuneObjective::UntilRefusal,
            Self::Flows => TuneObjective::Flows,
            Self::Rate => TuneObjective::Rate,
        }
    }
}
