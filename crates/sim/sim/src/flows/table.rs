//! All flows of a run.

use std::ops::{Index, IndexMut, Range};

use wayleave_scenarios::{Routing, Scenario};
use wayleave_schemes::transports::AnyPath;

use super::flow::{Flow, FlowSlot, FlowState, OWN_PATH};
use super::purpose::Purpose;
use crate::app_source::Supply;
use crate::clock::{self, Instant};
use crate::events::{Actor, MAX_ACTORS};
use crate::fabric::{Direction, NetworkState};
use crate::hosts::{NO_PAIR, PairSlot};
use crate::packet::{Kind, PacketId};
use crate::transport::{NEVER, Receiver, Sender};

/// All flows.
#[derive(Debug)]
pub(crate) struct Flows {
    all: Vec<Flow>,
    /// Slots of flows that have ended.
    vacant: Vec<FlowSlot>,
    /// Of the first place; every place has two actors.
    first_actor: Actor,
    /// Segments that a reordering buffer hands up; kept for its memory.
    in_order: Vec<PacketId>,
    routing: Routing,
    seed: u64,
    /// `true` if segments collect telemetry.
    telemetry: bool,
}

/// Initial values of a flow.
#[derive(Debug)]
pub(crate) struct Start {
    /// Number of the flow in the run; its random numbers follow from it.
    pub(crate) number: u64,
    pub(crate) sender: Sender,
    pub(crate) supply: Option<Box<Supply>>,
    pub(crate) forward: Direction,
    pub(crate) reverse: Direction,
    /// Interface that sends for it, with its number of queues.
    pub(crate) interface: (u32, usize),
    pub(crate) has_several_links: bool,
    pub(crate) stat: u32,
    pub(crate) is_ecn_capable: bool,
    pub(crate) is_tunnelled: bool,
    pub(crate) purpose: Purpose,
    pub(crate) pair: PairSlot,
}

impl Index<FlowSlot> for Flows {
    type Output = Flow;

    #[inline]
    fn index(&self, slot: FlowSlot) -> &Flow {
        &self.all[slot as usize]
    }
}

impl IndexMut<FlowSlot> for Flows {
    #[inline]
    fn index_mut(&mut self, slot: FlowSlot) -> &mut Flow {
        &mut self.all[slot as usize]
    }
}

impl Flows {
    /// None yet; their actors have the numbers from `first_actor` on.
    pub(crate) fn new(scenario: &Scenario, seed: u64, first_actor: Actor) -> Self {
        Self {
            all: Vec::new(),
            vacant: Vec::new(),
            first_actor,
            in_order: Vec::new(),
            routing: scenario.routing.clone(),
            seed,
            telemetry: scenario.switches.telemetry || scenario.routing.reads_telemetry(),
        }
    }

    /// Returns `true` if the event queue has no number for another one.
    pub(crate) fn are_full(&self) -> bool {
        self.vacant.is_empty() && self.actor(self.all.len() as FlowSlot) as usize + 1 >= MAX_ACTORS
    }

    /// Returns the path scheme of a flow; a trivial one if its pair chooses.
    fn path(&self, number: u64, pair: PairSlot) -> AnyPath {
        let is_pairs = pair != NO_PAIR && self.routing.knows_a_pair();
        let routing = if is_pairs { &Routing::ecmp() } else { &self.routing };
        // Every flow has its own random numbers, so that none changes another's.
        routing.path(self.seed.rotate_left(32) ^ number)
    }

