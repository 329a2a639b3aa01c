//! Scenarios: one run, or all runs of a sweep, on this machine or on others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};
use wayleave::result::{ReportedEnd, RunResult, SweepParameter};
use wayleave::{Batch, Error, PlannedRun, RunSelection, Source, Sweep, SweepOptions, Threads, Watch, sweep};
use wayleave_explain::table::TableLayout;
use wayleave_formats::{Grid, InputErrors, beside, with_grid};
use wayleave_scenarios::Congestion;
use wayleave_schemes::transports::SharedTransport;

use crate::admission::raised;
use crate::document::loaded;
use crate::error::{Failure, internal, usage};
use crate::html::{listing, page};
use crate::network::{hash, parsed, provenance};
use crate::own::OwnCode;
use crate::table::{Column, Kind, Provenance, Table, columns};
use crate::transport::OwnTransport;
use crate::watch::{aside, run};

/// A scenario with the texts that it names, from which every machine makes the same runs.
#[pyclass(name = "_Batch", module = "wayleave._wayleave", frozen)]
pub(crate) struct PyBatch {
    batch: Batch,
    /// Scenario that calls which do a run again name; `None` if a command can do it.
    subject: Option<String>,
    /// The scenario and the files that it names, by their names in it.
    texts: Vec<(String, String)>,
}

/// Opens what a scenario names, and remembers it: texts that are given, and otherwise files beside it.
struct Opener<'a> {
    source: &'a Source,
    given: &'a HashMap<String, String>,
    opened: RefCell<Vec<(String, String)>>,
}

impl Opener<'_> {
    fn open(&self, name: &str) -> Result<Source, InputErrors> {
        let source = match self.given.get(name) {
            Some(text) => Source::new(name, text.as_str()),
            None => beside(self.source, name)?,
        };
        let mut opened = self.opened.borrow_mut();
        if opened.iter().all(|(known, _)| known != name) {
            opened.push((name.to_owned(), source.text().to_owned()));
        }
        Ok(source)
    }
}

#[pymethods]
impl PyBatch {
    /// Creates a batch. `texts` are files that exist in memory only, by their names in the scenario; `is_file` is
    /// `true` if `name` is a file with this text.
    #[new]
    #[pyo3(signature = (text, name, texts=HashMap::new(), vary=Vec::new(), seeds=Vec::new(), is_file=true))]
    fn new(
        py: Python<'_>,
        text: String,
        name: String,
        texts: HashMap<String, String>,
        vary: Vec<(String, String)>,
        seeds: Vec<u64>,
        is_file: bool,
    ) -> PyResult<Self> {
        aside(py, move || Self::parsed(text, &name, &texts, vary, seeds, is_file))
    }

    /// Texts that reproduce the batch elsewhere.
    #[getter]
    fn texts(&self) -> Vec<(String, String)> {
        self.texts.clone()
    }

    #[getter]
    fn input_hash(&self) -> String {
        self.batch.input_hash()
    }

    #[getter]
    fn name(&self) -> &str {
        self.batch.name()
    }

    /// Titles of the runs: the values in which they differ.
    #[getter]
    fn titles(&self) -> Vec<String> {
        self.batch.runs().iter().map(wayleave::PlannedRun::title).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.runs().len()
    }

    /// One run, as the JSON of its result.
    fn run(&self, py: Python<'_>, index: usize) -> PyResult<String> {
        let batch = self.batch.clone();
        run(py, None, move |progress, cancel| {
            Ok(serde_json::to_string(&batch.run(index, &mut Watch::new(progress, cancel))?)?)
        })
    }
}

