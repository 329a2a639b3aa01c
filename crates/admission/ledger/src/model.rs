//! The effects that the network model counts, and the strictness of its comparisons.

use wayleave_contracts::WireOverhead;
use wayleave_topology::{Link, Network, NodeKind};
use wayleave_units::{Amount, Bytes, Rate, Time};

/// The part of the residual service curve that a lower queue is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// The full convex curve: never worse, equal where all links have one rate.
    Full,
    /// The rate-latency curve of its first positive slope, as the published controller does.
    FirstSlope,
}

/// Bounds on traffic by the line that it comes from (Chameleon, section 3.2.2, last sentence).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shaping {
    /// An input's arrival curve is capped by `Lmax + R t` of its link.
    InputLinks,
    /// Token buckets only.
    Off,
}

/// Effect that a node's jitter, the variable part of its own delay, may have on the order of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterModel {
    /// Packets that enter one queue keep the order in which they came to the node, over whichever inputs.
    Ordered,
    /// Every packet takes a time of its own: one that comes later may enter a queue earlier.
    Any,
}

/// Growth of a flow's burst along its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstGrowth {
    /// By `rate x budget` at each queue (Chameleon, section 3.1.3).
    Budgets,
    /// None: every queue is checked with the burst at the source. Not sound; for comparison with the example of Silo in the published
    /// library alone.
    Ignored,
}

/// Treatment of traffic without a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BestEffort {
    /// Into the lowest queue of every switch port, which contracts then cannot use (and below all queues of a host).
    LowestQueue,
    /// Nowhere: it is dropped at the host, and contracts use all queues, as in the paper.
    Dropped,
}

/// Comparison of a bound with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// A bound may be equal to its limit.
    NonStrict,
    /// A bound must stay below its limit, as in the published controller.
    Strict,
}

impl Comparison {
    /// Returns `true` if `bound` keeps `limit`.
    pub(crate) fn holds<T: PartialOrd>(self, bound: T, limit: T) -> bool {
        match self {
            Self::NonStrict => bound <= limit,
            Self::Strict => bound < limit,
        }
    }
}

/// The network model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// Service of lower queues.
    pub residual: Residual,
    /// Arrival curves capped by their lines, or not.
    pub shaping: Shaping,
    /// Effect that the jitter of nodes may have.
    pub jitter: JitterModel,
    /// Wire overhead of frames.
    pub overhead: WireOverhead,
    /// The largest frame of every link; `None` derives it from each link's MTU and the overhead.
    pub max_frame: Option<Bytes>,
    /// Treatment of traffic without a contract.
    pub best_effort: BestEffort,
    /// Comparison of bounds with limits.
    pub comparison: Comparison,
    /// Growth of bursts along routes.
    pub growth: BurstGrowth,
}

impl Default for Model {
    /// Sound on real networks: wire bytes with up to six tags (Chameleon, section 5.3.2), full residual curves, a class
    /// for best effort, and nothing assumed about the jitter of nodes.
    fn default() -> Self {
        Self {
            residual: Residual::Full,
            shaping: Shaping::InputLinks,
            jitter: JitterModel::Any,
            overhead: WireOverhead::Counted { tags: 6 },
            max_frame: None,
            best_effort: BestEffort::LowestQueue,
            comparison: Comparison::NonStrict,
            growth: BurstGrowth::Budgets,
        }
    }
}

impl Model {
    /// The model of Chameleon's published controller: first slopes, frames of at most 1530 B, no overhead, all queues
    /// for contracts, strict comparison, jitter in the service alone (section 3.2.2, phi). For comparison with published numbers, not for real networks.
    pub const PUBLISHED: Self = Self {
        residual: Residual::FirstSlope,
        shaping: Shaping::InputLinks,
        jitter: JitterModel::Ordered,
        overhead: WireOverhead::Ignored,
        max_frame: Some(Bytes::new(1530)),
        best_effort: BestEffort::Dropped,
        comparison: Comparison::Strict,
        growth: BurstGrowth::Budgets,
    };

    /// Sets the service of lower queues.
    #[must_use]
    pub const fn with_residual(self, residual: Residual) -> Self {
        Self { residual, ..self }
    }

    /// Sets the cap of arrival curves by their lines.
    #[must_use]
    pub const fn with_shaping(self, shaping: Shaping) -> Self {
        Self { shaping, ..self }
    }

