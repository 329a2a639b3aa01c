//! Figures of publications measured again, and bounds of whole networks.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::{Value, json};
use wayleave::analyze::{Analysis, AnalysisSubject, Report};
use wayleave::{Error, Plan, Source, Watch};
use wayleave_experiments::{AxisValue, CATALOGUE};
use wayleave_experiments::{Effort, Measured, ReproduceOptions, figures, reproduce};

use crate::document::loaded;
use crate::error::{Failure, internal, usage};
use crate::html::page;
use crate::network::{derived, hash, hashed, parsed, provenance, rows};
use crate::plan::PyPlan;
use crate::table::{Column, Kind, Provenance, Table, columns};
use crate::watch::{aside, run};

/// A figure of a publication, measured again.
#[pyclass(name = "Figure", module = "wayleave", frozen)]
pub(crate) struct PyFigure {
    measured: Arc<Measured>,
}

/// All figures that can be measured: one row each.
#[pyfunction]
pub(crate) fn figures_known() -> Result<Table, Failure> {
    let row = |entry: &wayleave_experiments::Entry| json!({ "figure": entry.id, "paper": entry.paper.name, "place": entry.place, "title": entry.title, "resume": if entry.keeps_runs() { "yes" } else { "no" } });
    let rows: Vec<Value> = CATALOGUE.iter().map(row).collect();
    Ok(Table::of(&rows, &columns(Kind::Text, &["figure", "paper", "place", "title", "resume"]), &provenance([]))?)
}

/// Measures one figure.
#[pyfunction]
#[pyo3(signature = (figure, *, full=false, seeds=None, threads=None, folder=None, resume=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn _reproduce(
    py: Python<'_>,
    figure: String,
    full: bool,
    seeds: Option<NonZeroUsize>,
    threads: Option<NonZeroUsize>,
    folder: Option<PathBuf>,
    resume: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyFigure> {
    let chosen = figures(&[figure]).map_err(Failure::from)?;
    if chosen.len() != 1 {
        return Err(usage("one figure at a time: wayleave.figures() names them all"));
    }
    let done = run(py, progress, move |progress, cancel| {
        let effort = if full { Effort::Full } else { Effort::Quick };
        let options = ReproduceOptions::default().with_effort(effort);
        let options = options.with_seeds(seeds).with_folder(folder).with_resume(resume);
        let options = match threads {
            Some(threads) => options.with_threads(threads),
            None => options,
        };
        reproduce(&chosen, options, &mut Watch::new(progress, cancel))
    })?;
    if let Some((entry, why)) = done.failed.first().or(done.left_out.first()) {
        return Err(internal(format!("{} could not be measured: {why}", entry.id)));
    }
    let measured = done.figures.into_iter().next().ok_or_else(|| internal("nothing was measured"))?;
    Ok(PyFigure { measured: Arc::new(measured) })
}

impl PyFigure {
    /// Does work with the figure, without the interpreter's lock.
    fn aside<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Measured) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let measured = self.measured.clone();
        aside(py, move || work(&measured))
    }
}

/// Returns the provenance of a figure's tables.
fn origin(measured: &Measured) -> Provenance {
    let Measured { entry, figure, effort, command, .. } = measured;
    let seeds: Vec<String> = figure.seeds.iter().map(u64::to_string).collect();
    provenance([
        ("figure", entry.id.to_owned()),
        ("input_hash", measured.input_hash()),
        ("seed", seeds.join(" ")),
        ("effort", effort.clone()),
        ("command", command.clone()),
    ])
}

/// Points of all series.
fn points(measured: &Measured) -> Result<Table, Error> {
    let mut rows = Vec::new();
    for panel in &measured.figure.panels {
        for series in &panel.series {
            for point in &series.points {
                let mut row = json!({ "panel": panel.name, "series": series.name, "summary": point.summary });
                match &point.x {
                    AxisValue::Number(number) => row["x"] = json!(number),
                    AxisValue::Name(name) => row["x_name"] = json!(name),
                }
                let ci95 = point.summary.ci95;
                row["ci95_low"] = json!(ci95.map(|[low, _]| low));
                row["ci95_high"] = json!(ci95.map(|[_, high]| high));
                rows.push(row);
            }
        }
    }
    let mut all = columns(Kind::Text, &["panel", "series"]);
    all.extend(columns(Kind::Real, &["x"]));
    all.extend(columns(Kind::Text, &["x_name"]));
    all.push(Column::new("summary.samples", Kind::Whole).called("samples"));
    all.push(Column::new("summary.mean", Kind::Real).called("mean"));
    all.extend(columns(Kind::Real, &["ci95_low", "ci95_high"]));
    for part in ["median", "p1", "p10", "p90", "p99", "min", "max"] {
        all.push(Column::new(&format!("summary.{part}"), Kind::Real).called(part));
    }
    Table::of(&rows, &all, &origin(measured))
}
/// Statements of the publication.
fn statements(measured: &Measured) -> Result<Table, Error> {
    let row = |statement: &wayleave_experiments::Statement| json!({ "says": statement.claim_text, "measured": statement.measured, "verdict": statement.verdict.name() });
    let rows: Vec<Value> = measured.figure.statements.iter().map(row).collect();
    Table::of(&rows, &columns(Kind::Text, &["says", "measured", "verdict"]), &origin(measured))
}

