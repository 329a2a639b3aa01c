//! The requests of Chameleon's evaluation: flow types of Table 1 in the mixes of Table 2 (section 5.1.2).

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::LatencyContract;

/// One row of Table 1: ranges of rate (kbit/s), burst (bytes) and deadline (ms), ends included.
pub(crate) struct FlowType {
    pub(crate) name: &'static str,
    pub(crate) rate_kbit: (u64, u64),
    pub(crate) burst_bytes: (u64, u64),
    pub(crate) deadline_ms: (u64, u64),
}

const fn row(name: &'static str, rate_kbit: (u64, u64), burst_bytes: (u64, u64), deadline_ms: (u64, u64)) -> FlowType {
    FlowType { name, rate_kbit, burst_bytes, deadline_ms }
}

/// Table 1, by category: industrial applications, clock synchronization, control plane synchronization,
/// bandwidth-hungry applications.
pub(crate) const TABLE_1: [&[FlowType]; 4] = [
    &[
        row("database", (300, 550), (100, 400), (80, 120)),
        row("scada", (150, 550), (100, 400), (150, 200)),
        row("production", (100, 500), (100, 400), (10, 20)),
        row("control-ntp", (1, 100), (80, 120), (10, 20)),
    ],
    &[row("ptp", (1, 220), (80, 300), (2, 4))],
    &[
        row("eventual", (2_000, 4_000), (80, 140), (50, 200)),
        row("strict", (5_000, 8_000), (1_000, 3_000), (50, 200)),
        row("adaptive", (2_000, 4_000), (80, 120), (50, 200)),
    ],
    &[
        row("hadoop-a", (100_000, 150_000), (1_000, 5_000), (10, 100)),
        row("hadoop-b", (100_000, 200_000), (1_000, 3_000), (10, 100)),
        row("hadoop-c", (80_000, 200_000), (1_000, 3_000), (50, 100)),
    ],
];

/// A category of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Industrial applications (IA).
    Industrial,
    /// Clock synchronization (CS).
    Clock,
    /// Control plane synchronization (CPS).
    ControlPlane,
    /// Bandwidth-hungry applications (BH).
    BandwidthHungry,
}

impl Category {
    /// All, in the order of Table 1.
    pub const ALL: [Self; 4] = [Self::Industrial, Self::Clock, Self::ControlPlane, Self::BandwidthHungry];

    /// As Table 2 calls it.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Industrial => "IA",
            Self::Clock => "CS",
            Self::ControlPlane => "CPS",
            Self::BandwidthHungry => "BH",
        }
    }

    /// Returns the row of Table 1 for a contract that a [`RequestMix`] has drawn: its name determines the row.
    pub fn of(contract: &LatencyContract) -> Option<Self> {
        let (row, _) = contract.name.rsplit_once('-')?;
        Self::ALL
            .into_iter()
            .zip(TABLE_1)
            .find(|(_, rows)| rows.iter().any(|known| known.name == row))
            .map(|(of, _)| of)
    }
}

/// Table 2: the weight of each category in scenarios 1 to 8, in per cent (scenario 8 adds up to 100 as printed).
pub(crate) const TABLE_2: [[u32; 4]; 8] = [
    [25, 25, 25, 25],
    [20, 20, 50, 10],
    [20, 50, 20, 10],
    [50, 20, 20, 10],
    [10, 40, 40, 10],
    [40, 10, 40, 10],
    [40, 40, 10, 10],
    [33, 33, 33, 1],
];

/// An endless list of random requests between random hosts, the same for the same seed.
///
/// ```
/// use wayleave_contracts::RequestMix;
/// use wayleave_topology::builders::{FatTree, build};
/// let network = build::fat_tree(&FatTree::default())?;
/// let requests: Vec<_> = RequestMix::new(&network, 8, 1).take(100).collect();
/// assert!(requests.iter().all(|contract| contract.validate(&network).is_ok()));
/// # Ok::<(), wayleave_topology::NetworkError>(())
/// ```
pub struct RequestMix {
    hosts: Vec<NodeId>,
    weights: [u32; 4],
    random: ChaCha8Rng,
    count: u64,
}

impl RequestMix {
    /// Scenario 1 to 8 of Table 2 (others count as 8) on the hosts of a network, of which there must be two.
    pub fn new(network: &Network, scenario: usize, seed: u64) -> Self {
        let weights = TABLE_2[scenario.clamp(1, 8) - 1];
        Self { hosts: network.hosts().collect(), weights, random: ChaCha8Rng::seed_from_u64(seed), count: 0 }
    }

    /// With weights of its own for the four categories, in the order of Table 1; one of them is above zero.
    pub fn weighted(network: &Network, weights: [u32; 4], seed: u64) -> Self {
        Self { weights, ..Self::new(network, 1, seed) }
    }

    fn flow_type(&mut self) -> &'static FlowType {
        let mut at = self.random.random_range(0..self.weights.iter().sum());
        let mut category = 0;
        while at >= self.weights[category] {
            at -= self.weights[category];
            category += 1;
        }
        let rows = TABLE_1[category];
        &rows[self.random.random_range(0..rows.len())]
    }

    fn ends(&mut self) -> (NodeId, NodeId) {
        let from = self.random.random_range(0..self.hosts.len());
        // One of the others, each as likely.
        let to = self.random.random_range(0..self.hosts.len() - 1);
        (self.hosts[from], self.hosts[if to < from { to } else { to + 1 }])
    }
}

impl Iterator for RequestMix {
    type Item = LatencyContract;

    fn next(&mut self) -> Option<LatencyContract> {
        if self.hosts.len() < 2 {
            return None;
        }
        self.count += 1;
        let flow = self.flow_type();
        let (from, to) = self.ends();
        let mut between = |(low, high): (u64, u64), unit: u64| self.random.random_range(low * unit..=high * unit);
        Some(LatencyContract::new(
            format!("{}-{}", flow.name, self.count),
            from,
            to,
            Rate::from_bits_per_second(between(flow.rate_kbit, 1_000)),
            Bytes::new(between(flow.burst_bytes, 1)),
            Time::from_nanos(between(flow.deadline_ms, 1_000_000)),
        ))
    }
}
