//! The hosts' interfaces that send for flows, and whose turn it is there.
//!
//! Hosts pull: a segment is made when the interface can send it, so that a window that is larger than the network does
//! not pile up in the host (as Linux limits what a socket may have below it). Flows of one class take turns; of all
//! flows of a class one segment at a time is in the port.
//! Acknowledgements and packets of sources are queued at the interface as they come.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use wayleave_scenarios::Scenario;
use wayleave_stack::{FairQueues, WeightedTurns};
use wayleave_topology::NodeKind;

use crate::clock::Instant;
use crate::events::HORIZON;
use crate::fabric::{NetworkState, Step};
use crate::flows::{FlowSlot, Flows};
use crate::hosts::PairSlot;
use crate::link::Port;
use crate::packet::PacketId;

/// The interfaces of all hosts.
#[derive(Debug)]
pub(crate) struct Interfaces {
    all: Vec<Interface>,
    /// Per link that leaves a host: its interface, otherwise [`NO_INTERFACE`].
    of_link: Vec<u32>,
}

/// A link that leaves no host.
const NO_INTERFACE: u32 = u32::MAX;

/// A host's interface: who wants to send through it.
#[derive(Debug)]
pub(crate) struct Interface {
    link: u32,
    /// Per queue of its port, those that can send.
    ready: Vec<Ready>,
    /// Number of those.
    count: usize,
    /// First come, first served: the next segment may come to the port then, when the one before has left it.
    turn_at: Instant,
    /// First come, first served: `true` if an event is scheduled for the next turn.
    is_scheduled: bool,
}

/// Senders that wait in one queue.
#[derive(Debug)]
enum Ready {
    /// Flows in turn, and tunnels by their weights.
    Turns(Turns),
    /// Flows and packets of classes with weights.
    Fair(Box<FairQueues<Item>>),
}

/// Senders that wait if classes have no weights.
#[derive(Debug, Default)]
struct Turns {
    flows: VecDeque<FlowSlot>,
    tunnels: WeightedTurns<(PairSlot, u32)>,
    /// `true` if the last turn was a tunnel's: flows and tunnels alternate.
    was_tunnel: bool,
}

/// Item that waits for an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A flow, for one segment.
    Flow(FlowSlot),
    /// A pair, for one packet of its tunnel with this number of bytes.
    Tunnel(PairSlot, u32),
    /// A packet, with its first step and its bytes on the wire.
    Packet(PacketId, Step, u32),
}

impl Interfaces {
    /// Creates the interfaces of a scenario's hosts; `links` is the number of links.
    pub(crate) fn new(scenario: &Scenario, links: usize) -> Self {
        let network = &scenario.network;
        let mut of_link = vec![NO_INTERFACE; links];
        let mut all = Vec::new();
        for (id, link) in network.links() {
            if network.node(link.from).kind == NodeKind::Host {
                let classes = if scenario.hosts.discipline.has_one_queue() { 1 } else { network.queues(id).len() };
                of_link[id.index()] = all.len() as u32;
                all.push(Interface::new(id.0, classes));
            }
        }
        Self { all, of_link }
    }

    /// The interface that sends on a link; a number that none has if that leaves a switch.
    #[inline]
    pub(crate) fn of(&self, link: u32) -> u32 {
        self.of_link[link as usize]
    }

    /// Returns the interface with a number; `None` if none has it.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&Interface> {
        self.all.get(number as usize)
    }

    /// Returns the interface that sends on a link; `None` if that leaves a switch.
    pub(crate) fn on(&mut self, link: u32) -> Option<&mut Interface> {
        self.all.get_mut(self.of_link[link as usize] as usize)
    }
}

impl Index<u32> for Interfaces {
    type Output = Interface;

    #[inline]
    fn index(&self, number: u32) -> &Interface {
        &self.all[number as usize]
    }
}

impl IndexMut<u32> for Interfaces {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Interface {
        &mut self.all[number as usize]
    }
}

impl Interface {
    fn new(link: u32, classes: usize) -> Self {
        let turns = || Ready::Turns(Turns::default());
        let ready = std::iter::repeat_with(turns).take(classes.max(1)).collect();
        Self { link, ready, count: 0, turn_at: 0, is_scheduled: false }
    }

    /// Returns its number of queues.
    pub(crate) fn classes(&self) -> usize {
        self.ready.len()
    }

