//! `wayleave capture`: the frames of a node that an agent drives.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use wayleave_agent::endpoints::Declared;
use wayleave_agent::interfaces::{NodeInterface, places};
use wayleave_agent::{NodeOptions, links, remembered};
use wayleave_dataplane::frames::describe;
use wayleave_dataplane::net::{Capture, Namespace};
use wayleave_formats::{Source, read_agent};

use crate::commands::agent::{network, options};
use crate::commands::frame_sink::Frames;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave capture --count 20
  sudo wayleave capture --node s1 --interface eth3
  sudo wayleave capture --write host.pcap --lasts 10s

A line shows when and where a frame was seen, which links and queues its tags still name, and what it carries. Frames that leave are seen behind the queues. Ctrl-C ends it. \
The topology is the last one that the node's agent received; the agent need not be running.";

/// Capture frames on a host or a switch of this machine, and decode their tags
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct CaptureArgs {
    /// Configuration file of the agent
    #[arg(long, value_name = "FILE", default_value = "/etc/wayleave/agent.yaml")]
    config: PathBuf,
    /// Node, if the file has several
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    #[command(flatten)]
    frames: Frames,
}

/// Runs the command.
pub(crate) fn run(args: &CaptureArgs) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let options = options(&read_agent(&Source::read(&args.config)?)?);
    let node = chosen(&options.nodes, args.node.as_deref())?;
    let environment = remembered(node, network).ok_or_else(|| {
        let name = &node.name;
        Failure::Usage(format!(
            "the agent of {name} has not received a topology yet: start the agent and its controller"
        ))
    })?;
    let network = environment.network();
    let id = network.find_node(&node.name);
    let id = id.ok_or_else(|| Failure::Usage(format!("the topology of the agent has no node {}", node.name)))?;
    let space = match &node.netns {
        Some(name) => Namespace::open(name),
        None => Ok(Namespace::current()),
    };
    let space = space.map_err(|error| Failure::Internal(error.to_string()))?;
    let links = links(network, id, &node.interfaces).map_err(Failure::Usage)?;
    let endpoints = Declared::new(node.endpoints.clone(), node.endpoints_folder()).all();
    let index = |name: &str| nix::net::if_::if_nametoindex(name).ok();
    let places: BTreeMap<u32, NodeInterface> = space
        .run(|| places(network, id, &links, &endpoints, index))
        .map_err(|error| Failure::Internal(error.to_string()))?;
    if let Some(only) =
        args.frames.interface.as_ref().filter(|only| places.values().all(|place| place.interface != **only))
    {
        let names: Vec<&str> = places.values().map(|place| place.interface.as_str()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Failure::Usage(format!("{only} is not an interface of {}; its interfaces: {names}", node.name)));
    }
    let capture = Capture::open(&space).map_err(|error| Failure::Internal(format!("{error}: are you root?")))?;
    args.frames.capture(capture, &cancel, |sink, frame| {
        let place = places.get(&frame.ifindex).filter(|place| args.frames.are_wanted(&place.interface));
        let Some(place) = place else { return Ok(()) };
        let name = format!("{} {} ({})", node.name, place.interface, place.leads_to);
        let reader = place.readers[usize::from(frame.is_outgoing)];
        sink.put(&name, frame, || describe(network, reader, &frame.frame))
    })
}

/// The node that is meant.
fn chosen<'a>(nodes: &'a [NodeOptions], name: Option<&str>) -> Result<&'a NodeOptions, Failure> {
    let names = || nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, nodes) {
        (None, [only]) => Ok(only),
        (None, _) => Err(Failure::Usage(format!("the file has several nodes; choose one with --node: {}", names()))),
        (Some(name), _) => nodes
            .iter()
            .find(|node| node.name == name)
            .ok_or_else(|| Failure::Usage(format!("no node {name} in the file; its nodes: {}", names()))),
    }
}
