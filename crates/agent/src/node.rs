//! What a worker does with a node besides carrying out operations.

use std::sync::Arc;

use wayleave_api::agent::Measured;
use wayleave_southbound::Driver;

use crate::surroundings::Surroundings;

/// A host or a switch.
pub trait Node: Driver {
    /// Interfaces may have come or gone.
    fn refresh(&mut self);

    /// VMs, or what is down, are others now.
    fn look_around(&mut self, around: Arc<Surroundings>);

    /// What arrived since the last time.
    fn reports(&mut self) -> Vec<Measured>;
}
