//! `wayleave broker`: the brokers of schemes as programs.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use wayleave_broker::BrokerConfig;
use wayleave_broker::process::{
    AgentSocket, FabricOptions, Key, MachineBroker, RackOptions, StopSignal, TenantServices, Uplinks, run_fabric,
    run_rack,
};
use wayleave_contracts::{ContentionPoint, Direction, PolicyLevel};
use wayleave_formats::{Source, read_policy};
use wayleave_protocol::network::{Link, ObservedState};
use wayleave_topology::{NodeId, NodeKind};
use wayleave_units::{Rate, Time};

use crate::broker_args::BrokerSchemeArgs;
use crate::client::target::{ServerArgs, of_address};
use crate::commands::serve::LogArgs;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::{NetworkArgs, check_stdin};

const EXAMPLE: &str = "\
Examples:
  wayleave broker rack -t testbed:parley-testbed -f rack.yaml --machine h1 --listen 10.0.0.1:7410 \\
    --peers h2=10.0.0.2:7410,h3=10.0.0.3:7410
  wayleave broker fabric -t testbed:parley-testbed -f fabric.yaml --listen 10.0.9.9:7411

--scheme selects another scheme: `wayleave schemes` shows which schemes have brokers. docs/theory/sharing.md explains brokers and the protocol between a broker and a data plane.";

/// Run a broker, which divides bandwidth among services of a rack or a fabric
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) enum BrokerCommand {
    Rack(Box<RackArgs>),
    Fabric(Box<FabricArgs>),
}

/// Options that must be equal for all brokers of a network.
#[derive(Args, Clone, Debug)]
struct CommonArgs {
    /// Policy (kind: Policy), at most one per level, equal on all brokers
    #[arg(short, long = "file", value_name = "FILE", required = true, value_delimiter = ',')]
    files: Vec<String>,
    /// Version of the policies: brokers with another version are ignored; increase it with every change
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    epoch: u32,
    /// Address to listen on, such as 10.0.0.1:7410; port 0 is any free port
    #[arg(long, value_name = "ADDRESS")]
    listen: String,
    /// File with the secret of all brokers, at least 32 bytes (`openssl rand -hex 32`), to authenticate messages
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    scheme: BrokerSchemeArgs,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    log: LogArgs,
}

const RACK_EXAMPLE: &str = "\
Examples:
  wayleave broker rack -t testbed:parley-testbed -f rack.yaml --machine h1 --listen 10.0.0.1:7410 \\
    --peers h2=10.0.0.2:7410,h3=10.0.0.3:7410 --fabric 10.0.9.9:7411 --server https://controller:7480