    /// Returns `true` if an item waits.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.count > 0
    }

    /// Returns `true` if packets wait for their turn like flows: classes have weights.
    #[inline]
    pub(crate) fn is_fair(&self) -> bool {
        matches!(self.ready[0], Ready::Fair(_))
    }

    /// Returns `true` if a new item may be sent at once: none waits, and no segment of a flow is in the port.
    #[inline]
    pub(crate) fn has_turn(&self, fabric: &NetworkState, now: Instant) -> bool {
        !self.is_wanted()
            && match fabric.port(self.link) {
                Port::Fifo => self.turn_at <= now,
                Port::Queued(port) => fabric.is_idle(self.link, port, now),
            }
    }

    /// A segment was sent: the next one may come to the port when this one has left it.
    #[inline]
    pub(crate) fn has_sent(&mut self, fabric: &NetworkState) {
        self.turn_at = fabric.free_at(self.link);
    }

    /// First come, first served: handles the event of a turn. Returns `true` if the turn begins.
    #[inline]
    pub(crate) fn begins_turn(&mut self, now: Instant) -> bool {
        self.is_scheduled = false;
        self.turn_at <= now
    }

    /// Adds suspended time.
    pub(crate) fn delay(&mut self, by: Instant) {
        self.turn_at += by;
    }

    /// Adds its state, relative to a time. Returns `false` where more than flows in turn want to send.
    pub(crate) fn add_state(&self, now: Instant, words: &mut Vec<u64>) -> bool {
        words.extend([self.turn_at.saturating_sub(now), u64::from(self.is_scheduled)]);
        self.ready.iter().all(|ready| match ready {
            Ready::Turns(turns) if turns.tunnels.is_empty() => {
                words.push(turns.flows.len() as u64);
                words.extend(turns.flows.iter().map(|&slot| u64::from(slot)));
                true
            }
            Ready::Turns(_) | Ready::Fair(_) => false,
        })
    }

    /// Puts the event of the next turn.
    pub(crate) fn schedule_turn(&mut self, fabric: &mut NetworkState, now: Instant) {
        match fabric.port(self.link) {
            Port::Fifo if !self.is_scheduled => {
                self.is_scheduled = true;
                // A port may have to send for longer than the event queue looks ahead.
                fabric.schedule_turn(self.link, self.turn_at.clamp(now, now + HORIZON / 2));
            }
            Port::Fifo => {}
            Port::Queued(_) => fabric.schedule_service(self.link, now),
        }
    }

    /// A flow waits for its turn. `class`: the one that its weight belongs to.
    #[inline]
    pub(crate) fn push(&mut self, queue: usize, slot: FlowSlot, class: impl FnOnce() -> u32) {
        match &mut self.ready[queue] {
            Ready::Turns(turns) => turns.flows.push_back(slot),
            Ready::Fair(fair) => fair.push(class(), Item::Flow(slot)),
        }
        self.count += 1;
    }

    /// Queues a pair for its turn with a packet of its tunnel, of `bytes` bytes. `class`: its own; `weight`: of the pair.
    pub(crate) fn push_tunnel(&mut self, queue: usize, (slot, bytes): (PairSlot, u32), class: u32, weight: u32) {
        let queue = queue.min(self.ready.len() - 1);
        match &mut self.ready[queue] {
            Ready::Turns(turns) => turns.tunnels.push((slot, bytes), bytes, weight),
            Ready::Fair(fair) => fair.push(class, Item::Tunnel(slot, bytes)),
        }
        self.count += 1;
    }

    /// Queues a packet for the turn of its class, unless the class would then hold more than `most` bytes. Returns
    /// `true` if it was queued.
    pub(crate) fn push_packet(&mut self, class: u32, item: Item, most: u64) -> bool {
        let Item::Packet(_, first, bytes) = item else { return false };
        let queue = usize::from(first.queue()).min(self.ready.len() - 1);
        let Ready::Fair(fair) = &mut self.ready[queue] else { return false };
        let held: u64 = fair
            .items(class)
            .map(|item| if let Item::Packet(_, _, bytes) = item { u64::from(*bytes) } else { 0 })
            .sum();
        if held + u64::from(bytes) > most {
            return false;
        }
        fair.push(class, item);
        self.count += 1;
        true
    }

    /// Takes the next item of a queue: of flows without weights the one with the least remaining, if `by_remaining`.
    pub(crate) fn pop(&mut self, queue: usize, by_remaining: bool, flows: &Flows) -> Option<Item> {
        let rank = by_remaining.then_some(|slot: FlowSlot| flows[slot].sender.remaining());
        let item = match &mut self.ready[queue] {
            Ready::Turns(turns) => turns.pop(rank)?,
            Ready::Fair(fair) => fair.pop(|item| match *item {
                Item::Flow(flow) => flows[flow].next_bytes(),
                Item::Tunnel(_, bytes) | Item::Packet(_, _, bytes) => bytes,
            })?,
        };
        self.count -= 1;
        Some(item)
    }

    /// Sets the weight of a class: from now on all classes take turns by their weights. `class_of` returns the class
    /// of an item that waits already.
    pub(crate) fn weigh(&mut self, class: u32, weight: u32, largest: u32, class_of: impl Fn(Item) -> u32) {
        for ready in &mut self.ready {
            if let Ready::Turns(turns) = ready {
                let mut fair = FairQueues::new(largest);
                while let Some(item) = turns.pop(None::<fn(FlowSlot) -> u64>) {
                    fair.push(class_of(item), item);
                }
                *ready = Ready::Fair(Box::new(fair));
            }
            if let Ready::Fair(fair) = ready {
                fair.set_weight(class, weight);
            }
        }
    }
}

impl Turns {
    /// Takes the next item: of flows with a rank, the one whose rank is least.
    fn pop(&mut self, rank: Option<impl Fn(FlowSlot) -> u64>) -> Option<Item> {
        self.was_tunnel = !self.tunnels.is_empty() && (self.flows.is_empty() || !self.was_tunnel);
        if self.was_tunnel {
            let (slot, bytes) = self.tunnels.pop()?;
            return Some(Item::Tunnel(slot, bytes));
        }
        let at = match rank {
            Some(rank) if self.flows.len() > 1 => (0..self.flows.len()).min_by_key(|&at| rank(self.flows[at]))?,
            _ => 0,
        };
        self.flows.remove(at).map(Item::Flow)
    }
}
