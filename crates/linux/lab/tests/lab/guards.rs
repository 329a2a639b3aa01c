//! Guards of tests with labs: where no lab can be made they leave the test out. Also part of the tests of the command.

use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use wayleave_dataplane::doctor::{Check, Need, can_run, examine};
use wayleave_lab::Sentinel;
use wayleave_repo_checks::leave_out;

/// Leaves the test out unless labs can be made on this machine.
fn require_labs() {
    static CHECKS: OnceLock<Vec<Check>> = OnceLock::new();
    let checks = CHECKS.get_or_init(examine);
    if let Some(check) = checks.iter().find(|check| check.need == Need::Required && !check.is_present()) {
        leave_out(check.name, &check.finding);
    }
    assert!(can_run(checks));
}

/// A test that measures packets is alone among the tests of this program; others may run side by side. Both guards leave the test out
/// where no lab can be made.
static ALONE: RwLock<()> = RwLock::new(());

pub(crate) fn among_others() -> RwLockReadGuard<'static, ()> {
    require_labs();
    ALONE.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    require_labs();
    ALONE.write().unwrap_or_else(PoisonError::into_inner)
}

/// [`wayleave_repo_checks::in_time`] with a sentinel among ordinary threads.
pub(crate) fn in_time(measure: impl FnMut() -> Vec<String>) {
    let waited = |sentinel: Sentinel| Duration::from_nanos(sentinel.stop().within(0, u64::MAX));
    wayleave_repo_checks::in_time(|| Sentinel::start_among_others().unwrap(), waited, measure);
}
