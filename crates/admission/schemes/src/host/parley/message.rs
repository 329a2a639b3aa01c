//! Messages between machines and brokers.

use wayleave_packet_format::broker::RateList;

use crate::host::eyeq::Feedback;
use crate::usage_report::UsageReport;

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
    /// Returns the payload length between machines. A report is sent to no other machine; feedback is "a custom IP
    /// packet" that holds one rate.
    pub fn encoded_len(&self) -> usize {
        match self {
            Self::Report(_) => 0,
            Self::Feedback(_) => 8,
            Self::Rates(list) => list.encoded_len(),
        }
    }
}
