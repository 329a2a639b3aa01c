//! Scenarios: one run, or all runs of a sweep, on this machine or on others.

use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};
use wayleave::sim::result::{Ending, Parameter, RunResult};
use wayleave::{Batch, Choice, Planned, Scenario, Silent, Source, Sweep, SweepOptions, Threads, sweep};
use wayleave_explain::table::Layout;
use wayleave_formats::{Grid, InputErrors, beside, with_grid};
use wayleave_scenarios::Congestion;
use wayleave_schemes::transports::SharedTransport;

use crate::admission::raised;
use crate::error::{Failure, internal, usage};
use crate::html::{listing, page};
use crate::network::{loaded, parsed, provenance};
use crate::table::{Column, Kind, Provenance, Table, columns};
use crate::transport::OwnTransport;
use crate::watch::run;

/// A scenario with the texts that it names, from which every machine makes the same runs.
#[pyclass(name = "_Batch", module = "wayleave._wayleave", frozen)]
pub(crate) struct PyBatch {
    batch: Batch,
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
    /// `texts` are files that exist in memory only, by their names in the scenario; `is_file` says whether `name` is a file with this text.
    #[new]
    #[pyo3(signature = (text, name, texts=HashMap::new(), vary=Vec::new(), seeds=Vec::new(), is_file=true))]
    fn new(
        text: &str,
        name: &str,
        texts: HashMap<String, String>,
        vary: Vec<(String, String)>,
        seeds: Vec<u64>,
        is_file: bool,
    ) -> PyResult<Self> {
        let source = Source::new(name, text);
        let opener = Opener { source: &source, given: &texts, opened: RefCell::default() };
        let open = |name: &str| opener.open(name);
        let values = |(path, values): (String, String)| match parsed(&values)? {
            Value::Array(values) => Ok((path, values)),
            _ => Err(usage(format!("grid: a list of values is expected for \"{path}\""))),
        };
        let vary = vary.into_iter().map(values).collect::<PyResult<Vec<_>>>()?;
        // What is wrong with the file is told with the file's own lines.
        let mut batch = Batch::parse_with(&source, name, &Choice::default(), &open).map_err(Failure::from)?;
        if !(vary.is_empty() && seeds.is_empty()) {
            let varied = with_grid(&source, &Grid { vary, seeds }).map_err(Failure::from)?;
            batch = Batch::parse_with(&varied, name, &Choice::default(), &open).map_err(Failure::from)?;
            let subject = if is_file { json!(name).to_string() } else { "scenario".to_owned() };
            batch.runs.iter_mut().for_each(|run| run.replay = replay(&subject, run));
        } else if !is_file {
            batch.runs.iter_mut().for_each(|run| run.replay = replay("scenario", run));
        }
        let scenario = batch.sources.first().map_or(text, Source::text).to_owned();
        let texts = std::iter::once((name.to_owned(), scenario)).chain(opener.opened.into_inner()).collect();
        Ok(Self { batch, texts })
    }

    /// What makes the same batch elsewhere.
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
        &self.batch.name
    }

    /// What tells each run from the others.
    #[getter]
    fn titles(&self) -> Vec<String> {
        self.batch.runs.iter().map(wayleave::Planned::title).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.runs.len()
    }

    /// One run, as the JSON of its result.
    fn run(&self, py: Python<'_>, index: usize) -> PyResult<String> {
        let batch = self.batch.clone();
        run(py, None, move |_, cancel| Ok(serde_json::to_string(&batch.run(index, cancel)?)?))
    }
}

/// The call that does one run again, where no command can: what it varies is in no file.
fn replay(subject: &str, run: &Planned) -> String {
    let value = |text: &str| text.parse::<f64>().map_or_else(|_| json!(text).to_string(), |_| text.to_owned());
    let vary =
        run.parameters.iter().map(|Parameter { path, value: text }| format!("{}: [{}]", json!(path), value(text)));
    let grid = vary.collect::<Vec<_>>().join(", ");
    format!("wayleave.sweep({subject}, {{{grid}}}, seeds=[{}])", run.seed)
}

/// What a run has of each kind of traffic.
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

