//! Figures of the server for its alerts.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use wayleave_controller::{DegradedReason, EnforcedBy, State};
use wayleave_protocol::alert::Alerts;
use wayleave_units::Time;

use crate::alert_counters::Counter;
use crate::alerts::{EVERY, Figures};
use crate::clock::{boottime, wall};
use crate::down_counts::DownCounts;
use crate::handlers::status::has_measured;
use crate::read_view::Health;
use crate::state::Shared;

impl Shared {
    fn alert_figures(&self) -> Figures {
        let tables = self.view.read();
        let counts = tables.counts_of(None);
        let count = |state: State| State::ALL.iter().zip(counts.states).find(|(known, _)| **known == state);
        let number = |state| count(state).map_or(0, |(_, count)| count);
        let is_unknown = |code: &str| matches!(code, "SILENT" | "UNCONFIRMED");
        let degraded = |unknown| {
            let counts = DegradedReason::CODES.into_iter().zip(counts.degraded);
            counts.filter(|(code, _)| is_unknown(code) == unknown).map(|(_, count)| count).sum::<u64>()
        };
        let is_ready = self.unready(&tables.health).is_none();
        let DownCounts { down, unobserved } = DownCounts::of(&tables, self.network());
        Figures {
            is_without_leader: !is_ready && !matches!(tables.health, Health::Following(Some(_))),
            silent: tables.nodes.values().filter(|node| node.is_silent).count() as u64,
            violated: number(State::Violated),
            degraded: degraded(false),
            unconfirmed: degraded(true),
            exceeding: tables.excess().len() as u64,
            down,
            unobserved: unobserved.unwrap_or(0),
            has_agents: self.setup.enforced_by != EnforcedBy::Nobody,
            has_sessions: tables.nodes.values().any(|node| node.is_there()),
            has_measured: has_measured(self, &tables, None),
            is_leader: is_ready,
        }
    }

    fn alert_counters(&self) -> Vec<((Counter, String), u64)> {
        let mut counters = self.metrics.alert_counters.values();
        let queue_full = self.counted.totals().map(|totals| ((Counter::QueueFull, String::new()), totals.queue_full));
        counters.extend(queue_full);
        let lost = self.counted.followed().map(|followed| ((Counter::Lost, String::new()), followed.lost));
        counters.extend(lost);
        let mut wrong: BTreeMap<String, u64> = BTreeMap::new();
        for (node, became, count) in self.counted.packets() {
            let counts = matches!(became.as_str(), "spoofed" | "forged");
            let sum = wrong.entry(node).or_default();
            *sum = sum.saturating_add(if counts { count } else { 0 });
        }
        counters.extend(wrong.into_iter().map(|(node, count)| ((Counter::WrongAddresses, node), count)));
        counters
    }

    /// Takes the present figures, and returns them.
    fn observe_alerts(&self) -> Figures {
        let figures = self.alert_figures();
        // Reports from the time as leader are outdated: agents report to the leader only.
        if !figures.is_leader {
            self.counted.clear();
        }
        let counters = self.alert_counters();
        self.alerts.lock().observe(Time::from_nanos(boottime()), wall(), &figures, counters);
        figures
    }

    /// Returns the alerts that fire now.
    pub(crate) fn alerts_now(&self) -> Alerts {
        let figures = self.observe_alerts();
        self.alerts.lock().alerts(Time::from_nanos(boottime()), wall(), &figures)
    }
}

/// Takes the figures at intervals, until the server ends.
pub(crate) async fn watch_loop(shared: Arc<Shared>, mut ending: watch::Receiver<bool>) {
    loop {
        shared.observe_alerts();
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            _ = ending.wait_for(|ending| *ending) => return,
        }
    }
}
