//! What a worker does with a node besides carrying out operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::machine::Driver;
use wayleave_protocol::agent::{Measured, Samples, Traffic};

use wayleave_units::Time;

use crate::environment::Environment;

/// A host or a switch.
pub trait Node: Driver {
    /// Interfaces may have come or gone.
    fn refresh(&mut self);

    /// Compares what enforces with what was installed, makes it so again, and says what was wrong.
    fn repair(&mut self) -> Vec<String>;

    /// VMs moved, or something failed or was repaired.
    fn set_environment(&mut self, environment: Arc<Environment>);

    /// What was counted of every contract that it sends; `None` if nothing is counted here, or that is not known.
    fn traffic(&mut self) -> Option<Vec<Traffic>> {
        None
    }

    /// What is wrong now, one sentence each. What somebody sends as it should not counts as wrong for a while.
    fn troubles(&mut self, _now: Time) -> Vec<String> {
        Vec::new()
    }

    /// What was counted of all packets, by what became of them; `None` if nothing is counted here, or that is not known.
    fn packets(&mut self) -> Option<BTreeMap<String, u64>> {
        None
    }

    /// Packets that were noted where they were sent or where they arrived, since the last time; `None` if none are, or that is not known.
    fn samples(&mut self) -> Option<Samples> {
        None
    }

    /// What arrived since the last time.
    fn reports(&mut self) -> Vec<Measured>;
}
