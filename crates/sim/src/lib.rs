//! A packet-level simulator: every scheme runs here as it runs in the network.

mod build;
mod clock;
mod ends;
mod engine;
mod events;
mod fabric;
mod flows;
mod hosts;
mod link;
mod outcome;
mod packet;
mod port;
mod processes;
mod random;
mod recorder;
mod router;
mod sources;
pub mod stats;
mod telemetry;
pub mod trace;
mod transport;

pub use engine::Ending;
pub use recorder::Recording;
pub use outcome::{FlowOutcome, LinkOutcome, Outcome, QueueOutcome, TrafficOutcome};

use wayleave_scenarios::{Scenario, ScenarioError};
use wayleave_units::Time;

/// Runs a scenario.
///
/// # Errors
/// What is wrong with the scenario.
pub fn run(scenario: &Scenario, seed: u64, mut go_on: impl FnMut(Time) -> bool) -> Result<Outcome, ScenarioError> {
    scenario.validate()?;
    let mut engine = engine::Engine::new(scenario, seed);
    let ending = engine.run(|now| go_on(clock::to_time(now)));
    Ok(engine.outcome(&scenario.name, seed, ending))
}
