//! A folder of completed runs, one file each, so that figures that take hours can be interrupted.
//!
//! A file is named by the hash of its run's inputs, and contains these in full, with the program that measured it. A
//! file that is damaged, of another run or of another program is an error, and never used.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::{Checkpoints, Failed};
use serde::{Deserialize, Serialize};
use wayleave_sim::trace::fnv1a;

use super::MeasuredBy;
use wayleave::Error;
use wayleave::sim::write_whole;

/// Contents of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finished {
    /// The version of the program.
    wayleave: String,
    /// The commit it was built from.
    commit: Option<String>,
    /// Inputs of the run.
    inputs: String,
    /// Result of the run.
    result: String,
    /// FNV-1a over the rest.
    checksum: String,
}

impl Finished {
    fn new(origin: &MeasuredBy, inputs: &str, result: &str) -> Self {
        let (wayleave, commit) = (origin.version.clone(), origin.commit.clone());
        let checksum = String::new();
        let finished = Self { wayleave, commit, inputs: inputs.to_owned(), result: result.to_owned(), checksum };
        Self { checksum: finished.checksum(), ..finished }
    }

    fn checksum(&self) -> String {
        let Self { wayleave, commit, inputs, result, checksum: _ } = self;
        let text = format!("{wayleave:?} {commit:?} {inputs:?} {result:?}");
        format!("{:016x}", fnv1a(text.as_bytes()))
    }
}

/// The folder.
pub(super) struct Folder {
    path: PathBuf,
    origin: MeasuredBy,
}

impl Folder {
    /// Opens the folder, and creates it if necessary. Results are stored as measured by `origin`.
    pub(super) fn open(path: &Path, origin: &MeasuredBy) -> Result<Self, Error> {
        let made = fs::create_dir_all(path);
        made.map_err(|error| Error::Internal(format!("{} cannot be made: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), origin: origin.clone() })
    }

    fn file(&self, inputs: &str) -> PathBuf {
        self.path.join(format!("{:016x}.json", fnv1a(inputs.as_bytes())))
    }

    /// Returns the error of an existing file, if any.
    fn fault(&self, finished: &Finished, inputs: &str) -> Option<String> {
        let program = |version: &str, commit: Option<&str>| {
            let commit =
                commit.map_or_else(|| "of an unknown commit".to_owned(), |commit| format!("(commit {commit})"));
            format!("wayleave {version} {commit}")
        };
        let theirs = program(&finished.wayleave, finished.commit.as_deref());
        let ours = program(&self.origin.version, self.origin.commit.as_deref());
        if finished.checksum != finished.checksum() {
            Some("is damaged: its checksum is another one".to_owned())
        } else if finished.inputs != inputs {
            Some(format!("belongs to another run: {}", finished.inputs))
        } else if theirs != ours {
            Some(format!(
                "was measured by {theirs}, and this is {ours}\n  hint: if both compute the same, give --commit as it was then"
            ))
        } else {
            None
        }
    }
}

impl Checkpoints for Folder {
    fn load(&self, inputs: &str) -> Result<Option<String>, Failed> {
        let path = self.file(inputs);
        let refuse = |why: String| {
            Failed::Broken(format!("{} {why}\n  hint: resume from another folder, or remove the file", path.display()))
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refuse(format!("cannot be read: {error}"))),
        };
        let finished: Finished =
            serde_json::from_str(&text).map_err(|error| refuse(format!("is no result of a run: {error}")))?;
        match self.fault(&finished, inputs) {
            Some(fault) => Err(refuse(fault)),
            None => Ok(Some(finished.result)),
        }
    }

    fn save(&self, inputs: &str, result: &str) -> Result<(), Failed> {
        let text =
            serde_json::to_string_pretty(&Finished::new(&self.origin, inputs, result)).map_err(Failed::broken)?;
        write_whole(&self.file(inputs), (text + "\n").as_bytes()).map_err(Failed::broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("wayleave-checkpoints-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Folder::open(&path, &MeasuredBy::default()).unwrap()
    }

    fn refusal(folder: &Folder, inputs: &str) -> String {
        folder.load(inputs).unwrap_err().to_string()
    }

    #[test]
    fn a_saved_result_is_found_again_and_no_other() {
        let folder = folder("found");
        folder.save("fig, seed 1", "0.1 NaN").unwrap();
        assert_eq!(folder.load("fig, seed 1"), Ok(Some("0.1 NaN".to_owned())));
        assert_eq!(folder.load("fig, seed 2"), Ok(None));
        fs::remove_dir_all(folder.path).unwrap();
    }

    #[test]
    fn damaged_and_foreign_files_are_errors_with_a_reason() {
        let folder = folder("refused");
        let path = folder.file("fig, seed 1");
        folder.save("fig, seed 1", "0.125").unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        let with = |text: &str| {
            fs::write(&path, text).unwrap();
            refusal(&folder, "fig, seed 1")
        };
        assert!(with(&whole.replace("0.125", "0.225")).contains("is damaged"));
        assert!(with(&whole[..whole.len() / 2]).contains("is no result of a run"));
        assert!(with("{}").contains("is no result of a run"));
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(refusal(&folder, "fig, seed 1").contains("cannot be read"));
        // The file of another run under this name.
        folder.save("fig, seed 2", "0.5").unwrap();
        fs::copy(folder.file("fig, seed 2"), &path).unwrap();
        assert!(refusal(&folder, "fig, seed 1").contains("belongs to another run: fig, seed 2"));
        fs::remove_dir_all(folder.path).unwrap();
    }

    #[test]
    fn results_of_another_program_are_not_used() {
        let mut folder = folder("program");
        folder.origin.commit = Some("abc".to_owned());
        folder.save("fig", "1.0").unwrap();
        folder.origin.commit = Some("def".to_owned());
        let refusal = refusal(&folder, "fig");
        assert!(refusal.contains("commit abc") && refusal.contains("commit def"), "{refusal}");
        folder.origin.commit = Some("abc".to_owned());
        // Another day is the same program.
        folder.origin.date = Some("2026-11-22".to_owned());
        assert_eq!(folder.load("fig"), Ok(Some("1.0".to_owned())));
        fs::remove_dir_all(folder.path).unwrap();
    }
}
