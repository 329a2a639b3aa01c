//! What the jitter of nodes, the variable part of their own delay, does to packets.

/// How much of a node's jitter each packet takes before it enters a queue. A switch that shares one service adds all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// All of it, behind the line that it came over.
    #[default]
    Whole,
    /// A time of its own.
    Each {
        /// Which.
        draw: JitterDistribution,
        /// What becomes of the order.
        order: Order,
    },
}

/// How long a packet is held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterDistribution {
    /// Uniform between nothing and the jitter.
    Uniform,
    /// The worst for the packets of one traffic: they take all of it, and what came to the node before enters as late, what
    /// comes meanwhile just before them, and what comes afterwards at once.
    Against {
        /// The place of the traffic in its scenario.
        traffic: usize,
    },
}

/// Whether packets may pass one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of one queue may not: each enters after those that came before it.
    Kept,
    /// All may.
    Free,
}
