//! Claims about times: who may excuse them.

use std::time::Duration;

use wayleave_repo_checks::{in_time, unless};

/// Returns the number of measurements made if threads waited for `waited`, regardless of the actual duration.
fn measure(waited: Duration, wrong: &[bool]) -> usize {
    let mut runs = wrong.iter();
    let measure = || unless(!*runs.next().unwrap(), || "late".to_owned()).into_iter().collect();
    in_time(|| (), |()| waited, measure);
    wrong.len() - runs.len()
}

#[test]
fn a_measurement_with_enough_processor_time_is_made_once() {
    assert_eq!(measure(Duration::ZERO, &[false, false]), 1);
}

#[test]
fn a_measurement_among_busy_programs_is_repeated() {
    if std::env::var_os("WAYLEAVE_QUIET").is_none() {
        assert_eq!(measure(Duration::from_secs(3600), &[true, true, false]), 3);
    }
}

#[test]
#[should_panic(expected = "late")]
fn a_machine_with_enough_processor_time_excuses_nothing() {
    measure(Duration::ZERO, &[true, false]);
}
