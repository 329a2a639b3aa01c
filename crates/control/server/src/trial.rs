//! A controller like the one that runs, in which things can be tried without harm.

use wayleave_controller::{Controller, ControllerConfig, Copied, EnforcedBy, RecordKind, Timestamps};
use wayleave_protocol::problem::Code;
use wayleave_units::Time;

use crate::answer::{Outcome, problem};
use crate::clock::wall;

/// Makes it of a copy of the one that runs, and asks it.
pub(crate) fn try_copy(
    setup: &ControllerConfig,
    copied: Copied,
    question: impl FnOnce(&mut Controller) -> Outcome,
) -> Outcome {
    match copied.controller(&for_questions(setup), wall()) {
        Ok(mut controller) => question(&mut controller),
        Err(error) => Err(problem(Code::Internal, format!("cannot create a trial copy of the controller: {error}"))),
    }
}

/// Makes it of records, and asks it.
pub(crate) fn try_records<'a>(
    setup: &ControllerConfig,
    records: impl IntoIterator<Item = (RecordKind, &'a str, &'a str)>,
    question: impl FnOnce(&mut Controller) -> Outcome,
) -> Outcome {
    match Controller::load(&for_questions(setup), wall(), records) {
        Ok(mut controller) => question(&mut controller),
        Err(error) => Err(problem(Code::Internal, format!("cannot create a controller from the records: {error}"))),
    }
}

/// Returns a setup without confirmations: a hypothetical change is confirmed by no agent.
fn for_questions(setup: &ControllerConfig) -> ControllerConfig {
    ControllerConfig { enforced_by: EnforcedBy::Nobody, ..setup.clone() }
}

/// The time of a controller that was just made.
pub(crate) fn now() -> Timestamps {
    Timestamps { steady: Time::ZERO, wall: wall() }
}
