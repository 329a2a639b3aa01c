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
use wayleave_units::{Rate, Time};

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
    /// The minimum is said to be there so soon after there is something to send, where that was asked for.
    pub there_within: Option<Time>,
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
    /// Packets of minima may wait longer at a link than is kept where a minimum has a time.
    Wait {
        /// The link.
        link: String,
        /// How long; `None` is for ever.
        wait: Option<Time>,
        /// The budget.
        budget: Time,
    },
    /// A minimum is there later than is said.
    Time {
        /// The share.
        share: String,
        /// What is said.
        said: Time,
        /// What follows from the budgets of its way.
        derived: Time,
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
            Self::Wait { link, wait, budget } => {
                let wait = or_for_ever(*wait);
                write!(f, "packets of minima may wait {wait} at {link}, and minima with a time count with {budget}")
            }
            Self::Time { share, said, derived } => {
                write!(f, "the minimum of {share} is said to be there within {said}, and it takes up to {derived}")
            }
        }
    }
}

/// For messages.
fn or_for_ever(wait: Option<Time>) -> String {
    wait.map_or_else(|| "for ever".to_owned(), |wait| wait.to_string())
}

/// All promises to classes that do not hold beside the latency contracts of a claim; by link, after faults of routes.
pub fn check_shares(claim: &Claim<'_>, classes: &Classes, shares: &[PromisedShare]) -> Vec<BrokenShare> {
    let mut held = HeldShares::new(claim.network, *classes);
    claim.flows.iter().for_each(|flow| held.reserve(&flow.route, flow.rate));
    let mut broken: Vec<BrokenShare> = shares.iter().filter_map(|share| held.add(share).err()).collect();
    broken.extend(held.broken());
    broken
}

/// What classes have been promised on each link, beside what latency contracts reserve there, while contracts come and go.
pub struct HeldShares<'n> {
    network: &'n Network,
    classes: Classes,
    loads: BTreeMap<(LinkId, Class), Part>,
    latency: BTreeMap<LinkId, u128>,
    paths: Paths<'n>,
}

/// What a share puts on links.
#[derive(Clone, Debug, Default)]
pub struct AddedShare(Vec<((LinkId, Class), Part)>);

impl AddedShare {
    /// The links.
    pub fn links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.0.iter().map(|((link, _), _)| *link)
    }
}

impl<'n> HeldShares<'n> {
    /// Nothing yet.
    pub fn new(network: &'n Network, classes: Classes) -> Self {
        let paths = Paths::of(network);
        Self { network, classes, loads: BTreeMap::new(), latency: BTreeMap::new(), paths }
    }

    /// A share comes; what it adds, to be taken away again with [`HeldShares::remove`].
    ///
    /// # Errors
    /// If its route is none: then nothing is added.
    pub fn add(&mut self, share: &PromisedShare) -> Result<AddedShare, BrokenShare> {
        let min = Part::from_integer(u128::from(share.min.bits_per_second()));
        let added: Vec<((LinkId, Class), Part)> = match &share.held {
            HeldShare::Pair(from, to, route) => {
                if route.validate(self.network, *from, *to).is_err() {
                    return Err(BrokenShare::Route { share: share.name.clone() });
                }
                route.hops.iter().map(|hop| ((hop.link, Class::Guaranteed), min)).collect()
            }
            HeldShare::Link(link) => vec![((*link, Class::Guaranteed), min)],
            HeldShare::Hose(members) => {
                let worst = self.paths.worst(members).into_iter();
                worst.map(|(link, most)| ((link, Class::Guaranteed), most * min)).collect()
            }
            HeldShare::Objective(members) => {
                let worst = self.paths.worst(members).into_keys();
                worst.map(|link| ((link, Class::Objective), min)).collect()
            }
        };
        added.iter().for_each(|(key, load)| *self.loads.entry(*key).or_default() += load);
        Ok(AddedShare(added))
    }

    /// A share goes.
    pub fn remove(&mut self, added: &AddedShare) {
        for (key, load) in &added.0 {
            if let Some(all) = self.loads.get_mut(key) {
                *all -= load;
            }
        }
    }

    /// A latency contract reserves this on its route.
    pub fn reserve(&mut self, route: &Route, rate: Rate) {
        route.hops.iter().for_each(|hop| {
            *self.latency.entry(hop.link).or_default() += u128::from(rate.bits_per_second());
        });
    }

    /// It does no longer.
    pub fn free(&mut self, route: &Route, rate: Rate) {
        for hop in &route.hops {
            if let Some(all) = self.latency.get_mut(&hop.link) {
                *all = all.saturating_sub(u128::from(rate.bits_per_second()));
            }
        }
    }

    /// What has been promised and cannot be, on any link.
    pub fn broken(&self) -> Vec<BrokenShare> {
        self.loads.keys().filter_map(|&(link, class)| self.broken_at(link, class)).collect()
    }

    /// The same on this link.
    pub fn broken_on(&self, link: LinkId) -> Vec<BrokenShare> {
        Class::SHARING.into_iter().filter_map(|class| self.broken_at(link, class)).collect()
    }

    fn broken_at(&self, link: LinkId, class: Class) -> Option<BrokenShare> {
        let load = *self.loads.get(&(link, class))?;
        let line = u128::from(self.network.link(link).rate.bits_per_second());
        let left = line.saturating_sub(self.latency.get(&link).copied().unwrap_or(0));
        let weight = |class| u128::from(self.classes.weight(class));
        let sure = Part::new(left * weight(class), Class::SHARING.into_iter().map(weight).sum());
        let most = sure * Part::new(u128::from(self.classes.promise), 100);
        let (promised, all) = (load.ceil().to_integer(), most.floor().to_integer());
        let link = self.network.link(link).name.clone();
        (load > most).then_some(BrokenShare::Class { link, class, promised, most: all })
    }
}

/// Shortest paths, with what was found out about them.
pub(crate) struct Paths<'n> {
    network: &'n Network,
    distances: BTreeMap<NodeId, HopDistances>,
}

impl<'n> Paths<'n> {
    pub(crate) fn of(network: &'n Network) -> Self {
        Self { network, distances: BTreeMap::new() }
    }

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
    pub(crate) fn parts(&mut self, from: NodeId, to: NodeId) -> BTreeMap<LinkId, Part> {
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

    /// The largest sum of these lengths along a shortest path.
    pub(crate) fn longest(&mut self, from: NodeId, to: NodeId, length: impl Fn(LinkId) -> u64) -> u64 {
        let network = self.network;
        let distances = self.distances.entry(to).or_insert_with(|| HopDistances::to(network, to));
        let mut layer = BTreeMap::from([(from, 0_u64)]);
        while !layer.contains_key(&to) && !layer.is_empty() {
            let mut next: BTreeMap<NodeId, u64> = BTreeMap::new();
            for (node, so_far) in layer {
                let Some(away) = distances.from(node) else { continue };
                for &link in network.links_from(node) {
                    let there = network.link(link).to;
                    if distances.from(there).is_some_and(|hops| hops + 1 == away) {
                        let sum = next.entry(there).or_default();
                        *sum = (*sum).max(so_far.saturating_add(length(link)));
                    }
                }
            }
            layer = next;
        }
        layer.get(&to).copied().unwrap_or(0)
    }
}
