//! Open connections, and eviction of idle ones.
//!
//! A new connection is always accepted. If there are too many, the connection that has been without an open request
//! for the longest time is closed. So connections that never send a request, never read their answers, or are kept
//! for later block no other client. Agents that wait for messages and streams of events are counted separately.
//! Beyond the limit there is a reserve for operators and monitoring programs.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Connections beyond the limit, for operators and for `/healthz`, `/readyz`, `/metrics`, `/v1/status`.
const RESERVE: usize = 32;

/// Maximum numbers of connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// With requests, or with none.
    pub(crate) all: usize,
    /// Of those, from one address.
    pub(crate) of_address: usize,
    /// Of agents that wait for messages.
    pub(crate) agents: usize,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// No request is in hand, since this change of the table.
    Nothing(u64),
    /// A request is in hand.
    Request,
    /// An agent waits for messages, or a client watches events.
    Waiting,
}

struct Connection {
    address: IpAddr,
    activity: Activity,
    close: Arc<Notify>,
}

#[derive(Default)]
struct Table {
    /// Counts changes; also the names of seats.
    changes: u64,
    connections: BTreeMap<u64, Connection>,
    /// Seats that do not wait, by address.
    by_address: HashMap<IpAddr, usize>,
    waiting: usize,
}

impl Table {
    fn next(&mut self) -> u64 {
        self.changes += 1;
        self.changes
    }

    fn busy(&self) -> usize {
        self.connections.len() - self.waiting
    }

    /// The seat that has done nothing for the longest time, of an address or of all.
    fn idlest(&self, of: Option<IpAddr>) -> Option<u64> {
        let idle = |(&name, connection): (&u64, &Connection)| match connection.activity {
            Activity::Nothing(since) if of.is_none_or(|address| address == connection.address) => Some((since, name)),
            _ => None,
        };
        self.connections.iter().filter_map(idle).min().map(|(_, name)| name)
    }

    fn count(&mut self, address: IpAddr) {
        *self.by_address.entry(address).or_default() += 1;
    }

    fn discount(&mut self, address: IpAddr) {
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
    }

    fn remove(&mut self, name: u64) -> Option<Connection> {
        let connection = self.connections.remove(&name)?;
        match connection.activity {
            Activity::Waiting => self.waiting -= 1,
            _ => self.discount(connection.address),
        }
        Some(connection)
    }
}

/// All connections.
pub(crate) struct ConnectionLimiter {
    table: Mutex<Table>,
    most: ConnectionLimits,
}

impl ConnectionLimiter {
    pub(crate) fn new(most: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { table: Mutex::default(), most })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for a connection that comes; another may have to go for it. None if all have requests in hand.
    pub(crate) fn take(self: &Arc<Self>, address: IpAddr) -> Option<ConnectionPermit> {
        let mut table = self.lock();
        if table.by_address.get(&address).copied().unwrap_or(0) >= self.most.of_address {
            let idlest = table.idlest(Some(address))?;
            table.remove(idlest)?.close.notify_one();
        }
        if table.busy() >= self.most.all
            && let Some(idlest) = table.idlest(None)
        {
            table.remove(idlest)?.close.notify_one();
        }
        // If a reserved connection was closed, open requests still occupy all regular connections.
        let is_reserved = table.busy() >= self.most.all;
        if table.busy() >= self.most.all + RESERVE {
            return None;
        }
        let (name, close) = (table.next(), Arc::new(Notify::new()));
        let activity = Activity::Nothing(name);
        table.count(address);
        table.connections.insert(name, Connection { address, activity, close: close.clone() });
        Some(ConnectionPermit { connections: self.clone(), name, close, address, is_reserved })
    }

    /// A seat does something else from now on; whether it may.
    fn turn(&self, name: u64, to: Activity) -> bool {
        let mut table = self.lock();
        let since = table.next();
        let Some(connection) = table.connections.get_mut(&name) else { return false };
        let (before, address) = (connection.activity, connection.address);
        connection.activity = if let Activity::Nothing(_) = to { Activity::Nothing(since) } else { to };
        match (before == Activity::Waiting, to == Activity::Waiting) {
            (false, true) => {
                table.waiting += 1;
                table.discount(address);
            }
            (true, false) => {
                table.waiting -= 1;
                table.count(address);
            }
            _ => {}
        }
        true
    }

    /// Returns the number of connections.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.lock().connections.len()
    }
}

/// The seat of one connection, until it is dropped.
pub(crate) struct ConnectionPermit {
    connections: Arc<ConnectionLimiter>,
    name: u64,
    close: Arc<Notify>,
    address: IpAddr,
    is_reserved: bool,
}

impl ConnectionPermit {
    /// Returns when the connection has to go.
    pub(crate) async fn closed(&self) {
        self.close.notified().await;
    }

