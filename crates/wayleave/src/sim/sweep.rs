//! All runs of a batch: results that are already stored, results of new runs, and the documents made from them.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wayleave_explain::table::TableLayout;
use wayleave_sim::Recording;
use wayleave_sim::trace::{self, pcap};

use super::batch::Batch;
use super::memory::{self, Threads};
use super::runner::{EndedRun, run_all};
use super::store::Store;
use crate::error::Error;
use crate::progress::{Progress, ProgressStep, Watch};
use wayleave_report::numbers;
use wayleave_report::sim::result::{MAX_PAIRS, ReportedEnd, RunResult, TrafficResult};
use wayleave_report::sim::{page, summary, text};

/// Default number of packet events in a trace: 32 MB.
pub const TRACE_EVENTS: u64 = 1_000_000;

/// Threads, output files and error handling of a sweep.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SweepOptions {
    folder: Option<PathBuf>,
    threads: Threads,
    threads_per_run: Option<NonZeroUsize>,
    resume: bool,
    trace: Option<PathBuf>,
    pcap: Option<PathBuf>,
    command: String,
    keep_going: bool,
}

impl SweepOptions {
    /// Writes the report and the JSON of every run into a directory. Without one, no files are written.
    #[must_use]
    pub fn with_folder(self, folder: impl Into<Option<PathBuf>>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// Sets the number of concurrent runs. Results do not depend on it.
    #[must_use]
    pub fn with_threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Sets the number of threads of each run that can be partitioned ([`Batch::obstacle`]); 1 by default. Results do not depend on it.
    #[must_use]
    pub fn with_threads_per_run(self, threads_per_run: impl Into<Option<NonZeroUsize>>) -> Self {
        Self { threads_per_run: threads_per_run.into(), ..self }
    }

    /// Keeps runs that are complete in the directory, and simulates only the others.
    #[must_use]
    pub fn with_resume(self, resume: bool) -> Self {
        Self { resume, ..self }
    }

    /// Writes the last packet events of the run to a file. The batch must have exactly one run.
    #[must_use]
    pub fn with_trace(self, trace: impl Into<Option<PathBuf>>) -> Self {
        Self { trace: trace.into(), ..self }
    }

    /// Writes the last packet events of the run as a capture for Wireshark and tcpdump. The batch must have exactly one run.
    #[must_use]
    pub fn with_pcap(self, pcap: impl Into<Option<PathBuf>>) -> Self {
        Self { pcap: pcap.into(), ..self }
    }

    /// Sets the command that the report shows for this sweep.
    #[must_use]
    pub fn with_command(self, command: String) -> Self {
        Self { command, ..self }
    }

    /// Continues with the other runs if one cannot be simulated; [`Sweep::failed`] lists it.
    #[must_use]
    pub fn with_keep_going(self, keep_going: bool) -> Self {
        Self { keep_going, ..self }
    }
}

/// A batch with the results of its runs.
#[derive(Debug)]
pub struct Sweep {
    batch: Batch,
    runs: Vec<Option<RunResult>>,
    failed: Vec<(usize, String)>,
    hops: u64,
    elapsed: Duration,
    report: Option<PathBuf>,
    store: Store,
}

/// Runs a batch, and writes results and a report into a folder if there is one. After a cancellation, current runs
/// end early, others do not begin, and the results obtained so far are kept.
///
/// # Errors
/// If the memory does not suffice, a file cannot be written, or a scenario cannot be run. The runs that are complete
/// by then are in the folder.
///
/// ```
/// use wayleave::{Batch, RunSelection, Source, SweepOptions, Watch, sweep};
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Scenario
/// metadata: { name: two-loads }
/// spec:
///   topology: star:hosts=4
///   duration: 2ms
///   traffic: [{ name: web, load: 0.3, sizes: web-search }]
///   sweep: { vary: { traffic.web.load: [0.2, 0.4] } }
/// ";
/// let batch = Batch::parse(&Source::new("two.yaml", text), "two.yaml", &RunSelection::default())?;
/// let sweep = sweep(batch, &SweepOptions::default(), &mut Watch::none())?;
/// assert_eq!((sweep.complete(), sweep.is_partial()), (2, false));
/// # Ok::<(), wayleave::Error>(())
/// ```
pub fn sweep(batch: Batch, options: &SweepOptions, watch: &mut Watch<'_>) -> Result<Sweep, Error> {
    let (progress, cancel) = watch.parts();
    let mut batch = batch;
    prepare_traces(&mut batch, options)?;
    // Events that were not requested are not recorded, and take no memory.
    let threads = memory::threads(&batch, options.threads, progress)?;
    let mut sweep = Sweep::prepared(batch, options, progress)?;
    let todo = sweep.missing();
    let per_run = options.threads_per_run.unwrap_or(NonZeroUsize::MIN);
    let started = Instant::now();
    // The batch is read by the threads while results are added.
    let batch = sweep.batch.clone();
    run_all(&batch, &todo, (threads, per_run), progress, cancel, |run| match run {
        Ok(ended) => sweep.add(ended, options),
        Err((index, error)) if options.keep_going => {
            sweep.failed.push((index, error.to_string()));
            Ok(())
        }
        Err((_, error)) => Err(error),
    })?;
    sweep.elapsed = started.elapsed();
    sweep.write_report(&options.command)?;
    Ok(sweep)
}

/// Records packet events only if they are requested: they cost time and memory.
fn prepare_traces(batch: &mut Batch, options: &SweepOptions) -> Result<(), Error> {
    let files: Vec<&PathBuf> = options.trace.iter().chain(&options.pcap).collect();
    if !files.is_empty() && batch.is_sweep() {
        let runs = batch.runs.len();
        let message = format!("a trace covers one run, but there are {runs}: choose one with --only and --seed");
        return Err(Error::Usage(message));
    }
    files.iter().try_for_each(|file| check_place(file))?;
    if files.is_empty() && batch.runs.iter().all(|run| run.scenario.record.trace.is_none()) {
        return Ok(());
    }
    let is_wanted = !files.is_empty();
    batch.record(|scenario| is_wanted.then(|| scenario.record.trace.unwrap_or(TRACE_EVENTS)));
    Ok(())
}

/// That a file can be written there, as far as that is known before the run.
fn check_place(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = match (folder.is_dir(), path.metadata().is_ok_and(|known| !known.is_file())) {
        (false, _) => format!("there is no directory {}", folder.display()),
        (true, true) => "it exists and is not a regular file".to_owned(),
        (true, false) => return Ok(()),
    };
    Err(Error::Usage(format!("{} cannot be written: {wrong}", path.display())))
}

impl Sweep {
    /// Returns a sweep with the runs that are complete in the directory, if [resuming](SweepOptions::with_resume) is set. The caller simulates the
    /// [missing](Self::missing) runs elsewhere and [adds](Self::keep) their results.
    ///
    /// # Errors
    /// If the folder cannot be made, or a file of a trace cannot be written.
    ///
    /// ```
    /// use wayleave::{Batch, RunSelection, Source, Sweep, SweepOptions, Watch};
    /// let text = "
    /// apiVersion: wayleave/v1
    /// kind: Scenario
    /// spec:
    ///   topology: star:hosts=4
    ///   duration: 1ms
    ///   traffic: [{ name: web, load: 0.3, sizes: web-search }]
    ///   sweep: { seeds: [1, 2] }
    /// ";
    /// let batch = Batch::parse(&Source::new("two.yaml", text), "two.yaml", &RunSelection::default())?;
    /// let mut sweep = Sweep::begin(batch, &SweepOptions::default(), &mut Watch::none())?;
    /// for index in sweep.missing() {
    ///     let result = sweep.batch().run(index, &mut Watch::none())?;
    ///     sweep.keep(index, result)?;
    /// }
    /// assert!(!sweep.is_partial());
    /// # Ok::<(), wayleave::Error>(())
    /// ```
    pub fn begin(batch: Batch, options: &SweepOptions, watch: &mut Watch<'_>) -> Result<Self, Error> {
        let mut batch = batch;
        prepare_traces(&mut batch, options)?;
        Self::prepared(batch, options, watch.parts().0)
    }

