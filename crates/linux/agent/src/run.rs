//! The agents of a process: threads, locks, ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use wayleave_dataplane::host::{Host, Settings};
use wayleave_dataplane::net::{CounterReading, LinkWatch, Namespace, with_carrier};
use wayleave_dataplane::switch::{LinuxSwitch, OvsBridge, OvsSwitch, SwitchDriver};
use wayleave_topology::{LinkId, Network, NodeId, NodeKind};

use crate::controller_client::ControllerClient;
use crate::endpoints::Declared;
use crate::environment::Environment;
use crate::host::HostDriver;
use crate::linux::{LinuxHost, index};
use crate::notifier::{KnownRules, Notifier, poll};
use crate::options::{NodeOptions, Options, ReadTopology};
use crate::rights;
use crate::rule_store::RuleStore;
use crate::shares::broker;
use crate::shares::peers::{self, PeerExchange};
use crate::switch::SwitchNode;
use crate::worker::{Cables, Carriers, ControllerNotice, Worker, WorkerEvent};

/// Before a data plane that cannot be opened is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Duration of a watch of interfaces without any event.
const WATCH: Duration = Duration::from_secs(60);

/// Agents that run.
pub struct Agents {
    nodes: Vec<(Sender<WorkerEvent>, JoinHandle<()>)>,
}

/// A node before its loop: no other process drives it.
pub(crate) struct OwnedNode {
    pub(crate) options: NodeOptions,
    pub(crate) settings: Settings,
    pub(crate) namespace: Namespace,
    _lock: File,
}

impl Agents {
    /// Begins to drive nodes. An unreachable controller is not an error here.
    ///
    /// # Errors
    /// If rights are missing, a namespace does not exist, or another process drives one of the nodes.
    pub fn start(options: Options, read_topology: ReadTopology) -> Result<Self, String> {
        let Options { settings, nodes } = options;
        let owned: Vec<OwnedNode> = own(nodes, &settings)?;
        let nodes = owned.into_iter().map(|owned| begin(owned, read_topology)).collect::<Result<_, String>>()?;
        Ok(Self { nodes })
    }

    /// Ends; what is installed stays and enforces.
    pub fn end(self) {
        for (events, _) in &self.nodes {
            // A node that has ended already has no receiver any more.
            let _ = events.send(WorkerEvent::End);
        }
        for (_, node) in self.nodes {
            let _ = node.join();
        }
    }

    /// Returns `true` if all loops run.
    pub fn are_alive(&self) -> bool {
        self.nodes.iter().all(|(_, node)| !node.is_finished())
    }
}

/// Makes sure that no other process drives these nodes, and that this one has the rights to.
pub(crate) fn own(nodes: Vec<NodeOptions>, settings: &Settings) -> Result<Vec<OwnedNode>, String> {
    let enters = nodes.iter().any(|node| node.netns.is_some());
    if let Some(missing) = rights::missing(enters) {
        return Err(missing);
    }
    let own = |options: NodeOptions| {
        let namespace = match &options.netns {
            Some(name) => Namespace::open(name).map_err(|error| format!("node {}: {error}", options.name))?,
            None => Namespace::current(),
        };
        let _lock = lock(&options.state, &options.name)?;
        Ok(OwnedNode { options, settings: settings.clone(), namespace, _lock })
    };
    nodes.into_iter().map(own).collect()
}

/// One process at a time drives a node.
fn lock(state: &Path, node: &str) -> Result<File, String> {
    let fail = |error: std::io::Error| format!("{}: {error}", state.display());
    fs::create_dir_all(state).map_err(fail)?;
    let file = File::create(state.join("lock")).map_err(fail)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(format!(
            "another agent already runs for {node} ({} is locked): stop it first",
            state.join("lock").display()
        )),
        Err(fs::TryLockError::Error(error)) => Err(fail(error)),
    }
}

