//! Messages travel as packets, in the queue that the scenario gives them, and may be lost there.

use wayleave_roles::{BrokerId, BrokerInput, HostInput, Member, Origin, Peer};
use wayleave_schemes::brokers::BrokerLocation;
use wayleave_schemes::edges::AnyMessage;
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::{EdgeId, Edges, NO_PAIR, PairSlot, Wake};
use crate::clock::{self, Instant};
use crate::engine::Engine;
use crate::fabric::{DropCause, Dropped, Step};
use crate::packet::{Kind, Packet};
use crate::random;

/// Messages under way.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pending: Vec<Option<Message>>,
    free: Vec<u32>,
    sent: u64,
}

/// One message.
#[derive(Clone, Debug)]
struct Message {
    way: Transit,
    to: Recipient,
    body: AnyMessage,
}

/// How a message travels.
#[derive(Clone, Copy, Debug)]
enum Transit {
    /// As a packet from one host to another.
    Network(NodeId, NodeId),
    /// Beside the network, in this time.
    Outside(Time),
}

/// Whom a message is for.
#[derive(Clone, Copy, Debug)]
enum Recipient {
    /// The sending end of a pair, from the receiving one.
    Sender(PairSlot, u32),
    /// The receiving end, from the sending one.
    Receiver(PairSlot, u32),
    /// A machine of a scheme, from a broker.
    Machine(EdgeId, u8, BrokerId),
    /// A broker.
    Broker(BrokerId, Member),
}

impl Engine {
    /// A machine writes to somebody.
    pub(super) fn send_message(&mut self, edge: EdgeId, to: Peer, message: AnyMessage, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let host = &edges.hosts[edge as usize];
        let slot_of = |list: &[PairSlot], at: usize| list.get(at).copied().filter(|&slot| slot != NO_PAIR);
        let (slot, is_back) = match to {
            Peer::Sender(incoming) => (slot_of(&host.incoming, incoming.index()), true),
            Peer::Receiver(outgoing) => (slot_of(&host.outgoing, outgoing.index()), false),
            Peer::Broker(broker) => {
                self.send_to_broker(Member::Host(host.node), broker, message, now);
                return;
            }
        };
        // The pair is being forgotten.
        let Some(slot) = slot else { return };
        let pair = &edges.pairs[slot as usize];
        let way = Transit::Network(host.node, if is_back { pair.key.0 } else { pair.key.1 });
        let to = if is_back { Recipient::Sender(slot, pair.epoch) } else { Recipient::Receiver(slot, pair.epoch) };
        self.post(Message { way, to, body: message }, now);
    }

    /// Somebody writes to a broker.
    pub(super) fn send_to_broker(&mut self, from: Member, to: BrokerId, message: AnyMessage, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let Some(at) = edges.brokers.location(to) else { return };
        let sender = match from {
            Member::Host(host) => Some(BrokerLocation::Host(host)),
            Member::Broker(broker) => edges.brokers.location(broker),
        };
        let Some(sender) = sender else { return };
        let way = way(sender, at);
        self.hand_over(Message { way, to: Recipient::Broker(to, from), body: message }, now);
    }

    /// A broker writes to a machine of its scheme.
    pub(super) fn send_to_machine(&mut self, from: BrokerId, to: EdgeId, message: AnyMessage, now: Instant) {
        let Some(edges) = self.edges.as_deref() else { return };
        let (Some(sender), Some(scheme)) = (edges.brokers.location(from), edges.brokers.scheme(from)) else { return };
        let way = way(sender, BrokerLocation::Host(edges.hosts[to as usize].node));
        self.hand_over(Message { way, to: Recipient::Machine(to, scheme, from), body: message }, now);
    }

    /// A message of a broker is on its way: at once within a machine, otherwise with the faults of the scenario.
    fn hand_over(&mut self, message: Message, now: Instant) {
        if let Transit::Network(from, to) = message.way
            && from == to
        {
            self.deliver_message(message, now);
            return;
        }
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let faults = edges.sharing.faults;
        let copies = if random::unit(&mut edges.rng) < faults.duplicate { 2 } else { 1 };
        for _ in 0..copies {
            let Some(edges) = self.edges.as_deref_mut() else { return };
            let is_lost = random::unit(&mut edges.rng) < faults.loss;
            let mut delay = (random::unit(&mut edges.rng) * clock::from_time(faults.delay) as f64) as Instant;
            if let Transit::Outside(time) = message.way {
                delay += clock::from_time(time);
            }
            if is_lost {
                edges.account.message(message.body.wire_bytes());
                edges.account.message_lost();
            } else if let (Transit::Network(..), 0) = (message.way, delay) {
                self.post(message.clone(), now);
            } else {
                let number = edges.messages.keep(message.clone());
                self.arm(now.saturating_add(delay), Wake::Message(number));
            }
        }
    }

