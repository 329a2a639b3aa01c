//! Classes of HTB, made and removed by messages to the kernel (rtnetlink(7)): a process of `tc` for each of a thousand contracts takes seconds,
//! a message some microseconds.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeVal;

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
/// include/uapi/linux/netlink.h: a request, its answer, made or replaced.
const REQUEST: u16 = 1;
const ANSWER: u16 = 4;
const REPLACE: u16 = 0x100;
const CREATE: u16 = 0x400;
const ERROR: u16 = 2;
/// The kernel counts times of disciplines in units of 64 ns (`PSCHED_SHIFT`).
const TICK_NS: u64 = 64;
/// How long the kernel may take to answer: it does at once.
const PATIENCE_S: i64 = 10;

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

/// A way to the kernel, in the network namespace in which it was opened.
#[derive(Debug)]
pub struct HtbClasses {
    socket: OwnedFd,
    number: u32,
}

impl HtbClasses {
    /// In the network namespace of this thread.
    ///
    /// # Errors
    /// If the kernel does not give a socket for it.
    pub fn open() -> io::Result<Self> {
        let route = SockProtocol::NetlinkRoute;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, route)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(PATIENCE_S, 0))?;
        Ok(Self { socket, number: 0 })
    }

    /// Makes a class at the root of the discipline of this interface, or changes it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set(&mut self, ifindex: u32, class: &HtbClass) -> io::Result<()> {
        let head = head(ifindex, class.handle);
        let message = [head.as_slice(), &attribute(KIND, b"htb\0"), &attribute(OPTIONS, &options(class))].concat();
        self.ask(NEW_CLASS, CREATE | REPLACE, &message)
    }

    /// Removes a class, with what waits there. That it is not there is no error.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn remove(&mut self, ifindex: u32, handle: (u16, u16)) -> io::Result<()> {
        match self.ask(DELETE_CLASS, 0, &head(ifindex, handle)) {
            Err(error) if error.raw_os_error() == Some(Errno::ENOENT as i32) => Ok(()),
            result => result,
        }
    }

    /// Sends a request, and waits for its answer.
    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        let length = u32::try_from(16 + body.len()).map_err(io::Error::other)?;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST | ANSWER | flags).to_ne_bytes());
        message.extend(self.number.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        sendto(self.socket.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        loop {
            let mut answer = [0; 4096];
            let length = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let word = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            let (Some(number), Some(code)) = (word(8).map(u32::from_ne_bytes), word(16).map(i32::from_ne_bytes)) else {
                return Err(io::Error::other("an answer of the kernel that is none"));
            };
            // What was asked before, and given up.
            if length < 20 || number != self.number || answer[4..6] != ERROR.to_ne_bytes() {
                continue;
            }
            return if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) };
        }
    }
}

/// `struct tcmsg`: the class, at the root of its discipline.
fn head(ifindex: u32, (major, minor): (u16, u16)) -> Vec<u8> {
    let (class, parent) = (u32::from(major) << 16 | u32::from(minor), u32::from(major) << 16);
    [0, ifindex, class, parent, 0].into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// A `struct rtattr` with its value, padded.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = [(length as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// `struct tc_htb_opt`, and rates that its 32 bits do not hold.
fn options(class: &HtbClass) -> Vec<u8> {
    let short = u32::try_from(class.rate).unwrap_or(u32::MAX);
    let mut spec = vec![0, ETHERNET];
    spec.extend(class.overhead.to_ne_bytes());
    spec.extend([0; 2]);
    spec.extend(class.least.to_ne_bytes());
    spec.extend(short.to_ne_bytes());
    // How long the burst takes, as the kernel wants it.
    let buffer = u128::from(class.burst) * 1_000_000_000 / u128::from(class.rate.max(1)) / u128::from(TICK_NS);
    let buffer = u32::try_from(buffer).unwrap_or(u32::MAX).max(1);
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
