//! An admission scheme that is a Python object: for small runs, since every decision calls the interpreter.
//!
//! The object decides and returns its promises; they are not proven, and `Plan.verify` tests them packet by packet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use wayleave::Network;
use wayleave_contracts::BucketDemand;
use wayleave_scheme_api::{
    Admission, Decision, Described, Descriptor, Handover, Parameter, Parameters, Refusal, RefusalCode, Request, Role,
    Value,
};
use wayleave_schemes::admitted::{AdmittedFlow, AdmittedSet, Term};
use wayleave_schemes::placement::Placement;
use wayleave_schemes::registry::Scheme;
use wayleave_topology::{FlowId, Hop, Route};
use wayleave_units::Time;

use crate::error::usage;

/// Description of such a scheme in documents; tables add the name of its class.
const PYTHON: Descriptor = Descriptor {
    name: "python",
    title: "a scheme in Python",
    roles: &[Role::Admission],
    summary: "Decides with an object of the Python program",
    citation: "none: the program's own",
    guarantee: "what the program says, without a proof",
    parameters: &[],
};

/// Slot in which an exception of the object waits for the caller: schemes cannot fail.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Takes the exception, if there is one.
pub(crate) fn raised(from: &Raised) -> PyResult<()> {
    from.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
}

/// The object as a scheme.
pub(crate) fn scheme_of(object: &Py<PyAny>, raised: &Raised, network: &Network) -> Scheme {
    let object = Python::attach(|py| object.clone_ref(py));
    OwnScheme { object, raised: raised.clone(), network: network.clone(), flows: BTreeMap::new(), next: 0 }.into()
}

/// Request to a scheme: a token bucket in bytes on the wire, with a deadline.
#[pyclass(name = "Request", module = "wayleave", frozen, get_all)]
pub(crate) struct PyRequest {
    /// The sending host. `from` is a word of Python.
    source: String,
    /// The receiving host.
    destination: String,
    /// Long-term rate, in bit/s.
    rate_bps: u64,
    /// Burst, in bytes.
    burst_bytes: u64,
    /// No packet may take longer, in ns.
    deadline_ns: u64,
}

#[pymethods]
impl PyRequest {
    fn __repr__(&self) -> String {
        let Self { source, destination, rate_bps, burst_bytes, deadline_ns } = self;
        format!("<Request {source} -> {destination}: {rate_bps} bit/s, {burst_bytes} bytes, within {deadline_ns} ns>")
    }
}

/// An answer of a scheme: the contract is admitted.
#[pyclass(name = "Admit", module = "wayleave", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct PyAdmit {
    route: Vec<(String, usize)>,
    bound_ns: u64,
}

#[pymethods]
impl PyAdmit {
    /// `route`: names of links, or pairs of a link and a queue (0 is the highest, and taken where none is named). `bound_ns`: no packet takes
    /// longer.
    #[new]
    fn new(route: &Bound<'_, PyAny>, bound_ns: &Bound<'_, PyAny>) -> PyResult<Self> {
        let Ok(route_given) = route.extract::<Vec<HopOfPython>>() else {
            return Err(usage(format!(
                "route: a list with names of links, or with pairs of a link and a queue, is expected: this is {}",
                route.repr()?
            )));
        };
        let Ok(bound_ns) = bound_ns.extract::<u64>() else {
            return Err(usage(format!(
                "bound_ns: a whole number of ns from 0 is expected: this is {}; round a bound up, with math.ceil()",
                bound_ns.repr()?
            )));
        };
        let route = route_given.into_iter().map(|hop| match hop {
            HopOfPython::Link(link) => (link, 0),
            HopOfPython::Queue(link, queue) => (link, queue),
        });
        Ok(Self { route: route.collect(), bound_ns })
    }

    fn __repr__(&self) -> String {
        let route: Vec<String> = self.route.iter().map(|(link, queue)| format!("{link}[{queue}]")).collect();
        format!("<Admit {} within {} ns>", route.join(" "), self.bound_ns)
    }
}

/// A link, or a link with a queue.
#[derive(FromPyObject)]
enum HopOfPython {
    Link(String),
    Queue(String, usize),
}

