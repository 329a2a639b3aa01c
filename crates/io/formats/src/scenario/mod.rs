//! Scenarios: `kind: Scenario`, a simulation and the sweep over parameters and seeds.
//!
//! A sweep changes the tree of the file before it is interpreted, so that every field can vary. Problems of a value
//! are reported at its position in the sweep.

mod active;
mod contracted;
mod deadline;
mod endpoints;
mod ends;
mod files;
mod forward;
mod job;
mod network;
mod outages;
mod path;
mod ports;
mod scalars;
mod schema;
mod schemes;
mod sharing;
mod sizes;
mod sweep;
mod tenants;
mod traffic;
mod transport;
mod vary;
mod vms;
mod workload;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use wayleave_scenarios::{PortBehaviour, Scenario, ScenarioError, Sharing, TransportConfig};
use wayleave_topology::Network;
use wayleave_units::Time;

use crate::document::{self, DocumentKind};
use crate::fields::{Fields, Shape};
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;
use crate::tree::Node;
use files::Files;
use network::Numbered;
use scalars::refuse_beside;
use sweep::Sweep;

pub(crate) const SCENARIO_SPEC: Shape = Shape {
    what: "the spec of a Scenario",
    keys: &[
        "topology",
        "duration",
        "warmup",
        "seed",
        "switches",
        "hosts",
        "sharedServices",
        "routing",
        "transport",
        "sharing",
        "contracts",
        "reserved",
        "vms",
        "traffic",
        "outages",
        "record",
        "fastForward",
        "sweep",
    ],
};

#[cfg(test)]
pub(crate) use {
    active::PERIOD,
    deadline::{DEADLINE, EXPONENTIAL_DEADLINE},
    forward::FAST_FORWARD,
    job::JOB,
    network::TOPOLOGY,
    outages::{OUTAGE, RECORD},
    ports::{MARKING, PORTS, ROUTING, SERVICE, SHARED_BUFFER, WEIGHTED},
    schemes::shape as scheme_shape,
    sharing::{EVENT, FAULTS, OTHER_SCHEME, SCHEME, SHARING},
    sizes::SIZES,
    sweep::SWEEP,
    tenants::RESERVED,
    traffic::TRAFFIC,
    transport::{CONGESTION, TRANSPORT},
    vms::VM,
    workload::{CONSTANT_RATE, IMPORT, LISTED_FLOW, ON_OFF, RPC, SEND_SCHEDULE, TOKEN_BUCKET, UNIFORM},
};

pub use schema::scenario_schema;
pub use vary::{Grid, with_grid};

/// A scenario file: one run, or those of its sweep.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// `metadata.name`, or the name of the file.
    pub name: String,
    /// At least one, in the order of the sweep: the first parameter changes slowest, the seed fastest.
    pub runs: Vec<Run>,
    /// The file, and every file that it names and that was read.
    pub sources: Vec<Source>,
    /// A sentence for each key that is accepted and that the simulator does not carry out.
    pub not_carried_out: Vec<String>,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Varied parameters (a path into `spec`) with their values in this run, as written.
    pub labels: Vec<(String, String)>,
    /// For every random draw.
    pub seed: u64,
    /// Checked with [`Scenario::validate`]; shared by runs that differ in their seed only.
    pub scenario: Arc<Scenario>,
}

/// Reads a scenario. `open` reads the files named in it (topologies, distributions, lists of flows) by their names;
/// [`beside`] searches them in the folder of the scenario.
///
/// ```
/// use wayleave_formats::{Source, beside, read_scenario};
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Scenario
/// spec:
///   topology: star:hosts=4,rate=10Gbit
///   duration: 10ms
///   traffic: [ { name: web, load: 0.5, sizes: web-search } ]
///   sweep: { seeds: 1..3, vary: { traffic.web.load: [0.2, 0.8] } }
/// ";
/// let source = Source::new("star.yaml", text);
/// let file = read_scenario(&source, &|name| beside(&source, name))?;
/// assert_eq!((file.name.as_str(), file.runs.len()), ("star", 6));
/// let last = &file.runs[5];
/// assert_eq!(last.labels, [("traffic.web.load".to_owned(), "0.8".to_owned())]);
/// assert_eq!((last.seed, last.scenario.network.hosts().count()), (3, 4));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// All problems of the file and of the files that it names, in order of position. If several runs of a sweep are
/// wrong, only the problems of the first.
pub fn read_scenario(
    source: &Source,
    open: &dyn Fn(&str) -> Result<Source, InputErrors>,
) -> Result<ScenarioFile, InputErrors> {
    let mut problems = Problems::new(source);
    let mut context = Context { files: Files::new(open), networks: HashMap::new(), not_carried_out: BTreeSet::new() };
    let file = read_document(source, &mut context, &mut problems).map(|(name, runs)| {
        let sources = std::iter::once(source.clone()).chain(context.files.into_sources()).collect();
        ScenarioFile { name, runs, sources, not_carried_out: context.not_carried_out.into_iter().collect() }
    });
    problems.finish(file)
}

