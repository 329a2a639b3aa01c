//! Minima and weights link by link, with a certificate of the load that each share can put there.
//!
//! Certificates follow from the topology and the members of a share alone, not from the ledger, whose charge is stated beside them.
//! A hose whose hosts choose paths has a vertex cover: the members, as senders or receivers, of which every pair that may use the
//! link has one. It loads the link with at most its minimum times the size of the cover. A hose with even splits has dual prices
//! ([`super::prices`]). Members with the same attachment have paths through the same links between switches, so they are one group.

use std::collections::{BTreeMap, BTreeSet};

use num_traits::{CheckedMul as _, Zero as _};
use serde::Serialize;
use wayleave_calculus::Rational;
use wayleave_explain::Context;
use wayleave_ledger::{Ledger, PathSpread, ReservedShare};
use wayleave_scheme_api::Admission as _;
use wayleave_topology::{Class, LinkId, Network, NodeId, NodeKind};

use super::paths::{Attachment, Part, Paths};
use super::prices::{Edge, prices};

/// Terms of a share.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ShareTerms {
    /// Other contracts, and policies, may have shares of this name on other links.
    pub(super) contract: String,
    /// bit/s: the minimum, of a hose for each member, or the weight.
    rate: u64,
    certainty: &'static str,
    #[serde(flatten)]
    held: Held,
}

/// The links of a share.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Held {
    Pair { from: String, to: String, route: Vec<String> },
    Link { link: String },
    Hose { members: Vec<String>, paths: &'static str },
    Objective { members: Vec<String> },
}

/// The loads of all links, over the links that are open in a state of the network.
#[derive(Clone, Debug, Serialize)]
pub(super) struct State {
    /// `all_up`: every link. `now`: links that are not closed.
    state: &'static str,
    links: Vec<LinkLoads>,
}

/// The shares of a link.
#[derive(Clone, Debug, Serialize)]
struct LinkLoads {
    link: String,
    /// bit/s that latency contracts reserve.
    latency: u64,
    /// bit/s that the ledger has promised to the class.
    guaranteed: u64,
    objective: u64,
    loads: Vec<Load>,
}

/// The largest load of a share on a link.
#[derive(Clone, Debug, Serialize)]
struct Load {
    /// Its place in the list of shares.
    share: usize,
    /// bit/s, a fraction.
    load: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cover: Option<Sides<Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<Sides<BTreeMap<String, String>>>,
    /// The reason for a missing certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_exported: Option<&'static str>,
}

/// Members as senders and as receivers.
#[derive(Clone, Debug, Default, Serialize)]
struct Sides<T> {
    senders: T,
    receivers: T,
}

/// Terms of all shares, in the order of the ledger.
pub(super) fn terms(context: &Context<'_>, ledger: &Ledger) -> Vec<ShareTerms> {
    let network = context.network;
    let name = |node: NodeId| network.node(node).name.clone();
    let names = |members: &BTreeSet<NodeId>| members.iter().map(|&member| name(member)).collect();
    let link_name = |link: LinkId| network.link(link).name.clone();
    let of = |(id, share): (_, &ReservedShare)| {
        let (rate, held) = match share {
            ReservedShare::Pair { min, route, .. } => {
                let (first, last) = (route.hops.first()?, route.hops.last()?);
                let (from, to) = (network.link(first.link).from, network.link(last.link).to);
                let is_host = |node| network.node(node).kind == NodeKind::Host;
                let held = match &route.hops[..] {
                    // The minimum of a policy on one link.
                    [only] if !(is_host(from) && is_host(to)) => Held::Link { link: link_name(only.link) },
                    hops => Held::Pair {
                        from: name(from),
                        to: name(to),
                        route: hops.iter().map(|hop| link_name(hop.link)).collect(),
                    },
                };
                (min, held)
            }
            ReservedShare::Hose { min, members, spread, .. } => {
                let paths = if *spread == PathSpread::AllPaths { "all" } else { "one" };
                (min, Held::Hose { members: names(&members.iter().copied().collect()), paths })
            }
            ReservedShare::Objective { weight, members } => {
                (weight, Held::Objective { members: names(&members.iter().copied().collect()) })
            }
        };
        let contract = context.names.name_of_share(id).to_owned();
        let certainty = context.scheme.certainty(id).map_or("not stated", wayleave_scheme_api::Certainty::name);
        Some(ShareTerms { contract, rate: rate.bits_per_second(), certainty, held })
    };
    ledger.shares().filter_map(of).collect()
}