/// An answer of a scheme: the contract is refused.
#[pyclass(name = "Refuse", module = "wayleave", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct PyRefuse {
    reason: RefusalCode,
    text: String,
}

#[pymethods]
impl PyRefuse {
    /// `why` in one clause; `reason` is one of `NO_PATH`, `RATE`, `LATENCY`, `BUFFER`, `QUOTA`, `POLICY`.
    #[new]
    #[pyo3(signature = (why, reason="POLICY"))]
    fn new(why: String, reason: &str) -> PyResult<Self> {
        let all = [
            RefusalCode::NoPath,
            RefusalCode::Rate,
            RefusalCode::Latency,
            RefusalCode::Buffer,
            RefusalCode::Quota,
            RefusalCode::Policy,
        ];
        let Some(reason) = all.into_iter().find(|known| known.code() == reason) else {
            let codes: Vec<&str> = all.iter().map(|reason| reason.code()).collect();
            return Err(usage(format!("reason: \"{reason}\" is none of {}", codes.join(", "))));
        };
        Ok(Self { reason, text: why })
    }

    fn __repr__(&self) -> String {
        format!("<Refuse {}: {}>", self.reason.code(), self.text)
    }
}

/// The object with the flows that it has admitted.
struct OwnScheme {
    object: Py<PyAny>,
    raised: Raised,
    network: Network,
    flows: BTreeMap<FlowId, Entry>,
    next: u32,
}

/// An admitted flow.
struct Entry {
    route: Route,
    demand: BucketDemand,
    deadline: Time,
    bound: Time,
}

/// It has no parameters.
#[derive(Clone, Default)]
struct Nothing;

impl Parameters for Nothing {
    const LIST: &'static [Parameter] = &[];

    fn set(&mut self, _: usize, _: Value) -> bool {
        false
    }

    fn get(&self, _: usize) -> Value {
        Value::Absent
    }
}

impl Described for OwnScheme {
    const DESCRIPTOR: &'static Descriptor = &PYTHON;
    type Params = Nothing;
}

