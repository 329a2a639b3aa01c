//! A line between a sender and its receiver, whose length and losses the test defines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::*;
use crate::clock::Instant;
use crate::packet::Block;

/// Effects of a line on packets.
pub(super) trait Fate {
    /// Returns the delay of a transmission of a segment; `None` if it is lost. `number` counts transmissions.
    fn forward(&mut self, sequence: u32, number: u64) -> Option<Instant>;

    /// The same for an acknowledgement.
    fn back(&mut self) -> Option<Instant>;
}

/// Packet on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum InTransit {
    Segment { sequence: u32, sent: Instant },
    Ack { sequence: u32, sent: Instant, expected: u32, block: (u32, u32), is_duplicate: bool },
}

/// Latest event of a sender.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    Sent(u32),
    Answered(&'a SegmentReply<'a>),
    Expired { judged: bool, timed_out: bool },
}

/// Observer of the events.
type Witness<'a> = &'a mut dyn FnMut(&Sender, Instant, Step<'_>);

/// A sender, a receiver, and the line between them.
pub(super) struct Line<F> {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) fate: F,
    pub(super) now: Instant,
    /// Transmissions, and retransmission time-outs.
    pub(super) sent: u64,
    pub(super) timeouts: u64,
    /// Time of the last transmission of the first missing segment, or of the last change of that segment.
    pub(super) moved_at: Instant,
    /// Time at which the line takes the next packet, per direction: in sequence; otherwise the packets triggered by
    /// two acknowledgements would leave at one instant.
    free_at: [Instant; 2],
    events: BinaryHeap<Reverse<(Instant, u64, InTransit)>>,
    number: u64,
}

impl<F: Fate> Line<F> {
    pub(super) fn new(sender: Sender, fate: F) -> Self {
        let (receiver, events) = (Receiver::default(), BinaryHeap::new());
        Self { sender, receiver, fate, now: 0, sent: 0, timeouts: 0, moved_at: 0, free_at: [0; 2], events, number: 0 }
    }

    fn put(&mut self, delay: Option<Instant>, what: InTransit) {
        self.number += 1;
        let free_at = &mut self.free_at[usize::from(matches!(what, InTransit::Ack { .. }))];
        *free_at = self.now.max(*free_at) + 1_000;
        if let Some(delay) = delay {
            self.events.push(Reverse((*free_at + delay, self.number, what)));
        }
    }

    /// Sends what may be sent; when pacing lets the next segment go.
    fn send(&mut self, witness: Witness<'_>) -> Instant {
        loop {
            match self.sender.poll(self.now) {
                SenderStep::Send { sequence, .. } => {
                    self.sent += 1;
                    if sequence == self.sender.flight.first() {
                        self.moved_at = self.now;
                    }
                    let delay = self.fate.forward(sequence, self.sent);
                    self.put(delay, InTransit::Segment { sequence, sent: self.now });
                    witness(&self.sender, self.now, Step::Sent(sequence));
                }
                SenderStep::At(at) => return at,
                SenderStep::Wait => return NEVER,
            }
        }
    }

    /// The next thing happens; whether anything did, or the transfer is over.
    pub(super) fn step(&mut self) -> bool {
        self.step_with(&mut |_, _, _| {})
    }

    /// As `step`, with an observer.
    pub(super) fn step_with(&mut self, witness: Witness<'_>) -> bool {
        let paced = self.send(witness);
        if self.sender.is_done() {
            return false;
        }
        let arrival = self.events.peek().map_or(NEVER, |Reverse((at, ..))| *at);
        let timer = self.sender.timeout_at().min(self.sender.judge_at());
        let at = arrival.min(timer).min(paced);
        assert_ne!(at, NEVER, "nothing is left to happen and {} B remain", self.sender.remaining());
        self.now = at;
        if at == arrival {
            if let Some(Reverse((_, _, what))) = self.events.pop() {
                self.arrive(what, witness);
            }
        } else if at == timer {
            let judged = self.sender.judge_at() <= at;
            let timed_out = self.sender.on_timer(at);
            self.timeouts += u64::from(timed_out);
            witness(&self.sender, at, Step::Expired { judged, timed_out });
        }
        true
    }

    fn arrive(&mut self, what: InTransit, witness: Witness<'_>) {
        match what {
            InTransit::Segment { sequence, sent } => {
                let received = self.receiver.on_segment(sequence);
                let (block, is_duplicate) = (received.block, received.is_duplicate);
                let delay = self.fate.back();
                let (expected, block) = (received.expected, (block.start, block.end));
                self.put(delay, InTransit::Ack { sequence, sent, expected, block, is_duplicate });
            }
            InTransit::Ack { sequence, sent, expected, block: (start, end), is_duplicate } => {
                let block = Block { start, end };
                let answer = SegmentReply { sent, is_duplicate, ..super::answer(sequence, expected, block) };
                let first = self.sender.flight.first();
                self.sender.on_answer(self.now, &answer, |_, marked, _| marked);
                witness(&self.sender, self.now, Step::Answered(&answer));
                if self.sender.flight.first() > first {
                    self.moved_at = self.now;
                }
            }
        }
    }
}
