//! Cost of a packet that crosses a host: from a tenant's interface to the wire, compared with a host that only
//! forwards and one that shapes by HTB. The cost includes the kernel's work on both virtual links, programs, and
//! queues.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, sendto, socket};
use wayleave_packet_format::PacketSelector;
use wayleave_units::{Bytes, Rate};

use super::{RECEIVER, apart, frame, mac, rule, selector};
use crate::error::Error;
use crate::host::{Host, HostProgram, Sender, Settings};
use crate::net::{Namespace, NetError, PortQdisc, ToolBatch, attach_ingress};
use crate::sandbox::Apart;

/// Nanoseconds a packet on each host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCrossingTime {
    /// That only forwards.
    pub plain: f64,
    /// That forwards, and shapes by a class of HTB which a filter chooses.
    pub htb: f64,
    /// With the data plane: classification, bucket, two tags, and the queues of an uplink.
    pub wayleave: f64,
    /// The same for the pair of a contract of bandwidth, one of many, in the queue of its class, which shares what the queues above it leave.
    pub shared: f64,
}

/// Bytes of a packet, of the middle size of Chameleon's Table 3, and packets of a trial.
const PACKET: usize = 776;
const BATCH: usize = 128;
/// Queues in strict priority above those of classes (docs/fabric.md).
const LATENCY_QUEUES: u8 = 5;
/// So fast that nothing ever waits.
const FAST: Rate = Rate::from_gbit(100);
/// Indices of the first interface of each host.
const HOSTS: [(&str, &str, u32); 4] =
    [("pt", "pn", 2_100), ("ht", "hn", 2_110), ("wt", "wn", 2_120), ("st", "sn", 2_130)];
/// Rules on the host of the last: each is of a pair of its own.
const PAIRS: u8 = 200;

/// Sends packets across the four hosts in turn. Of `trials` the fastest counts: what else the machine does makes them longer, never shorter.
///
/// # Errors
/// If the kernel refuses, or the data plane did not send every packet.
pub fn cross(trials: u32) -> Result<HostCrossingTime, Error> {
    apart(|apart| {
        let [plain, htb, ours, shared] = HOSTS;
        for (tap, net, index) in HOSTS {
            apart.veth(tap, index)?;
            apart.veth(net, index + 2)?;
        }
        forwarding(plain)?;
        forwarding(htb)?;
        tc(&shaping(htb.1))?;
        let hosts = [data_plane(apart, ours)?, dividing(apart, shared)?];
        let (frame, mut fastest) = (frame(1, 0, PACKET), [Duration::MAX; 4]);
        let senders = HOSTS.map(|(tap, ..)| Wire::open(&format!("{tap}p")));
        for _ in 0..trials {
            for (sender, fastest) in senders.iter().zip(&mut fastest) {
                let sender = sender.as_ref().map_err(|why| failed(why.clone()))?;
                *fastest = (*fastest).min(sender.batch(&frame)?);
            }
        }
        let expected = u64::from(trials) * BATCH as u64;
        for host in &hosts {
            let sent = host.counters()?.contracts.get(&1).map_or(0, |contract| contract.packets);
            if sent != expected {
                return Err(failed(format!("{sent} of {expected} packets were sent")));
            }
        }
        let [plain, htb, wayleave, shared] = fastest.map(|time| time.as_nanos() as f64 / BATCH as f64);
        Ok(HostCrossingTime { plain, htb, wayleave, shared })
    })
}

fn failed(why: String) -> Error {
    Error::Failed { doing: "measuring the path across a host".to_owned(), why }
}

fn tc(lines: &[String]) -> Result<(), Error> {
    let run = ToolBatch::tc().extend(lines.iter().cloned()).run(&Namespace::current());
    run.map_err(|error: NetError| failed(error.to_string()))
}

/// Everything from one interface goes to the other.
fn forwarding((tap, net, _): (&str, &str, u32)) -> Result<(), Error> {
    tc(&[
        format!("qdisc add dev {tap} clsact"),
        format!("filter add dev {tap} ingress u32 match u32 0 0 action mirred egress redirect dev {net}"),
    ])
}

