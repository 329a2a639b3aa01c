//! Effect of node jitter, the variable part of a node's own delay, on packets.

/// Part of a node's jitter that each packet takes before it enters a queue. A switch that shares one service adds the
/// whole jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// The whole jitter, behind the input line of the packet.
    #[default]
    Whole,
    /// A time of its own.
    Each {
        /// Distribution of the hold times.
        draw: JitterDistribution,
        /// Order of the packets.
        order: PacketOrder,
    },
}

/// Distribution of the hold times of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterDistribution {
    /// Uniform between nothing and the jitter.
    Uniform,
    /// The worst case for the packets of one traffic. They take the whole jitter. Packets that came to the node
    /// before enter equally late, those that come during that time just before them, and later ones at once.
    Against {
        /// The place of the traffic in its scenario.
        traffic: usize,
    },
}

/// Permission of packets to overtake one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOrder {
    /// Packets of one queue may not: each enters after those that came before.
    Kept,
    /// All may.
    Free,
}
