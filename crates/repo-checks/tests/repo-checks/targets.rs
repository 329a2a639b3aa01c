//! No test is left out: a library that is not built for unit tests has none.

use crate::repository::{File, files};

/// What begins a unit test, or what only unit tests use.
const MARKS: [&str; 4] = ["#[test]", "::test]", "cfg(test)", "proptest!"];

/// Sources with unit tests in crates whose `Cargo.toml` says that their library has none.
fn faults(files: &[File]) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    for File { path, text } in files {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else { continue };
        let manifest: toml::Table = text.parse().map_err(|error| format!("{path} is no TOML: {error}"))?;
        let says = manifest.get("lib").and_then(|lib| lib.get("test")).and_then(toml::Value::as_bool);
        if says != Some(false) {
            continue;
        }
        let sources = format!("{folder}/src/");
        for File { path, text } in files.iter().filter(|file| file.path.starts_with(&sources)) {
            for (number, line) in (1..).zip(text.lines()) {
                if let Some(mark) = MARKS.iter().find(|mark| line.contains(**mark)) {
                    faults.push(format!(
                        "{path}:{number} has {mark}, and nothing runs it: remove test = false from {folder}/Cargo.toml"
                    ));
                }
            }
        }
    }
    Ok(faults)
}

#[test]
fn unit_tests_are_run() {
    let faults = faults(&files().unwrap()).unwrap();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_unit_test_that_nothing_runs_is_refused() {
    let crate_with = |lib: &str, source: &str| {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [file("crates/a/Cargo.toml", lib), file("crates/a/src/deep/b.rs", source)];
        faults(&files).unwrap()
    };
    let without = "[lib]\ntest = false\n";
    assert_eq!(crate_with(without, "fn b() {}"), [""; 0]);
    assert_eq!(crate_with("", "#[test]\nfn b() {}"), [""; 0]);
    assert_eq!(crate_with("[lib]\ntest = true\n", "#[test]\nfn b() {}"), [""; 0]);
    for source in ["\n#[test]\nfn b() {}", "\n    #[tokio::test]", "\n#[cfg(test)]\nmod tests;", "\nproptest! {"] {
        let found = crate_with(without, source);
        assert_eq!(found.len(), 1, "{source}");
        assert!(found[0].starts_with("crates/a/src/deep/b.rs:2 has "), "{}", found[0]);
    }
}
