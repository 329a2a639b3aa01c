//! By when minima are there, and what they have in flight.
//!
//! Where a contract says `within`, admission keeps the budgets of all links on the way, and what was decided is the promise. Elsewhere the same sum is made of what
//! links are now: `d` of every link for all pairs that can meet there, two round trips, a token period, and a packet for every receiver
//! (`wayleave_topology::classes`).

use std::collections::{BTreeSet, VecDeque};

use wayleave_contracts::{AnyContract, BandwidthContract, Between};
use wayleave_topology::{Class, LinkId, NodeId, NodeKind};
use wayleave_units::{Amount, Bytes, Rate, Time};

use super::{SharingTenant, Tenants, is_pair, members};

/// How often hosts give tokens anew (uFAB, section 5.1).
const TOKEN_PERIOD: Time = Time::from_micros(32);

/// A minimum at a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// The contract.
    pub name: String,
    /// Where.
    pub host: NodeId,
    /// Of the pair, or of the hose there.
    pub min: Rate,
    /// In any time `t` in which somebody wants to send there, at least `min (t - within)` arrives.
    pub within: Time,
}

/// What an objective is sure to get at a host, where its members send around a ring and always have something to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The contract.
    pub name: String,
    /// Where.
    pub host: NodeId,
    /// Its weight on every link.
    pub rate: Rate,
}

/// What a bandwidth contract gets at most at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maximum {
    /// The contract.
    pub name: String,
    /// Where it sends and receives.
    pub host: NodeId,
    /// No more than this in each direction.
    pub max: Rate,
}

/// The terms of a bandwidth contract at a receiver at which it meets others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Competitor {
    /// The contract.
    pub name: String,
    /// Its sender.
    pub from: NodeId,
    /// What it gets before anybody gets more.
    pub min: Rate,
    /// Its part of what is above all minima; only ratios count.
    pub weight: u64,
    /// It gets no more.
    pub max: Option<Rate>,
}

/// A contract with a minimum, as it may load links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guaranteed {
    /// The contract.
    pub name: String,
    /// Its members, which all may send to one another; of a pair, the sender and the receiver.
    pub members: Vec<NodeId>,
    /// Only the first member sends, and only to the second.
    pub is_pair: bool,
    /// The minimum of a pair, or of every member.
    pub min: Rate,
}

impl Tenants {
    /// Returns the contracts with minima.
    pub fn guaranteed(&self) -> Vec<Guaranteed> {
        let of = |(contract, _): (&BandwidthContract, _)| Guaranteed {
            name: contract.name.clone(),
            members: contract.between.hosts(),
            is_pair: matches!(contract.between, Between::Pair(..)),
            min: contract.min,
        };
        self.bandwidth().map(of).collect()
    }

    /// Returns the names and members of objectives and of best effort.
    pub fn without_minima(&self) -> Vec<(String, Vec<NodeId>)> {
        let others = self.sharing.iter().map(|tenant| &tenant.contract);
        let others =
            others.filter(|contract| matches!(contract, AnyContract::Objective(_) | AnyContract::BestEffort(_)));
        others.map(|contract| (contract.name().to_owned(), members(contract))).collect()
    }

    /// Returns the most that minima may have of a link beside its latency contracts; `None` for a link that is not there.
    pub fn promisable(&self, link: LinkId) -> Option<Rate> {
        let (link, residual) = self.links.get(link.index())?;
        Some(link.promisable(Class::Guaranteed, residual.rate))
    }

    /// The maxima of bandwidth contracts at their hosts.
    pub fn maxima(&self) -> Vec<Maximum> {
        let of = |(contract, _): (&BandwidthContract, _)| {
            let at = |host| Some(Maximum { name: contract.name.clone(), host, max: contract.max? });
            contract.between.hosts().into_iter().filter_map(at).collect::<Vec<_>>()
        };
        self.bandwidth().flat_map(of).collect()
    }