/// Reads a file by its name relative to the folder of a source.
///
/// # Errors
/// As for [`Source::read`].
pub fn beside(source: &Source, name: &str) -> Result<Source, InputErrors> {
    let folder = Path::new(source.name()).parent().unwrap_or(Path::new(""));
    Source::read(folder.join(name))
}

/// Data shared by the runs of one file.
struct Context<'f> {
    files: Files<'f>,
    /// By the values of the sweep that change the topology; `None` for one that could not be read.
    networks: HashMap<Vec<usize>, Option<Numbered>>,
    /// Sentences of all runs.
    not_carried_out: BTreeSet<String>,
}

fn read_document(
    source: &Source,
    context: &mut Context<'_>,
    problems: &mut Problems<'_>,
) -> Option<(String, Vec<Run>)> {
    let document = document::read(source.text(), DocumentKind::Scenario, problems, |_, _| {})?;
    let Some(sweep) = Sweep::read(&document.spec, problems) else {
        // Other problems are visible without the sweep.
        read_spec(&document.name, &document.spec, Vec::new(), context, problems);
        return None;
    };
    let mut runs = Vec::new();
    for choice in sweep.choices() {
        let mark = problems.mark();
        let labels = sweep.labels(&choice, source.text());
        let spec = sweep.apply(&document.spec, &choice, problems)?;
        let scenario = read_spec(&document.name, &spec, sweep.topology_part(&choice), context, problems);
        let Some(scenario) = scenario.filter(|_| problems.mark() == mark).map(Arc::new) else {
            let named: Vec<String> = labels.iter().map(|(path, value)| format!("{path} = {value}")).collect();
            if !named.is_empty() {
                problems.explain_since(mark, || format!("the run with {}", named.join(", ")));
            }
            return None;
        };
        for &seed in &sweep.seeds {
            runs.push(Run { labels: labels.clone(), seed, scenario: Arc::clone(&scenario) });
        }
    }
    Some((document.name, runs))
}

/// Warning about classes of a topology in a scenario without contracts: `switches` and `hosts` define the queues of
/// ports.
const CLASSES_ALONE: &str =
    "topology.classes has no effect: without `contracts`, ports are configured by `switches` and `hosts`";

