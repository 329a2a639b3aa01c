//! Figures of publications, measured again: data files, pictures, a page, and the statements of the texts with the results.
//!
//! | module | what |
//! |---|---|
//! | `checkpoints` | runs that have ended, so that a figure can be interrupted |
//! | `values` | numbers as they are read |
//! | `terminal` | tables for people |
//! | `document`, `csv` | JSON and CSV |
//! | `picture`, `grid`, `png` | the panels and tables of a figure in one picture |
//! | `page` | `index.html`: all figures, with the statements of the texts |
//! | `totals` | how many statements hold, differ or were not compared |
//! | `markdown` | a page for each figure of a folder |

mod checkpoints;
mod csv;
mod document;
mod grid;
pub(crate) mod markdown;
mod measured;
mod page;
mod picture;
mod png;
mod terminal;
mod totals;
mod values;

#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::fs;
use std::io::{ErrorKind, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{CATALOGUE, Effort, Entry, Failed, Laboratory, Run, find};
use wayleave_explain::sentences::nearest;
use wayleave_explain::table::TableLayout;

use wayleave::Error;
use wayleave::sim::write_whole;
use wayleave::{ProgressStep, Watch};

use checkpoints::Folder;
use totals::Reasons;

pub use measured::{CancelledFigure, Measured, MeasuredBy, Reproduced};
pub use totals::{Missing, Row, Tally, Totals};

/// Name of the file with the numbers of statements by result.
const TOTALS: &str = "totals.json";

/// Effort, threads and output files of a reproduction.
#[non_exhaustive]
pub struct ReproduceOptions {
    effort: Effort,
    seeds: Option<NonZeroUsize>,
    servers: Option<u64>,
    resume: Option<PathBuf>,
    threads: NonZeroUsize,
    folder: Option<PathBuf>,
    origin: MeasuredBy,
    laboratory: Option<Box<dyn Laboratory>>,
}

impl Default for ReproduceOptions {
    /// Returns options for a tenth of the runs on all processors, without output files.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            effort: Effort::Quick,
            seeds: None,
            servers: None,
            resume: None,
            threads,
            folder: None,
            origin: MeasuredBy::default(),
            laboratory: None,
        }
    }
}

/// The figures that are meant, each once; `all` is all of them.
///
/// # Errors
/// If there is no figure of a name; the nearest one is in the message.
pub fn figures(names: &[String]) -> Result<Vec<&'static Entry>, Error> {
    let mut chosen: Vec<&'static Entry> = Vec::new();
    for name in names {
        let named: Vec<&'static Entry> = match (name.as_str(), find(name)) {
            ("all", _) => CATALOGUE.iter().collect(),
            (_, Some(entry)) => vec![entry],
            (_, None) => return Err(unknown(name)),
        };
        for entry in named {
            if chosen.iter().all(|known| known.id != entry.id) {
                chosen.push(entry);
            }
        }
    }
    Ok(chosen)
}

fn unknown(name: &str) -> Error {
    let names = CATALOGUE.iter().map(|entry| entry.id).chain(["all", "list"]);
    let hint = nearest(name, names).map(|near| format!("; did you mean {near}?"));
    Error::Usage(format!(
        "there is no figure {name}{}\n  hint: wayleave reproduce list prints the names of all figures",
        hint.unwrap_or_default()
    ))
}