    fn prepared(batch: Batch, options: &SweepOptions, progress: &mut dyn Progress) -> Result<Self, Error> {
        let store = Store::new(options.folder.as_deref(), batch.runs.len())?;
        let runs = batch.runs.iter().map(|_| None).collect();
        let mut sweep = Self { batch, runs, failed: Vec::new(), hops: 0, elapsed: Duration::ZERO, report: None, store };
        let runs = sweep.runs.len();
        let there = (0..runs).filter(|&index| sweep.resume(index, options, progress)).count();
        if options.resume {
            progress.step(ProgressStep::Resumed { there, runs });
        }
        Ok(sweep)
    }

    /// Returns the batch.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Returns the results in the order of the batch, `None` for runs that did not begin. A batch of several runs keeps only their main figures here:
    /// the files and the document have the rest.
    pub fn runs(&self) -> &[Option<RunResult>] {
        &self.runs
    }

    /// Returns the results as [`runs`](Self::runs) does, without a copy.
    pub fn into_runs(self) -> Vec<Option<RunResult>> {
        self.runs
    }

    /// Returns the indices of runs that could not be simulated, each with the reason.
    pub fn failed(&self) -> &[(usize, String)] {
        &self.failed
    }

    /// Returns the number of packet-hops that were simulated, without those of resumed runs.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Returns the time that the simulation took.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns the path of the report; `None` without a directory.
    pub fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    /// The indices of runs of which there is no result.
    pub fn missing(&self) -> Vec<usize> {
        (0..self.runs.len()).filter(|&index| self.runs[index].is_none()).collect()
    }

