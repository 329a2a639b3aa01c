//! Minima of policies of services in the ledger of contracts, where queues are divided among classes: both count in one sum, so a contract is
//! refused where services need the rate, and a policy where contracts have it ([`LinkMinima`]).

use std::fmt;

use wayleave_contracts::{LinkMinima, LinkNeed, Policy};
use wayleave_ledger::ShareDenial;
use wayleave_units::Rate;

use crate::session::Session;

/// What policies hold of a session's ledger.
#[derive(Clone, Debug, Default)]
pub struct PolicyMinima {
    minima: LinkMinima,
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

impl PolicyMinima {
    /// Holds what a policy needs, beside everything that the session has admitted; all of it, or nothing.
    ///
    /// # Errors
    /// The first link that has too little left.
    pub fn hold(&mut self, session: &mut Session, policy: &Policy) -> Result<(), PolicyShort> {
        let network = session.network.clone();
        let mut after = self.minima.clone();
        let mut taken = Vec::new();
        for LinkNeed { link, more, point, asked, .. } in after.add(policy, &network) {
            match session.hold_minimum(link, more, policy.name()) {
                Ok(share) => taken.extend(share),
                Err(denial) => {
                    taken.into_iter().for_each(|share| session.let_go_of_minimum(share));
                    let left = if let ShareDenial::Rate { left, .. } = denial { left } else { Rate::ZERO };
                    return Err(PolicyShort {
                        policy: policy.name().to_owned(),
                        place: point.describe(&network),
                        asked,
                        link: network.link(link).name.clone(),
                        more,
                        left,
                    });
                }
            }
        }
        self.minima = after;
        Ok(())
    }
}
