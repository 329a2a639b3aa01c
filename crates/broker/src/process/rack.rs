//! A rack broker as a process.

use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, Member};
use wayleave_schemes::parley::{Ignored, Message, RackBroker, RackPlace};
use wayleave_topology::NodeId;
use wayleave_units::Rate;
use wayleave_wire::broker::RateList;

use super::lines::{LimitsLine, ReportLine};
use super::rpc::{self, ReadError};
use super::{Clock, Stop, TURN, Thrown, first_serial, no_address, today};
use crate::Setup;

const FABRIC: BrokerId = BrokerId(u32::MAX);

/// The longest time to wait for an answer of the fabric broker: after that the next request is more useful.
const PATIENCE: Duration = Duration::from_secs(2);

/// The broker of another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The machine.
    pub machine: NodeId,
    /// Where its broker listens.
    pub address: SocketAddr,
}

/// Asks what the uplinks of a rack can carry: transmit, receive.
pub type Uplinks = Box<dyn FnMut() -> Result<[Rate; 2], String> + Send>;

/// Who a rack broker is.
pub struct RackOptions {
    /// What all brokers agree on.
    pub setup: Arc<Setup>,
    /// Its machine.
    pub machine: NodeId,
    /// Where it listens.
    pub listen: SocketAddr,
    /// The other brokers of the rack.
    pub peers: Vec<Peer>,
    /// The fabric broker.
    pub fabric: Option<SocketAddr>,
    /// Who knows what the uplinks can carry, and how often to ask. Without it the network file says.
    pub uplinks: Option<(Uplinks, Duration)>,
}

/// What the thread of the broker hears.
enum Event {
    Datagram(Vec<u8>, SocketAddr),
    Line(String),
    /// The data plane has gone.
    NoMoreLines,
    Answer(RateList),
    Uplinks([Rate; 2]),
}

