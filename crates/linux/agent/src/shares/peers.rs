//! Agents of other hosts: their addresses, and the authentication of their messages.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use wayleave_broker::process::{Key, Seal};
use wayleave_scheme_api::BrokerId;
use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use super::message::PeerMessage;

/// The largest datagram that is read: more than one of [`PeerMessageReceived`] with its seal.
const LARGEST: usize = 4_096;

/// Maximum number of messages of agents that are not yet processed.
const MAX_UNREAD: usize = 1_024;

/// Message exchange between agents: the socket, once it is open, and the keys. A node keeps its exchange as long as
/// its agent runs, so a replayed message is never accepted, even after a change of the network.
#[derive(Debug, Default)]
pub struct PeerExchange {
    socket: OnceLock<UdpSocket>,
    known: RwLock<Known>,
}

/// Addresses of the other agents, and the key of their messages.
#[derive(Debug, Default)]
struct Known {
    seal: Option<(NodeId, String, Seal)>,
    addresses: BTreeMap<NodeId, SocketAddr>,
}

impl PeerExchange {
    /// Authenticates a datagram; returns its sender and its message. `None` if it is not from an agent of this
    /// network, not for this one, or not newer than an earlier datagram of its sender.
    pub fn open(&self, datagram: &[u8]) -> Option<(NodeId, PeerMessage)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (_, _, seal) = known.seal.as_ref()?;
        let (from, message) = seal.open(today(), datagram).ok()?;
        Some((NodeId(from.0), PeerMessage::read(message)?))
    }

    /// From now on this is the socket.
    pub fn set_socket(&self, socket: UdpSocket) {
        // One is opened in the life of an agent.
        let _ = self.socket.set(socket);
    }
}

/// Opens the socket for messages between agents: at `listen`, or at any free port of the address by which this
/// machine reaches the controller.
///
/// # Errors
/// If there is no such address, or it is taken.
pub fn open(listen: Option<SocketAddr>, controller: &str) -> io::Result<UdpSocket> {
    UdpSocket::bind(listen.map_or_else(|| towards(controller), Ok)?)
}

/// The address by which this machine reaches a URL, with no port yet.
fn towards(url: &str) -> io::Result<SocketAddr> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let authority = rest.split('/').next().unwrap_or_default();
    let port = if scheme == "https" { 443 } else { 80 };
    let mut all =
        authority.to_socket_addrs().or_else(|_| (authority.trim_matches(['[', ']']), port).to_socket_addrs())?;
    let to =
        all.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{authority} has no address")))?;
    let any =
        if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED) };
    // Nothing is sent by that.
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    Ok(SocketAddr::new(socket.local_addr()?.ip(), 0))
}

/// Something that was not read yet counts as long as this is there.
#[derive(Debug)]
pub struct UnreadMessage(Arc<AtomicUsize>);

impl Drop for UnreadMessage {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Forwards the messages of other agents until the receiver ends. A datagram without the key costs this thread one
/// inspection, and takes no place in the queue.
pub fn listen(
    socket: &UdpSocket,
    exchange: &PeerExchange,
    mut hand_on: impl FnMut(NodeId, PeerMessage, UnreadMessage) -> bool,
) {
    let (mut bytes, count) = ([0; LARGEST], Arc::<AtomicUsize>::default());
    loop {
        // The socket also reports that a datagram sent earlier found no receiver; that is no fault of this socket.
        let Ok((length, _)) = socket.recv_from(&mut bytes) else { continue };
        let Some((from, message)) = exchange.open(&bytes[..length]) else { continue };
        let before = count.fetch_add(1, Ordering::Relaxed);
        let unread = UnreadMessage(count.clone());
        if before < MAX_UNREAD && !hand_on(from, message, unread) {
            return;
        }
    }
}

/// The agents of other hosts.
#[derive(Debug)]
pub struct Peers {
    own: NodeId,
    exchange: Arc<PeerExchange>,
}

impl Peers {
    /// Creates the peers of the agent of this host, without any address yet.
    pub fn new(own: NodeId) -> Self {
        Self { own, exchange: Arc::default() }
    }