/// Returns the commands of a typical HTB setup for shaping a contract: a class, and a filter that selects it.
fn shaping(net: &str) -> [String; 3] {
    let rate = format!("rate {}bps burst 10m cburst 10m", FAST.bits_per_second() / 8);
    [
        format!("qdisc add dev {net} root handle 1: htb default 1"),
        format!("class add dev {net} parent 1: classid 1:10 htb {rate} quantum 1600"),
        format!("filter add dev {net} parent 1: protocol ip u32 match ip dport 9 0xffff flowid 1:10"),
    ]
}

fn data_plane(apart: &Apart, (tap, net, index): (&str, &str, u32)) -> Result<Host, Error> {
    let mut host = Host::open(&apart.pins().join("host"), &Settings::default())?;
    host.add_endpoint(index, mac(1))?;
    let sender = Sender { ifindex: index, selector: selector(1, 0) };
    let mut rule = rule(sender, FAST, Bytes::new(1_000_000_000), 2)?;
    rule.paths.iter_mut().for_each(|path| path.uplink = index + 2);
    host.install(1, 1, &rule)?;
    let port = PortQdisc {
        rate: FAST,
        queues: vec![Bytes::new(1_000_000); 8],
        weights: Vec::new(),
        overhead: 24,
        mtu: Bytes::new(1_500),
    };
    let lines = port.lines(net).map_err(|error| failed(error.to_string()))?;
    tc(&[attach_ingress(tap, &host.pinned(HostProgram::Endpoint)).to_vec(), lines].concat())?;
    Ok(host)
}

/// A host that divides its link among contracts of bandwidth: a rule for each pair, by its ends alone, and class queues below those of latency contracts.
fn dividing(apart: &Apart, (tap, net, index): (&str, &str, u32)) -> Result<Host, Error> {
    let mut host = Host::open(&apart.pins().join("dividing"), &Settings::default())?;
    host.add_endpoint(index, mac(1))?;
    for pair in 0..PAIRS {
        let destination = if pair == 0 { RECEIVER } else { mac(1 + pair) };
        let selector = PacketSelector { destination: Some(destination), ..PacketSelector::default() };
        let mut rule = rule(Sender { ifindex: index, selector }, FAST, Bytes::new(1_000_000_000), 2)?;
        rule.paths.iter_mut().for_each(|path| (path.uplink, path.queue) = (index + 2, LATENCY_QUEUES));
        host.install(1 + u64::from(pair), 1, &rule)?;
    }
    let queues = vec![Bytes::new(1_000_000); usize::from(LATENCY_QUEUES) + 3];
    let port = PortQdisc { rate: FAST, queues, weights: vec![6, 3, 1], overhead: 24, mtu: Bytes::new(1_500) };
    let lines = port.lines(net).map_err(|error| failed(error.to_string()))?;
    tc(&[attach_ingress(tap, &host.pinned(HostProgram::Endpoint)).to_vec(), lines].concat())?;
    Ok(host)
}

/// A tenant's end of an interface.
struct Wire {
    socket: OwnedFd,
    address: LinkAddr,
}

impl Wire {
    fn open(interface: &str) -> Result<Self, String> {
        // Without a protocol: it sees nothing, which would cost every packet more.
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None);
        let socket = socket.map_err(|error| error.to_string())?;
        let all = getifaddrs().map_err(|error| error.to_string())?;
        let mut addresses = all.filter(|one| one.interface_name == interface).filter_map(|one| one.address);
        let address = addresses.find_map(|address| address.as_link_addr().copied());
        Ok(Self { socket, address: address.ok_or_else(|| format!("{interface} does not exist"))? })
    }

    /// Measures the time to send a batch. Each packet is through before the call returns: virtual links work in the
    /// sender's time.
    fn batch(&self, frame: &[u8]) -> Result<Duration, Error> {
        debug_assert_eq!(frame.get(..6), Some(RECEIVER.bytes().as_slice()));
        let began = Instant::now();
        for _ in 0..BATCH {
            let sent = sendto(self.socket.as_raw_fd(), frame, &self.address, MsgFlags::empty());
            sent.map_err(|error| failed(error.to_string()))?;
        }
        Ok(began.elapsed())
    }
}