    /// A message that was held back goes on.
    pub(super) fn send_held(&mut self, number: u32, now: Instant) {
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let Some(message) = edges.messages.take(number) else { return };
        match message.way {
            Transit::Network(..) => self.post(message, now),
            Transit::Outside(_) => {
                edges.account.message(message.body.wire_bytes());
                self.deliver_message(message, now);
                self.carry_out(now);
            }
        }
    }

    /// A message leaves its host as a packet.
    fn post(&mut self, message: Message, now: Instant) {
        let Transit::Network(from, to) = message.way else { return };
        let attached = |node: NodeId| self.spec.attachments[node.index()];
        let (Some(source), Some(sink)) = (attached(from), attached(to)) else { return };
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let bytes = message.body.wire_bytes();
        let queue = edges.queue;
        edges.account.message(bytes);
        edges.messages.sent += 1;
        // Spread over paths, without random numbers.
        let spread = (edges.messages.sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let number = edges.messages.keep(message);
        let paths = self.router.paths(source.switch, sink.switch, queue, &mut self.fabric.routes);
        let route = self.router.start(paths, spread % self.router.count(paths).max(1));
        let packet = Packet {
            sent: now,
            due: now,
            flow: number,
            size: bytes,
            route: route.unwrap_or(u32::MAX),
            last_hop: Step::new(sink.down.0, queue).bits(),
            hop: u8::MAX,
            kind: Kind::Message,
            ..Packet::default()
        };
        let id = self.fabric.arena.insert(packet);
        if route.is_none() {
            self.dropped(Dropped { id, cause: DropCause::NoRoute });
        } else if let Some(dropped) = self.fabric.enter(Step::new(source.up.0, queue), id, now) {
            self.dropped(dropped);
        }
    }

    /// A message arrives.
    #[cold]
    pub(crate) fn message_arrived(&mut self, number: u32, now: Instant) {
        if let Some(message) = self.edges.as_deref_mut().and_then(|edges| edges.messages.take(number)) {
            self.deliver_message(message, now);
        }
    }

    /// Whom a message is for hears it.
    fn deliver_message(&mut self, message: Message, now: Instant) {
        let Message { to, body: message, .. } = message;
        let Some(edges) = self.edges.as_deref() else { return };
        match to {
            Recipient::Sender(slot, epoch) => {
                let Some(pair) = edges.open_pair(slot, epoch) else { return };
                let from = Origin::Receiver(pair.outgoing);
                self.tell(pair.sender, pair.scheme, HostInput::Message { from, message }, now);
            }
            Recipient::Receiver(slot, epoch) => {
                let Some(pair) = edges.open_pair(slot, epoch) else { return };
                let (edge, scheme) = (pair.receiver, pair.scheme);
                let Some(incoming) = self.incoming(slot, now) else { return };
                self.tell(edge, scheme, HostInput::Message { from: Origin::Sender(incoming), message }, now);
            }
            Recipient::Machine(edge, scheme, from) => {
                self.tell(edge, scheme, HostInput::Message { from: Origin::Broker(from), message }, now);
            }
            Recipient::Broker(broker, from) => self.tell_broker(broker, BrokerInput::Message { from, message }, now),
        }
    }

    /// A message is lost.
    pub(crate) fn message_lost(&mut self, number: u32) {
        if let Some(edges) = self.edges.as_deref_mut() {
            edges.messages.take(number);
            edges.account.message_lost();
        }
    }
}

impl Edges {
    /// A pair, unless it was forgotten meanwhile.
    pub(super) fn open_pair(&self, slot: PairSlot, epoch: u32) -> Option<&super::pairs::Pair> {
        self.pairs.get(slot as usize).filter(|pair| pair.epoch == epoch)
    }
}

impl Messages {
    fn keep(&mut self, message: Message) -> u32 {
        if let Some(number) = self.free.pop() {
            self.pending[number as usize] = Some(message);
            return number;
        }
        self.pending.push(Some(message));
        self.pending.len() as u32 - 1
    }

    fn take(&mut self, number: u32) -> Option<Message> {
        let message = self.pending.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(message)
    }
}

/// As a packet if both are at hosts; otherwise it takes the time of whoever is outside.
fn way(from: BrokerLocation, to: BrokerLocation) -> Transit {
    let outside = Transit::Outside(from.delay() + to.delay());
    from.host().zip(to.host()).map_or(outside, |(from, to)| Transit::Network(from, to))
}
