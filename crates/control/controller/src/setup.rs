//! Configuration of a controller.

use std::sync::Arc;

use wayleave_ledger::Model;
use wayleave_schemes::admission::chameleon::DefaultBudgets;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::Network;
use wayleave_units::Time;

/// Configuration of a controller.
#[derive(Clone)]
pub struct ControllerConfig {
    /// The network.
    pub network: Arc<Network>,
    /// Model by which bytes and delays are counted.
    pub model: Model,
    /// Makes the scheme that decides. It has to keep a ledger of queues.
    pub scheme: SchemeFactory,
    /// Nodes whose agents enforce contracts and confirm that.
    pub enforced_by: EnforcedBy,
    /// Time-outs.
    pub timing: Timeouts,
    /// Treatment of contracts that the network cannot keep as they are in the records.
    pub unfit: UnfitPolicy,
}

/// Makes the scheme of a controller, with nothing admitted.
#[derive(Clone)]
pub struct SchemeFactory {
    make: Arc<dyn Fn(DefaultBudgets) -> Scheme + Send + Sync>,
    budgets: BudgetPolicy,
}

/// Default delay budgets of a controller: routes in a ledger are bounded by the budgets with which they were admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetPolicy {
    /// Budgets with which the ledger was created.
    Recorded {
        /// Budgets of a new ledger.
        new: DefaultBudgets,
    },
    /// Budgets that were given, for an existing ledger too.
    Stated(DefaultBudgets),
}

impl SchemeFactory {
    /// With delay budgets that depend on the ledger.
    pub fn new(budgets: BudgetPolicy, make: impl Fn(DefaultBudgets) -> Scheme + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), budgets }
    }

    /// With delay budgets that do not depend on the ledger.
    pub fn fixed(make: impl Fn() -> Scheme + Send + Sync + 'static) -> Self {
        Self::new(BudgetPolicy::Stated(DefaultBudgets::ByLink), move |_| make())
    }

    /// Returns the budgets for a new ledger, or for one with these budgets.
    pub(crate) fn budgets(&self, recorded: Option<DefaultBudgets>) -> DefaultBudgets {
        match self.budgets {
            BudgetPolicy::Stated(stated) => stated,
            BudgetPolicy::Recorded { new } => recorded.unwrap_or(new),
        }
    }

    pub(crate) fn make(&self, budgets: DefaultBudgets) -> Scheme {
        (self.make)(budgets)
    }

    /// Returns the scheme of a new ledger.
    pub fn for_new_ledger(&self) -> Scheme {
        self.make(self.budgets(None))
    }
}

/// Treatment of contracts that the network cannot keep as they are in the records: it is another one than when they were admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnfitPolicy {
    /// No controller is made, so that a wrong file does no harm.
    #[default]
    Refuse,
    /// They are decided again, by priority; those without a place are degraded.
    DecideAgain,
}

/// Nodes whose agents enforce contracts and confirm that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EnforcedBy {
    /// No agents: contracts are admitted and not enforced, and every instruction to a sender counts as executed at
    /// once.
    #[default]
    Nobody,
    /// Hosts; switches are set up by other means.
    Hosts,
    /// Hosts and switches.
    HostsAndSwitches,
}

impl EnforcedBy {
    /// As it appears in interfaces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "none",
            Self::Hosts => "hosts",
            Self::HostsAndSwitches => "hosts-and-switches",
        }
    }
}

/// Time-outs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Time within which a sender has to confirm; afterwards its contract counts as degraded.
    pub confirm_within: Time,
    /// Interval at which degraded contracts without a reservation are retried.
    pub retry_every: Time,
    /// Time after the last late packet at which a contract counts as kept again.
    pub heal_after: Time,
    /// Time without a heartbeat after which the agent of a node counts as silent.
    pub silent_after: Time,
    /// Advance of the clock over the steady one at which it is distrusted.
    pub clock_jump: Time,
    /// Time for which a distrusted clock has to run evenly before contracts start and end by it; zero if every clock
    /// is trusted.
    pub clock_hold_down: Time,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            confirm_within: Time::from_millis(10_000),
            retry_every: Time::from_millis(10_000),
            heal_after: Time::from_millis(60_000),
            // Agents send a heartbeat every second.
            silent_after: Time::from_millis(5_000),
            // NTP corrects clocks in steps of less than a second; the clock of a suspended machine lags by the time
            // of its suspension.
            clock_jump: Time::from_millis(60_000),
            // Long enough for an operator to be notified and to check the clock.
            clock_hold_down: Time::from_millis(3_600_000),
        }
    }
}
