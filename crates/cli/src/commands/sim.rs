//! `wayleave sim`: runs a scenario, or every run of its sweep, and reports what happened.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use wayleave_scenarios::Scenario;
use wayleave_sim::Recording;
use wayleave_sim::trace::{self, pcap};

use crate::args::OutputFormat;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;
use crate::report::sim::page;
use crate::sim::batch::{Batch, Choice, quoted};
use crate::sim::memory::{self, Threads};
use crate::sim::progress::Progress;
use crate::sim::result::{Ending, Parameter, RunResult};
use crate::sim::runner::{Ended, run_all};
use crate::sim::store::Store;
use crate::sim::{interrupt, summary, text};

/// Where results go if nothing else is said.
const FOLDER: &str = "wayleave-sim";
/// How many packet events a trace keeps if the scenario does not say: 32 MB.
const TRACE_EVENTS: u64 = 1_000_000;

const EXAMPLE: &str = "\
Examples:
  wayleave sim scenario.yaml
  wayleave sim scenario.yaml --seed 7 --pcap packets.pcap
  wayleave sim sweep.yaml --out results            (Ctrl-C keeps the runs that are complete)
  wayleave sim sweep.yaml --out results --resume
  wayleave sim sweep.yaml --only traffic.web.load=0.8 --seed 3 -o json";

/// Simulate a scenario packet by packet, or every run of its sweep, and report what happened
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct SimArgs {
    /// The scenario in YAML or JSON; - is stdin
    #[arg(value_name = "SCENARIO")]
    file: String,
    /// This seed instead of those of the scenario
    #[arg(long)]
    seed: Option<u64>,
    /// Only the runs of the sweep in which this parameter has this value; may be given several times
    #[arg(long, value_name = "PATH=VALUE", value_parser = parameter)]
    only: Vec<Parameter>,
    /// How to print the results
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Where report.html and the JSON of every run are written [default: wayleave-sim; nowhere with -o json]
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,
    /// How many runs at once [default: as many as there are cores]; results do not depend on it
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Keep the runs that are complete in the directory, and do the others
    #[arg(long)]
    resume: bool,
    /// Write the last packet events of the run (as many as record.trace says, or a million)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write the last packets of the run as a capture for Wireshark and tcpdump
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
}

/// Reads `path=value`.
fn parameter(text: &str) -> Result<Parameter, String> {
    let (path, value) = text.split_once('=').ok_or("PATH=VALUE is expected, such as traffic.web.load=0.8")?;
    Ok(Parameter { path: path.to_owned(), value: value.to_owned() })
}

/// Runs the command.
pub(crate) fn run(args: &SimArgs) -> Result<Exit, Failure> {
    let mut batch = Batch::read(&args.file, &Choice { seed: args.seed, only: args.only.clone() })?;
    args.prepare_trace(&mut batch)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = args.threads.map_or(Threads::Cores(cores), |threads| Threads::Given(usize::from(threads)));
    let threads = memory::threads(&batch, wanted)?;
    let mut results = Results::new(args, &batch)?;
    let todo: Vec<usize> = (0..batch.runs.len()).filter(|&index| !results.resume(index)).collect();
    if args.resume {
        eprintln!("{} of {} runs are there already", batch.runs.len() - todo.len(), batch.runs.len());
    }
    interrupt::listen()?;
    let started = Instant::now();
    run_all(&batch, &todo, threads, Progress::new(args.progress), |ended| results.add(ended))?;
    let seconds = started.elapsed().as_secs_f64();
    results.finish(seconds)
}

impl SimArgs {
    /// The folder of results; none where they are only printed.
    fn folder(&self) -> Option<&Path> {
        match (&self.out, self.output, self.resume) {
            (Some(folder), _, _) => Some(folder),
            (None, OutputFormat::Table, _) | (None, _, true) => Some(Path::new(FOLDER)),
            (None, OutputFormat::Json, false) => None,
        }
    }

    /// Lets packet events be recorded if somebody wants them, and only then: they cost time and memory.
    fn prepare_trace(&self, batch: &mut Batch) -> Result<(), Failure> {
        let files: Vec<&PathBuf> = self.trace.iter().chain(&self.pcap).collect();
        if !files.is_empty() && batch.is_sweep() {
            let runs = batch.runs.len();
            let message = format!("a trace is that of one run, and there are {runs}: choose with --only and --seed");
            return Err(Failure::Usage(message));
        }
        files.iter().try_for_each(|file| check_place(file))?;
        if files.is_empty() && batch.runs.iter().all(|run| run.scenario.record.trace.is_none()) {
            return Ok(());
        }
        for run in &mut batch.runs {
            let wanted = (!files.is_empty()).then(|| run.scenario.record.trace.unwrap_or(TRACE_EVENTS));
            let mut scenario = Scenario::clone(&run.scenario);
            scenario.record.trace = wanted;
            run.scenario = Arc::new(scenario);
        }
        Ok(())
    }
}

/// That a file can be written there, as far as that is known before the run.
fn check_place(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = match (folder.is_dir(), path.metadata().is_ok_and(|known| !known.is_file())) {
        (false, _) => format!("there is no directory {}", folder.display()),
        (true, true) => "it is there, and is no regular file".to_owned(),
        (true, false) => return Ok(()),
    };
    Err(Failure::Usage(format!("{} cannot be written: {wrong}", path.display())))
}

