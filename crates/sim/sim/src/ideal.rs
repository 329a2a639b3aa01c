//! Lower bounds of the time that messages need that share ports when nothing else is in the network.
//!
//! A port sends one packet at a time. The bound is that of one machine (Carlier, The one-machine sequencing problem,
//! EJOR 1982, section 2): the earliest time at which a message can reach the port, then all messages, then the
//! minimum time after one of them.

use std::collections::HashMap;

use crate::clock::Instant;

/// Use of a port by one message alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortUse {
    /// Number of the link behind the port.
    pub(crate) port: u32,
    /// Time from the message's beginning until one of its packets can be at the port.
    pub(crate) before: Instant,
    /// Time that the port needs for all packets of the message.
    pub(crate) busy: Instant,
    /// Time from a packet's last bit at the port until the message may be over.
    pub(crate) after: Instant,
}

/// Load of one port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortLoad {
    before: Instant,
    busy: Instant,
    after: Instant,
}

impl PortLoad {
    /// No message.
    pub(crate) const NONE: Self = Self { before: Instant::MAX, busy: 0, after: Instant::MAX };

    /// Adds a message that can begin at `earliest`.
    pub(crate) fn add(&mut self, earliest: Instant, message: PortUse) {
        self.before = self.before.min(earliest.saturating_add(message.before));
        self.busy = self.busy.saturating_add(message.busy);
        self.after = self.after.min(message.after);
    }

    /// Returns when the last of its messages is over at the earliest; 0 if it has none.
    pub(crate) fn longest(self) -> Instant {
        if self.before == Instant::MAX {
            return 0;
        }
        self.before.saturating_add(self.busy).saturating_add(self.after)
    }
}

/// Loads of all ports that some messages use.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortLoads(HashMap<u32, PortLoad>);

impl PortLoads {
    /// Adds a message that can begin at `earliest`.
    pub(crate) fn add(&mut self, earliest: Instant, message: PortUse) {
        self.0.entry(message.port).or_insert(PortLoad::NONE).add(earliest, message);
    }

    /// Returns when the last message is over at the earliest; 0 if there are none.
    pub(crate) fn longest(&self) -> Instant {
        self.0.values().map(|load| load.longest()).max().unwrap_or(0)
    }

    /// Forgets all messages.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches: messages at one port that count as if they were sent at the same time, and messages at two ports that wait for one another.
    #[test]
    fn messages_share_their_port_and_no_other() {
        let one = PortUse { port: 0, before: 1, busy: 100, after: 10 };
        let mut loads = PortLoads::default();
        assert_eq!(loads.longest(), 0);
        loads.add(5, one);
        assert_eq!(loads.longest(), 116);
        loads.add(3, PortUse { after: 7, ..one });
        assert_eq!(loads.longest(), 4 + 200 + 7);
        loads.add(0, PortUse { port: 1, busy: 150, ..one });
        assert_eq!(loads.longest(), 211);
        loads.clear();
        assert_eq!(loads.longest(), 0);
    }
}
