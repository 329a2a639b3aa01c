//! `wayleave lab up`.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use wayleave::Network;
use wayleave_dataplane::net::SharedPortService;
use wayleave_experiments::lab::{ControlError, LabController, begin_control};
use wayleave_explain::human::count;
use wayleave_lab::{EndpointSpec, Lab, LabName, Labs, StopRequest, UpOptions, not_carried_out, scaled};
use wayleave_units::{Bytes, Rate};

use super::name::{USUAL, parse_name};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::import_args::ImportArgs;
use crate::interrupt;
use crate::output::out;
use crate::program;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab up -f fat-tree:k=4
  sudo wayleave lab up -f network.yaml --name second --endpoint acme:web=h1 --endpoint acme:db=h9
  sudo wayleave lab up -f fat-tree:k=4 --scale-rate 100Mbit --no-controller

Link rates are scaled down until the slowest link has the rate of the lab. Delay budgets grow accordingly, because they cover a number of frames. \
`wayleave lab down` removes the lab.";

/// Minimum buffer of a shared service: a full frame with its tags, and the largest overhead that a kernel discipline
/// counts.
const MIN_BUFFER: Bytes = Bytes::new(1600);
const MAX_BUFFER: Bytes = Bytes::new(1 << 30);

/// Create a lab: a topology as network namespaces, with a controller and agents
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct UpArgs {
    /// Topology file, or a builder such as fat-tree:k=4; - is stdin
    #[arg(short = 'f', long, short_alias = 't', value_name = "FILE|BUILDER")]
    topology: String,
    /// Name of the lab: lower case letters and digits
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Rate of the slowest link; all others are scaled with it
    #[arg(long, value_name = "RATE", default_value = "10Mbit")]
    scale_rate: Rate,
    /// VM and its host; every host also has an endpoint host:NAME
    #[arg(long = "endpoint", value_name = "TENANT:VM=HOST", value_parser = parse_endpoint)]
    endpoints: Vec<EndpointSpec>,
    /// Switch that Open vSwitch forwards for, in place of the kernel
    #[arg(long, value_name = "SWITCH")]
    ovs: Vec<String>,
    /// Switch whose ports share one service of this rate and buffer, as low-cost switches do
    #[arg(long = "service", value_name = "SWITCH=RATE,BUFFER", value_parser = parse_service)]
    services: Vec<(String, SharedPortService)>,
    /// Do not start a controller and agents: switches forward by tags
    #[arg(long)]
    no_controller: bool,
    #[command(flatten)]
    import: ImportArgs,
}

fn parse_endpoint(text: &str) -> Result<EndpointSpec, String> {
    let (id, host) = text.split_once('=').ok_or("expected a VM and its host, such as acme:web=h1")?;
    Ok(EndpointSpec { id: id.to_owned(), host: host.to_owned() })
}

fn parse_service(text: &str) -> Result<(String, SharedPortService), String> {
    let expected = || "expected a switch, a rate and a buffer, such as s1=12Mbit,16kB".to_owned();
    let (switch, what) = text.split_once('=').ok_or_else(expected)?;
    let (rate, buffer) = what.split_once(',').ok_or_else(expected)?;
    let rate = rate.parse::<Rate>().map_err(|error| error.to_string())?;
    let buffer = buffer.parse::<Bytes>().map_err(|error| error.to_string())?;
    if rate == Rate::ZERO || !(MIN_BUFFER..=MAX_BUFFER).contains(&buffer) {
        return Err(format!("expected a rate above zero and a buffer of {MIN_BUFFER} to {MAX_BUFFER}"));
    }
    Ok((switch.to_owned(), SharedPortService { rate, buffer }))
}

/// Runs the command.
pub(crate) fn run(args: &UpArgs) -> Result<Exit, Failure> {
    let (Network { name: topology, graph, .. }, program) = (args.import.network(&args.topology)?, program::file()?);
    let network = scaled(&graph, args.scale_rate).map_err(|error| Failure::Usage(error.to_string()))?;
    not_carried_out(&graph).iter().for_each(|sentence| crate::output::tell!("warning: {sentence}"));
    let cancel = interrupt::listen()?;
    let (labs, start) = (Labs::default().stopping(StopRequest::of(cancel.flag())), Instant::now());
    let options = UpOptions {
        name: args.name.clone(),
        topology: &topology,
        network: &network,
        endpoints: &args.endpoints,
        ovs: args.ovs.iter().cloned().collect(),
        services: args.services.iter().cloned().collect(),
    };
    let lab = labs.up(&options)?;
    let made = start.elapsed();
    let server = if args.no_controller {
        None
    } else {
        // A partial lab is useless. The first error is more informative than an error of the removal.
        let begun = begin_control(&lab, &program, &[]).map_err(ControlError::from);
        let begun = begun.and_then(|server| LabController::of(&lab)?.wait_for_agents().map(|()| server));
        Some(begun.inspect_err(|_| drop(labs.down(&args.name)))?)
    };
    print_started(args, &lab, &topology, server.as_deref(), [made, start.elapsed()])
}

/// Prints the created lab, with the duration for the network and the total duration.
fn print_started(
    args: &UpArgs,
    lab: &Lab,
    topology: &str,
    server: Option<&str>,
    took: [Duration; 2],
) -> Result<Exit, Failure> {
    let [made, all] = took.map(|took| took.as_millis());
    let mut out = out();
    let plan = lab.plan();
    let (hosts, switches) = (plan.hosts().count(), plan.switches().count());
    let (hosts, endpoints) = (count(hosts, "host"), count(plan.endpoints.len(), "endpoint"));
    writeln!(
        out,
        "lab {} is up after {} ms: {topology}, {hosts}, {}, {endpoints}, {}",
        args.name,
        made,
        count(switches, "switch"),
        count(plan.cables.len(), "cable"),
    )?;
    if let Some(server) = server {
        writeln!(out, "controller: {server}, token in {}", lab.token_file().display())?;
        let listening = count(plan.nodes.len(), "node");
        writeln!(out, "the agents of {listening} are ready after {all} ms; logs in {}", lab.folder().display())?;
    }
    let ordinary = lab.without_priority();
    if !ordinary.is_empty() {
        writeln!(
            out,
            "Open vSwitch of {} runs at normal priority, because this machine does not allow another: packets may be late while other programs run",
            ordinary.join(", ")
        )?;
    }
    if let Some(first) = plan.endpoints.first() {
        let name = if args.name.as_str() == USUAL { String::new() } else { format!(" --name {}", args.name) };
        let place = first.id.strip_prefix("host:").unwrap_or(&first.id);
        writeln!(out, "open a shell in an endpoint: wayleave lab exec{name} {place} -- sh")?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}