/// Returns the loads of all links: over all links, and over those that are not closed where some are.
pub(super) fn states(network: &Network, ledger: &Ledger, latency: &BTreeMap<LinkId, u64>) -> Vec<State> {
    let open: Vec<bool> = network.links().map(|(id, _)| !ledger.is_closed(id)).collect();
    let all = vec![true; open.len()];
    let now = open.contains(&false).then_some(("now", open));
    let states = [("all_up", all)].into_iter().chain(now);
    states.map(|(state, open)| State { state, links: loads(network, ledger, latency, open) }).collect()
}

fn loads(network: &Network, ledger: &Ledger, latency: &BTreeMap<LinkId, u64>, open: Vec<bool>) -> Vec<LinkLoads> {
    let mut paths = Paths::new(network, open);
    let mut all = BTreeMap::<LinkId, Vec<Load>>::new();
    for (index, (_, share)) in ledger.shares().filter(|(_, share)| !is_empty(share)).enumerate() {
        for (link, load) in share_loads(&mut paths, network, share) {
            all.entry(link).or_default().push(Load { share: index, ..load });
        }
    }
    let of = |(link, loads)| LinkLoads {
        link: network.link(link).name.clone(),
        latency: latency.get(&link).copied().unwrap_or(0),
        guaranteed: ledger.promised_to(link, Class::Guaranteed).bits_per_second(),
        objective: ledger.promised_to(link, Class::Objective).bits_per_second(),
        loads,
    };
    all.into_iter().map(of).collect()
}

/// Routes are never empty; [`terms`] leaves out what is.
fn is_empty(share: &ReservedShare) -> bool {
    matches!(share, ReservedShare::Pair { route, .. } if route.hops.is_empty())
}

fn share_loads(paths: &mut Paths<'_>, network: &Network, share: &ReservedShare) -> BTreeMap<LinkId, Load> {
    let whole = |rate: u64| Load { share: 0, load: rate.to_string(), cover: None, prices: None, not_exported: None };
    match share {
        ReservedShare::Pair { min, route, .. } => {
            route.hops.iter().map(|hop| (hop.link, whole(min.bits_per_second()))).collect()
        }
        ReservedShare::Objective { weight, members } => {
            let used = Used::of(paths, members);
            used.on.into_keys().map(|link| (link, whole(weight.bits_per_second()))).collect()
        }
        ReservedShare::Hose { min, members, spread, .. } => {
            let used = Used::of(paths, members);
            let of = |link: &LinkId| (*link, used.certificate(network, *link, min.bits_per_second(), *spread));
            used.on.keys().map(of).collect()
        }
    }
}

/// The links of hosts: group, direction (0 is out) and the node at the other end; for each, the other groups with their parts.
type Access = BTreeMap<(usize, usize, NodeId), Vec<(usize, Option<Part>)>>;

/// The pairs of members that may use each link, by groups.
struct Used {
    groups: Vec<Vec<NodeId>>,
    /// Group of senders, group of receivers, and the part of a pair's packets.
    on: BTreeMap<LinkId, Vec<(usize, usize, Option<Part>)>>,
}

impl Used {
    /// On links between switches a pair of groups represents all of its pairs. On the links of a host, the host is the only sender or
    /// receiver, so it becomes a group of its own.
    fn of(paths: &mut Paths<'_>, members: &[NodeId]) -> Self {
        let mut groups = BTreeMap::<(Attachment, Option<NodeId>), Vec<NodeId>>::new();
        for &member in &members.iter().copied().collect::<BTreeSet<_>>() {
            let attachment = paths.attachment(member);
            let alone = paths.has_host_neighbour(&attachment).then_some(member);
            groups.entry((attachment, alone)).or_default().push(member);
        }
        let mut used = Self { groups: groups.into_values().collect(), on: BTreeMap::new() };
        let shared = used.groups.len();
        let mut access = Access::new();
        for (one, other) in (0..shared).flat_map(|one| (0..shared).map(move |other| (one, other))) {
            let Some(&to) = used.groups[other].get(usize::from(one == other)) else { continue };
            let from = used.groups[one][0];
            for (link, part) in paths.links(from, to) {
                let (start, end) = paths.ends(link);
                if start == from {
                    access.entry((one, 0, end)).or_default().push((other, part));
                } else if end == to {
                    access.entry((other, 1, start)).or_default().push((one, part));
                } else {
                    used.on.entry(link).or_default().push((one, other, part));
                }
            }
        }
        used.add_access(paths, &access, shared);
        used
    }

