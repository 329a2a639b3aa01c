//! Times at which agents have read their counters, checked against the arrival of their reports.
//!
//! An agent states each reading's time by its own clock, which may be set or wrong. The difference between the arrival of
//! a report and its reading is constant but for the report's delay and the drift of the clocks. So it has to stay within a
//! band of [`BAND`], which may move by [`DRIFT_PPM`]. A report above the band is late: its readings are ignored, and the next
//! report ends a longer interval. If the difference leaves the band otherwise, the clock was set: rates are unknown for
//! [`SETTLE`]. In consequence, the measured intervals of a period add up to its length by the controller's own clock within
//! [`BAND`], and a wrong clock changes a mean of ten seconds by at most a quarter.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wayleave_topology::NodeId;

use super::limit::FRESH;

/// Maximum difference between the delays of reports: the interval of reports.
pub(super) const BAND: Duration = Duration::from_secs(1);
/// Maximum drift of a clock, in millionths: `MAXFREQ` in include/linux/timex.h.
const DRIFT_PPM: i128 = 500;
/// Time after a clock was set in which its rates are unknown: a point of ten seconds never has two clocks.
const SETTLE: Duration = Duration::from_secs(10);

/// Time of a reading by the agent's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatedTime {
    /// Number of times that the clock was set: readings of different numbers are not compared.
    era: u64,
    nanos: u64,
    /// `false` shortly after the clock was set: the reading ends and begins no interval.
    is_settled: bool,
}

/// Time of a reading of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadTime {
    /// The arrival of a report that states no time.
    Arrival(Instant),
    /// By the agent's clock.
    Stated(StatedTime),
    /// By the agent's clock in a report that was late: the reading is ignored.
    Late,
}

impl ReadTime {
    /// Returns the time between two readings of a node, if it is known.
    pub(crate) fn since(self, before: Self) -> Option<Duration> {
        match (self, before) {
            (Self::Arrival(now), Self::Arrival(before)) => now.checked_duration_since(before),
            (Self::Stated(now), Self::Stated(before)) => {
                let is_known = now.era == before.era && now.is_settled && before.is_settled;
                now.nanos.checked_sub(before.nanos).filter(|_| is_known).map(Duration::from_nanos)
            }
            _ => None,
        }
    }
}

/// Clock of a node, as its reports show it. Differences are arrivals minus readings, in ns.
#[derive(Debug)]
struct ReportClock {
    era: u64,
    lowest: i128,
    highest: i128,
    /// Arrival of the last report within the band.
    arrived: Instant,
    settled: Instant,
}

/// Clocks of all nodes.
#[derive(Debug, Default)]
pub(crate) struct ReportClocks(BTreeMap<NodeId, ReportClock>);

