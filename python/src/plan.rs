//! Decisions: plans, explanations, verifications.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use wayleave::{
    EntryKind, Error, Explanation, LeftOutClasses, LeftOutReason, Model, Network, Plan, PlanInput, PlanOptions,
    SchemeOptions, Session, VerifyOptions, VerifyReport, Watch, explain_in, plan_in, verify, verify_kinds,
};
use wayleave_adversary::Effort;
use wayleave_explain::table::TableLayout;
use wayleave_schemes::registry::Defaults;

use crate::admission::{Raised, raised, scheme_of};
use crate::document::loaded;
use crate::error::{Failure, problem, usage};
use crate::html::{listing, page};
use crate::network::{PyContracts, PyNetwork, derived, hashed, parsed, request_columns, rows};
use crate::own::OwnCode;
use crate::table::{Column, Kind, Provenance, Table, columns};
use crate::watch::{aside, run};

/// Default scheme of a network with classes: it admits contracts of every kind.
const ALL_KINDS: &str = "fabric";

/// The admission scheme, with its settings.
pub(crate) enum Chosen {
    /// A scheme of the list.
    Listed(Box<SchemeOptions>),
    /// An object of Python, and where its exceptions wait.
    Own(Py<PyAny>, OwnCode, Raised),
}

impl Chosen {
    fn session(&self, network: &Network, model: Model) -> Result<Session, wayleave::Error> {
        match self {
            Self::Listed(scheme) => {
                Session::open(network, &PlanOptions::default().with_model(model).with_scheme((**scheme).clone()))
            }
            Self::Own(object, _, raised) => {
                Ok(Session::with_scheme(network, model, scheme_of(object, raised, network)))
            }
        }
    }

    /// Returns its name in tables.
    fn name(&self) -> String {
        match self {
            Self::Listed(options) => options.descriptor().name.to_owned(),
            Self::Own(_, code, _) => code.name(),
        }
    }

    /// Origin of the decisions: the scheme with its settings or its code, and the model.
    fn provenance(&self, settings: &[(String, String)], model: &str) -> Provenance {
        let mut from = vec![("scheme", self.name())];
        if let Self::Own(_, code, _) = self {
            from.push(("code", code.hash.clone()));
        }
        if !settings.is_empty() {
            let settings: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
            from.push(("settings", settings.join(" ")));
        }
        from.push(("model", model.to_owned()));
        from
    }

    /// Returns the slot for exceptions of an object.
    fn raised(&self) -> Raised {
        if let Self::Own(_, _, raised) = self { raised.clone() } else { Raised::default() }
    }
}

/// The model of a name, with the defaults of schemes that belong to it.
fn model_of(name: &str) -> PyResult<(Model, Defaults)> {
    match name {
        "default" => Ok((Model::default(), Defaults::Recommended)),
        "published" => Ok((Model::PUBLISHED, Defaults::Published)),
        other => Err(usage(format!("model: \"{other}\" is none of default, published"))),
    }
}

/// The network for contracts; with the usual classes where some are of another kind than latency, as the command has it.
fn divided(py: Python<'_>, network: &PyNetwork, contracts: &PyContracts) -> PyResult<Network> {
    contracts.check_network(py, network)?;
    if contracts.contracts.has_other_kinds() {
        return Ok(network.network.with_classes().map_err(Failure::from)?);
    }
    Ok(network.network.clone())
}

/// Returns the scheme: by its name, an object with a method `admit`, or the default for this network.
fn chosen(
    network: &Network,
    scheme: Option<&Bound<'_, PyAny>>,
    settings: &[(String, String)],
    defaults: Defaults,
) -> PyResult<Chosen> {
    let options = match scheme {
        None if network.graph.classes().is_some() => SchemeOptions::named(ALL_KINDS).map_err(Failure::from)?,
        None => SchemeOptions::default(),
        Some(given) => match given.extract::<String>() {
            Ok(name) => SchemeOptions::named(&name).map_err(Failure::from)?,
            Err(_) if given.hasattr("admit")? => {
                if let Some((key, _)) = settings.first() {
                    return Err(usage(format!("{key}: settings of a scheme of your own belong into its object")));
                }
                return Ok(Chosen::Own(given.clone().unbind(), OwnCode::of(given)?, Raised::default()));
            }
            Err(_) => return Err(usage("scheme: a name or an object with a method `admit(request)` is expected")),
        },
    };
    let options =
        settings.iter().try_fold(options.defaults(defaults), |options, (key, value)| options.with(key, value));
    Ok(Chosen::Listed(Box::new(options.map_err(Failure::from)?)))
}

