//! A machine's sent and received traffic and its limits: the messages between a data plane and the broker of its
//! machine, for any scheme of the broker.

use wayleave_scheme_api::ClassId;
use wayleave_units::{Bytes, Rate, Time};

/// A machine's sent and received traffic until now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// Time of the report, by the machine's clock. Only differences count.
    pub at: Time,
    /// Of each service that ever sent or received; who is not listed counts as before.
    pub services: Box<[ServiceUsageReport]>,
    /// Limits in force. `None`: the broker's last ones.
    pub limits: Option<Box<[Limited]>>,
}

/// Of one service, since the machine began to count. In each direction: transmit, receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceUsageReport {
    /// The service.
    pub class: ClassId,
    /// All bytes.
    pub total: [Bytes; 2],
    /// Bytes to or from machines outside the rack, over the uplinks.
    pub uplink: [Bytes; 2],
    /// Counters of its meter on received traffic.
    pub metered: MeteredUsage,
}

impl ServiceUsageReport {
    /// Of a service that has moved nothing.
    pub const fn none(class: ClassId) -> Self {
        let metered = MeteredUsage { intervals: 0, held: 0 };
        Self { class, total: [Bytes::ZERO; 2], uplink: [Bytes::ZERO; 2], metered }
    }
}

/// Counters of a class's meter since the start.
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