fn nanos(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

impl ReportClocks {
    /// Checks the time of a reading; `steady` is the arrival of its report since a fixed time.
    pub(crate) fn check(&mut self, now: Instant, steady: Duration, node: NodeId, read_ns: u64) -> ReadTime {
        let difference = nanos(steady) - i128::from(read_ns);
        let reading = |era, is_settled| ReadTime::Stated(StatedTime { era, nanos: read_ns, is_settled });
        let Some(clock) = self.0.get_mut(&node) else {
            let (lowest, highest) = (difference, difference);
            self.0.insert(node, ReportClock { era: 0, lowest, highest, arrived: now, settled: now });
            return reading(0, true);
        };
        let silence = now.saturating_duration_since(clock.arrived);
        let drift = nanos(silence) * DRIFT_PPM / 1_000_000;
        let (lowest, highest) = (clock.lowest + drift, clock.highest - drift);
        let (lowest, highest) = (lowest.min(difference), highest.max(difference));
        if highest - lowest <= nanos(BAND) {
            (clock.lowest, clock.highest, clock.arrived) = (lowest, highest, now);
            return reading(clock.era, now >= clock.settled);
        }
        if difference == highest && silence <= FRESH {
            return ReadTime::Late;
        }
        clock.era += 1;
        (clock.lowest, clock.highest, clock.arrived) = (difference, difference, now);
        clock.settled = now + SETTLE;
        reading(clock.era, false)
    }

    /// Returns a problem for each node whose clock was set a short time ago.
    pub(crate) fn problems(&self, now: Instant) -> impl Iterator<Item = (NodeId, String)> {
        let unsettled = self.0.iter().filter(move |(_, clock)| now < clock.settled);
        unsettled.map(|(node, _)| {
            let what = format!(
                "the times of its counters differ from the arrival of its reports by more than before: its clock was set, or its reports were delayed; its rates are unknown for {} s",
                SETTLE.as_secs()
            );
            (*node, what)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_repo_checks::Random;
    use wayleave_topology::builders::{Cabling, build};

    /// Result of a report: `None` if it was late, or else the interval that its reading ends, in milliseconds.
    type Ended = Option<Option<u128>>;

    /// Returns the results of the reports of a node: (arrival, reading) in milliseconds.
    fn results(reports: &[(u64, u64)]) -> Vec<Ended> {
        let node = build::star(2, Cabling::default()).unwrap().hosts().next().unwrap();
        let (mut clocks, start, mut before) = (ReportClocks::default(), Instant::now(), None);
        let mut of = |&(arrival, read): &(u64, u64)| {
            let steady = Duration::from_millis(arrival);
            let time = clocks.check(start + steady, steady, node, read * 1_000_000);
            if time == ReadTime::Late {
                return None;
            }
            let took = before.replace(time).and_then(|before| time.since(before));
            Some(took.map(|took| took.as_millis()))
        };
        reports.iter().map(&mut of).collect()
    }

    #[test]
    fn late_reports_lengthen_the_next_interval_and_a_clock_that_was_set_has_none_for_ten_seconds() {
        let second = Some(Some(1_000));
        let delays = [(1_000, 0), (2_300, 1_000), (2_900, 2_000), (4_000, 3_000)];
        assert_eq!(results(&delays), [Some(None), second, second, second]);
        let late = [(1_000, 0), (2_000, 1_000), (4_500, 2_000), (4_600, 3_000), (5_000, 4_000)];
        assert_eq!(results(&late), [Some(None), second, None, Some(Some(2_000)), second]);
        // A clock that was set back looks like late reports for five seconds.
        for (jump, late) in [(100_000, 0), (100, 5)] {
            let mut reports = vec![(50_000, 50_000), (51_000, 51_000)];
            reports.extend((0..20).map(|second| (52_000 + 1_000 * second, jump + 1_000 * second)));
            let mut expected = vec![Some(None), second];
            expected.extend((0..20).map(|at| match at {
                _ if at < late => None,
                _ if at < late + 11 => Some(None),
                _ => second,
            }));
            assert_eq!(results(&reports), expected, "{jump}");
        }
    }

    /// An agent chooses the times of its readings to change its rates. Whatever it states, the intervals of a band add up
    /// to the time that has passed, within a second and the drift.
    #[test]
    fn stated_intervals_add_up_to_the_time_that_has_passed() {
        for seed in 1..300_u64 {
            let mut random = Random::new(seed);
            let (mut at, mut read) = (1_000_000, 1_000_000);
            let reports: Vec<(u64, u64)> = (0..200)
                .map(|_| {
                    at += 800 + random.below(400);
                    read += match random.below(30) {
                        0 => 40_000,
                        1..8 => random.below(3_000),
                        _ => 700 + random.below(600),
                    };
                    (at, read)
                })
                .collect();
            let (mut begin, mut sum) = (0, 0);
            for ((arrival, _), result) in reports.iter().zip(results(&reports)) {
                match result {
                    None => {}
                    Some(None) => (begin, sum) = (*arrival, 0),
                    Some(Some(took)) => {
                        sum += took;
                        let passed = u128::from(arrival - begin);
                        assert!(sum.abs_diff(passed) <= 1_000 + passed / 900, "seed {seed}: {sum} of {passed}");
                    }
                }
            }
        }
    }
}
