//! A part of a fabric: others simulate the rest concurrently ([`crate::parallel`]).
//!
//! Every part has the whole fabric, so that links, routes and indices have the same numbers everywhere, and modifies
//! only its own elements. A link's port belongs to the part of the node that it leaves, and the packets that arrive
//! at its end to the part of the node that it leads to. If these differ, the part that puts a packet on the link
//! hands it over, and the other one takes it over before it can arrive.

use std::sync::Arc;

use super::cut::Cut;
use super::peak_packets::PeakPackets;
use crate::clock::Instant;
use crate::packet::Packet;

/// A packet on a link from one part to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrossingPacket {
    pub(super) link: u32,
    pub(super) packet: Packet,
}

/// State that is simulated here.
#[derive(Debug)]
pub(crate) struct LogicalProcess {
    pub(crate) number: usize,
    pub(super) cut: Arc<Cut>,
    /// By part, what it has to take over.
    pub(super) outboxes: Vec<Vec<CrossingPacket>>,
    /// Arrival time of the first packet that was handed over.
    pub(super) earliest: Instant,
    /// Ports of links that lead to other parts and choose late.
    pub(super) late: Vec<(u32, u32)>,
    /// Packets that come and go.
    pub(crate) peak_packets: PeakPackets,
}
