//! Needs of policies on each link, where minima of services and of contracts are held in one ledger.
//!
//! A policy states the demand of its services at a contention point; it is divided evenly over the links of the
//! point. Policies of several levels concern the same packets. So among levels the largest need counts on a link, and
//! policies of one level add up (Parley, 3.1: the most constrained decides).

use std::collections::BTreeMap;
use std::fmt;

use wayleave_topology::{LinkId, Network};
use wayleave_units::Rate;

use super::{ContentionPoint, Policy, PolicyLevel};

/// The minima of policies, link by link.
///
/// ```
/// use wayleave_contracts::{Bandwidth, LinkMinima, PerDirection, Policy, PolicyLevel, ServiceSpec};
/// use wayleave_topology::builders::{Cabling, build};
/// use wayleave_units::Rate;
/// let network = build::star(2, Cabling::default())?;
/// let terms = Bandwidth { min: Some(Rate::from_mbit(300)), ..Bandwidth::default() };
/// let service = ServiceSpec { name: "web".to_owned(), bandwidth: PerDirection { transmit: terms, receive: terms }, ..ServiceSpec::default() };
/// let policy = Policy::new(&network, "machines", PolicyLevel::Machine, Vec::new(), None, vec![service]).map_err(|errors| format!("{errors:?}"))?;
/// let mut minima = LinkMinima::default();
/// minima.add(&policy, &network);
/// assert!(minima.iter().all(|(_, min)| min == Rate::from_mbit(300)) && minima.iter().count() == 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkMinima {
    /// bit/s by link: of policies of machines, racks, and the fabric.
    by_link: BTreeMap<LinkId, [u64; 3]>,
}

/// Need that a policy adds to a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkNeed {
    /// The link.
    pub link: LinkId,
    /// Increase of the need of all policies together there.
    pub more: Rate,
    /// Need of policies of other levels there.
    pub anyway: Rate,
    /// The contention point of the policy that it is for.
    pub point: ContentionPoint,
    /// All minima of the policy there, together.
    pub asked: Rate,
    /// Over how many links these are divided.
    pub links: u64,
}

/// Error: a policy was refused because contracts have the rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyShort {
    /// The policy.
    pub policy: String,
    /// Its contention point, for people.
    pub place: String,
    /// All minima there, together.
    pub asked: Rate,
    /// The link that has too little left.
    pub link: String,
    /// Increase of the held rate there.
    pub more: Rate,
    /// Free rate of the guaranteed class there.
    pub left: Rate,
    /// The most that all minima at that point together could be, by this link; zero if nothing.
    pub fits: Rate,
}

impl PolicyShort {
    /// `need` is refused, with `left` of the guaranteed class on its link.
    pub fn new(policy: &Policy, need: &LinkNeed, left: Rate, network: &Network) -> Self {
        let &LinkNeed { link, more, anyway, point, asked, links } = need;
        let part = anyway.bits_per_second().saturating_add(left.bits_per_second());
        Self {
            policy: policy.name().to_owned(),
            place: point.describe(network),
            asked,
            link: network.link(link).name.clone(),
            more,
            left,
            // If no more is left, the need of other levels would still fit.
            fits: Rate::from_bits_per_second(part.saturating_mul(links)).min(asked),
        }
    }
}

impl fmt::Display for PolicyShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, place, asked, link, more, left, fits } = self;
        write!(
            f,
            "policy {policy} guarantees {asked:#} at {place}, which needs {more:#} more on {link} than other policies have reserved, \
             but the guaranteed class has {left:#} left there; "
        )?;
        match *fits {
            Rate::ZERO => write!(f, "no minimum would fit there"),
            fits => write!(f, "minima of {fits:#} in total would fit there"),
        }
    }
}

impl std::error::Error for PolicyShort {}

const fn level(level: PolicyLevel) -> usize {
    match level {
        PolicyLevel::Machine => 0,
        PolicyLevel::Rack => 1,
        PolicyLevel::Fabric => 2,
    }
}

impl LinkMinima {
    /// Adds what a policy needs; what that changes on each link, in the order of its contention points. Parts are rounded up.
    pub fn add(&mut self, policy: &Policy, network: &Network) -> Vec<LinkNeed> {
        let mut needs = Vec::new();
        for need in policy.needs(network) {
            let links = need.links.len().max(1) as u64;
            let part = need.min.bits_per_second().div_ceil(links);
            for link in need.links {
                let of_link = self.by_link.entry(link).or_default();
                let before = of_link.iter().copied().max().unwrap_or(0);
                let of_level = &mut of_link[level(policy.level())];
                *of_level = of_level.saturating_add(part);
                let more = Rate::from_bits_per_second(of_level.saturating_sub(before));
                let others = Rate::from_bits_per_second(before.saturating_sub(of_level.saturating_sub(part)));
                needs.push(LinkNeed { link, more, anyway: others, point: need.point, asked: need.min, links });
            }
        }
        needs
    }

    /// Returns the need of policies on each link, where it is not zero.
    pub fn iter(&self) -> impl Iterator<Item = (LinkId, Rate)> {
        let most = self.by_link.iter().map(|(&link, of)| (link, of.iter().copied().max().unwrap_or(0)));
        most.filter(|&(_, most)| most > 0).map(|(link, most)| (link, Rate::from_bits_per_second(most)))
    }
}
