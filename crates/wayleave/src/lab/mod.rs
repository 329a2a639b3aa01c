//! Labs with a controller and agents, in which figures of real packets are measured.

mod controller;
mod laboratory;
mod planned;

use std::path::Path;

use wayleave_lab::{Lab, LabError};

use crate::error::Error;

pub use controller::LabController;
pub use laboratory::Namespaces;
pub use planned::plan_lab;

/// Starts the controller, with these options beside the lab's own, and the agents of a lab; answers where the controller is. `program` is
/// the command wayleave.
///
/// # Errors
/// If they do not start.
pub fn begin_control(lab: &Lab, program: &Path, options: &[&str]) -> Result<String, LabError> {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    lab.complete(|| {
        let control = lab.start_controller(program, &options)?;
        lab.register(program, &control.server)?;
        lab.start_agents(program, &control.server)?;
        Ok(control.server)
    })
}

impl From<LabError> for Error {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Name(_)
            | LabError::Exists { .. }
            | LabError::Unknown { .. }
            | LabError::NoHost { .. }
            | LabError::NoSwitch(_)
            | LabError::Calibrate(_)
            | LabError::Endpoint { .. }
            | LabError::Controller(_)
            | LabError::TooLarge { .. }
            | LabError::Plan(_) => Self::Usage(error.to_string()),
            LabError::Stopped => Self::Stopped,
            _ => Self::Internal(error.to_string()),
        }
    }
}
