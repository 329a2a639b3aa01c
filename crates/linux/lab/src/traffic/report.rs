//! Report on a flow.

use wayleave_units::Time;

use crate::sentinel::Stalls;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number in the flow.
    pub number: u64,
    /// Time at which it was sent, in nanoseconds of the calendar's clock.
    pub sent: u64,
    /// Time at which it was received.
    pub received: u64,
}

impl Arrival {
    /// Returns the delay in nanoseconds.
    pub const fn delay(self) -> u64 {
        self.received.saturating_sub(self.sent)
    }
}

/// Promised bounds of a flow, with the times of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    first: Time,
    /// Earliest and latest time of each change, and the new bound.
    changes: Vec<(u64, u64, Time)>,
}

impl Bounds {
    /// One bound all the time.
    pub const fn of(first: Time) -> Self {
        Self { first, changes: Vec::new() }
    }

    /// Another one since some moment between two, in nanoseconds of the calendar's clock; later than all changes before.
    pub fn change(&mut self, from: u64, until: u64, to: Time) {
        self.changes.push((from, until, to));
    }

    /// Returns the bound of a packet that was sent at this time: the longer one, if it may have been either.
    pub fn at(&self, sent: u64) -> Time {
        let mut bound = self.first;
        for &(_, until, to) in self.changes.iter().take_while(|(from, ..)| *from <= sent) {
            bound = if sent > until { to } else { bound.max(to) };
        }
        bound
    }

    /// The longest.
    pub fn longest(&self) -> Time {
        self.changes.iter().map(|&(_, _, to)| to).fold(self.first, Time::max)
    }
}

/// Outcome of the packets of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// Name of the flow.
    pub name: String,
    /// Packets that were handed to the kernel.
    pub sent: u64,
    /// Packets that came after one that was sent later.
    pub reordered: u64,
    /// Packets that came once more.
    pub duplicates: u64,
    /// Packets at its port that are not its own.
    pub foreign: u64,
    /// Promised bounds, if there are any.
    pub bounds: Option<Bounds>,
    /// Every delay in nanoseconds, shortest first.
    pub delays: Vec<u64>,
    /// Every packet in the order of arrival, of a flow with a bound or of an exchange; of nothing else.
    pub arrivals: Vec<Arrival>,
}

impl FlowReport {
    /// Packets that arrived.
    pub fn received(&self) -> u64 {
        self.delays.len() as u64
    }

    /// Returns the number of packets that did not arrive: dropped by the shaper, as its counters show, or by a queue,
    /// as those of its port show.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received())
    }

    /// The longest delay.
    pub fn worst(&self) -> Option<Time> {
        self.delays.last().copied().map(Time::from_nanos)
    }

    /// The delay that this many of 1000 packets do not exceed.
    pub fn per_mille(&self, share: u64) -> Option<Time> {
        let rank = (self.received() * share.min(1000)).div_ceil(1000).max(1) - 1;
        self.delays.get(rank as usize).copied().map(Time::from_nanos)
    }

    /// Returns the packets later than the bound at their time of sending.
    pub fn late(&self) -> Vec<Arrival> {
        let Some(bounds) = &self.bounds else { return Vec::new() };
        let is_late = |arrival: &&Arrival| arrival.delay() > bounds.at(arrival.sent).as_nanos();
        self.arrivals.iter().filter(is_late).copied().collect()
    }

    /// Returns the late packets for which the machine's stalls account, and the others. A stall accounts for a packet
    /// if its lateness does not exceed the time for which processors stalled, from one bound before it was sent
    /// (packets that wait then are still ahead) until it arrived.
    pub fn late_by_stalls(&self, stalls: &Stalls) -> (Vec<Arrival>, Vec<Arrival>) {
        self.late().into_iter().partition(|late| {
            let bound = self.bounds.as_ref().map_or(Time::MAX, |bounds| bounds.at(late.sent)).as_nanos();
            let by = late.delay().saturating_sub(bound);
            stalls.within(late.sent.saturating_sub(bound), late.received) >= by
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentinel::Stall;

    fn report(delays: Vec<u64>, arrivals: Vec<Arrival>) -> FlowReport {
        let bounds = Some(Bounds::of(Time::from_nanos(100)));
        let name = "f".to_owned();
        let (reordered, duplicates, foreign) = (0, 0, 0);
        FlowReport { name, sent: 10, reordered, duplicates, foreign, bounds, delays, arrivals }
    }

    #[test]
    fn a_packet_is_judged_by_the_bound_at_its_send_time() {
        let nanos = Time::from_nanos;
        let mut bounds = Bounds::of(nanos(100));
        bounds.change(1000, 1050, nanos(300));
        bounds.change(2000, 2050, nanos(50));
        let at = [999, 1000, 1050, 1051, 1999, 2000, 2050, 2051].map(|sent| bounds.at(sent).as_nanos());
        assert_eq!(at, [100, 300, 300, 300, 300, 300, 300, 50]);
        assert_eq!(bounds.longest(), nanos(300));
        let arrival = |sent, received| Arrival { number: 0, sent, received };
        let mut report = report(Vec::new(), vec![arrival(900, 1100), arrival(1100, 1300), arrival(2100, 2200)]);
        report.bounds = Some(bounds);
        assert_eq!(report.late(), vec![arrival(900, 1100), arrival(2100, 2200)]);
    }

    #[test]
    fn percentiles_are_observed_delays() {
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
    fn a_stall_excuses_a_delay_of_its_duration() {
        let late = |number, sent, received| Arrival { number, sent, received };
        // Late by 30, by 31 while 30 were lost to stalls, and by 30 long after.
        let all = vec![late(1, 1000, 1130), late(2, 1000, 1131), late(3, 5000, 5130)];
        let stalls = Stalls { all: vec![Stall { core: 0, from: 950, to: 980 }], is_strict: true };
        let (excused, others) = report(Vec::new(), all.clone()).late_by_stalls(&stalls);
        assert_eq!((excused, others), (vec![all[0]], vec![all[1], all[2]]));
    }
}
