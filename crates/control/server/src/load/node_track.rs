//! Observation of a node's agent in a minute, and the worst value of a minute.

use wayleave_controller::NodeState;
use wayleave_protocol::load::UnknownReason;

/// Maximum age of a foreign change when its repair is reported, in ns: agents compare every 5 s and report every second
/// (`REPAIR_INTERVAL` of the agent), and a report may be late.
pub(super) const MAX_REPAIR_AGE_NS: u64 = 10_000_000_000;
/// Time of a change, relative to the minute that is being observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In the minute.
    Observed,
    /// Shortly after the minute: it may report something of the minute.
    Early,
    /// Later.
    Next,
}

/// The worst value of a minute. Changes that arrive after the minute, and before it is closed, count for the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Worst<T> {
    now: T,
    pub(super) worst: T,
    next: Option<T>,
}

impl Default for Worst<bool> {
    fn default() -> Self {
        Self::new(false)
    }
}

impl<T: Ord + Copy> Worst<T> {
    pub(super) fn new(now: T) -> Self {
        Self { now, worst: now, next: None }
    }

    pub(super) fn set(&mut self, value: T, is_next: bool) {
        if is_next {
            self.next = Some(self.next.unwrap_or(self.now).max(value));
        } else {
            self.worst = self.worst.max(value);
        }
        self.now = value;
    }

    /// Adds a value that does not last.
    pub(super) fn add(&mut self, value: T, is_next: bool) {
        let now = self.now;
        self.set(value, is_next);
        self.now = now;
    }

    /// Returns the worst value of the minute after the observed one so far.
    pub(super) fn next(&self) -> T {
        self.next.unwrap_or(self.now)
    }

    /// Returns the worst value of the minute, and begins the next one.
    pub(super) fn close(&mut self) -> T {
        let worst = self.worst;
        (self.worst, self.next) = (self.next(), None);
        worst
    }
}

/// Agent of a node.
#[derive(Debug)]
pub(super) struct NodeTrack {
    /// Number of its session.
    epoch: u64,
    /// `true` without a session, or while the agent is silent.
    pub(super) silent: Worst<bool>,
    /// `true` while the rules in force are not known.
    unreported: Worst<bool>,
    /// `true` while its last report did not list the contracts that it cannot enforce.
    pub(super) unlisted: Worst<bool>,
    /// `true` if another program had changed the rules, until the agent repaired them.
    repaired: Worst<bool>,
}

impl NodeTrack {
    /// Of a node without a session.
    pub(super) fn new(epoch: u64) -> Self {
        let [silent, unreported, unlisted] = [true; 3].map(Worst::new);
        Self { epoch, silent, unreported, unlisted, repaired: Worst::new(false) }
    }

    pub(super) fn set(&mut self, phase: Phase, state: &NodeState) {
        let is_next = phase != Phase::Observed;
        let (is_unreported, is_unlisted) = (!state.has_reported_rules(), !state.lists_problems);
        // A session may have begun and reported within one commit.
        let has_begun = std::mem::replace(&mut self.epoch, state.epoch) != state.epoch;
        let silent = (&mut self.silent, !state.is_there());
        for (known, value) in [silent, (&mut self.unreported, is_unreported), (&mut self.unlisted, is_unlisted)] {
            known.set(value, is_next);
            // Shortly after the minute: it may have been in the minute.
            known.worst |= value && phase == Phase::Early;
        }
        if has_begun {
            self.unreported.add(true, is_next);
            self.unreported.worst |= phase == Phase::Early;
        }
    }

    /// Takes the repair of a foreign change that may have been in the observed minute, and in the next one.
    pub(super) fn on_repairs(&mut self, is_observed: bool, is_next: bool) {
        if is_next {
            self.repaired.add(true, true);
        }
        self.repaired.worst |= is_observed;
    }

    /// Ends a minute. Returns the reasons for which it is unknown: for any contract, for those that end at this node, and for
    /// those of them whose rules the agent has to report.
    pub(super) fn close(&mut self) -> [Option<UnknownReason>; 3] {
        let (was_silent, was_repaired) = (self.silent.close(), self.repaired.close());
        let silent = was_silent.then_some(UnknownReason::AgentSilent);
        let reason = silent.max(was_repaired.then_some(UnknownReason::RulesChanged));
        let [unlisted, unreported] = [&mut self.unlisted, &mut self.unreported].map(Worst::close);
        let not_confirmed = |is_unknown: bool| is_unknown.then_some(UnknownReason::NotConfirmed);
        [reason, not_confirmed(unlisted), not_confirmed(unreported)]
    }
}
