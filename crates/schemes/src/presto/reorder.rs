//! The receiver's half: segments that overtook others wait for them.

use std::collections::BTreeMap;

use wayleave_units::Time;

/// A gap is waited for so many times as long as gaps have lasted on average.
pub const PATIENCE: u64 = 2;

/// How long gaps last before one was seen.
const FIRST_GUESS: Time = Time::from_micros(50);

/// What waits at the receiver of one flow. `T` stands for a packet, and is given back in order.
#[derive(Clone, Debug)]
pub struct Reorder<T> {
    /// The segment that is handed up next.
    expected: u32,
    /// The flowcell of the one before.
    cell: u32,
    /// By segment: its packet, and when it came.
    held: BTreeMap<u32, (T, u32, Time)>,
    /// How long gaps last, smoothed with weight 1/8.
    usual_gap: Time,
    deadline: Option<Time>,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self { expected: 0, cell: 0, held: BTreeMap::new(), usual_gap: FIRST_GUESS, deadline: None }
    }
}

impl<T> Reorder<T> {
    /// A segment comes; `up` is given what is handed to the transport, in order.
    pub fn on_packet(&mut self, now: Time, segment: u32, cell: u32, packet: T, mut up: impl FnMut(T)) {
        if segment < self.expected {
            // Sent again, or twice: the transport knows what to do.
            up(packet);
            return;
        }
        if segment > self.expected && cell != self.cell {
            if self.held.insert(segment, (packet, cell, now)).is_none() {
                self.deadline.get_or_insert(now + self.usual_gap * PATIENCE);
            }
            return;
        }
        // The one that is expected, or a later one of the same flowcell: what is between was lost.
        let was_waiting = self.held.first_key_value().map(|(_, (.., since))| *since);
        self.expected = segment + 1;
        self.cell = cell;
        up(packet);
        self.hand_up(&mut up);
        if let Some(since) = was_waiting.filter(|_| self.held.first_key_value().is_none_or(|(&at, _)| at > segment)) {
            let lasted = now.saturating_sub(since);
            self.usual_gap = Time::from_nanos((7 * self.usual_gap.as_nanos() + lasted.as_nanos()) / 8);
        }
        self.deadline = self.held.first_key_value().map(|(_, (.., since))| *since + self.usual_gap * PATIENCE);
    }

    /// Hands up what is next, and what is behind it in the same flowcell.
    fn hand_up(&mut self, up: &mut impl FnMut(T)) {
        while let Some(entry) = self.held.first_entry() {
            let (segment, cell) = (*entry.key(), entry.get().1);
            if segment > self.expected && cell != self.cell {
                return;
            }
            let (packet, ..) = entry.remove();
            (self.expected, self.cell) = (self.expected.max(segment + 1), cell);
            up(packet);
        }
    }

    /// When [`Self::on_timer`] wants to be called; `None` while nothing waits.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Gives up waiting for the first gap, if it is time.
    pub fn on_timer(&mut self, now: Time, mut up: impl FnMut(T)) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        if let Some((&segment, &(_, cell, _))) = self.held.first_key_value() {
            (self.expected, self.cell) = (segment, cell);
        }
        self.hand_up(&mut up);
        self.deadline = self.held.first_key_value().map(|(_, (.., since))| {
            // Never in the past: what is left has its own time to wait.
            (*since + self.usual_gap * PATIENCE).max(now)
        });
    }
}
