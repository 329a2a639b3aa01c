//! One run on several threads, with the same outcome bit for bit whatever their number.
//!
//! The network is cut into parts, and every thread simulates one of them: its hosts, its switches, and the ports of both. Whatever
//! happens in one part is seen in another after the propagation delay of a link and the transmission of a byte at least, the
//! *lookahead*. So all threads may deal with the events of a window of this length at the same time, and hand over what they have put
//! on links to other parts before the next one (conservative windows; Chandy and Misra 1979, Nicol 1993, and for networks of data
//! centres Bai et al., "Unison", EuroSys 2024). Within a part events are taken in the order of one thread, by time and actor, and those
//! of two parts in one window do not see each other.
//!
//! Every thread has a whole engine ([`crate::engine`]), in which links, routes, flows and processes have the same numbers, and leaves
//! alone what is not its own; at the end the others are added to the first.
//!
//! | file | what |
//! |---|---|
//! | `obstacle` | which runs use one thread, and why |
//! | `fabric/cut` | which part has which node |
//! | `fabric/logical_process`, `fabric/boundary` | what a part has, what is handed over |
//! | `fabric/peak_packets` | how many packets there are at once |
//! | `engine/logical_process` | the windows of one part |
//! | `engine/barrier` | where threads meet after each window |

mod obstacle;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::sync::Arc;

use wayleave_scenarios::{Scenario, ScenarioError};
use wayleave_units::Time;

use crate::clock::{self, Instant};
use crate::custom::Custom;
use crate::engine::{Barrier, Engine, Member};
use crate::fabric::Cut;
use crate::outcome::{Outcome, RunEnd};

pub use obstacle::{Obstacle, TrafficObstacle, obstacle};

/// Runs a scenario as [`run`](crate::run) does, on several threads if it can be divided ([`obstacle`] says why not), otherwise on one. The
/// outcome is the same, but for the memory that it took.
///
/// # Errors
/// What is wrong with the scenario; nothing was simulated then.
pub fn run_on(
    threads: NonZeroUsize,
    scenario: &Scenario,
    seed: u64,
    mut go_on: impl FnMut(Time) -> bool,
) -> Result<Outcome, ScenarioError> {
    if threads.get() == 1 || obstacle(scenario).is_some() {
        return crate::run(scenario, seed, go_on);
    }
    let Some(cut) = Cut::new(&scenario.network, threads.get()) else { return crate::run(scenario, seed, go_on) };
    scenario.validate()?;
    Ok(run_parts(&Arc::new(cut), scenario, seed, &mut |now| go_on(clock::to_time(now))))
}

fn run_parts(cut: &Arc<Cut>, scenario: &Scenario, seed: u64, go_on: &mut dyn FnMut(Instant) -> bool) -> Outcome {
    let barrier = Barrier::new(cut.parts());
    let part = |number: usize, go_on: Option<&mut dyn FnMut(Instant) -> bool>| -> (Engine, RunEnd) {
        let _member = Member(&barrier);
        let mut engine = Engine::new(scenario, seed, &Custom::default());
        engine.restrict_to_part(number, cut);
        let ending = engine.run_part(number, &barrier, go_on);
        (engine, ending)
    };
    let (part, barrier) = (&part, &barrier);
    std::thread::scope(|scope| {
        // If not all threads can be started, those that were are not left waiting.
        let _member = Member(barrier);
        let others: Vec<_> = (1..cut.parts()).map(|number| scope.spawn(move || part(number, None))).collect();
        let (mut engine, ending) = part(0, Some(go_on));
        for other in others {
            match other.join() {
                Ok((other, _)) => engine.absorb(other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        engine.set_peak(barrier.peak());
        engine.outcome(&scenario.name, seed, ending)
    })
}
