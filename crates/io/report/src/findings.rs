//! Results of the demo as plain data, independent of ledger and network.

use std::time::Duration;

use wayleave_units::{Bytes, Rate, Time};

use super::scale::ShareOfWhole;

/// Everything that is shown.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Inputs of the demo.
    pub setting: ReportSetting,
    /// The nodes of the network.
    pub nodes: Vec<DrawnNode>,
    /// Its directed links.
    pub links: Vec<DrawnLink>,
    /// Admission controls that decided the list. The first is the main one; the last is the one it is compared with.
    pub contenders: Vec<Contender>,
    /// Decisions on the first requests, and on those that were a contender's first refusal.
    pub decisions: Vec<DecisionRow>,
    /// One bound, term by term.
    pub proof: Option<BoundTerms>,
    /// Packet-level check of the first contender's promises.
    pub verified: VerifiedSet,
}

/// An admitted set under the worst traffic that its contracts allow.
#[derive(Clone, Debug, Default)]
pub struct VerifiedSet {
    /// Every contract that sent something.
    pub contracts: Vec<VerifiedContract>,
    /// Runs of the simulator.
    pub runs: usize,
    /// Packets of contracts in all runs.
    pub packets: usize,
    /// The shares of their bounds that packets took, with the share of packets that took no more; rising.
    pub shares: Vec<(f64, f64)>,
    /// Violations.
    pub violations: Vec<String>,
}

/// One contract, as it was seen.
#[derive(Clone, Debug)]
pub struct VerifiedContract {
    /// Its name.
    pub name: String,
    /// Promised bound.
    pub bound: Time,
    /// Bound that the calculus gives for the present set, if any.
    pub today: Option<Time>,
    /// The longest that a packet took.
    pub worst: Time,
    /// Packets that found no room.
    pub drops: usize,
}

impl VerifiedContract {
    /// Returns the delay of the slowest packet as a share of the bound.
    pub fn share(&self) -> ShareOfWhole {
        ShareOfWhole::of(self.worst.as_nanos() as f64, self.bound.as_nanos() as f64)
    }
}

/// Inputs of the demo.
#[derive(Clone, Debug)]
pub struct ReportSetting {
    /// Of this program.
    pub version: &'static str,
    /// The command that does it again.
    pub command: String,
    /// The network as `-t` takes it.
    pub topology: String,
    /// Table 2's scenario.
    pub scenario: u8,
    /// Of the requests.
    pub seed: u64,
    /// Number of offered requests.
    pub requests: usize,
    /// Parameters of the model, as name and value.
    pub parameters: Vec<(&'static str, String)>,
}

/// A tier of nodes, from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeTier {
    /// Core switches.
    Core,
    /// Aggregation switches.
    Aggregation,
    /// Edge switches.
    Edge,
    /// Hosts.
    Host,
}

/// A node.
#[derive(Clone, Debug)]
pub struct DrawnNode {
    /// In the network.
    pub name: String,
    /// Tier of the node.
    pub tier: NodeTier,
    /// From 0; cores belong to none.
    pub pod: Option<usize>,
}

/// Links of one kind, in the order in which packets between pods pass them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkTier {
    /// Uplinks of hosts.
    HostToEdge,
    /// Uplinks of edge switches.
    EdgeToAggregation,
    /// Uplinks of aggregation switches.
    AggregationToCore,
    /// Downlinks of core switches.
    CoreToAggregation,
    /// Downlinks of aggregation switches.
    AggregationToEdge,
    /// Downlinks to hosts.
    EdgeToHost,
}

/// A directed link.
#[derive(Clone, Debug)]
pub struct DrawnLink {
    /// In the network.
    pub name: String,
    /// Index of the node that it leaves.
    pub from: usize,
    /// Index of the node that it enters.
    pub to: usize,
    /// Its kind.
    pub tier: LinkTier,
    /// Line rate.
    pub rate: Rate,
}

/// An admission control that decided the list.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Short.
    pub name: &'static str,
    /// In a sentence.
    pub about: &'static str,
    /// The options of `wayleave plan` that make it.
    pub options: String,
    /// Number of requests admitted before the first refusal.
    pub before_refusal: usize,
    /// Number of requests admitted from the whole list.
    pub admitted: usize,
    /// The first refusal, if there was one.
    pub first_refusal: Option<FirstRefusal>,
    /// Number of refused requests by stable code, most frequent first.
    pub reasons: Vec<(&'static str, usize)>,
    /// Mean time of an admission.
    pub time_to_admit: Option<Duration>,
    /// Mean time of a refusal, with its reason.
    pub time_to_refuse: Option<Duration>,
    /// Number of moves of admitted flows.
    pub moves: usize,
    /// In the order of the network's links.
    pub links: Vec<LinkUse>,
    /// The queues by place and priority.
    pub levels: Vec<QueueLevel>,
    /// Results of the second calculator.
    pub recheck: Recheck,
}

/// A request.
#[derive(Clone, Debug)]
pub struct RequestRow {
    /// Its place in the list, from 1.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// Long-term rate.
    pub rate: Rate,
    /// Burst.
    pub burst: Bytes,
    /// No packet may take longer.
    pub deadline: Time,
}

/// A refusal and its reason.
#[derive(Clone, Debug)]
pub struct FirstRefusal {
    /// The refused request.
    pub ask: RequestRow,
    /// Reason: the end of a sentence that describes the request.
    pub why: String,
}

/// Reservations on a link.
#[derive(Clone, Copy, Debug)]
pub struct LinkUse {
    /// The sum of the flows' rates.
    pub reserved: Rate,
    /// Number of flows.
    pub flows: usize,
    /// Used share of the delay budget of the fullest queue.
    pub fullest: ShareOfWhole,
}