impl PyBatch {
    fn parsed(
        text: String,
        name: &str,
        texts: &HashMap<String, String>,
        vary: Vec<(String, String)>,
        seeds: Vec<u64>,
        is_file: bool,
    ) -> Result<Self, Error> {
        let source = Source::new(name, text.as_str());
        let opener = Opener { source: &source, given: texts, opened: RefCell::default() };
        let open = |name: &str| opener.open(name);
        let values = |(path, values): (String, String)| match parsed(&values)? {
            Value::Array(values) => Ok((path, values)),
            _ => Err(Error::Usage(format!("grid: a list of values is expected for \"{path}\""))),
        };
        let vary = vary.into_iter().map(values).collect::<Result<Vec<_>, _>>()?;
        // Errors in the file are reported with the file's own lines.
        let mut batch = Batch::parse_with(&source, name, &RunSelection::default(), &open)?;
        let mut subject = (!is_file).then(|| "scenario".to_owned());
        if !(vary.is_empty() && seeds.is_empty()) {
            let varied = with_grid(&source, &Grid { vary, seeds })?;
            batch = Batch::parse_with(&varied, name, &RunSelection::default(), &open)?;
            subject = subject.or_else(|| Some(json!(name).to_string()));
        }
        if let Some(subject) = &subject {
            batch.set_replay(|run| replay(subject, run));
        }
        let scenario = batch.sources().first().map_or(text, |source| source.text().to_owned());
        let texts = std::iter::once((name.to_owned(), scenario)).chain(opener.opened.into_inner()).collect();
        Ok(Self { batch, subject, texts })
    }
}

/// The call that does one run again, where no command can: what it varies is in no file.
fn replay(subject: &str, run: &PlannedRun) -> String {
    let value = |text: &str| text.parse::<f64>().map_or_else(|_| json!(text).to_string(), |_| text.to_owned());
    let vary =
        run.parameters.iter().map(|SweepParameter { path, value: text }| format!("{}: [{}]", json!(path), value(text)));
    let grid = vary.collect::<Vec<_>>().join(", ");
    format!("wayleave.sweep({subject}, {{{grid}}}, seeds=[{}])", run.seed)
}

/// Returns the columns for each kind of traffic of a run.
fn traffic_columns() -> Vec<Column> {
    let mut all = columns(Kind::Text, &["traffic", "kind"]);
    all.extend(columns(
        Kind::Whole,
        &["sent", "delivered", "drops", "marked", "again", "timeouts", "goodput_bps", "begun", "finished"],
    ));
    for what in ["delay_ps", "completion_ps"] {
        all.extend(
            columns(Kind::Real, &[&format!("{what}.mean")]).into_iter().map(|column| column.called(&put(what, "mean"))),
        );
        for part in ["p50", "p99", "p99_9", "max"] {
            all.push(Column::new(&format!("{what}.{part}"), Kind::Whole).called(&put(what, part)));
        }
    }
    all.push(Column::new("slowdown_thousandths.mean", Kind::Real).called("slowdown_thousandths_mean"));
    all.push(Column::new("slowdown_thousandths.p99", Kind::Whole).called("slowdown_thousandths_p99"));
    all.extend(columns(Kind::Whole, &["deadlines_met", "deadlines_missed"]));
    all
}

/// `delay_p99_ps`: the unit ends a name.
fn put(what: &str, part: &str) -> String {
    match what.strip_suffix("_ps") {
        Some(stem) => format!("{stem}_{part}_ps"),
        None => format!("{what}_{part}"),
    }
}

/// Returns the rows of one run: its traffic, with the columns that identify the run.
fn traffic_rows(result: &RunResult) -> Result<Vec<Value>, Error> {
    let document = serde_json::to_value(&result.traffic)?;
    let Value::Array(mut rows) = document else { return Ok(Vec::new()) };
    for row in &mut rows {
        row["traffic"] = row["name"].take();
        row["seed"] = json!(result.seed);
        row["ending"] = json!(result.ending);
        row["input_hash"] = json!(result.input_hash);
        for SweepParameter { path, value } in &result.parameters {
            row["parameters"][path.replace('.', "/")] = match value.parse::<f64>() {
                Ok(number) => json!(number),
                Err(_) => json!(value),
            };
        }
    }
    Ok(rows)
}

