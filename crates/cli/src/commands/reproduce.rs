//! `wayleave reproduce`: the figures of the publications, measured again.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use clap::Args;
use comfy_table::{Cell, CellAlignment};
use serde::Serialize;
use wayleave::{Cancel, Watch};
use wayleave_experiments::lab::Namespaces;
use wayleave_experiments::{CATALOGUE, CancelledFigure, Effort, Entry, Laboratory};
use wayleave_experiments::{MeasuredBy, ReproduceOptions, Reproduced, figures, reproduce};
use wayleave_experiments::{claims_page, update_pages, write_documents};
use wayleave_explain::human;
use wayleave_explain::table::write_table;
use wayleave_units::WallTime;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{OutputFormat, layout, out, plain_table};
use crate::program;
use crate::progress::figures::Progress;

/// Default folder of the files.
const FOLDER: &str = "wayleave-reproduce";

const EXAMPLE: &str = "\
Examples:
  wayleave reproduce list
  wayleave reproduce sec2-examples
  wayleave reproduce chameleon-fig8a --quick
  wayleave reproduce all --out figures
  wayleave reproduce ufab-fig17 --servers 512 --resume runs   (hours; Ctrl-C keeps the runs that have ended)
  wayleave reproduce claims ufab
  wayleave reproduce document figures --out pages   (a Markdown page for each figure)
  wayleave reproduce document figures --papers docs/papers";

/// Reproduce figures of publications, and compare them with the published values
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ReproduceArgs {
    /// Figures by name; `all` for all of them, `list` to see their names; `claims PAPER [DIRECTORY]` prints the headline claims of a paper
    /// (chameleon, loko, parley, ufab, scc) with their verdicts, as released or by the results in a directory; `document DIRECTORY` writes
    /// Markdown from the results in a directory
    #[arg(value_name = "FIGURE", required = true)]
    figures: Vec<String>,
    /// A tenth of the runs, on smaller networks
    #[arg(long)]
    quick: bool,
    /// Number of runs, with seeds from 1 on, in place of the papers'
    #[arg(long, value_name = "COUNT")]
    seeds: Option<NonZeroUsize>,
    /// Number of servers, for ufab-fig17: 32, 64, ... 512
    #[arg(long, value_name = "COUNT")]
    servers: Option<u64>,
    /// Directory of finished runs, which are not repeated; `list` shows the figures that keep theirs
    #[arg(long, value_name = "DIRECTORY")]
    resume: Option<PathBuf>,
    /// Directory of JSON, CSV, SVG, PNG (feature png) and index.html [default: wayleave-reproduce; none with -o json]; with document: of
    /// a page for each figure
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// With document: directory of the pages of papers and their results.json, which are updated
    #[arg(long, value_name = "DIRECTORY")]
    papers: Option<PathBuf>,
    /// The commit of this program, which is written to every file [default: unknown]
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Number of concurrent runs [default: number of cores]; changes measured times only
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    progress: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ReproduceArgs) -> Result<Exit, Failure> {
    let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
    let names: Vec<&str> = args.figures.iter().map(String::as_str).collect();
    match names[..] {
        ["list"] => {
            args.refuse_unused("list", &["--output"])?;
            list(args.output)
        }
        _ if names.contains(&"list") => usage("`list` takes no other arguments: it prints the names of all figures"),
        ["document", folder] => {
            args.refuse_unused("document", &["--out", "--papers"])?;
            args.document(Path::new(folder))
        }
        ["document", ..] => {
            usage("document takes one directory: wayleave reproduce document DIRECTORY --out DIRECTORY")
        }
        ["claims", paper] => args.claims(paper, None),
        ["claims", paper, folder] => args.claims(paper, Some(Path::new(folder))),
        ["claims", ..] => usage(
            "claims takes a paper, and a directory of results if not the released ones: wayleave reproduce claims PAPER [DIRECTORY]",
        ),
        _ if args.papers.is_some() => {
            usage("--papers is for document: wayleave reproduce document DIRECTORY --papers DIRECTORY")
        }
        _ => measure(args),
    }
}