/// Runs a rack broker until it is told to stop or `lines` end. `ready` is told the address that it listens at.
///
/// # Errors
/// If it cannot listen or write, or if the machine or a peer is in no rack of the network, or in another.
pub fn run_rack(
    options: RackOptions,
    stop: &Stop,
    lines: impl BufRead + Send + 'static,
    out: impl Write,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<Thrown> {
    let (events, heard) = channel();
    let socket = UdpSocket::bind(options.listen).map_err(|error| no_address(options.listen, &error))?;
    socket.set_read_timeout(Some(TURN))?;
    let mut rack = Rack::new(&options, socket.try_clone()?, out)?;
    if let Some(address) = options.fabric {
        let (ask, asked) = sync_channel(16);
        rack.fabric = Some(ask);
        let (events, stop) = (events.clone(), stop.clone());
        std::thread::spawn(move || ask_fabric(address, &asked, &events, &stop));
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
    let done = rack.run(&heard, stop);
    stop.stop();
    listener.join().ok();
    let Ignored { epoch, serial, stranger } = rack.broker.ignored();
    tracing::info!(epoch, serial, stranger, "messages that were not heeded");
    done.map(|()| rack.thrown)
}

struct Rack<W> {
    setup: Arc<Setup>,
    broker: RackBroker,
    clock: Clock,
    socket: UdpSocket,
    /// Where the broker of each member listens.
    addresses: Vec<Option<SocketAddr>>,
    fabric: Option<SyncSender<RateList>>,
    out: W,
    thrown: Thrown,
    alive: Vec<NodeId>,
    /// How many of the policies' scheduled changes are in force.
    changes: usize,
}

impl<W: Write> Rack<W> {
    fn new(options: &RackOptions, socket: UdpSocket, out: W) -> io::Result<Self> {
        let setup = Arc::clone(&options.setup);
        let name = |node: NodeId| setup.network().node(node).name.clone();
        let machine = options.machine;
        let rack = setup.rack_of(machine).ok_or_else(|| wrong(format!("{} is in no rack", name(machine))))?;
        let members = setup.machines(rack);
        let mut addresses = vec![None; members.len()];
        for peer in &options.peers {
            let place = members.iter().position(|&member| member == peer.machine);
            let place = place.ok_or_else(|| {
                wrong(format!("{} is not in the rack of {}, {}", name(peer.machine), name(machine), name(rack)))
            })?;
            addresses[place] = Some(peer.address);
        }
        for (&member, _) in
            members.iter().zip(&addresses).filter(|(member, address)| **member != machine && address.is_none())
        {
            tracing::warn!(machine = name(member), "no address is given for it: it counts as silent");
        }
        let place = RackPlace {
            machine,
            rack,
            brokers: (0..members.len() as u32).map(BrokerId).collect(),
            fabric: options.fabric.map(|_| FABRIC),
            epoch: setup.epoch,
            serial: first_serial(),
        };
        let pool = setup.rack_pool(rack, Some(today())).map_err(io::Error::other)?;
        let broker = RackBroker::new(setup.params, place, pool)
            .ok_or_else(|| wrong(format!("{} does not share the uplinks of its rack", name(machine))))?;
        let clock = Clock::begin();
        let (thrown, alive) = (Thrown::default(), Vec::new());
        let changes = setup.changes(today());
        Ok(Self { changes, broker, clock, socket, addresses, fabric: None, out, thrown, alive, setup })
    }

    fn run(&mut self, heard: &Receiver<Event>, stop: &Stop) -> io::Result<()> {
        while !stop.is_stopped() {
            match heard.recv_timeout(TURN) {
                Ok(Event::NoMoreLines) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(event) => self.hear(event)?,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.tell_changes();
            self.follow_schedule();
        }
        Ok(())
    }

    /// Terms that begin at some time of the calendar.
    fn follow_schedule(&mut self) {
        let changes = self.setup.changes(today());
        if std::mem::replace(&mut self.changes, changes) != changes {
            match self.setup.rack_pool(self.broker.place().rack, Some(today())) {
                Ok(pool) => self.broker.set_pool(pool),
                Err(error) => tracing::error!("the terms that begin now cannot be kept, so the old ones stay: {error}"),
            }
        }
    }

    fn hear(&mut self, event: Event) -> io::Result<()> {
        let input = match event {
            Event::Datagram(bytes, from) => match self.datagram(&bytes, from.ip()) {
                Ok(list) => message(BrokerId(list.from), list),
                Err(error) => {
                    self.thrown.messages += 1;
                    if self.thrown.messages % 1000 == 1 {
                        tracing::warn!(%from, thrown = self.thrown.messages, "a datagram is thrown away: {error}");
                    }
                    return Ok(());
                }
            },
            Event::Line(line) => match ReportLine::read(&line, self.setup.services(), self.clock.now()) {
                Ok(report) => {
                    let from = Member::Host(self.broker.place().machine);
                    BrokerInput::Message { from, message: Message::Report(report) }
                }
                Err(error) => {
                    self.thrown.lines += 1;
                    tracing::warn!("a line is thrown away: {error}");
                    return Ok(());
                }
            },
            Event::Answer(list) => message(FABRIC, list),
            Event::Uplinks([transmit, receive]) => BrokerInput::Capacity { transmit, receive },
            Event::NoMoreLines => return Ok(()),
        };
        self.tell(input)
    }

    fn datagram(&self, bytes: &[u8], from: IpAddr) -> Result<RateList, String> {
        if !self.addresses.iter().flatten().any(|address| address.ip() == from) {
            return Err("it comes from the address of no peer".to_owned());
        }
        RateList::decode(bytes).map_err(|error| error.to_string())
    }

    fn tell(&mut self, input: BrokerInput<Message, core::convert::Infallible>) -> io::Result<()> {
        let mut actions = Vec::new();
        self.broker.on(self.clock.now(), input, &mut |action| actions.push(action));
        for action in actions {
            // Brokers arm no timers.
            let BrokerAction::Send { to, message: Message::Rates(list) } = action else { continue };
            match to {
                Member::Host(_) => self.answer(&list)?,
                Member::Broker(FABRIC) => self.ask(list),
                Member::Broker(to) => {
                    if let Some(Some(address)) = self.addresses.get(to.index()) {
                        // A datagram may be lost; so may this one.
                        self.socket.send_to(&list.encode(), address).ok();
                    }
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, list: &RateList) -> io::Result<()> {
        let now = self.clock.now();
        let leader = self.broker.leader(now).map(|leader| self.setup.network().node(leader).name.clone());
        let line = LimitsLine::of(list, self.setup.services(), self.broker.alive(now).count(), leader);
        let text = serde_json::to_string(&line).map_err(io::Error::other)?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    fn ask(&mut self, list: RateList) {
        if let Some(Err(TrySendError::Full(_))) = self.fabric.as_ref().map(|fabric| fabric.try_send(list)) {
            tracing::warn!("the fabric broker does not answer: a question is left out");
        }
    }

    /// Says which machines have come and gone.
    fn tell_changes(&mut self) {
        let after: Vec<NodeId> = self.broker.alive(self.clock.now()).collect();
        let name = |node: NodeId| self.setup.network().node(node).name.clone();
        for &machine in after.iter().filter(|machine| !self.alive.contains(machine)) {
            tracing::info!(machine = name(machine), "a machine is heard");
        }
        for &machine in self.alive.iter().filter(|machine| !after.contains(machine)) {
            tracing::warn!(machine = name(machine), "a machine is not heard any more");
        }
        self.alive = after;
    }
}

fn message(from: BrokerId, list: RateList) -> BrokerInput<Message, core::convert::Infallible> {
    BrokerInput::Message { from: Member::Broker(from), message: Message::Rates(list) }
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

fn listen(socket: &UdpSocket, events: &Sender<Event>, stop: &Stop) {
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

/// One question after the other, over a connection that is made again when it breaks.
fn ask_fabric(address: SocketAddr, asked: &Receiver<RateList>, events: &Sender<Event>, stop: &Stop) {
    let mut connection = None;
    let mut is_told = false;
    while !stop.is_stopped() {
        let list = match asked.recv_timeout(TURN) {
            Ok(list) => list,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let is_old = connection.is_some();
        let mut asked = ask(address, &mut connection, &list, events, stop);
        if asked.is_err() && is_old {
            // The broker may have begun again since the last question.
            asked = ask(address, &mut connection, &list, events, stop);
        }
        match asked {
            Ok(()) => is_told = false,
            Err(error) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!(%address, "the fabric broker cannot be asked: {error}; the next question tries again");
                }
            }
        }
    }
}

fn ask(
    address: SocketAddr,
    connection: &mut Option<TcpStream>,
    list: &RateList,
    events: &Sender<Event>,
    stop: &Stop,
) -> Result<(), String> {
    let message = |error: io::Error| error.to_string();
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => TcpStream::connect_timeout(&address, PATIENCE).map_err(message)?,
    };
    stream.set_nodelay(true).map_err(message)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(message)?;
    stream.set_read_timeout(Some(TURN)).map_err(message)?;
    rpc::write(&mut stream, list).map_err(message)?;
    loop {
        let answer = match rpc::read(&mut stream, stop, Instant::now() + PATIENCE) {
            Ok(answer) => answer,
            Err(ReadError::Wrong(error)) => return Err(error),
            Err(ReadError::Closed) => return Err("it has closed the connection".to_owned()),
            Err(ReadError::Late | ReadError::Stopped) => return Err("it does not answer".to_owned()),
        };
        let last = answer.range.1;
        if events.send(Event::Answer(answer)).is_err() || last >= list.range.1 {
            break;
        }
    }
    *connection = Some(stream);
    Ok(())
}

fn ask_uplinks(mut uplinks: Uplinks, every: Duration, events: &Sender<Event>, stop: &Stop) {
    let mut before = None;
    let mut is_told = false;
    while !stop.is_stopped() {
        match uplinks() {
            Ok(capacity) => {
                is_told = false;
                if before.replace(capacity) != Some(capacity) {
                    let [transmit, receive] = capacity;
                    tracing::info!(%transmit, %receive, "the uplinks can carry so much");
                    if events.send(Event::Uplinks(capacity)).is_err() {
                        return;
                    }
                }
            }
            Err(error) if !is_told => {
                is_told = true;
                tracing::warn!(
                    "the controller does not say what the uplinks can carry, so what was known stays: {error}"
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