/// Results as they come, and what is made of them.
struct Results<'a> {
    args: &'a SimArgs,
    batch: &'a Batch,
    store: Store,
    runs: Vec<Option<RunResult>>,
    /// Hops of the runs that were not there already.
    hops: u64,
}

impl<'a> Results<'a> {
    fn new(args: &'a SimArgs, batch: &'a Batch) -> Result<Self, Failure> {
        let runs = batch.runs.iter().map(|_| None).collect();
        Ok(Self { args, batch, store: Store::new(args.folder(), batch.runs.len())?, runs, hops: 0 })
    }

    /// Takes a run that is complete already, if that is wanted. A run whose trace is wanted has to be done.
    fn resume(&mut self, index: usize) -> bool {
        if !self.args.resume || self.args.trace.is_some() || self.args.pcap.is_some() {
            return false;
        }
        self.runs[index] = self.store.resume(self.batch, index).map(|result| self.condensed(result));
        self.runs[index].is_some()
    }

    /// A sweep of thousands of runs holds their main figures only; their files have the rest.
    fn condensed(&self, result: RunResult) -> RunResult {
        if self.batch.is_sweep() { result.condensed() } else { result }
    }

    fn add(&mut self, ended: Ended) -> Result<(), Failure> {
        let Ended { index, result, recording } = ended;
        self.store.keep(self.batch, index, &result)?;
        self.hops += result.hops;
        self.runs[index] = Some(self.condensed(result));
        recording.map_or(Ok(()), |recording| self.write_traces(index, &recording))
    }

    fn write_traces(&self, index: usize, recording: &Recording) -> Result<(), Failure> {
        let planned = &self.batch.runs[index];
        let program = env!("CARGO_PKG_VERSION");
        let header = recording.header(&planned.scenario.network, program, planned.seed, self.batch.hash);
        if let Some(path) = &self.args.trace {
            let written = trace::write(path, &header, recording.ring());
            written.map_err(|error| Failure::Internal(error.to_string()))?;
        }
        if let Some(path) = &self.args.pcap {
            let records = recording.ring().iter().map(|record| Ok(*record));
            let written = pcap::write(path, &header, records, &pcap::Capture::default());
            written.map_err(|error| Failure::Internal(error.to_string()))?;
        }
        Ok(())
    }

    /// Prints, writes the report, and says how to go on.
    fn finish(self, seconds: f64) -> Result<Exit, Failure> {
        let there: Vec<RunResult> = self.runs.iter().flatten().cloned().collect();
        let complete = there.iter().filter(|run| run.is_complete()).count();
        let is_partial = complete < self.batch.runs.len();
        let report = match self.store.folder() {
            Some(_) => self.store.write("report.html", &page::render(self.batch, &there, &self.command()))?,
            None => None,
        };
        let mut out = out();
        match self.args.output {
            OutputFormat::Json => self.store.document(&mut out, self.batch, is_partial)?,
            OutputFormat::Table => {
                match (there.as_slice(), self.batch.is_sweep()) {
                    ([run], false) => summary::write_run(&mut out, run)?,
                    (runs, _) => summary::write_sweep(&mut out, &self.batch.name, runs)?,
                }
                if let Some(report) = report {
                    writeln!(out, "\nreport: {}", report.display())?;
                }
                out.flush()?;
            }
        }
        if self.hops > 0 {
            let speed = text::count((self.hops as f64 / seconds.max(1e-9)) as u64);
            eprintln!("{} packet-hops in {seconds:.1}s, {speed} a second", text::count(self.hops));
        }
        if let Some(run) = there.iter().find(|run| run.ending == Ending::TooManyFlows) {
            let when = text::time(run.simulated_ns.saturating_mul(1_000));
            return Err(Failure::Usage(format!(
                "too many flows were open at once at {when} of the run with seed {}: it offers more than its network can \
                 carry, and its results end there\n  hint: offer less (load, perSecond), or simulate a shorter time",
                run.seed
            )));
        }
        if let Some(run) = there.iter().find(|run| run.ending == Ending::Unsupported) {
            return Err(Failure::Usage(format!(
                "the scheme by which hosts share asks for something that is not simulated; the run with seed {} ends there",
                run.seed
            )));
        }
        if !is_partial {
            return Ok(Exit::Fine);
        }
        self.say_partial(complete);
        Ok(Exit::Stopped)
    }

    fn say_partial(&self, complete: usize) {
        let all = self.batch.runs.len();
        let what = if self.batch.is_sweep() {
            format!("{complete} of {all} runs are complete")
        } else {
            "the run is not complete".to_owned()
        };
        match (self.store.folder(), self.batch.is_sweep()) {
            (Some(_), true) => eprintln!("stopped: {what}; to go on: {} --resume", self.command()),
            _ => eprintln!("stopped: {what}; these results are partial"),
        }
    }

    /// The command line that does the same, but for `--resume`.
    fn command(&self) -> String {
        let args = self.args;
        let mut command = format!("wayleave sim {}", quoted(&args.file));
        for Parameter { path, value } in &args.only {
            command += &format!(" --only {}", quoted(&format!("{path}={value}")));
        }
        if let Some(seed) = args.seed {
            command += &format!(" --seed {seed}");
        }
        if let Some(folder) = &args.out {
            command += &format!(" --out {}", quoted(&folder.display().to_string()));
        }
        command
    }
}
