//! Times by which minima are reached, and their amounts in flight.
//!
//! If a contract defines `within`, admission keeps the budgets of all links on the path, and the decision is the
//! promise. Otherwise the same sum is computed from the present state of links. It is `d` of every link for all pairs
//! that can meet there, two round trips, a token period, and a packet for every receiver
//! (`wayleave_topology::classes`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wayleave_contracts::{BandwidthContract, Contract, Endpoints};
use wayleave_topology::{Class, HopDistances, LinkId, Network, NodeId, NodeKind};
use wayleave_units::{Amount, Bytes, Rate, Time};

use super::{SharingTenant, Tenants, is_pair, members};
use crate::StaticLimits;

/// Period at which hosts reassign tokens (uFAB, section 5.1).
const TOKEN_PERIOD: Time = Time::from_micros(32);

/// A minimum at a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// The contract.
    pub name: String,
    /// The host.
    pub host: NodeId,
    /// Of the pair, or of the hose there.
    pub min: Rate,
    /// In any time `t` with demand to send there, at least `min (t - within)` arrives.
    pub within: Time,
}

/// Guaranteed weight of an objective at a host, if its members send around a ring and are always backlogged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The contract.
    pub name: String,
    /// The host.
    pub host: NodeId,
    /// Its weight on every link.
    pub rate: Rate,
}

/// Maximum rate of a contract at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maximum {
    /// The contract.
    pub name: String,
    /// Host at which it sends and receives.
    pub host: NodeId,
    /// No more than this, in each limited direction.
    pub max: Rate,
    /// Amount that may exceed it at once.
    pub burst: Bytes,
    /// Limited directions at the host.
    pub limits: LimitedTraffic,
}

/// Directions in which a maximum limits the traffic of a contract at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedTraffic {
    /// Sent traffic: of best effort, and of the sender of a pair.
    Sent,
    /// Received traffic: of the receiver of a pair.
    Received,
    /// Each direction: of a hose.
    Both,
}

