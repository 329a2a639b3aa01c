//! Requests to the kernel about interfaces and their disciplines (rtnetlink(7)): a message takes microseconds, where
//! a process of `tc` takes milliseconds, and its answers do not depend on the version of iproute2.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeVal;

/// include/uapi/linux/netlink.h: a request, its answer, a list of all.
const REQUEST: u16 = 1;
const ANSWER: u16 = 4;
const LIST: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Timeout of the kernel's answer, which normally arrives at once.
const TIMEOUT_S: i64 = 10;
/// Maximum size of a part in which the kernel sends lists, in bytes (`NLMSG_GOODSIZE`, and the amount that a larger
/// buffer allows).
const PART: usize = 1 << 16;

/// A netlink socket in the network namespace in which it was opened.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    number: u32,
}

fn broken() -> io::Error {
    io::Error::other("malformed netlink reply")
}

impl Netlink {
    /// In the network namespace of this thread.
    pub(super) fn open() -> io::Result<Self> {
        let route = SockProtocol::NetlinkRoute;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, route)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::new(TIMEOUT_S, 0))?;
        Ok(Self { socket, number: 0 })
    }

    /// Sends a request, and waits until it is done.
    pub(super) fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.send(kind, ANSWER | flags, body)?;
        self.receive(|_| ())
    }

    /// The bodies of all messages that answer a request for a list.
    pub(super) fn list(&mut self, kind: u16, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.send(kind, LIST, body)?;
        let mut bodies = Vec::new();
        self.receive(|body| bodies.push(body.to_vec()))?;
        Ok(bodies)
    }

    fn send(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        let length = u32::try_from(HEADER + body.len()).map_err(io::Error::other)?;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST | flags).to_ne_bytes());
        message.extend(self.number.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        sendto(self.socket.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
        Ok(())
    }

    /// Receives the answer to the last request up to its end, and passes on the body of each message.
    fn receive(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut part = vec![0; PART];
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut part, MsgFlags::empty())?;
            let mut rest = part.get(..length).ok_or_else(broken)?;
            while !rest.is_empty() {
                let length = number(rest, 0).and_then(|length| usize::try_from(length).ok()).ok_or_else(broken)?;
                let (message, kind) = (rest.get(..length).ok_or_else(broken)?, short(rest, 4).ok_or_else(broken)?);
                let body = message.get(HEADER..).ok_or_else(broken)?;
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
                // Answer to an earlier request that was given up.
                if number(message, 8) != Some(self.number) {
                    continue;
                }
                match kind {
                    DONE => return Ok(()),
                    ERROR => return code(body),
                    _ => each(body),
                }
            }
        }
    }
}

/// Decodes an answer that is an error or an acknowledgement.
fn code(body: &[u8]) -> io::Result<()> {
    match number(body, 0).ok_or_else(broken)?.cast_signed() {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

/// The number at a place.
pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The same of eight bytes.
pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The same of two bytes.
pub(super) fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A `struct rtattr` with its value, padded.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = [(length as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The value of the attribute of a kind, in a row of attributes.
pub(super) fn find(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(short(bytes, 0)?);
        let value = bytes.get(4..length)?;
        // The two highest bits are flags of the value's encoding.
        if short(bytes, 2)? & 0x3fff == kind {
            return Some(value);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_attributes_are_found_and_broken_ones_are_not() {
        let row = [attribute(1, b"htb\0"), attribute(2, &[7]), attribute(6, &9_u64.to_ne_bytes())].concat();
        assert_eq!(find(&row, 1), Some(b"htb\0".as_slice()));
        assert_eq!(find(&row, 2), Some([7].as_slice()));
        assert_eq!(find(&row, 6).and_then(|value| long(value, 0)), Some(9));
        assert_eq!(find(&row, 3), None);
        for length in 0..row.len() {
            assert_eq!(find(&row[..length], 6), None, "{length}");
        }
        assert_eq!(find(&[0, 0, 1, 0, 0, 0, 0, 0], 6), None, "an attribute without a length ends the row");
    }

    #[test]
    fn the_kernel_lists_the_interfaces_of_the_thread() {
        // RTM_GETLINK, with a `struct ifinfomsg` that asks for nothing in particular.
        let links = Netlink::open().unwrap().list(18, &[0; 16]).unwrap();
        assert!(!links.is_empty(), "at least the loopback");
    }
}
