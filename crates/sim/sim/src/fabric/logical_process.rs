//! A part of a fabric: others simulate the rest at the same time ([`crate::parallel`]).
//!
//! Every part has the whole fabric, so that links, routes and places have the same numbers everywhere, and touches what is its own. A
//! link's port belongs to the part of the node that it leaves, the packets that arrive at its end to the part of the node that it leads
//! to. Where these are two, whoever puts a packet on the link hands it over, and the other one takes it over
//! before it can arrive.

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

/// What is simulated here.
#[derive(Debug)]
pub(crate) struct LogicalProcess {
    pub(crate) number: usize,
    pub(super) cut: Arc<Cut>,
    /// By part, what it has to take over.
    pub(super) outboxes: Vec<Vec<CrossingPacket>>,
    /// When the first packet that was handed over arrives.
    pub(super) earliest: Instant,
    /// Ports of links that lead to other parts and choose late.
    pub(super) late: Vec<(u32, u32)>,
    /// Packets that come and go.
    pub(crate) peak_packets: PeakPackets,
}