/// Starts the threads of a node.
fn begin(owned: OwnedNode, read_topology: ReadTopology) -> Result<(Sender<WorkerEvent>, JoinHandle<()>), String> {
    let name = owned.options.name.clone();
    let client = ControllerClient::new(owned.options.address.clone(), &name).map_err(|error| error.to_string())?;
    let (events, received) = channel();
    let (notifier, inbox) = channel();
    let (poller, requests) = sync_channel(1);
    let (known, before) = KnownRules::read(&owned.options.state, read_topology);
    if let Some(environment) = before {
        // This is the first event, so that a node without a controller continues with its stored state.
        let _ = events.send(WorkerEvent::OtherNetwork(environment));
    }
    let spawn = |what: &str, work: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new().name(format!("{what} {name}"));
        thread.spawn(work).map_err(|error| format!("cannot start the threads of {name}: {error}"))
    };
    let (asking, asked) = (client.clone(), events.clone());
    spawn("asks", Box::new(move || poll(&asking, &requests, &asked)))?;
    let notifier_loop = Notifier::new(client, events.clone(), inbox, known);
    let of = name.clone();
    let run_notifier = move || tracing::info_span!("node", name = of).in_scope(|| notifier_loop.run());
    spawn("tells", Box::new(run_notifier))?;
    let (exchange, outgoing) = (Arc::<PeerExchange>::default(), events.clone());
    let (opened, listen) = (exchange.clone(), owned.options.listen);
    let controller = owned.options.address.current().to_owned();
    spawn("hears", Box::new(move || receive_reports(&opened, listen, &controller, &outgoing)))?;
    let (broker, outgoing) = (Arc::<broker::Connection>::default(), events.clone());
    let (connection, socket) = (broker.clone(), owned.options.broker_socket());
    spawn("limits", Box::new(move || limits(&socket, &connection, &outgoing)))?;
    let (watched, outgoing) = (owned.namespace.clone(), events.clone());
    spawn("watches", Box::new(move || watch(&watched, &outgoing)))?;
    let node = spawn("drives", Box::new(move || drive(&owned, &(exchange, broker), &received, &poller, &notifier)))?;
    Ok((events, node))
}

/// Opens the socket for messages between agents, and forwards those received.
fn receive_reports(
    exchange: &PeerExchange,
    listen: Option<SocketAddr>,
    controller: &str,
    outgoing: &Sender<WorkerEvent>,
) {
    let mut is_reported = false;
    let opened = loop {
        match peers::open(listen, controller) {
            Ok(opened) => break opened,
            Err(error) if !is_reported => {
                tracing::warn!("cannot receive messages from agents of other hosts: {error}; retrying");
                is_reported = true;
            }
            Err(_) => {}
        }
        std::thread::sleep(AGAIN);
    };
    let Ok(received) = opened.try_clone() else { return };
    exchange.set_socket(opened);
    peers::listen(&received, exchange, |from, message, unread| {
        outgoing.send(WorkerEvent::PeerMessageReceived(from, message, unread)).is_ok()
    });
}

/// Opens the socket of the rack broker, and forwards its limits.
fn limits(socket: &Path, connection: &Arc<broker::Connection>, outgoing: &Sender<WorkerEvent>) {
    match broker::open(socket) {
        Ok(listener) => {
            let outgoing = outgoing.clone();
            broker::listen(&listener, connection, move |limits, unread| {
                outgoing.send(WorkerEvent::Limits(limits, unread)).is_ok()
            });
        }
        Err(error) => tracing::warn!("{}: {error}; a rack broker cannot limit tenants here", socket.display()),
    }
}

/// Sends an event whenever an interface changes. Without this, carriers are polled twice a second.
fn watch(namespace: &Namespace, outgoing: &Sender<WorkerEvent>) {
    let watch = namespace.enter().map_err(|error| error.to_string());
    let watch = watch.and_then(|()| LinkWatch::open().map_err(|error| error.to_string()));
    let watch = watch.inspect_err(|error| tracing::warn!("cannot watch interface changes: {error}"));
    let Ok(watch) = watch else { return };
    loop {
        match watch.wait(WATCH) {
            Ok(true) if outgoing.send(WorkerEvent::Interfaces).is_err() => return,
            Ok(_) => {}
            Err(error) => return tracing::warn!("cannot watch interface changes: {error}"),
        }
    }
}

