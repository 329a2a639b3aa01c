//! Measurement of the order of packets that leave a bridge, because datapaths differ. Packets of a datapath with its
//! own driver (DPDK) bypass the queues of Linux.
//!
//! A port is made for this, with two queues and a slow rate, and removed afterwards. Twenty long packets of the low
//! queue are sent and one of the high queue behind them: if order is kept, that one is among the first to arrive.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use wayleave_openflow::Client;
use wayleave_packet_format::{TAG_TYPE, Tag};
use wayleave_units::{Bytes, Rate};

use super::bridge::{Disorder, LOW, OvsBridge, OvsError};
use super::linux::LinuxSwitch;
use super::{PortPlan, SwitchDriver, SwitchPlan};
use crate::net::{Capture, Namespace, NetError, PortQdisc, ToolBatch, VLAN_ROOM, disable_ipv6, output};

/// Names of both ends of the pair. One that a killed program has left is replaced.
const NEAR: &str = "wl-order";
const FAR: &str = "wl-order-end";
/// Rate at which a long packet takes 5.7 ms: long compared with the time that a bridge needs to forward all of them.
const RATE: Rate = Rate::from_mbit(2);
/// Bytes of a packet behind its Ethernet header.
const LENGTH: usize = 1_400;
/// Maximum position of the packet of the high queue. Two others are in transit when it arrives; without ordering it
/// is the last of 21.
const HIGHEST: usize = LOW / 2;
/// A processor that stalls may make the bridge late, but not always.
const ATTEMPTS: usize = 3;
/// The rate needs 120 ms for all of them.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout of `ovs-vsctl` for Open vSwitch, in seconds.
const VSCTL_TIMEOUT: &str = "--timeout=5";
/// `EtherType` for experiments (IEEE 802, local experimental 1).
const EXPERIMENT: u16 = 0x88B5;

/// Fails unless a bridge sends by the queues of its ports, in the order of their priority.
pub(super) fn check(
    bridge: &OvsBridge,
    namespace: &Namespace,
    pins: &Path,
    client: &mut Client<UnixStream>,
) -> Result<(), OvsError> {
    let mut seen = Ok(());
    for _ in 0..ATTEMPTS {
        seen = judge(&once(bridge, namespace, pins, client)?);
        if seen.is_ok() {
            break;
        }
    }
    seen.map_err(|why| OvsError::Disorder { bridge: bridge.name.clone(), why })
}

/// Judges the queues of the packets in order of arrival: 0 is the high one.
fn judge(queues: &[u8]) -> Result<(), Disorder> {
    match queues.iter().position(|&queue| queue == 0) {
        Some(at) if queues.len() == LOW + 1 && at < HIGHEST => Ok(()),
        Some(at) if queues.len() == LOW + 1 => Err(Disorder::Late { place: at + 1 }),
        _ => Err(Disorder::Lost { arrived: queues.len() }),
    }
}

/// Sends the packets once; returns their queues in order of arrival.
fn once(
    bridge: &OvsBridge,
    namespace: &Namespace,
    pins: &Path,
    client: &mut Client<UnixStream>,
) -> Result<Vec<u8>, OvsError> {
    let _port = Port::make(bridge, namespace)?;
    let (near, far) = (index(namespace, NEAR)?, index(namespace, FAR)?);
    let egress = PortQdisc {
        rate: RATE,
        queues: vec![Bytes::new(97_000); 2],
        weights: Vec::new(),
        overhead: 0,
        mtu: Bytes::new(LENGTH as u64),
    };
    let port = PortPlan {
        link: None,
        interface: NEAR.to_owned(),
        ifindex: near,
        egress: Some(egress),
        mtu: Bytes::new(LENGTH as u64),
    };
    let mut ports = LinuxSwitch::of_ports(namespace.clone(), pins)?;
    ports.configure(&SwitchPlan { name: bridge.name.clone(), ports: vec![port] })?;
    let seen = send(bridge, namespace, client, far);
    ports.forget(near)?;
    seen
}

