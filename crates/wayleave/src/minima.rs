//! Minima of policies of services in the ledger of contracts, where queues are divided among classes: both count in one sum, so a contract is
//! refused where services need the rate, and a policy where contracts have it ([`LinkMinima`]).

use wayleave_contracts::{LinkMinima, Policy, PolicyShort};
use wayleave_ledger::ShareDenial;
use wayleave_units::Rate;

use crate::session::Session;

/// Reservations of policies in a session's ledger.
#[derive(Clone, Debug, Default)]
pub struct PolicyMinima {
    minima: LinkMinima,
}

impl PolicyMinima {
    /// Reserves all that a policy needs in addition to the session's admitted contracts, or nothing.
    ///
    /// # Errors
    /// The first link that has too little capacity left.
    pub fn hold(&mut self, session: &mut Session, policy: &Policy) -> Result<(), PolicyShort> {
        let network = session.network.clone();
        let mut after = self.minima.clone();
        let mut taken = Vec::new();
        for need in after.add(policy, &network) {
            match session.hold_minimum(need.link, need.more, policy.name()) {
                Ok(share) => taken.extend(share),
                Err(denial) => {
                    taken.into_iter().for_each(|share| session.release_minimum(share));
                    let left = if let ShareDenial::Rate { left, .. } = denial { left } else { Rate::ZERO };
                    return Err(PolicyShort::new(policy, &need, left, &network));
                }
            }
        }
        self.minima = after;
        Ok(())
    }
}
