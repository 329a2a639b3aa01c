//! The last packet events of a run, for traces.

use std::collections::VecDeque;

use crate::clock::Instant;
use crate::packet::Packet;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Its host released it.
    Sent,
    /// It came to a port.
    Enqueued,
    /// There was no room for it.
    Dropped,
    /// It reached its host.
    Delivered,
    /// It was on, or waited for, a link that failed.
    LostOnLink,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    pub(crate) at: Instant,
    pub(crate) what: What,
    pub(crate) link: u32,
    pub(crate) queue: u8,
    pub(crate) packet: Packet,
}

/// A bounded list of events.
#[derive(Debug)]
pub(crate) struct Recorder {
    notes: VecDeque<Note>,
    most: usize,
    /// How many were too old to be kept.
    pub(crate) forgotten: u64,
}

impl Recorder {
    pub(crate) fn new(most: usize) -> Self {
        Self { notes: VecDeque::new(), most: most.max(1), forgotten: 0 }
    }

    pub(crate) fn note(&mut self, what: What, link: u32, queue: u8, packet: &Packet, at: Instant) {
        if self.notes.len() == self.most {
            self.notes.pop_front();
            self.forgotten += 1;
        }
        self.notes.push_back(Note { at, what, link, queue, packet: *packet });
    }
}
