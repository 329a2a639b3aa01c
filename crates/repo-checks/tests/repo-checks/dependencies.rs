//! The number of third-party crates that the library and the simulator need is limited.

use std::collections::BTreeSet;
use std::process::Command;

use crate::repository::root;

/// Packages and the most third-party crates that each may need, as `cargo tree -e normal` counts them with default features.
const LIMITS: [(&str, usize); 2] = [("wayleave", 45), ("wayleave-sim", 30)];

/// Crates of others that a package needs.
fn third_party(package: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--locked", "-e", "normal", "--prefix", "none", "-p", package]);
    let output = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !name.starts_with("wayleave")).map(str::to_owned).collect()
}

#[test]
fn the_library_and_the_simulator_need_few_external_crates() {
    for (package, limit) in LIMITS {
        let found = third_party(package);
        assert!(found.len() > 10, "cargo tree -p {package} was not understood: {found:?}");
        assert!(
            found.len() <= limit,
            "{package} needs {} third-party crates, more than {limit}: {found:?}",
            found.len()
        );
    }
}

/// The library starts no daemon, loads no eBPF program and opens no database.
#[test]
fn the_library_has_no_daemon_database_or_data_plane() {
    let found = third_party("wayleave");
    for name in ["aya", "rusqlite", "tokio", "ureq", "nix"] {
        assert!(!found.contains(name), "wayleave needs {name}");
    }
    assert!(third_party("wayleave-agent").contains("aya"), "cargo tree would show it");
}