/// Measures figures.
fn measure(args: &ReproduceArgs) -> Result<Exit, Failure> {
    let chosen = figures(&args.figures)?;
    let cancel = interrupt::listen()?;
    let (folder, options) = (args.folder(), args.options(&cancel)?);
    let command = options.command(&args.figures.join(" "));
    let mut progress = Progress::new(&chosen, args.seconds(), args.progress);
    let started = Instant::now();
    let reproduced = reproduce(&chosen, options, &mut Watch::new(&mut progress, &cancel))?;
    drop(progress);
    if reproduced.cancelled.is_none() || !reproduced.figures.is_empty() {
        if let Some(folder) = &folder {
            reproduced.write_page(folder, &command)?;
        }
        args.print(&reproduced)?;
    }
    let finished = human::count(reproduced.figures.len(), "figure");
    crate::output::tell!("{finished} in {:.1} s", started.elapsed().as_secs_f64());
    match &reproduced.cancelled {
        Some(cancelled) => crate::output::tell!("{}", describe_cancelled(cancelled, args.resume.as_deref())),
        None if cancel.is_cancelled() => crate::output::tell!("not stopped: the last run had already ended"),
        None => {}
    }
    if !reproduced.failed.is_empty() {
        let why: Vec<String> = reproduced.failed.iter().map(|(entry, why)| format!("{}: {why}", entry.id)).collect();
        return Err(wayleave::Error::Internal(format!("not measured:\n  {}", why.join("\n  "))).into());
    }
    Ok(if reproduced.cancelled.is_some() { Exit::Stopped } else { Exit::Fine })
}

impl ReproduceArgs {
    /// The folder of files; none where results are only printed.
    fn folder(&self) -> Option<PathBuf> {
        match (&self.out, self.output) {
            (Some(folder), _) => Some(folder.clone()),
            (None, OutputFormat::Table) => Some(FOLDER.into()),
            (None, OutputFormat::Json) => None,
        }
    }

    fn options(&self, cancel: &Cancel) -> Result<ReproduceOptions, Failure> {
        let warn = Arc::new(|warning: &str| crate::output::tell!("warning: {warning}"));
        let laboratory: Box<dyn Laboratory> =
            Box::new(Namespaces { program: program::file()?, warn, cancel: cancel.clone() });
        let options = ReproduceOptions::default()
            .with_effort(if self.quick { Effort::Quick } else { Effort::Full })
            .with_seeds(self.seeds)
            .with_servers(self.servers)
            .with_resume(self.resume.clone())
            .with_folder(self.folder())
            .with_origin(MeasuredBy { commit: self.commit.clone(), date: today(), ..MeasuredBy::default() })
            .with_laboratory(laboratory);
        Ok(match self.threads {
            Some(threads) => options.with_threads(threads),
            None => options,
        })
    }

    /// Refuses options that a subcommand does not use.
    fn refuse_unused(&self, subcommand: &str, used: &[&str]) -> Result<(), Failure> {
        let given = [
            ("--quick", self.quick),
            ("--seeds", self.seeds.is_some()),
            ("--servers", self.servers.is_some()),
            ("--resume", self.resume.is_some()),
            ("--out", self.out.is_some()),
            ("--papers", self.papers.is_some()),
            ("--commit", self.commit.is_some()),
            ("--threads", self.threads.is_some()),
            ("--output", self.output != OutputFormat::default()),
            ("--progress", self.progress),
        ];
        match given.into_iter().find(|(name, is_given)| *is_given && !used.contains(name)) {
            Some((name, _)) => Err(Failure::Usage(format!("`reproduce {subcommand}` does not use {name}: remove it"))),
            None => Ok(()),
        }
    }

    /// Prints the headline claims of a paper, as released or by the results in a folder.
    fn claims(&self, paper: &str, folder: Option<&Path>) -> Result<Exit, Failure> {
        self.refuse_unused("claims", &[])?;
        let mut out = out();
        write!(out, "{}", claims_page(paper, folder)?)?;
        out.flush()?;
        Ok(Exit::Fine)
    }

    /// Writes pages from the results in a folder.
    fn document(&self, folder: &Path) -> Result<Exit, Failure> {
        if self.out.is_none() && self.papers.is_none() {
            return Err(Failure::Usage(
                "document needs --out DIRECTORY, for a page for each figure, or --papers DIRECTORY, for the pages of papers".to_owned(),
            ));
        }
        if let Some(out) = &self.out {
            write_documents(folder, out)?;
        }
        if let Some(papers) = &self.papers {
            update_pages(folder, papers)?;
        }
        Ok(Exit::Fine)
    }

    fn seconds(&self) -> fn(&Entry) -> u32 {
        if self.quick { |entry| entry.quick_seconds } else { |entry| entry.full_seconds }
    }

