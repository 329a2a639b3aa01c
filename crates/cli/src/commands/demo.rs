//! `wayleave demo`: one list of requests, offered to Wayleave and to Silo side by side; text, a picture and a page.
//!
//! The setting is that of Chameleon's evaluation (CoNEXT 2020, section 5.1) in the default model: a k = 4 fat tree, the
//! flow types of Table 1, the mixes of Table 2. A contender is a set of options of `wayleave plan`, so whatever is
//! shown can be done again with the other commands. [`trial`] offers the list, [`survey`] looks at what is reserved
//! then, [`verification`] drives it packet by packet, and [`crate::report`] turns all of it into text and pictures.

mod serving;
mod survey;
#[cfg(test)]
mod tests;
mod trial;
mod verification;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use wayleave_contracts::{Contract, Mix};
use wayleave_formats::parse_builder;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{is_colourful, out};
use crate::progress::Progress;
use crate::report::findings::{Contender, DecisionRow, Findings, Setting};
use crate::report::svg::{self, Ground};
use crate::report::terminal::{self, Paint};
use crate::report::{network_figure, page};
use trial::{Entrant, Trial};

/// 16 hosts and eight queues a port, as in Chameleon, section 5.1.
const TOPOLOGY: &str = "fat-tree:k=4,queues=8";
/// As many decisions as a reader of the page looks at.
const DECISIONS: usize = 30;

const EXAMPLE: &str = "\
Examples:
  wayleave demo --scenario 8 --seed 1 --out wayleave-demo
  wayleave demo --serve --count 500";

/// Offer one list of requests to Wayleave and to Silo on a fat tree: text, a picture and a page, in seconds
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DemoArgs {
    /// The mix of the requests: Table 2 of Chameleon (CoNEXT 2020)
    #[arg(long, value_name = "1 TO 8", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=8))]
    scenario: u8,
    /// The same seed gives the same requests
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many requests
    #[arg(long, default_value_t = 2500, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    count: u32,
    /// How many admitted flows Wayleave tries to move at most to make room for a request
    #[arg(long, visible_alias = "reroute-limit", value_name = "LIMIT", default_value_t = trial::USUAL_LIMIT,
        num_args = 0..=1, default_missing_value = "20")]
    reroute: u32,
    /// Where report.html and reservations.svg are written
    #[arg(long, value_name = "DIRECTORY", default_value = "wayleave-demo")]
    out: PathBuf,
    /// Leave a controller running with the contracts instead: no text, no picture; Ctrl-C ends it
    #[arg(long)]
    serve: bool,
    /// The ledger of that controller [default: one that is gone in the end]
    #[arg(long, value_name = "FILE", requires = "serve")]
    ledger: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    if args.serve {
        return serving::run(args);
    }
    let findings = findings(args)?;
    let [report, picture] = write_files(&args.out, &findings)?;
    let paint = if is_colourful() { Paint::Ansi } else { Paint::Plain };
    let mut out = out();
    out.write_all(terminal::render(&findings, &report, &picture, paint).as_bytes())?;
    out.flush()?;
    Ok(if findings.violations().next().is_none() { Exit::Fine } else { Exit::Unsound })
}

/// Writes the page and the picture and says where they are.
fn write_files(directory: &Path, findings: &Findings) -> Result<[String; 2], Failure> {
    let picture = svg::file(&network_figure::draw(findings, Ground::File));
    Ok([write(directory, "report.html", &page::render(findings))?, write(directory, "reservations.svg", &picture)?])
}

/// Writes a file and says where it is.
fn write(directory: &Path, name: &str, text: &str) -> Result<String, Failure> {
    let path = directory.join(name);
    let written = std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| Failure::Internal(format!("{} could not be written: {error}", path.display())))?;
    Ok(path.display().to_string())
}

/// Everything that is shown.
fn findings(args: &DemoArgs) -> Result<Findings, Failure> {
    let entrants = Entrant::all(args.reroute);
    let network = parse_builder(TOPOLOGY)?.network;
    let requests: Vec<Contract> =
        Mix::new(&network, usize::from(args.scenario), args.seed).take(args.count as usize).collect();
    let mut progress = Progress::new(entrants.len() * requests.len(), false);
    let trials = entrants
        .iter()
        .map(|entrant| Trial::run(entrant, TOPOLOGY, &requests, &mut progress))
        .collect::<Result<Vec<_>, _>>()?;
    drop(progress);
    let nodes = survey::nodes(&network)?;
    let links = survey::links(&network, &nodes)?;
    let contenders: Vec<Contender> = trials.iter().map(Trial::contender).collect();
    let proof = trials.first().and_then(|trial| survey::proof(&trial.session, &requests, &trial.flows, &nodes));
    let decisions = decisions(&requests, &contenders, &trials);
    let setting = setting(args, requests.len(), &trials);
    let verified = trials.first().map(|trial| verification::run(&trial.session)).transpose()?.unwrap_or_default();
    Ok(Findings { setting, nodes, links, contenders, decisions, proof, verified })
}

fn setting(args: &DemoArgs, requests: usize, trials: &[Trial]) -> Setting {
    let &DemoArgs { scenario, seed, count, reroute, .. } = args;
    let parameters = trials.first().map_or_else(Vec::new, |trial| survey::parameters(&trial.session, reroute));
    Setting {
        version: env!("CARGO_PKG_VERSION"),
        command: format!("wayleave demo --scenario {scenario} --seed {seed} --count {count} --reroute {reroute}"),
        topology: TOPOLOGY.to_owned(),
        scenario,
        seed,
        requests,
        parameters,
    }
}

/// The first requests, then those that were a contender's first refusal.
fn decisions(requests: &[Contract], contenders: &[Contender], trials: &[Trial]) -> Vec<DecisionRow> {
    let refused = contenders.iter().filter_map(|contender| contender.first_refusal.as_ref());
    let mut shown: Vec<usize> = (0..requests.len().min(DECISIONS)).collect();
    let mut others: Vec<usize> = refused.map(|refusal| refusal.ask.number - 1).collect();
    others.sort_unstable();
    shown.extend(others.into_iter().filter(|&index| index >= DECISIONS));
    shown.dedup();
    let row = |index: usize| {
        let answers = trials.iter().filter_map(|trial| trial.answers.get(index).cloned()).collect();
        let network = trials.first().map(|trial| &trial.session.network)?;
        Some(DecisionRow { ask: survey::ask(network, index, &requests[index]), answers })
    };
    shown.into_iter().filter_map(row).collect()
}
