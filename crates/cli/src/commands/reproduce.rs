//! `wayleave reproduce`: the figures of the publications, measured again.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use comfy_table::{Cell, CellAlignment};
use serde::Serialize;
use wayleave_experiments::{CATALOGUE, Effort, Entry, Failed, Run, find};
use wayleave_explain::human;
use wayleave_explain::sentences::nearest;
use wayleave_explain::table::write_table;

use crate::args::OutputFormat;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::lab::Namespaces;
use crate::output::out;
use crate::output::table::plain_table;
use crate::reproduce::progress::Progress;
use crate::reproduce::{Measured, csv, document, page, picture, png, terminal};
use crate::sim::interrupt;
use crate::sim::store::write_whole;

/// Where files go if nothing else is said.
const FOLDER: &str = "wayleave-reproduce";

const EXAMPLE: &str = "\
Examples:
  wayleave reproduce list
  wayleave reproduce sec2-examples
  wayleave reproduce chameleon-fig8a --quick
  wayleave reproduce all --out figures";

/// Measure figures of the publications again: data, pictures, and what the texts say beside what came out
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct ReproduceArgs {
    /// Figures by name; `all` for all of them, `list` to see their names
    #[arg(value_name = "FIGURE", required = true)]
    figures: Vec<String>,
    /// A tenth of the runs, on smaller networks
    #[arg(long)]
    quick: bool,
    /// So many runs of everything, with the seeds from 1 on, whatever the papers have
    #[arg(long, value_name = "COUNT")]
    seeds: Option<NonZeroUsize>,
    /// Where JSON, CSV, SVG, PNG and index.html are written [default: wayleave-reproduce; nowhere with -o json]
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// How many runs at once [default: as many as there are cores]; only measured times depend on it
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// How to print the results
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ReproduceArgs) -> Result<Exit, Failure> {
    if args.figures.iter().any(|name| name == "list") {
        if args.figures.len() > 1 {
            return Err(Failure::Usage("list stands alone: it prints the names of all figures".to_owned()));
        }
        return list(args.output);
    }
    let chosen = args.chosen()?;
    let folder = args.folder();
    if let Some(folder) = folder {
        let made = fs::create_dir_all(folder);
        made.map_err(|error| Failure::Internal(format!("{} cannot be made: {error}", folder.display())))?;
    }
    interrupt::listen()?;
    let progress = Progress::new(&chosen, args.seconds(), args.progress);
    let run = args.run(progress.clone());
    let (mut all, mut left_out, mut ending) = (Vec::new(), 0, Exit::Fine);
    let started = Instant::now();
    for (at, entry) in chosen.into_iter().enumerate() {
        progress.begin(at);
        match (entry.measure)(&run) {
            Ok(figure) => {
                let measured = Measured { entry, figure, effort: args.effort_name(), command: args.command(entry.id) };
                keep(folder, &measured)?;
                all.push(measured);
            }
            Err(Failed::Stopped) => {
                ending = Exit::Stopped;
                break;
            }
            Err(Failed::LeftOut(why)) => {
                eprintln!("{} is left out: {why}", entry.id);
                left_out += 1;
            }
            Err(Failed::Broken(why)) => return Err(Failure::Internal(format!("{}: {why}", entry.id))),
        }
    }
    // The bar goes before anything else is printed.
    drop((run, progress));
    if all.is_empty() && left_out > 0 {
        return Err(Failure::Internal("nothing was measured".to_owned()));
    }
    if let Some(folder) = folder {
        let page = page::render(&all, &args.command(&args.figures.join(" ")));
        write_whole(&folder.join("index.html"), page.as_bytes())?;
    }
    args.print(&all, folder)?;
    eprintln!("{} in {:.1}s", human::count(all.len(), "figure"), started.elapsed().as_secs_f64());
    Ok(ending)
}

