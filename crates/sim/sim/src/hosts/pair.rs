//! One pair.

use wayleave_scheme_api::{Incoming, Outgoing};
use wayleave_topology::NodeId;

use super::slot::{HostId, PairSlot};
use crate::clock::Instant;
use crate::fabric::Direction;
use crate::flows::FlowSlot;

/// No flow has this number of its pair.
pub(super) const NO_FLOW: FlowSlot = FlowSlot::MAX;

/// Key of a pair: both hosts, the class at each, and the endpoint at each (0 is the host itself).
pub(crate) type PairKey = (NodeId, NodeId, u32, u32, (u32, u32));

/// A service of one host that sends to a service of another.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) key: PairKey,
    /// Distinguishes it from earlier pairs with its slot.
    pub(super) epoch: u32,
    /// Number among all pairs of the run: equal at both ends.
    pub(super) number: u64,
    pub(super) sender: HostId,
    pub(super) outgoing: Outgoing,
    pub(super) receiver: HostId,
    /// Since its first packet arrived.
    pub(super) incoming: Option<Incoming>,
    /// Its classes at both ends.
    pub(super) from_place: u32,
    pub(super) to_place: u32,
    /// Its scheme.
    pub(super) scheme: u8,
    /// Paths of its packets, and of their answers.
    pub(super) forward: Direction,
    pub(super) reverse: Direction,
    /// Last weight from its host role (W of SCC; weighted Swift).
    pub(super) weight: u32,
    /// Weight of its turns at the interface of its host, if it differs.
    pub(super) turns: Option<u32>,
    /// Its flows by their numbers; `NO_FLOW` where one is free.
    pub(super) flows: Vec<FlowSlot>,
    pub(super) free_flows: Vec<u32>,
    /// `true` if a check of a window that waits for answers is scheduled.
    pub(super) is_watched: bool,
    /// Its machine has chosen paths.
    pub(super) is_steered: bool,
    /// Flows that are open.
    pub(super) users: u32,
    /// Of these, flows whose applications are switched off.
    pub(super) paused: u32,
    /// `true` if its machine was notified of demand.
    pub(super) wants: bool,
    pub(super) used_at: Instant,
    /// Bytes that were lost since the last packet that arrived.
    pub(super) lost: u64,
    /// The path of the last packet that left, once there is one.
    pub(super) path: Option<u8>,
}

impl Pair {
    /// Its open flows.
    pub(super) fn members(&self) -> impl Iterator<Item = &FlowSlot> {
        self.flows.iter().filter(|&&flow| flow != NO_FLOW)
    }

    /// A number for a flow.
    pub(super) fn join(&mut self, flow: FlowSlot) -> u32 {
        let number = self.free_flows.pop().unwrap_or(self.flows.len() as u32);
        set(&mut self.flows, number, flow);
        number
    }

    /// A flow is over; its number is free.
    pub(super) fn leave(&mut self, number: u32) {
        self.flows[number as usize] = NO_FLOW;
        self.free_flows.push(number);
    }
}

/// The pair of a packet source, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourcePair {
    pub(super) key: PairKey,
    pub(super) pair: PairSlot,
    pub(super) epoch: u32,
    /// Its number among the flows of the pair.
    pub(super) local: u32,
    /// The queue of its packets.
    pub(super) queue: u8,
}

/// Puts a value at an index that is at most the length.
pub(super) fn set(list: &mut Vec<u32>, at: u32, slot: u32) {
    match list.get_mut(at as usize) {
        Some(place) => *place = slot,
        None => list.push(slot),
    }
}
