//! Messages travel as packets, in the queue that the scenario gives them, and may be lost there.

use wayleave_scheme_api::{BrokerId, BrokerInput, HostInput, Member, MessageOrigin, Peer};
use wayleave_schemes::brokers::BrokerLocation;
use wayleave_schemes::hosts::AnyMessage;

use super::message::{Message, Recipient, Transit, transit};
use super::slot::{HostId, NO_HOST, NO_PAIR, PairSlot};
use super::state::Hosts;
use super::timers::HostTimer;
use crate::clock::{self, Instant};
use crate::fabric::{DropCause, Dropped, NetworkState};
use crate::packet::{Kind, Packet};
use crate::random;

impl Hosts {
    /// Returns a machine's message to a peer; `None` if there is no such peer.
    pub(crate) fn machine_message(&self, host: HostId, to: Peer, body: AnyMessage) -> Option<Message> {
        let host = &self.hosts[host as usize];
        let slot_of = |list: &[PairSlot], at: usize| list.get(at).copied().filter(|&slot| slot != NO_PAIR);
        // The pair may be being forgotten.
        let (slot, is_back) = match to {
            Peer::Sender(incoming) => (slot_of(&host.incoming, incoming.index())?, true),
            Peer::Receiver(outgoing) => (slot_of(&host.outgoing, outgoing.index())?, false),
            Peer::Broker(broker) => return self.to_broker(Member::Host(host.node), broker, body),
        };
        let pair = &self.pairs[slot as usize];
        let transit = Transit::Network(host.node, if is_back { pair.key.0 } else { pair.key.1 });
        let to = if is_back { Recipient::Sender(slot, pair.epoch) } else { Recipient::Receiver(slot, pair.epoch) };
        Some(Message { transit, to, body })
    }

    /// Returns a broker's message to a member; `None` if there is no such member.
    pub(crate) fn broker_message(&self, from: BrokerId, to: Member, body: AnyMessage) -> Option<Message> {
        let node = match to {
            Member::Broker(broker) => return self.to_broker(Member::Broker(from), broker, body),
            Member::Host(node) => node,
        };
        let host = self.of_node.get(node.index()).copied().filter(|&host| host != NO_HOST)?;
        let (sender, scheme) = (self.brokers.location(from)?, self.brokers.scheme(from)?);
        let transit = transit(sender, BrokerLocation::Host(self.hosts[host as usize].node));
        Some(Message { transit, to: Recipient::Machine(host, scheme, from), body })
    }

    fn to_broker(&self, from: Member, to: BrokerId, body: AnyMessage) -> Option<Message> {
        let sender = match from {
            Member::Host(host) => BrokerLocation::Host(host),
            Member::Broker(broker) => self.brokers.location(broker)?,
        };
        let transit = transit(sender, self.brokers.location(to)?);
        Some(Message { transit, to: Recipient::Broker(to, from), body })
    }

    /// Returns the number of times that a message is sent: broker messages have the faults of the scenario.
    /// [`Hosts::send`] sends each.
    pub(crate) fn copies_of(&mut self, message: &Message) -> u32 {
        if !message.has_faults() {
            return 1;
        }
        if random::unit(&mut self.rng) < self.sharing.faults.duplicate { 2 } else { 1 }
    }

    /// Sends a message: as a packet, later, or not at all; at once within a machine. Returns a packet dropped for it.
    pub(crate) fn send(&mut self, message: Message, fabric: &mut NetworkState, now: Instant) -> Option<Dropped> {
        if !message.has_faults() {
            if message.is_local() {
                self.deliver_message(message, fabric, now);
                return None;
            }
            return self.post(message, fabric, now);
        }
        let faults = self.sharing.faults;
        let is_lost = random::unit(&mut self.rng) < faults.loss;
        let mut delay = (random::unit(&mut self.rng) * clock::from_time(faults.delay) as f64) as Instant;
        if let Transit::Outside(time) = message.transit {
            delay += clock::from_time(time);
        }
        if is_lost {
            self.account.message(message.body.wire_bytes());
            self.account.message_lost();
        } else if let (Transit::Network(..), 0) = (message.transit, delay) {
            return self.post(message, fabric, now);
        } else {
            let number = self.messages.keep(message);
            self.timer_queue.arm(now.saturating_add(delay), HostTimer::Message(number), fabric, now);
        }
        None
    }

    /// Sends a delayed message. Returns a packet dropped for it, and `true` if the message was delivered.
    pub(crate) fn send_held(
        &mut self,
        number: u32,
        fabric: &mut NetworkState,
        now: Instant,
    ) -> (Option<Dropped>, bool) {
        let Some(message) = self.messages.take(number) else { return (None, false) };
        match message.transit {
            Transit::Network(..) => (self.post(message, fabric, now), false),
            Transit::Outside(_) => {
                self.account.message(message.body.wire_bytes());
                self.deliver_message(message, fabric, now);
                (None, true)
            }
        }
    }

    /// Sends a message from its host as a packet. Returns a packet dropped for it.
    pub(super) fn post(&mut self, message: Message, fabric: &mut NetworkState, now: Instant) -> Option<Dropped> {
        let Transit::Network(from, to) = message.transit else { return None };
        let direction = fabric.direction(from, to, self.queue)?;
        let bytes = message.body.wire_bytes();
        self.account.message(bytes);
        let (number, spread) = self.messages.post(message);
        let path = spread % fabric.path_count(direction.paths).max(1);
        let route = fabric.start(direction.paths, path);
        let (first, last_hop) = fabric.ends(&direction, path);
        let packet = Packet {
            sent: now,
            due: now,
            flow: number,
            size: bytes,
            route: route.unwrap_or(u32::MAX),
            last_hop: last_hop.bits(),
            hop: u8::MAX,
            kind: Kind::Message,
            ..Packet::default()
        };
        let id = fabric.insert(packet);
        match route {
            None => Some(Dropped { id, cause: DropCause::NoRoute }),
            Some(_) => fabric.enter(first, id, now),
        }
    }

    /// A message arrives.
    #[cold]
    pub(crate) fn message_arrived(&mut self, number: u32, fabric: &mut NetworkState, now: Instant) {
        if let Some(message) = self.messages.take(number) {
            self.deliver_message(message, fabric, now);
        }
    }

    /// Delivers a message to its recipient.
    fn deliver_message(&mut self, message: Message, fabric: &mut NetworkState, now: Instant) {
        let Message { to, body: message, .. } = message;
        match to {
            Recipient::Sender(slot, epoch) => {
                let Some(pair) = self.open(slot, epoch) else { return };
                let (host, scheme, from) = (pair.sender, pair.scheme, MessageOrigin::Receiver(pair.outgoing));
                self.notify(host, scheme, HostInput::Message { from, message }, now);
            }
            Recipient::Receiver(slot, epoch) => {
                let Some(pair) = self.open(slot, epoch) else { return };
                let (host, scheme) = (pair.receiver, pair.scheme);
                let incoming = self.incoming(slot, fabric, now);
                self.notify(host, scheme, HostInput::Message { from: MessageOrigin::Sender(incoming), message }, now);
            }
            Recipient::Machine(host, scheme, from) => {
                self.notify(host, scheme, HostInput::Message { from: MessageOrigin::Broker(from), message }, now);
            }
            Recipient::Broker(broker, from) => self.notify_broker(broker, BrokerInput::Message { from, message }, now),
        }
    }

    /// A message is lost.
    pub(crate) fn message_lost(&mut self, number: u32) {
        self.messages.take(number);
        self.account.message_lost();
    }
}
