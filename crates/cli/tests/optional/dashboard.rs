//! The dashboard, where node and a browser are: the files that are committed are those of its sources, and a tour through every page.

use std::path::{Path, PathBuf};
use std::process::Command;

use wayleave_repo_checks::leave_out;

/// Chromium, as Debian and others call it.
const BROWSERS: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui")
}

/// Leaves the test out unless node and the packages of the dashboard are installed.
fn require_node() {
    if Command::new("node").arg("--version").output().is_err() {
        leave_out("node", "node is not installed");
    }
    if !sources().join("node_modules/vite").is_dir() {
        leave_out("npm", "ui/node_modules does not exist: run npm ci");
    }
}

pub(crate) fn the_files_in_the_binary_are_those_of_the_sources() {
    require_node();
    let built = std::env::temp_dir().join(format!("wayleave-ui-{}", std::process::id()));
    std::fs::create_dir_all(&built).unwrap();
    for step in [&["node_modules/vite/bin/vite.js", "build", "--logLevel", "error"][..], &["tools/table.mjs"]] {
        let node = Command::new("node").args(step).env("WAYLEAVE_UI_OUT", &built).current_dir(sources()).output();
        let node = node.unwrap();
        assert!(node.status.success(), "{step:?}: {}", String::from_utf8_lossy(&node.stderr));
    }
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("../control/server/ui");
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(
        names(&built),
        names(&known),
        "the dashboard is old: run `make ui`, and commit crates/control/server/ui"
    );
    for name in names(&known) {
        let same = std::fs::read(built.join(&name)).unwrap() == std::fs::read(known.join(&name)).unwrap();
        assert!(same, "{name:?} is old: run `make ui`, and commit crates/control/server/ui");
    }
    std::fs::remove_dir_all(&built).unwrap();
}

pub(crate) fn a_tour_through_the_dashboard_finds_no_faults() {
    require_node();
    let named = std::env::var_os("CHROMIUM").is_some();
    if !named && !BROWSERS.iter().any(|path| Path::new(path).exists()) {
        leave_out("chromium", "Chromium is not installed");
    }
    let tour =
        Command::new("node").arg("test/run.mjs").arg(env!("CARGO_BIN_EXE_wayleave")).current_dir(sources()).output();
    let tour = tour.unwrap();
    let (out, err) = (String::from_utf8_lossy(&tour.stdout), String::from_utf8_lossy(&tour.stderr));
    assert!(tour.status.success(), "{out}{err}");
    assert!(out.contains(" checks, 0 failed"), "{out}{err}");
}