    /// The host at which most bandwidth contracts can receive, with those contracts, each from a host of its own; `None` if no two meet.
    pub fn competitors(&self) -> Option<(NodeId, Vec<Competitor>)> {
        let at = |to: NodeId| {
            let mut senders = BTreeSet::from([to]);
            let mut competitors = Vec::new();
            for (contract, _) in self.bandwidth() {
                let from = match &contract.between {
                    Between::Pair(from, receiver) => Some(*from).filter(|_| *receiver == to),
                    Between::Hose(members) if members.contains(&to) => {
                        members.iter().copied().find(|member| !senders.contains(member))
                    }
                    Between::Hose(_) => None,
                };
                let Some(from) = from.filter(|&from| senders.insert(from)) else { continue };
                competitors.push(Competitor {
                    name: contract.name.clone(),
                    from,
                    min: contract.min,
                    weight: contract.weight_in_thousandths(),
                    max: contract.max,
                });
            }
            (to, competitors)
        };
        let hosts: BTreeSet<NodeId> = self.bandwidth().flat_map(|(contract, _)| contract.between.hosts()).collect();
        let met = hosts.into_iter().map(at).filter(|(_, competitors)| competitors.len() > 1);
        met.min_by_key(|(host, competitors)| (std::cmp::Reverse(competitors.len()), *host))
    }

    /// The weights of objectives at their members.
    pub fn weights(&self) -> Vec<Weight> {
        let of = |tenant: &SharingTenant| match &tenant.contract {
            AnyContract::Objective(contract) => {
                let at = |&host: &NodeId| Weight { name: contract.name.clone(), host, rate: contract.min };
                contract.members.iter().map(at).collect()
            }
            _ => Vec::new(),
        };
        self.sharing.iter().flat_map(of).collect()
    }

    /// The minima at all receivers. Where nothing is left for a class, there are none.
    pub fn minima(&self) -> Vec<Minimum> {
        let of = |(contract, within): (&BandwidthContract, Option<Time>)| {
            let hosts = contract.between.hosts();
            let receivers = match contract.between {
                Between::Pair(..) => &hosts[1..],
                Between::Hose(_) => &hosts[..],
            };
            let within = within.or_else(|| self.within(contract, &hosts));
            let at = |&host| Some(Minimum { name: contract.name.clone(), host, min: contract.min, within: within? });
            receivers.iter().filter_map(at).collect::<Vec<_>>()
        };
        self.bandwidth().flat_map(of).collect()
    }

    /// What pairs have in flight on each link at most, where any can be.
    pub fn held(&self) -> Vec<(LinkId, Bytes)> {
        let of = |(id, _): (LinkId, _)| {
            let (link, residual) = self.links.get(id.index())?;
            let minima = self.minima_on(id).min(link.promisable(Class::Guaranteed, residual.rate));
            let held = link.held(residual, self.pairs_on(id), minima)?;
            let bytes = Bytes::new(u64::try_from(held.nanobits() / 8_000_000_000).unwrap_or(u64::MAX));
            (self.pairs_on(id) > 0).then_some((id, bytes))
        };
        self.network.links().filter_map(of).collect()
    }

    /// What windows alone have in flight, without what pairs may send beside them: `I`, and what a frame is more than the part of a pair, since each may have
    /// one in flight.
    pub fn in_windows(&self) -> Vec<(LinkId, Bytes)> {
        let of = |(id, _): (LinkId, _)| {
            let (link, residual) = self.links.get(id.index())?;
            let pairs = self.pairs_on(id);
            let windows = u64::try_from(link.in_flight(residual).nanobits() / 8_000_000_000).unwrap_or(u64::MAX);
            let carried =
                u128::from(link.capacity(residual).bits_per_second()) * u128::from(link.round_trip.as_nanos());
            let own = u64::try_from(carried / 8_000_000_000).unwrap_or(u64::MAX).checked_div(pairs)?;
            let frames = link.frame.get().saturating_sub(own).saturating_mul(pairs);
            Some((id, Bytes::new(windows.saturating_add(frames))))
        };
        self.network.links().filter_map(of).collect()
    }

    fn bandwidth(&self) -> impl Iterator<Item = (&BandwidthContract, Option<Time>)> {
        self.sharing.iter().filter_map(|tenant| match &tenant.contract {
            AnyContract::Bandwidth(contract) => Some((contract, tenant.within)),
            _ => None,
        })
    }

