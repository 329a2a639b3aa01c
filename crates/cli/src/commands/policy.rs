//! `wayleave policy`: who shares the bandwidth of a contention point, checked and computed.

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use wayleave_contracts::{ContentionPoint, Direction, PointTree, Policy, PolicyLevel};
use wayleave_explain::human::count;
use wayleave_explain::table::write_table;
use wayleave_formats::{PolicyFile, Source, read_policy};
use wayleave_sharing::{MAX_RATE, NodeId, Shares};
use wayleave_topology::{LinkId, Network};
use wayleave_units::{Rate, WallTime};

use crate::args::OutputFormat;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::{Lists, check_stdin};
use crate::output::out;
use crate::output::table::plain_table;
use crate::session::{Session, SessionArgs};

const EXAMPLE: &str = "\
Examples:
  wayleave policy check -t testbed:parley-testbed policy.yaml
  wayleave policy show -t testbed:parley-testbed -f policy.yaml --demands dfs=20Gbit,hbase=all,vms=all";

/// Look at bandwidth policies: check files against a network, show the shares of an instant
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) enum PolicyCommand {
    Check(Box<CheckArgs>),
    Show(Box<ShowArgs>),
}

/// Check files, and whether a network can keep what they guarantee
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after("Example:\n  wayleave policy check -t testbed:parley-testbed policy.yaml"))]
pub(crate) struct CheckArgs {
    /// The files (kind: Policy); - is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Latency contracts: what those that are admitted reserve is not there for services. Several files are read in order
    #[arg(long, value_name = "FILE")]
    contracts: Vec<String>,
    #[command(flatten)]
    session: SessionArgs,
}

const SHOW_EXAMPLE: &str = "\
Examples:
  wayleave policy show -t testbed:parley-testbed -f policy.yaml
  wayleave policy show -t testbed:parley-testbed -f policy.yaml --demands dfs=20Gbit,hbase=all,vms=all
  wayleave policy show -t testbed:parley-testbed -f policy.yaml --demands vms@h1=2Gbit,vms@h2=all -o json";

/// Show the services of one contention point, and what each gets if it wants so much
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(SHOW_EXAMPLE))]
pub(crate) struct ShowArgs {
    /// The policy (kind: Policy); - is stdin
    #[arg(short, long, value_name = "FILE")]
    file: String,
    /// The policy of the level below, whose maxima hold as well: that of machines for a rack, that of racks for the fabric
    #[arg(long, value_name = "FILE")]
    inner: Option<String>,
    /// The host or the rack's switch [default: the first to which the policy applies]
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Sent or received traffic
    #[arg(long, value_enum, default_value_t)]
    direction: DirectionName,
    /// With the changes until this time, such as 2027-01-01T20:00:00Z [default: before all changes]
    #[arg(long, value_name = "TIME")]
    when: Option<WallTime>,
    /// What services want: SERVICE=RATE or SERVICE@NODE=RATE, RATE can be all; other is what belongs to no service. Who is
    /// not named wants nothing. Without @NODE each machine (or rack) of the service wants so much
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    demands: Vec<String>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Latency contracts: services share what those that are admitted leave. Several files are read in order
    #[arg(long, value_name = "FILE")]
    contracts: Vec<String>,
    #[command(flatten)]
    session: SessionArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum DirectionName {
    /// What the machine or rack sends
    #[default]
    Transmit,
    /// What it receives
    Receive,
}

/// What belongs to no service.
const OTHER: &str = "other";

/// Runs the command.
pub(crate) fn run(command: &PolicyCommand) -> Result<Exit, Failure> {
    match command {
        PolicyCommand::Check(args) => check(args),
        PolicyCommand::Show(args) => show(args),
    }
}

fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let topology = args.session.network.topology.as_str();
    check_stdin(args.files.iter().chain(&args.contracts).map(String::as_str).chain([topology]))?;
    let session = beside(&args.session, &args.contracts)?;
    let network = &session.network;
    let mut exit = Exit::Fine;
    let mut out = out();
    for file in &args.files {
        match read(file, network) {
            Ok(read) => match read.policy.check_capacity_beside(network, &|link| promised(&session, link)) {
                Ok(()) => writeln!(out, "ok: {file} is {}", summary(&read.policy, network))?,
                Err(over) => {
                    out.flush()?;
                    let hint = "lower the minima, or give the contention point more capacity";
                    eprintln!("{}", read.finding(&format!("refused (RATE): {over}")).with_hint(hint));
                    exit = if exit == Exit::Fine { Exit::Refused } else { exit };
                }
            },
            Err(failure) => {
                out.flush()?;
                eprintln!("{failure}");
                exit = failure.exit();
            }
        }
    }
    out.flush()?;
    Ok(exit)
}

