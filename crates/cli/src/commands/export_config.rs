//! `wayleave export-config`: configurations of switches that are configured once, derived from a plan's admitted
//! contracts.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use wayleave::{Contracts, PlanInput, Session, Watch};
use wayleave_contracts::DataPlane;
use wayleave_explain::DecidedContract;
use wayleave_explain::table::write_table;
use wayleave_formats::{Source, csv_field, read_interfaces};
use wayleave_render::{
    Codepoints, ControlQueue, Interfaces, QueueCodepoints, Rendered, Settings, Target, changes, port_differences,
    render,
};
use wayleave_topology::{Network, NodeId, NodeKind};
use wayleave_units::{Bytes, count};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{out, plain_table, tell};
use crate::progress::waiting;
use crate::session::SessionArgs;

const EXAMPLE: &str = "\
Examples:
  wayleave export-config --for sonic -t network.yaml -f contracts.yaml
  wayleave export-config --for sonic -t network.yaml -f contracts.yaml --switch leaf1 --interfaces interfaces.txt
  wayleave export-config --for sonic -t network.yaml -f contracts.yaml --switch leaf1 --diff config_db.json
  wayleave export-config --for tc -t network.yaml -f contracts.yaml --out configurations

For switches without an agent, which select queues by DSCP: every route gets a codepoint, which selects its queue at each switch. \
Without --switch and --out, codepoints and assumptions about devices are shown. --out writes a file for each switch, and contracts.csv. \
Nothing is sent to a device.";

