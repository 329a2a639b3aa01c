//! `wayleave agent`: what the controller decides, carried out on the hosts and switches of this machine.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::{Args, Subcommand};
use wayleave_agent::endpoints::Attachment;
use wayleave_agent::run::Agents;
use wayleave_agent::samples::FOLLOW;
use wayleave_agent::{NodeOptions, Options, delays, endpoints, uninstall, warnings};
use wayleave_client::{Address, Error, OwnCertificate, read_token, url};
use wayleave_dataplane::host::{LONGEST_WAIT, Settings, Unmatched};
use wayleave_dataplane::switch::OvsBridge;
use wayleave_formats::{
    AgentCredential, AgentEndpoint, AgentFile, AgentNode, ExcessPackets, Source, UnmatchedPackets, read_agent,
    read_topology,
};
use wayleave_server::notify::Notify;
use wayleave_topology::Network;

use crate::commands::agent_init::InitArgs;
use crate::commands::serve::LogArgs;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::tell;

const EXAMPLE: &str = "\
Examples:
  wayleave agent --config agent.yaml
  wayleave agent --config agent.yaml endpoint add h1 acme:web tap0
  wayleave agent --config agent.yaml uninstall
  wayleave agent init --node h1 --server https://controller.example:7480 --interface 'h1->s1=eth1'

Installed programs, maps and qdiscs stay in the kernel when the agent ends, until `uninstall` removes them. \
`wayleave schema agent` documents the file, docs/operate/agent.md the required capabilities.";

/// Run the agent, which enforces contracts on the hosts and switches of this machine
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct AgentArgs {
    /// Configuration file of the agent
    #[arg(long, value_name = "FILE", default_value = "/etc/wayleave/agent.yaml")]
    config: PathBuf,
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Option<AgentCommand>,
}

/// Subcommands of the agent.
#[derive(Subcommand, Clone, Debug)]
enum AgentCommand {
    Init(Box<InitArgs>),
    /// Remove all programs, maps and qdiscs that the agent has installed; stop the agent first
    #[command(alias = "down")]
    Uninstall,
    /// Attach or detach the interface of an endpoint, also while the agent runs
    #[command(subcommand)]
    Endpoint(EndpointCommand),
}

/// Interfaces that come and go.
#[derive(Subcommand, Clone, Debug)]
enum EndpointCommand {
    /// Attach an interface to an endpoint; warns if the interface or the VM is unknown
    Add {
        /// Host, by its name in the topology
        node: String,
        /// Endpoint: a VM as TENANT:NAME, or host:NAME for the host itself
        endpoint: String,
        /// Host's end of the interface
        interface: String,
        /// VLAN tag of its frames on that interface
        #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=4094))]
        vlan: Option<u16>,
    },
    /// Detach the interface of an endpoint
    Remove {
        /// The host
        node: String,
        /// Endpoint whose interface is detached
        endpoint: String,
    },
}

pub(crate) fn run(args: &AgentArgs) -> Result<Exit, Failure> {
    if let Some(AgentCommand::Init(init)) = &args.command {
        return super::agent_init::run(init);
    }
    let source = Source::read(&args.config)?;
    let file = read_agent(&source)?;
    match &args.command {
        // That needs no file, and is done above.
        Some(AgentCommand::Init(_)) => Ok(Exit::Fine),
        None => drive(args, &file),
        Some(AgentCommand::Uninstall) => {
            args.log.begin()?;
            // Removal needs no controller, and so no credential. With a credential, the controller is notified.
            let options = with_credentials(&file).unwrap_or_else(|error| {
                tracing::warn!("cannot inform the controller: {error}");
                options(&file)
            });
            uninstall::uninstall(options).map_err(Failure::Internal)?;
            Ok(Exit::Fine)
        }
        Some(AgentCommand::Endpoint(command)) => endpoint(&file, command),
    }
}

/// Until a signal ends it.
fn drive(args: &AgentArgs, file: &AgentFile) -> Result<Exit, Failure> {
    args.log.begin()?;
    let options = with_credentials(file)?;
    let (end, ended) = channel();
    let signal = move || {
        // Sending fails only if the receiver has already ended.
        let _ = end.send(());
    };
    ctrlc::set_handler(signal).map_err(|error| Failure::Internal(format!("cannot handle signals: {error}")))?;
    let agents = Agents::start(options, network).map_err(Failure::Internal)?;
    let notify = Notify::from_environment();
    notify.send("READY=1");
    tracing::info!(nodes = file.nodes.len(), controller = file.server, "agent started");
    let beat = Notify::watchdog().unwrap_or(Duration::from_secs(5));
    while matches!(ended.recv_timeout(beat), Err(RecvTimeoutError::Timeout)) {
        if agents.are_alive() {
            notify.send("WATCHDOG=1");
        }
    }
    notify.send("STOPPING=1");
    agents.end();
    tracing::info!("agent stopping: installed rules stay in force");
    Ok(Exit::Fine)
}

