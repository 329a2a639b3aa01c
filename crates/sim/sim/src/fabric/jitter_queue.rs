//! Packets are held up at nodes with jitter, and released.

use super::{Dropped, NetworkState, Step};
use crate::clock::Instant;
use crate::events::Actor;
use crate::packet::PacketId;

impl NetworkState {
    /// A packet has come to a node with jitter.
    #[cold]
    pub(super) fn hold(&mut self, stage: u32, step: Step, id: PacketId, now: Instant) {
        let Some(jitter) = &mut self.jitter else {
            unreachable!("only a run with jitter has links that lead to a stage")
        };
        let (at, actor) = jitter.hold(stage, step, id, self.arena.get(id), now);
        self.events.put(at, actor);
    }

    /// A packet is released by a host.
    #[inline]
    pub(crate) fn depart(&mut self, first: Step, id: PacketId, now: Instant) -> Option<Dropped> {
        let stage = self.jitter.as_ref().and_then(|jitter| jitter.of_host_link(first.link()));
        match stage {
            None => self.enter(first, id, now),
            Some(stage) => {
                self.hold(stage, first, id, now);
                None
            }
        }
    }

    /// The event of a link without packets: it belongs to a stage, the first of whose packets enters its queue.
    #[cold]
    pub(crate) fn release(&mut self, actor: Actor, now: Instant) -> Option<Dropped> {
        let released = self.jitter.as_mut().and_then(|jitter| jitter.release(actor));
        let (step, id) = released?;
        self.enter(step, id, now)
    }
}
