//! Networks for figures that need real packets: labs that are removed when they are not used any more.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wayleave::Cancel;
use wayleave_contracts::ContractRequest;
use wayleave_dataplane::doctor::{Check, CheckFinding, Need, can_run, examine};
use wayleave_lab::run::{OfferedContract, Operator, RunCompletion, RunEvent, RunOptions, RunReport, run};
use wayleave_lab::{Lab, LabName, Labs, StopRequest, UpOptions};
use wayleave_topology::Network;

use super::{ControlError, LabController, begin_control};
use crate::failed::Failed;
use crate::testbed::{Laboratory, Testbed};

/// Network namespaces of this machine.
#[derive(Clone)]
pub struct Namespaces {
    /// The command wayleave, which is the controller and the agents.
    pub program: PathBuf,
    /// Receiver of warnings that a lab could not be removed.
    pub warn: Arc<dyn Fn(&str) + Send + Sync>,
    /// Ends labs and their runs early once it is set.
    pub cancel: Cancel,
}

impl Laboratory for Namespaces {
    fn up(&self, name: &str, network: &Network, options: &[&str]) -> Result<Box<dyn Testbed>, Failed> {
        let checks = examine();
        if !can_run(&checks) {
            let is_missing =
                |check: &&Check| matches!((check.need, &check.finding), (Need::Required, CheckFinding::Missing(_)));
            let missing: Vec<&str> = checks.iter().filter(is_missing).map(|check| check.name).collect();
            let missing = missing.join(", ");
            return Err(Failed::LeftOut(format!(
                "labs cannot be made here, which lacks {missing}; `sudo wayleave doctor` says what to do"
            )));
        }
        // Two people may measure the same figure.
        let name = LabName::new(&format!("{name}n{}", std::process::id())).map_err(Failed::broken)?;
        let stop = StopRequest::of(self.cancel.flag());
        let labs = Labs::default().stopping(stop.clone());
        let lab = labs.up(&UpOptions {
            name: name.clone(),
            topology: name.as_str(),
            network,
            endpoints: &[],
            ovs: Default::default(),
            services: Default::default(),
        });
        let lab = lab.map_err(|error| failed(&stop, error))?;
        // From here on it is removed in any case.
        let guard = Guard { labs, name, warn: self.warn.clone() };
        let controller = begin(&lab, &self.program, options).map_err(|error| failed(&stop, error))?;
        Ok(Box::new(RunningLab { lab, controller, _guard: guard }))
    }
}

/// Returns the error of a lab. Ctrl-C also ends the lab's own programs, so errors after it have no cause of their own.
fn failed(stop: &StopRequest, error: impl fmt::Display) -> Failed {
    if stop.is_asked() { Failed::Stopped } else { Failed::broken(error) }
}

fn begin(lab: &Lab, program: &Path, options: &[&str]) -> Result<LabController, ControlError> {
    begin_control(lab, program, options)?;
    let controller = LabController::of(lab)?;
    controller.wait_for_agents()?;
    Ok(controller)
}

/// A lab that is up.
struct RunningLab {
    lab: Lab,
    controller: LabController,
    _guard: Guard,
}

/// Takes a lab away.
struct Guard {
    labs: Labs,
    name: LabName,
    warn: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(error) = self.labs.down(&self.name) {
            (self.warn)(&format!("lab {} could not be taken away: {error}", self.name));
        }
    }
}

impl Testbed for RunningLab {
    fn lab(&self) -> &Lab {
        &self.lab
    }

    fn operator(&mut self) -> &mut dyn Operator {
        &mut self.controller
    }

    fn offer(&mut self, order: &ContractRequest) -> Result<bool, Failed> {
        let refused = self.controller.offer(std::slice::from_ref(order));
        let refused = refused.map_err(|error| failed(self.lab.stop(), error))?;
        Ok(refused.is_empty())
    }

    fn run(&mut self, promised: &[OfferedContract], options: &RunOptions) -> Result<RunReport, Failed> {
        let mut unseen = |_: RunEvent<'_>| {};
        let seen = run(&self.lab, &mut self.controller, promised, options, &mut unseen);
        let seen = seen.map_err(|error| failed(self.lab.stop(), error))?;
        if self.lab.stop().is_asked() {
            return Err(Failed::Stopped);
        }
        // A figure needs every count: an unknown one would be drawn as 0.
        match &seen.end {
            RunCompletion::Unobserved(why) => return Err(Failed::broken(why)),
            _ if seen.contracts.iter().any(|one| one.losses.is_none()) => {
                return Err(Failed::broken("the counters of a shaper are unknown"));
            }
            RunCompletion::Complete | RunCompletion::Stopped => {}
        }
        match seen.exited.first() {
            Some(program) => Err(Failed::broken(format!("{program} has exited during a run"))),
            None => Ok(seen),
        }
    }
}