impl OwnScheme {
    /// Asks the object; an exception is kept, and everything after it refused without asking.
    fn ask(&self, request: &Request) -> Result<(Route, Time), Refusal> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = || {
            let text = "the scheme in Python has raised an exception".to_owned();
            Refusal::Stated { reason: RefusalCode::Policy, field: None, text }
        };
        if raised.is_some() {
            return Err(failed());
        }
        Python::attach(|py| self.answer(py, request)).unwrap_or_else(|error| {
            *raised = Some(error);
            Err(failed())
        })
    }

    fn answer(&self, py: Python<'_>, request: &Request) -> PyResult<Result<(Route, Time), Refusal>> {
        let graph = &self.network.graph;
        let name = |node| graph.node(node).name.clone();
        let asked = PyRequest {
            source: name(request.from),
            destination: name(request.to),
            rate_bps: request.rate.bits_per_second(),
            burst_bytes: request.burst.get(),
            deadline_ns: request.deadline.as_nanos(),
        };
        let answer = self.object.bind(py).call_method1("admit", (asked,))?;
        if let Ok(PyRefuse { reason, text }) = answer.extract::<PyRefuse>() {
            return Ok(Err(Refusal::Stated { reason, field: None, text }));
        }
        let Ok(PyAdmit { route, bound_ns }) = answer.extract::<PyAdmit>() else {
            let kind = answer.get_type().name()?;
            return Err(usage(format!("admit() has returned a {kind}: wayleave.Admit or wayleave.Refuse is expected")));
        };
        let hops: Vec<Hop> = route.iter().map(|(link, queue)| self.hop(link, *queue)).collect::<PyResult<_>>()?;
        let route = Route { hops };
        let links = route.hops.iter().map(|hop| graph.link(hop.link));
        let joined = links.clone().zip(links.clone().skip(1)).all(|(one, next)| one.to == next.from);
        let ends = links.clone().next().map(|link| link.from) == Some(request.from)
            && links.clone().next_back().map(|link| link.to) == Some(request.to);
        if !(joined && ends) {
            let links: Vec<&str> = links.map(|link| link.name.as_str()).collect();
            let (from, to) = (name(request.from), name(request.to));
            return Err(usage(format!(
                "admit() has returned a route that does not lead from {from} to {to}: {}",
                links.join(" ")
            )));
        }
        let bound = Time::from_nanos(bound_ns);
        if bound > request.deadline {
            let (from, to, deadline) = (name(request.from), name(request.to), request.deadline);
            return Err(usage(format!(
                "admit() has promised {bound} from {from} to {to}, and the deadline is {deadline}: a bound_ns of at most {} is expected, or wayleave.Refuse",
                deadline.as_nanos()
            )));
        }
        Ok(Ok((route, bound)))
    }

    fn hop(&self, name: &str, queue: usize) -> PyResult<Hop> {
        let graph = &self.network.graph;
        let Some((link, _)) = graph.links().find(|(_, link)| link.name == name) else {
            let near = wayleave_explain::sentences::nearest(name, graph.links().map(|(_, link)| link.name.as_str()));
            let near = near.map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
            return Err(usage(format!("admit() has returned a route over \"{name}\": there is no such link{near}")));
        };
        let queues = graph.queues(link).len();
        match u8::try_from(queue) {
            Ok(queue) if usize::from(queue) < queues => Ok(Hop { link, queue }),
            _ => Err(usage(format!("admit() has returned queue {queue} of {name}, which has {queues}, from 0"))),
        }
    }

    /// Notifies the object that a flow has been released, if it has a method for that.
    fn tell_released(&self, entry: &Entry) {
        let told = Python::attach(|py| {
            let object = self.object.bind(py);
            if !object.hasattr("release")? {
                return Ok(());
            }
            let graph = &self.network.graph;
            let links: Vec<&str> = entry.route.hops.iter().map(|hop| graph.link(hop.link).name.as_str()).collect();
            object.call_method1("release", (links, entry.demand.rate.bits_per_second())).map(drop)
        });
        if let Err(error) = told {
            self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

impl Admission for OwnScheme {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        let (route, bound) = self.ask(request)?;
        let flow = FlowId(self.next);
        self.next += 1;
        let demand = BucketDemand { rate: request.rate, burst: request.burst, max_frame: request.max_frame };
        self.flows.insert(flow, Entry { route: route.clone(), demand, deadline: request.deadline, bound });
        Ok(Decision { flow, route, bound, copies: Vec::new(), moved: Vec::new(), handover: Handover::New })
    }

    fn release(&mut self, flow: FlowId) -> Option<Route> {
        let entry = self.flows.remove(&flow)?;
        self.tell_released(&entry);
        Some(entry.route)
    }

    /// A scheme of Python gives no new terms beside old ones: the contract goes, and comes again or not.
    fn change(&mut self, flow: FlowId, _: &Request) -> Option<Result<Decision, Refusal>> {
        self.flows.get(&flow)?;
        let text = "a scheme in Python cannot change contracts: release it and ask anew".to_owned();
        Some(Err(Refusal::Stated { reason: RefusalCode::Policy, field: None, text }))
    }

    fn would_admit(&mut self, request: &Request) -> bool {
        self.ask(request).is_ok()
    }
}

impl AdmittedSet for OwnScheme {
    fn queues(&self) -> Option<&Placement> {
        None
    }

    fn queues_mut(&mut self) -> Option<&mut Placement> {
        None
    }

    fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>> {
        let &Entry { ref route, demand, deadline, bound } = self.flows.get(&flow)?;
        Some(AdmittedFlow { route, demand, deadline, bound, released: bound })
    }

    fn flows(&self) -> Vec<FlowId> {
        self.flows.keys().copied().collect()
    }

    fn terms(&self, flow: FlowId) -> Vec<Term> {
        self.flows.get(&flow).map(|entry| Term::Own("stated", entry.bound)).into_iter().collect()
    }

    fn unfit_for_a_controller(&self) -> Option<String> {
        Some("it is an object of a Python program".to_owned())
    }
}
