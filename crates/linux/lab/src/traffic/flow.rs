//! A flow: its endpoints, its load, and its counters of packets.

use std::net::Ipv4Addr;
use std::sync::atomic::AtomicU64;

use wayleave_units::{Bytes, Rate, Time};

use crate::plan::EndpointPlan;

/// Headers between the payload and the frame: Ethernet 14, IPv4 20, UDP 8.
pub const HEADERS: u64 = 14 + 20 + 8;

/// Any address of a namespace.
pub(super) const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// Load of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabLoad {
    /// The most that a token bucket lets pass: the whole burst at instants that all flows share, and the rate until the bucket has to
    /// fill for the next one.
    Bursts {
        /// Of wire bytes.
        rate: Rate,
        /// Of wire bytes.
        burst: Bytes,
        /// From one instant to the next. Less than twice what the bucket takes to fill is raised to that.
        period: Time,
    },
    /// A constant rate of wire bytes, independent of any contract: an adversary, or best effort.
    Constant {
        /// Of wire bytes.
        rate: Rate,
    },
    /// Whole bursts of a token bucket and nothing between them: the next one when the bucket is full again.
    Trains {
        /// Of wire bytes.
        rate: Rate,
        /// Of wire bytes.
        burst: Bytes,
    },
    /// Single packets at equal intervals, each of which is answered. Missed ones are not made up for.
    Requests {
        /// From one to the next.
        every: Time,
    },
    /// A packet for each that arrives of another flow, sent when that one is received and with its number.
    Answers {
        /// The place of that flow in the list.
        to: usize,
    },
}

impl LabLoad {
    /// Returns `true` if every packet is kept in the report.
    pub(super) const fn is_exchange(self) -> bool {
        matches!(self, Self::Requests { .. } | Self::Answers { .. })
    }
}

/// One flow.
#[derive(Clone, Debug)]
pub struct LabFlow {
    /// Name of the flow.
    pub name: String,
    /// The sender.
    pub from: EndpointPlan,
    /// Receiver.
    pub to: EndpointPlan,
    /// The port of UDP at which it is received.
    pub port: u16,
    /// The port from which it is sent; any if none is given.
    pub source_port: Option<u16>,
    /// Bytes of each packet behind the header of UDP; at least 24.
    pub payload: usize,
    /// Bytes that each packet occupies on the wire beyond its frame: 24 B, and 4 B for each tag.
    pub overhead: u64,
    /// Offered load.
    pub load: LabLoad,
    /// Promised delay bound, if there is one.
    pub bound: Option<Time>,
}

impl LabFlow {
    /// Returns the bytes that a packet occupies on the wire.
    pub const fn wire_bytes(&self) -> u64 {
        self.payload as u64 + HEADERS + self.overhead
    }
}

/// Counters of a flow that its sender and its receiver share.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
}
