//! Nodes whose packets each take a time of their own before they enter a queue.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use rand::rngs::ChaCha8Rng;
use wayleave_scenarios::{JitterDistribution, PacketOrder};

use super::step::Step;
use crate::clock::Instant;
use crate::events::Actor;
use crate::packet::{Kind, Packet, PacketId};
use crate::random;

/// The nodes of a run that hold packets up.
#[derive(Debug)]
pub(crate) struct Jitter {
    /// Nodes with jitter.
    stages: Vec<Stage>,
    /// Per link of the network: the number of the stage of the host that it leaves, or `None`.
    of_host_link: Vec<Option<u32>>,
    /// The actor of the first stage; links without packets, whose numbers only the event queue needs.
    first_actor: Actor,
    draw: JitterDistribution,
    order: PacketOrder,
    /// With [`Draw::Against`]: the flows of that traffic.
    against: Vec<u32>,
    rng: ChaCha8Rng,
}

/// One node.
#[derive(Debug, Default)]
struct Stage {
    /// Maximum hold time of a packet.
    most: Instant,
    held: BinaryHeap<Reverse<Held>>,
    /// Time at which the last packet that is to be delayed enters its queue.
    meets: Option<Instant>,
    /// If the order is kept: the time at which the last packet of a queue enters it.
    last: HashMap<Step, Instant>,
    count: u64,
}

/// A packet, in the order in which packets enter: of those of one instant lower queues first, so that one of their frames is
/// on the line; then the packets that are to be delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    at: Instant,
    is_last: bool,
    queue: Reverse<u8>,
    number: u64,
    id: PacketId,
    step: u32,
}

impl Jitter {
    /// Packets are held up against these flows.
    pub(super) fn attack(&mut self, flows: Vec<u32>) {
        self.against = flows;
    }

    pub(crate) fn new(
        of_host_link: Vec<Option<u32>>,
        most: Vec<Instant>,
        actor: Actor,
        how: (JitterDistribution, PacketOrder),
        seed: u64,
    ) -> Self {
        // Any purpose that no traffic has: those count from 0.
        let rng = random::generator(seed, u64::MAX);
        let stages = most.into_iter().map(|most| Stage { most, ..Stage::default() }).collect();
        let (draw, order) = how;
        Self { stages, of_host_link, first_actor: actor, draw, order, against: Vec::new(), rng }
    }

    /// The number of the stage of the host that a link leaves, if it has one.
    #[inline]
    pub(super) fn of_host_link(&self, link: u32) -> Option<u32> {
        self.of_host_link[link as usize]
    }

    /// Takes a packet that has come to a node; when it is released, and the actor that does so.
    pub(super) fn hold(
        &mut self,
        number: u32,
        step: Step,
        id: PacketId,
        packet: &Packet,
        now: Instant,
    ) -> (Instant, Actor) {
        let stage = &mut self.stages[number as usize];
        let is_delayed = packet.kind == Kind::Datagram && self.against.contains(&packet.flow);
        let mut at = now
            + match self.draw {
                JitterDistribution::Uniform => random::uniform(&mut self.rng, stage.most + 1),
                JitterDistribution::Against { .. } => stage.against(is_delayed, now),
            };
        if self.order == PacketOrder::Kept {
            let last = stage.last.entry(step).or_default();
            at = at.max(*last);
            *last = at;
        }
        stage.count += 1;
        let is_last = is_delayed && self.order == PacketOrder::Free;
        let queue = Reverse(step.queue());
        stage.held.push(Reverse(Held { at, is_last, queue, number: stage.count, id, step: step.bits() }));
        (at, self.first_actor + number)
    }

    /// The first packet of the stage whose actor this is, and the queue that it enters; `None` if it is no stage's.
    pub(super) fn release(&mut self, actor: Actor) -> Option<(Step, PacketId)> {
        let stage = self.stages.get_mut(actor.checked_sub(self.first_actor)? as usize)?;
        let Reverse(Held { id, step, .. }) = stage.held.pop()?;
        Some((Step::from_bits(step), id))
    }
}

impl Stage {
    /// Returns the hold time of a packet that harms the attacked flows most.
    fn against(&mut self, is_delayed: bool, now: Instant) -> Instant {
        if is_delayed {
            self.meets = Some(now + self.most);
        }
        match self.meets {
            // It came no later than `most` before.
            Some(meets) => meets.saturating_sub(now),
            None => self.most,
        }
    }
}
