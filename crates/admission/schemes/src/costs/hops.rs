//! The number of links as cost.

use wayleave_ledger::Ledger;
use wayleave_topology::LinkId;
use wayleave_units::Amount;

use super::Cost;
use crate::random::mix;

/// One for every link.
#[derive(Clone, Copy, Debug, Default)]
pub struct HopCost;

impl Cost for HopCost {
    fn of(&self, _: &Ledger, _: LinkId, _: u8, _: Amount) -> u64 {
        1
    }
}

/// The number of links, and among equally many a hash of the flow decides: each flow draws small amounts for all links.
#[derive(Clone, Copy, Debug)]
pub struct HashedHopCost {
    /// Identity of the flow, which seeds its hash.
    pub identity: u64,
}

impl HashedHopCost {
    /// Number of bits that a flow draws for a link. A link costs more than 65,536 of the largest draws, and no route
    /// has that number of links.
    const DRAWN_BITS: u32 = 16;
    /// The least that a link costs.
    pub const LINK: u64 = 1 << (2 * Self::DRAWN_BITS);
}

impl Cost for HashedHopCost {
    fn of(&self, _: &Ledger, link: LinkId, _: u8, _: Amount) -> u64 {
        let drawn = mix(self.identity ^ mix(u64::from(link.0))) >> (u64::BITS - Self::DRAWN_BITS);
        Self::LINK + drawn
    }
}
