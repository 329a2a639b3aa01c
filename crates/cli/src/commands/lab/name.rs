//! What labs are called.

use wayleave_lab::LabName;

/// What a lab is called that nobody names.
pub(super) const USUAL: &str = "lab";

pub(super) fn parse_name(text: &str) -> Result<LabName, String> {
    LabName::new(text).map_err(|error| error.to_string())
}