fn endpoint(file: &AgentFile, command: &EndpointCommand) -> Result<Exit, Failure> {
    let (EndpointCommand::Add { node, endpoint, .. } | EndpointCommand::Remove { node, endpoint }) = command;
    let options = options(file);
    let Some(known) = options.nodes.iter().find(|known| known.name == *node) else {
        let names: Vec<&str> = options.nodes.iter().map(|known| known.name.as_str()).collect();
        return Err(Failure::Usage(format!("no node {node} in the file; its nodes: {}", names.join(", "))));
    };
    let endpoint = endpoints::name(endpoint, node).map_err(Failure::Usage)?;
    let folder = known.endpoints_folder();
    let done = match command {
        EndpointCommand::Add { interface, vlan, .. } => {
            endpoints::add(&folder, &endpoint, &Attachment { interface: interface.clone(), vlan: *vlan })
        }
        EndpointCommand::Remove { .. } => endpoints::remove(&folder, &endpoint),
    };
    done.map_err(|error| Failure::Internal(format!("{}: {error}", folder.display())))?;
    if let EndpointCommand::Add { interface, .. } = command {
        let options = with_credentials(file).unwrap_or(options);
        let node = options.nodes.iter().find(|known| known.name == *node);
        for warning in node.map(|node| warnings::warnings(node, &endpoint, interface)).unwrap_or_default() {
            tell!("warning: {warning}");
        }
    }
    Ok(Exit::Fine)
}

/// Returns the options of a file for commands that need no controller.
pub(crate) fn options(file: &AgentFile) -> Options {
    let node = |node: &AgentNode| NodeOptions {
        netns: node.netns.clone(),
        listen: node.listen,
        ovs: node.ovs.as_ref().map(|ovs| OvsBridge { name: ovs.bridge.clone(), run: ovs.run.clone() }),
        follow: file.follow.unwrap_or(FOLLOW),
        interfaces: node.interfaces.clone(),
        endpoints: node.endpoints.iter().map(|(name, at)| (name.clone(), attachment(at))).collect(),
        ..NodeOptions::new(&node.node, &file.state, &file.pins)
    };
    let unmatched = match file.unmatched {
        UnmatchedPackets::BestEffort => Unmatched::BestEffort,
        UnmatchedPackets::Drop => Unmatched::Dropped,
    };
    let measure = file.measures.then(|| delays(&file.pins));
    let wait = (file.excess == ExcessPackets::Wait).then_some(LONGEST_WAIT);
    let settings = Settings { unmatched, measure, wait, ..Settings::default() };
    Options { settings, nodes: file.nodes.iter().map(node).collect() }
}

fn attachment(endpoint: &AgentEndpoint) -> Attachment {
    Attachment { interface: endpoint.interface.clone(), vlan: endpoint.vlan }
}

/// Returns the options with the controller's address and the credential of each node. Tokens are read.
fn with_credentials(file: &AgentFile) -> Result<Options, Error> {
    let url = url(&file.server)?;
    let mut options = options(file);
    for (node, of) in options.nodes.iter_mut().zip(&file.nodes) {
        let address = Address { url: url.clone(), ca: file.ca.clone(), ..Address::default() };
        node.address = match of.credential.as_ref().or(file.credential.as_ref()) {
            Some(AgentCredential::Token(path)) => Address { token: Some(read_token(path)?), ..address },
            Some(AgentCredential::Certificate { chain, key }) => {
                let certificate = Some(OwnCertificate { chain: chain.clone(), key: key.clone() });
                Address { certificate, ..address }
            }
            None => {
                let text = "node has no credentials: set `tokenFile`, or `cert` and `certKey`, on the node or at the top level";
                return Err(Error::Usage(format!("node {}: {text}", of.node)));
            }
        };
    }
    Ok(options)
}

/// The network of the controller's document.
pub(crate) fn network(document: &str) -> Result<Network, String> {
    let topology = read_topology(&Source::new("the controller's topology", document));
    topology.map(|topology| topology.network).map_err(|errors| errors.to_string())
}
