//! Labs that belong to one test process, and removal of those that dead processes have left.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Once, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use wayleave_dataplane::doctor::{Check, Need, can_run, examine};
use wayleave_lab::{LabError, LabName, Labs, Sentinel};
use wayleave_repo_checks::leave_out;

static SWEEP: Once = Once::new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The folder of [`labs`].
pub(crate) fn labs_folder() -> PathBuf {
    std::env::temp_dir().join("wayleave-lab-tests")
}

/// Returns the labs of tests.
pub(crate) fn labs() -> Labs {
    let labs = Labs::at(labs_folder());
    SWEEP.call_once(|| {
        for name in labs.list() {
            let owner = name.strip_prefix('t').and_then(|rest| rest.split('n').next()).unwrap_or("0");
            if !Path::new("/proc").join(owner).exists() {
                match labs.down(&LabName::new(&name).unwrap()) {
                    // Another process of these tests was faster.
                    Ok(_) | Err(LabError::Unknown { .. }) => {}
                    Err(error) => panic!("what a dead test has left cannot be taken away: {error}"),
                }
            }
        }
    });
    labs
}

/// A name that no other test has.
pub(crate) fn name() -> LabName {
    LabName::new(&format!("t{}n{}", std::process::id(), NEXT.fetch_add(1, Relaxed))).unwrap()
}

/// Takes a lab away when a test ends, also by a panic.
pub(crate) struct Down(pub(crate) LabName);

impl Drop for Down {
    fn drop(&mut self) {
        // A test may have taken it away itself.
        let _ = labs().down(&self.0);
    }
}

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