/// One run.
#[pyclass(name = "Run", module = "wayleave", frozen)]
pub(crate) struct PyRun {
    result: Arc<RunResult>,
    provenance: Provenance,
}

/// A part of a result as a table.
fn part<T: serde::Serialize>(part: &[T], all: &[Column], provenance: &Provenance) -> Result<Table, Error> {
    match serde_json::to_value(part)? {
        Value::Array(rows) => Table::of(&rows, all, provenance),
        _ => Err(Error::Internal("a part of a result is no list".to_owned())),
    }
}

/// The traffic of a run as a table.
fn traffic_table(result: &RunResult, provenance: &Provenance) -> Result<Table, Error> {
    Table::of(&traffic_rows(result)?, &traffic_columns(), provenance)
}

impl PyRun {
    /// A result; `own` is the transport that the program brought.
    fn new(mut result: RunResult, own: Option<OwnCode>) -> Self {
        let mut from = vec![("seed", result.seed.to_string()), ("scenario", result.scenario.clone())];
        if let Some(own) = own {
            from.extend([("transport", own.name()), ("code", own.hash.clone())]);
            result.replay = format!("not replayable: own transport {} (code {})", own.name(), own.hash);
            result.input_hash = hash([result.input_hash.as_str(), &own.name(), &own.hash]);
        }
        let provenance = provenance(std::iter::once(("input_hash", result.input_hash.clone())).chain(from));
        Self { result: Arc::new(result), provenance }
    }

    /// Does work with the result and its provenance, without the interpreter's lock.
    fn aside<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&RunResult, &Provenance) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (result, provenance) = (self.result.clone(), self.provenance.clone());
        aside(py, move || work(&result, &provenance))
    }

    fn summary(&self) -> String {
        let RunResult { scenario, seed, simulated_ns, hops, ending, .. } = &*self.result;
        let why = match ending {
            ReportedEnd::Complete => "",
            ReportedEnd::TooManyFlows => {
                ", ended early: too many flows were open, it offers more than its network can carry"
            }
            ReportedEnd::Stopped => ", ended early: somebody stopped it",
        };
        format!("{scenario}, seed {seed}: {} ms simulated, {hops} packet hops{why}", *simulated_ns as f64 / 1e6)
    }
}

#[pymethods]
impl PyRun {
    /// One row for each kind of traffic: what was sent, lost and marked, delays and completion times.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, traffic_table)
    }

    /// Returns a table of the flows that exist for the whole run.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["traffic", "from", "to"]);
        all.extend(columns(Kind::Whole, &["sent", "delivered", "payload_bytes", "drops", "marked", "again"]));
        all.push(Column::new("delay_ps.max", Kind::Whole).called("delay_max_ps"));
        self.aside(py, move |result, provenance| part(&result.flows, &all, provenance))
    }

    /// Every queue that something passed.
    #[getter]
    fn queues(&self, py: Python<'_>) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["link"]);
        all.extend(columns(Kind::Whole, &["queue", "peak_bytes", "drops", "marks"]));
        all.push(Column::new("wait_ps.p99", Kind::Whole).called("wait_p99_ps"));
        all.push(Column::new("wait_ps.max", Kind::Whole).called("wait_max_ps"));
        self.aside(py, move |result, provenance| part(&result.queues, &all, provenance))
    }

    /// Every link.
    #[getter]
    fn links(&self, py: Python<'_>) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["link", "tier"]);
        all.extend(columns(Kind::Whole, &["rate_bps", "sent_bytes"]));
        all.extend(columns(Kind::Real, &["utilisation"]));
        self.aside(py, move |result, provenance| part(&result.links, &all, provenance))
    }

    /// `True` if it reached its end.
    #[getter]
    fn is_complete(&self) -> bool {
        self.result.is_complete()
    }

    /// Of its random numbers.
    #[getter]
    fn seed(&self) -> u64 {
        self.result.seed
    }

    /// Returns the output of `wayleave sim -o json` for this run, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.aside(py, |result, _| Ok(serde_json::to_string(result)?))?;
        loaded(py, text.into())
    }

    /// Returns distributions and time series, each as the text of an SVG file.
    fn pictures(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.aside(py, |result, _| Ok(result.pictures()))
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.table(py)?.stream(py)
    }

    fn __repr__(&self) -> String {
        format!("<Run {}>", self.summary())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary();
        self.aside(py, move |result, provenance| {
            let pictures = result.pictures();
            Ok(page(&summary, pictures.iter().map(String::as_str), &traffic_table(result, provenance)?.html()))
        })
    }
}