    /// Adds the links of hosts. Their pairs all have the host in common.
    fn add_access(&mut self, paths: &Paths<'_>, access: &Access, shared: usize) {
        for group in 0..shared {
            for host in self.groups[group].clone() {
                let own = self.groups.len();
                self.groups.push(vec![host]);
                for (direction, links) in paths.access(host).into_iter().enumerate() {
                    for link in links {
                        let (start, end) = paths.ends(link);
                        let neighbour = if direction == 0 { end } else { start };
                        let Some(pairs) = access.get(&(group, direction, neighbour)) else { continue };
                        let pairs = pairs
                            .iter()
                            .map(|&(other, part)| if direction == 0 { (own, other, part) } else { (other, own, part) });
                        self.on.entry(link).or_default().extend(pairs);
                    }
                }
            }
        }
    }

    /// Returns the load of a hose on a link that some pair uses, with its certificates.
    fn certificate(&self, network: &Network, link: LinkId, min: u64, spread: PathSpread) -> Load {
        let pairs = self.on.get(&link).map_or(&[][..], Vec::as_slice);
        let even = self.even(network, pairs);
        let mut load = Load { share: 0, load: String::new(), cover: None, prices: None, not_exported: None };
        match (spread, &even) {
            (PathSpread::OnePath, _) => {
                let (cover, size) = self.cover(network, pairs);
                (load.load, load.cover) = ((i128::from(min) * size).to_string(), Some(cover));
            }
            (PathSpread::AllPaths, Some((_, sum))) => {
                load.load = (sum * Rational::from_integer(min.into())).to_string();
            }
            (PathSpread::AllPaths, None) => {
                load.not_exported = Some("even splits: parts that no fraction of 128 bits expresses")
            }
        }
        load.prices = even.map(|(prices, _)| prices);
        load
    }

    /// Returns a smallest vertex cover of the pairs, and its size.
    fn cover(&self, network: &Network, pairs: &[(usize, usize, Option<Part>)]) -> (Sides<Vec<String>>, i128) {
        let edges: Vec<Edge> = pairs.iter().map(|&(from, to, _)| Edge { from, to, value: 1 }).collect();
        let found = prices(&self.sizes(&edges), &edges);
        let side = |prices: &[i128]| {
            let covered = prices.iter().zip(&self.groups).filter(|&(&price, _)| price > 0);
            covered.flat_map(|(_, hosts)| hosts).map(|&host| network.node(host).name.clone()).collect::<Vec<_>>()
        };
        let (senders, receivers) = (side(&found.senders), side(&found.receivers));
        let size = (senders.len() + receivers.len()) as i128;
        (Sides { senders, receivers }, size)
    }

    /// Returns the cheapest prices of the parts of all pairs, and their sum over members.
    fn even(
        &self,
        network: &Network,
        pairs: &[(usize, usize, Option<Part>)],
    ) -> Option<(Sides<BTreeMap<String, String>>, Rational)> {
        let whole = pairs.iter().try_fold(1_i128, |whole, (_, _, part)| {
            // The least common multiple: a reduced fraction has the factor that is missing.
            whole.checked_mul(*Part::new(*part.as_ref()?.denom(), whole).numer())
        })?;
        // Prices are sums and differences of values: far below the range of 128 bits.
        let whole = Some(whole).filter(|&whole| whole < 1 << 96)?;
        let edge = |&(from, to, part): &(usize, usize, Option<Part>)| {
            Some(Edge { from, to, value: part?.checked_mul(&Part::from_integer(whole))?.to_integer() })
        };
        let edges: Vec<Edge> = pairs.iter().map(edge).collect::<Option<_>>()?;
        let found = prices(&self.sizes(&edges), &edges);
        let mut sum = Rational::zero();
        let mut side = |prices: &[i128]| {
            let mut named = BTreeMap::new();
            for (&price, hosts) in prices.iter().zip(&self.groups).filter(|&(&price, _)| price > 0) {
                sum += Rational::new((price * hosts.len() as i128).into(), whole.into());
                let price = Part::new(price, whole).to_string();
                named.extend(hosts.iter().map(|&host| (network.node(host).name.clone(), price.clone())));
            }
            named
        };
        let (senders, receivers) = (side(&found.senders), side(&found.receivers));
        Some((Sides { senders, receivers }, sum))
    }

    /// Returns the number of members of every group that an edge joins; none of the others.
    fn sizes(&self, edges: &[Edge]) -> Vec<i128> {
        let mut sizes = vec![0; self.groups.len()];
        for group in edges.iter().flat_map(|edge| [edge.from, edge.to]) {
            sizes[group] = self.groups[group].len() as i128;
        }
        sizes
    }
}