/// Measures figures in sequence; the files of each are written as soon as it is finished. [`Reproduced::write_page`]
/// adds the page of all.
///
/// # Errors
/// Returns an error if this machine can measure none of the figures, or a file cannot be written. A failed figure is
/// not an error here: the others are still measured, and [`Reproduced::failed`] gives the reason.
///
/// ```
/// use wayleave::Watch;
/// use wayleave_experiments::{ReproduceOptions, figures, reproduce};
/// let chosen = figures(&["sec2-examples".to_owned()])?;
/// let done = reproduce(&chosen, ReproduceOptions::default(), &mut Watch::none())?;
/// assert!(done.figures[0].figure.statements.len() >= 6);
/// # Ok::<(), wayleave::Error>(())
/// ```
pub fn reproduce(
    chosen: &[&'static Entry],
    options: ReproduceOptions,
    watch: &mut Watch<'_>,
) -> Result<Reproduced, Error> {
    if let Some(servers) = options.servers {
        can_have(chosen, servers)?;
    }
    if options.resume.is_some() {
        keep_runs(chosen)?;
    }
    let ReproduceOptions { effort, seeds, servers, resume, threads, folder, origin, laboratory } = options;
    if let Some(folder) = &folder {
        let made = fs::create_dir_all(folder);
        made.map_err(|error| Error::Internal(format!("{} cannot be made: {error}", folder.display())))?;
    }
    // The index of the figure under way, and the watch that threads share.
    let cancel = watch.cancel();
    let shared = Mutex::new((0, watch));
    let run = Run::new(effort).with_runs(seeds).with_servers(servers).with_threads(threads).with_cancel(cancel);
    let run = match resume {
        Some(folder) => run.with_checkpoints(Box::new(Folder::open(&folder, &origin)?)),
        None => run,
    };
    let run = match laboratory {
        Some(laboratory) => run.with_laboratory(laboratory),
        None => run,
    };
    let run = run.watched(|done, total| {
        let (index, watch) = &mut *shared.lock().unwrap_or_else(PoisonError::into_inner);
        watch.step(ProgressStep::Figure { index: *index, done, total });
    });
    let command = |figures: &str| command(figures, effort, (seeds, servers));
    let mut reproduced = Reproduced { figures: Vec::new(), left_out: Vec::new(), failed: Vec::new(), cancelled: None };
    for (at, entry) in chosen.iter().enumerate() {
        shared.lock().unwrap_or_else(PoisonError::into_inner).0 = at;
        match run.simulator().check().and_then(|()| (entry.measure)(&run)) {
            Ok(figure) => {
                let figure = figure.counted(entry.full_runs);
                let effort = if effort == Effort::Quick { "quick" } else { "full" }.to_owned();
                let origin = origin.clone();
                let measured = Measured { entry, figure, effort, command: command(entry.id), origin };
                if let Some(folder) = &folder {
                    measured.write(folder)?;
                }
                reproduced.figures.push(measured);
            }
            Err(Failed::Stopped) => {
                let not_begun = chosen[at + 1..].to_vec();
                reproduced.cancelled = Some(CancelledFigure { entry, not_begun, kept_runs: run.kept_runs() });
                break;
            }
            Err(Failed::LeftOut(why)) => {
                let step = ProgressStep::LeftOut { figure: entry.id, why: &why };
                shared.lock().unwrap_or_else(PoisonError::into_inner).1.step(step);
                reproduced.left_out.push((entry, why));
            }
            Err(Failed::Broken(why)) => reproduced.failed.push((entry, why)),
        }
    }
    if reproduced.figures.is_empty() && !reproduced.left_out.is_empty() && reproduced.cancelled.is_none() {
        return Err(Error::Internal("nothing was measured".to_owned()));
    }
    Ok(reproduced)
}

/// Checks that all of these figures can be measured on a network of `servers` servers.
fn can_have(chosen: &[&'static Entry], servers: u64) -> Result<(), Error> {
    match chosen.iter().find(|entry| !entry.has_network_of(servers)) {
        None => Ok(()),
        Some(entry) => Err(Error::Usage(format!(
            "{} has no network of {servers} servers\n  hint: ufab-fig17 has those of 32, 64, 96 and so on, up to 512",
            entry.id
        ))),
    }
}

/// Checks that the runs of all of these figures can be stored.
fn keep_runs(chosen: &[&'static Entry]) -> Result<(), Error> {
    let others: Vec<&str> = chosen.iter().filter(|entry| !entry.keeps_runs()).map(|entry| entry.id).collect();
    let verb = match others.len() {
        0 => return Ok(()),
        1 => "keeps",
        _ => "keep",
    };
    Err(Error::Usage(format!(
        "{} {verb} no runs that could be resumed\n  hint: measure other figures alone; wayleave reproduce list shows which ones \
         keep their runs",
        others.join(", ")
    )))
}

/// The command that measures figures as this does.
fn command(figures: &str, effort: Effort, (seeds, servers): (Option<NonZeroUsize>, Option<u64>)) -> String {
    let quick = if effort == Effort::Quick { " --quick" } else { "" };
    let seeds = seeds.map_or_else(String::new, |seeds| format!(" --seeds {seeds}"));
    let servers = servers.map_or_else(String::new, |servers| format!(" --servers {servers}"));
    format!("wayleave reproduce {figures}{quick}{seeds}{servers}")
}

impl ReproduceOptions {
    /// Sets the size of the measurement: that of the paper, or a tenth of the runs on smaller networks.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// Measures everything with this number of runs, with the seeds from 1 on, in place of the number in the paper.
    #[must_use]
    pub fn with_seeds(self, seeds: impl Into<Option<NonZeroUsize>>) -> Self {
        Self { seeds: seeds.into(), ..self }
    }

    /// Measures on a network with this number of servers. All figures must support that number.
    #[must_use]
    pub fn with_servers(self, servers: impl Into<Option<u64>>) -> Self {
        Self { servers: servers.into(), ..self }
    }

    /// Keeps finished runs in a directory, and takes them from there when an interrupted figure is measured again.
    #[must_use]
    pub fn with_resume(self, resume: impl Into<Option<PathBuf>>) -> Self {
        Self { resume: resume.into(), ..self }
    }

    /// Sets the number of concurrent runs. Only measured times depend on it.
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// Writes data and pictures into a directory. Without one, no files are written.
    #[must_use]
    pub fn with_folder(self, folder: impl Into<Option<PathBuf>>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// Sets the program and date that every file names.
    #[must_use]
    pub fn with_origin(self, origin: MeasuredBy) -> Self {
        Self { origin, ..self }
    }

    /// Sets up networks for real packets with this laboratory. Without one, figures that need them are left out.
    #[must_use]
    pub fn with_laboratory(self, laboratory: impl Into<Option<Box<dyn Laboratory>>>) -> Self {
        Self { laboratory: laboratory.into(), ..self }
    }

    /// The command that measures these figures with these options.
    pub fn command(&self, figures: &str) -> String {
        command(figures, self.effort, (self.seeds, self.servers))
    }
}

impl Reproduced {
    /// Writes the page of all figures, `index.html`, into the folder of their files, and beside it the numbers of
    /// statements by result, `totals.json`. `command` is the command that measures them again.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn write_page(&self, folder: &Path, command: &str) -> Result<PathBuf, Error> {
        let path = folder.join("index.html");
        write_whole(&path, page::render(self, command).as_bytes())?;
        write_whole(&folder.join(TOTALS), serde_json::to_string_pretty(&Totals::of(self))?.as_bytes())?;
        Ok(path)
    }

    /// Writes the numbers of statements by result, for people.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn write_totals(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        terminal::write_totals(out, &Totals::of(self), layout)
    }

    /// Writes the figures' documents and [`Totals`] in JSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_json(&self, out: &mut impl Write) -> Result<(), Error> {
        let documents: Vec<String> = self.figures.iter().map(document::of).collect::<Result<_, _>>()?;
        let totals = serde_json::to_string_pretty(&Totals::of(self))?;
        Ok(writeln!(out, "{{\"figures\": [{}],\n\"totals\": {totals}}}", documents.join(",\n"))?)
    }
}

/// Writes a page for each figure with results in a folder, and an index, in Markdown.
///
/// # Errors
/// If the folder has no results, a file cannot be read or is no result of a figure, or a page cannot be written.
pub fn write_documents(folder: &Path, out: &Path) -> Result<(), Error> {
    let measured = read_results(folder)?;
    let reasons = read_file(folder, TOTALS)?.map(|text| serde_json::from_str(&text)).transpose();
    let reasons: Reasons = reasons.map_err(|why| broken(folder, TOTALS, &why))?.unwrap_or_default();
    let made = fs::create_dir_all(out);
    made.map_err(|error| Error::Internal(format!("{} cannot be made: {error}", out.display())))?;
    for of in &measured {
        write_whole(&out.join(format!("{}.md", of.entry.id)), markdown::figure(of).as_bytes())?;
    }
    write_whole(&out.join("README.md"), markdown::index(&measured, &reasons).as_bytes())
}

/// Reads the results in a folder, in the order of the catalogue.
pub(crate) fn read_results(folder: &Path) -> Result<Vec<Measured>, Error> {
    let mut measured = Vec::new();
    for entry in CATALOGUE {
        let name = format!("{}.json", entry.id);
        if let Some(text) = read_file(folder, &name)? {
            measured.push(document::read(&text).map_err(|why| broken(folder, &name, &why))?);
        }
    }
    if measured.is_empty() {
        return Err(Error::Usage(format!(
            "{} has no results\n  hint: wayleave reproduce all --out {0} writes them",
            folder.display()
        )));
    }
    Ok(measured)
}

fn read_file(folder: &Path, name: &str) -> Result<Option<String>, Error> {
    match fs::read_to_string(folder.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Usage(format!("{} cannot be read: {error}", folder.join(name).display()))),
    }
}

