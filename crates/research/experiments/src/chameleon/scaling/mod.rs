//! Fig. 10a, 10b, 11a, 11b: larger networks, with two and with four queues a port (5.2).
//!
//! | | |
//! |---|---|
//! | `flows.rs` | Fig. 10a and 11a: flows admitted |
//! | `limits.rs` | how many candidates are tried to be moved, in two sizes of the network |
//! | `times.rs` | Fig. 10b and 11b: how long a decision takes |

mod flows;
mod limits;
mod scope;
mod times;

#[cfg(test)]
pub(crate) use flows::tests::every_verdict_can_change as flows_check;
#[cfg(test)]
pub(crate) use times::tests::every_verdict_can_change as times_check;

use crate::data::Figure;
use crate::failed::Failed;
use crate::run::Run;

/// Fig. 10a.
pub(crate) fn fig10a(run: &Run) -> Result<Figure, Failed> {
    flows::measure(run, 2)
}

/// Fig. 10b.
pub(crate) fn fig10b(run: &Run) -> Result<Figure, Failed> {
    times::measure(run, 2)
}

/// Fig. 11a.
pub(crate) fn fig11a(run: &Run) -> Result<Figure, Failed> {
    flows::measure(run, 4)
}

/// Fig. 11b.
pub(crate) fn fig11b(run: &Run) -> Result<Figure, Failed> {
    times::measure(run, 4)
}