/// A network with the contracts that are admitted on it.
fn beside(session: &SessionArgs, contracts: &[String]) -> Result<Session, Failure> {
    let mut session = Session::open(session)?;
    let lists = Lists::read(contracts, &session.network)?;
    let refused = lists.iter().filter(|(_, contract)| session.admit(contract).decision.is_err()).count();
    if refused > 0 {
        let of = count(lists.len(), "contract");
        eprintln!("refused of {of}: {refused} (`wayleave plan` says why); services share what the others leave");
    }
    Ok(session)
}

/// What contracts have reserved of a link.
fn promised(session: &Session, link: LinkId) -> Rate {
    session.ledger().map_or(Rate::ZERO, |ledger| ledger.reserved(link))
}

fn read(file: &str, network: &Network) -> Result<PolicyFile, Failure> {
    Ok(read_policy(&Source::read(file)?, network)?)
}

/// `rack: 4 services at 9 racks`.
fn summary(policy: &Policy, network: &Network) -> String {
    let points = policy.points(network).len();
    let place = match policy.level() {
        PolicyLevel::Fabric => "the fabric".to_owned(),
        level => count(points, level.name()),
    };
    format!("{}: {} at {place}", policy.name(), count(policy.services().len(), "service"))
}

/// A line of the answer.
#[derive(Serialize)]
struct Row {
    name: String,
    #[serde(skip)]
    depth: usize,
    at: Option<String>,
    min_bits_per_second: u64,
    max_bits_per_second: Option<u64>,
    weight: u32,
    demand_bits_per_second: u64,
    share_bits_per_second: u64,
    limited: bool,
}

fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let inputs = [Some(&args.session.network.topology), Some(&args.file), args.inner.as_ref()];
    check_stdin(inputs.into_iter().flatten().chain(&args.contracts).map(String::as_str))?;
    let session = beside(&args.session, &args.contracts)?;
    let network = &session.network;
    let policy = read(&args.file, network)?.policy;
    let inner = args.inner.as_ref().map(|file| read(file, network)).transpose()?;
    let point = point(args.at.as_deref(), &policy, network)?;
    let direction = match args.direction {
        DirectionName::Transmit => Direction::Transmit,
        DirectionName::Receive => Direction::Receive,
    };
    let shared = policy.point_tree(network, point, direction, args.when, inner.as_ref().map(|file| &file.policy));
    let mut shared = shared.map_err(|error| Failure::Usage(error.to_string()))?;
    shared.capacity = policy.capacity_beside(network, point, direction, &|link| promised(&session, link));
    let demands = demands(&args.demands, &shared, &policy, network)?;
    let mut shares = Shares::default();
    shares.compute(&shared.tree, shared.capacity, &demands);
    let rows = rows(&shared, &policy, network, &shares);
    let mut out = out();
    if args.output == OutputFormat::Json {
        let text = serde_json::to_string_pretty(&rows).map_err(|error| Failure::Internal(error.to_string()))?;
        writeln!(out, "{text}")?;
    } else {
        let place = point.describe(network);
        writeln!(out, "{}: {} to {} at {place}\n", policy.name(), shared.capacity, direction.name())?;
        table(&mut out, &rows, args.demands.is_empty())?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn point(at: Option<&str>, policy: &Policy, network: &Network) -> Result<ContentionPoint, Failure> {
    let points = policy.points(network);
    let name = |point: &ContentionPoint| match point {
        ContentionPoint::Machine(node) | ContentionPoint::Rack(node) => network.node(*node).name.clone(),
        ContentionPoint::Fabric => "fabric".to_owned(),
    };
    let found = match at {
        None => points.first(),
        Some(at) => points.iter().find(|point| name(point) == at),
    };
    found.copied().ok_or_else(|| {
        let first: Vec<String> = points.iter().take(3).map(name).collect();
        let asked = at.map_or("nowhere here".to_owned(), |at| format!("not at \"{at}\""));
        Failure::Usage(format!("the policy applies {asked}: it applies at {}", first.join(", ")))
    })
}

/// What each node of the tree wants.
fn demands(list: &[String], shared: &PointTree, policy: &Policy, network: &Network) -> Result<Vec<Rate>, Failure> {
    let mut demands = vec![Rate::ZERO; shared.tree.len()];
    for item in list {
        let wrong = |why: &str| Failure::Usage(format!("--demands {item}: {why}"));
        let (who, rate) = item.split_once('=').ok_or_else(|| wrong("SERVICE=RATE is expected, such as dfs=2Gbit"))?;
        let rate = match rate {
            "all" => MAX_RATE,
            rate => rate.parse().map_err(|error: wayleave_units::ParseUnitError| wrong(&error.to_string()))?,
        };
        let (name, at) = who.split_once('@').map_or((who, None), |(name, at)| (name, Some(at)));
        let meant = shared.leaves.iter().filter(|leaf| {
            let names = leaf.service.map(|service| (policy.services()[service].name.as_str(), policy.path(service)));
            let is_named = names.map_or(name == OTHER, |(short, path)| short == name || path == name);
            is_named && at.is_none_or(|at| leaf.at.is_some_and(|node| network.node(node).name == at))
        });
        let meant: Vec<NodeId> = meant.map(|leaf| leaf.node).collect();
        if meant.is_empty() {
            let known = policy.services().iter().map(|service| service.name.as_str()).chain([OTHER]);
            let known: Vec<&str> = known.collect();
            return Err(wrong(&format!(
                "\"{who}\" is not at this contention point: the services are {}",
                known.join(", ")
            )));
        }
        meant.into_iter().for_each(|node| demands[node.index()] = rate);
    }
    Ok(demands)
}

/// The nodes, parents first. A machine that wants nothing of its service is left out.
fn rows(shared: &PointTree, policy: &Policy, network: &Network, shares: &Shares) -> Vec<Row> {
    let mut rows = Vec::new();
    for node in shared.tree.nodes().skip(1) {
        let leaf = shared.leaves.iter().find(|leaf| leaf.node == node);
        let service = shared.services.iter().position(|&service| service == Some(node));
        let at = leaf.and_then(|leaf| leaf.at);
        if at.is_some() && shares.demand(node) == Rate::ZERO {
            continue;
        }
        let name = match (service, leaf.and_then(|leaf| leaf.service)) {
            (Some(service), _) => policy.path(service),
            (None, Some(service)) if at.is_some() => policy.path(service),
            (None, Some(service)) => format!("{} ({OTHER})", policy.path(service)),
            (None, None) => OTHER.to_owned(),
        };
        let terms = shared.tree.terms(node);
        rows.push(Row {
            name,
            depth: std::iter::successors(shared.tree.parent(node), |&node| shared.tree.parent(node)).count() - 1,
            at: at.map(|node| network.node(node).name.clone()),
            min_bits_per_second: terms.min.bits_per_second(),
            max_bits_per_second: terms.max.map(Rate::bits_per_second),
            weight: terms.weight.get(),
            demand_bits_per_second: shares.demand(node).bits_per_second(),
            share_bits_per_second: shares.share(node).bits_per_second(),
            limited: shares.limit(node).is_some(),
        });
    }
    rows
}

fn table(out: &mut impl Write, rows: &[Row], terms_only: bool) -> Result<(), Failure> {
    let headings = ["service", "at", "min", "max", "weight", "wants", "gets", ""];
    let mut table = plain_table(if terms_only { &headings[..5] } else { &headings });
    let rate = |bits: u64| match bits {
        bits if bits >= MAX_RATE.bits_per_second() => "all".to_owned(),
        bits => Rate::from_bits_per_second(bits).to_string(),
    };
    for row in rows {
        let indented = format!("{}{}", "\u{a0}\u{a0}".repeat(row.depth), row.name);
        let mut cells = vec![
            indented,
            row.at.clone().unwrap_or_default(),
            rate(row.min_bits_per_second),
            row.max_bits_per_second.map_or("-".to_owned(), rate),
            row.weight.to_string(),
        ];
        if !terms_only {
            let limited = if row.limited { "limited" } else { "" };
            cells.extend([rate(row.demand_bits_per_second), rate(row.share_bits_per_second), limited.to_owned()]);
        }
        table.add_row(cells);
    }
    write_table(out, &mut table)?;
    Ok(())
}
