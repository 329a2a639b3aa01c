//! Labs with a controller and agents, in which figures of real packets are measured.

mod controller;
mod laboratory;

use std::path::Path;

use wayleave_client::RequestError;
use wayleave_lab::{Lab, LabError};

pub use controller::LabController;
pub use laboratory::Namespaces;

/// An error of a laboratory or of its controller.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The laboratory failed.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The controller was not reached, or refused.
    #[error(transparent)]
    Client(#[from] wayleave_client::Error),
}

impl From<RequestError> for ControlError {
    fn from(error: RequestError) -> Self {
        Self::Client(error.into())
    }
}

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