/// Simulates the only run of a batch.
#[pyfunction]
#[pyo3(signature = (batch, *, seed=None, transport=None, progress=None))]
pub(crate) fn _simulate(
    py: Python<'_>,
    batch: &PyBatch,
    seed: Option<u64>,
    transport: Option<&Bound<'_, PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyRun> {
    let mut runs = batch.batch.clone();
    if let Some(seed) = seed {
        runs.reseed(seed);
        if let Some(subject) = &batch.subject {
            runs.set_replay(|run| replay(subject, run));
        }
    }
    if runs.is_sweep() {
        let count = runs.runs().len();
        return Err(usage(format!(
            "the scenario has {count} runs: wayleave.sweep does them all, and `seed=` chooses one seed"
        )));
    }
    let own = transport.map(OwnTransport::new).transpose()?;
    let code = transport.map(OwnCode::of).transpose()?;
    if let Some(own) = &own {
        let congestion = Congestion::Custom(SharedTransport(Arc::new(own.clone())));
        runs.edit_scenarios(|scenario| scenario.transport.congestion = congestion.clone());
    }
    let watched = own.clone();
    let swept = run(py, progress, move |progress, cancel| {
        if let Some(own) = &watched {
            *own.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        }
        sweep(runs, &SweepOptions::default(), &mut Watch::new(progress, cancel))
    });
    if let Some(own) = &own {
        raised(&own.raised)?;
    }
    let swept = swept?;
    let result = swept.into_runs().into_iter().flatten().next();
    Ok(PyRun::new(result.ok_or_else(|| internal("the run has left no result"))?, code))
}

/// All runs of a sweep that have ended, with those that are missing.
#[pyclass(name = "_Sweep", module = "wayleave._wayleave", frozen)]
pub(crate) struct PySweep {
    sweep: Arc<Mutex<Sweep>>,
}

impl PySweep {
    fn of(sweep: Sweep) -> Self {
        Self { sweep: Arc::new(Mutex::new(sweep)) }
    }

