//! Minima of policies of services in the ledger of contracts, where queues are divided among classes: both count in one sum, so a contract is
//! refused where services need the rate, and a policy where contracts have it.
//!
//! A policy says what its services may want at a contention point; over the links of the point that is divided evenly. Policies of several levels are
//! about the same packets, so of levels the largest counts on a link, and policies of one level add up.

use std::collections::BTreeMap;
use std::fmt;

use wayleave_contracts::{Policy, PolicyLevel, PolicyNeed};
use wayleave_ledger::ShareDenial;
use wayleave_topology::LinkId;
use wayleave_units::Rate;

use crate::session::Session;

/// What policies hold of a session's ledger.
#[derive(Clone, Debug, Default)]
pub struct PolicyMinima {
    /// bit/s by link: of policies of machines, racks, and the fabric.
    by_link: BTreeMap<LinkId, [u64; 3]>,
}

/// Why a policy was refused.
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
    /// The part of the link that is missing without it.
    pub more: Rate,
    /// What is left of the guaranteed class there.
    pub left: Rate,
}

impl fmt::Display for PolicyShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, place, asked, link, more, left } = self;
        write!(
            f,
            "policy \"{policy}\" guarantees {asked} at {place}, {more} more of it on {link} than is held there, and the guaranteed class \
             has {left} left beside contracts"
        )
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

impl PolicyMinima {
    /// Holds what a policy needs, beside everything that the session has admitted; all of it, or nothing.
    ///
    /// # Errors
    /// The first link that has too little left.
    pub fn hold(&mut self, session: &mut Session, policy: &Policy) -> Result<(), PolicyShort> {
        let network = session.network.clone();
        let mut after = self.by_link.clone();
        let mut taken = Vec::new();
        for PolicyNeed { point, links, min, .. } in policy.needs(&network) {
            let part = min.bits_per_second().div_ceil(links.len().max(1) as u64);
            for link in links {
                let of_link = after.entry(link).or_default();
                let held = of_link.iter().copied().max().unwrap_or(0);
                let of_level = &mut of_link[level(policy.level())];
                *of_level = of_level.saturating_add(part);
                let more = Rate::from_bits_per_second(of_level.saturating_sub(held));
                let held = session.hold_minimum(link, more, policy.name());
                match held {
                    Ok(share) => taken.extend(share),
                    Err(denial) => {
                        taken.into_iter().for_each(|share| session.let_go_of_minimum(share));
                        let left = if let ShareDenial::Rate { left, .. } = denial { left } else { Rate::ZERO };
                        return Err(PolicyShort {
                            policy: policy.name().to_owned(),
                            place: point.describe(&network),
                            asked: min,
                            link: network.link(link).name.clone(),
                            more,
                            left,
                        });
                    }
                }
            }
        }
        self.by_link = after;
        Ok(())
    }
}
