//! What machines and brokers write to one another.

use wayleave_roles::ClassId;
use wayleave_units::{Bytes, Rate, Time};
use wayleave_wire::broker::RateList;

use crate::eyeq::{Feedback, Metered};

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// From a receiver to a sender (3.2.1).
    Feedback(Feedback),
    /// From a machine to its own rack broker, which runs on the same machine.
    Report(UsageReport),
    /// Between brokers, and from a rack broker to its machine.
    Rates(RateList),
}

impl Message {
    /// Payload on the way from one machine to another. A report goes to no other machine; feedback is "a custom IP packet"
    /// that holds one rate.
    pub fn encoded_len(&self) -> usize {
        match self {
            Self::Report(_) => 0,
            Self::Feedback(_) => 8,
            Self::Rates(list) => list.encoded_len(),
        }
    }
}

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
    pub metered: Metered,
}

impl Usage {
    /// Of a service that has moved nothing.
    pub const fn none(class: ClassId) -> Self {
        let metered = Metered { intervals: 0, held: 0 };
        Self { class, total: [Bytes::ZERO; 2], uplink: [Bytes::ZERO; 2], metered }
    }
}

/// A service with a limit. In each direction: transmit, receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The service.
    pub class: ClassId,
    /// On all that it sends or receives.
    pub limit: [Option<Rate>; 2],
}