/// The life of a node: each network that the controller has is a new beginning.
fn drive(
    owned: &OwnedNode,
    outgoing: &(Arc<PeerExchange>, Arc<broker::Connection>),
    received: &Receiver<WorkerEvent>,
    poller: &SyncSender<(u64, u64)>,
    notifier: &Sender<ControllerNotice>,
) {
    let name = &owned.options.name;
    let _span = tracing::info_span!("node", name).entered();
    if let Err(error) = owned.namespace.enter() {
        tracing::error!("{error}");
        return;
    }
    let mut environment = None;
    loop {
        let next = environment.take().or_else(|| first(received));
        let Some(now) = next else { return };
        environment = match serve(owned, outgoing, &now, received, poller, notifier) {
            Ok(other) => match other {
                Some(other) => Some(other),
                None => return,
            },
            Err(error) => {
                tracing::error!("{error}; retrying");
                match pause(received) {
                    Some(other) => Some(other.unwrap_or(now)),
                    None => return,
                }
            }
        };
    }
}

/// Waits for the first network; `None` if the agent ends before.
fn first(received: &Receiver<WorkerEvent>) -> Option<Arc<Environment>> {
    loop {
        match received.recv() {
            Ok(WorkerEvent::OtherNetwork(environment) | WorkerEvent::Environment(environment)) => {
                return Some(environment);
            }
            Ok(WorkerEvent::End) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Waits before a retry; returns the environment received during the wait, if any, or `None` if the agent ends.
fn pause(received: &Receiver<WorkerEvent>) -> Option<Option<Arc<Environment>>> {
    match received.recv_timeout(AGAIN) {
        Ok(WorkerEvent::OtherNetwork(environment) | WorkerEvent::Environment(environment)) => Some(Some(environment)),
        Ok(WorkerEvent::End) | Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
        Ok(_) | Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Some(None),
    }
}

/// Drives a node on a network until it is another one (that is returned), or all is over.
fn serve(
    owned: &OwnedNode,
    outgoing: &(Arc<PeerExchange>, Arc<broker::Connection>),
    environment: &Arc<Environment>,
    received: &Receiver<WorkerEvent>,
    poller: &SyncSender<(u64, u64)>,
    notifier: &Sender<ControllerNotice>,
) -> Result<Option<Arc<Environment>>, String> {
    let network = environment.shared_network();
    let options = &owned.options;
    let node = network.find_node(&options.name);
    let node = node.ok_or_else(|| format!("the controller's topology has no node {}", options.name))?;
    let interfaces = links(&network, node, &options.interfaces)?;
    let cables = Cables {
        interfaces: interfaces.iter().map(|(&link, to)| (network.link(link).name.clone(), to.clone())).collect(),
        carriers: carriers(options.ovs.clone()),
        node,
        counters: Box::new(|| CounterReading::now().ok()),
    };
    let (poller, notifier) = (poller.clone(), notifier.clone());
    match network.node(node).kind {
        NodeKind::Host => {
            let driver = open_host(owned, environment, node, interfaces)?.telling_by(outgoing.0.clone());
            Ok(Worker::new(driver, network, cables, poller, notifier).telling(outgoing.1.clone()).run(received))
        }
        NodeKind::Switch => {
            let (open, pins) = (OpenSwitch { options, environment, node, interfaces }, &options.pins);
            match &options.ovs {
                None => {
                    let driver = LinuxSwitch::open(Namespace::current(), pins).map_err(|error| error.to_string())?;
                    Ok(Worker::new(open.over(driver), network, cables, poller, notifier).run(received))
                }
                Some(bridge) => {
                    let driver = OvsSwitch::open(bridge.clone(), Namespace::current(), pins)
                        .map_err(|error| error.to_string())?;
                    Ok(Worker::new(open.over(driver), network, cables, poller, notifier).run(received))
                }
            }
        }
    }
}

/// Parts of a switch besides its driver.
struct OpenSwitch<'a> {
    options: &'a NodeOptions,
    environment: &'a Environment,
    node: NodeId,
    interfaces: BTreeMap<LinkId, String>,
}

impl OpenSwitch<'_> {
    fn over<S: SwitchDriver>(self, driver: S) -> SwitchNode<S> {
        let Self { options, environment, node, interfaces } = self;
        let file = options.state.join("switch");
        SwitchNode::open(driver, environment, node, interfaces, Box::new(index), file).following(options.follow)
    }
}

/// Returns a function that reads the state of the interfaces. A bridge that does not answer forwards nothing.
fn carriers(ovs: Option<OvsBridge>) -> Box<dyn FnMut() -> Carriers + Send> {
    Box::new(move || match &ovs {
        Some(bridge) if !bridge.answers() => Carriers::SwitchSilent,
        _ => with_carrier().map_or(Carriers::Unknown, Carriers::Up),
    })
}

fn open_host(
    owned: &OwnedNode,
    environment: &Arc<Environment>,
    node: NodeId,
    interfaces: BTreeMap<LinkId, String>,
) -> Result<HostDriver<LinuxHost>, String> {
    let options = &owned.options;
    let mut host = Host::open(&options.pins, &owned.settings).map_err(|error| error.to_string())?;
    let held = match owned.settings.wait {
        Some(longest) => host.hold(longest),
        None => host.release_hold(),
    };
    if let Err(error) = held {
        // Packets that exceed a contract are then dropped, as on kernels that cannot delay them.
        tracing::warn!("{error}; packets that exceed their contract are dropped instead of queued");
    }
    let plane = LinuxHost::new(host, environment.shared_network(), node, options.state.join("uplinks"));
    let plane = plane.following(options.follow);
    let store =
        RuleStore::open(&rules(&options.state)).map_err(|error| format!("{}: {error}", options.state.display()))?;
    let declared = Declared::new(options.endpoints.clone(), options.endpoints_folder());
    HostDriver::open(plane, node, environment.clone(), store, interfaces, declared)
}

fn rules(state: &Path) -> PathBuf {
    state.join("rules")
}

/// Returns the network and the locations of VMs that the agent of a node last received; `None` if it never has.
pub fn remembered(options: &NodeOptions, read_topology: ReadTopology) -> Option<Arc<Environment>> {
    KnownRules::read(&options.state, read_topology).1
}

/// The links by which the ports of a node are named: those that leave it, and those that enter it where nothing goes back.
pub fn ports(network: &Network, node: NodeId) -> Vec<LinkId> {
    let is_one_directional = |link: &&LinkId| network.reverse(**link).is_none();
    network.links_from(node).iter().chain(network.links_into(node).iter().filter(is_one_directional)).copied().collect()
}

/// Resolves interfaces by link from interfaces by port name.
///
/// # Errors
/// If a link is none of the node's ports, as a sentence.
pub fn links(
    network: &Network,
    node: NodeId,
    interfaces: &BTreeMap<String, String>,
) -> Result<BTreeMap<LinkId, String>, String> {
    let ports = ports(network, node);
    let link = |(name, interface): (&String, &String)| {
        let link = network.find_link(name).filter(|link| ports.contains(link));
        let link = link.ok_or_else(|| {
            let names: Vec<&str> = ports.iter().take(8).map(|&link| network.link(link).name.as_str()).collect();
            let (node, more) = (&network.node(node).name, if ports.len() > 8 { ", ..." } else { "" });
            format!(
                "an interface is configured for {name}, which is not a port of {node}; its ports: {}{more}",
                names.join(", ")
            )
        })?;
        Ok((link, interface.clone()))
    };
    interfaces.iter().map(link).collect()
}