    /// Sets the exchange by which messages are sent.
    pub fn set_exchange(&mut self, exchange: Arc<PeerExchange>) {
        self.exchange = exchange;
    }

    /// Returns the address to which they send.
    pub fn local_address(&self) -> Option<SocketAddr> {
        self.exchange.socket.get()?.local_addr().ok()
    }

    /// Sets the current addresses of the agents, and the key of their messages.
    pub fn set(&mut self, addresses: BTreeMap<NodeId, SocketAddr>, secret: &str) {
        let mut known = self.exchange.known.write().unwrap_or_else(PoisonError::into_inner);
        known.addresses = addresses;
        if known.seal.as_ref().is_none_or(|(own, before, _)| (*own, before.as_str()) != (self.own, secret)) {
            let seal = Key::new(secret).map(|key| Seal::new(key, BrokerId(self.own.0)));
            known.seal = seal.map(|seal| (self.own, secret.to_owned(), seal));
        }
    }

    /// Sends a message to the agent of a host. A loss is detected by the agent's silence.
    pub fn send(&self, to: NodeId, message: &PeerMessage) {
        let known = self.exchange.known.read().unwrap_or_else(PoisonError::into_inner);
        let (Some(socket), Some((.., seal)), Some(address)) =
            (self.exchange.socket.get(), &known.seal, known.addresses.get(&to))
        else {
            return;
        };
        for datagram in message.datagrams() {
            // A datagram that cannot be sent is treated as lost in transit.
            let _ = socket.send_to(&seal.seal(today(), BrokerId(to.0), &datagram), address);
        }
    }
}

fn today() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    /// The agent of a host, at a socket of its own.
    fn agent(own: u32) -> (Peers, UdpSocket) {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let peers = Peers::new(NodeId(own));
        peers.exchange.set_socket(socket.try_clone().unwrap());
        (peers, socket)
    }

    fn message(rate: u64) -> PeerMessage {
        PeerMessage { sent: vec![(7, 1_500)], rates: vec![(7, rate)] }
    }

    /// Returns the datagram that one agent would send to another.
    fn sealed(from: u32, to: u32, secret: &str, rate: u64) -> Vec<u8> {
        let seal = Seal::new(Key::new(secret).unwrap(), BrokerId(from));
        seal.seal(today(), BrokerId(to), &message(rate).datagrams().remove(0))
    }

    fn knows(peers: &mut Peers, secret: &str) {
        peers.set(BTreeMap::new(), secret);
    }

    #[test]
    fn forged_replayed_reordered_or_misaddressed_messages_are_dropped() {
        let (mut peers, _) = agent(1);
        let open =
            |peers: &Peers, datagram: &[u8]| peers.exchange.open(datagram).map(|(from, message)| (from.0, message));
        let (first, second) = (sealed(2, 1, SECRET, 10), sealed(2, 1, SECRET, 20));
        assert_eq!(open(&peers, &first), None, "nobody is known before the controller has said who is there");
        knows(&mut peers, SECRET);
        for (what, datagram) in [
            ("with another secret", sealed(2, 1, OTHER, 10)),
            ("for another host", sealed(2, 3, SECRET, 10)),
            ("without a seal", message(10).datagrams().remove(0)),
            ("sealed, and nothing that agents say", {
                Seal::new(Key::new(SECRET).unwrap(), BrokerId(4)).seal(today(), BrokerId(1), b"rates")
            }),
            ("empty", Vec::new()),
        ] {
            assert_eq!(open(&peers, &datagram), None, "{what}");
        }
        for length in 0..second.len() {
            assert_eq!(open(&peers, &second[..length]), None, "{length} B of it");
        }
        assert_eq!(open(&peers, &second), Some((2, message(20))));
        assert_eq!(open(&peers, &second), None, "replayed");
        assert_eq!(open(&peers, &first), None, "what was said before comes after what was said later");
        // The sequence numbers of different senders are independent.
        assert_eq!(open(&peers, &sealed(3, 1, SECRET, 5)), Some((3, message(5))));

        // A driver that begins again on this exchange still rejects earlier messages.
        let mut again = Peers::new(NodeId(1));
        again.set_exchange(peers.exchange.clone());
        knows(&mut again, SECRET);
        assert_eq!(open(&again, &second), None, "replayed to the next driver");
        // Another controller, another secret: what was signed with the old one is over.
        let old = sealed(2, 1, SECRET, 30);
        knows(&mut again, OTHER);
        assert_eq!(open(&again, &old), None, "of an old epoch");
        assert_eq!(open(&again, &sealed(2, 1, OTHER, 40)), Some((2, message(40))));
    }

