//! Shares of services at a contention point at one instant, beside latency contracts if there are any.

use std::io::Write;

use serde::Serialize;
use wayleave_contracts::{ContentionPoint, Direction, PointTree, Policy, PolicyLevel};
use wayleave_explain::human::count;
use wayleave_explain::table::{TableLayout, plain_table, write_table};
use wayleave_sharing::{MAX_RATE, Shares, TreeNode};
use wayleave_topology::{LinkId, Network};
use wayleave_units::{Human, Rate, WallTime};

use crate::error::Error;
use crate::session::Session;

/// Name of the traffic that belongs to no service.
pub const OTHER: &str = "other";

/// A contention point, and the time of its policy.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PointOptions<'a> {
    at: Option<&'a str>,
    direction: Direction,
    when: Option<WallTime>,
    inner: Option<&'a Policy>,
}

impl<'a> PointOptions<'a> {
    /// Returns the first contention point to which the policy applies, before all changes of the policy.
    pub const fn new(direction: Direction) -> Self {
        Self { at: None, direction, when: None, inner: None }
    }

    /// Chooses the contention point at a host or a switch of a rack, by its name.
    #[must_use]
    pub fn with_at(self, at: impl Into<Option<&'a str>>) -> Self {
        Self { at: at.into(), ..self }
    }

    /// Applies the changes of the policy until this time.
    #[must_use]
    pub fn with_when(self, when: impl Into<Option<WallTime>>) -> Self {
        Self { when: when.into(), ..self }
    }

    /// Applies the maxima of the policy of the level below as well.
    #[must_use]
    pub fn with_inner(self, inner: impl Into<Option<&'a Policy>>) -> Self {
        Self { inner: inner.into(), ..self }
    }
}

/// A contention point with the demands and shares of services.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContentionPointShares {
    /// `VMs of h1`, in words.
    pub place: String,
    /// Capacity that services share.
    pub capacity: Rate,
    /// Services and their parts, parents first.
    pub rows: Vec<ServiceRow>,
}

/// A service, or a part of one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ServiceRow {
    /// Its path.
    pub name: String,
    #[serde(skip)]
    depth: usize,
    /// The machine or rack, if it is one of several.
    pub at: Option<String>,
    /// Minimum guaranteed share, if its demand is at least this large.
    pub min_bits_per_second: u64,
    /// Maximum share.
    pub max_bits_per_second: Option<u64>,
    /// Weight with which it shares the rest.
    pub weight: u32,
    /// Demand.
    pub demand_bits_per_second: u64,
    /// Share that it gets.
    pub share_bits_per_second: u64,
    /// `true` if its demand exceeds its share.
    pub limited: bool,
}

/// Returns the rate of a link that contracts have reserved.
pub fn reserved(session: &Session, link: LinkId) -> Rate {
    session.ledger().map_or(Rate::ZERO, |ledger| ledger.reserved(link))
}

/// `rack: 4 services at 9 racks`.
pub fn summary(policy: &Policy, network: &Network) -> String {
    let points = policy.points(network).len();
    let place = match policy.level() {
        PolicyLevel::Fabric => "the fabric".to_owned(),
        level => count(points, level.name()),
    };
    format!("{}: {} at {place}", policy.name(), count(policy.services().len(), "service"))
}

/// The shares at a contention point. Each demand is `SERVICE=RATE` or `SERVICE@NODE=RATE`, where the rate can be `all`;
/// services without one want nothing.
///
/// # Errors
/// If the policy does not apply there, or a demand is wrong.
pub fn shares(
    session: &Session,
    policy: &Policy,
    options: PointOptions<'_>,
    demands: &[String],
) -> Result<ContentionPointShares, Error> {
    let network = &*session.network;
    let PointOptions { at, direction, when, inner } = options;
    let point = point(at, policy, network)?;
    let shared = policy.point_tree(network, point, direction, when, inner);
    let mut shared = shared.map_err(|error| Error::Usage(error.to_string()))?;
    shared.capacity = policy.capacity_beside(network, point, direction, &|link| reserved(session, link));
    let demands = wanted(demands, &shared, policy, network)?;
    let mut shares = Shares::default();
    shares.compute(&shared.tree, shared.capacity, &demands);
    let rows = rows(&shared, policy, network, &shares);
    Ok(ContentionPointShares { place: point.describe(network), capacity: shared.capacity, rows })
}

fn point(at: Option<&str>, policy: &Policy, network: &Network) -> Result<ContentionPoint, Error> {
    let points = policy.points(network);
    let name = |point: &ContentionPoint| match point {
        ContentionPoint::Machine(node) | ContentionPoint::Rack(node) => network.node(*node).name.clone(),
        ContentionPoint::Fabric => "fabric".to_owned(),
    };
    let found = match at {
        None => points.first(),
        Some(at) => points.iter().find(|point| name(point) == at),
    };
    found.copied().ok_or_else(|| {
        let first: Vec<String> = points.iter().take(3).map(name).collect();
        Error::Usage(match at {
            None => "the policy applies to no node of this network".to_owned(),
            Some(at) => format!("the policy does not apply at \"{at}\", but at {}", first.join(", ")),
        })
    })
}

