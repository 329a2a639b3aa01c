//! One run on several threads, with the same outcome bit for bit for any number of threads.
//!
//! The network is cut into parts, and every thread simulates one of them: its hosts, its switches, and the ports of
//! both. An event in one part can affect another only after the propagation delay of a link and the transmission of a
//! byte, the *lookahead*. So all threads may handle the events of a window of this length concurrently, and hand over
//! packets that they have put on links to other parts before the next one (conservative windows; Chandy and Misra
//! 1979, Nicol 1993, and for networks of data centres Bai et al., "Unison", EuroSys 2024). Within a part events are
//! taken in the order of one thread, by time and actor, and those of two parts in one window do not affect each
//! other.
//!
//! Every thread has a whole engine ([`crate::engine`]), in which links, routes, flows and processes have the same
//! numbers, and modifies only its own elements; at the end the others are added to the first.
//!
//! | file | content |
//! |---|---|
//! | `obstacle` | runs that use one thread, with the reason |
//! | `fabric/cut` | nodes of each part |
//! | `fabric/logical_process`, `fabric/boundary` | state of a part, packets handed over |
//! | `fabric/peak_packets` | number of packets at once |
//! | `engine/logical_process` | the windows of one part |
//! | `engine/barrier` | synchronisation of threads after each window |

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

/// Runs a scenario as [`run`](crate::run) does, on several threads if it can be divided ([`obstacle`] returns the
/// reason if not), otherwise on one. The outcome is identical, except for the memory used.
///
/// # Errors
/// The error of the scenario; nothing was simulated then.
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
