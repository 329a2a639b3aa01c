//! Agents of other hosts: where they are, and who may be believed.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use wayleave_broker::process::{Key, Seal};
use wayleave_roles::BrokerId;
use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use super::said::Said;

/// The largest datagram that is read: more than one of [`Said`] with its seal.
const LARGEST: usize = 4_096;

/// Datagrams that wait for being read, at most: anybody may send some, and whether they are signed shows when they are read.
const MOST_UNREAD: usize = 1_024;

/// The socket by which agents tell one another, as soon as there is one.
pub type Socket = Arc<OnceLock<UdpSocket>>;

/// A socket for what agents tell one another: at this address, or at any free port of the address by which this machine reaches the controller.
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

/// A datagram that was not read yet counts as long as this is there.
#[derive(Debug)]
pub struct Unread(Arc<AtomicUsize>);

impl Drop for Unread {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Hands on what comes, until nobody wants it any more. What comes while so many were not read yet is thrown away.
pub fn listen(socket: &UdpSocket, mut hand_on: impl FnMut(Vec<u8>, Unread) -> bool) {
    let (mut bytes, count) = ([0; LARGEST], Arc::<AtomicUsize>::default());
    loop {
        let received = socket.recv_from(&mut bytes);
        let before = count.fetch_add(1, Ordering::Relaxed);
        let unread = Unread(count.clone());
        match received {
            Ok((length, _)) if before < MOST_UNREAD && !hand_on(bytes[..length].to_vec(), unread) => return,
            // That nobody listens where something was sent is told here, too, and is no trouble of this socket.
            Ok(_) | Err(_) => {}
        }
    }
}

/// The agents of other hosts.
#[derive(Debug)]
pub struct Peers {
    own: NodeId,
    socket: Socket,
    seal: Option<(String, Seal)>,
    addresses: BTreeMap<NodeId, SocketAddr>,
}

impl Peers {
    /// Of the agent of this host, which knows nobody yet.
    pub fn new(own: NodeId) -> Self {
        Self { own, socket: Socket::default(), seal: None, addresses: BTreeMap::new() }
    }

    /// Through this socket they are told.
    pub fn set_socket(&mut self, socket: Socket) {
        self.socket = socket;
    }

    /// Where they tell this one.
    pub fn hears_at(&self) -> Option<SocketAddr> {
        self.socket.get()?.local_addr().ok()
    }

    /// Where they are now, and with what they sign.
    pub fn set(&mut self, addresses: BTreeMap<NodeId, SocketAddr>, secret: &str) {
        self.addresses = addresses;
        if self.seal.as_ref().is_none_or(|(known, _)| known != secret) {
            let seal = Key::new(secret).map(|key| Seal::new(key, BrokerId(self.own.0)));
            self.seal = seal.map(|seal| (secret.to_owned(), seal));
        }
    }

    /// Tells the agent of a host something. That it does not arrive is found out by the silence.
    pub fn tell(&self, to: NodeId, said: &Said) {
        let (Some(socket), Some((_, seal)), Some(address)) = (self.socket.get(), &self.seal, self.addresses.get(&to))
        else {
            return;
        };
        for datagram in said.datagrams() {
            // What is not sent is like what is lost on the way.
            let _ = socket.send_to(&seal.seal(today(), BrokerId(to.0), &datagram), address);
        }
    }

    /// Who has said what; `None` if it is not from an agent of this network.
    pub fn open(&self, datagram: &[u8]) -> Option<(NodeId, Said)> {
        let (from, message) = self.seal.as_ref()?.1.open(today(), datagram).ok()?;
        Some((NodeId(from.0), Said::read(message)?))
    }
}

fn today() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