/// The kind of port that a queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// A host's port.
    Host,
    /// A switch's port.
    Switch,
}

/// All queues of one place and priority.
#[derive(Clone, Debug)]
pub struct QueueLevel {
    /// Kind of port.
    pub place: PortKind,
    /// The priority, 0 highest.
    pub queue: usize,
    /// Use of the level by the contender.
    pub role: LevelRole,
}

/// Use of a level of queues by a contender.
#[derive(Clone, Debug)]
pub enum LevelRole {
    /// Contracts go there.
    Contracts {
        /// The delay that every flow through such a queue counts with.
        budget: Time,
        /// Largest used share of the budget of a queue.
        used_most: ShareOfWhole,
        /// Mean used share of the budget over all links.
        used_mean: ShareOfWhole,
        /// Number of flows that pass at least one of the queues.
        flows: usize,
    },
    /// Traffic without a contract.
    BestEffort,
    /// Nothing.
    Unused,
}

/// The decisions on a request.
#[derive(Clone, Debug)]
pub struct DecisionRow {
    /// The request.
    pub ask: RequestRow,
    /// Contender by contender.
    pub answers: Vec<ContenderDecision>,
}

/// Decision of a contender.
#[derive(Clone, Debug)]
pub enum ContenderDecision {
    /// It was admitted.
    Admitted {
        /// No packet takes longer.
        bound: Time,
        /// The queue of each hop.
        queues: Vec<u8>,
        /// Number of flows that were moved for it.
        moved: usize,
    },
    /// It was refused, with this stable code.
    Refused(&'static str),
}

/// Results of the second calculator.
#[derive(Clone, Debug, Default)]
pub struct Recheck {
    /// End-to-end bounds that were derived again.
    pub flows: usize,
    /// Queues whose delay and backlog bounds were derived again.
    pub queues: usize,
    /// Violations.
    pub violations: Vec<String>,
}

/// A bound, term by term.
#[derive(Clone, Debug)]
pub struct BoundTerms {
    /// The request.
    pub ask: RequestRow,
    /// Queue by queue.
    pub hops: Vec<ProofHop>,
    /// Propagation and processing, once.
    pub constants: Time,
    /// The sum.
    pub bound: Time,
}

/// One queue of a bound.
#[derive(Clone, Debug)]
pub struct ProofHop {
    /// The link.
    pub link: String,
    /// Its queue.
    pub queue: u8,
    /// Budget that the bound counts.
    pub budget: Time,
    /// The longest delay that today's flows can cause, however they behave.
    pub worst_now: Time,
    /// Number of flows in it.
    pub flows: usize,
}

impl LinkTier {
    /// In order.
    pub const ALL: [Self; 6] = [
        Self::HostToEdge,
        Self::EdgeToAggregation,
        Self::AggregationToCore,
        Self::CoreToAggregation,
        Self::AggregationToEdge,
        Self::EdgeToHost,
    ];

    /// As people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostToEdge => "host -> edge",
            Self::EdgeToAggregation => "edge -> agg",
            Self::AggregationToCore => "agg -> core",
            Self::CoreToAggregation => "core -> agg",
            Self::AggregationToEdge => "agg -> edge",
            Self::EdgeToHost => "edge -> host",
        }
    }
}

impl Recheck {
    /// Of each flow its end-to-end bound, of each queue its delay and its backlog.
    pub const fn bounds(&self) -> usize {
        self.flows + 2 * self.queues
    }
}

impl Contender {
    /// Returns the number of refused requests.
    pub fn refused(&self) -> usize {
        self.reasons.iter().map(|(_, count)| count).sum()
    }
}

impl Findings {
    /// The reserved share of one link.
    pub fn share(&self, contender: &Contender, link: usize) -> ShareOfWhole {
        let reserved = contender.links[link].reserved.bits_per_second() as f64;
        ShareOfWhole::of(reserved, self.links[link].rate.bits_per_second() as f64)
    }

    /// Returns the mean reserved share of the links of a kind.
    pub fn tier_share(&self, contender: &Contender, tier: LinkTier) -> ShareOfWhole {
        let of_tier = (0..self.links.len()).filter(|&link| self.links[link].tier == tier);
        ShareOfWhole::mean(of_tier.map(|link| self.share(contender, link)))
    }

    /// The largest reserved share of a link of a kind.
    pub fn tier_busiest(&self, contender: &Contender, tier: LinkTier) -> ShareOfWhole {
        let of_tier = (0..self.links.len()).filter(|&link| self.links[link].tier == tier);
        ShareOfWhole::max(of_tier.map(|link| self.share(contender, link)))
    }

    /// Returns the mean reserved share of all links.
    pub fn mean_share(&self, contender: &Contender) -> ShareOfWhole {
        ShareOfWhole::mean((0..self.links.len()).map(|link| self.share(contender, link)))
    }

    /// The largest reserved share of a link.
    pub fn busiest_share(&self, contender: &Contender) -> ShareOfWhole {
        ShareOfWhole::max((0..self.links.len()).map(|link| self.share(contender, link)))
    }

    /// Returns the number of bounds that the second calculator derived, of all contenders.
    pub fn rechecked(&self) -> usize {
        self.contenders.iter().map(|contender| contender.recheck.bounds()).sum()
    }

    /// Returns the violations that the second calculator found, of all contenders.
    pub fn unproven(&self) -> impl Iterator<Item = &str> {
        self.contenders.iter().flat_map(|contender| contender.recheck.violations.iter().map(String::as_str))
    }

    /// Everything that does not hold.
    pub fn violations(&self) -> impl Iterator<Item = &str> {
        self.unproven().chain(self.verified.violations.iter().map(String::as_str))
    }
}