    fn listening(peers: &Peers, socket: UdpSocket) -> Receiver<(NodeId, PeerMessage, UnreadMessage)> {
        let (events, received) = channel();
        let exchange = peers.exchange.clone();
        std::thread::spawn(move || {
            listen(&socket, &exchange, |from, message, unread| events.send((from, message, unread)).is_ok())
        });
        received
    }

    #[test]
    fn a_flood_without_the_key_does_not_displace_others() {
        let (mut peers, socket) = agent(1);
        knows(&mut peers, SECRET);
        let to = socket.local_addr().unwrap();
        let received = listening(&peers, socket);
        let (flooder, other) = (UdpSocket::bind(("127.0.0.1", 0)).unwrap(), UdpSocket::bind(("127.0.0.1", 0)).unwrap());
        let forged = sealed(2, 1, OTHER, 1);
        let seal = Seal::new(Key::new(SECRET).unwrap(), BrokerId(2));
        for round in 0..50 {
            // More than the maximum of unread messages, while none is read: forged datagrams do not count.
            for _ in 0..=MAX_UNREAD / 20 {
                flooder.send_to(&forged, to).unwrap();
            }
            // The message is repeated if the kernel has dropped it, as agents do.
            let is_received = (0..20).any(|_| {
                let datagram = seal.seal(today(), BrokerId(1), &message(round).datagrams().remove(0));
                other.send_to(&datagram, to).unwrap();
                let received = received.recv_timeout(Duration::from_secs(1));
                received.is_ok_and(|(from, events, _unread)| from == NodeId(2) && events == message(round))
            });
            assert!(is_received, "nothing is heard any more in round {round}");
        }
    }

    #[test]
    fn an_unread_peer_with_the_key_uses_bounded_memory() {
        let (mut peers, socket) = agent(1);
        knows(&mut peers, SECRET);
        let to = socket.local_addr().unwrap();
        let received = listening(&peers, socket);
        let (other, seal) =
            (UdpSocket::bind(("127.0.0.1", 0)).unwrap(), Seal::new(Key::new(SECRET).unwrap(), BrokerId(2)));
        let send = |rate: u64| {
            other.send_to(&seal.seal(today(), BrokerId(1), &message(rate).datagrams().remove(0)), to).unwrap();
        };
        let first = loop {
            send(1);
            if let Ok(first) = received.recv_timeout(Duration::from_secs(1)) {
                break first;
            }
        };
        for _ in 0..3 * MAX_UNREAD {
            send(2);
        }
        // The listening thread has come to the end of them when it has thrown one away.
        let mut unread = vec![first];
        while let Ok(more) = received.recv_timeout(Duration::from_millis(500)) {
            unread.push(more);
        }
        assert!(unread.len() <= MAX_UNREAD, "{} at once", unread.len());
        drop(unread);
        let again = loop {
            send(3);
            if let Ok((_, events, _)) = received.recv_timeout(Duration::from_secs(1)) {
                break events;
            }
        };
        assert_eq!(again, message(3));
    }
}
