//! The fabric broker as a process: it answers rack brokers over TCP.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wayleave_roles::{Broker, BrokerAction, BrokerId, BrokerInput, Member};
use wayleave_schemes::parley::{FabricBroker, Ignored, Message};
use wayleave_topology::NodeId;
use wayleave_wire::broker::RateList;

use super::rpc::{self, ReadError};
use super::{Clock, Stop, TURN, Thrown, first_serial, is_worth_a_line, no_address, today};
use crate::Setup;

/// At once. Section 5.3 speaks of 10000 racks, each with a leader that keeps its connection.
const CONNECTIONS: usize = 16_384;

/// Who a fabric broker is.
pub struct FabricOptions {
    /// What all brokers agree on.
    pub setup: Arc<Setup>,
    /// Where it listens.
    pub listen: SocketAddr,
}

struct Shared {
    /// A connection without a request for this long is closed.
    patience: Duration,
    broker: Mutex<FabricBroker>,
    clock: Clock,
    stop: Stop,
    thrown: AtomicU64,
    connections: AtomicUsize,
}

/// Runs a fabric broker until it is told to stop. `ready` is told the address that it listens at.
///
/// # Errors
/// If it cannot listen, or the policies are no pool of the network.
pub fn run_fabric(options: &FabricOptions, stop: &Stop, ready: impl FnOnce(SocketAddr)) -> io::Result<Thrown> {
    let pool = options.setup.fabric_pool(Some(today())).map_err(io::Error::other)?;
    let mut changes = options.setup.changes(today());
    let listener = TcpListener::bind(options.listen).map_err(|error| no_address(options.listen, &error))?;
    listener.set_nonblocking(true)?;
    let broker = FabricBroker::new(options.setup.params, options.setup.epoch, first_serial(), pool);
    let patience = Duration::from_nanos(options.setup.params.fabric_timeout.as_nanos());
    let shared = Arc::new(Shared {
        patience,
        broker: Mutex::new(broker),
        clock: Clock::begin(),
        stop: stop.clone(),
        thrown: AtomicU64::new(0),
        connections: AtomicUsize::new(0),
    });
    ready(listener.local_addr()?);
    let mut racks: Vec<NodeId> = Vec::new();
    while !stop.is_stopped() {
        match listener.accept() {
            Ok((stream, from)) => accept(&shared, stream, from),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
        racks = tell_changes(&options.setup, &shared, racks);
        let past = options.setup.changes(today());
        if std::mem::replace(&mut changes, past) != past {
            match options.setup.fabric_pool(Some(today())) {
                Ok(pool) => lock(&shared).set_pool(pool),
                Err(error) => tracing::error!("the terms that begin now cannot be kept, so the old ones stay: {error}"),
            }
        }
    }
    let ignored = lock(&shared).ignored();
    let Ignored { epoch, serial, stranger } = ignored;
    tracing::info!(epoch, serial, stranger, "messages that were not heeded");
    Ok(Thrown { messages: shared.thrown.load(Ordering::Relaxed), lines: 0 })
}

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, FabricBroker> {
    // The broker cannot be left in an intermediate state: it gets whole messages.
    shared.broker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says which racks have come and gone.
fn tell_changes(setup: &Setup, shared: &Shared, before: Vec<NodeId>) -> Vec<NodeId> {
    let after: Vec<NodeId> = lock(shared).alive(shared.clock.now()).collect();
    for &rack in after.iter().filter(|rack| !before.contains(rack)) {
        tracing::info!(rack = setup.network().node(rack).name, "a rack is heard");
    }
    for &rack in before.iter().filter(|rack| !after.contains(rack)) {
        tracing::warn!(rack = setup.network().node(rack).name, "a rack is not heard any more");
    }
    after
}

fn accept(shared: &Arc<Shared>, stream: TcpStream, from: SocketAddr) {
    if shared.connections.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS {
        shared.connections.fetch_sub(1, Ordering::Relaxed);
        tracing::warn!(%from, "too many connections: this one is closed");
        return;
    }
    let shared = Arc::clone(shared);
    // It ends when its connection does, or within a turn of the broker.
    std::thread::spawn(move || {
        if let Err(error) = serve(&shared, stream)
            && is_worth_a_line(&shared.thrown)
        {
            tracing::warn!(%from, "a connection is closed: {error}");
        }
        shared.connections.fetch_sub(1, Ordering::Relaxed);
    });
}

fn serve(shared: &Shared, mut stream: TcpStream) -> Result<(), String> {
    let message = |error: io::Error| error.to_string();
    stream.set_nonblocking(false).map_err(message)?;
    stream.set_nodelay(true).map_err(message)?;
    stream.set_read_timeout(Some(TURN)).map_err(message)?;
    stream.set_write_timeout(Some(Duration::from_secs(5))).map_err(message)?;
    loop {
        let list = match rpc::read(&mut stream, &shared.stop, Instant::now() + shared.patience) {
            Ok(list) => list,
            Err(ReadError::Closed | ReadError::Stopped | ReadError::Late) => return Ok(()),
            Err(ReadError::Wrong(error)) => return Err(error),
        };
        for answer in answers(shared, list) {
            rpc::write(&mut stream, &answer).map_err(message)?;
        }
    }
}

fn answers(shared: &Shared, list: RateList) -> Vec<RateList> {
    let mut answers = Vec::new();
    // Answers go back where the question came from, so the number does not matter.
    let input = BrokerInput::Message { from: Member::Broker(BrokerId(list.from)), message: Message::Rates(list) };
    lock(shared).on(shared.clock.now(), input, &mut |action| {
        if let BrokerAction::Send { message: Message::Rates(answer), .. } = action {
            answers.push(answer);
        }
    });
    answers
}
