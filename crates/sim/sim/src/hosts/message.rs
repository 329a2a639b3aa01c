//! One message, and the messages in transit.

use wayleave_scheme_api::{BrokerId, Member};
use wayleave_schemes::brokers::BrokerLocation;
use wayleave_schemes::hosts::AnyMessage;
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::slot::{HostId, PairSlot};

/// Messages in transit.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pending: Vec<Option<Message>>,
    free: Vec<u32>,
    sent: u64,
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(super) transit: Transit,
    pub(super) to: Recipient,
    pub(super) body: AnyMessage,
}

/// Transport of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transit {
    /// As a packet from one host to another.
    Network(NodeId, NodeId),
    /// Beside the network, in this time.
    Outside(Time),
}

/// Recipient of a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Recipient {
    /// The sending end of a pair, from the receiving one.
    Sender(PairSlot, u32),
    /// The receiving end, from the sending one.
    Receiver(PairSlot, u32),
    /// A machine of a scheme, from a broker.
    Machine(HostId, u8, BrokerId),
    /// A broker.
    Broker(BrokerId, Member),
}

impl Message {
    /// Returns `true` if it stays within a machine: between the machine and its own broker.
    pub(super) fn is_local(&self) -> bool {
        let is_of_broker = matches!(self.to, Recipient::Machine(..) | Recipient::Broker(..));
        is_of_broker && matches!(self.transit, Transit::Network(from, to) if from == to)
    }

    /// Returns `true` if the scenario's faults apply: it comes from a broker or goes to one on another machine.
    pub(super) fn has_faults(&self) -> bool {
        matches!(self.to, Recipient::Machine(..) | Recipient::Broker(..)) && !self.is_local()
    }
}

impl Messages {
    pub(super) fn keep(&mut self, message: Message) -> u32 {
        if let Some(number) = self.free.pop() {
            self.pending[number as usize] = Some(message);
            return number;
        }
        self.pending.push(Some(message));
        self.pending.len() as u32 - 1
    }

    /// Stores a message that leaves as a packet. Returns its number, and a value that spreads packets over paths
    /// without random numbers.
    pub(super) fn post(&mut self, message: Message) -> (u32, u32) {
        self.sent += 1;
        let spread = (self.sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        (self.keep(message), spread)
    }

    pub(super) fn take(&mut self, number: u32) -> Option<Message> {
        let message = self.pending.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(message)
    }
}

/// Returns a packet transport if both are at hosts; otherwise the delay of the end outside.
pub(super) fn transit(from: BrokerLocation, to: BrokerLocation) -> Transit {
    let outside = Transit::Outside(from.delay() + to.delay());
    from.host().zip(to.host()).map_or(outside, |(from, to)| Transit::Network(from, to))
}
