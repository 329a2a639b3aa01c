//! The delay as cost.

use wayleave_ledger::Ledger;
use wayleave_topology::{Hop, LinkId};
use wayleave_units::Amount;

use super::Cost;

/// The queue's delay budget: the cost function of section 4.1.4, since bursts grow with it.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelayCost;

impl Cost for DelayCost {
    fn of(&self, ledger: &Ledger, link: LinkId, queue: u8, _: Amount) -> u64 {
        ledger.budget(Hop { link, queue }).as_nanos()
    }
}