/// Returns the demand of each node of the tree.
fn wanted(list: &[String], shared: &PointTree, policy: &Policy, network: &Network) -> Result<Vec<Rate>, Error> {
    let mut demands = vec![Rate::ZERO; shared.tree.len()];
    for item in list {
        let wrong = |why: &str| Error::Usage(format!("--demands {item}: {why}"));
        let (who, rate) = item.split_once('=').ok_or_else(|| wrong("expected SERVICE=RATE, such as dfs=2Gbit"))?;
        let rate = match rate {
            "all" => MAX_RATE,
            rate => rate.parse().map_err(|error: wayleave_units::ParseUnitError| wrong(&error.to_string()))?,
        };
        let (name, at) = who.split_once('@').map_or((who, None), |(name, at)| (name, Some(at)));
        let meant = shared.leaves.iter().filter(|leaf| {
            let names = leaf.service.map(|service| (policy.services()[service].name.as_str(), policy.path(service)));
            let is_named = names.map_or(name == OTHER, |(short, path)| short == name || path == name);
            is_named && at.is_none_or(|at| leaf.at.is_some_and(|node| network.node(node).name == at))
        });
        let meant: Vec<TreeNode> = meant.map(|leaf| leaf.node).collect();
        if meant.is_empty() {
            let known = policy.services().iter().map(|service| service.name.as_str()).chain([OTHER]);
            let known: Vec<&str> = known.collect();
            return Err(wrong(&format!(
                "\"{who}\" is not at this contention point: the services are {}",
                known.join(", ")
            )));
        }
        meant.into_iter().for_each(|node| demands[node.index()] = rate);
    }
    Ok(demands)
}

/// The nodes, parents first. A machine that wants nothing of its service is left out.
fn rows(shared: &PointTree, policy: &Policy, network: &Network, shares: &Shares) -> Vec<ServiceRow> {
    let mut rows = Vec::new();
    for node in shared.tree.nodes().skip(1) {
        let leaf = shared.leaves.iter().find(|leaf| leaf.node == node);
        let service = shared.services.iter().position(|&service| service == Some(node));
        let at = leaf.and_then(|leaf| leaf.at);
        if at.is_some() && shares.demand(node) == Rate::ZERO {
            continue;
        }
        let name = match (service, leaf.and_then(|leaf| leaf.service)) {
            (Some(service), _) => policy.path(service),
            (None, Some(service)) if at.is_some() => policy.path(service),
            (None, Some(service)) => format!("{} ({OTHER})", policy.path(service)),
            (None, None) => OTHER.to_owned(),
        };
        let terms = shared.tree.terms(node);
        rows.push(ServiceRow {
            name,
            depth: std::iter::successors(shared.tree.parent(node), |&node| shared.tree.parent(node)).count() - 1,
            at: at.map(|node| network.node(node).name.clone()),
            min_bits_per_second: terms.min.bits_per_second(),
            max_bits_per_second: terms.max.map(Rate::bits_per_second),
            weight: terms.weight.get(),
            demand_bits_per_second: shares.demand(node).bits_per_second(),
            share_bits_per_second: shares.share(node).bits_per_second(),
            limited: shares.limit(node).is_some(),
        });
    }
    rows
}

impl ContentionPointShares {
    /// Writes the rows for people; with `terms_only` without what services want and get.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_table(&self, out: &mut impl Write, layout: TableLayout, terms_only: bool) -> Result<(), Error> {
        let headings = ["service", "at", "min", "max", "weight", "demand", "share", ""];
        let mut table = plain_table(if terms_only { &headings[..5] } else { &headings }, layout);
        let rate = |bits: u64| match bits {
            bits if bits >= MAX_RATE.bits_per_second() => "all".to_owned(),
            bits => Rate::from_bits_per_second(bits).down(),
        };
        for row in &self.rows {
            let indented = format!("{}{}", "\u{a0}\u{a0}".repeat(row.depth), row.name);
            let mut cells = vec![
                indented,
                row.at.clone().unwrap_or_default(),
                rate(row.min_bits_per_second),
                row.max_bits_per_second.map_or("-".to_owned(), rate),
                row.weight.to_string(),
            ];
            if !terms_only {
                let limited = if row.limited { "limited" } else { "" };
                cells.extend([rate(row.demand_bits_per_second), rate(row.share_bits_per_second), limited.to_owned()]);
            }
            table.add_row(cells);
        }
        Ok(write_table(out, &mut table)?)
    }
}