    fn print(&self, reproduced: &Reproduced) -> Result<(), Failure> {
        let mut out = out();
        match self.output {
            OutputFormat::Json => reproduced.write_json(&mut out)?,
            OutputFormat::Table => {
                for measured in &reproduced.figures {
                    measured.write_text(&mut out, layout())?;
                    writeln!(out)?;
                }
                reproduced.write_totals(&mut out, layout())?;
                if let Some(folder) = self.folder() {
                    writeln!(out)?;
                    writeln!(out, "pictures and data: {}", folder.join("index.html").display())?;
                    if let Some(hint) = wayleave_experiments::png_hint() {
                        writeln!(out, "{hint}")?;
                    }
                }
            }
        }
        Ok(out.flush()?)
    }
}

/// Returns the message about a cancelled figure: the runs that were kept, and the way to continue.
fn describe_cancelled(cancelled: &CancelledFigure, resume: Option<&Path>) -> String {
    let CancelledFigure { entry, kept_runs, .. } = cancelled;
    let next = match (resume, kept_runs) {
        (None, _) if entry.keeps_runs() => {
            "its runs were not kept; to continue after Ctrl-C, use --resume DIRECTORY".to_owned()
        }
        (None, _) => "repeat the command to measure it".to_owned(),
        (Some(folder), 0) => format!("{} holds no complete run of it", folder.display()),
        (Some(folder), &runs) => format!(
            "{} in {}; repeat the command to measure only the others",
            human::count(runs, "complete run"),
            folder.display()
        ),
    };
    format!("stopped during {}: {next}", entry.id)
}

/// The day, in UTC; unknown where the clock is before 1970.
fn today() -> Option<String> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let now = WallTime::from_nanos(u64::try_from(since.as_nanos()).ok()?).to_string();
    now.split_once('T').map(|(day, _)| day.to_owned())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    figure: &'static str,
    paper: &'static str,
    place: &'static str,
    title: &'static str,
    quick_seconds: u32,
    full_seconds: u32,
    keeps_runs: bool,
}

/// Prints what there is.
fn list(format: OutputFormat) -> Result<Exit, Failure> {
    let mut out = out();
    if format == OutputFormat::Json {
        let listed = CATALOGUE.iter().map(|entry| Listed {
            figure: entry.id,
            paper: entry.paper.name,
            place: entry.place,
            title: entry.title,
            quick_seconds: entry.quick_seconds,
            full_seconds: entry.full_seconds,
            keeps_runs: entry.keeps_runs(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&listed.collect::<Vec<_>>())?)?;
        out.flush()?;
        return Ok(Exit::Fine);
    }
    let mut table = plain_table(&["figure", "what", "paper", "quick", "full", "--resume"]);
    for entry in CATALOGUE {
        let time = |seconds: u32| {
            let text = if seconds < 600 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) };
            Cell::new(text).set_alignment(CellAlignment::Right)
        };
        let paper = format!("{}, {}", entry.paper.name, entry.place);
        table.add_row([
            Cell::new(entry.id),
            Cell::new(entry.title),
            Cell::new(paper),
            time(entry.quick_seconds),
            time(entry.full_seconds),
            Cell::new(if entry.keeps_runs() { "yes" } else { "no" }),
        ]);
    }
    write_table(&mut out, &mut table)?;
    writeln!(out, "\nTimes are about those of two cores; figures of the same runs share them.")?;
    out.flush()?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_figure_names_the_kept_runs_and_the_way_to_continue() {
        let of = |entry, kept_runs| CancelledFigure { entry, not_begun: Vec::new(), kept_runs };
        let entry = CATALOGUE.iter().find(|entry| entry.keeps_runs()).unwrap();
        let (id, cancelled) = (entry.id, |kept_runs| of(entry, kept_runs));
        assert_eq!(
            describe_cancelled(&cancelled(12), Some(Path::new("runs"))),
            format!("stopped during {id}: 12 complete runs in runs; repeat the command to measure only the others")
        );
        let first = describe_cancelled(&cancelled(0), Some(Path::new("runs")));
        assert!(first.ends_with("runs holds no complete run of it"), "{first}");
        let without = describe_cancelled(&cancelled(0), None);
        assert!(without.contains("its runs were not kept") && without.contains("--resume DIRECTORY"), "{without}");
        let refused = CATALOGUE.iter().find(|entry| !entry.keeps_runs()).unwrap();
        let short = describe_cancelled(&of(refused, 0), None);
        assert_eq!(short, format!("stopped during {}: repeat the command to measure it", refused.id));
    }
}