#[pymethods]
impl PyFigure {
    /// One row for each point of each series: mean, confidence interval, percentiles.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, points)
    }

    /// Returns the statements of the publication's text, with the measured values.
    #[getter]
    fn statements(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, statements)
    }

    /// The figure's document, which `wayleave reproduce -o json` prints, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = self.aside(py, Measured::to_json)?;
        loaded(py, text.into())
    }

    /// Title of the figure.
    #[getter]
    fn title(&self) -> &'static str {
        self.measured.entry.title
    }

    /// The figure with its panels, tables and settings, as the text of an SVG file.
    fn picture(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |measured| Ok(measured.picture()))
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
        format!("<Figure {}: {}>", self.measured.entry.id, self.measured.entry.title)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |measured| {
            Ok(page(measured.entry.title, [measured.picture().as_str()], &statements(measured)?.html()))
        })
    }
}

/// Bounds of flows and servers, one analysis beside the other.
#[pyclass(name = "Analysis", module = "wayleave", frozen)]
pub(crate) struct PyAnalysis {
    text: Arc<str>,
    provenance: Provenance,
    analyses: Vec<&'static str>,
    /// Remarks on some of the bounds.
    #[pyo3(get)]
    notes: Vec<String>,
}

/// AnalysisSubject of an analysis: a network of output ports from a text, or the admitted contracts of a plan.
#[derive(FromPyObject)]
pub(crate) enum SubjectOfPython<'py> {
    Plan(PyRef<'py, PyPlan>),
    Text(String, String),
}

/// Bounds by the analyses that are named.
#[pyfunction]
#[pyo3(signature = (subject, *, analyses, flows=Vec::new(), progress=None))]
pub(crate) fn _analyze(
    py: Python<'_>,
    subject: SubjectOfPython<'_>,
    analyses: Vec<String>,
    flows: Vec<String>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyAnalysis> {
    let analysis = |name: &String| {
        let known = Analysis::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| usage(format!("analyses: \"{name}\" is none of tfa, sfa, pmoo, lp")))
    };
    let analyses = analyses.iter().map(analysis).collect::<PyResult<Vec<_>>>()?;
    let names: Vec<&str> = analyses.iter().map(|analysis| analysis.name()).collect();
    let more = [("analyses", names.join(" ")), ("flows", flows.join(" "))].into_iter().filter(|(_, of)| !of.is_empty());
    let (subject, provenance) = match subject {
        SubjectOfPython::Plan(plan) => (SubjectOf::Plan(plan.plan.clone()), derived(&plan.provenance, more)),
        SubjectOfPython::Text(text, name) => {
            let from = hashed(&hash([text.as_str()]), more);
            (SubjectOf::Text(Source::new(&name, text.as_str()), name), from)
        }
    };
    let (text, notes) = run(py, progress, move |progress, cancel| {
        let subject = match subject {
            SubjectOf::Plan(plan) => AnalysisSubject::admitted(plan.session())?,
            SubjectOf::Text(source, name) => AnalysisSubject::parse(&source, &name)?,
        };
        let flows = subject.flows(&flows)?;
        let report = Report::of(&subject, &analyses, &flows, true, &mut Watch::new(progress, cancel))?;
        let mut out = Vec::new();
        subject.write_json(&report, &mut out)?;
        Ok((String::from_utf8_lossy(&out).into_owned(), report.notes))
    })?;
    Ok(PyAnalysis { text: text.into(), provenance, analyses: names, notes })
}

/// The same for another thread.
enum SubjectOf {
    Plan(Arc<Plan>),
    Text(Source, String),
}

impl PyAnalysis {
    /// A table of rows of the document, without the interpreter's lock.
    fn rows(&self, py: Python<'_>, key: &'static str, all: Vec<Column>) -> PyResult<Table> {
        let (text, provenance) = (self.text.clone(), self.provenance.clone());
        aside(py, move || Table::of(&rows(&mut parsed(&text)?, key), &all, &provenance))
    }
}

#[pymethods]
impl PyAnalysis {
    /// One row for each flow and path: the bound of each analysis in ns, rounded up, and which of them is tightest.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["name", "path"]);
        for analysis in &self.analyses {
            all.push(Column::new(&format!("bounds.{analysis}.ns"), Kind::Whole).called(&format!("{analysis}_ns")));
        }
        all.extend(columns(Kind::Text, &["tightest"]));
        all.push(Column::new("budgets.ns", Kind::Whole).called("budgets_ns"));
        self.rows(py, "flows", all)
    }

    /// One row for each server: delay and backlog by total flow analysis.
    #[getter]
    fn servers(&self, py: Python<'_>) -> PyResult<Table> {
        let mut all = columns(Kind::Text, &["name"]);
        all.push(Column::new("delay.ns", Kind::Whole).called("delay_ns"));
        all.push(Column::new("backlog.bytes", Kind::Whole).called("backlog_bytes"));
        all.push(Column::new("none", Kind::Text).called("no_bound"));
        self.rows(py, "servers", all)
    }

    /// Returns the output of `wayleave analyze -o json`, with every bound exactly, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, self.text.clone())
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
        format!("<Analysis by {}>", self.analyses.join(", "))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(page(&format!("Bounds by {}", self.analyses.join(", ")), [], &self.table(py)?.html()))
    }
}
