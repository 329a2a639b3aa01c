//! Labs, as commands use them: `lab`, and `reproduce` for its figures of real packets.

mod controller;
mod laboratory;

use wayleave_lab::{Lab, LabError};

use crate::failure::Failure;

pub(crate) use controller::LabController;
pub(crate) use laboratory::Namespaces;

/// Starts the programs of a lab; answers where the controller is.
pub(crate) fn begin_control(lab: &Lab) -> Result<String, LabError> {
    let wayleave =
        std::env::current_exe().map_err(|error| LabError::Io { what: "this program's file".into(), error })?;
    let control = lab.start_controller(&wayleave, &[])?;
    lab.register(&wayleave, &control.server)?;
    lab.start_agents(&wayleave, &control.server)?;
    Ok(control.server)
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Name(_)
            | LabError::Exists { .. }
            | LabError::Unknown { .. }
            | LabError::NoHost { .. }
            | LabError::Endpoint { .. }
            | LabError::Controller(_)
            | LabError::TooLarge { .. }
            | LabError::Plan(_) => Self::Usage(error.to_string()),
            _ => Self::Internal(error.to_string()),
        }
    }
}
