//! Threads that send.

use std::net::{SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use nix::sys::socket::{setsockopt, sockopt};
use wayleave_dataplane::net::Namespace;

use super::flow::{ANY, Counts, LabFlow};
use super::packet::Header;
use super::source::Source;
use crate::clock::{hurry, sleep_until, stamp};
use crate::error::LabError;

/// The longest sleep: how long the end may go unnoticed.
const NAP_NS: u64 = 20_000_000;
/// Size of the buffer for packets of one sender that are in the network.
const BUFFER: usize = 4 << 20;
/// Below the sentinels.
pub(super) const PRIORITY: u8 = 20;

/// The sender of one flow.
#[derive(Debug)]
pub(super) struct Outbox {
    index: usize,
    socket: UdpSocket,
    target: SocketAddrV4,
    packet: Vec<u8>,
    spec: LabFlow,
}

impl Outbox {
    pub(super) fn open(index: usize, spec: &LabFlow) -> Result<Self, LabError> {
        let namespace = Namespace::open(&spec.from.inside.namespace)?;
        let port = spec.source_port.unwrap_or(0);
        let socket = namespace
            .run(|| UdpSocket::bind((ANY, port)))?
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|error| {
                LabError::io(format!("{} cannot send from port {port} of {}", spec.name, spec.from.id), error)
            })?;
        // If the kernel allows less, a flood is a little smaller.
        let _ = setsockopt(&socket, sockopt::SndBufForce, &BUFFER);
        let target = SocketAddrV4::new(spec.to.address, spec.port);
        Ok(Self { index, socket, target, packet: vec![0; spec.payload], spec: spec.clone() })
    }

    /// Hands a packet to the kernel, which was sent at `sent`; answers whether the kernel took it.
    pub(super) fn send(&mut self, number: u64, sent: u64) -> bool {
        Header { flow: self.index as u32, number, sent }.write(&mut self.packet);
        self.socket.send_to(&self.packet, self.target).is_ok()
    }

    /// Answers a packet that has just been received.
    pub(super) fn answer(&mut self, number: u64, counts: &[Counts]) {
        if self.send(number, stamp()) {
            counts[self.index].sent.fetch_add(1, Relaxed);
        }
    }
}

/// Sends until the end, each flow by its load, all from one beginning.
pub(super) fn send(outboxes: Vec<Outbox>, begins: u64, counts: &[Counts], end: &AtomicBool) {
    // Without it packets leave a little later than planned; delays are counted from when they leave.
    let _ = hurry(PRIORITY);
    let mut flows: Vec<(Outbox, Source, u64)> = outboxes
        .into_iter()
        .map(|outbox| {
            let source = Source::new(&outbox.spec, begins);
            (outbox, source, 0)
        })
        .collect();
    while !end.load(Relaxed) {
        let mut wake = stamp() + NAP_NS;
        // One packet of each in turn: bursts of all flows meet.
        for (outbox, source, number) in &mut flows {
            let before = stamp();
            let Some(next) = source.next(before) else { continue };
            if next <= before {
                if outbox.send(*number, before) {
                    *number += 1;
                    counts[outbox.index].sent.store(*number, Relaxed);
                }
                source.sent(before, stamp());
                wake = before;
            }
            wake = wake.min(next);
        }
        sleep_until(wake);
    }
}
