//! A test harness that reports a test as ignored, with the reason, if the test has left something out.
//!
//! libtest knows `ignored` only as an attribute, and reports a test as `ok` that has returned early. A test target with `harness = false` lists
//! its tests with [`tests!`](crate::tests) and runs them with [`run_tests`]; the options are those of libtest.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Reasons for which tests have left parts out, by the name of the test's thread.
static LEFT_OUT: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());

/// A test with its path.
pub type Test = (&'static str, fn());

/// The file to which tests write what they leave out, one line each; `.ci/tests` sets it.
const FILE: &str = "WAYLEAVE_LEFT_OUT";

/// Reports that the test of this thread leaves something out because the machine lacks `need`, a name as in `.ci/may-lack`.
///
/// A line goes to the standard error, which a test that passes does not show; and, if `WAYLEAVE_LEFT_OUT` names a file, a line with the
/// need, the test and the reason, with tabs between them, is appended to that file. `.ci/tests` prints these at the end.
pub fn left_out(need: &str, why: impl Display) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread of a test");
    let why = why.to_string().replace(['\n', '\t'], " ");
    eprintln!("LEFT OUT: {test}: {need}: {why}");
    note(test, &why);
    let Some(file) = std::env::var_os(FILE) else { return };
    let appended = OpenOptions::new().create(true).append(true).open(file);
    // One write a line, so that lines of several processes do not mix.
    let written = appended.and_then(|mut file| file.write_all(format!("{need}\t{test}\t{why}\n").as_bytes()));
    if let Err(error) = written {
        eprintln!("what was left out could not be noted: {error}");
    }
}

/// Panic payload of a test that is left out from here on.
struct LeftOut;

/// Ends the test of this thread and leaves it out because the machine lacks `need`, as [`left_out`] reports it.
///
/// Only for targets that use [`run_tests`]: libtest would report the test as failed.
pub fn leave_out(need: &str, why: impl Display) -> ! {
    left_out(need, why);
    resume_unwind(Box::new(LeftOut))
}

/// Leaves the test out for lack of `need` unless its program is in a folder of `PATH`.
pub fn require_program(need: &str, program: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
        leave_out(need, format_args!("{program} is not installed"));
    }
}

/// Lists tests by their paths, for [`run_tests`](crate::run_tests).
#[macro_export]
macro_rules! tests {
    ($($test:path),+ $(,)?) => { &[$((stringify!($test), $test as fn())),+] };
}

/// Notes the reason of a test that leaves something out.
fn note(test: &str, why: &str) {
    let mut left_out = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    left_out.entry(test.to_owned()).or_default().push(why.to_owned());
}

/// Options whose value is an argument of its own.
const WITH_VALUE: [&str; 5] = ["--test-threads", "--skip", "--color", "--format", "--logfile"];

/// Runs tests with the arguments of the process, each on a thread of its name.
pub fn run_tests(tests: &[Test]) -> ExitCode {
    let (filters, others) = filters(std::env::args());
    let is_exact = others.iter().any(|option| option == "--exact");
    let matches = |name: &str, filter: &str| if is_exact { name == filter } else { name.contains(filter) };
    let is_chosen = |name: &str| filters.is_empty() || filters.iter().any(|filter| matches(name, filter));
    let chosen = tests.iter().filter(|(name, _)| is_chosen(name));
    let trials = chosen.map(|&(name, test)| Trial::ignorable_test(name, move || complete(name, test)));
    libtest_mimic::run(&Arguments::from_iter(others), trials.collect()).exit_code()
}

/// Returns the filters among arguments, and all others: libtest takes several filters, and `libtest_mimic` one.
fn filters(arguments: impl Iterator<Item = String>) -> (Vec<String>, Vec<String>) {
    let (mut filters, mut others): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for argument in arguments {
        let is_value = others.last().is_none_or(|before| WITH_VALUE.contains(&before.as_str()));
        if is_value || argument.starts_with('-') { others.push(argument) } else { filters.push(argument) }
    }
    (filters, others)
}

/// Runs a test to its end, and returns the reason if it has left something out.
fn complete(name: &str, test: fn()) -> Result<Completion, Failed> {
    let run = thread::Builder::new().name(name.to_owned()).spawn(test).map_err(|error| error.to_string())?;
    if let Err(panic) = run.join()
        && !panic.is::<LeftOut>()
    {
        resume_unwind(panic);
    }
    let reasons = LEFT_OUT.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    Ok(reasons.map_or(Completion::Completed, |reasons| Completion::ignored_with(reasons.join("; "))))
}

#[cfg(test)]
mod tests {
    use super::{Completion, LeftOut, complete, filters, note, resume_unwind};

    #[test]
    fn filters_are_distinguished_from_option_values() {
        let line = ["program", "a::", "--skip", "b", "c::", "--test-threads=1", "d::", "--color", "never"];
        let (filters, others) = filters(line.into_iter().map(str::to_owned));
        assert_eq!(filters, ["a::", "c::", "d::"]);
        assert_eq!(others, ["program", "--skip", "b", "--test-threads=1", "--color", "never"]);
    }

    #[test]
    fn a_test_that_leaves_something_out_is_ignored_with_its_reason() {
        // As `left_out` and `leave_out` do, but not among what `.ci/tests` prints.
        let leaves_out = || note(std::thread::current().name().unwrap_or_default(), "etcd is not installed");
        let ends = || {
            note(std::thread::current().name().unwrap_or_default(), "etcd is not installed");
            resume_unwind(Box::new(LeftOut));
        };
        for test in [leaves_out as fn(), ends] {
            let reason = match complete("leaves::out", test) {
                Ok(Completion::Ignored { reason }) => reason,
                _ => panic!("it is not ignored"),
            };
            assert_eq!(reason.as_deref(), Some("etcd is not installed"));
        }
        assert!(matches!(complete("leaves::nothing_out", || {}), Ok(Completion::Completed)));
    }

    #[test]
    #[should_panic(expected = "wrong")]
    fn a_test_that_panics_after_leaving_something_out_fails() {
        let fails = || {
            note(std::thread::current().name().unwrap_or_default(), "a part");
            panic!("wrong");
        };
        let _ = complete("fails", fails);
    }
}
