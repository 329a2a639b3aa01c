//! Labs that belong to one process of tests, and what dead ones have left.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Once, OnceLock};

use wayleave_dataplane::doctor::{Check, Need, can_run, examine};
use wayleave_lab::{LabName, Labs};

static SWEEP: Once = Once::new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Where labs of tests are kept.
pub(crate) fn labs() -> Labs {
    let labs = Labs::at(std::env::temp_dir().join("wayleave-lab-tests"));
    SWEEP.call_once(|| {
        for name in labs.list() {
            let owner = name.strip_prefix('t').and_then(|rest| rest.split('n').next()).unwrap_or("0");
            if !Path::new("/proc").join(owner).exists() {
                labs.down(&LabName::new(&name).unwrap()).unwrap();
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

/// Whether labs can be made here; says what was left out if not.
pub(crate) fn is_able() -> bool {
    static CHECKS: OnceLock<Vec<Check>> = OnceLock::new();
    let checks = CHECKS.get_or_init(examine);
    let able = can_run(checks);
    for check in checks.iter().filter(|check| !able && check.need == Need::Required && !check.is_present()) {
        eprintln!("LEFT OUT: this test needs {}: {}", check.name, check.finding);
    }
    able
}
