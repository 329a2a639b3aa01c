//! A script for brokers: the demands of all machines, phase by phase, and the brokers that are killed and restarted.
//! The world runs it, and tests run it with real processes; both must reach identical limits of services at the end
//! of each phase.

use std::sync::Arc;

use wayleave_contracts::Direction;
use wayleave_schemes::brokers::BrokerError;
use wayleave_units::{Rate, Time};

use crate::BrokerConfig;
use crate::world::SimulatedRacks;

/// Something that is done to a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptAction {
    /// The broker of a machine is killed.
    KillRack(usize),
    /// It begins again.
    StartRack(usize),
    /// The fabric broker is killed.
    KillFabric,
    /// It begins again.
    StartFabric,
}

/// A part of a script: what changes at its beginning.
#[derive(Clone, Debug)]
pub struct ScriptPhase {
    /// Title of the phase.
    pub name: &'static str,
    /// Machine, service, and its transmit demand from now on. Machines are numbered in the order of the network's
    /// hosts.
    pub wants: Vec<(usize, &'static str, Rate)>,
    /// Actions at the beginning of the phase.
    pub actions: Vec<ScriptAction>,
}

/// Transmit limits of each service at each machine, by machine and class.
pub type ScriptLimits = Vec<Vec<Option<Rate>>>;

/// Runs a script in virtual time, on clocks that do not drift. Each phase lasts until no limit has changed for `calm`, and at most
/// `longest`.
///
/// # Errors
/// If a broker has nothing to divide.
pub fn run(
    setup: &Arc<BrokerConfig>,
    phases: &[ScriptPhase],
    calm: Time,
    longest: Time,
) -> Result<Vec<ScriptLimits>, BrokerError> {
    let mut world = SimulatedRacks::on_time(Arc::clone(setup), 1)?;
    let mut history = Vec::new();
    for phase in phases {
        for &(machine, service, rate) in &phase.wants {
            if let Some(class) = setup.services().class(service) {
                world.want(machine, class, [rate, Rate::ZERO]);
            }
        }
        for &action in &phase.actions {
            match action {
                ScriptAction::KillRack(machine) => world.crash_broker(machine),
                ScriptAction::StartRack(machine) => world.start_broker(machine)?,
                ScriptAction::KillFabric => world.crash_fabric(),
                ScriptAction::StartFabric => world.start_fabric()?,
            }
        }
        let (begin, mut changed) = (world.now(), world.now());
        let mut limits = limits_of(setup, &world);
        while world.now() < begin + longest && world.now() - changed < calm {
            world.run(world.now() + setup.times().interval);
            let now = limits_of(setup, &world);
            if std::mem::replace(&mut limits, now.clone()) != now {
                changed = world.now();
            }
        }
        history.push(limits);
    }
    Ok(history)
}

fn limits_of(setup: &BrokerConfig, world: &SimulatedRacks) -> ScriptLimits {
    let of = |machine: usize| {
        let classes = setup.services().classes();
        classes.map(|class| world.limit(machine, class)[Direction::Transmit as usize]).collect()
    };
    (0..world.machines()).map(of).collect()
}
