//! The timers that a broker has armed.

use std::collections::BTreeMap;
use std::time::Duration;

use wayleave_schemes::hosts::AnyBrokerTimer;
use wayleave_units::Time;

/// In the order in which they ring; of two for one time, the one that was armed first.
#[derive(Debug, Default)]
pub(super) struct Timers {
    armed: BTreeMap<(Time, u64), AnyBrokerTimer>,
    count: u64,
}

impl Timers {
    pub(super) fn arm(&mut self, at: Time, timer: AnyBrokerTimer) {
        self.count += 1;
        self.armed.insert((at, self.count), timer);
    }

    /// Returns a timer that has expired by `now`. A loop over all of them uses one `now`: a timer armed within the
    /// loop waits for the next loop.
    pub(super) fn pop_expired(&mut self, now: Time) -> Option<AnyBrokerTimer> {
        let first = self.armed.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    /// Returns the time until the next timer expires, at most `longest`.
    pub(super) fn wait(&self, now: Time, longest: Duration) -> Duration {
        let next = self.armed.first_key_value().map(|(&(at, _), _)| at.saturating_sub(now));
        next.map_or(longest, |wait| longest.min(Duration::from_nanos(wait.as_nanos())))
    }
}