    /// Hosts at the ends of a link; none within the network.
    fn host_of(&self, link: LinkId) -> Option<NodeId> {
        let link = self.network.link(link);
        [link.from, link.to].into_iter().find(|&end| self.network.node(end).kind == NodeKind::Host)
    }

    /// The pairs that can meet on a link: where members of a hose are on both sides of it, as many as there can be then.
    fn pairs_on(&self, link: LinkId) -> u64 {
        let host = self.host_of(link);
        let of = |contract: &BandwidthContract| {
            let hosts = contract.between.hosts();
            let is_there = host.is_none_or(|host| hosts.contains(&host));
            let members = hosts.len() as u64;
            match (is_there, is_pair(&AnyContract::Bandwidth(contract.clone())), host) {
                (false, ..) => 0,
                (true, true, _) => 1,
                (true, false, Some(_)) => members - 1,
                (true, false, None) => (members / 2) * members.div_ceil(2),
            }
        };
        self.bandwidth().map(|(contract, _)| of(contract)).sum()
    }

    /// The minima that can meet on a link.
    fn minima_on(&self, link: LinkId) -> Rate {
        let host = self.host_of(link);
        let of = |contract: &BandwidthContract| {
            let hosts = contract.between.hosts();
            let times = match host {
                Some(host) if !hosts.contains(&host) => 0,
                Some(_) => 1,
                None => hosts.len() as u64 / 2,
            };
            contract.min.bits_per_second().saturating_mul(times)
        };
        let sum = self.bandwidth().map(|(contract, _)| of(contract)).fold(0, u64::saturating_add);
        Rate::from_bits_per_second(sum)
    }

    /// By when a minimum is there, from what links are now.
    fn within(&self, contract: &BandwidthContract, hosts: &[NodeId]) -> Option<Time> {
        let wait = |is_of: &dyn Fn(Option<NodeId>) -> bool| -> Option<u64> {
            let links = self.network.links().filter(|(id, _)| is_of(self.host_of(*id)));
            let waits = links.map(|(id, _)| {
                let (link, residual) = self.links.get(id.index())?;
                Some(link.longest_wait(residual, self.pairs_on(id))?.as_nanos())
            });
            waits.collect::<Option<Vec<_>>>()?.into_iter().max().or(Some(0))
        };
        let at_hosts = wait(&|host| host.is_some_and(|host| hosts.contains(&host)))?;
        let between = wait(&|host| host.is_none())?;
        let receivers = if is_pair(&AnyContract::Bandwidth(contract.clone())) { 1 } else { hosts.len() as u64 - 1 };
        let largest = self.links.iter().map(|(link, _)| link.frame).max()?;
        let packets = Amount::from(Bytes::new(largest.get().saturating_mul(receivers))).time_at(contract.min)?;
        let switches = self.hops(hosts)?.saturating_sub(2);
        let waits = (2 * at_hosts).saturating_add(between.saturating_mul(switches));
        let round_trip = self.round_trip();
        [round_trip, round_trip, TOKEN_PERIOD, packets].into_iter().try_fold(Time::from_nanos(waits), Time::checked_add)
    }

    /// The most links between two of these hosts, along shortest ways.
    fn hops(&self, hosts: &[NodeId]) -> Option<u64> {
        hosts.iter().map(|&host| self.farthest(host, hosts)).collect::<Option<Vec<_>>>()?.into_iter().max()
    }

    fn farthest(&self, from: NodeId, hosts: &[NodeId]) -> Option<u64> {
        let mut left: BTreeSet<NodeId> = hosts.iter().copied().filter(|&host| host != from).collect();
        let mut seen = BTreeSet::from([from]);
        let mut queue = VecDeque::from([(from, 0)]);
        let mut farthest = 0;
        while let Some((node, hops)) = queue.pop_front() {
            if left.remove(&node) {
                farthest = hops;
            }
            for &link in self.network.links_from(node) {
                let next = self.network.link(link).to;
                if seen.insert(next) {
                    queue.push_back((next, hops + 1));
                }
            }
        }
        left.is_empty().then_some(farthest)
    }
}
