//! Checks of the repository itself: tests (`tests/repo-checks`) that read it as text; and helpers of the tests of all crates. These report
//! that a test leaves something out ([`left_out`], [`leave_out`]), run such a test as ignored ([`run_tests`]), draw random numbers
//! ([`Random`]), create folders ([`TempFolder`]), end
//! processes ([`KilledChild`]), and wait ([`wait_for`], [`wait_until`]).
//!
//! - `arrows.rs`: crates depend only downwards, by one table;
//! - `machine.rs`: the agent's state machine has no clock and no socket;
//! - `cycles.rs`: the modules of a crate depend on one another without cycles, where that is promised;
//! - `toys.rs`: a scheme costs one line outside its folder;
//! - `files.rs`: no file outgrows its reader, and none names a directory of one machine;
//! - `targets.rs`: every unit test is run, and tests that leave something out are reported as ignored;
//! - `documents.rs`: links lead somewhere, commands in examples exist, the changelog has its next release.
//!
//! Each check is a plain function from text to a list of faults, tested on small inputs that it must refuse.

mod folder;
mod process;
mod random;
mod suite;
mod waiting;

pub use folder::TempFolder;
pub use process::KilledChild;
pub use random::Random;
pub use suite::{Test, leave_out, left_out, require_program, run_tests};
pub use waiting::{wait_for, wait_until};

use std::time::{Duration, Instant};

/// Number of attempts at a measurement while other programs were busy.
const ATTEMPTS: usize = 3;
/// They were if ordinary threads waited for a processor for more than this share of the time.
const BUSY_PER_MILLE: u128 = 20;

/// Measures until no fault of the times that were seen is left. `measure` returns the faults of the times, and
/// asserts everything itself that does not depend on the load of the machine.
///
/// Wrong times fail the test on a machine that had the time for the measurement, and always in `make quiet-lab`
/// (`WAYLEAVE_QUIET`). Where ordinary threads had to wait (`watch` begins to watch some, `waited` returns the time
/// for which they did), the measurement is made again, and the times are left out after the last attempt. A fault
/// that is equal every time, to the last digit, is no noise, and still fails the test.
///
/// # Panics
/// If times are wrong and nothing else disturbed them.
#[allow(clippy::panic, reason = "it is an assertion of tests")]
pub fn in_time<W>(watch: impl Fn() -> W, waited: impl Fn(W) -> Duration, mut measure: impl FnMut() -> Vec<String>) {
    let (mut wrong, mut seen) = (Vec::new(), Vec::new());
    for _ in 0..ATTEMPTS {
        let (watcher, start) = (watch(), Instant::now());
        wrong = measure();
        let elapsed = start.elapsed();
        let waited = waited(watcher);
        if wrong.is_empty() {
            return;
        }
        // A busy machine makes no two measurements alike, to the last digit.
        let is_always = seen.len() + 1 == ATTEMPTS && seen.iter().all(|before| *before == wrong);
        seen.push(wrong.clone());
        let is_busy = !is_always && waited.as_nanos() * 1000 > elapsed.as_nanos() * BUSY_PER_MILLE;
        let is_quiet = std::env::var_os("WAYLEAVE_QUIET").is_some();
        if is_quiet || !is_busy {
            panic!("threads waited for {waited:?} of {elapsed:?}, and:\n{}", wrong.join("\n"));
        }
    }
    left_out("quiet", format_args!("other programs were busy {ATTEMPTS} times (make quiet-lab): {}", wrong.join("; ")));
}

/// The fault, unless something holds, for [`in_time`].
pub fn unless(holds: bool, wrong: impl FnOnce() -> String) -> Option<String> {
    (!holds).then(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine where ordinary threads wait all the time.
    fn measured(mut wrong: impl FnMut() -> String) {
        in_time(|| (), |()| Duration::MAX, || vec![wrong()]);
    }

    #[test]
    #[should_panic(expected = "755 of 768 were late")]
    fn a_reproducible_error_is_not_noise() {
        measured(|| "755 of 768 were late".to_owned());
    }

    #[test]
    fn results_that_vary_on_a_busy_machine_are_left_out() {
        // Not among what tests have left out.
        let mut count = 0;
        let differs = || {
            count += 1;
            if count < ATTEMPTS { vec![format!("{count} of 768 were late")] } else { Vec::new() }
        };
        in_time(|| (), |()| Duration::MAX, differs);
        assert_eq!(count, ATTEMPTS);
    }
}
