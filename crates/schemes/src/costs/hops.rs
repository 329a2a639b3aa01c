//! The number of links as cost.

use wayleave_ledger::Ledger;
use wayleave_topology::LinkId;
use wayleave_units::Amount;

use super::Cost;

/// One for every link.
#[derive(Clone, Copy, Debug, Default)]
pub struct HopCost;

impl Cost for HopCost {
    fn of(&self, _: &Ledger, _: LinkId, _: u8, _: Amount) -> u64 {
        1
    }
}