fn broken(folder: &Path, name: &str, why: &dyn Display) -> Error {
    Error::Usage(format!("{}: {why}", folder.join(name).display()))
}

/// Returns the message about pictures in a build without the feature `png`.
pub const fn png_hint() -> Option<&'static str> {
    if png::IS_BUILT_IN { None } else { Some(png::HINT) }
}

impl Measured {
    /// Writes the measured values for people, beside the statements of the text.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        terminal::write(out, self, layout)
    }

    /// Writes JSON, CSV and SVG into a folder, and a PNG with the feature `png`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let id = self.entry.id;
        let write = |name: String, bytes: &[u8]| write_whole(&folder.join(name), bytes);
        write(format!("{id}.json"), document::of(self)?.as_bytes())?;
        if !self.figure.panels.is_empty() {
            write(format!("{id}.csv"), csv::runs(&self.figure).as_bytes())?;
            write(format!("{id}-summary.csv"), csv::summaries(&self.figure).as_bytes())?;
        }
        for table in &self.figure.tables {
            write(format!("{id}-{}.csv", table.name), csv::table(table).as_bytes())?;
        }
        let svg = self.picture();
        write(format!("{id}.svg"), svg.as_bytes())?;
        match png::of(&svg).map_err(Error::Internal)? {
            Some(pixels) => write(format!("{id}.png"), &pixels),
            None => Ok(()),
        }
    }
}
