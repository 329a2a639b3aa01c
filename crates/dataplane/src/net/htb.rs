//! Classes of HTB, made and removed by messages to the kernel (rtnetlink(7)): a process of `tc` for each of a thousand contracts takes seconds,
//! a message some microseconds.

use std::io;

use nix::errno::Errno;

use super::netlink::{Netlink, attribute};

/// include/uapi/linux/rtnetlink.h
const NEW_CLASS: u16 = 40;
const DELETE_CLASS: u16 = 41;
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// include/uapi/linux/pkt_sched.h
const HTB_PARAMETERS: u16 = 1;
const HTB_RATE64: u16 = 6;
const HTB_CEIL64: u16 = 7;
const ETHERNET: u8 = 1;
/// include/uapi/linux/netlink.h: made or replaced.
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;
/// The kernel counts times of disciplines in units of 64 ns (`PSCHED_SHIFT`).
pub(super) const TICK_NS: u64 = 64;

/// A class of HTB that sends at a rate and never more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// The major number of its discipline, and its own.
    pub handle: (u16, u16),
    /// Bytes a second.
    pub rate: u64,
    /// Bytes that may be sent at once.
    pub burst: u64,
    /// Bytes that each frame takes more on the wire than it has.
    pub overhead: u16,
    /// Bytes that each frame takes at least.
    pub least: u16,
    /// Bytes that it sends before it is another's turn.
    pub quantum: u32,
}

impl HtbClass {
    /// How long what it may send at once takes, in the units of the kernel.
    fn ticks(&self) -> u32 {
        let ticks = u128::from(self.burst) * 1_000_000_000 / u128::from(self.rate.max(1)) / u128::from(TICK_NS);
        u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
    }

    /// The same in ns.
    pub(super) fn burst_ns(&self) -> u64 {
        u64::from(self.ticks()) * TICK_NS
    }
}

/// A way to the kernel, in the network namespace in which it was opened.
#[derive(Debug)]
pub struct HtbClasses(Netlink);

impl HtbClasses {
    /// In the network namespace of this thread.
    ///
    /// # Errors
    /// If the kernel does not give a socket for it.
    pub fn open() -> io::Result<Self> {
        Netlink::open().map(Self)
    }

    /// Makes a class at the root of the discipline of this interface, or changes it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(&mut self, ifindex: u32, class: &HtbClass) -> io::Result<()> {
        let head = head(ifindex, class.handle);
        let message = [head.as_slice(), &attribute(KIND, b"htb\0"), &attribute(OPTIONS, &options(class))].concat();
        self.0.ask(NEW_CLASS, CREATE | REPLACE, &message)
    }

    /// Removes a class, with what waits there. That it is not there is no error.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn remove(&mut self, ifindex: u32, handle: (u16, u16)) -> io::Result<()> {
        match self.0.ask(DELETE_CLASS, 0, &head(ifindex, handle)) {
            Err(error) if error.raw_os_error() == Some(Errno::ENOENT as i32) => Ok(()),
            result => result,
        }
    }
}

/// `struct tcmsg`: the class, at the root of its discipline.
fn head(ifindex: u32, (major, minor): (u16, u16)) -> Vec<u8> {
    let (class, parent) = (u32::from(major) << 16 | u32::from(minor), u32::from(major) << 16);
    [0, ifindex, class, parent, 0].into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// `struct tc_htb_opt`, and rates that its 32 bits do not hold.
fn options(class: &HtbClass) -> Vec<u8> {
    let short = u32::try_from(class.rate).unwrap_or(u32::MAX);
    let mut spec = vec![0, ETHERNET];
    spec.extend(class.overhead.to_ne_bytes());
    spec.extend([0; 2]);
    spec.extend(class.least.to_ne_bytes());
    spec.extend(short.to_ne_bytes());
    let buffer = class.ticks();
    let mut parameters = [spec.as_slice(), &spec].concat();
    for number in [buffer, buffer, class.quantum, 0, 0] {
        parameters.extend(number.to_ne_bytes());
    }
    let mut all = attribute(HTB_PARAMETERS, &parameters);
    if class.rate > u64::from(u32::MAX) {
        all.extend(attribute(HTB_RATE64, &class.rate.to_ne_bytes()));
        all.extend(attribute(HTB_CEIL64, &class.rate.to_ne_bytes()));
    }
    all
}