/// Decisions about contracts, in order, with bounds, routes and reasons.
#[pyclass(name = "Plan", module = "wayleave", frozen)]
pub(crate) struct PyPlan {
    pub(crate) plan: Arc<Plan>,
    scheme: String,
    pub(crate) provenance: Provenance,
    /// Warnings of its scheme before it decides.
    #[pyo3(get)]
    warnings: Vec<String>,
    /// Result, as `wayleave plan -o json` prints it.
    text: Arc<str>,
}

/// Decides contracts in their order. `settings` are parameters of the scheme.
#[pyfunction]
#[pyo3(signature = (network, contracts, *, scheme=None, settings=Vec::new(), model="default", progress=None))]
pub(crate) fn _plan(
    py: Python<'_>,
    network: &PyNetwork,
    contracts: &PyContracts,
    scheme: Option<&Bound<'_, PyAny>>,
    settings: Vec<(String, String)>,
    model: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyPlan> {
    let on = divided(py, network, contracts)?;
    let (named, (model, defaults)) = (model, model_of(model)?);
    let chosen = chosen(&on, scheme, &settings, defaults)?;
    let (scheme, exceptions) = (chosen.name(), chosen.raised());
    let from = chosen.provenance(&settings, named);
    let asked = contracts.contracts.clone();
    let (plan, text, warnings) = run(py, progress, move |progress, cancel| {
        let session = chosen.session(&on, model)?;
        let warnings = session.warnings();
        let plan = plan_in(session, PlanInput::Contracts(&asked), &mut Watch::new(progress, cancel))?;
        let text = serde_json::to_string(&plan)?;
        Ok((plan, text, warnings))
    })?;
    raised(&exceptions)?;
    let provenance = hashed(contracts.hash(), from.into_iter().chain(contracts.seed()));
    Ok(PyPlan { scheme, plan: Arc::new(plan), provenance, text: text.into(), warnings })
}

#[pymethods]
impl PyPlan {
    /// One row for each request: decision, bound, route or reason.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, |_, text, provenance| requests(text, provenance))
    }

    /// One row for each queue of each link: what is reserved there, the delay and the backlog that it can reach. No rows for schemes without queues.
    #[getter]
    fn queues(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, |_, text, provenance| {
            Table::of(&rows(&mut parsed(text)?, "queues"), &queue_columns(), provenance)
        })
    }

    /// Names of the contracts that are admitted, in their order.
    #[getter]
    fn admitted(&self) -> Vec<String> {
        let is_admitted = |what: &EntryKind| match what {
            EntryKind::Decided { decision, .. } => decision.is_ok(),
            EntryKind::DecidedShare { decision, .. } => decision.is_ok(),
            EntryKind::Released { .. } => false,
        };
        let admitted = self.plan.entries().iter().filter(|entry| is_admitted(entry.kind()));
        admitted.map(|entry| entry.name().to_owned()).collect()
    }

    /// Findings about requests that do not depend on other contracts, each with its place.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.plan.outcome().findings.problems().iter().map(|finding| problem(py, finding)).collect()
    }

    /// Refused contracts, each with its reason as a sentence.
    #[getter]
    fn refused(&self) -> std::collections::BTreeMap<String, String> {
        self.plan.refused().map(|(name, why)| (name.to_owned(), why.to_owned())).collect()
    }

    /// The scheme that decided.
    #[getter]
    fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the output of `wayleave plan -o json`, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, self.text.clone())
    }

    /// The same as a text: `wayleave verify --plan` reads it.
    fn to_json(&self) -> &str {
        &self.text
    }

    /// Derives every promise with the independent calculator. Returns the differences; `None` for schemes without
    /// queues.
    fn recheck(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        let plan = self.plan.clone();
        run(py, None, move |_, _| {
            let Some(checked) = plan.recheck() else { return Ok(None) };
            let shares = wayleave::recheck_shares(&plan.session().context(), &mut Watch::none());
            let broken = checked.violations.iter().map(ToString::to_string);
            Ok(Some(broken.chain(shares.iter().map(ToString::to_string)).collect()))
        })
    }

    /// Puts every promise to the test, packet by packet.
    #[pyo3(signature = (*, effort="usual", seed=1, flow=None, progress=None))]
    fn verify(
        &self,
        py: Python<'_>,
        effort: &str,
        seed: u64,
        flow: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyVerified> {
        let named = effort;
        let effort = effort_of(effort)?.with_seed(seed);
        let is_about_all = flow.is_none();
        let only = flow.clone().map(|flow| ("flow", flow));
        let options = VerifyOptions::default().with_effort(effort).with_flow(flow);
        let plan = self.plan.clone();
        let (verified, text) = run(py, progress, move |progress, cancel| {
            let mut watch = Watch::new(progress, cancel);
            let mut verified = verify(&plan.promises(), &options, &mut watch)?;
            if let Some(tenants) = plan.tenants()? {
                if is_about_all {
                    let short = verified.short_buffers().to_vec();
                    verified.kinds = Some(verify_kinds(&tenants, &effort, None, &short, &mut watch)?);
                } else {
                    let contracts = tenants.sharing().len();
                    verified.left_out = Some(LeftOutClasses::new(contracts, LeftOutReason::Flow));
                }
            }
            let mut text = Vec::new();
            verified.write_json(&mut text, plan.session().topology())?;
            Ok((verified, String::from_utf8_lossy(&text).into_owned()))
        })?;
        // The seed of contracts that were drawn counts in the hash.
        let more = [("seed", effort.seed.to_string()), ("effort", named.to_owned())].into_iter().chain(only);
        Ok(PyVerified { verified: Arc::new(verified), provenance: derived(&self.provenance, more), text: text.into() })
    }

    /// The bound of every contract over its deadline, as the text of an SVG file.
    fn picture(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.aside(py, |plan, _, _| Ok(plan.picture()))
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

    fn __len__(&self) -> usize {
        self.plan.entries().len()
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |plan, _, _| {
            let mut out = Vec::new();
            plan.write_text(&mut out, TableLayout::default())?;
            Ok(String::from_utf8_lossy(&out).into_owned())
        })
    }

    fn __repr__(&self) -> String {
        format!("<Plan {}>", self.summary())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary();
        self.aside(py, move |plan, text, provenance| {
            let table = requests(text, provenance)?.html();
            Ok(page(&summary, plan.picture().as_deref(), &table))
        })
    }
}