/// The terms of a bandwidth contract at a receiver at which it meets others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Competitor {
    /// The contract.
    pub name: String,
    /// Its sender.
    pub from: NodeId,
    /// Rate that it gets before any contract gets more.
    pub min: Rate,
    /// Weight of its part above all minima; only ratios count.
    pub weight: u64,
    /// It gets no more.
    pub max: Option<Rate>,
    /// The round trip on its fastest path at least: a frame there and an answer back.
    pub round_trip: Time,
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
            is_pair: matches!(contract.between, Endpoints::Pair(..)),
            min: contract.min,
        };
        self.bandwidth().map(of).collect()
    }

    /// Returns the names and members of objectives and of best effort.
    pub fn without_minima(&self) -> Vec<(String, Vec<NodeId>)> {
        let others = self.sharing.iter().map(|tenant| &tenant.contract);
        let others = others.filter(|contract| matches!(contract, Contract::Objective(_) | Contract::BestEffort(_)));
        others.map(|contract| (contract.name().to_owned(), members(contract))).collect()
    }

    /// Returns the most that minima may have of a link beside its latency contracts; `None` for a link that is not there.
    pub fn promisable(&self, link: LinkId) -> Option<Rate> {
        let (link, residual) = self.links.get(link.index())?;
        Some(link.promisable(Class::Guaranteed, residual.rate))
    }

    /// The maxima of bandwidth contracts and of best effort at their hosts.
    pub fn maxima(&self) -> Vec<Maximum> {
        let of = |tenant: &SharingTenant| {
            let (max, burst) = match &tenant.contract {
                Contract::Bandwidth(contract) => (contract.max, Bytes::ZERO),
                Contract::BestEffort(contract) => (contract.max, StaticLimits::default().burst),
                Contract::Latency(_) | Contract::Objective(_) => (None, Bytes::ZERO),
            };
            let (name, is_pair) = (tenant.contract.name(), is_pair(&tenant.contract));
            let at = |(place, host)| {
                let limits = match &tenant.contract {
                    Contract::Bandwidth(_) if is_pair && place == 0 => LimitedTraffic::Sent,
                    Contract::Bandwidth(_) if is_pair => LimitedTraffic::Received,
                    Contract::Bandwidth(_) => LimitedTraffic::Both,
                    _ => LimitedTraffic::Sent,
                };
                Some(Maximum { name: name.to_owned(), host, max: max?, burst, limits })
            };
            members(&tenant.contract).into_iter().enumerate().filter_map(at).collect::<Vec<_>>()
        };
        self.sharing.iter().flat_map(of).collect()
    }

    /// The host at which most bandwidth contracts can receive, with those contracts, each from a host of its own; `None` if no two meet. The link of that host is the only
    /// one that limits them: it has one, and no link on their paths has less for their class.
    pub fn competitors(&self) -> Option<(NodeId, Vec<Competitor>)> {
        let at = |to: NodeId| {
            let distances = HopDistances::to(&self.network, to);
            let left = |link: LinkId| self.links.get(link.index()).map(|(_, residual)| residual.rate);
            let line = match self.network.links_into(to) {
                [link] => left(*link),
                _ => None,
            };
            let is_limited_here = |from: NodeId| {
                let links = distances.shortest_path_links(&self.network, from);
                !links.is_empty() && line.is_some() && links.into_iter().all(|link| left(link) >= line)
            };
            let round_trip = |from: NodeId| {
                // In each layer the fastest links.
                let mut least: BTreeMap<u32, u64> = BTreeMap::new();
                for id in distances.shortest_path_links(&self.network, from) {
                    let link = self.network.link(id);
                    let frame = self.links.get(id.index()).map_or(Bytes::ZERO, |(shared, _)| shared.frame);
                    let frame = Amount::from(frame).time_at(link.rate).unwrap_or(Time::ZERO);
                    let round_trip = link.propagation.as_nanos().saturating_mul(2).saturating_add(frame.as_nanos());
                    let layer = least.entry(distances.from(link.from).unwrap_or(0)).or_insert(round_trip);
                    *layer = round_trip.min(*layer);
                }
                Time::from_nanos(least.values().fold(0, |sum, &time| sum.saturating_add(time)))
            };
            let mut senders = BTreeSet::from([to]);
            let mut competitors = Vec::new();
            for (contract, _) in self.bandwidth() {
                let from = match &contract.between {
                    Endpoints::Pair(from, receiver) => {
                        Some(*from).filter(|&from| *receiver == to && is_limited_here(from))
                    }
                    Endpoints::Hose(members) if members.contains(&to) => {
                        members.iter().copied().find(|&member| !senders.contains(&member) && is_limited_here(member))
                    }
                    Endpoints::Hose(_) => None,
                };
                let Some(from) = from.filter(|&from| senders.insert(from)) else { continue };
                competitors.push(Competitor {
                    name: contract.name.clone(),
                    from,
                    min: contract.min,
                    weight: contract.weight_in_thousandths(),
                    max: contract.max,
                    round_trip: round_trip(from),
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
            Contract::Objective(contract) => {
                let at = |&host: &NodeId| Weight { name: contract.name.clone(), host, rate: contract.min };
                contract.members.iter().map(at).collect()
            }
            _ => Vec::new(),
        };
        self.sharing.iter().flat_map(of).collect()
    }

    /// The minima at all receivers. Where nothing is left for a class, there are none.
    pub fn minima(&self) -> Vec<Minimum> {
        let mut times = None;
        let of = |(contract, within): (&BandwidthContract, Option<Time>)| {
            let hosts = contract.between.hosts();
            let receivers = match contract.between {
                Endpoints::Pair(..) => &hosts[1..],
                Endpoints::Hose(_) => &hosts[..],
            };
            let within = within.or_else(|| times.get_or_insert_with(|| Times::of(self)).within(contract, &hosts));
            let at = |&host| Some(Minimum { name: contract.name.clone(), host, min: contract.min, within: within? });
            receivers.iter().filter_map(at).collect::<Vec<_>>()
        };
        self.bandwidth().flat_map(of).collect()
    }

    /// Returns the maximum amount that pairs have in flight on each link, if there can be any.
    pub fn held(&self) -> Vec<(LinkId, Bytes)> {
        let counts = Counts::of(self);
        let of = |(id, _): (LinkId, _)| {
            let (link, residual) = self.links.get(id.index())?;
            let Meeting { pairs, minima } = counts.on(self.host_of(id));
            let minima = Rate::from_bits_per_second(minima).min(link.promisable(Class::Guaranteed, residual.rate));
            let held = link.held(residual, pairs, minima)?;
            let bytes = Bytes::new(u64::try_from(held.nanobits() / 8_000_000_000).unwrap_or(u64::MAX));
            (pairs > 0).then_some((id, bytes))
        };
        self.network.links().filter_map(of).collect()
    }

    /// Returns the amount that windows alone have in flight, without the amount that pairs may send beside them. It
    /// is `I`, plus the excess of a frame over a pair's part, since each pair may have one in flight.
    pub fn in_windows(&self) -> Vec<(LinkId, Bytes)> {
        let counts = Counts::of(self);
        let of = |(id, _): (LinkId, _)| {
            let (link, residual) = self.links.get(id.index())?;
            let pairs = counts.on(self.host_of(id)).pairs;
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
            Contract::Bandwidth(contract) => Some((contract, tenant.within)),
            _ => None,
        })
    }

    /// Hosts at the ends of a link; none within the network.
    fn host_of(&self, link: LinkId) -> Option<NodeId> {
        let link = self.network.link(link);
        [link.from, link.to].into_iter().find(|&end| self.network.node(end).kind == NodeKind::Host)
    }
}

/// The pairs and minima that can meet on a link.
#[derive(Clone, Copy, Debug, Default)]
struct Meeting {
    /// Pairs: where members of a hose are on both sides of the link, as many as there can be then.
    pairs: u64,
    /// The sum of minima in bit/s.
    minima: u64,
}

impl Meeting {
    fn add(&mut self, pairs: u64, minima: u64) {
        (self.pairs, self.minima) = (self.pairs.saturating_add(pairs), self.minima.saturating_add(minima));
    }
}

/// The pairs and minima that can meet on links, which are the same for all links of a host, and for all links between switches.
struct Counts {
    /// By the index of the host.
    at: Vec<Meeting>,
    between: Meeting,
}

impl Counts {
    fn of(tenants: &Tenants) -> Self {
        let mut counts =
            Self { at: vec![Meeting::default(); tenants.network.nodes().len()], between: Meeting::default() };
        for (contract, _) in tenants.bandwidth() {
            let hosts = contract.between.hosts();
            let (members, min) = (hosts.len() as u64, contract.min.bits_per_second());
            let (at_host, between) = match contract.between {
                Endpoints::Pair(..) => (1, 1),
                Endpoints::Hose(_) => (members.saturating_sub(1), (members / 2) * members.div_ceil(2)),
            };
            hosts.iter().for_each(|host| counts.at[host.index()].add(at_host, min));
            counts.between.add(between, min.saturating_mul(members / 2));
        }
        counts
    }

    /// On a link of a host, or on one between switches.
    fn on(&self, host: Option<NodeId>) -> Meeting {
        host.map_or(self.between, |host| self.at[host.index()])
    }
}

/// Terms of which times of minima are sums, from the present state of links.
struct Times<'t> {
    network: &'t Network,
    /// The longest wait on a link of a host in nanoseconds, by the index of the host; `None` where a wait has no bound.
    at: Vec<Option<u64>>,
    /// The longest between switches.
    between: Option<u64>,
    round_trip: Time,
    largest_frame: Option<Bytes>,
    /// By destination.
    distances: HashMap<NodeId, HopDistances>,
}

