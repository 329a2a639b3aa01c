//! Frames as they pass an interface, with all their tags: what `tcpdump` would show, without it.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, recvmsg, setsockopt,
    socket, sockopt,
};
use nix::sys::time::{TimeSpec, TimeVal, TimeValLike};
use nix::{libc, setsockopt_impl, sockopt_impl};
use socket2::{SockFilter, SockRef};

use wayleave_packet_format::MAX_TAGS;

use super::error::NetError;
use super::namespace::Namespace;

sockopt_impl!(
    /// The kernel passes the tag that it has removed from a frame as auxiliary data.
    AuxiliaryData,
    SetOnly,
    libc::SOL_PACKET,
    libc::PACKET_AUXDATA,
    bool
);

/// `TP_STATUS_VLAN_VALID` and `TP_STATUS_VLAN_TPID_VALID` of include/uapi/linux/if_packet.h.
const HAS_TAG: u32 = 1 << 4;
const HAS_TYPE: u32 = 1 << 6;
const TAG_TYPE: u16 = 0x8100;
/// `PACKET_OUTGOING`.
const OUTGOING: u8 = 4;
/// Size of the buffer for frames that are not yet read, and of the largest frame.
const BUFFER: usize = 8 << 20;
const LONGEST: usize = 1 << 16;
/// `struct tpacket_auxdata`.
const AUXILIARY: usize = 20;

/// A frame that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Time of the frame, by the calendar's clock.
    pub at_ns: u64,
    /// The interface.
    pub ifindex: u32,
    /// `true` if it left by the interface.
    pub is_outgoing: bool,
    /// The frame, with all its tags.
    pub frame: Vec<u8>,
}

/// Sees every frame of a network namespace.
#[derive(Debug)]
pub struct Capture {
    socket: OwnedFd,
    frame: Vec<u8>,
}

impl Capture {
    /// Of all interfaces of a namespace. Frames wait for being read in 8 MB; what comes while they are full is missing.
    ///
    /// # Errors
    /// Without the right to do so (CAP_NET_RAW).
    pub fn open(namespace: &Namespace) -> Result<Self, NetError> {
        let open = || -> io::Result<OwnedFd> {
            let all = SockProtocol::EthAll;
            let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, all)?;
            setsockopt(&socket, AuxiliaryData, &true)?;
            setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
            // Less than wanted is no trouble.
            let _ = setsockopt(&socket, sockopt::RcvBufForce, &BUFFER);
            Ok(socket)
        };
        let socket = namespace.run(open)?;
        let socket = socket.map_err(|error| NetError::io("cannot capture frames".to_owned(), error))?;
        Ok(Self { socket, frame: vec![0; LONGEST] })
    }

    /// From now on only IP packets that carry these bytes at a place where a probe carries them: behind the header of UDP, TCP or another protocol,
    /// of IPv4 without options or IPv6, behind up to [`MAX_TAGS`] tags. The kernel looks, so frames in between cost no copies.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn only(&self, mark: [u8; 8]) -> io::Result<()> {
        SockRef::from(&self.socket).attach_filter(&carrying(mark))
    }

    /// Returns the next frame; `None` if none arrives within `most`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn next(&mut self, most: Duration) -> io::Result<Option<Captured>> {
        let most = TimeVal::microseconds(i64::try_from(most.as_micros()).unwrap_or(i64::MAX));
        setsockopt(&self.socket, sockopt::ReceiveTimeout, &most)?;
        self.receive(MsgFlags::empty())
    }

    /// The next frame that has come already.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn next_now(&mut self) -> io::Result<Option<Captured>> {
        self.receive(MsgFlags::MSG_DONTWAIT)
    }

    fn receive(&mut self, flags: MsgFlags) -> io::Result<Option<Captured>> {
        let mut control = nix::cmsg_space!(TimeSpec, [u8; AUXILIARY]);
        let mut into = [IoSliceMut::new(&mut self.frame)];
        let message = match recvmsg::<LinkAddr>(self.socket.as_raw_fd(), &mut into, Some(&mut control), flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (mut at_ns, mut tag) = (0, None);
        for one in message.cmsgs()? {
            match one {
                ControlMessageOwned::ScmTimestampns(time) => {
                    let nanos = u64::try_from(time.tv_nsec()).unwrap_or(0);
                    at_ns = u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000 + nanos;
                }
                ControlMessageOwned::Unknown(one) if one.cmsg_header.cmsg_level == libc::SOL_PACKET => {
                    tag = tag_beside(&one.data_bytes);
                }
                _ => {}
            }
        }
        let (length, address) = (message.bytes, message.address);
        let Some(address) = address else { return Ok(None) };
        let mut frame = self.frame.get(..length).unwrap_or_default().to_vec();
        if let Some(tag) = tag.filter(|_| length >= 12) {
            drop(frame.splice(12..12, tag));
        }
        Ok(Some(Captured {
            at_ns,
            ifindex: u32::try_from(address.ifindex()).unwrap_or(0),
            is_outgoing: address.pkttype() == OUTGOING,
            frame,
        }))
    }
}

/// First offset of the mark: behind Ethernet and IPv4. All others follow in steps of 4 B: IPv6, UDP, TCP and tags are
/// multiples of 4 B longer.
const FIRST_PLACE: u32 = 14 + 20;
/// The last one: behind IPv6, TCP and all tags.
const LAST_PLACE: u32 = 14 + 40 + 20 + 4 * (MAX_TAGS as u32 + 1);

/// A classic BPF program (linux/filter.h) that takes a frame which has these bytes at one of the places. A place behind the end of a frame ends the program, and the frame
/// is not taken.
fn carrying(mark: [u8; 8]) -> Vec<SockFilter> {
    let [a, b, c, d, e, f, g, h] = mark;
    let load = |at: u32| SockFilter::new((libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16, 0, 0, at);
    let differs = |word: [u8; 4], skip: u8| {
        SockFilter::new((libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, 0, skip, u32::from_be_bytes(word))
    };
    let end = |take: u32| SockFilter::new((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, take);
    let places = (FIRST_PLACE..=LAST_PLACE).step_by(4);
    let look = |at: u32| [load(at), differs([a, b, c, d], 3), load(at + 4), differs([e, f, g, h], 1), end(u32::MAX)];
    places.flat_map(look).chain([end(0)]).collect()
}

/// Returns the tag of a `struct tpacket_auxdata`, as encoded in a frame.
fn tag_beside(bytes: &[u8]) -> Option<[u8; 4]> {
    let status = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    let short = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let kind = if status & HAS_TYPE != 0 { short(18)? } else { TAG_TYPE };
    let ([a, b], [c, d]) = (kind.to_be_bytes(), short(16)?.to_be_bytes());
    (status & HAS_TAG != 0).then_some([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_removed_by_the_kernel_is_read_from_the_auxiliary_data() {
        let mut beside = [0; AUXILIARY];
        beside[16..18].copy_from_slice(&0x1234_u16.to_ne_bytes());
        beside[18..20].copy_from_slice(&0x88A8_u16.to_ne_bytes());
        let with = |status: u32, mut bytes: [u8; AUXILIARY]| {
            bytes[..4].copy_from_slice(&status.to_ne_bytes());
            tag_beside(&bytes)
        };
        assert_eq!(with(0, beside), None);
        assert_eq!(with(HAS_TAG, beside), Some([0x81, 0, 0x12, 0x34]));
        assert_eq!(with(HAS_TAG | HAS_TYPE, beside), Some([0x88, 0xA8, 0x12, 0x34]));
    }
}
