//! Minima and weights again, by another method than the one that admits them.
//!
//! Admission counts what may cross cuts. Here no cut is known: the worst that a hose can put on a link is taken over all that its
//! members may send to one another. With even splitting, a pair's part on a link, `f_ij`, follows from handing its packets in
//! equal parts to the links that lead nearer, node by node. Whatever rates `x_ij` the members choose, each sends and receives at
//! most its minimum `B`, so
//!
//! ```text
//! load = sum over i, j of f_ij x_ij <= B min( sum over i of max_j f_ij, sum over j of max_i f_ij )
//! ```
//!
//! That bound is attained where packets of a link come from some members and go to others, as in every tree of racks and pods. What the
//! latency contracts of a link reserve is summed up from their routes. All of it is exact.

use std::collections::BTreeMap;
use std::fmt;

use num_rational::Ratio;
use wayleave_topology::{Class, Classes, HopDistances, LinkId, Network, NodeId, Route};
use wayleave_units::Rate;

use crate::claim::Claim;

type Part = Ratio<u128>;

/// A minimum or a weight, and what it was promised for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromisedShare {
    /// For the reader of a violation.
    pub name: String,
    /// On the wire.
    pub min: Rate,
    /// Where it counts.
    pub held: HeldShare,
}

/// Where a share counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeldShare {
    /// A minimum on every link of a route between two hosts.
    Pair(NodeId, NodeId, Route),
    /// A minimum on one link, whoever sends there.
    Link(LinkId),
    /// A minimum of every member, spread evenly over shortest paths.
    Hose(Vec<NodeId>),
    /// A weight on every link that packets between members may take.
    Objective(Vec<NodeId>),
}

/// A promise that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BrokenShare {
    /// The route is none between those hosts.
    Route {
        /// The share.
        share: String,
    },
    /// A class of a link was promised more than it can be.
    Class {
        /// The link.
        link: String,
        /// The class.
        class: Class,
        /// What was promised, rounded up.
        promised: u128,
        /// What can be, rounded down.
        most: u128,
    },
}

impl fmt::Display for BrokenShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route { share } => write!(f, "the route of {share} does not join its hosts"),
            Self::Class { link, class, promised, most } => {
                let class = class.name();
                write!(f, "the {class} class of {link} was promised {promised} bit/s, and no more than {most} can be")
            }
        }
    }
}

/// All promises to classes that do not hold beside the latency contracts of a claim; by link, after faults of routes.
pub fn check_shares(claim: &Claim<'_>, classes: &Classes, shares: &[PromisedShare]) -> Vec<BrokenShare> {
    let network = claim.network;
    let mut broken = Vec::new();
    let mut loads: BTreeMap<(LinkId, Class), Part> = BTreeMap::new();
    let mut paths = Paths { network, distances: BTreeMap::new() };
    for share in shares {
        let min = Part::from_integer(u128::from(share.min.bits_per_second()));
        match &share.held {
            HeldShare::Pair(from, to, route) => {
                if route.validate(network, *from, *to).is_err() {
                    broken.push(BrokenShare::Route { share: share.name.clone() });
                    continue;
                }
                route.hops.iter().for_each(|hop| *loads.entry((hop.link, Class::Guaranteed)).or_default() += min);
            }
            HeldShare::Link(link) => *loads.entry((*link, Class::Guaranteed)).or_default() += min,
            HeldShare::Hose(members) => {
                for (link, most) in paths.worst(members) {
                    *loads.entry((link, Class::Guaranteed)).or_default() += most * min;
                }
            }
            HeldShare::Objective(members) => {
                for link in paths.worst(members).into_keys() {
                    *loads.entry((link, Class::Objective)).or_default() += min;
                }
            }
        }
    }
    let mut latency: BTreeMap<LinkId, u128> = BTreeMap::new();
    for flow in &claim.flows {
        for hop in &flow.route.hops {
            *latency.entry(hop.link).or_default() += u128::from(flow.rate.bits_per_second());
        }
    }
    for ((link, class), load) in loads {
        let line = u128::from(network.link(link).rate.bits_per_second());
        let left = line.saturating_sub(latency.get(&link).copied().unwrap_or(0));
        let weights: u128 = Class::SHARING.iter().map(|&class| u128::from(classes.weight(class))).sum();
        let sure = Part::new(left * u128::from(classes.weight(class)), weights);
        let most = sure * Part::new(u128::from(classes.promise), 100);
        if load > most {
            let (promised, most) = (load.ceil().to_integer(), most.floor().to_integer());
            broken.push(BrokenShare::Class { link: network.link(link).name.clone(), class, promised, most });
        }
    }
    broken
}

/// Shortest paths, with what was found out about them.
struct Paths<'n> {
    network: &'n Network,
    distances: BTreeMap<NodeId, HopDistances>,
}

impl Paths<'_> {
    /// By link, the most that members with a minimum of 1 can put on it.
    fn worst(&mut self, members: &[NodeId]) -> BTreeMap<LinkId, Part> {
        // By link: the largest part of each sender, and of each receiver.
        let mut senders: BTreeMap<LinkId, BTreeMap<NodeId, Part>> = BTreeMap::new();
        let mut receivers: BTreeMap<LinkId, BTreeMap<NodeId, Part>> = BTreeMap::new();
        for &to in members {
            for &from in members.iter().filter(|&&from| from != to) {
                for (link, part) in self.parts(from, to) {
                    let sends = senders.entry(link).or_default().entry(from).or_default();
                    *sends = (*sends).max(part);
                    let receives = receivers.entry(link).or_default().entry(to).or_default();
                    *receives = (*receives).max(part);
                }
            }
        }
        let sum = |parts: &BTreeMap<NodeId, Part>| parts.values().fold(Part::default(), |sum, part| sum + *part);
        let both = senders.iter().zip(receivers.values());
        both.map(|((&link, senders), receivers)| (link, sum(senders).min(sum(receivers)))).collect()
    }

    /// The parts of a pair's packets on the links of its shortest paths.
    fn parts(&mut self, from: NodeId, to: NodeId) -> BTreeMap<LinkId, Part> {
        let network = self.network;
        let distances = self.distances.entry(to).or_insert_with(|| HopDistances::to(network, to));
        let mut parts = BTreeMap::new();
        let mut layer = BTreeMap::from([(from, Part::from_integer(1))]);
        while !layer.contains_key(&to) && !layer.is_empty() {
            let mut next: BTreeMap<NodeId, Part> = BTreeMap::new();
            for (node, part) in layer {
                let Some(away) = distances.from(node) else { continue };
                let is_nearer = |link: &&LinkId| {
                    let there = network.link(**link).to;
                    distances.from(there).is_some_and(|hops| hops + 1 == away)
                };
                let links: Vec<LinkId> = network.links_from(node).iter().filter(is_nearer).copied().collect();
                for &link in &links {
                    let each = part / Part::from_integer(links.len() as u128);
                    *parts.entry(link).or_default() += each;
                    *next.entry(network.link(link).to).or_default() += each;
                }
            }
            layer = next;
        }
        parts
    }
}