A data plane writes the bytes that its services have sent and received, and reads their limits:
  {\"services\": {\"dfs\": {\"sent\": 125000000, \"received\": 0}}}
  {\"limits\": {\"dfs\": {\"transmit_bits_per_second\": 500000000}}, \"machines\": 4, \"leader\": \"h1\"}";

/// Run the broker of one machine: reads counters and writes limits as JSON lines
#[derive(Args, Clone, Debug)]
#[command(after_help = RACK_EXAMPLE, after_long_help = exit::after(RACK_EXAMPLE))]
pub(crate) struct RackArgs {
    /// Host of this broker
    #[arg(long, value_name = "HOST")]
    machine: String,
    /// Brokers of the rack's other machines, HOST=ADDRESS; others count as silent
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    peers: Vec<String>,
    /// Address of the fabric broker [default: none, no limits across racks]
    #[arg(long, value_name = "ADDRESS")]
    fabric: Option<String>,
    /// Socket of this machine's agent, such as /run/wayleave/h1/broker.sock, in place of standard input and output
    #[arg(long, value_name = "SOCKET")]
    agent: Option<PathBuf>,
    /// Interval at which the capacity of uplinks is read from --server or --context
    #[arg(long, value_name = "TIME", default_value = "10s")]
    uplinks_interval: Time,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    server: ServerArgs,
}

const FABRIC_EXAMPLE: &str = "\
Example:
  wayleave broker fabric -t testbed:parley-testbed -f fabric.yaml --listen 10.0.9.9:7411";

/// Run the fabric broker, which gives rack leaders the limits of their services
#[derive(Args, Clone, Debug)]
#[command(after_help = FABRIC_EXAMPLE, after_long_help = exit::after(FABRIC_EXAMPLE))]
pub(crate) struct FabricArgs {
    #[command(flatten)]
    common: CommonArgs,
}

/// Runs the command.
pub(crate) fn run(command: &BrokerCommand) -> Result<Exit, Failure> {
    match command {
        BrokerCommand::Rack(args) => rack(args),
        BrokerCommand::Fabric(args) => fabric(args),
    }
}

impl CommonArgs {
    /// Network, policies and scheme, as all brokers see them.
    fn setup(&self) -> Result<BrokerConfig, Failure> {
        let scheme = self.scheme.scheme()?;
        check_stdin(self.files.iter().map(String::as_str).chain([self.network.topology.as_str()]))?;
        let network = self.network.read()?.graph;
        let mut policies = Vec::new();
        for file in &self.files {
            let read = read_policy(&Source::read(file)?, &network)?;
            if let Err(over) = read.policy.check_capacity(&network) {
                let hint = "lower the minima, or give the contention point more capacity";
                return Err(Failure::Usage(
                    read.finding(&format!("refused (RATE): {over}")).with_hint(hint).to_string(),
                ));
            }
            policies.push(read.policy);
        }
        let network = Arc::unwrap_or_clone(network);
        BrokerConfig::new(network, policies, scheme, self.epoch).map_err(|error| Failure::Usage(error.to_string()))
    }

    fn key(&self) -> Result<Option<Key>, Failure> {
        let Some(path) = &self.key else { return Ok(None) };
        let wrong = |why: String| Failure::Usage(format!("--key {}: {why}", path.display()));
        let mode = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(wrong("readable by other users; run chmod 600".to_owned()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let key = Key::new(&text).ok_or_else(|| wrong("expected a secret of at least 32 bytes".to_owned()))?;
        Ok(Some(key))
    }

    fn address(&self) -> Result<SocketAddr, Failure> {
        address("--listen", &self.listen)
    }
}

fn address(option: &str, text: &str) -> Result<SocketAddr, Failure> {
    let wrong =
        |why: String| Failure::Usage(format!("{option} {text}: {why}; expected HOST:PORT, such as 10.0.0.1:7410"));
    let mut found = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?;
    found.next().ok_or_else(|| wrong("the name does not resolve to an address".to_owned()))
}

fn rack(args: &RackArgs) -> Result<Exit, Failure> {
    let setup = Arc::new(args.common.setup()?);
    let machine = host(&setup, "--machine", &args.machine)?;
    let mut peers = Vec::new();
    for text in &args.peers {
        let (name, at) = text.split_once('=').ok_or_else(|| {
            Failure::Usage(format!("--peers {text}: expected HOST=ADDRESS, such as h2=10.0.0.2:7410"))
        })?;
        let peer = MachineBroker { machine: host(&setup, "--peers", name)?, address: address("--peers", at)? };
        if peer.machine != machine {
            peers.push(peer);
        }
    }
    let fabric = args.fabric.as_ref().map(|fabric| address("--fabric", fabric)).transpose()?;
    if fabric.is_some() && setup.fabric_broker().is_none() {
        return Err(Failure::Usage(format!(
            "--fabric is given, but no file is a policy of level {}: give every broker all policies",
            PolicyLevel::Fabric.name()
        )));
    }
    let listen = args.common.address()?;
    let uplinks = uplinks(args, &setup, machine)?;
    let tenants = args.agent.as_ref().map(|_| TenantServices::of(setup.policies()));
    let options = RackOptions { setup, machine, listen, peers, fabric, key: args.common.key()?, uplinks, tenants };
    args.common.log.begin()?;
    let stop = until_signal()?;
    let name = args.machine.clone();
    let ready = |listens: SocketAddr| tracing::info!(machine = name, %listens, "rack broker started");
    let thrown = match &args.agent {
        Some(path) => {
            let agent = AgentSocket::at(path.clone(), stop.clone());
            run_rack(options, &stop, agent.lines(), agent, ready)
        }
        None => run_rack(options, &stop, BufReader::new(std::io::stdin()), std::io::stdout().lock(), ready),
    };
    let thrown = thrown.map_err(failed)?;
    tracing::info!(messages = thrown.messages, lines = thrown.lines, "rack broker stopped; messages dropped");
    Ok(Exit::Fine)
}

fn fabric(args: &FabricArgs) -> Result<Exit, Failure> {
    let setup = Arc::new(args.common.setup()?);
    if setup.fabric_broker().is_none() {
        let level = PolicyLevel::Fabric.name();
        return Err(Failure::Usage(format!(
            "no file is a policy of level {level}: the fabric broker has no capacity to divide"
        )));
    }
    let options = FabricOptions { setup, listen: args.common.address()?, key: args.common.key()? };
    args.common.log.begin()?;
    let stop = until_signal()?;
    let ready = |listens: SocketAddr| {
        tracing::info!(%listens, "fabric broker started");
    };
    let thrown = run_fabric(&options, &stop, ready).map_err(failed)?;
    tracing::info!(messages = thrown.messages, "fabric broker stopped; messages dropped");
    std::io::stdout().flush()?;
    Ok(Exit::Fine)
}

fn failed(error: std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => Failure::Usage(error.to_string()),
        _ => Failure::Internal(format!("cannot start the broker: {error}")),
    }
}

fn host(setup: &BrokerConfig, option: &str, name: &str) -> Result<NodeId, Failure> {
    let network = setup.network();
    let found = network.nodes().find(|(_, node)| node.name == name).map(|(id, node)| (id, node.kind));
    match found {
        Some((id, NodeKind::Host)) => Ok(id),
        Some((_, NodeKind::Switch)) => {
            Err(Failure::Usage(format!("{option} {name}: this is a switch, expected a host")))
        }
        None => {
            let first: Vec<&str> = network.hosts().take(3).map(|host| network.node(host).name.as_str()).collect();
            let first = first.join(", ");
            Err(Failure::Usage(format!("{option} {name}: no such host in the network; its hosts: {first}, ...")))
        }
    }
}

/// Returns the source of the uplinks' capacities, if there is one.
fn uplinks(args: &RackArgs, setup: &BrokerConfig, machine: NodeId) -> Result<Option<(Uplinks, Duration)>, Failure> {
    if args.server.server.is_none() && args.server.context.is_none() {
        return Ok(None);
    }
    let (address, _) = args.server.resolve()?;
    let Some(rack) = setup.rack_of(machine) else { return Ok(None) };
    let names = Direction::ALL.map(|direction| -> Vec<String> {
        let links = ContentionPoint::Rack(rack).links(setup.network(), direction);
        links.into_iter().map(|link| setup.network().link(link).name.clone()).collect()
    });
    let ask = move || -> Result<[Rate; 2], String> {
        let service = of_address(address.clone(), None).map_err(|failure| failure.to_string())?;
        let links: Vec<Link> =
            service.list("/v1/links", &[], usize::MAX).map_err(|error| Failure::from(error).to_string())?;
        let mut carried = [Rate::ZERO; 2];
        for (carried, names) in carried.iter_mut().zip(&names) {
            for link in links.iter().filter(|link| link.state != ObservedState::Down && names.contains(&link.name)) {
                *carried = carried.checked_add(Rate::from_bits_per_second(link.rate_bps)).unwrap_or(Rate::MAX);
            }
            if !links.iter().any(|link| names.contains(&link.name)) {
                return Err(format!(
                    "the controller's network has none of the rack's uplinks, such as {}",
                    names.join(", ")
                ));
            }
        }
        Ok(carried)
    };
    Ok(Some((Box::new(ask), Duration::from_nanos(args.uplinks_interval.as_nanos().max(1_000_000)))))
}

/// Ends the broker at a signal.
fn until_signal() -> Result<StopSignal, Failure> {
    let stop = StopSignal::default();
    let response = stop.clone();
    ctrlc::set_handler(move || response.stop())
        .map_err(|error| Failure::Internal(format!("cannot handle signals: {error}")))?;
    Ok(stop)
}