    /// Adds a result, and writes it to the folder immediately if there is one. Its command is replaced by that of
    /// this batch: the process that ran it may have used another file name.
    ///
    /// # Errors
    /// If the result is not of this run, this version and the same input, or cannot be written.
    pub fn keep(&mut self, index: usize, result: RunResult) -> Result<(), Error> {
        let planned = self.batch.runs.get(index).filter(|planned| self.batch.has_result(planned, &result));
        let Some(planned) = planned else {
            let (version, seed) = (&result.wayleave, result.seed);
            return Err(Error::Usage(format!(
                "this is not the result of run {index} of \"{}\": it was made by wayleave {version}, with seed {seed}, from input {}\n  \
                 hint: all machines need the same version, {}",
                self.batch.name,
                result.input_hash,
                env!("CARGO_PKG_VERSION")
            )));
        };
        let result = RunResult { replay: planned.replay.clone(), ..result };
        self.add(EndedRun { index, result, recording: None }, &SweepOptions::default())
    }

    /// Writes the report into the folder, if there is one; `command` is the command that repeats the sweep.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_report(&mut self, command: &str) -> Result<(), Error> {
        if self.folder().is_some() {
            self.report = self.store.write("report.html", &self.page(command))?;
        }
        Ok(())
    }

    /// Takes a run that is complete already, if that is wanted. A run whose trace is wanted has to be done.
    fn resume(&mut self, index: usize, options: &SweepOptions, progress: &mut dyn Progress) -> bool {
        if !options.resume || options.trace.is_some() || options.pcap.is_some() {
            return false;
        }
        self.runs[index] = self.store.resume(&self.batch, index, progress).map(|result| self.condensed(result));
        self.runs[index].is_some()
    }

    /// A sweep of thousands of runs holds their main figures only; their files have the rest.
    fn condensed(&self, result: RunResult) -> RunResult {
        if self.batch.is_sweep() { result.condensed() } else { result }
    }

    fn add(&mut self, ended: EndedRun, options: &SweepOptions) -> Result<(), Error> {
        let EndedRun { index, result, recording } = ended;
        self.store.keep(&self.batch, index, &result)?;
        self.hops += result.hops;
        self.runs[index] = Some(self.condensed(result));
        recording.map_or(Ok(()), |recording| self.write_traces(index, &recording, options))
    }

    fn write_traces(&self, index: usize, recording: &Recording, options: &SweepOptions) -> Result<(), Error> {
        let planned = &self.batch.runs[index];
        let program = env!("CARGO_PKG_VERSION");
        let header = recording.header(&planned.scenario.network, program, planned.seed, self.batch.hash);
        if let Some(path) = &options.trace {
            let written = trace::write(path, &header, recording.ring());
            written.map_err(|error| Error::Internal(error.to_string()))?;
        }
        if let Some(path) = &options.pcap {
            let records = recording.ring().iter().map(|record| Ok(*record));
            let written = pcap::write(path, &header, records, &pcap::PcapOptions::default());
            written.map_err(|error| Error::Internal(error.to_string()))?;
        }
        Ok(())
    }

