//! Presto's receiver: what is out of order only because paths differ is put in order (section 3.2, Algorithm 2).

use std::collections::VecDeque;

use wayleave_units::Time;

/// Parameters of the time for which a receiver waits for missing packets between two flowcells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Alpha: a hole that lasts this many times the average is a loss (section 3.2: 2).
    pub hold_averages: u32,
    /// Beta: after the time-out, segments are still held for this part of the average since one was merged with them
    /// (section 3.2: 2).
    pub grace: u32,
    /// The average before the first hole has closed. The text gives none: 524.288 us, a flowcell at 1 Gbit/s. Rather
    /// too long than too short, because only holes that close in time are learnt from; and twice as much is still far
    /// below the time-outs of datacenter transports (DCTCP, SIGCOMM 2010, section 4: 10 ms).
    pub initial: Time,
    /// The average forgets a part of 2^-gain with each hole that closes. The text gives none: 3, as round trips are
    /// smoothed (RFC 6298, section 2).
    pub gain: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { hold_averages: 2, grace: 2, initial: Time::from_nanos(524_288), gain: 3 }
    }
}

/// Reorder buffer at the receiver of one flow. `T` represents a packet, and is returned once, in order if paths
/// permit. Segments count from 0, as do flowcells.
///
/// Every packet enters by [`Self::on_packet`]; the caller wakes the buffer by [`Self::on_timer`] at
/// [`Self::deadline`]. Nothing is allocated while packets arrive in order.
///
/// ```
/// use wayleave_schemes::path::presto::Reorder;
/// use wayleave_units::Time;
///
/// let mut buffer = Reorder::default();
/// let mut up = Vec::new();
/// buffer.on_packet(Time::from_micros(0), 0, 0, "a", |packet| up.push(packet));
/// // The second flowcell is faster than the end of the first.
/// buffer.on_packet(Time::from_micros(1), 2, 1, "c", |packet| up.push(packet));
/// buffer.on_packet(Time::from_micros(5), 1, 0, "b", |packet| up.push(packet));
/// assert_eq!(up, ["a", "b", "c"]);
/// assert_eq!(buffer.deadline(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Reorder<T> {
    /// All segments before have been handed up, or are missing within a flowcell.
    expected: u32,
    /// The latest flowcell of which something was handed up.
    cell: u32,
    /// Average duration of holes between flowcells before they close, in ns.
    average: u64,
    /// Time at which the first segment held is given up.
    deadline: Time,
    /// In order of their segments.
    held: VecDeque<Held<T>>,
    params: Params,
}

#[derive(Clone, Copy, Debug)]
struct Held<T> {
    segment: u32,
    cell: u32,
    since: Time,
    packet: T,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self::new(Params::default())
    }
}

impl<T> Reorder<T> {
    /// For a flow of which nothing has come.
    pub fn new(params: Params) -> Self {
        let average = params.initial.as_nanos();
        Self { expected: 0, cell: 0, average, deadline: Time::ZERO, held: VecDeque::new(), params }
    }

    /// A segment of a flowcell comes; `up` is given what is handed to the transport now: perhaps this packet, and
    /// perhaps others that waited for it.
    #[inline]
    pub fn on_packet(&mut self, now: Time, segment: u32, cell: u32, packet: T, mut up: impl FnMut(T)) {
        if !self.is_due(segment, cell) {
            self.hold(Held { segment, cell, since: now, packet });
            return;
        }
        let before = self.cell;
        self.advance(segment, cell);
        up(packet);
        // Without a new flowcell, only the first one held can have become due.
        if self.held.front().is_some_and(|first| before != self.cell || first.segment <= self.expected) {
            self.release(now, &mut up);
        }
    }

    /// Passes up packets that have waited too long, and those that waited for them. Harmless if none is due.
    pub fn on_timer(&mut self, now: Time, mut up: impl FnMut(T)) {
        while self.is_overdue(now) {
            let Some(first) = self.held.pop_front() else { return };
            self.advance(first.segment, first.cell);
            up(first.packet);
            self.release(now, &mut up);
        }
    }

    /// Returns the time at which [`Self::on_timer`] has to be called, perhaps in the past; `None` while nothing
    /// waits.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.held.is_empty() { None } else { Some(self.deadline) }
    }

    /// Returns the number of packets that wait.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns the average duration of holes between flowcells before they close.
    pub fn average(&self) -> Time {
        Time::from_nanos(self.average)
    }

    /// Algorithm 2: a segment may go up if its flowcell has begun, is over, or has nothing missing before it.
    #[inline]
    fn is_due(&self, segment: u32, cell: u32) -> bool {
        segment <= self.expected || !is_later(cell, self.cell)
    }

    #[inline]
    fn advance(&mut self, segment: u32, cell: u32) {
        if is_later(cell, self.cell) {
            self.cell = cell;
        }
        self.expected = self.expected.max(segment.saturating_add(1));
    }

    fn hold(&mut self, new: Held<T>) {
        let at = self.held.partition_point(|held| held.segment <= new.segment);
        if at == 0 {
            self.deadline = self.deadline_from(new.since);
        }
        self.held.insert(at, new);
    }

    fn deadline_from(&self, since: Time) -> Time {
        since + Time::from_nanos(self.average.saturating_mul(u64::from(self.params.hold_averages)))
    }

    /// Passes up all packets that are due, the first segment first.
    fn release(&mut self, now: Time, up: &mut impl FnMut(T)) {
        while let Some(at) = self.held.iter().position(|held| self.is_due(held.segment, held.cell)) {
            let Some(Held { segment, cell, since, packet }) = self.held.remove(at) else { return };
            if is_later(cell, self.cell) && segment == self.expected {
                self.learn(now.saturating_sub(since));
            }
            self.advance(segment, cell);
            up(packet);
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

    /// Returns `true` if the first one held has waited too long; if one was merged with it just now, it gets more
    /// time.
    fn is_overdue(&mut self, now: Time) -> bool {
        let Some(first) = self.held.front() else { return false };
        if now < self.deadline {
            return false;
        }
        let (cell, mut last) = (first.cell, first.segment);
        let mut merged = None;
        for next in self.held.iter().skip(1) {
            if next.cell != cell || next.segment > last.saturating_add(1) {
                break;
            }
            last = next.segment;
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

/// Returns `true` if a flowcell follows another, on a circle of 2^32.
#[inline]
fn is_later(cell: u32, than: u32) -> bool {
    (cell.wrapping_sub(than) as i32) > 0
}