    /// Sets the effect that the jitter of nodes may have.
    #[must_use]
    pub const fn with_jitter(self, jitter: JitterModel) -> Self {
        Self { jitter, ..self }
    }

    /// Sets the wire overhead of frames.
    #[must_use]
    pub const fn with_overhead(self, overhead: WireOverhead) -> Self {
        Self { overhead, ..self }
    }

    /// Sets the largest frame of every link; `None` derives it from each link's MTU and the overhead.
    #[must_use]
    pub const fn with_max_frame(self, max_frame: Option<Bytes>) -> Self {
        Self { max_frame, ..self }
    }

    /// Sets the treatment of traffic without a contract.
    #[must_use]
    pub const fn with_best_effort(self, best_effort: BestEffort) -> Self {
        Self { best_effort, ..self }
    }

    /// Sets the comparison of bounds with limits.
    #[must_use]
    pub const fn with_comparison(self, comparison: Comparison) -> Self {
        Self { comparison, ..self }
    }

    /// Sets the growth of bursts along routes.
    #[must_use]
    pub const fn with_growth(self, growth: BurstGrowth) -> Self {
        Self { growth, ..self }
    }

    /// Returns every setting as text, to compare configurations. No option changes the growth of bursts.
    pub fn settings(&self) -> Vec<String> {
        let Self { residual, shaping, jitter, overhead, max_frame, best_effort, comparison, growth: _ } = self;
        vec![
            format!("residual {residual:?}"),
            format!("shaping {shaping:?}"),
            format!("jitter {jitter:?}"),
            format!("overhead {overhead:?}"),
            format!("max-frame {}", max_frame.map_or("mtu".to_owned(), |size| format!("{}B", size.get()))),
            format!("best-effort {best_effort:?}"),
            format!("compare {comparison:?}"),
        ]
    }

    /// Returns the burst of a flow after `waited` in the queues before.
    pub fn grown(&self, burst: Amount, rate: Rate, waited: Time) -> Amount {
        match self.growth {
            BurstGrowth::Budgets => burst + rate * waited,
            BurstGrowth::Ignored => burst,
        }
    }

    /// The largest frame of a link on the wire. It blocks every queue of the link once, with any admitted flows: a
    /// term that followed them would grow after higher queues were promised.
    pub fn largest_frame(&self, link: &Link) -> Bytes {
        self.max_frame.unwrap_or_else(|| self.overhead.largest_frame(link.mtu))
    }

    /// The largest frame that links of this MTU carry, as it is counted with `tags` tags: no more than
    /// [`Self::largest_frame`].
    pub fn frame_with_tags(&self, mtu: Bytes, tags: u32) -> Bytes {
        let largest = match self.overhead {
            WireOverhead::Counted { tags: most } => WireOverhead::Counted { tags: tags.min(most) }.largest_frame(mtu),
            WireOverhead::Ignored => self.overhead.largest_frame(mtu),
        };
        self.max_frame.map_or(largest, |frame| frame.min(largest))
    }

    /// Time by which packets of one queue can come closer together, or pass one another, before they enter a queue of
    /// this link: all of the node's jitter where it keeps no order, nothing where it does.
    pub fn spread(&self, network: &Network, link: &Link) -> Time {
        match self.jitter {
            JitterModel::Ordered => Time::ZERO,
            JitterModel::Any => network.node(link.from).jitter,
        }
    }

    /// Number of a link's queues that latency contracts may use, counted from the highest priority. Where queues are
    /// divided among classes, the others are below them in a switch, and below all queues of a host.
    pub fn contract_queues(&self, network: &Network, link: &Link) -> usize {
        let all = network.port(link.port).queues.len();
        if let Some(classes) = network.classes() {
            return all.min(usize::from(classes.latency));
        }
        match (self.best_effort, network.node(link.from).kind) {
            (BestEffort::LowestQueue, NodeKind::Switch) => all - 1,
            _ => all,
        }
    }

    /// The most switches that a route may pass: the tag stack that the overhead accounts for holds one tag for each.
    pub fn max_switches(&self) -> Option<u32> {
        match self.overhead {
            WireOverhead::Counted { tags } => Some(tags),
            WireOverhead::Ignored => None,
        }
    }
}
