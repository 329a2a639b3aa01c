//! The broker of the fabric as a process: brokers of machines connect to it over TCP.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, Member};
use wayleave_schemes::brokers::IgnoredParam;
use wayleave_schemes::hosts::{AnyBroker, AnyBrokerTimer, AnyMessage};
use wayleave_topology::NodeId;

use super::seal::{Key, Seal};
use super::stream::{Messages, ReadError};
use super::timers::Timers;
use super::{
    Clock, DiscardedInputs, StopSignal, TURN, begin, first_serial, is_worth_a_line, no_address, today,
    warn_without_key, wrong,
};
use crate::BrokerConfig;

/// At once. Section 5.3 of Parley speaks of 10000 racks, each with a leader that keeps its connection.
const CONNECTIONS: usize = 16_384;

/// Sleep time of the thread that accepts connections: a timer may fire late by this.
const NAP: Duration = Duration::from_millis(20);

/// Options of a fabric broker.
pub struct FabricOptions {
    /// Setup on which all brokers agree.
    pub setup: Arc<BrokerConfig>,
    /// Address at which it listens.
    pub listen: SocketAddr,
    /// With which messages are sealed; without one they are not.
    pub key: Option<Key>,
}

struct Shared {
    setup: Arc<BrokerConfig>,
    seal: Option<Seal>,
    broker: Mutex<Working>,
    clock: Clock,
    stop: StopSignal,
    thrown: AtomicU64,
    connections: AtomicUsize,
    /// Over which connection each broker spoke last.
    speakers: Mutex<HashMap<BrokerId, Connection>>,
}

/// A connection, locked while a whole message is written to it.
type Connection = Arc<Mutex<TcpStream>>;

struct Working {
    broker: AnyBroker,
    timers: Timers,
}

/// Runs a fabric broker until it is stopped. `ready` receives the address at which it listens.
///
/// # Errors
/// If it cannot listen, or the scheme has no broker for the fabric or cannot construct it.
pub fn run_fabric(
    options: &FabricOptions,
    stop: &StopSignal,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<DiscardedInputs> {
    let setup = Arc::clone(&options.setup);
    let mut changes = setup.changes(today());
    let number =
        setup.fabric_broker().ok_or_else(|| wrong("the policies do not require a fabric broker".to_owned()))?;
    let broker = setup.broker(number, setup.epoch, first_serial(), Some(today())).map_err(io::Error::other)?;
    warn_without_key(options.listen, options.key.as_ref());
    let listener = TcpListener::bind(options.listen).map_err(|error| no_address(options.listen, &error))?;
    listener.set_nonblocking(true)?;
    let shared = Arc::new(Shared {
        broker: Mutex::new(Working { broker, timers: Timers::default() }),
        clock: Clock::begin(),
        stop: stop.clone(),
        thrown: AtomicU64::new(0),
        connections: AtomicUsize::new(0),
        seal: options.key.clone().map(|key| Seal::new(key, number)),
        speakers: Mutex::default(),
        setup,
    });
    ready(listener.local_addr()?);
    let spec = shared.setup.broker_specs().specs[number.index()];
    begin(&shared.setup, spec).into_iter().for_each(|input| shared.handle_input(input));
    let mut members: Vec<NodeId> = Vec::new();
    while !stop.is_stopped() {
        match listener.accept() {
            Ok((stream, from)) => accept(&shared, stream, from),
            Err(_) => std::thread::sleep(lock(&shared.broker).timers.wait(shared.clock.now(), NAP)),
        }
        shared.fire_timers();
        members = shared.report_changes(members);
        let past = shared.setup.changes(today());
        if std::mem::replace(&mut changes, past) != past
            && let Err(error) = lock(&shared.broker).broker.set_policies(&shared.setup.around(Some(today())))
        {
            tracing::error!("the new terms cannot be met, so the old ones stay: {error}");
        }
    }
    let ignored = lock(&shared.broker).broker.ignored();
    let IgnoredParam { epoch, serial, unknown_sender } = ignored;
    tracing::info!(epoch, serial, unknown_sender, "messages ignored");
    Ok(DiscardedInputs { messages: shared.thrown.load(Ordering::Relaxed), lines: 0 })
}

/// Locks a shared value. A poisoned lock is harmless: a broker receives whole messages, so there is no intermediate
/// state.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Something happens at the broker; what follows is done before this returns.
    fn handle_input(&self, input: BrokerInput<AnyMessage, AnyBrokerTimer>) {
        let mut outbox = Vec::new();
        {
            let Working { broker, timers } = &mut *lock(&self.broker);
            broker.on(self.clock.now(), input, &mut |action| match action {
                BrokerAction::Send { to, message } => outbox.push((to, message)),
                BrokerAction::Arm { at, timer } => timers.arm(at, timer),
            });
        }
        for (to, message) in outbox {
            // This broker belongs to no machine, so its messages go to brokers only.
            let Member::Broker(to) = to else { continue };
            let connection = lock(&self.speakers).get(&to).cloned();
            if let Some((connection, bytes)) = connection.zip(message.encode()) {
                let mut stream = lock(&connection);
                // The lock keeps messages in the order of their numbers.
                let bytes = self.seal.as_ref().map(|seal| seal.seal(today(), to, &bytes)).unwrap_or(bytes);
                if stream.write_all(&bytes).and_then(|()| stream.flush()).is_err() {
                    // Part of a message may have been sent, so no other may follow it. The reading thread notices
                    // that the connection ends.
                    stream.shutdown(Shutdown::Both).ok();
                }
            }
        }
    }

    fn fire_timers(&self) {
        let now = self.clock.now();
        loop {
            let Some(timer) = lock(&self.broker).timers.pop_expired(now) else { return };
            self.handle_input(BrokerInput::Timer(timer));
        }
    }

    /// Logs the members that have joined or left; returns the current ones.
    fn report_changes(&self, before: Vec<NodeId>) -> Vec<NodeId> {
        let name = |member: NodeId| self.setup.network().node(member).name.clone();
        let after = lock(&self.broker).broker.members(self.clock.now());
        for &member in after.iter().filter(|member| !before.contains(member)) {
            tracing::info!(member = name(member), "fabric member active");
        }
        for &member in before.iter().filter(|member| !after.contains(member)) {
            tracing::warn!(member = name(member), "fabric member silent");
        }
        after
    }
}

