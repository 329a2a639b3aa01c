//! A packet-level simulator: every scheme runs here as it runs in the network.
//!
//! [`run`] takes a [`Scenario`] (a network, the operation of its ports, the traffic) and a seed, and moves every
//! packet over every link: transports with retransmission, paths, queues, marks, buffers, failures. The result, an
//! [`Outcome`], has distributions in bounded memory for every flow and every queue. The same scenario and seed give
//! the same outcome, bit for bit, on every machine.
//!
//! ```
//! use std::sync::Arc;
//! use wayleave_scenarios::{FlowEndpoints, PacketKind, Scenario, Traffic};
//! use wayleave_topology::builders::{Cabling, build};
//! use wayleave_units::{Bytes, Rate, Time};
//!
//! // Two hosts of a star, 1 Gbit/s: 1,250 B take 10 us on each of both links.
//! let network = Arc::new(build::star(2, Cabling::default())?);
//! let hosts: Vec<_> = network.hosts().collect();
//! let ends = FlowEndpoints::Pairs(vec![(hosts[0], hosts[1])]);
//! let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(100) };
//! let mut scenario = Scenario::new("one flow", network, Time::from_millis(10));
//! scenario.traffic.push(Traffic::packets("cbr", ends, kind, Bytes::new(1_250)));
//!
//! let outcome = wayleave_sim::run(&scenario, 1, |_| true)?;
//! let delay = &outcome.flows[0].delay;
//! assert_eq!((delay.min(), delay.max()), (Some(20_000_000), Some(20_000_000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Structure: `engine` takes one event after the other and dispatches it to its part. `fabric` moves packets over
//! `link`s and through `port`s, and keeps the `events`. `flows`, `interfaces` and `transport` are the hosts, and
//! `hosts` limits them if services share. `processes` start traffic, with `sources`, `rpc`, `flow_chain` and `jobs`;
//! `schedule` and `app_source` switch it on and off and hand it data. `run_stats` counts. `parallel` runs parts of a
//! network in several threads. `fast_forward` suspends parts of the network whose state repeats, and credits them
//! with the time. Times are picoseconds here (`clock`) and nanoseconds for the schemes.

mod app_source;
mod clock;
mod connections;
mod copies;
mod custom;
mod endpoints;
mod engine;
mod events;
mod fabric;
mod fast_forward;
mod flow_chain;
mod flows;
mod hosts;
mod ideal;
mod interfaces;
mod jobs;
mod link;
mod outcome;
mod packet;
mod parallel;
mod port;
mod port_builder;
mod processes;
mod random;
mod recorder;
mod router;
mod rpc;
mod run_stats;
mod schedule;
mod sources;
pub mod stats;
mod telemetry;
#[cfg(test)]
mod tests;
pub mod trace;
mod transport;

pub use custom::{Custom, CustomScheme, HostPlace, SwitchFactory};
pub use fast_forward::ForwardOutcome;
pub use hosts::{CarriedBytes, MachineShare, MessageCounts, RackShare, ServiceShare, SharingOutcome, TunnelOutcome};
pub use outcome::{
    FlowOutcome, LinkOutcome, Outcome, QueueCounts, QueueOutcome, RunEnd, ServiceOutcome, TrafficOutcome,
};
pub use parallel::{Obstacle, TrafficObstacle, obstacle, run_on};
pub use recorder::Recording;
pub use wayleave_schemes::brokers::{BrokerLocation, BrokerNetwork, BrokerSetup, BrokerSpec};

use wayleave_scenarios::{Scenario, ScenarioError};
use wayleave_units::Time;

/// Runs a scenario to its end, or until `go_on` returns `false`; it is called with the simulated time now and then.
///
/// # Errors
/// The error of the scenario; nothing was simulated then.
pub fn run(scenario: &Scenario, seed: u64, go_on: impl FnMut(Time) -> bool) -> Result<Outcome, ScenarioError> {
    run_with(scenario, seed, &Custom::default(), go_on)
}

/// The same with schemes that are not in this repository: those that the scenario names as
/// [`HostSchemeConfig::Custom`](wayleave_scenarios::HostSchemeConfig::Custom).
///
/// # Errors
/// What is wrong with the scenario, also a name that was not given; nothing was simulated then.
pub fn run_with(
    scenario: &Scenario,
    seed: u64,
    custom: &Custom<'_>,
    mut go_on: impl FnMut(Time) -> bool,
) -> Result<Outcome, ScenarioError> {
    run_to_the_end(scenario, seed, custom, &mut go_on)
}

/// Not generic, so that the engine is compiled once, here, and not in every crate that runs something.
fn run_to_the_end(
    scenario: &Scenario,
    seed: u64,
    custom: &Custom<'_>,
    go_on: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, ScenarioError> {
    scenario.validate()?;
    custom.check(scenario)?;
    let mut engine = engine::Engine::new(scenario, seed, custom);
    let ending = engine.run(&mut |now| go_on(clock::to_time(now)));
    Ok(engine.outcome(&scenario.name, seed, ending))
}
