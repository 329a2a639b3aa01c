//! `wayleave explain`: why one contract is admitted, term by term, or refused, with what would fit instead.

use clap::Args;
use wayleave_contracts::{Accounting, Contract};
use wayleave_policy::{Binding, Refusal};
use wayleave_schemes::refine::{Nearest, nearest};
use wayleave_schemes::routing::Query;
use wayleave_schemes::standing::Standing;
use wayleave_schemes::survey::{Survey, paths};
use wayleave_topology::Route;
use wayleave_units::{Bytes, Rate};

use crate::args::OutputFormat;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::{Lists, Place, check_stdin};
use crate::output::plan::Summary;
use crate::output::{explain_json, explain_table, words};
use crate::progress::Progress;
use crate::session::{Session, SessionArgs, Verdict};

const EXAMPLE: &str = "\
Examples:
  wayleave explain ptp-7 -t fat-tree:k=4 -f contracts.yaml
  wayleave explain hadoop-a-12 -t network.yaml -f first.csv -f second.csv -o json";

/// As many paths as are looked at for a refusal.
const MAX_PATHS: usize = 16;

/// Say why a contract is admitted, term by term, or why not and what would fit
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct ExplainArgs {
    /// The contract; those before it are decided first
    #[arg(value_name = "NAME")]
    name: String,
    /// Contracts in YAML, JSON or CSV; several files are read in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", required = true)]
    files: Vec<String>,
    /// How to print the explanation
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Everything that there is to say about one decision.
pub(crate) struct Explanation<'a> {
    pub(crate) contract: &'a Contract,
    pub(crate) verdict: &'a Verdict,
    /// Of the contracts before it.
    pub(crate) before: &'a Summary,
    pub(crate) refused: Option<Refused>,
}

/// What is looked up for a refusal.
pub(crate) struct Refused {
    /// What each queue of the link that stands in the way would break, highest priority first.
    pub(crate) at_binding: Vec<Option<Binding>>,
    /// Where queues are reserved: the paths, each with what its queues offer.
    pub(crate) survey: Option<Survey>,
    /// In the contract's own way of counting.
    pub(crate) nearest: Nearest,
}

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    check_stdin(args.files.iter().chain([&args.session.network.topology]).map(String::as_str))?;
    let mut session = Session::open(&args.session)?;
    let lists = Lists::read(&args.files, &session.network)?;
    let (place, contract) = find(&lists, &args.name)?;
    let before = decide_those_before(&mut session, &lists, &args.name, args.progress);
    let verdict = session.admit(contract);
    let refused = verdict.decision.is_err().then(|| look_around(&mut session, contract, &verdict));
    let explanation = Explanation { contract, verdict: &verdict, before: &before, refused };
    match args.output {
        OutputFormat::Table => explain_table::print(&session, &explanation)?,
        OutputFormat::Json => explain_json::print(&session, &args.session.scheme, &explanation)?,
    }
    let Err(refusal) = &verdict.decision else { return Ok(Exit::Fine) };
    locate(&session, &lists, place, contract, refusal);
    Ok(Exit::Refused)
}

/// The contract of this name.
fn find<'a>(lists: &'a Lists, name: &str) -> Result<(Place, &'a Contract), Failure> {
    lists.iter().find(|(_, contract)| contract.name == name).ok_or_else(|| {
        let near = words::nearest(name, lists.iter().map(|(_, contract)| contract.name.as_str()));
        let near = near.map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
        let count = crate::output::human::count(lists.len(), "contract");
        Failure::Usage(format!("there is no contract \"{name}\" among the {count} that were read{near}"))
    })
}

fn decide_those_before(session: &mut Session, lists: &Lists, name: &str, is_forced: bool) -> Summary {
    let before = || lists.iter().map(|(_, contract)| contract).take_while(|contract| contract.name != name);
    let mut progress = Progress::new(before().count(), is_forced);
    let mut summary = Summary::default();
    for contract in before() {
        summary.count(&session.admit(contract));
        progress.step();
    }
    summary
}

/// The paths, and the nearest request that fits.
fn look_around(session: &mut Session, contract: &Contract, verdict: &Verdict) -> Refused {
    let query = Query::of(&verdict.request);
    let at_binding = at_binding(session, &query, verdict);
    let survey = session.scheme.queues().map(|placement| paths(placement, &query, MAX_PATHS));
    let nearest = nearest(&mut session.scheme, &verdict.request);
    Refused { at_binding, survey, nearest: in_terms_of(contract, session, nearest) }
}

/// Enters every queue of the binding link in turn, on the way on which the refusal was found.
fn at_binding(session: &Session, query: &Query, verdict: &Verdict) -> Vec<Option<Binding>> {
    let Err(Refusal::Blocked { route, binding, .. }) = &verdict.decision else { return Vec::new() };
    let Some(placement) = session.scheme.queues() else { return Vec::new() };
    let Some(at) = route.hops.iter().position(|hop| hop.link == binding.link()) else { return Vec::new() };
    let enter = |(queue, _)| {
        let mut hops = route.hops[..=at].to_vec();
        hops[at].queue = queue;
        placement.bindings(query, &Route { hops }).into_iter().find(|broken| broken.link() == binding.link())
    };
    (0u8..).zip(placement.ledger().budgets(binding.link())).map(enter).collect()
}

/// A contract in frame bytes is told frame bytes: as much as grows to no more than what fits on the wire.
fn in_terms_of(contract: &Contract, session: &Session, wire: Nearest) -> Nearest {
    let Accounting::Frame { min_frame } = contract.accounting else { return wire };
    let (frame, overhead) = (min_frame.get(), session.model.overhead.per_frame().get());
    let shrink = |value: u64| (u128::from(value) * u128::from(frame) / u128::from(frame + overhead)) as u64;
    let least = contract.max_frame.unwrap_or(min_frame).max(min_frame);
    let burst = wire.burst.map(|burst| Bytes::new(shrink(burst.get())));
    let rate = wire.rate.map(|rate| Rate::from_bits_per_second(shrink(rate.bits_per_second())));
    Nearest {
        burst: burst.filter(|&burst| burst >= least),
        rate: rate.filter(|&rate| rate > Rate::ZERO),
        deadline: wire.deadline,
        protection: wire.protection,
    }
}

/// What can be said against the contract whatever else is admitted, at its place in the file.
fn locate(session: &Session, lists: &Lists, place: Place, contract: &Contract, refusal: &Refusal) {
    if let Some((field, message)) = words::finding(&session.network, contract, refusal) {
        eprintln!("{}", lists.finding(place, field, &message));
    }
}
