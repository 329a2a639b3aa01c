//! Cost functions: what it costs the network that a flow uses a queue (Chameleon, sections 3.4 and 4.1.4).
//!
//! Section 3.3 requires that the cost function makes "the routing algorithm consume the least amount of resources for
//! each flow". The paper leaves the choice open and takes the delay. Searches prefer, among the routes that the
//! ledger admits, the one with the least sum. A cost never decides admissibility.
//!
//! | cost | preference |
//! |---|---|
//! | [`DelayCost`] | short budgets, since bursts grow with them (section 4.1.4) |
//! | [`HopCost`] | few links |
//! | [`Scarcity`] | queues and links that are far from their limits, sharply |

mod delay;
mod hops;
mod scarcity;

pub use delay::DelayCost;
pub use hops::{HashedHopCost, HopCost};
pub use scarcity::{Prices, QueueCosts, Scarcity};

use wayleave_ledger::Ledger;
use wayleave_topology::LinkId;
use wayleave_units::Amount;

/// Cost of a flow's use of a queue. Any unit; only sums are compared.
///
/// A larger burst must not cost less: searches drop a path that costs more and arrives with a larger burst.
pub trait Cost {
    /// The cost of a queue for a flow that would be let in, entering with `burst`.
    fn of(&self, ledger: &Ledger, link: LinkId, queue: u8, burst: Amount) -> u64;
}
