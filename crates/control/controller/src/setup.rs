//! What a controller is made of.

use std::sync::Arc;

use wayleave_ledger::Model;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::Network;
use wayleave_units::Time;

/// What a controller is made of.
#[derive(Clone)]
pub struct Setup {
    /// The network.
    pub network: Arc<Network>,
    /// How bytes and delays are counted.
    pub model: Model,
    /// Makes the scheme that decides, with nothing admitted. It has to keep a ledger of queues.
    pub scheme: Arc<dyn Fn() -> Scheme + Send + Sync>,
    /// Nodes whose agents enforce contracts and confirm that.
    pub enforced_by: EnforcedBy,
    /// Time-outs.
    pub timing: Timing,
    /// Treatment of contracts that the network cannot keep as they are in the records.
    pub unfit: UnfitPolicy,
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
    /// None: contracts are admitted and not enforced, and what senders should do counts as done at once.
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
pub struct Timing {
    /// How long a sender may take to confirm before its contract counts as degraded.
    pub confirm_within: Time,
    /// How often degraded contracts without a reservation are tried again.
    pub retry_every: Time,
    /// How long after the last late packet a contract counts as kept again.
    pub heal_after: Time,
    /// How long the agent of a node may say nothing before it counts as silent.
    pub silent_after: Time,
    /// A clock that goes forward by so much more than the steady one is doubted.
    pub clock_jump: Time,
    /// How long it has to run on evenly before contracts start and end by it; zero if every clock is believed.
    pub clock_doubt: Time,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            confirm_within: Time::from_millis(10_000),
            retry_every: Time::from_millis(10_000),
            heal_after: Time::from_millis(60_000),
            // Agents say every second that they are there.
            silent_after: Time::from_millis(5_000),
            // Clocks that are kept by NTP are put right in steps of less than a second; machines that were stopped for a while are behind by
            // that.
            clock_jump: Time::from_millis(60_000),
            // Long enough for somebody to be told and to look.
            clock_doubt: Time::from_millis(3_600_000),
        }
    }
}
