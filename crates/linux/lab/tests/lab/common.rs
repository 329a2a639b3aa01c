//! Labs that belong to one test process, and removal of those that dead processes have left.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use wayleave_lab::{LabError, LabName, Labs};

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
