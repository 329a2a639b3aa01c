//! Threads that receive.

use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::cmsg_space;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use wayleave_dataplane::net::Namespace;

use super::flow::{ANY, Counts, LabFlow};
use super::packet::Header;
use super::report::{Arrival, Bounds, FlowReport};
use super::sender::{Outbox, PRIORITY};
use crate::clock::{hurry, stamp};
use crate::error::LabError;

/// Maximum delay until the end is noticed, in milliseconds.
const NAP_MS: u8 = 20;
/// Size of the buffer for packets that arrive while the thread does not run.
const BUFFER: usize = 4 << 20;
/// The largest packet.
const MAX_PACKET: usize = 2048;

/// The receiver of one flow, with its observations.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) index: usize,
    socket: UdpSocket,
    /// One bit for each number.
    seen: Vec<u64>,
    highest: Option<u64>,
    reordered: u64,
    duplicates: u64,
    foreign: u64,
    /// In nanoseconds.
    delays: Vec<u64>,
    arrivals: Vec<Arrival>,
    /// `true` if arrivals are kept.
    keeps: bool,
    /// The sender that answers each packet that is received.
    answers: Vec<Outbox>,
}

impl Inbox {
    pub(super) fn open(index: usize, spec: &LabFlow) -> Result<Self, LabError> {
        let namespace = Namespace::open(&spec.to.inside.namespace)?;
        let failed = |error: std::io::Error| {
            LabError::io(format!("{} cannot receive at port {} of {}", spec.name, spec.port, spec.to.id), error)
        };
        let socket = namespace.run(|| UdpSocket::bind((ANY, spec.port)))?.map_err(failed)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(|error| failed(error.into()))?;
        setsockopt(&socket, sockopt::RcvBufForce, &BUFFER).map_err(|error| failed(error.into()))?;
        let (seen, delays, arrivals, answers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (highest, reordered, duplicates, foreign) = (None, 0, 0, 0);
        let keeps = spec.bound.is_some() || spec.load.is_exchange();
        Ok(Self { index, socket, seen, highest, reordered, duplicates, foreign, delays, arrivals, keeps, answers })
    }

    /// From now on every packet is answered.
    pub(super) fn answer_with(&mut self, outbox: Outbox) {
        self.answers.push(outbox);
    }

    /// Notes a packet; answers whether it is the first of its number.
    fn note(&mut self, header: Header, received: u64) -> bool {
        let (word, bit) = ((header.number / 64) as usize, 1 << (header.number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.duplicates += 1;
            return false;
        }
        self.seen[word] |= bit;
        if self.highest.is_some_and(|highest| header.number < highest) {
            self.reordered += 1;
        }
        self.highest = self.highest.max(Some(header.number));
        let arrival = Arrival { number: header.number, sent: header.sent, received };
        self.delays.push(arrival.delay());
        if self.keeps {
            self.arrivals.push(arrival);
        }
        true
    }

    pub(super) fn report(mut self, spec: &LabFlow, sent: u64) -> FlowReport {
        self.delays.sort_unstable();
        FlowReport {
            name: spec.name.clone(),
            sent,
            reordered: self.reordered,
            duplicates: self.duplicates,
            foreign: self.foreign,
            bounds: spec.bound.map(Bounds::of),
            delays: self.delays,
            arrivals: self.arrivals,
        }
    }
}

/// Receives until the end.
pub(super) fn receive(mut inboxes: Vec<Inbox>, counts: &[Counts], end: &AtomicBool) -> Vec<Inbox> {
    let Ok(epoll) = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC) else { return inboxes };
    for (index, inbox) in inboxes.iter().enumerate() {
        // A socket that cannot be watched shows as a flow that lost everything.
        let _ = epoll.add(&inbox.socket, EpollEvent::new(EpollFlags::EPOLLIN, index as u64));
    }
    if inboxes.iter().any(|inbox| !inbox.answers.is_empty()) {
        // An answer is timed from when it is sent; only a thread that is halted in between spoils it.
        let _ = hurry(PRIORITY);
    }
    let mut events = [EpollEvent::empty(); 64];
    let mut buffer = vec![0; MAX_PACKET];
    let mut control = cmsg_space!(TimeSpec);
    // Packets that arrived before the end are also read after it.
    let mut is_last = false;
    loop {
        let ready = epoll.wait(&mut events, NAP_MS).unwrap_or(0);
        for event in &events[..ready] {
            let Some(inbox) = inboxes.get_mut(event.data() as usize) else { continue };
            while let Some((length, received)) = take(&inbox.socket, &mut buffer, &mut control) {
                match Header::read(&buffer[..length]).filter(|header| header.flow as usize == inbox.index) {
                    Some(header) if inbox.note(header, received) => {
                        counts[inbox.index].received.fetch_add(1, Relaxed);
                        for outbox in &mut inbox.answers {
                            outbox.answer(header.number, counts);
                        }
                    }
                    Some(_) => {}
                    None => inbox.foreign += 1,
                }
            }
        }
        if is_last && ready == 0 {
            return inboxes;
        }
        is_last = end.load(Relaxed);
    }
}

/// The next packet of a socket: its length, and when the kernel received it.
pub(super) fn take(socket: &UdpSocket, buffer: &mut [u8], control: &mut [u8]) -> Option<(usize, u64)> {
    let mut parts = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(control), MsgFlags::MSG_DONTWAIT).ok()?;
    let stamped = message.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(time) => Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64),
        _ => None,
    });
    Some((message.bytes, stamped.unwrap_or_else(stamp)))
}
