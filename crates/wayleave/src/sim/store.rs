//! Files of results: each is whole or not there. And the document of all runs, for `-o json`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::batch::{Batch, PlannedRun};
use crate::error::Error;
use crate::progress::{Progress, ProgressStep};
use wayleave_report::sim::result::RunResult;

/// Subfolder of the runs.
const RUNS: &str = "runs";

/// Destination of results.
#[derive(Debug)]
pub(crate) struct Store {
    /// The folder, if there is one: with `-o json` and no `--out`, nothing is written.
    folder: Option<PathBuf>,
    /// The JSON of each run that has ended, in memory where there is no folder.
    texts: Vec<Option<Text>>,
}

#[derive(Debug)]
enum Text {
    Memory(String),
    File(PathBuf),
}

impl Store {
    /// Returns a store for `runs` runs; creates the folder.
    pub(crate) fn new(folder: Option<&Path>, runs: usize) -> Result<Self, Error> {
        if let Some(folder) = folder {
            let runs = folder.join(RUNS);
            fs::create_dir_all(&runs).map_err(|error| unwritable(&runs, &error))?;
        }
        Ok(Self { folder: folder.map(Path::to_owned), texts: (0..runs).map(|_| None).collect() })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn path(&self, planned: &PlannedRun) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(RUNS).join(planned.file_name()))
    }

    /// Returns the stored result, if it is a complete result of this run from the same input and version.
    pub(crate) fn resume(&mut self, batch: &Batch, index: usize, progress: &mut dyn Progress) -> Option<RunResult> {
        let planned = &batch.runs[index];
        let path = self.path(planned)?;
        let text = fs::read_to_string(&path).ok()?;
        let Ok(result) = serde_json::from_str::<RunResult>(&text) else {
            progress.step(ProgressStep::Unreadable { file: &path, again: &planned.title() });
            return None;
        };
        if !batch.has_result(planned, &result) {
            return None;
        }
        self.texts[index] = Some(Text::File(path));
        Some(result)
    }

    /// Keeps a result, at once on the disk.
    pub(crate) fn keep(&mut self, batch: &Batch, index: usize, result: &RunResult) -> Result<(), Error> {
        let text = serde_json::to_string(result)? + "\n";
        let kept = match self.path(&batch.runs[index]) {
            Some(path) => {
                write_whole(&path, text.as_bytes())?;
                Text::File(path)
            }
            None => Text::Memory(text),
        };
        self.texts[index] = Some(kept);
        Ok(())
    }

    /// Writes a file into the folder, if there is one, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<Option<PathBuf>, Error> {
        let Some(path) = self.folder.as_ref().map(|folder| folder.join(name)) else { return Ok(None) };
        write_whole(&path, text.as_bytes())?;
        Ok(Some(path))
    }

    /// Writes one document with all runs that have ended, in the order of the sweep.
    pub(crate) fn document(&self, out: &mut impl Write, batch: &Batch, is_partial: bool) -> Result<(), Error> {
        let head = Head {
            wayleave: env!("CARGO_PKG_VERSION"),
            scenario: &batch.name,
            file: &batch.file,
            input_hash: batch.input_hash(),
            planned_runs: batch.runs.len(),
            partial: is_partial,
        };
        let head = serde_json::to_string(&head)?;
        // The document continues where the head's own object would end.
        write!(out, "{},\n\"runs\":[", head.strip_suffix('}').unwrap_or(&head))?;
        for (position, text) in self.texts.iter().flatten().enumerate() {
            out.write_all(if position == 0 { b"\n" } else { b",\n" })?;
            match text {
                Text::Memory(text) => out.write_all(text.trim_end().as_bytes())?,
                Text::File(path) => {
                    let text = fs::read_to_string(path).map_err(|error| {
                        Error::Internal(format!("{} could not be read back: {error}", path.display()))
                    })?;
                    out.write_all(text.trim_end().as_bytes())?;
                }
            }
        }
        out.write_all(b"\n]}\n")?;
        Ok(out.flush()?)
    }
}

#[derive(Serialize)]
struct Head<'a> {
    wayleave: &'static str,
    scenario: &'a str,
    file: &'a str,
    input_hash: String,
    planned_runs: usize,
    partial: bool,
}

/// Writes a file under another name and renames it when it is on the disk: it is never there in part.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = (|| -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        // Some file systems find out only here that they are full.
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    written.map_err(|error| {
        // Only the first error is reported; an error of the removal is ignored.
        let _ = fs::remove_file(&temporary);
        unwritable(path, &error)
    })
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::Internal(format!("{} could not be written: {error}", path.display()))
}
