//! A place for tests that need a kernel: a network namespace and a bpf file system that only this thread has, and that go with it.

pub(crate) mod frames;
pub(crate) mod party;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use wayleave_dataplane::sandbox::Apart;
use wayleave_packet_format::Mac;
use wayleave_repo_checks::leave_out;

/// A folder on a bpf file system, in namespaces of this thread.
pub(crate) struct World {
    pub(crate) pins: PathBuf,
    apart: Apart,
}

impl World {
    /// Leaves the test out on a machine that does not allow it.
    pub(crate) fn new() -> Self {
        let apart = Apart::enter(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("bpf")).unwrap_or_else(|error| {
            leave_out("root", format_args!("it needs root, network namespaces and eBPF. {error}"));
        });
        Self { pins: apart.pins().join("host"), apart }
    }

    /// A pair of interfaces: this one, and its peer with the next number.
    pub(crate) fn veth(&self, name: &str, ifindex: u32) {
        self.apart.veth(name, ifindex).unwrap();
    }
}

/// An address that ends so.
pub(crate) fn mac(last: u8) -> Mac {
    Mac::new([2, 0, 0, 0, 0, last])
}

/// An address that ends so.
pub(crate) fn ipv4(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// Returns a UDP packet from 10.0.0.`from` to 10.0.0.`to`; `length` includes its Ethernet header (at least 42).
pub(crate) fn udp(from: u8, to: u8, ports: (u16, u16), length: usize) -> Vec<u8> {
    let total = (length - 14) as u16;
    let mut frame = [mac(to).bytes(), mac(from).bytes()].concat();
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(total.to_be_bytes());
    frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    frame.extend(ports.0.to_be_bytes());
    frame.extend(ports.1.to_be_bytes());
    frame.extend((total - 20).to_be_bytes());
    frame.resize(length, 0);
    frame
}

/// An address that ends so.
pub(crate) fn ipv6(last: u8) -> IpAddr {
    IpAddr::V6(Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, u16::from(last)))
}
