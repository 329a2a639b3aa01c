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

/// A class of HTB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// The major number of its discipline, and its own.
    pub handle: (u16, u16),
    /// The minor number of the class that lends to it; 0: the root of the discipline.
    pub parent: u16,
    /// Place among the classes of its parent that may send at once: those with a lower number go first.
    pub priority: u32,
    /// Bytes a second that it is sure of.
    pub rate: u64,
    /// Maximum rate including that lent by its parent, in bytes per second.
    pub ceiling: u64,
    /// Bytes that may be sent at once at its rate.
    pub burst: u64,
    /// Bytes that may be sent at once at its ceiling.
    pub ceiling_burst: u64,
    /// Bytes that each frame takes more on the wire than it has.
    pub overhead: u16,
    /// Bytes that each frame takes at least.
    pub least: u16,
    /// Bytes that it sends before it is another's turn.
    pub quantum: u32,
}

impl HtbClass {
    /// Times that its bursts take at its rate and at its ceiling, ns.
    pub(super) fn bursts_ns(&self) -> [u64; 2] {
        self.ticks().map(|ticks| u64::from(ticks) * TICK_NS)
    }

    /// The same in the units of the kernel.
    fn ticks(&self) -> [u32; 2] {
        [(self.burst, self.rate), (self.ceiling_burst, self.ceiling)].map(|(burst, rate)| {
            let ticks = u128::from(burst) * 1_000_000_000 / u128::from(rate.max(1)) / u128::from(TICK_NS);
            u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
        })
    }
}

/// A netlink socket in the network namespace in which it was opened.
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

    /// Makes a class of the discipline of this interface, or changes it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(&mut self, ifindex: u32, class: &HtbClass) -> io::Result<()> {
        let head = head(ifindex, class.handle, class.parent);
        let message = [head.as_slice(), &attribute(KIND, b"htb\0"), &attribute(OPTIONS, &options(class))].concat();
        self.0.ask(NEW_CLASS, CREATE | REPLACE, &message)
    }

    /// Removes a class, with the packets that wait there. A missing class is no error.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn remove(&mut self, ifindex: u32, handle: (u16, u16)) -> io::Result<()> {
        match self.0.ask(DELETE_CLASS, 0, &head(ifindex, handle, 0)) {
            Err(error) if error.raw_os_error() == Some(Errno::ENOENT as i32) => Ok(()),
            result => result,
        }
    }
}

/// `struct tcmsg`: the class, below another one or at the root of its discipline.
fn head(ifindex: u32, (major, minor): (u16, u16), parent: u16) -> Vec<u8> {
    let [class, parent] = [minor, parent].map(|minor| u32::from(major) << 16 | u32::from(minor));
    [0, ifindex, class, parent, 0].into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// `struct tc_htb_opt`, and rates that its 32 bits do not hold.
fn options(class: &HtbClass) -> Vec<u8> {
    let mut parameters = Vec::new();
    for rate in [class.rate, class.ceiling] {
        parameters.extend([0, ETHERNET]);
        parameters.extend(class.overhead.to_ne_bytes());
        parameters.extend([0; 2]);
        parameters.extend(class.least.to_ne_bytes());
        parameters.extend(u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    }
    let [buffer, ceiling_buffer] = class.ticks();
    for number in [buffer, ceiling_buffer, class.quantum, 0, class.priority] {
        parameters.extend(number.to_ne_bytes());
    }
    let mut all = attribute(HTB_PARAMETERS, &parameters);
    for (name, rate) in [(HTB_RATE64, class.rate), (HTB_CEIL64, class.ceiling)] {
        if rate > u64::from(u32::MAX) {
            all.extend(attribute(name, &rate.to_ne_bytes()));
        }
    }
    all
}