impl ReproduceArgs {
    /// The figures that are meant, each once.
    fn chosen(&self) -> Result<Vec<&'static Entry>, Failure> {
        let mut chosen: Vec<&'static Entry> = Vec::new();
        for name in &self.figures {
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

    /// The folder of files; none where results are only printed.
    fn folder(&self) -> Option<&Path> {
        match (&self.out, self.output) {
            (Some(folder), _) => Some(folder),
            (None, OutputFormat::Table) => Some(Path::new(FOLDER)),
            (None, OutputFormat::Json) => None,
        }
    }

    fn run(&self, progress: Progress) -> Run {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let effort = if self.quick { Effort::Quick } else { Effort::Full };
        let run = Run::new(effort).with_runs(self.seeds).with_threads(self.threads.unwrap_or(cores));
        let run = run.with_laboratory(Box::new(Namespaces));
        run.watched(Box::new(move |done, of| {
            progress.tick(done, of);
            !interrupt::is_stopped()
        }))
    }

    fn effort_name(&self) -> &'static str {
        if self.quick { "quick" } else { "full" }
    }

    fn seconds(&self) -> fn(&Entry) -> u32 {
        if self.quick { |entry| entry.quick_seconds } else { |entry| entry.full_seconds }
    }

    /// The command that measures these figures as this one does.
    fn command(&self, figures: &str) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        let seeds = self.seeds.map_or_else(String::new, |seeds| format!(" --seeds {seeds}"));
        format!("wayleave reproduce {figures}{quick}{seeds}")
    }

    fn print(&self, all: &[Measured], folder: Option<&Path>) -> Result<(), Failure> {
        let mut out = out();
        match self.output {
            OutputFormat::Json => {
                let documents: Vec<String> = all.iter().map(document::of).collect::<Result<_, _>>()?;
                writeln!(out, "[{}]", documents.join(",\n"))?;
            }
            OutputFormat::Table => {
                for measured in all {
                    terminal::write(&mut out, measured)?;
                    writeln!(out)?;
                }
                if let Some(folder) = folder {
                    writeln!(out, "pictures and data: {}", folder.join("index.html").display())?;
                }
            }
        }
        Ok(out.flush()?)
    }
}

fn unknown(name: &str) -> Failure {
    let names = CATALOGUE.iter().map(|entry| entry.id).chain(["all", "list"]);
    let hint = nearest(name, names).map(|near| format!("; did you mean {near}?"));
    Failure::Usage(format!(
        "there is no figure {name}{}\n  hint: wayleave reproduce list prints the names of all figures",
        hint.unwrap_or_default()
    ))
}

/// Writes the files of a figure.
fn keep(folder: Option<&Path>, measured: &Measured) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    let id = measured.entry.id;
    let write = |name: String, bytes: &[u8]| write_whole(&folder.join(name), bytes);
    write(format!("{id}.json"), document::of(measured)?.as_bytes())?;
    if !measured.figure.panels.is_empty() {
        write(format!("{id}.csv"), csv::runs(&measured.figure).as_bytes())?;
        write(format!("{id}-summary.csv"), csv::summaries(&measured.figure).as_bytes())?;
    }
    for table in &measured.figure.tables {
        write(format!("{id}-{}.csv", table.name), csv::table(table).as_bytes())?;
    }
    let svg = picture::draw(measured);
    write(format!("{id}.svg"), svg.as_bytes())?;
    write(format!("{id}.png"), &png::of(&svg).map_err(Failure::Internal)?)
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
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&listed.collect::<Vec<_>>())?)?;
        out.flush()?;
        return Ok(Exit::Fine);
    }
    let mut table = plain_table(&["figure", "what", "paper", "quick", "full"]);
    for entry in CATALOGUE {
        let time = |seconds: u32| Cell::new(format!("{seconds} s")).set_alignment(CellAlignment::Right);
        let paper = format!("{}, {}", entry.paper.name, entry.place);
        table.add_row([
            Cell::new(entry.id),
            Cell::new(entry.title),
            Cell::new(paper),
            time(entry.quick_seconds),
            time(entry.full_seconds),
        ]);
    }
    write_table(&mut out, &mut table)?;
    writeln!(out, "\nTimes are about those of two cores; figures of the same runs share them.")?;
    out.flush()?;
    Ok(Exit::Fine)
}