    /// A request is in hand until this is dropped.
    pub(crate) fn request(&self) -> RequestGuard {
        self.connections.turn(self.name, Activity::Request);
        RequestGuard {
            connections: self.connections.clone(),
            name: self.name,
            address: self.address,
            is_reserved: self.is_reserved,
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.connections.lock().remove(self.name);
    }
}

/// A request that is in hand on a connection.
pub(crate) struct RequestGuard {
    connections: Arc<ConnectionLimiter>,
    name: u64,
    /// From where it comes.
    pub(crate) address: IpAddr,
    pub(crate) is_reserved: bool,
}

impl RequestGuard {
    /// Counts the connection as a waiting one from now on. `None` if the maximum of waiting agents is reached.
    pub(crate) fn wait(&self) -> Option<LongPollGuard> {
        // Released before the turn takes the table.
        let is_full = self.connections.lock().waiting >= self.connections.most.agents;
        if is_full {
            return None;
        }
        self.connections.turn(self.name, Activity::Waiting);
        Some(LongPollGuard { connections: self.connections.clone(), name: self.name })
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut table = self.connections.lock();
        // A stream of events continues after its request was handled.
        let is_waiting =
            table.connections.get(&self.name).is_some_and(|connection| connection.activity == Activity::Waiting);
        if !is_waiting {
            let since = table.next();
            if let Some(connection) = table.connections.get_mut(&self.name) {
                connection.activity = Activity::Nothing(since);
            }
        }
    }
}

/// A connection on which a client waits, until this is dropped.
pub(crate) struct LongPollGuard {
    connections: Arc<ConnectionLimiter>,
    name: u64,
}

impl Drop for LongPollGuard {
    fn drop(&mut self) {
        self.connections.turn(self.name, Activity::Nothing(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: ConnectionLimits = ConnectionLimits { all: 8, of_address: 6, agents: 4 };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// Returns `true` if a connection was notified to close.
    fn is_closed(taken: &ConnectionPermit) -> bool {
        let closed = taken.closed();
        let mut closed = std::pin::pin!(closed);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        closed.as_mut().poll(&mut cx).is_ready()
    }

    #[test]
    fn silent_connections_are_evicted_first_and_never_block_a_client() {
        let connections = ConnectionLimiter::new(MAX);
        let silent: Vec<ConnectionPermit> = (0..6).filter_map(|_| connections.take(address(1))).collect();
        let asks = connections.take(address(2)).unwrap();
        let _in_hand = asks.request();
        for _ in 0..100 {
            let late = connections.take(address(3)).unwrap();
            assert!(!late.is_reserved);
            let _busy = late.request();
            assert!(!is_closed(&late));
        }
        // Its own address makes room first.
        let more = connections.take(address(1)).unwrap();
        assert!(is_closed(&silent[0]) && !is_closed(&more) && !is_closed(&asks));
    }

    #[test]
    fn one_address_cannot_take_all_connections() {
        let connections = ConnectionLimiter::new(MAX);
        let taken: Vec<ConnectionPermit> = (0..6).filter_map(|_| connections.take(address(1))).collect();
        let requests: Vec<RequestGuard> = taken.iter().map(ConnectionPermit::request).collect();
        assert!(connections.take(address(1)).is_none());
        assert!(connections.take(address(2)).is_some_and(|taken| !taken.is_reserved));
        drop(requests);
        assert!(connections.take(address(1)).is_some(), "those of before have answers, and may be ended");
    }

    #[test]
    fn beyond_the_limit_there_is_a_reserve() {
        let connections = ConnectionLimiter::new(MAX);
        let taken: Vec<ConnectionPermit> = (0..8).filter_map(|at| connections.take(address(at))).collect();
        let _requests: Vec<RequestGuard> = taken.iter().map(ConnectionPermit::request).collect();
        let mut reserve: Vec<(ConnectionPermit, RequestGuard)> = Vec::new();
        while let Some(taken) = connections.take(address(100 + reserve.len() as u8)) {
            assert!(taken.is_reserved);
            let request = taken.request();
            reserve.push((taken, request));
        }
        assert_eq!(reserve.len(), RESERVE);
        // One of the reserve has its answer: who comes in its place is in the reserve, too.
        let (_idle, done) = reserve.remove(0);
        drop(done);
        let late = connections.take(address(200)).unwrap();
        assert!(late.is_reserved);
        assert_eq!(connections.count(), MAX.all + RESERVE);
    }

    #[test]
    fn waiting_agents_take_no_connections_of_users() {
        let connections = ConnectionLimiter::new(MAX);
        let agents: Vec<ConnectionPermit> = (0..5).filter_map(|_| connections.take(address(1))).collect();
        let requests: Vec<RequestGuard> = agents.iter().map(ConnectionPermit::request).collect();
        let waits: Vec<Option<LongPollGuard>> = requests.iter().map(RequestGuard::wait).collect();
        assert_eq!(waits.iter().flatten().count(), MAX.agents, "and they have a limit, too");
        let people: Vec<ConnectionPermit> = (0..7).filter_map(|at| connections.take(address(10 + at))).collect();
        assert!(people.len() == 7 && people.iter().all(|taken| !taken.is_reserved));
        drop((waits, requests));
        drop(agents);
        assert_eq!(connections.lock().by_address.get(&address(1)), None);
        drop(people);
        let table = connections.lock();
        assert_eq!((table.connections.len(), table.waiting, table.by_address.len()), (0, 0, 0));
    }
}