    /// Returns the available results, in the order of the batch.
    pub fn results(&self) -> Vec<RunResult> {
        self.runs.iter().flatten().cloned().collect()
    }

    /// Returns the number of complete runs.
    pub fn complete(&self) -> usize {
        self.runs.iter().flatten().filter(|run| run.is_complete()).count()
    }

    /// Returns `true` if some runs are not complete.
    pub fn is_partial(&self) -> bool {
        self.complete() < self.batch.runs.len()
    }

    /// Sentences, without a full stop, about traffic that is missing in runs: kinds and pairs of which nothing arrived in the time that is counted, and listed
    /// flows that begin after the end. Each with the number of runs in which that is so.
    pub fn missing_traffic(&self) -> Vec<(String, usize)> {
        let mut missing: Vec<(String, usize)> = Vec::new();
        for traffic in self.runs.iter().flatten().flat_map(|run| &run.traffic) {
            for sentence in missing_of(traffic) {
                match missing.iter_mut().find(|(known, _)| *known == sentence) {
                    Some((_, runs)) => *runs += 1,
                    None => missing.push((sentence, 1)),
                }
            }
        }
        missing
    }

    /// Returns the folder of the results and the report.
    pub fn folder(&self) -> Option<&Path> {
        self.store.folder()
    }

    /// Returns the report: one self-contained HTML page. `command` is the command that repeats the sweep.
    pub fn page(&self, command: &str) -> String {
        page::render(&self.batch.reported(), &self.results(), command)
    }

    /// Writes one JSON document with all runs that have ended.
    ///
    /// # Errors
    /// If it cannot be written, or a file of a run is missing.
    pub fn write_json(&self, out: &mut impl Write) -> Result<(), Error> {
        self.store.document(out, &self.batch, self.is_partial())
    }

    /// Writes the main figures for people.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        let there = self.results();
        match (there.as_slice(), self.batch.is_sweep()) {
            ([run], false) => summary::write_run(out, run, layout)?,
            (runs, _) => summary::write_sweep(out, &self.batch.name, runs, layout)?,
        }
        Ok(())
    }

    /// `1,234 packet-hops in 0.2 s, 6,170 per second`; `None` if nothing was done now.
    pub fn speed(&self) -> Option<String> {
        let seconds = self.elapsed.as_secs_f64();
        let speed = numbers::count((self.hops as f64 / seconds.max(1e-9)) as u64);
        (self.hops > 0)
            .then(|| format!("{} packet-hops in {seconds:.1} s, {speed} per second", numbers::count(self.hops)))
    }

    /// Checks that every run ended at its end time or by a cancellation.
    ///
    /// # Errors
    /// The first other reason, with a remedy.
    pub fn check(&self) -> Result<(), Error> {
        let there = || self.runs.iter().flatten();
        if let Some(run) = there().find(|run| run.ending == ReportedEnd::TooManyFlows) {
            let when = text::time(run.simulated_ns.saturating_mul(1_000));
            return Err(Error::Usage(format!(
                "too many open flows at {when} in the run with seed {}: its load exceeds the network's capacity, and its results end there\n  hint: offer less (load, perSecond), or simulate a shorter time",
                run.seed
            )));
        }
        Ok(())
    }
}

/// Pairs that are named in a sentence.
const NAMED: usize = 5;

fn missing_of(traffic: &TrafficResult) -> Vec<String> {
    let name = &traffic.name;
    let mut missing = Vec::new();
    let silent = &traffic.without_arrivals;
    if traffic.delivered == 0 {
        missing.push(format!("traffic \"{name}\" delivered nothing in the measured period"));
    } else if !silent.is_empty() {
        let named: Vec<String> = silent.iter().take(NAMED).map(|[from, to]| format!("{from} to {to}")).collect();
        let more = match silent.len().saturating_sub(NAMED) {
            0 => String::new(),
            more if silent.len() == MAX_PAIRS => format!(" and at least {more} more"),
            more => format!(" and {more} more"),
        };
        let named = named.join(", ");
        missing.push(format!("traffic \"{name}\" delivered nothing in the measured period from {named}{more}"));
    }
    match traffic.after_the_end {
        0 => {}
        1 => missing.push(format!("one listed flow of the traffic \"{name}\" begins after the end of the run")),
        flows => missing.push(format!("{flows} listed flows of the traffic \"{name}\" begin after the end of the run")),
    }
    missing
}