/// Requests of a plan's document.
fn requests(text: &str, provenance: &Provenance) -> Result<Table, Error> {
    Table::of(&rows(&mut parsed(text)?, "requests"), &request_columns(), provenance)
}

impl PyPlan {
    /// Does work with the plan, its document and its provenance, without the interpreter's lock.
    fn aside<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Plan, &str, &Provenance) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (plan, text, provenance) = (self.plan.clone(), self.text.clone(), self.provenance.clone());
        aside(py, move || work(&plan, &text, &provenance))
    }

    fn summary(&self) -> String {
        let summary = &self.plan.outcome().summary;
        format!("by {}: {} admitted, {} refused", self.scheme, summary.admitted, summary.refused)
    }
}

fn effort_of(name: &str) -> PyResult<Effort> {
    match name {
        "quick" => Ok(Effort::QUICK),
        "usual" => Ok(Effort::USUAL),
        "long" => Ok(Effort::LONG),
        other => Err(usage(format!("effort: \"{other}\" is none of quick, usual, long"))),
    }
}

/// Columns of a queue of the ledger.
fn queue_columns() -> Vec<Column> {
    let mut all = columns(Kind::Text, &["link"]);
    all.extend(columns(Kind::Whole, &["queue", "budget_ns", "buffer_bytes", "flows"]));
    all.extend(columns(Kind::Text, &["inputs", "arrival", "service"]));
    all.extend(columns(Kind::Whole, &["jitter_ns", "delay_bound_ns"]));
    all.extend(columns(Kind::Real, &["delay_ns"]));
    all.extend(columns(Kind::Whole, &["backlog_bound_bytes"]));
    all.extend(columns(Kind::Real, &["backlog_bytes"]));
    all
}

/// Explanation of one contract: the terms of its admission, or the reason of its refusal and a request that would
/// fit.
#[pyclass(name = "Explanation", module = "wayleave", frozen)]
pub(crate) struct PyExplanation {
    /// `True` if it is admitted.
    #[pyo3(get)]
    is_admitted: bool,
    /// Finding about it that does not depend on other contracts, at its place in the file.
    #[pyo3(get)]
    finding: Option<String>,
    text: String,
    json: Arc<str>,
}

/// Decides the contracts before `name`, and then that one, and explains the decision.
#[pyfunction]
#[pyo3(signature = (network, contracts, name, *, scheme=None, settings=Vec::new(), model="default", progress=None))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn _explain(
    py: Python<'_>,
    network: &PyNetwork,
    contracts: &PyContracts,
    name: String,
    scheme: Option<&Bound<'_, PyAny>>,
    settings: Vec<(String, String)>,
    model: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyExplanation> {
    let (model, defaults) = model_of(model)?;
    let on = divided(py, network, contracts)?;
    let chosen = chosen(&on, scheme, &settings, defaults)?;
    let (exceptions, asked) = (chosen.raised(), contracts.contracts.clone());
    let explained = run(py, progress, move |progress, cancel| {
        let session = chosen.session(&on, model)?;
        let explanation: Explanation = explain_in(session, &asked, &name, &mut Watch::new(progress, cancel))?;
        let json = serde_json::to_string(&explanation)?.into();
        let finding = explanation.finding.as_ref().map(ToString::to_string);
        Ok(PyExplanation { is_admitted: explanation.is_admitted(), finding, text: explanation.text()?, json })
    })?;
    raised(&exceptions)?;
    Ok(explained)
}