/// The rows of one run: its traffic, with what it shares with no other run.
fn traffic_rows(result: &RunResult) -> PyResult<Vec<Value>> {
    let document = serde_json::to_value(&result.traffic).map_err(|error| internal(error.to_string()))?;
    let Value::Array(mut rows) = document else { return Ok(Vec::new()) };
    for row in &mut rows {
        row["traffic"] = row["name"].take();
        row["seed"] = json!(result.seed);
        row["ending"] = json!(result.ending);
        row["input_hash"] = json!(result.input_hash);
        for Parameter { path, value } in &result.parameters {
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
    result: RunResult,
}

impl PyRun {
    fn provenance(&self) -> Provenance {
        let RunResult { input_hash, seed, scenario, .. } = &self.result;
        provenance([("input_hash", input_hash.clone()), ("seed", seed.to_string()), ("scenario", scenario.clone())])
    }

    fn part<T: serde::Serialize>(&self, part: &[T], all: &[Column]) -> PyResult<Table> {
        match serde_json::to_value(part).map_err(|error| internal(error.to_string()))? {
            Value::Array(rows) => Table::of(&rows, all, &self.provenance()),
            _ => Err(internal("a part of a result is no list")),
        }
    }

    fn summary(&self) -> String {
        let RunResult { scenario, seed, simulated_ns, hops, ending, .. } = &self.result;
        let why = match ending {
            Ending::Complete => "",
            Ending::TooManyFlows => {
                ", ended early: too many flows were open, it offers more than its network can carry"
            }
            Ending::Stopped => ", ended early: somebody stopped it",
        };
        format!("{scenario}, seed {seed}: {} ms simulated, {hops} packet hops{why}", *simulated_ns as f64 / 1e6)
    }
}

#[pymethods]
impl PyRun {
    /// One row for each kind of traffic: what was sent, lost and marked, delays and completion times.
    #[getter]
    fn table(&self) -> PyResult<Table> {
        Table::of(&traffic_rows(&self.result)?, &traffic_columns(), &self.provenance())
    }

    /// Flows that are there for the whole run.
    #[getter]
    fn flows(&self) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["traffic", "from", "to"]);
        all.extend(columns(Kind::Whole, &["sent", "delivered", "payload_bytes", "drops", "marked", "again"]));
        all.push(Column::new("delay_ps.max", Kind::Whole).called("delay_max_ps"));
        self.part(&self.result.flows, &all)
    }

    /// Every queue that something passed.
    #[getter]
    fn queues(&self) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["link"]);
        all.extend(columns(Kind::Whole, &["queue", "peak_bytes", "drops", "marks"]));
        all.push(Column::new("wait_ps.p99", Kind::Whole).called("wait_p99_ps"));
        all.push(Column::new("wait_ps.max", Kind::Whole).called("wait_max_ps"));
        self.part(&self.result.queues, &all)
    }

    /// Every link.
    #[getter]
    fn links(&self) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["link", "tier"]);
        all.extend(columns(Kind::Whole, &["rate_bps", "sent_bytes"]));
        all.extend(columns(Kind::Real, &["utilisation"]));
        self.part(&self.result.links, &all)
    }

    /// Whether it came to its end.
    #[getter]
    fn is_complete(&self) -> bool {
        self.result.is_complete()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.result.seed
    }

    /// What `wayleave sim -o json` prints of it, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.result).map_err(|error| internal(error.to_string()))?;
        loaded(py, &text)
    }

    /// Distributions and what was recorded over time, each as the text of an SVG file.
    fn pictures(&self) -> Vec<String> {
        self.result.pictures()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.table()?.stream(py)
    }

    fn __repr__(&self) -> String {
        format!("<Run {}>", self.summary())
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let pictures = self.result.pictures();
        Ok(page(&self.summary(), pictures.iter().map(String::as_str), &self.table()?.html()))
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
        runs.runs.dedup_by(|one, other| one.parameters == other.parameters);
        runs.runs.iter_mut().for_each(|run| run.seed = seed);
    }
    if runs.is_sweep() {
        let count = runs.runs.len();
        return Err(usage(format!(
            "the scenario has {count} runs: wayleave.sweep does them all, and `seed=` chooses one seed"
        )));
    }
    let own = transport.map(OwnTransport::new).transpose()?;
    if let (Some(own), Some(planned)) = (&own, runs.runs.first_mut()) {
        let mut scenario = Scenario::clone(&planned.scenario);
        scenario.transport.congestion = Congestion::Custom(SharedTransport(Arc::new(own.clone())));
        planned.scenario = Arc::new(scenario);
    }
    let watched = own.clone();
    let swept = run(py, progress, move |progress, cancel| {
        if let Some(own) = &watched {
            *own.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        }
        sweep(runs, &SweepOptions::default(), progress, cancel)
    });
    if let Some(own) = &own {
        raised(&own.raised)?;
    }
    let swept = swept?;
    let result = swept.runs.into_iter().flatten().next();
    Ok(PyRun { result: result.ok_or_else(|| internal("the run has left no result"))? })
}

