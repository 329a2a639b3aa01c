//! Packets whose every send and receive time is kept: a burst, or an even load, through one path or several at once.

use std::net::UdpSocket;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use wayleave_dataplane::net::Namespace;
use wayleave_units::Bytes;

use super::flow::{ANY, HEADERS};
use super::packet::{HEADER, Header};
use super::receiver::take;
use crate::clock::stamp;
use crate::error::LabError;
use crate::plan::EndpointPlan;

/// Size of the buffer for packets that are not yet read.
const BUFFER: usize = 4 << 20;
/// The port at which probes are received.
const PORT: u16 = 11;
/// Poll interval for arrivals while no packet is due.
const NAP: Duration = Duration::from_micros(100);

/// A probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeResult {
    /// Time at which it was handed to the kernel, in nanoseconds of the calendar's clock.
    pub sent: u64,
    /// Time at which it was received, if it was.
    pub received: Option<u64>,
}

/// Pairs of endpoints between which probes go.
#[derive(Debug)]
pub struct Prober {
    pairs: Vec<(UdpSocket, UdpSocket)>,
    /// Number of the experiment: late packets of another one are not counted.
    experiment: u32,
}

impl Prober {
    /// Between these endpoints.
    ///
    /// # Errors
    /// If a namespace or a port cannot be used.
    pub fn open(pairs: &[[&EndpointPlan; 2]]) -> Result<Self, LabError> {
        let open = |&[from, to]: &[&EndpointPlan; 2]| {
            let failed = |error: std::io::Error| {
                LabError::io(format!("cannot send packets from {} to port {PORT} of {}", from.id, to.id), error)
            };
            let receiver = Namespace::open(&to.inside.namespace)?.run(|| UdpSocket::bind((ANY, PORT)))?;
            let receiver = receiver.map_err(failed)?;
            setsockopt(&receiver, sockopt::ReceiveTimestampns, &true).map_err(|error| failed(error.into()))?;
            setsockopt(&receiver, sockopt::RcvBufForce, &BUFFER).map_err(|error| failed(error.into()))?;
            let sender = Namespace::open(&from.inside.namespace)?.run(|| UdpSocket::bind((ANY, 0)))?;
            let sender = sender.map_err(failed)?;
            sender.connect((to.address, PORT)).map_err(failed)?;
            setsockopt(&sender, sockopt::SndBuf, &BUFFER).map_err(|error| failed(error.into()))?;
            Ok((sender, receiver))
        };
        let pairs = pairs.iter().map(open).collect::<Result<_, LabError>>()?;
        Ok(Self { pairs, experiment: 0 })
    }

    /// Returns the UDP ports of each pair: the sender's, and the receiver's.
    ///
    /// # Errors
    /// If the kernel does not return them.
    pub fn ports(&self) -> Result<Vec<[u16; 2]>, LabError> {
        let port = |(sender, _): &(UdpSocket, UdpSocket)| Ok([sender.local_addr()?.port(), PORT]);
        let ports = self.pairs.iter().map(port).collect::<std::io::Result<_>>();
        ports.map_err(|error| LabError::io("cannot read the port of a socket", error))
    }

    /// Sends packets from each of the first senders, one every `interval` (zero: as fast as it can), and waits until
    /// none has arrived for `silence`. Returns their outcomes, by pair. `packet` is the size of one on the wire, with
    /// a tag.
    ///
    /// # Errors
    /// If the kernel does not take a packet.
    pub fn send(
        &mut self,
        pairs: usize,
        packet: Bytes,
        packets: usize,
        interval: Duration,
        silence: Duration,
    ) -> Result<Vec<Vec<ProbeResult>>, LabError> {
        self.experiment += 1;
        let mut packet = vec![0; payload(packet)];
        let mut seen = vec![Vec::with_capacity(packets); pairs.min(self.pairs.len())];
        let begin = stamp();
        for number in 0..packets {
            let due = begin + (interval.as_nanos() as u64).saturating_mul(number as u64);
            while stamp() < due {
                self.collect(&mut seen);
            }
            for ((sender, _), seen) in self.pairs.iter().zip(&mut seen) {
                let sent = stamp();
                Header { flow: self.experiment, number: number as u64, sent }.write(&mut packet);
                sender.send(&packet).map_err(|error| LabError::io("cannot send a packet", error))?;
                seen.push(ProbeResult { sent, received: None });
            }
        }
        let mut last = stamp();
        while stamp() < last.saturating_add(silence.as_nanos() as u64) {
            match self.collect(&mut seen) {
                0 if seen.iter().flatten().all(|one| one.received.is_some()) => break,
                0 => std::thread::sleep(NAP),
                _ => last = stamp(),
            }
        }
        Ok(seen)
    }

    /// Records the packets that have arrived; returns their number.
    fn collect(&self, seen: &mut [Vec<ProbeResult>]) -> usize {
        let (mut buffer, mut count) = ([0; HEADER], 0);
        let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
        for ((_, receiver), seen) in self.pairs.iter().zip(seen) {
            while let Some((length, received)) = take(receiver, &mut buffer, &mut control) {
                let header = Header::read(&buffer[..length.min(HEADER)]).filter(|one| one.flow == self.experiment);
                let probed = header.and_then(|header| seen.get_mut(usize::try_from(header.number).ok()?));
                if let Some(probed) = probed {
                    probed.received.get_or_insert(received);
                    count += 1;
                }
            }
        }
        count
    }
}

/// Bytes on the wire around the payload of a packet with one tag.
const AROUND: u64 = HEADERS + 4 + 24;
/// The smallest probe on the wire.
pub const SMALLEST_PROBE: u64 = HEADER as u64 + AROUND;

fn payload(packet: Bytes) -> usize {
    usize::try_from(packet.get().saturating_sub(AROUND)).unwrap_or(usize::MAX).max(HEADER)
}
