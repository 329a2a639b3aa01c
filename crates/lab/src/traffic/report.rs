//! What became of a flow.

use wayleave_units::Time;

use crate::sentinel::Stalls;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number in the flow.
    pub number: u64,
    /// When it was sent, in nanoseconds of the calendar's clock.
    pub sent: u64,
    /// When it was received.
    pub received: u64,
}

impl Arrival {
    /// How long it took, in nanoseconds.
    pub const fn delay(self) -> u64 {
        self.received.saturating_sub(self.sent)
    }
}

/// What became of the packets of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// What it is called.
    pub name: String,
    /// Packets that were handed to the kernel.
    pub sent: u64,
    /// Packets that came after one that was sent later.
    pub reordered: u64,
    /// Packets that came once more.
    pub duplicates: u64,
    /// Packets at its port that are not its own.
    pub strangers: u64,
    /// What was promised.
    pub bound: Option<Time>,
    /// Every delay in nanoseconds, shortest first.
    pub delays: Vec<u64>,
    /// Packets later than the bound.
    pub late: Vec<Arrival>,
    /// Every packet of an exchange in the order of arrival: of a request or an answer, of nothing else.
    pub exchanged: Vec<Arrival>,
    /// How far the calendar's clock was set meanwhile: no delay is known better than this.
    pub clock_moved: Time,
}

impl FlowReport {
    /// Packets that arrived.
    pub fn received(&self) -> u64 {
        self.delays.len() as u64
    }

    /// Packets that did not arrive: dropped by the shaper, which its counters say, or by a queue, which those of its port say.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received())
    }

    /// The longest delay.
    pub fn worst(&self) -> Option<Time> {
        self.delays.last().copied().map(Time::from_nanos)
    }

    /// The delay that so many of 1000 packets do not exceed.
    pub fn per_mille(&self, share: u64) -> Option<Time> {
        let rank = (self.received() * share.min(1000)).div_ceil(1000).max(1) - 1;
        self.delays.get(rank as usize).copied().map(Time::from_nanos)
    }

    /// Late packets for which the machine's stalls account, and those for which they do not. A stall accounts for a packet that is late by
    /// no more than processors stood still from one bound before it was sent (what waits then is still ahead of it) until it arrived.
    pub fn late_by_stalls(&self, stalls: &Stalls) -> (Vec<Arrival>, Vec<Arrival>) {
        let bound = self.bound.unwrap_or(Time::MAX).as_nanos();
        self.late.iter().partition(|late| {
            let by = late.delay().saturating_sub(bound);
            stalls.within(late.sent.saturating_sub(bound), late.received) >= by
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentinel::Stall;

    fn report(delays: Vec<u64>, late: Vec<Arrival>) -> FlowReport {
        let bound = Some(Time::from_nanos(100));
        let (name, clock_moved, exchanged) = ("f".to_owned(), Time::ZERO, Vec::new());
        let (reordered, duplicates, strangers) = (0, 0, 0);
        FlowReport { name, sent: 10, reordered, duplicates, strangers, bound, delays, late, exchanged, clock_moved }
    }

    #[test]
    fn percentiles_are_delays_that_were_seen() {
        let report = report(vec![1, 2, 3, 4], Vec::new());
        let nanos = |share| report.per_mille(share).map(Time::as_nanos);
        assert_eq!(
            [nanos(0), nanos(250), nanos(251), nanos(500), nanos(1000)],
            [Some(1), Some(1), Some(2), Some(2), Some(4)]
        );
        assert_eq!((report.received(), report.lost(), report.worst()), (4, 6, Some(Time::from_nanos(4))));
        assert_eq!(self::report(Vec::new(), Vec::new()).per_mille(500), None);
    }

    #[test]
    fn a_stall_excuses_as_much_as_it_lasted() {
        let late = |number, sent, received| Arrival { number, sent, received };
        // Late by 30, by 31 while 30 were lost to stalls, and by 30 long after.
        let all = vec![late(1, 1000, 1130), late(2, 1000, 1131), late(3, 5000, 5130)];
        let stalls = Stalls { all: vec![Stall { core: 0, from: 950, to: 980 }], is_strict: true };
        let (excused, others) = report(Vec::new(), all.clone()).late_by_stalls(&stalls);
        assert_eq!((excused, others), (vec![all[0]], vec![all[1], all[2]]));
    }
}
