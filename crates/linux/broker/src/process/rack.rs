//! The broker of a machine as a process.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, Member};
use wayleave_schemes::brokers::IgnoredParam;
use wayleave_schemes::hosts::{AnyBroker, AnyBrokerTimer, AnyMessage};
use wayleave_schemes::usage_report::{Limited, UsageReport};
use wayleave_topology::NodeId;
use wayleave_units::Rate;

use super::agent::TenantServices;
use super::lines::{LimitsLine, LineError, ReportLine};
use super::seal::{Key, Seal};
use super::timers::Timers;
use super::{
    Clock, DiscardedInputs, StopSignal, TURN, begin, first_serial, link, no_address, today, warn_without_key, wrong,
};
use crate::BrokerConfig;

/// The broker of another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineBroker {
    /// The machine.
    pub machine: NodeId,
    /// Address at which its broker listens.
    pub address: SocketAddr,
}

/// Asks what the uplinks of a rack can carry: transmit, receive.
pub type Uplinks = Box<dyn FnMut() -> Result<[Rate; 2], String> + Send>;

/// Options of a rack broker.
pub struct RackOptions {
    /// Setup on which all brokers agree.
    pub setup: Arc<BrokerConfig>,
    /// Its machine.
    pub machine: NodeId,
    /// Address at which it listens.
    pub listen: SocketAddr,
    /// The other brokers of the rack.
    pub peers: Vec<MachineBroker>,
    /// The fabric broker.
    pub fabric: Option<SocketAddr>,
    /// With which messages are sealed; without one they are not.
    pub key: Option<Key>,
    /// Source of the uplinks' capacity, and its poll interval. Without it the network file gives the capacity.
    pub uplinks: Option<(Uplinks, Duration)>,
    /// If the lines are of an agent: they name tenants, and these are their services.
    pub tenants: Option<TenantServices>,
}

/// Event for the thread of the broker.
enum Event {
    Datagram(Vec<u8>, SocketAddr),
    Line(String),
    /// The data plane has closed its lines.
    NoMoreLines,
    FromFabric(AnyMessage),
    Uplinks([Rate; 2]),
}

