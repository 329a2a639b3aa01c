//! Times throughout which agents have reported.
//!
//! An agent reports throughout a period if its reports have no gap above [`MAX_REPORT_GAP`] from the last one before the
//! period to the first one after it, by the steady clock and by the calendar.

use std::collections::{HashMap, HashSet, VecDeque};

use wayleave_protocol::load::MAX_REPORT_GAP;
use wayleave_topology::NodeId;
use wayleave_units::WallTime;

use super::clock::Moment;

/// Maximum number of runs of a node that are remembered: more than fit between two decisions.
const MAX_RUNS: usize = 64;

/// Reports of a node without a gap.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: WallTime,
    last: Moment,
}

/// Reports of all nodes.
#[derive(Debug, Default)]
pub(crate) struct Presence(HashMap<NodeId, VecDeque<Run>>);

impl Presence {
    /// Takes the arrival of a node's report.
    pub(crate) fn on_report(&mut self, now: Moment, node: NodeId) {
        let runs = self.0.entry(node).or_default();
        if let Some(run) = runs.back_mut() {
            let steady = now.0.saturating_duration_since(run.last.0);
            let calendar = now.1.as_nanos().checked_sub(run.last.1.as_nanos());
            let most = MAX_REPORT_GAP.as_nanos();
            // A calendar that was set back begins a new run.
            if steady <= MAX_REPORT_GAP && calendar.is_some_and(|gap| u128::from(gap) <= most) {
                run.last = now;
                return;
            }
        }
        if runs.len() >= MAX_RUNS {
            runs.pop_front();
        }
        runs.push_back(Run { first: now.1, last: now });
    }

    /// Returns the nodes that have reported throughout a period.
    pub(crate) fn covering(&self, from: WallTime, to: WallTime) -> HashSet<NodeId> {
        let covers = |run: &Run| run.first <= from && run.last.1 >= to;
        self.0.iter().filter(|(_, runs)| runs.iter().any(covers)).map(|(node, _)| *node).collect()
    }

    /// Forgets runs that ended before a time.
    pub(crate) fn forget_before(&mut self, time: WallTime) {
        for runs in self.0.values_mut() {
            // The last run may continue.
            while runs.len() > 1 && runs.front().is_some_and(|run| run.last.1 < time) {
                runs.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use wayleave_repo_checks::Random;
    use wayleave_topology::builders::{Cabling, build};

    /// The reference inspects all pairs of neighbouring reports. Times are in tenths of a second; the calendar may be set.
    #[test]
    fn a_period_is_covered_if_no_gap_of_reports_above_three_seconds_touches_it() {
        let node = build::star(2, Cabling::default()).unwrap().hosts().next().unwrap();
        let tenth = |tenths: u64| WallTime::from_nanos(tenths * 100_000_000);
        let mut covered = 0;
        for seed in 1..2_000_u64 {
            let mut random = Random::new(seed);
            let (start, mut presence) = (Instant::now(), Presence::default());
            let (mut steady, mut calendar, mut reports) = (0, 5_000, Vec::new());
            while calendar < 6_500 {
                let passed = if random.one_in(200) { 25 + random.below(12) } else { 1 + random.below(20) };
                let set = if random.one_in(400) { random.below(60) } else { 30 };
                (steady, calendar) = (steady + passed, calendar + passed + set - 30);
                presence.on_report((start + Duration::from_millis(steady * 100), tenth(calendar)), node);
                reports.push((steady, calendar));
            }
            let (from, to) = (5_400, 6_000);
            let is_gap = |pair: &[(u64, u64)]| {
                let [(steady, calendar), (later_steady, later)] = *pair else { return false };
                let is_long = later_steady - steady > 30 || later < calendar || later - calendar > 30;
                // A calendar that goes back over the period touches it, too.
                is_long && calendar.min(later) < to && calendar.max(later) > from
            };
            let is_whole = reports.first().is_some_and(|report| report.1 <= from) && !reports.windows(2).any(is_gap);
            let is_covered = presence.covering(tenth(from), tenth(to)).contains(&node);
            covered += u32::from(is_covered);
            // After a calendar that went back, a run may cover a period that another one touched.
            assert!(is_covered == is_whole || reports.windows(2).any(|pair| pair[1].1 < pair[0].1), "seed {seed}");
            presence.forget_before(tenth(to));
            assert_eq!(presence.covering(tenth(from), tenth(to)).contains(&node), is_covered, "seed {seed}");
        }
        assert!((200..1_900).contains(&covered), "{covered}");
    }
}