    /// A flow begins.
    pub(crate) fn open(&mut self, start: Start, fabric: &NetworkState, now: Instant) -> FlowSlot {
        let Start { number, forward, reverse, pair, interface: (interface, classes), .. } = start;
        let mut flow = Flow {
            sender: start.sender,
            receiver: Receiver::default(),
            path: self.path(number, pair),
            reorder: self.routing.has_cells().then(Box::default),
            forward,
            reverse,
            interface,
            class: forward.first.queue().min(classes as u8 - 1),
            state: FlowState::Waiting,
            reverse_path: ((number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32)
                % fabric.path_count(reverse.paths).max(1),
            skipped: 0,
            skipped_segments: 0,
            slow_at: NEVER,
            quick_at: NEVER,
            in_transit: 0,
            stat: start.stat,
            is_ecn_capable: start.is_ecn_capable || pair != NO_PAIR || self.routing.reads_marks(),
            wants_telemetry: self.telemetry,
            is_tunnelled: start.is_tunnelled,
            purpose: start.purpose,
            supply: start.supply,
            pair,
            local: 0,
            granted: 0,
            granted_path: OWN_PATH,
            planned_path: OWN_PATH,
            has_several_links: start.has_several_links,
        };
        flow.supply(now);
        let slot = self.vacant.pop().unwrap_or(self.all.len() as FlowSlot);
        debug_assert!(
            self.all.get(slot as usize).is_none_or(|place| place.state == FlowState::Free),
            "a place for two"
        );
        match self.all.get_mut(slot as usize) {
            Some(place) => *place = flow,
            None => self.all.push(flow),
        }
        slot
    }

    /// Frees the slot of a flow whose last segment was acknowledged and that has no packets in flight. Returns `true`
    /// if it did.
    pub(crate) fn leave_if_over(&mut self, slot: FlowSlot) -> bool {
        let flow = &mut self.all[slot as usize];
        if flow.state != FlowState::Acked || flow.in_transit != 0 {
            return false;
        }
        flow.state = FlowState::Free;
        self.vacant.push(slot);
        true
    }

    /// At the end of a run, what another part knows of its ends of flows: it simulates hosts whose links `is_there` names.
    pub(crate) fn absorb(&mut self, other: Self, is_there: impl Fn(u32) -> bool) {
        for (own, mut theirs) in self.all.iter_mut().zip(other.all) {
            if is_there(own.reverse.first.link()) {
                std::mem::swap(&mut own.receiver, &mut theirs.receiver);
            }
            if is_there(own.forward.first.link()) {
                std::mem::swap(&mut own.receiver, &mut theirs.receiver);
                *own = theirs;
            }
        }
    }

    /// All places.
    pub(crate) fn slots(&self) -> Range<FlowSlot> {
        0..self.all.len() as FlowSlot
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.all.iter()
    }

    /// The first of a flow's two actors, for its slow alarm; the next one is its quick alarm.
    pub(super) fn actor(&self, slot: FlowSlot) -> Actor {
        self.first_actor + 2 * slot
    }

    /// The place that an actor is an alarm of, if it is one.
    pub(crate) fn slot_of_actor(&self, actor: Actor) -> Option<FlowSlot> {
        Some(actor.checked_sub(self.first_actor)? / 2)
    }

    /// Passes a segment through the reordering buffer of its flow. Returns the packets that the buffer passes up;
    /// [`Flows::keep`] keeps the list.
    pub(crate) fn put_in_order(
        &mut self,
        slot: FlowSlot,
        id: PacketId,
        fabric: &NetworkState,
        now: Instant,
    ) -> Vec<PacketId> {
        let mut up = std::mem::take(&mut self.in_order);
        let packet = fabric.packet(id);
        if let Some(buffer) = &mut self.all[slot as usize].reorder {
            let cell = packet.extra.flowcell();
            buffer.on_packet(clock::to_time(now), packet.sequence, cell, id, |id| up.push(id));
        }
        up
    }

    /// Returns the packets that a flow's reordering buffer, if it has one, passes up because they have waited long
    /// enough.
    pub(crate) fn release_late(&mut self, slot: FlowSlot, now: Instant) -> Option<Vec<PacketId>> {
        let buffer = self.all[slot as usize].reorder.as_mut()?;
        let mut up = std::mem::take(&mut self.in_order);
        buffer.on_timer(clock::to_time(now), |id| up.push(id));
        Some(up)
    }

    /// Prefetches flows whose segments and acknowledgements are about to arrive: the memory of that end.
    #[inline]
    pub(crate) fn prefetch(&self, flows: impl Iterator<Item = (FlowSlot, Kind)>) {
        let mut seen = 0;
        for (slot, kind) in flows {
            let Some(flow) = self.all.get(slot as usize) else { continue };
            seen ^= match kind {
                Kind::Data => u64::from(flow.receiver.expected()) ^ u64::from(flow.sender.segments().is_none()),
                _ => {
                    flow.slow_at
                        ^ flow.sender.timeout_at()
                        ^ flow.sender.remaining()
                        ^ u64::from(flow.forward.first.bits())
                }
            };
        }
        std::hint::black_box(seen);
    }

    /// The memory of a list, for the next segments.
    pub(crate) fn keep(&mut self, in_order: Vec<PacketId>) {
        self.in_order = in_order;
    }
}
