//! Frames that enter a node as if the interface of an endpoint had received them: what the endpoint sends.
//!
//! They are sent by one end of a pair of interfaces that is made for that, and a filter there redirects them into the ingress of the endpoint's
//! interface. So they pass all that its own packets pass, programs and queues.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, sendto, socket};

use super::batch::ToolBatch;
use super::error::NetError;
use super::link::{check_interface, disable_ipv6};
use super::namespace::Namespace;

/// Names of both ends of the pair. Only one pair exists in a namespace; one that a killed program has left is
/// replaced.
const FROM: &str = "wl-probe";
const PEER: &str = "wl-probe-end";
/// As the largest frames that endpoints have.
const MTU: u32 = 65_535;

/// An interface pair by which frames are put into an interface. It is removed when the value is dropped.
#[derive(Debug)]
pub struct Injector {
    socket: OwnedFd,
    address: LinkAddr,
}

impl Injector {
    /// Into an interface in the namespace of this thread.
    ///
    /// # Errors
    /// If the interface is not there, or the kernel has no veth or no `act_mirred`.
    pub fn into_ingress(interface: &str) -> Result<Self, NetError> {
        check_interface(interface)?;
        let here = Namespace::current();
        remove(&here);
        let mut ip = ToolBatch::ip();
        ip.line(format_args!("link add {FROM} mtu {MTU} arp off type veth peer name {PEER} mtu {MTU} arp off"));
        ip.run(&here)?;
        Self::begin(&here, interface).inspect_err(|_| remove(&here))
    }

    fn begin(here: &Namespace, interface: &str) -> Result<Self, NetError> {
        for end in [FROM, PEER] {
            disable_ipv6(here, end)?;
        }
        let mut tc = ToolBatch::tc();
        tc.line(format_args!("qdisc add dev {FROM} clsact"));
        tc.line(format_args!(
            "filter add dev {FROM} egress pref 1 protocol all u32 match u32 0 0 action mirred ingress redirect dev {interface}"
        ));
        tc.run(here)?;
        let mut ip = ToolBatch::ip();
        ip.extend([PEER, FROM].map(|end| format!("link set dev {end} up")));
        ip.run(here)?;
        let failed = |error: nix::Error| NetError::io(format!("cannot inject frames into {interface}"), error);
        let address = getifaddrs().map_err(failed)?.filter(|one| one.interface_name == FROM);
        let address = address.filter_map(|one| one.address?.as_link_addr().copied()).next();
        let address = address.ok_or_else(|| failed(nix::Error::ENODEV))?;
        // Without a protocol: it receives nothing.
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).map_err(failed)?;
        Ok(Self { socket, address })
    }

    /// Takes away what a killed program has left in the namespace of this thread.
    pub fn remove() {
        remove(&Namespace::current());
    }

    /// A frame as the endpoint would send it, from its destination address on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn put(&self, frame: &[u8]) -> io::Result<()> {
        sendto(self.socket.as_raw_fd(), frame, &self.address, MsgFlags::MSG_DONTWAIT)?;
        Ok(())
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        remove(&Namespace::current());
    }
}

fn remove(here: &Namespace) {
    if nix::net::if_::if_nametoindex(FROM).is_ok() {
        // If this fails, the next injector removes the pair.
        let _ = ToolBatch::ip().extend([format!("link del dev {FROM}")]).run(here);
    }
}
