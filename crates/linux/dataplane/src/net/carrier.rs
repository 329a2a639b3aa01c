//! The interfaces with a carrier, and notifications of changes.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

/// `RTMGRP_LINK` and `RTMGRP_TC` of rtnetlink(7): every change of an interface, of its programs and of its queues.
const GROUPS: u32 = 1 | 8;

/// The interfaces of the caller's network namespace that are up and have a carrier.
///
/// # Errors
/// If the kernel does not list them.
pub fn with_carrier() -> io::Result<BTreeSet<String>> {
    let wanted = InterfaceFlags::IFF_UP | InterfaceFlags::IFF_RUNNING;
    let there = getifaddrs()?.filter(|interface| interface.flags.contains(wanted));
    Ok(there.map(|interface| interface.interface_name).collect())
}

/// Watches all changes of interfaces in a network namespace, and of the programs and queues attached to them.
#[derive(Debug)]
pub struct LinkWatch(OwnedFd);

impl LinkWatch {
    /// In the caller's network namespace.
    ///
    /// # Errors
    /// If the kernel does not give a socket for it.
    pub fn open() -> io::Result<Self> {
        let route = SockProtocol::NetlinkRoute;
        let watch = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, route)?;
        bind(watch.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        Ok(Self(watch))
    }

    /// Waits for a change; returns `false` if there is none within `most`.
    ///
    /// # Errors
    /// If the socket cannot be read.
    pub fn wait(&self, most: Duration) -> io::Result<bool> {
        let most = TimeVal::microseconds(i64::try_from(most.as_micros()).unwrap_or(i64::MAX));
        setsockopt(&self.0, sockopt::ReceiveTimeout, &most)?;
        let mut message = [0; 4096];
        match recv(self.0.as_raw_fd(), &mut message, MsgFlags::empty()) {
            // More than it could keep for us: something has changed.
            Ok(_) | Err(Errno::ENOBUFS) => Ok(true),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
