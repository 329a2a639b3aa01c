//! Test targets: a library that is not built for unit tests has none, and a test that leaves something out is reported as ignored.

use crate::repository::{File, files};

/// Markers of a unit test, or of code that only unit tests use.
const MARKS: [&str; 4] = ["#[test]", "::test]", "cfg(test)", "proptest!"];

/// Returns sources with unit tests in crates whose `Cargo.toml` declares that their library has none.
fn faults(files: &[File]) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    for File { path, text } in files {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else { continue };
        let manifest: toml::Table = text.parse().map_err(|error| format!("{path} is no TOML: {error}"))?;
        let has_key = manifest.get("lib").and_then(|lib| lib.get("test")).and_then(toml::Value::as_bool);
        if has_key != Some(false) {
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
fn a_unit_test_that_never_runs_is_refused() {
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

const CALLS: [&str; 2] = ["left_out(", "leave_out("];

/// Returns tests that call `left_out` or `leave_out` in a target of libtest, which reports them as `ok`: all unit tests that do.
fn silent_omissions(files: &[File]) -> Vec<String> {
    let is_reported = |folder: &str, target: &str| {
        let manifest = files.iter().find(|file| file.path.strip_suffix("/Cargo.toml") == Some(folder));
        let section = format!("[[test]]\nname = \"{target}\"\nharness = false\n");
        // Modules in `common` belong to several targets.
        target == "common" || manifest.is_some_and(|manifest| manifest.text.contains(&section))
    };
    let sources =
        files.iter().filter(|file| file.path.ends_with(".rs") && !file.path.starts_with("crates/repo-checks/"));
    let callers =
        sources.filter(|file| file.text.contains("repo_checks") && CALLS.iter().any(|call| file.text.contains(call)));
    let targets = callers.filter_map(|file| {
        let Some((folder, target)) = file.path.split_once("/tests/") else {
            return Some(format!("{}: a unit test cannot be reported as ignored: move it to `tests`", file.path));
        };
        let target = target.split('/').next()?.trim_end_matches(".rs");
        (!is_reported(folder, target)).then(|| format!("{}: set harness = false for `{target}`", file.path))
    });
    targets.collect()
}

#[test]
fn tests_that_leave_something_out_are_reported_as_ignored() {
    assert_eq!(silent_omissions(&files().unwrap()), [""; 0]);
}

#[test]
fn a_target_of_libtest_that_leaves_something_out_is_refused() {
    let found = |manifest: &str, path: &str| {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let source = file(path, "wayleave_repo_checks::left_out(\"root\", error)");
        silent_omissions(&[file("crates/a/Cargo.toml", manifest), source])
    };
    let listed = "[[test]]\nname = \"lab\"\nharness = false\n";
    assert_eq!(found(listed, "crates/a/tests/lab/deep/b.rs"), [""; 0]);
    assert_eq!(found(listed, "crates/a/tests/lab.rs"), [""; 0]);
    assert_eq!(found("", "crates/a/tests/common/mod.rs"), [""; 0]);
    assert_eq!(found("", "crates/a/tests/lab.rs"), ["crates/a/tests/lab.rs: set harness = false for `lab`"]);
    assert_eq!(
        found(listed, "crates/a/src/b.rs"),
        ["crates/a/src/b.rs: a unit test cannot be reported as ignored: move it to `tests`"]
    );
    assert_eq!(found(listed, "crates/a/tests/b/main.rs"), ["crates/a/tests/b/main.rs: set harness = false for `b`"]);
}