    fn locked(&self) -> MutexGuard<'_, Sweep> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work with the sweep, without the interpreter's lock.
    fn aside<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Sweep) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let sweep = self.sweep.clone();
        aside(py, move || work(&mut sweep.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Keeps runs that are in the folder; the others are to be done.
#[pyfunction]
#[pyo3(signature = (batch, *, folder=None, resume=false))]
pub(crate) fn _begin(py: Python<'_>, batch: &PyBatch, folder: Option<PathBuf>, resume: bool) -> PyResult<PySweep> {
    let options = SweepOptions::default().with_folder(folder).with_resume(resume);
    let batch = batch.batch.clone();
    aside(py, move || Sweep::begin(batch, &options, &mut Watch::none())).map(PySweep::of)
}

/// Does all runs on threads of this machine.
#[pyfunction]
#[pyo3(signature = (batch, *, folder=None, resume=false, threads=None, progress=None))]
pub(crate) fn _sweep(
    py: Python<'_>,
    batch: &PyBatch,
    folder: Option<PathBuf>,
    resume: bool,
    threads: Option<NonZeroUsize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PySweep> {
    let threads = threads.map_or_else(Threads::default, Threads::Given);
    let command = "wayleave.sweep(...) of the Python package".to_owned();
    let options = SweepOptions::default()
        .with_folder(folder)
        .with_resume(resume)
        .with_threads(threads)
        .with_command(command)
        .with_keep_going(true);
    let batch = batch.batch.clone();
    run(py, progress, move |progress, cancel| sweep(batch, &options, &mut Watch::new(progress, cancel)))
        .map(PySweep::of)
}

/// The traffic of all runs of a sweep as a table.
fn sweep_table(sweep: &Sweep) -> Result<Table, Error> {
    let runs = || sweep.runs().iter().flatten();
    let rows = runs().map(traffic_rows).collect::<Result<Vec<_>, _>>()?.concat();
    let mut all = Vec::new();
    if let Some(planned) = sweep.batch().runs().first() {
        for SweepParameter { path, .. } in &planned.parameters {
            let key = path.replace('.', "/");
            let is_number = rows.iter().all(|row| row["parameters"][&key].is_number());
            let kind = if is_number { Kind::Real } else { Kind::Text };
            all.push(Column::new(&format!("parameters.{key}"), kind).called(path));
        }
    }
    all.extend(columns(Kind::Whole, &["seed"]));
    all.extend(traffic_columns());
    all.extend(columns(Kind::Text, &["ending"]));
    let batch = sweep.batch();
    let seeds: std::collections::BTreeSet<u64> = batch.runs().iter().map(|run| run.seed).collect();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let provenance = provenance([
        ("input_hash", batch.input_hash()),
        ("seed", seeds.join(" ")),
        ("scenario", batch.name().to_owned()),
    ]);
    Table::of(&rows, &all, &provenance)
}

/// Returns the output of `wayleave sim` for a sweep.
fn sweep_text(sweep: &Sweep) -> Result<String, Error> {
    let mut out = Vec::new();
    sweep.write_text(&mut out, TableLayout::default())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[pymethods]
impl PySweep {
    /// Returns a table with one row for each kind of traffic of each run: the varied parameters, the seed, and the
    /// results.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, |sweep| sweep_table(sweep))
    }

    /// The numbers of the runs without a result.
    #[getter]
    fn missing(&self) -> Vec<usize> {
        self.locked().missing()
    }

    /// Runs that could not be simulated on this machine, each with the reason.
    #[getter]
    fn failed(&self) -> Vec<(usize, String)> {
        self.locked().failed().to_vec()
    }

    /// Number of runs that reached their end.
    #[getter]
    fn complete(&self) -> usize {
        self.locked().complete()
    }

    /// The report, if there is a folder.
    #[getter]
    fn report(&self) -> Option<PathBuf> {
        self.locked().report().map(Path::to_owned)
    }

    /// Adds the JSON of a result, at once on the disk if there is a folder.
    fn keep(&self, py: Python<'_>, index: usize, text: String) -> PyResult<()> {
        self.aside(py, move |sweep| {
            let result: RunResult = serde_json::from_str(&text)
                .map_err(|error| Error::Usage(format!("run {index} has come back as no result: {error}")))?;
            sweep.keep(index, result)
        })
    }

    /// Writes the report into the folder, if there is one.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.aside(py, |sweep| sweep.write_report("wayleave.sweep(...) of the Python package"))
    }

    /// Checks that no run ended early because too many flows were open.
    fn check(&self) -> Result<(), Failure> {
        Ok(self.locked().check()?)
    }

    /// Everything of every run, as `wayleave sim -o json` prints it, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.aside(py, |sweep| {
            let mut out = Vec::new();
            sweep.write_json(&mut out)?;
            Ok(String::from_utf8_lossy(&out).into_owned())
        })?;
        loaded(py, text.into())
    }

    /// The main figures over what varies, each as the text of an SVG file.
    fn pictures(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.aside(py, |sweep| Ok(sweep.pictures()))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |sweep| sweep_text(sweep))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |sweep| {
            let pictures = sweep.pictures();
            let title = format!("{} of {} runs complete", sweep.complete(), sweep.batch().runs().len());
            let more = if pictures.is_empty() { listing(&sweep_text(sweep)?) } else { sweep_table(sweep)?.html() };
            Ok(page(&title, pictures.iter().map(String::as_str), &more))
        })
    }
}