fn send(
    bridge: &OvsBridge,
    namespace: &Namespace,
    client: &mut Client<UnixStream>,
    far: u32,
) -> Result<Vec<u8>, OvsError> {
    let failed = |error| bridge.failed(error);
    let numbers = client.ports().map_err(failed)?;
    let number = numbers.iter().find(|port| port.name == NEAR).map(|port| port.number);
    let not_a_port = || OvsError::NotAPort { bridge: bridge.name.clone(), interface: NEAR.to_owned() };
    let number = number.ok_or_else(not_a_port)?;
    let mut capture = Capture::open(namespace)?;
    let queues = std::iter::repeat_n(1, LOW).chain([0]);
    client.put(number, queues.filter_map(frame)).map_err(failed)?;
    let (start, mut seen) = (Instant::now(), Vec::new());
    while seen.len() <= LOW && start.elapsed() < TIMEOUT {
        let captured = capture.next(TIMEOUT.saturating_sub(start.elapsed()).max(Duration::from_millis(1)));
        let captured = captured.map_err(|error| NetError::io("cannot capture frames", error))?;
        let Some(captured) = captured.filter(|one| one.ifindex == far && !one.is_outgoing) else { continue };
        if captured.frame.get(12..14) == Some(&EXPERIMENT.to_be_bytes()) {
            seen.extend(captured.frame.get(14));
        }
    }
    Ok(seen)
}

/// A packet for a queue of the only port, which it carries behind its header, too.
fn frame(queue: u8) -> Option<Vec<u8>> {
    let tag = Tag::new(0, queue).ok()?;
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    for part in [TAG_TYPE, tag.tci(), EXPERIMENT] {
        frame.extend(part.to_be_bytes());
    }
    frame.push(queue);
    frame.resize(18 + LENGTH, 0);
    Some(frame)
}

fn index(namespace: &Namespace, interface: &str) -> Result<u32, NetError> {
    let index = namespace.run(|| nix::net::if_::if_nametoindex(interface))?;
    index.map_err(|error| NetError::io(format!("interface {interface} does not exist"), io::Error::from(error)))
}

/// A port of a bridge without anything behind it. It is removed when the value is dropped.
struct Port<'a> {
    bridge: &'a OvsBridge,
    namespace: &'a Namespace,
}

impl<'a> Port<'a> {
    fn make(bridge: &'a OvsBridge, namespace: &'a Namespace) -> Result<Self, NetError> {
        let port = Self { bridge, namespace };
        port.remove()?;
        let mtu = LENGTH as u32 + VLAN_ROOM;
        let mut ip = ToolBatch::ip();
        ip.line(format_args!("link add {NEAR} mtu {mtu} arp off type veth peer name {FAR} mtu {mtu} arp off"));
        ip.run(namespace)?;
        for end in [NEAR, FAR] {
            disable_ipv6(namespace, end)?;
        }
        namespace.set_up([FAR, NEAR])?;
        port.run_vsctl(&["add-port", &bridge.name, NEAR])?;
        Ok(port)
    }

    fn run_vsctl(&self, what: &[&str]) -> Result<(), NetError> {
        let database = self.bridge.database();
        let arguments = [&[database.as_str(), VSCTL_TIMEOUT], what].concat();
        output(self.namespace, "ovs-vsctl", &arguments).map(drop)
    }

    fn remove(&self) -> Result<(), NetError> {
        self.run_vsctl(&["--if-exists", "del-port", &self.bridge.name, NEAR])?;
        if index(self.namespace, NEAR).is_ok() {
            ToolBatch::ip().extend([format!("link del dev {NEAR}")]).run(self.namespace)?;
        }
        Ok(())
    }
}

impl Drop for Port<'_> {
    fn drop(&mut self) {
        // If this fails, the next port replaces the remains.
        let _ = self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_packets_that_arrive_as_sent_do_not_prove_priority() {
        let with = |place: usize| {
            let mut all = vec![1; LOW];
            all.insert(place - 1, 0);
            all
        };
        assert_eq!((judge(&with(3)), judge(&with(10))), (Ok(()), Ok(())));
        assert_eq!(judge(&with(LOW + 1)), Err(Disorder::Late { place: LOW + 1 }));
        assert_eq!(judge(&with(11)), Err(Disorder::Late { place: 11 }));
        assert_eq!(judge(&with(1)[..LOW]), Err(Disorder::Lost { arrived: LOW }));
        assert_eq!(judge(&[]), Err(Disorder::Lost { arrived: 0 }));
    }
}