#[pymethods]
impl PyExplanation {
    /// Returns the output of `wayleave explain -o json`, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, self.json.clone())
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> &str {
        &self.text
    }

    fn _repr_html_(&self) -> String {
        listing(&self.text)
    }
}

/// The worst that packets met of every promise.
#[pyclass(name = "Verified", module = "wayleave", frozen)]
pub(crate) struct PyVerified {
    verified: Arc<VerifyReport>,
    provenance: Provenance,
    text: Arc<str>,
}

#[pymethods]
impl PyVerified {
    /// Returns a table with one row for each promise about latency: its bound, the slowest packet, and the margin.
    #[getter]
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        self.aside(py, |_, text, provenance| verdicts(text, provenance))
    }

    /// `True` if no test broke a promise, of latency or of the other kinds. The text counts untested promises.
    #[getter]
    fn is_sound(&self) -> bool {
        self.verified.is_sound() && self.verified.kinds.as_ref().is_none_or(|kinds| kinds.is_sound())
    }

    /// Violations of promises, each as a sentence.
    #[getter]
    fn violations(&self) -> Vec<String> {
        let VerifyReport { claim, report, kinds, .. } = &*self.verified;
        let broken = report.violations.iter().map(|violation| {
            format!("{}: {} ({})", claim.promises[violation.promise].name, violation.breach, violation.attack)
        });
        let stated = self.verified.discrepancies().iter().map(ToString::to_string);
        let kinds = kinds.iter().flat_map(|kinds| kinds.breaches());
        stated.chain(broken).chain(kinds).collect()
    }

    /// Returns the output of `wayleave verify -o json`, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        loaded(py, self.text.clone())
    }

    /// The slowest packet of every contract over its bound, as the text of an SVG file.
    fn picture(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.aside(py, |verified, _, _| Ok(verified.picture()))
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

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.aside(py, |verified, _, _| {
            let mut out = Vec::new();
            verified.write_text(&mut out, TableLayout::default(), false)?;
            Ok(String::from_utf8_lossy(&out).into_owned())
        })
    }

    fn __repr__(&self) -> String {
        format!("<Verified {}>", self.summary())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let summary = self.summary();
        self.aside(py, move |verified, text, provenance| {
            Ok(page(&summary, verified.picture().as_deref(), &verdicts(text, provenance)?.html()))
        })
    }
}

/// Promises about latency of a verification's document.
fn verdicts(text: &str, provenance: &Provenance) -> Result<Table, Error> {
    let mut all = columns(Kind::Text, &["name"]);
    all.extend(columns(Kind::Whole, &["bound_ns", "today_ns", "worst_ps"]));
    all.extend(columns(Kind::Real, &["margin_percent"]));
    all.extend(columns(Kind::Whole, &["packets", "drops"]));
    all.extend(columns(Kind::Text, &["attack"]));
    Table::of(&rows(&mut parsed(text)?, "contracts"), &all, provenance)
}

impl PyVerified {
    /// Does work with the verification, its document and its provenance, without the interpreter's lock.
    fn aside<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&VerifyReport, &str, &Provenance) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (verified, text, provenance) = (self.verified.clone(), self.text.clone(), self.provenance.clone());
        aside(py, move || work(&verified, &text, &provenance))
    }

    fn summary(&self) -> String {
        let VerifyReport { claim, report, .. } = &*self.verified;
        let verdict = match (self.is_sound(), self.verified.untested(), self.verified.left_out) {
            (false, ..) => format!("{} broken", self.violations().len()),
            (true, 0, None) => "all guarantees held".to_owned(),
            (true, 0, Some(left_out)) => format!("no violations; {left_out}"),
            (true, untested, _) => format!("no violations, {untested} not tested"),
        };
        let (promises, runs) = (claim.promises.len(), report.runs);
        let latency = format!("{promises} promises in {runs} simulations with {} packet hops", report.packet_hops);
        let others = self.verified.kinds.as_ref().map(|kinds| format!("{} promises of other kinds", kinds.promises()));
        let looked_at = match others {
            Some(others) if promises == 0 => others,
            Some(others) => format!("{latency}, {others}"),
            None => latency,
        };
        format!("{looked_at}: {verdict}")
    }
}