fn accept(shared: &Arc<Shared>, stream: TcpStream, from: SocketAddr) {
    if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
        shared.connections.fetch_sub(1, Ordering::Relaxed);
        tracing::warn!(%from, "too many connections: closing this one");
        return;
    }
    let shared = Arc::clone(shared);
    // It ends when its connection does, or within a turn of the broker.
    std::thread::spawn(move || {
        if let Err(error) = serve(&shared, stream)
            && is_worth_a_line(&shared.thrown)
        {
            tracing::warn!(%from, "connection closed: {error}");
        }
        shared.connections.fetch_sub(1, Ordering::Relaxed);
    });
}

fn serve(shared: &Shared, stream: TcpStream) -> Result<(), String> {
    let message = |error: io::Error| error.to_string();
    stream.set_nonblocking(false).map_err(message)?;
    stream.set_nodelay(true).map_err(message)?;
    stream.set_read_timeout(Some(TURN)).map_err(message)?;
    stream.set_write_timeout(Some(Duration::from_secs(5))).map_err(message)?;
    let connection: Connection = Arc::new(Mutex::new(stream.try_clone().map_err(message)?));
    let served = listen(shared, stream, &connection);
    lock(&shared.speakers).retain(|_, known| !Arc::ptr_eq(known, &connection));
    served
}

/// Reads messages from a connection until it ends.
fn listen(shared: &Shared, stream: TcpStream, connection: &Connection) -> Result<(), String> {
    // A connection without a message for this long is closed.
    let timeout = Duration::from_nanos(shared.setup.times().connection.as_nanos());
    let mut messages = Messages::new(stream, shared.setup.scheme(), shared.seal.as_ref(), &shared.stop);
    loop {
        let (sealer, message) = match messages.next(Some(Instant::now() + timeout)) {
            Ok(message) => message,
            Err(ReadError::Closed | ReadError::Stopped | ReadError::Late) => return Ok(()),
            Err(ReadError::Wrong(error)) => return Err(error),
        };
        let named = message.sender().and_then(|machine| shared.setup.broker_of(machine));
        let Some(from) = named.filter(|&from| sealer.is_none_or(|sealer| sealer == from)) else {
            if is_worth_a_line(&shared.thrown) {
                tracing::warn!(
                    "message dropped: its source is not a machine of the network, or not the machine that it names"
                );
            }
            continue;
        };
        lock(&shared.speakers).insert(from, Arc::clone(connection));
        shared.handle_input(BrokerInput::Message { from: Member::Broker(from), message });
    }
}