/// Runs a rack broker until it is stopped or `lines` end. `ready` receives the address at which it listens.
///
/// # Errors
/// If it cannot listen or write, or if the scheme has no broker for the machine or divides something else at a peer.
pub fn run_rack(
    options: RackOptions,
    stop: &StopSignal,
    lines: impl BufRead + Send + 'static,
    out: impl Write,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<DiscardedInputs> {
    let (events, inbox) = channel();
    warn_without_key(options.listen, options.key.as_ref());
    let socket = UdpSocket::bind(options.listen).map_err(|error| no_address(options.listen, &error))?;
    socket.set_read_timeout(Some(TURN))?;
    let mut rack = Rack::new(&options, socket.try_clone()?, out)?;
    if let Some(address) = options.fabric {
        let (to_fabric, outbox) = sync_channel(16);
        rack.fabric = Some(to_fabric);
        let (setup, events, stop) = (Arc::clone(&options.setup), events.clone(), stop.clone());
        let seal = rack.seal.clone();
        let on_message = move |message| events.send(Event::FromFabric(message)).is_ok();
        std::thread::spawn(move || link::speak(&setup, seal.as_ref(), address, &outbox, on_message, &stop));
    }
    if let Some((uplinks, every)) = options.uplinks {
        let (events, stop) = (events.clone(), stop.clone());
        std::thread::spawn(move || ask_uplinks(uplinks, every, &events, &stop));
    }
    ready(socket.local_addr()?);
    let (datagrams, ended) = (events.clone(), stop.clone());
    let listener = std::thread::spawn(move || listen(&socket, &datagrams, &ended));
    // It blocks on a line that may never come, so it is not joined.
    std::thread::spawn(move || read_lines(lines, &events));
    let done = rack.run(&inbox, stop);
    stop.stop();
    listener.join().ok();
    let IgnoredParam { epoch, serial, unknown_sender } = rack.broker.ignored();
    tracing::info!(epoch, serial, unknown_sender, "messages ignored");
    done.map(|()| rack.thrown)
}

struct Rack<W> {
    setup: Arc<BrokerConfig>,
    number: BrokerId,
    machine: NodeId,
    broker: AnyBroker,
    timers: Timers,
    clock: Clock,
    tenants: Option<TenantServices>,
    socket: UdpSocket,
    seal: Option<Arc<Seal>>,
    /// Addresses at which the brokers of other machines listen.
    addresses: HashMap<BrokerId, SocketAddr>,
    /// To the thread that speaks with the fabric broker.
    fabric: Option<SyncSender<Vec<u8>>>,
    out: W,
    thrown: DiscardedInputs,
    alive: Vec<NodeId>,
    /// Number of scheduled changes of the policies that are in force.
    changes: usize,
}

impl<W: Write> Rack<W> {
    fn new(options: &RackOptions, socket: UdpSocket, out: W) -> io::Result<Self> {
        let setup = Arc::clone(&options.setup);
        let machine = options.machine;
        let name = |node: NodeId| setup.network().node(node).name.clone();
        let no_broker =
            |node: NodeId| wrong(format!("{} has no broker of scheme {}", name(node), setup.scheme().name()));
        let number = setup.broker_of(machine).ok_or_else(|| no_broker(machine))?;
        let broker = setup.broker(number, setup.epoch, first_serial(), Some(today()));
        let broker = broker.map_err(|error| wrong(error.to_string()))?;
        let addresses = addresses(&setup, number, &options.peers)?;
        let clock = Clock::begin();
        let (thrown, alive, timers) = (DiscardedInputs::default(), Vec::new(), Timers::default());
        let changes = setup.changes(today());
        let seal = options.key.clone().map(|key| Arc::new(Seal::new(key, number)));
        Ok(Self {
            changes,
            seal,
            number,
            machine,
            broker,
            timers,
            clock,
            tenants: options.tenants.clone(),
            socket,
            addresses,
            fabric: None,
            out,
            thrown,
            alive,
            setup,
        })
    }

    fn run(&mut self, inbox: &Receiver<Event>, stop: &StopSignal) -> io::Result<()> {
        let spec = self.setup.broker_specs().specs[self.number.index()];
        for input in begin(&self.setup, spec) {
            self.handle_input(input)?;
        }
        while !stop.is_stopped() {
            match inbox.recv_timeout(self.timers.wait(self.clock.now(), TURN)) {
                Ok(Event::NoMoreLines) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(event) => self.on_event(event)?,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = self.clock.now();
            while let Some(timer) = self.timers.pop_expired(now) {
                self.handle_input(BrokerInput::Timer(timer))?;
            }
            self.report_changes();
            self.follow_schedule();
        }
        Ok(())
    }

    /// Terms that begin at some time of the calendar.
    fn follow_schedule(&mut self) {
        let changes = self.setup.changes(today());
        if std::mem::replace(&mut self.changes, changes) != changes
            && let Err(error) = self.broker.set_policies(&self.setup.around(Some(today())))
        {
            tracing::error!("the new terms cannot be met, so the old ones stay: {error}");
        }
    }

    fn on_event(&mut self, event: Event) -> io::Result<()> {
        let input = match event {
            Event::Datagram(bytes, from) => match self.datagram(&bytes, from.ip()) {
                Ok((from, message)) => BrokerInput::Message { from: Member::Broker(from), message },
                Err(error) => {
                    self.thrown.messages += 1;
                    if self.thrown.messages % 1000 == 1 {
                        tracing::warn!(%from, thrown = self.thrown.messages, "datagram dropped: {error}");
                    }
                    return Ok(());
                }
            },
            Event::Line(line) if line.trim().is_empty() => return Ok(()),
            Event::Line(line) => match self.read(&line) {
                Ok(report) => {
                    let Some(message) = self.setup.scheme().from_report(report) else { return Ok(()) };
                    BrokerInput::Message { from: Member::Host(self.machine), message }
                }
                Err(error) => {
                    self.thrown.lines += 1;
                    tracing::warn!("line dropped: {error}");
                    return Ok(());
                }
            },
            Event::FromFabric(message) => {
                let Some(fabric) = self.setup.fabric_broker() else { return Ok(()) };
                BrokerInput::Message { from: Member::Broker(fabric), message }
            }
            Event::Uplinks([transmit, receive]) => BrokerInput::Capacity { transmit, receive },
            Event::NoMoreLines => return Ok(()),
        };
        self.handle_input(input)
    }

    fn read(&self, line: &str) -> Result<UsageReport, LineError> {
        let line = ReportLine::parse(line)?;
        let line = self.tenants.as_ref().map(|tenants| tenants.report(&line)).unwrap_or(line);
        line.read(self.setup.services(), self.clock.now())
    }

    fn datagram(&self, bytes: &[u8], from: IpAddr) -> Result<(BrokerId, AnyMessage), String> {
        if !self.addresses.values().any(|address| address.ip() == from) {
            return Err("its source address is not that of a peer".to_owned());
        }
        let opened = self.seal.as_ref().map(|seal| seal.open(today(), bytes)).transpose();
        let (sealer, bytes) =
            opened.map_err(|error| error.to_string())?.map_or((None, bytes), |(from, bytes)| (Some(from), bytes));
        let message = self.setup.scheme().decode(bytes).map_err(|error| error.to_string())?;
        let sender = message.sender().and_then(|machine| self.setup.broker_of(machine));
        let sender = sender.ok_or_else(|| "its source is not a machine of the network".to_owned())?;
        if sealer.is_some_and(|sealer| sealer != sender) {
            return Err("it is not sealed by the broker that it names".to_owned());
        }
        Ok((sender, message))
    }

    fn handle_input(&mut self, input: BrokerInput<AnyMessage, AnyBrokerTimer>) -> io::Result<()> {
        let mut outbox = Vec::new();
        let Self { broker, timers, clock, .. } = self;
        broker.on(clock.now(), input, &mut |action| match action {
            BrokerAction::Send { to, message } => outbox.push((to, message)),
            BrokerAction::Arm { at, timer } => timers.arm(at, timer),
        });
        outbox.into_iter().try_for_each(|(to, message)| self.carry(to, &message))
    }

    fn carry(&mut self, to: Member, message: &AnyMessage) -> io::Result<()> {
        match to {
            Member::Host(host) => match message.limits().filter(|_| host == self.machine) {
                Some(limits) => self.answer(&limits),
                None => Ok(()),
            },
            Member::Broker(to) => {
                let Some(bytes) = message.encode() else { return Ok(()) };
                let bytes = self.seal.as_ref().map(|seal| seal.seal(today(), to, &bytes)).unwrap_or(bytes);
                if let Some(address) = self.addresses.get(&to) {
                    // A datagram may be lost; so may this one.
                    self.socket.send_to(&bytes, address).ok();
                } else if Some(to) == self.setup.fabric_broker() {
                    self.send_to_fabric(bytes);
                }
                Ok(())
            }
        }
    }

    fn answer(&mut self, limits: &[Limited]) -> io::Result<()> {
        let now = self.clock.now();
        let leader = self.broker.leader(now).map(|leader| self.setup.network().node(leader).name.clone());
        let line = LimitsLine::of(limits, self.setup.services(), self.broker.members(now).len(), leader);
        let line = match &self.tenants {
            Some(tenants) => tenants.limits(line),
            None => line,
        };
        let text = serde_json::to_string(&line).map_err(io::Error::other)?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    fn send_to_fabric(&mut self, bytes: Vec<u8>) {
        if let Some(Err(TrySendError::Full(_))) = self.fabric.as_ref().map(|fabric| fabric.try_send(bytes)) {
            tracing::warn!("the fabric broker does not answer: skipping a query");
        }
    }

    /// Logs the machines that have joined or left.
    fn report_changes(&mut self) {
        let after = self.broker.members(self.clock.now());
        let name = |node: NodeId| self.setup.network().node(node).name.clone();
        for &machine in after.iter().filter(|machine| !self.alive.contains(machine)) {
            tracing::info!(machine = name(machine), "machine active");
        }
        for &machine in self.alive.iter().filter(|machine| !after.contains(machine)) {
            tracing::warn!(machine = name(machine), "machine silent");
        }
        self.alive = after;
    }
}

/// Returns the addresses of the brokers that divide the links of this broker's contention point.
fn addresses(
    setup: &BrokerConfig,
    number: BrokerId,
    peers: &[MachineBroker],
) -> io::Result<HashMap<BrokerId, SocketAddr>> {
    let name = |node: NodeId| &setup.network().node(node).name;
    let specs = setup.broker_specs().specs;
    let point = specs[number.index()].point;
    let mut addresses = HashMap::new();
    for peer in peers {
        let Some(at) = setup.broker_of(peer.machine).filter(|at| specs[at.index()].point == point) else {
            let (other, own) = (name(peer.machine), specs[number.index()].at.host().map_or("", |host| name(host)));
            return Err(wrong(format!("{other} is not a peer: it is not in the rack of {own}, or has no broker")));
        };
        addresses.insert(at, peer.address);
    }
    for (place, spec) in specs.iter().enumerate() {
        let (at, machine) = (BrokerId(place as u32), spec.at.host().filter(|&host| spec.is_of(host)));
        if let Some(machine) = machine.filter(|_| spec.point == point && at != number && !addresses.contains_key(&at)) {
            tracing::warn!(machine = name(machine), "it has no address: it counts as silent");
        }
    }
    Ok(addresses)
}

fn listen(socket: &UdpSocket, events: &Sender<Event>, stop: &StopSignal) {
    let mut bytes = vec![0; 65_536];
    while !stop.is_stopped() {
        // A time-out; or a port that is closed somewhere, which a later datagram may find open.
        let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
        if events.send(Event::Datagram(bytes[..length].to_vec(), from)).is_err() {
            return;
        }
    }
}

fn read_lines(lines: impl BufRead, events: &Sender<Event>) {
    for line in lines.lines() {
        let Ok(line) = line else { break };
        if events.send(Event::Line(line)).is_err() {
            return;
        }
    }
    events.send(Event::NoMoreLines).ok();
}

fn ask_uplinks(mut uplinks: Uplinks, every: Duration, events: &Sender<Event>, stop: &StopSignal) {
    let mut before = None;
    let mut is_reported = false;
    while !stop.is_stopped() {
        match uplinks() {
            Ok(capacity) => {
                is_reported = false;
                if before.replace(capacity) != Some(capacity) {
                    let [transmit, receive] = capacity;
                    tracing::info!(%transmit, %receive, "capacity of the uplinks");
                    if events.send(Event::Uplinks(capacity)).is_err() {
                        return;
                    }
                }
            }
            Err(error) if !is_reported => {
                is_reported = true;
                tracing::warn!(
                    "cannot read the uplink capacity from the controller, so the last known value stays: {error}"
                );
            }
            Err(_) => {}
        }
        let next = Instant::now() + every;
        while Instant::now() < next && !stop.is_stopped() {
            std::thread::sleep(TURN.min(every));
        }
    }
}
