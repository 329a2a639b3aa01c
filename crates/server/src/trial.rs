//! A controller like the one that runs, in which things can be tried without harm.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use wayleave_controller::{Controller, Kind, Now, Setup, Southbound};
use wayleave_protocol::problem::Code;
use wayleave_units::{Time, WallTime};

use crate::answer::{Outcome, problem};
use crate::view::View;

/// Makes it of what is on disk, and asks it.
pub(crate) fn try_out(setup: &Setup, view: &View, question: impl FnOnce(&mut Controller) -> Outcome) -> Outcome {
    let records: Vec<(Kind, String, Arc<str>)> = {
        let tables = view.read();
        tables.records.iter().map(|((kind, key), body)| (*kind, key.clone(), body.clone())).collect()
    };
    try_records(setup, records.iter().map(|(kind, key, body)| (*kind, key.as_str(), &**body)), question)
}

/// Makes it of records, and asks it.
pub(crate) fn try_records<'a>(
    setup: &Setup,
    records: impl IntoIterator<Item = (Kind, &'a str, &'a str)>,
    question: impl FnOnce(&mut Controller) -> Outcome,
) -> Outcome {
    let setup = Setup { southbound: Southbound::Assumed, ..setup.clone() };
    match Controller::load(&setup, wall(), records) {
        Ok(mut controller) => question(&mut controller),
        Err(error) => Err(problem(Code::Internal, format!("the records do not make a controller: {error}"))),
    }
}

pub(crate) fn wall() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// The time of a controller that was just made.
pub(crate) fn now() -> Now {
    Now { steady: Time::ZERO, wall: wall() }
}
