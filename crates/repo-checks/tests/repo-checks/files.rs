//! No source file is too long to read, no file names a directory of a developer's machine, and none contains merge
//! conflicts.

use crate::repository::{File, files, root};

/// Lines after which a file usually holds two things.
const MAX_LINES: usize = 600;

/// Longer files, each with the reason why it is not two.
const LONGER: &[(&str, &str)] = &[];

/// Sources above the limit without a reason, and reasons without such a source.
fn size_faults(files: &[File], longer: &[(&str, &str)]) -> Vec<String> {
    let mut faults = Vec::new();
    for File { path, text } in files.iter().filter(|file| is_source(&file.path)) {
        let lines = text.lines().count();
        let excused = longer.iter().any(|(known, _)| known == path);
        match (lines > MAX_LINES, excused) {
            (true, false) => faults.push(format!(
                "{path} has {lines} lines, more than {MAX_LINES}: split it, or list it with a reason in LONGER in \
                 crates/repo-checks/tests/repo-checks/files.rs"
            )),
            (false, true) => faults.push(format!("{path} has only {lines} lines: remove it from LONGER")),
            _ => {}
        }
    }
    for (path, _) in longer.iter().filter(|(path, _)| !files.iter().any(|file| file.path == *path)) {
        faults.push(format!("LONGER lists {path}, and there is no such file"));
    }
    for (path, _) in longer.iter().filter(|(_, reason)| reason.trim().is_empty()) {
        faults.push(format!("LONGER gives no reason for {path}"));
    }
    faults
}

fn is_source(path: &str) -> bool {
    path.starts_with("crates/") && path.split('/').any(|folder| folder == "src")
}

/// Prefixes of developers' directories. Written in two parts, or this file would not pass its own test.
const MACHINES: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Every absolute path below such a directory.
fn machine_faults(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for File { path, text } in files {
        for (number, line) in (1..).zip(text.lines()) {
            for machine in MACHINES {
                let begins = |(at, _): (usize, &str)| !line[..at].ends_with(continues_a_path);
                if line.match_indices(machine).any(begins) {
                    faults.push(format!("{path}:{number} names {machine}, a directory of one machine"));
                }
            }
        }
    }
    faults
}

/// Returns `true` if a `/` behind this character is in the middle of a path, as in `crates/home/` or `$DIR/root/`.
fn continues_a_path(before: char) -> bool {
    before.is_alphanumeric() || "_-.~$})>*".contains(before)
}

/// Markers that Git writes around both sides of a conflict. A line of equals signs may be a heading.
const CONFLICT: [&str; 2] = ["<<<<<<< ", ">>>>>>> "];

/// Lines that Git wrote where a merge had a conflict. `make` reads them without complaint.
fn merge_faults(files: &[File]) -> Vec<String> {
    let mut faults = Vec::new();
    for File { path, text } in files {
        for (number, line) in (1..).zip(text.lines()) {
            if CONFLICT.iter().any(|mark| line.starts_with(mark)) {
                faults.push(format!("{path}:{number} is left from a merge: {line}"));
            }
        }
    }
    faults
}

#[test]
fn no_file_has_conflicts_of_a_merge() {
    let faults = merge_faults(&files().unwrap());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_conflict_is_refused_and_a_shift_is_not() {
    let text = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n";
    let expected = ["Makefile:2 is left from a merge: <<<<<<< HEAD", "Makefile:6 is left from a merge: >>>>>>> main"];
    assert_eq!(merge_faults(&file("Makefile", text)), expected);
    assert_eq!(merge_faults(&file("a.md", "Heading\n=======\n x <<<<<<< y\n>>> z\n")), [""; 0]);
}

#[test]
fn every_source_file_can_be_read_in_one_go() {
    let faults = size_faults(&files().unwrap(), LONGER);
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn no_file_names_a_directory_of_a_machine() {
    let faults = machine_faults(&files().unwrap());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn the_files_are_those_of_the_repository() {
    assert!(root().join("Cargo.toml").exists());
    let paths: Vec<String> = files().unwrap().into_iter().map(|file| file.path).collect();
    for expected in ["Cargo.toml", ".ci/run", "README.md", "crates/repo-checks/tests/repo-checks/files.rs"] {
        assert!(paths.iter().any(|path| path == expected), "{expected} is missing");
    }
    assert!(!paths.iter().any(|path| path.starts_with("target/") || path.starts_with(".git/")));
}

fn file(path: &str, text: &str) -> Vec<File> {
    vec![File { path: path.to_owned(), text: text.to_owned() }]
}

#[test]
fn a_long_source_is_refused_and_a_long_document_is_not() {
    let (long, longer) = ("line\n".repeat(600), "line\n".repeat(601));
    assert_eq!(size_faults(&file("crates/a/src/b.rs", &long), &[]), [""; 0]);
    assert!(size_faults(&file("crates/a/src/b.rs", &longer), &[])[0].contains("has 601 lines"));
    assert!(size_faults(&file("crates/a/src/deep/b.rs", &longer), &[])[0].contains("has 601 lines"));
    assert_eq!(size_faults(&file("docs/b.md", &longer), &[]), [""; 0]);
    assert_eq!(size_faults(&file("crates/a/tests/b.rs", &longer), &[]), [""; 0]);
}

#[test]
fn an_exception_needs_a_reason_and_a_long_file() {
    let (path, longer) = ("crates/a/src/b.rs", "line\n".repeat(601));
    assert_eq!(size_faults(&file(path, &longer), &[(path, "one table")]), [""; 0]);
    assert!(size_faults(&file(path, &longer), &[(path, " ")])[0].contains("no reason"));
    assert!(size_faults(&file(path, "short"), &[(path, "one table")])[0].contains("remove it"));
    assert!(size_faults(&file("other", ""), &[(path, "one table")])[0].contains("no such file"));
}

#[test]
fn a_path_of_a_machine_is_refused_in_any_context() {
    for machine in MACHINES {
        for before in ["", "see ", "\"", "`", "=", "(", "file://", "1. "] {
            let text = format!("fine\n{before}{machine}x");
            let expected = format!("a.md:2 names {machine}, a directory of one machine");
            assert_eq!(machine_faults(&file("a.md", &text)), [expected], "{text}");
        }
        for before in ["crates", "..", "$DIR", "<dir>", "~"] {
            assert_eq!(machine_faults(&file("a.md", &format!("{before}{machine}x"))), [""; 0], "{before}");
        }
    }
}
