//! Presto's receiver: what is out of order only because paths differ is put in order (section 3.2, Algorithm 2).

use std::collections::VecDeque;

use wayleave_units::Time;

/// How long a receiver waits for what is missing between two flowcells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Alpha: a hole that lasts this many times the average is a loss (section 3.2: 2).
    pub patience: u32,
    /// Beta: after the time-out, a segment is still held for this part of the average since a packet was merged into it
    /// (section 3.2: 2).
    pub grace: u32,
    /// The average before the first hole has closed. The text gives none: 524.288 us, a flowcell at 1 Gbit/s; ten times
    /// that much is still within the time-outs of datacenter transports (DCTCP, SIGCOMM 2010, section 4: 10 ms).
    pub initial: Time,
    /// The average forgets a part of 2^-gain with each hole that closes. The text gives none: 3, as round trips are
    /// smoothed (RFC 6298, section 2).
    pub gain: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { patience: 2, grace: 2, initial: Time::from_nanos(524_288), gain: 3 }
    }
}

/// What a receiver has to know of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its flowcell.
    pub flowcell: u32,
    /// Where it stands in its flow: in bytes, or in packets of length 1.
    pub sequence: u64,
    /// In the same unit.
    pub length: u32,
}

impl Segment {
    fn end(self) -> u64 {
        self.sequence + u64::from(self.length)
    }
}

/// The reordering buffer of one flow, for packets that are known by a handle `P`.
///
/// Every packet goes in by [`Self::on_packet`] and leaves once, through `pass_up`, there or later. The caller wakes the
/// buffer by [`Self::on_timer`] at [`Self::wake_at`]. Nothing is allocated while packets come in order.
///
/// ```
/// use wayleave_schemes::presto::{Params, Reorder, Segment};
/// use wayleave_units::Time;
///
/// let mut buffer = Reorder::new(Params::default());
/// let mut up = Vec::new();
/// let packet = |flowcell, sequence| Segment { flowcell, sequence, length: 1 };
/// buffer.on_packet(Time::from_micros(0), packet(0, 0), "a", &mut |packet| up.push(packet));
/// // The second flowcell is faster than the end of the first.
/// buffer.on_packet(Time::from_micros(1), packet(1, 2), "c", &mut |packet| up.push(packet));
/// buffer.on_packet(Time::from_micros(5), packet(0, 1), "b", &mut |packet| up.push(packet));
/// assert_eq!(up, ["a", "b", "c"]);
/// assert_eq!(buffer.wake_at(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Reorder<P> {
    /// Everything before has been passed up, or is missing within a flowcell.
    expected: u64,
    /// The latest flowcell of which something was passed up.
    flowcell: u32,
    /// How long holes between flowcells last before they close, in ns.
    average: u64,
    /// When the first one held is given up waiting for.
    deadline: Time,
    /// In order of their sequence.
    held: VecDeque<Held<P>>,
    params: Params,
}

#[derive(Clone, Copy, Debug)]
struct Held<P> {
    segment: Segment,
    since: Time,
    packet: P,
}

impl<P> Reorder<P> {
    /// For a flow whose first flowcell is 0, and whose first packet has sequence 0.
    pub fn new(params: Params) -> Self {
        let average = params.initial.as_nanos();
        Self { expected: 0, flowcell: 0, average, deadline: Time::ZERO, held: VecDeque::new(), params }
    }

    /// A packet arrives; it is passed up, with others that waited for it, or held.
    #[inline]
    pub fn on_packet(&mut self, now: Time, segment: Segment, packet: P, pass_up: &mut impl FnMut(P)) {
        if !self.is_due(segment) {
            self.hold(now, segment, packet);
            return;
        }
        let flowcell = self.flowcell;
        self.advance(segment);
        pass_up(packet);
        let may_release = |first: &Held<P>| flowcell != self.flowcell || first.segment.sequence <= self.expected;
        if self.held.front().is_some_and(may_release) {
            self.release(now, pass_up);
        }
    }

    /// Time has passed: what has waited too long is passed up, with what waited for it. Harmless when nothing is due.
    pub fn on_timer(&mut self, now: Time, pass_up: &mut impl FnMut(P)) {
        while self.is_overdue(now) {
            let Some(first) = self.held.pop_front() else { return };
            self.advance(first.segment);
            pass_up(first.packet);
            self.release(now, pass_up);
        }
    }

    /// When [`Self::on_timer`] has to be called; `None` while nothing is held.
    #[inline]
    pub fn wake_at(&self) -> Option<Time> {
        if self.held.is_empty() { None } else { Some(self.deadline) }
    }

    /// How many packets are held.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// How long holes between flowcells last before they close, on average.
    pub fn average(&self) -> Time {
        Time::from_nanos(self.average)
    }

    /// Algorithm 2: a packet may go up if its flowcell has begun, is over, or has nothing missing before it.
    #[inline]
    fn is_due(&self, segment: Segment) -> bool {
        !is_later(segment.flowcell, self.flowcell) || segment.sequence <= self.expected
    }

    #[inline]
    fn advance(&mut self, segment: Segment) {
        if is_later(segment.flowcell, self.flowcell) {
            self.flowcell = segment.flowcell;
        }
        self.expected = self.expected.max(segment.end());
    }

    fn hold(&mut self, now: Time, segment: Segment, packet: P) {
        let at = self.held.partition_point(|held| held.segment.sequence <= segment.sequence);
        self.held.insert(at, Held { segment, since: now, packet });
        if at == 0 {
            self.deadline = self.deadline_from(now);
        }
    }

    fn deadline_from(&self, since: Time) -> Time {
        since + Time::from_nanos(self.average.saturating_mul(u64::from(self.params.patience)))
    }

    /// Passes up whatever is due, the first in order first.
    fn release(&mut self, now: Time, pass_up: &mut impl FnMut(P)) {
        while let Some(at) = self.held.iter().position(|held| self.is_due(held.segment)) {
            let Some(Held { segment, since, packet }) = self.held.remove(at) else { return };
            if is_later(segment.flowcell, self.flowcell) && segment.sequence == self.expected {
                self.learn(now.saturating_sub(since));
            }
            self.advance(segment);
            pass_up(packet);
        }
        if let Some(first) = self.held.front() {
            self.deadline = self.deadline_from(first.since);
        }
    }

    /// A hole between two flowcells has closed.
    fn learn(&mut self, lasted: Time) {
        let (average, sample) = (i128::from(self.average), i128::from(lasted.as_nanos()));
        self.average = (average + ((sample - average) >> self.params.gain)).max(1) as u64;
    }

    /// Whether the first one held has waited too long; if its segment has just grown, it gets more time.
    fn is_overdue(&mut self, now: Time) -> bool {
        let Some(first) = self.held.front() else { return false };
        if now < self.deadline {
            return false;
        }
        let flowcell = first.segment.flowcell;
        let mut end = first.segment.end();
        let mut merged = None;
        for next in self.held.iter().skip(1) {
            if next.segment.flowcell != flowcell || next.segment.sequence > end {
                break;
            }
            end = end.max(next.segment.end());
            merged = merged.max(Some(next.since));
        }
        let grace = Time::from_nanos(self.average / u64::from(self.params.grace.max(1)));
        match merged.map(|merged| merged + grace) {
            Some(until) if until > now => {
                self.deadline = until;
                false
            }
            _ => true,
        }
    }
}

/// Whether a flowcell comes after another, on a circle of 2^32.
#[inline]
fn is_later(flowcell: u32, than: u32) -> bool {
    (flowcell.wrapping_sub(than) as i32) > 0
}
