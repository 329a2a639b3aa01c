//! Faults that an audit found stay mended: `.ci/repro`, which `make repro` runs as well.

use std::path::Path;
use std::process::Command;

#[test]
fn no_earlier_finding_recurs() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/repro");
    let output = Command::new(script).arg(env!("CARGO_BIN_EXE_wayleave")).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    // One line for each check: a script that ends early has not run them all.
    assert_eq!(printed.lines().filter(|line| line.starts_with("ok ")).count(), 20, "{printed}");
}
