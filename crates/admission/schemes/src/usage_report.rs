//! What a machine has sent and received, and what limits it: what a data plane tells the broker of its machine, and hears from it,
//! whichever scheme the broker follows.

use wayleave_scheme_api::ClassId;
use wayleave_units::{Bytes, Rate, Time};

/// What a machine has sent and received until now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// When, by the machine's clock. Only differences count.
    pub at: Time,
    /// Of each service that ever sent or received; who is not listed counts as before.
    pub services: Box<[Usage]>,
    /// What limits are in force. `None`: those that the broker said last.
    pub limits: Option<Box<[Limited]>>,
}

/// Of one service, since the machine began to count. In each direction: transmit, receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The service.
    pub class: ClassId,
    /// All of it.
    pub total: [Bytes; 2],
    /// Of it, to or from machines outside the rack: what crosses the uplinks.
    pub uplink: [Bytes; 2],
    /// What its meter saw of what it received.
    pub metered: MeteredUsage,
}

impl Usage {
    /// Of a service that has moved nothing.
    pub const fn none(class: ClassId) -> Self {
        let metered = MeteredUsage { intervals: 0, held: 0 };
        Self { class, total: [Bytes::ZERO; 2], uplink: [Bytes::ZERO; 2], metered }
    }
}

/// What a class's meter has seen since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeteredUsage {
    /// Intervals in which something arrived.
    pub intervals: u64,
    /// Of them, those in which each sender was held below what the class may receive. For EyeQ: in which R was less than 90 % of C. R
    /// grows to C wherever senders want less than that, so who is held all the time wants more than it gets: C is filled, or marks of a
    /// full network hold R down.
    pub held: u64,
}

/// A service with a limit. In each direction: transmit, receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The service.
    pub class: ClassId,
    /// On all that it sends or receives.
    pub limit: [Option<Rate>; 2],
}