/// All runs of a sweep that have ended, with those that are missing.
#[pyclass(name = "_Sweep", module = "wayleave._wayleave")]
pub(crate) struct PySweep {
    sweep: Sweep,
}

/// Keeps runs that are in the folder; the others are to be done.
#[pyfunction]
#[pyo3(signature = (batch, *, folder=None, resume=false))]
pub(crate) fn _begin(batch: &PyBatch, folder: Option<PathBuf>, resume: bool) -> Result<PySweep, Failure> {
    let options = SweepOptions { folder, resume, ..SweepOptions::default() };
    Ok(PySweep { sweep: Sweep::begin(batch.batch.clone(), &options, &mut Silent)? })
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
    let options = SweepOptions { folder, resume, threads, command, keep_going: true, ..SweepOptions::default() };
    let batch = batch.batch.clone();
    let sweep = run(py, progress, move |progress, cancel| sweep(batch, &options, progress, cancel))?;
    Ok(PySweep { sweep })
}

#[pymethods]
impl PySweep {
    /// One row for each kind of traffic of each run: what the sweep varies, the seed, and what came of it.
    #[getter]
    fn table(&self) -> PyResult<Table> {
        let runs = || self.sweep.runs.iter().flatten();
        let rows = runs().map(traffic_rows).collect::<PyResult<Vec<_>>>()?.concat();
        let mut all = Vec::new();
        if let Some(planned) = self.sweep.batch.runs.first() {
            for Parameter { path, .. } in &planned.parameters {
                let key = path.replace('.', "/");
                let is_number = rows.iter().all(|row| row["parameters"][&key].is_number());
                let kind = if is_number { Kind::Real } else { Kind::Text };
                all.push(Column::new(&format!("parameters.{key}"), kind).called(path));
            }
        }
        all.extend(columns(Kind::Whole, &["seed"]));
        all.extend(traffic_columns());
        all.extend(columns(Kind::Text, &["ending"]));
        let batch = &self.sweep.batch;
        let seeds: std::collections::BTreeSet<u64> = batch.runs.iter().map(|run| run.seed).collect();
        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
        let provenance = provenance([
            ("input_hash", batch.input_hash()),
            ("seed", seeds.join(" ")),
            ("scenario", batch.name.clone()),
        ]);
        Table::of(&rows, &all, &provenance)
    }

    /// The numbers of the runs without a result.
    #[getter]
    fn missing(&self) -> Vec<usize> {
        self.sweep.missing()
    }

    /// Runs that could not be simulated on this machine, each with the reason.
    #[getter]
    fn failed(&self) -> Vec<(usize, String)> {
        self.sweep.failed.clone()
    }

    /// How many runs came to their end.
    #[getter]
    fn complete(&self) -> usize {
        self.sweep.complete()
    }

    /// The report, if there is a folder.
    #[getter]
    fn report(&self) -> Option<PathBuf> {
        self.sweep.report.clone()
    }

    /// Adds the JSON of a result, at once on the disk if there is a folder.
    fn keep(&mut self, index: usize, text: &str) -> PyResult<()> {
        let result: RunResult = serde_json::from_str(text)
            .map_err(|error| usage(format!("run {index} has come back as no result: {error}")))?;
        Ok(self.sweep.keep(index, result).map_err(Failure::from)?)
    }

    /// Writes the report into the folder, if there is one.
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(self.sweep.write_report("wayleave.sweep(...) of the Python package")?)
    }

    /// What ended early because too many flows were open.
    fn check(&self) -> Result<(), Failure> {
        Ok(self.sweep.check()?)
    }

    /// Everything of every run, as `wayleave sim -o json` prints it.
    fn to_json(&self) -> PyResult<String> {
        let mut out = Vec::new();
        self.sweep.write_json(&mut out).map_err(Failure::from)?;
        String::from_utf8(out).map_err(|error| internal(error.to_string()))
    }

    /// The main figures over what varies, each as the text of an SVG file.
    fn pictures(&self) -> Vec<String> {
        self.sweep.pictures()
    }

    fn __str__(&self) -> PyResult<String> {
        let mut out = Vec::new();
        self.sweep.write_text(&mut out, Layout::default()).map_err(Failure::from)?;
        String::from_utf8(out).map_err(|error| internal(error.to_string()))
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let pictures = self.sweep.pictures();
        let title = format!("{} of {} runs complete", self.sweep.complete(), self.sweep.batch.runs.len());
        let more = if pictures.is_empty() { listing(&self.__str__()?) } else { self.table()?.html() };
        Ok(page(&title, pictures.iter().map(String::as_str), &more))
    }
}
