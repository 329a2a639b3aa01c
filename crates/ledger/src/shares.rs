//! What the classes below the latency queues have been promised on each link.

use wayleave_topology::{Class, LinkId, NodeId, Residual, Route, ShareId, SharedLink};
use wayleave_units::{Rate, Time};

use crate::cuts::{Cut, Cuts};

/// How packets of a hose find their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spread {
    /// Every packet may take any shortest path, all alike.
    AllPaths,
    /// Every pair of hosts has one path at a time, which hosts choose and change.
    OnePath,
}

/// What a contract about bandwidth or an objective holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// A minimum along a route, in the guaranteed class.
    Pair {
        /// The minimum.
        min: Rate,
        /// Its links; the queues are those of the class.
        route: Route,
        /// Whether it is there within a time: then delays of the class are kept on its links.
        is_timed: bool,
    },
    /// A minimum for every member, in the guaranteed class.
    Hose {
        /// The minimum of each.
        min: Rate,
        /// The hosts.
        members: Vec<NodeId>,
        /// How packets find their way.
        spread: Spread,
        /// As of a pair.
        is_timed: bool,
    },
    /// A weight on every link where members are on both sides, in the objective class.
    Objective {
        /// The weight.
        weight: Rate,
        /// The hosts.
        members: Vec<NodeId>,
    },
}

impl Share {
    /// Its class.
    pub const fn class(&self) -> Class {
        match self {
            Self::Pair { .. } | Self::Hose { .. } => Class::Guaranteed,
            Self::Objective { .. } => Class::Objective,
        }
    }

    pub(crate) const fn is_timed(&self) -> bool {
        matches!(self, Self::Pair { is_timed: true, .. } | Self::Hose { is_timed: true, .. })
    }
}

/// Why a share does not fit: the first link, in order, on which it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareDenial {
    /// A link is closed.
    Closed(LinkId),
    /// The class has less left.
    Rate {
        /// The link.
        link: LinkId,
        /// What the share would add there.
        asked: Rate,
        /// What could be promised there beside everything else.
        left: Rate,
    },
    /// Packets of the class could wait for longer than the link's budget for them.
    Delay {
        /// The link.
        link: LinkId,
        /// How long they could wait.
        bound: Time,
        /// The budget.
        budget: Time,
    },
}

impl ShareDenial {
    /// Where it does not fit.
    pub const fn link(&self) -> LinkId {
        match *self {
            Self::Closed(link) | Self::Rate { link, .. } | Self::Delay { link, .. } => link,
        }
    }
}

/// One link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkShares {
    pub(crate) link: SharedLink,
    /// The longest that packets of the guaranteed class may wait, where minima have a time.
    pub(crate) budget: Time,
    /// bit/s: pairs, and what hoses come to.
    pub(crate) guaranteed: u64,
    /// bit/s.
    pub(crate) objective: u64,
    /// How many shares with a time pass here.
    pub(crate) timed: u32,
    /// How many pairs of hosts may have packets of minima here: each may have one that no window holds back.
    pub(crate) pairs: u64,
}

/// What a share that comes or goes changes on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) link: LinkId,
    /// bit/s that its pair, division or cut counted for.
    pub(crate) before: u64,
    /// bit/s that they count for then.
    pub(crate) after: u64,
    /// How many pairs come or go.
    pub(crate) pairs: u64,
}

impl LinkShares {
    pub(crate) const fn promised(&self, class: Class) -> u64 {
        match class {
            Class::Guaranteed => self.guaranteed,
            Class::Objective => self.objective,
            Class::Latency | Class::BestEffort => 0,
        }
    }

    /// Whether packets of the guaranteed class wait no longer than their budget, with so many more pairs.
    pub(crate) fn is_in_time(&self, residual: &Residual, more: u64) -> bool {
        self.wait(residual, more).is_some_and(|wait| wait <= self.budget)
    }

    /// How long they wait at most.
    pub(crate) fn wait(&self, residual: &Residual, more: u64) -> Option<Time> {
        self.link.longest_wait(residual, self.pairs.saturating_add(more))
    }

    /// bit/s of the line that latency contracts have to leave.
    pub(crate) fn needed(&self) -> i128 {
        let needed = |class| {
            let promised = Rate::from_bits_per_second(self.promised(class));
            i128::from(self.link.needed(class, promised).bits_per_second())
        };
        needed(Class::Guaranteed).max(needed(Class::Objective))
    }
}

