//! Attacks on links: all hoses and pairs put their worst common load on one link ([`crate::matching`]), beside
//! latency contracts with their whole bursts and rates. Objectives and best effort fill the rest of the link: their
//! classes must have traffic to send, or the guaranteed class gets their parts as well.
//!
//! Links are attacked in the order of need: the worst demand of minima on a link, relative to their permitted part of
//! the link.

use std::collections::BTreeSet;
use std::fmt;

use wayleave_scenarios::{Guaranteed, PairDemand, Period, Schedule, Tenants};
use wayleave_topology::{LinkId, NodeId};
use wayleave_units::{Rate, Time};

use crate::classes::ClassClaim;
use crate::effort::Effort;
use crate::matching::{Distances, largest};

/// The demands of an attack over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// One demand, from the start to the end.
    Steady,
    /// One demand in the first half of the run, and another one that is as large in the second half.
    Flip,
    /// One demand that is on and off in turn, at all hosts together.
    OnOff,
}

/// Times of [`Pattern::OnOff`]: windows of pairs that pause for many round trips shrink, and have to grow again.
fn pause(duration: Time) -> Time {
    Time::from_millis(1).max(Time::from_nanos(duration.as_nanos() / 16))
}

impl Pattern {
    /// All patterns.
    pub const ALL: [Self; 3] = [Self::Steady, Self::Flip, Self::OnOff];

