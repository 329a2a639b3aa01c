//! `wayleave sim`: runs a scenario, or every run of its sweep, and reports what happened.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use wayleave::result::SweepParameter;
use wayleave::sim::quoted;
use wayleave::{Batch, RunSelection, Sweep, SweepOptions, Threads, Watch, sweep};
use wayleave_scenarios::FastForward;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{OutputFormat, layout, out};
use crate::progress::runs::Progress;

/// Default folder of the results.
const FOLDER: &str = "wayleave-sim";

const EXAMPLE: &str = "\
Examples:
  wayleave sim scenario.yaml
  wayleave sim scenario.yaml --seed 7 --pcap packets.pcap
  wayleave sim sweep.yaml --out results            (Ctrl-C keeps the runs that are complete)
  wayleave sim sweep.yaml --out results --resume
  wayleave sim sweep.yaml --only traffic.web.load=0.8 --seed 3 -o json";

/// Simulate a scenario, or all runs of its sweep, packet by packet
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct SimArgs {
    /// Scenario in YAML or JSON; - is stdin
    #[arg(value_name = "SCENARIO")]
    file: String,
    /// Seed, in place of those of the scenario
    #[arg(long)]
    seed: Option<u64>,
    /// Only runs of the sweep with this value of a parameter; may be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = parameter)]
    only: Vec<SweepParameter>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Folder for report.html and the JSON of every run [default: wayleave-sim; none with -o json]
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// Number of concurrent runs [default: number of cores]; does not change results
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Threads of each run, if it can be partitioned; does not change results
    #[arg(long, value_name = "THREADS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads_per_run: u16,
    /// Run only the runs that are missing in the directory
    #[arg(long)]
    resume: bool,
    /// Fast-forward through steady state; maximum relative error of completion times
    #[arg(long, value_name = "ERROR", num_args = 0..=1, require_equals = true, default_missing_value = "0.005", value_parser = forward_error)]
    fast_forward: Option<f64>,
    /// Write the last packet events of the run (record.trace of them, or a million)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write the last packets of the run as a pcap file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Show progress even if standard error is not a terminal
    #[arg(long)]
    progress: bool,
}

/// Reads how far off completion times may be.
fn forward_error(text: &str) -> Result<f64, String> {
    let error = text.parse().ok().filter(|&error| FastForward { max_error: error }.is_valid());
    error.ok_or_else(|| format!("expected a number above 0 and up to {}, such as 0.005", FastForward::MAX))
}

/// Reads `path=value`.
fn parameter(text: &str) -> Result<SweepParameter, String> {
    let (path, value) = text.split_once('=').ok_or("expected PATH=VALUE, such as traffic.web.load=0.8")?;
    Ok(SweepParameter { path: path.to_owned(), value: value.to_owned() })
}

/// Runs the command.
pub(crate) fn run(args: &SimArgs) -> Result<Exit, Failure> {
    let mut batch =
        Batch::read(&args.file, &RunSelection::default().with_seed(args.seed).with_only(args.only.clone()))?;
    if let Some(error) = args.fast_forward {
        batch.fast_forward(FastForward { max_error: error });
    }
    batch.not_carried_out().iter().for_each(|sentence| crate::output::tell!("warning: {sentence}"));
    args.print_obstacle(&batch);
    let cancel = interrupt::listen()?;
    let sweep = sweep(batch, &args.options(), &mut Watch::new(&mut Progress::new(args.progress), &cancel))?;
    let mut out = out();
    match args.output {
        OutputFormat::Json => sweep.write_json(&mut out)?,
        OutputFormat::Table => {
            sweep.write_text(&mut out, layout())?;
            if let Some(report) = sweep.report() {
                writeln!(out, "\nreport: {}", report.display())?;
            }
        }
    }
    out.flush()?;
    if let Some(speed) = sweep.speed() {
        crate::output::tell!("{speed}");
    }
    sweep.check()?;
    if sweep.is_partial() {
        args.print_partial(&sweep);
        return Ok(Exit::Stopped);
    }
    let missing = sweep.missing_traffic();
    for (sentence, runs) in &missing {
        match (runs, sweep.batch().runs().len()) {
            (_, 1) => crate::output::tell!("{sentence}"),
            (runs, all) => crate::output::tell!("{sentence}, in {runs} of {all} runs"),
        }
    }
    Ok(if missing.is_empty() { Exit::Fine } else { Exit::Incomplete })
}

impl SimArgs {
    fn options(&self) -> SweepOptions {
        SweepOptions::default()
            .with_folder(self.folder())
            .with_threads(self.threads())
            .with_threads_per_run(NonZeroUsize::new(usize::from(self.threads_per_run)))
            .with_resume(self.resume)
            .with_trace(self.trace.clone())
            .with_pcap(self.pcap.clone())
            .with_command(self.command())
    }

    fn threads(&self) -> Threads {
        let given = self.threads.and_then(|threads| NonZeroUsize::new(usize::from(threads)));
        given.map_or_else(Threads::default, Threads::Given)
    }

    /// The folder of results; none where they are only printed.
    fn folder(&self) -> Option<PathBuf> {
        match (&self.out, self.output, self.resume) {
            (Some(folder), _, _) => Some(folder.clone()),
            (None, OutputFormat::Table, _) | (None, _, true) => Some(FOLDER.into()),
            (None, OutputFormat::Json, false) => None,
        }
    }

    /// Several threads were asked for, and a run uses one.
    fn print_obstacle(&self, batch: &Batch) {
        if self.threads_per_run == 1 {
            return;
        }
        let recorded = (self.trace.is_some() || self.pcap.is_some()).then(|| "a trace is recorded".to_owned());
        if let Some(why) = recorded.or_else(|| batch.obstacle()) {
            let what = if batch.is_sweep() { "some runs use" } else { "the run uses" };
            crate::output::tell!("{what} one thread: {why}");
        }
    }

    fn print_partial(&self, sweep: &Sweep) {
        let (complete, all, is_sweep) = (sweep.complete(), sweep.batch().runs().len(), sweep.batch().is_sweep());
        let what = if is_sweep {
            format!("{complete} of {all} runs are complete")
        } else {
            "the run is not complete".to_owned()
        };
        match (sweep.folder(), is_sweep) {
            (Some(_), true) => crate::output::tell!("stopped: {what}; to continue: {} --resume", self.command()),
            _ => crate::output::tell!("stopped: {what}; these results are partial"),
        }
    }

    /// Returns the command line that repeats the runs, without `--resume`.
    fn command(&self) -> String {
        let mut command = format!("wayleave sim {}", quoted(&self.file));
        for SweepParameter { path, value } in &self.only {
            command += &format!(" --only {}", quoted(&format!("{path}={value}")));
        }
        if let Some(seed) = self.seed {
            command += &format!(" --seed {seed}");
        }
        if let Some(error) = self.fast_forward {
            command += &format!(" --fast-forward={error}");
        }
        if let Some(folder) = &self.out {
            command += &format!(" --out {}", quoted(&folder.display().to_string()));
        }
        command
    }
}