/// What hoses come to at one cut; a function of the hoses alone, whatever their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CutLoad {
    /// Hoses over all paths: the sum of what each may send across, bit/s.
    spread: u64,
    /// Hoses with one path for each pair: the same.
    single: u64,
    /// The minima of those, with how many have each.
    pairs: std::collections::BTreeMap<u64, u32>,
}

impl CutLoad {
    pub(crate) fn change(&mut self, comes: bool, spread: Spread, min: u64, across: u64) {
        if comes { self.add(spread, min, across) } else { self.subtract(spread, min, across) }
    }

    fn add(&mut self, spread: Spread, min: u64, across: u64) {
        match spread {
            Spread::AllPaths => self.spread += across,
            Spread::OnePath => {
                self.single += across;
                *self.pairs.entry(min).or_default() += 1;
            }
        }
    }

    fn subtract(&mut self, spread: Spread, min: u64, across: u64) {
        match spread {
            Spread::AllPaths => self.spread -= across,
            Spread::OnePath => {
                self.single -= across;
                if let Some(count) = self.pairs.get_mut(&min) {
                    *count -= 1;
                    if *count == 0 {
                        self.pairs.remove(&min);
                    }
                }
            }
        }
    }

    /// On each of so many links: equal parts, and where pairs have one path each, the largest pair besides.
    pub(crate) fn on_each(&self, links: usize) -> u64 {
        let largest = self.pairs.last_key_value().map_or(0, |(&min, _)| min);
        on_each(self.spread + self.single, largest, links)
    }

    /// The same once a hose has come or gone. A cut of a pod knows a minimum of nearly every hose of the network, so nothing is copied for the question.
    pub(crate) fn on_each_after(&self, comes: bool, spread: Spread, min: u64, across: u64, links: usize) -> u64 {
        let all = self.spread + self.single;
        let all = if comes { all + across } else { all - across };
        let largest = self.pairs.last_key_value().map_or(0, |(&min, _)| min);
        let largest = match spread {
            Spread::AllPaths => largest,
            Spread::OnePath if comes => largest.max(min),
            Spread::OnePath => self.largest_without(min),
        };
        on_each(all, largest, links)
    }

    /// The largest minimum of a pair without one of these.
    fn largest_without(&self, min: u64) -> u64 {
        let stays = |&(&other, &count): &(&u64, &u32)| other != min || count > 1;
        self.pairs
            .iter()
            .next_back()
            .filter(stays)
            .or_else(|| self.pairs.iter().rev().nth(1))
            .map_or(0, |(&min, _)| min)
    }
}

/// Equal parts of what crosses a cut, and the largest pair besides.
fn on_each(all: u64, largest: u64, links: usize) -> u64 {
    (all.div_ceil((links as u64).max(1)) + largest).min(all)
}

/// All shares of a ledger.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    pub(crate) links: Vec<LinkShares>,
    pub(crate) cuts: Cuts,
    pub(crate) loads: Vec<CutLoad>,
    pub(crate) held: Vec<Option<Share>>,
    pub(crate) vacant: Vec<ShareId>,
}

impl Shares {
    pub(crate) fn cut(&self, cut: u32) -> &Cut {
        &self.cuts.cuts[cut as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever came and went before: what a question says is what is so once it is done.
    #[test]
    fn what_a_hose_would_leave_on_each_link_is_what_it_leaves() {
        let mut random = 7_u64;
        let mut draw = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % most
        };
        let (mut load, mut hoses) = (CutLoad::default(), Vec::new());
        for step in 0..2_000 {
            let comes = hoses.is_empty() || draw(5) < 3;
            let (spread, min, across) = if comes {
                let min = 1 + draw(9);
                (if draw(3) == 0 { Spread::AllPaths } else { Spread::OnePath }, min, min * (1 + draw(4)))
            } else {
                hoses.swap_remove(draw(hoses.len() as u64) as usize)
            };
            let links = 1 + draw(4) as usize;
            let asked = load.on_each_after(comes, spread, min, across, links);
            load.change(comes, spread, min, across);
            assert_eq!(asked, load.on_each(links), "step {step}");
            if comes {
                hoses.push((spread, min, across));
            }
        }
    }
}