    /// Returns the word of documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Flip => "flip",
            Self::OnOff => "on-off",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An attack on a link, with the promises that it puts to the test.
#[derive(Clone, Debug)]
pub struct LinkClaim {
    /// The link.
    pub link: LinkId,
    /// The demands over time.
    pub pattern: Pattern,
    /// The sum of the minima that send over the link together.
    pub demand: Rate,
    /// The minima that are asked for, by their numbers in the claim of all tenants.
    pub minima: Vec<usize>,
    /// The run. Its minima are those that are asked for.
    pub claim: ClassClaim,
}

impl Effort {
    /// Returns the number of links that are attacked, each with every pattern.
    pub(crate) fn links(&self) -> usize {
        match self.seeds {
            seeds if seeds <= Self::QUICK.seeds => 2,
            seeds if seeds <= Self::USUAL.seeds => 6,
            _ => 64,
        }
    }
}

/// The worst demands on one link.
struct Worst {
    link: LinkId,
    demand: Rate,
    /// Of the most that minima may have there, per mille.
    need: u128,
}

/// Returns attacks on `links` links, those with the smallest margin first.
pub(crate) fn attacks(tenants: &Tenants, whole: &ClassClaim, links: usize) -> Vec<LinkClaim> {
    let network = tenants.network();
    let contracts = tenants.guaranteed();
    if contracts.is_empty() {
        return Vec::new();
    }
    let distances = Distances::of(network, network.hosts());
    let mut worst: Vec<Worst> = considered(tenants, &contracts)
        .into_iter()
        .filter_map(|link| {
            let of = |contract: &Guaranteed| {
                let pairs = demand(contract, &distances, link, 0).len() as u64;
                contract.min.bits_per_second().saturating_mul(pairs)
            };
            let bits = contracts.iter().map(of).fold(0, u64::saturating_add);
            let most = tenants.promisable(link)?.bits_per_second().max(1);
            let need = u128::from(bits) * 1_000 / u128::from(most);
            (bits > 0).then_some(Worst { link, demand: Rate::from_bits_per_second(bits), need })
        })
        .collect();
    // Demands on the link of a host are alike in every pattern; links between switches show more.
    let hosts: BTreeSet<NodeId> = network.hosts().collect();
    let is_inner = |link: LinkId| {
        let link = network.link(link);
        !hosts.contains(&link.from) && !hosts.contains(&link.to)
    };
    worst.sort_by_key(|worst| (std::cmp::Reverse(worst.need), !is_inner(worst.link), worst.link));
    let attacked = worst.iter().take(links);
    attacked
        .flat_map(|worst| {
            Pattern::ALL.into_iter().map(|pattern| attack(tenants, whole, &contracts, &distances, worst, pattern))
        })
        .collect()
}

/// Maximum number of pairs of members that are inspected for the order of links: this takes seconds.
const PAIRS: usize = 50_000_000;

/// Returns the links whose worst demands are compared: all, or of large sets of contracts those on which latency contracts leave
/// least.
fn considered(tenants: &Tenants, contracts: &[Guaranteed]) -> Vec<LinkId> {
    let pairs: usize = contracts.iter().map(|contract| contract.members.len().pow(2)).sum();
    let mut links: Vec<LinkId> = tenants.network().links().map(|(link, _)| link).collect();
    let most = (PAIRS / pairs.max(1)).max(1);
    if links.len() > most {
        links.sort_by_key(|&link| (tenants.promisable(link), link));
        links.truncate(most);
    }
    links
}

/// Pairs of hosts without a contract that fill a link.
const FILLING: usize = 4;

/// Returns pairs of hosts that put the most of one contract on a link, each host sending to one and receiving from one.
fn demand(contract: &Guaranteed, distances: &Distances<'_>, link: LinkId, first: usize) -> Vec<(NodeId, NodeId)> {
    let members = &contract.members;
    if let (true, &[from, to, ..]) = (contract.is_pair, &members[..]) {
        return if distances.may_use(from, to, link) { vec![(from, to)] } else { Vec::new() };
    }
    across(members, distances, link, first)
}

/// Returns a largest set of pairs of members over a link.
fn across(members: &[NodeId], distances: &Distances<'_>, link: LinkId, first: usize) -> Vec<(NodeId, NodeId)> {
    let may = distances.across(link);
    largest(members.len(), first, |from, to| may(members[from], members[to]))
        .into_iter()
        .map(|(from, to)| (members[from], members[to]))
        .collect()
}

/// Returns pairs of hosts over a link that have no contract.
fn filling(tenants: &Tenants, distances: &Distances<'_>, link: LinkId) -> Vec<(NodeId, NodeId)> {
    let network = tenants.network();
    let hosts = || network.hosts();
    let may = distances.across(link);
    let of = |from: NodeId| hosts().find(|&to| may(from, to)).map(|to| (from, to));
    hosts().filter_map(of).take(FILLING).collect()
}

/// Returns the demands of all contracts that can send over a link.
fn demands(
    tenants: &Tenants,
    contracts: &[Guaranteed],
    distances: &Distances<'_>,
    link: LinkId,
    pattern: Pattern,
    duration: Time,
) -> Vec<PairDemand> {
    let half = Time::from_nanos(duration.as_nanos() / 2);
    let once = |from, on| Some(Schedule { periods: vec![Period { from, on, off: None }] });
    let mut demands = Vec::new();
    for contract in contracts {
        let pairs = demand(contract, distances, link, 0);
        if pairs.is_empty() {
            continue;
        }
        let mut add = |name, pairs, active| {
            demands.push(PairDemand { contract: contract.name.clone(), pattern: name, pairs, active });
        };
        match pattern {
            Pattern::Steady => add("across", pairs, None),
            Pattern::OnOff => {
                add("across", pairs, Some(Schedule::periodic(Time::ZERO, pause(duration), pause(duration))))
            }
            Pattern::Flip if contract.is_pair => add("across", pairs, None),
            Pattern::Flip => {
                let members = contract.members.len();
                let mut others = (1..members).map(|first| demand(contract, distances, link, first));
                // If there is only one largest matching, the reverse direction follows.
                let other = others.find(|other| *other != pairs);
                let other = other.unwrap_or_else(|| pairs.iter().map(|&(from, to)| (to, from)).collect());
                add("across", pairs, once(Time::ZERO, half));
                add("flipped", other, once(half, duration.saturating_sub(half)));
            }
        }
    }
    let others = tenants.without_minima().into_iter();
    demands.extend(others.filter_map(|(contract, members)| {
        let pairs = across(&members, distances, link, 0);
        (!pairs.is_empty()).then_some(PairDemand { contract, pattern: "across", pairs, active: None })
    }));
    demands
}

fn attack(
    tenants: &Tenants,
    whole: &ClassClaim,
    contracts: &[Guaranteed],
    distances: &Distances<'_>,
    worst: &Worst,
    pattern: Pattern,
) -> LinkClaim {
    let duration = whole.scenario.duration;
    let demands = demands(tenants, contracts, distances, worst.link, pattern, duration);
    let asked = |service: &str, host: NodeId| {
        demands.iter().any(|demand| demand.contract == service && demand.pairs.iter().any(|(_, to)| *to == host))
    };
    let minima = whole.minima.iter().enumerate();
    let minima: Vec<usize> =
        minima.filter(|(_, promise)| asked(&promise.service, promise.host)).map(|(number, _)| number).collect();
    let mut claim = ClassClaim {
        minima: minima.iter().map(|&number| whole.minima[number].clone()).collect(),
        // Weights are promised at hosts to members that send around a ring.
        weights: Vec::new(),
        ..whole.clone()
    };
    let fill = filling(tenants, distances, worst.link);
    claim.scenario.traffic = tenants.senders_with(duration, &demands, fill);
    LinkClaim { link: worst.link, pattern, demand: worst.demand, minima, claim }
}