/// Export the queues, classes and routes of a plan as switch configurations (tc, SONiC)
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ExportConfigArgs {
    /// Operating system of the switches
    #[arg(long = "for", value_enum, value_name = "SYSTEM")]
    target: TargetName,
    /// Contracts in YAML, JSON or CSV; several files in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", required = true)]
    files: Vec<String>,
    /// Print the configuration of this switch only
    #[arg(long, value_name = "SWITCH", conflicts_with = "out")]
    switch: Option<String>,
    /// Write the configuration of every switch to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Show changes against a folder of --out, or with --switch against a file such as config_db.json
    #[arg(long, value_name = "OLD", conflicts_with = "out")]
    diff: Option<PathBuf>,
    /// File of interface names, with lines such as leaf1->spine1 Ethernet48 [default: those of the topology, else in
    /// the order of its links]
    #[arg(long, value_name = "FILE")]
    interfaces: Option<String>,
    /// ECN threshold of the shared classes (SONiC only) [default: none]
    #[arg(long, value_name = "SIZE")]
    ecn: Option<Bytes>,
    /// Queue of routing protocols, codepoints CS6 and CS7 (SONiC only) [default: own]
    #[arg(long, value_enum, value_name = "QUEUE")]
    control: Option<ControlName>,
    #[command(flatten)]
    session: SessionArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum ControlName {
    /// One of their own, below those of contracts about latency
    #[default]
    Own,
    /// The lowest one
    BestEffort,
}

impl From<ControlName> for ControlQueue {
    fn from(name: ControlName) -> Self {
        match name {
            ControlName::Own => Self::Own,
            ControlName::BestEffort => Self::BestEffort,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum TargetName {
    /// A script of tc for a Linux machine that forwards
    Tc,
    /// Tables of SONiC's config_db.json
    Sonic,
}

impl From<TargetName> for Target {
    fn from(name: TargetName) -> Self {
        match name {
            TargetName::Tc => Self::Tc,
            TargetName::Sonic => Self::Sonic,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &ExportConfigArgs) -> Result<Exit, Failure> {
    let inputs = args.files.iter().chain(&args.interfaces).chain([&args.session.network.topology]);
    check_stdin(inputs.map(String::as_str))?;
    args.session.check_options()?;
    if args.ecn.is_some() && matches!(args.target, TargetName::Tc) {
        let why = "--ecn is for SONiC: the queues of a tc script are FIFOs, which do not mark";
        return Err(Failure::Usage(why.to_owned()));
    }
    if args.control.is_some() && matches!(args.target, TargetName::Tc) {
        let why = "--control is for SONiC: a tc script puts routing protocols into the lowest queue";
        return Err(Failure::Usage(why.to_owned()));
    }
    let network = args.session.network.read()?;
    let contracts = waiting(false, "reading contracts", || Contracts::read_all_kinds(&args.files, &network))?;
    let mut session = args.session.open_for(&network, &contracts)?;
    if session.ledger().is_none() {
        let why = format!("--scheme {} reserves no queues: nothing to configure", session.scheme().name());
        return Err(Failure::Usage(why));
    }
    let refused = decide(&mut session, &contracts)?;
    let not_carried_out = contracts.not_carried_out(DataPlane::Rendered);
    not_carried_out.iter().for_each(|sentence| tell!("warning: {sentence}"));
    let graph = session.network();
    let given = match &args.interfaces {
        None => Interfaces::new(),
        Some(file) => read_interfaces(&Source::read(file)?, graph)?,
    };
    let interfaces = interfaces(graph, given);
    let control = args.control.unwrap_or_default().into();
    let settings = Settings { interfaces, control, marks_from: args.ecn };
    let placed = placed(&session);
    let codepoints = match Codepoints::assign(graph, &placed) {
        Ok(codepoints) => codepoints,
        Err(none) => {
            tell!("{none}");
            return Ok(Exit::Refused);
        }
    };
    let target = Target::from(args.target);
    let rendered = render(graph, &codepoints, target, &settings).map_err(|error| Failure::Usage(error.to_string()))?;
    let plan = Planned { session: &session, placed, codepoints, control, not_carried_out };
    match (&args.switch, &args.out, &args.diff) {
        (Some(name), _, diff) => {
            let one = find(&rendered, name)?;
            match diff {
                None => out().write_all(one.text.as_bytes())?,
                Some(old) => compare(target, &[(one, old.clone())])?,
            }
        }
        (None, Some(folder), _) => plan.write(folder, target, &rendered)?,
        (None, None, Some(folder)) => {
            let pairs: Result<Vec<_>, Failure> =
                rendered.iter().map(|one| Ok((one, folder.join(file_name(one, target)?)))).collect();
            compare(target, &pairs?)?;
        }
        (None, None, None) => plan.show(target, &rendered)?,
    }
    if refused > 0 {
        let contracts = if refused == 1 { "contract was" } else { "contracts were" };
        tell!("{refused} {contracts} refused and left out: see `wayleave plan` with the same options");
        return Ok(Exit::Refused);
    }
    Ok(Exit::Fine)
}

/// The given names, and those of the topology for the switches of which none is given: the names of two sources could meet.
fn interfaces(network: &Network, given: Interfaces) -> Interfaces {
    let named: BTreeSet<NodeId> = given.keys().map(|&link| network.link(link).from).collect();
    let of_topology = network.interfaces().iter().filter(|(link, _)| !named.contains(&network.link(**link).from));
    let mut interfaces: Interfaces = of_topology.map(|(&link, name)| (link, name.clone())).collect();
    interfaces.extend(given);
    interfaces
}

/// Decides all contracts, and returns the number of refusals.
fn decide(session: &mut Session, contracts: &Contracts) -> Result<u64, Failure> {
    let outcome = wayleave::decide(session, PlanInput::Contracts(contracts), &mut Ignore, &mut Watch::none())?;
    Ok(outcome.summary.refused)
}

/// The session keeps what is asked for here.
struct Ignore;

impl wayleave::Sink for Ignore {
    fn decided(&mut self, _: &Session, _: &DecidedContract<'_>) -> Result<(), wayleave::Error> {
        Ok(())
    }

    fn released(&mut self, _: &wayleave::Released<'_>) -> Result<(), wayleave::Error> {
        Ok(())
    }
}

/// The routes that are reserved, in the order in which they were placed.
fn placed(session: &Session) -> Vec<QueueCodepoints> {
    let Some(ledger) = session.ledger() else { return Vec::new() };
    let flows = session.admitted().flatten();
    flows
        .filter_map(|flow| {
            Some(QueueCodepoints { name: session.route_name(flow), route: ledger.flow(flow)?.route.clone() })
        })
        .collect()
}

fn find<'r>(rendered: &'r [Rendered], name: &str) -> Result<&'r Rendered, Failure> {
    rendered.iter().find(|one| one.switch == name).ok_or_else(|| {
        let names: Vec<&str> = rendered.iter().take(8).map(|one| one.switch.as_str()).collect();
        Failure::Usage(format!(
            "no switch {name:?}; the topology has {}: {} ...",
            count(rendered.len(), "switch"),
            names.join(", ")
        ))
    })
}

fn file_name(one: &Rendered, target: Target) -> Result<String, Failure> {
    let is_plain = |one: char| one.is_alphanumeric() || "._-".contains(one);
    if !one.switch.chars().all(is_plain) || one.switch.starts_with('.') {
        let why = format!("{:?} cannot be a file name: print it with --switch, or rename the switch", one.switch);
        return Err(Failure::Usage(why));
    }
    Ok(format!("{}.{}", one.switch, target.extension()))
}

/// Shows the changes of each switch.
fn compare(target: Target, pairs: &[(&Rendered, PathBuf)]) -> Result<(), Failure> {
    let (mut out, mut changed, mut different) = (out(), 0, 0);
    for (one, old) in pairs {
        let is_new = pairs.len() > 1 && !old.exists();
        let before = if is_new { String::new() } else { Source::read(old)?.text().to_owned() };
        let found = if is_new {
            writeln!(out, "{}: {} does not exist: its whole content is new", one.switch, old.display())?;
            changed += 1;
            continue;
        } else {
            changes(target, &before, &one.text)
        };
        let located = |why| Failure::Located(format!("{}: {why}", old.display()));
        let found = found.map_err(located)?;
        let ports = port_differences(target, &before, &one.ports).map_err(located)?;
        if !ports.is_empty() {
            different += ports.len();
            writeln!(
                out,
                "{}: ports of the device differ from the topology; the plan's bounds do not hold there",
                one.switch
            )?;
            ports.iter().try_for_each(|port| writeln!(out, "  {port}"))?;
        }
        if found.is_empty() {
            continue;
        }
        changed += 1;
        writeln!(out, "{}: {}", one.switch, count(found.len(), "change"))?;
        for change in found {
            writeln!(out, "  {change}")?;
        }
    }
    let ports = if different > 0 {
        format!(
            "; {} {} from the topology",
            count(different, "port setting"),
            if different == 1 { "differs" } else { "differ" }
        )
    } else {
        String::new()
    };
    writeln!(out, "{changed} of {} would change; nothing was sent{ports}", count(pairs.len(), "switch"))?;
    Ok(out.flush()?)
}

struct Planned<'s> {
    session: &'s Session,
    placed: Vec<QueueCodepoints>,
    codepoints: Codepoints,
    control: ControlQueue,
    /// A sentence for each key of the contracts that these switches do not carry out.
    not_carried_out: Vec<String>,
}

impl Planned<'_> {
    /// Numbers, queues and assumptions, for a person.
    fn show(&self, target: Target, rendered: &[Rendered]) -> Result<(), Failure> {
        let mut out = out();
        let mut table = plain_table(&["CONTRACT", "DSCP", "QUEUES AT SWITCHES"]);
        for (placed, dscp) in self.placed.iter().zip(self.codepoints.routes()) {
            table.add_row([placed.name.clone(), dscp.to_string(), self.queues(placed)]);
        }
        for (class, dscp) in self.codepoints.classes() {
            table.add_row([format!("(class: {})", class.name()), dscp.to_string(), "default of the class".to_owned()]);
        }
        write_table(&mut out, &mut table)?;
        writeln!(
            out,
            "\n{} with {}, {}; DSCP 0 and all others are best effort",
            count(self.placed.len(), "route"),
            count(self.codepoints.count(), "codepoint"),
            count(rendered.len(), "switch")
        )?;
        self.notes(&mut out, target)?;
        writeln!(out, "\n--switch NAME prints a configuration, --out FOLDER writes all of them")?;
        Ok(out.flush()?)
    }

    /// Returns the queue of a route on each link: `leaf1->spine1 0, spine1->leaf2 2`.
    fn queues(&self, placed: &QueueCodepoints) -> String {
        let network = self.session.network();
        let at_switch =
            |hop: &&wayleave_topology::Hop| network.node(network.link(hop.link).from).kind == NodeKind::Switch;
        let hops = placed.route.hops.iter().filter(at_switch);
        let words: Vec<String> = hops.map(|hop| format!("{} {}", network.link(hop.link).name, hop.queue)).collect();
        words.join(", ")
    }

    fn write(&self, folder: &Path, target: Target, rendered: &[Rendered]) -> Result<(), Failure> {
        let failed = |path: &Path, error: &std::io::Error| Failure::Internal(format!("{}: {error}", path.display()));
        let files: Result<Vec<_>, Failure> =
            rendered.iter().map(|one| Ok((folder.join(file_name(one, target)?), one.text.clone()))).collect();
        let mut files = files?;
        files.push((folder.join("contracts.csv"), self.contracts()));
        let mut text = Vec::new();
        self.notes(&mut text, target)?;
        files.push((folder.join("NOTES.txt"), String::from_utf8_lossy(&text).trim_start().to_owned()));
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
        for (path, text) in &files {
            fs::write(path, text).map_err(|error| failed(path, &error))?;
        }
        let mut out = out();
        writeln!(out, "{} in {}; read NOTES.txt before you load them", count(files.len(), "file"), folder.display())?;
        Ok(out.flush()?)
    }

    /// Returns the tasks of hosts and routes: a line for each route.
    fn contracts(&self) -> String {
        let network = self.session.network();
        let mut text = "contract,dscp,links\n".to_owned();
        for (placed, dscp) in self.placed.iter().zip(self.codepoints.routes()) {
            let links: Vec<&str> = placed.route.hops.iter().map(|hop| network.link(hop.link).name.as_str()).collect();
            text.push_str(&format!("{},{dscp},{}\n", csv_field(&placed.name), csv_field(&links.join(" "))));
        }
        for (class, dscp) in self.codepoints.classes() {
            text.push_str(&format!("(class: {}),{dscp},\n", class.name()));
        }
        text
    }

    /// Writes the assumptions of the plan, and keys of its contracts that are left to hosts.
    fn notes(&self, out: &mut impl Write, target: Target) -> std::io::Result<()> {
        if !self.not_carried_out.is_empty() {
            writeln!(out, "\nContract keys that this configuration ignores:")?;
            self.not_carried_out.iter().try_for_each(|sentence| writeln!(out, "- {sentence}"))?;
        }
        writeln!(out, "\nAssumptions of the plan about every device, which this configuration cannot ensure:")?;
        for line in target.assumptions(self.control) {
            writeln!(out, "- {line}")?;
        }
        writeln!(out, "{}", target.checked())
    }
}
