//! Messages travel as packets, in the queue that the scenario gives them, and may be lost there.

use wayleave_policy::{HostInput, Origin, Peer};
use wayleave_schemes::edges::AnyMessage;
use wayleave_topology::NodeId;

use super::{EdgeId, NO_EDGE, NO_PAIR, PairSlot};
use crate::clock::Instant;
use crate::engine::Engine;
use crate::fabric::Step;
use crate::packet::{Flags, Kind, Packet};

/// Messages on their way.
#[derive(Debug, Default)]
pub(super) struct Mail {
    letters: Vec<Option<Letter>>,
    free: Vec<u32>,
    sent: u64,
}

/// One message.
#[derive(Clone, Debug)]
struct Letter {
    to: Address,
    message: AnyMessage,
}

/// Whom it is for.
#[derive(Clone, Copy, Debug)]
enum Address {
    /// The sending end of a pair, from the receiving one.
    Sender(PairSlot, u32),
    /// The receiving end, from the sending one.
    Receiver(PairSlot, u32),
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
            Peer::Broker(_) => {
                self.unsupported.get_or_insert("a message to a broker");
                return;
            }
        };
        // The pair is being forgotten.
        let Some(slot) = slot else { return };
        let pair = &edges.pairs[slot as usize];
        let (from, node) = (host.node, if is_back { pair.key.0 } else { pair.key.1 });
        let to = if is_back { Address::Sender(slot, pair.epoch) } else { Address::Receiver(slot, pair.epoch) };
        self.post(from, node, Letter { to, message }, now);
    }

    /// A message leaves its host as a packet.
    fn post(&mut self, from: NodeId, to: NodeId, letter: Letter, now: Instant) {
        let attached = |node: NodeId| self.spec.attachments[node.index()];
        let (Some(source), Some(sink)) = (attached(from), attached(to)) else { return };
        let Some(edges) = self.edges.as_deref_mut() else { return };
        let bytes = letter.message.wire_bytes();
        let queue = edges.sharing.queue;
        edges.account.message(bytes);
        let mail = &mut edges.mail;
        mail.sent += 1;
        // Spread over paths, without random numbers.
        let spread = (mail.sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        let number = match mail.free.pop() {
            Some(number) => {
                mail.letters[number as usize] = Some(letter);
                number
            }
            None => {
                mail.letters.push(Some(letter));
                mail.letters.len() as u32 - 1
            }
        };
        let paths = self.router.paths(source.switch, sink.switch, queue, &mut self.fabric.routes);
        let count = self.router.count(paths);
        let route = self.router.start(paths, spread % count.max(1));
        let packet = Packet {
            sent: now,
            due: now,
            flow: number,
            size: bytes,
            route: route.unwrap_or(u32::MAX),
            last_hop: Step::new(sink.down.0, queue).bits(),
            hop: u8::MAX,
            kind: Kind::Message,
            flags: Flags::default(),
            ..Packet::default()
        };
        let id = self.fabric.arena.insert(packet);
        if route.is_none() {
            self.dropped(id);
        } else if let Some(dropped) = self.fabric.enter(Step::new(source.up.0, queue), id, now) {
            self.dropped(dropped);
        }
    }

    /// A message arrives.
    #[cold]
    pub(crate) fn message_arrived(&mut self, number: u32, now: Instant) {
        let Some(letter) = self.open_letter(number) else { return };
        let Some(edges) = self.edges.as_deref() else { return };
        let (Address::Sender(slot, epoch) | Address::Receiver(slot, epoch)) = letter.to;
        // The pair was forgotten meanwhile.
        let Some(pair) = edges.pairs.get(slot as usize).filter(|pair| pair.epoch == epoch) else { return };
        let (edge, from) = match letter.to {
            Address::Sender(..) => (pair.sender, Origin::Receiver(pair.outgoing)),
            Address::Receiver(..) => {
                let edge = pair.receiver;
                let Some(incoming) = self.incoming(slot, now) else { return };
                (edge, Origin::Sender(incoming))
            }
        };
        if edge != NO_EDGE {
            self.tell(edge, HostInput::Message { from, message: letter.message }, now);
        }
    }

    /// A message is lost.
    pub(crate) fn message_lost(&mut self, number: u32) {
        self.open_letter(number);
        if let Some(edges) = self.edges.as_deref_mut() {
            edges.account.message_lost();
        }
    }

    fn open_letter(&mut self, number: u32) -> Option<Letter> {
        let mail = &mut self.edges.as_deref_mut()?.mail;
        let letter = mail.letters.get_mut(number as usize)?.take()?;
        mail.free.push(number);
        Some(letter)
    }
}