impl<'t> Times<'t> {
    fn of(tenants: &'t Tenants) -> Self {
        let counts = Counts::of(tenants);
        let (mut at, mut between) = (vec![Some(0); tenants.network.nodes().len()], Some(0));
        for (id, _) in tenants.network.links() {
            let host = tenants.host_of(id);
            let wait = tenants
                .links
                .get(id.index())
                .and_then(|(link, residual)| Some(link.longest_wait(residual, counts.on(host).pairs)?.as_nanos()));
            let longest = host.map_or(&mut between, |host| &mut at[host.index()]);
            *longest = longest.zip(wait).map(|(longest, wait)| longest.max(wait));
        }
        let largest_frame = tenants.links.iter().map(|(link, _)| link.frame).max();
        let (network, round_trip) = (&*tenants.network, tenants.round_trip());
        Self { network, at, between, round_trip, largest_frame, distances: HashMap::new() }
    }

    /// By when a minimum is there.
    fn within(&mut self, contract: &BandwidthContract, hosts: &[NodeId]) -> Option<Time> {
        let longest = |longest: u64, host: &NodeId| Some(longest.max(self.at[host.index()]?));
        let at_hosts = hosts.iter().try_fold(0, longest)?;
        let receivers = match contract.between {
            Endpoints::Pair(..) => 1,
            Endpoints::Hose(_) => hosts.len() as u64 - 1,
        };
        let frames = Bytes::new(self.largest_frame?.get().saturating_mul(receivers));
        let packets = Amount::from(frames).time_at(contract.min)?;
        let switches = self.hops(hosts)?.saturating_sub(2);
        let waits = (2 * at_hosts).saturating_add(self.between?.saturating_mul(switches));
        let parts = [self.round_trip, self.round_trip, TOKEN_PERIOD, packets];
        parts.into_iter().try_fold(Time::from_nanos(waits), Time::checked_add)
    }

    /// The most links between two of these hosts, along shortest paths; `None` if no path joins two of them.
    fn hops(&mut self, hosts: &[NodeId]) -> Option<u64> {
        let mut most = 0;
        for &to in hosts {
            let distances = self.distances.entry(to).or_insert_with(|| HopDistances::to(self.network, to));
            for &from in hosts {
                most = most.max(distances.from(from)?);
            }
        }
        Some(u64::from(most))
    }
}