/// The scenario of one run, checked.
fn read_spec(
    name: &str,
    spec: &Node<'_>,
    topology: Vec<usize>,
    context: &mut Context<'_>,
    problems: &mut Problems<'_>,
) -> Option<Scenario> {
    let fields = Fields::read(spec, &SCENARIO_SPEC, problems)?;
    fields.require_all(["topology", "duration"], problems);
    match fields.get("contracts") {
        // Contracts determine the behaviour of ports and hosts, and send at their limits.
        Some(_) => {
            refuse_beside(&fields, &["sharing", "reserved", "routing"], "contracts", problems);
            tenants::refuse_port_keys(&fields, problems);
        }
        None => fields.require_all(["traffic"], problems),
    }
    let before = problems.mark();
    let duration = fields.get("duration").and_then(|node| node.quantity(problems));
    let warmup = fields.get("warmup").and_then(|node| node.quantity(problems)).unwrap_or_default();
    let switches = fields.get("switches").and_then(|node| ports::read(node, problems));
    let hosts = fields.get("hosts").and_then(|node| ports::read(node, problems));
    let routing = fields.get("routing").and_then(|node| ports::read_routing(node, problems));
    let transport =
        fields.get("transport").and_then(|node| transport::read(node, &TransportConfig::default(), problems));
    let transport = transport.unwrap_or_default();
    let record = fields.get("record").and_then(|node| outages::read_record(node, problems)).unwrap_or_default();
    let fast_forward = fields.get("fastForward").and_then(|node| forward::read(node, problems));
    let numbered = match context.networks.get(&topology) {
        Some(known) => known.clone(),
        None => {
            let read = fields.get("topology").and_then(|node| network::read(node, &mut context.files, problems));
            context.networks.insert(topology, read.clone());
            read
        }
    };
    let numbered = numbered?;
    let network: &Network = &numbered.network;
    let shared = fields.get("sharedServices").map(|node| ports::read_services(node, network, problems));
    let (shared_services, service_items) = shared.unwrap_or_default();
    let sharing = fields.get("sharing").map(|node| sharing::read(node, network, &mut context.files, problems));
    let outages = fields.get("outages").map(|node| outages::read(node, network, problems));
    let (outages, outage_items) = outages.unwrap_or_default();
    let vms = fields.get("vms").map(|node| vms::read(node, network, problems));
    let vms = vms.flatten().unwrap_or_default();
    let files = &mut context.files;
    let contracts = fields.get("contracts").map(|node| (node, tenants::read(node, &numbered.network, files, problems)));
    let reserved = fields.get("reserved").and_then(|node| tenants::read_reserved(node, network, problems));
    let tenants = contracts.as_ref().and_then(|(_, read)| read.as_ref()).map(|(tenants, _)| tenants);
    let traffic =
        fields.get("traffic").map(|node| traffic::read(node, &numbered, (&vms, tenants), &transport, files, problems));
    let (traffic, with_traffic) = traffic.unwrap_or_default();
    let mut scenario = Scenario {
        name: name.to_owned(),
        network: Arc::clone(&numbered.network),
        duration: duration.unwrap_or(Time::ZERO),
        warmup,
        switches: switches.unwrap_or_else(PortBehaviour::default),
        hosts: hosts.unwrap_or_else(PortBehaviour::default),
        reserved: reserved.unwrap_or_default(),
        shared_services,
        jitter: wayleave_scenarios::Jitter::default(),
        routing: routing.unwrap_or_else(wayleave_scenarios::Routing::ecmp),
        transport,
        sharing: sharing.flatten(),
        vms,
        traffic,
        outages,
        record,
        fast_forward,
    };
    let written = scenario.traffic.len();
    let mut not_carried_out = scenario.sharing.as_ref().map_or_else(Vec::new, Sharing::not_carried_out);
    match contracts {
        Some((node, Some((tenants, of_contracts)))) => {
            tenants::add(&tenants, with_traffic, &mut scenario, node, problems);
            not_carried_out.extend(of_contracts);
        }
        Some((_, None)) => {}
        None if network.classes().is_some() => not_carried_out.push(CLASSES_ALONE.to_owned()),
        None => {}
    }
    if problems.mark() > before || duration.is_none() {
        return None;
    }
    match scenario.validate() {
        Ok(()) => {
            context.not_carried_out.extend(not_carried_out.into_iter().chain(scenario.not_carried_out(written)));
            Some(scenario)
        }
        Err(error) => {
            report(&error, spec, &service_items, &outage_items, problems);
            None
        }
    }
}

/// Reports an error of a scenario at its position in the file.
fn report(
    error: &ScenarioError,
    spec: &Node<'_>,
    service_items: &[usize],
    outage_items: &[usize],
    problems: &mut Problems<'_>,
) {
    // One item of the file can be several of the scenario.
    let path = match error {
        ScenarioError::SharedService { index, .. } => format!("sharedServices.{}", service_items[*index]),
        ScenarioError::OutageOrder { index, .. } => format!("outages.{}.at", outage_items[*index]),
        ScenarioError::OutageOfHost { index, .. } => format!("outages.{}", outage_items[*index]),
        _ => error.path(),
    };
    let mark = problems.mark();
    problems.report(ProblemKind::Impossible, path::locate(spec, &path), || error.to_string());
    if let ScenarioError::Traffic { name, .. } = error {
        problems.explain_since(mark, || format!("traffic {}", crate::messages::quoted(name)));
    }
}
