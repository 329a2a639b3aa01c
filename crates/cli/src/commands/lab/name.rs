//! Names of labs.

use wayleave_lab::LabName;

/// Default name of a lab.
pub(super) const USUAL: &str = "lab";

pub(super) fn parse_name(text: &str) -> Result<LabName, String> {
    LabName::new(text).map_err(|error| error.to_string())
}
