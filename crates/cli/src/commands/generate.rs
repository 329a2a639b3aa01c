//! `wayleave generate`: random contract lists in the mixes of Chameleon's evaluation, to try things with.

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};
use wayleave_contracts::{LatencyContract, RequestMix};
use wayleave_explain::sentences;
use wayleave_formats::{csv_field, write_contracts};
use wayleave_topology::Network;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::import_args::ImportArgs;
use crate::output::out;

const EXAMPLE: &str = "\
Example:
  wayleave generate contracts -t fat-tree:k=4 --scenario 8 --count 1000 --seed 1 > contracts.yaml";

/// Generate random inputs
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum GenerateCommand {
    Contracts(ContractsArgs),
}

/// Generate a random list of contracts
///
/// The flow types are those of Table 1 of Chameleon (CoNEXT 2020), in the mixes of its Table 2.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ContractsArgs {
    /// Topology of the hosts: a file or a builder
    #[arg(short, long, value_name = "FILE|BUILDER")]
    topology: String,
    /// Mix of flow types (Table 2 of Chameleon)
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=8))]
    scenario: u64,
    /// Number of contracts
    #[arg(long, default_value_t = 1000)]
    count: usize,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: ListFormat,
    #[command(flatten)]
    import: ImportArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum ListFormat {
    #[default]
    Yaml,
    Csv,
}

/// Runs the command.
pub(crate) fn run(command: &GenerateCommand) -> Result<Exit, Failure> {
    let GenerateCommand::Contracts(args) = command;
    contracts(args)
}

/// Runs `generate contracts`.
pub(crate) fn contracts(args: &ContractsArgs) -> Result<Exit, Failure> {
    let network = args.import.network(&args.topology)?.graph;
    if network.hosts().count() < 2 {
        return Err(Failure::Usage("contracts need at least two hosts, but the network has fewer".into()));
    }
    let mix = RequestMix::new(&network, args.scenario as usize, args.seed).take(args.count);
    let mut out = out();
    match args.format {
        ListFormat::Yaml => {
            let contracts: Vec<LatencyContract> = mix.collect();
            let name = format!("scenario-{}-seed-{}", args.scenario, args.seed);
            out.write_all(write_contracts(&contracts, &network, &name).as_bytes())?;
        }
        ListFormat::Csv => {
            writeln!(out, "name,from,to,rate,burst,deadline")?;
            for contract in mix {
                writeln!(out, "{}", row(&contract, &network))?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn row(contract: &LatencyContract, network: &Network) -> String {
    let LatencyContract { name, rate, burst, deadline, .. } = contract;
    let (from, to) = (sentences::name(network, contract.from), sentences::name(network, contract.to));
    format!("{},{},{},{rate},{burst},{deadline}", csv_field(name), csv_field(from), csv_field(to))
}
