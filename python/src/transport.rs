//! A transport that is an object of Python: for small runs, since every acknowledgement calls the interpreter, one run at a time.
//!
//! `transport.begin(start)` gives an object for each flow, with `on_ack(now_ns, ack)`, `on_loss(now_ns, loss)` and the attribute `window` in
//! bytes of payload; `pacing_bps` is read as well where there is one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use wayleave::Cancel;
use wayleave_scheme_api::{Ack, Descriptor, Flow, FlowStart, Loss, RecoveryPhase, Role, RouteFacts, SendLimit};
use wayleave_schemes::transports::{CustomFlow, CustomTransport};
use wayleave_units::{Rate, Time};

use crate::admission::Raised;
use crate::error::usage;

/// Description of such a transport in reports.
const PYTHON: Descriptor = Descriptor {
    name: "python",
    title: "a transport in Python",
    roles: &[Role::Transport],
    summary: "Windows of an object of the Python program",
    citation: "none: the program's own",
    guarantee: "nothing",
    parameters: &[],
};

/// The object, with the exception that it has raised.
#[derive(Clone)]
pub(crate) struct OwnTransport {
    object: Arc<Py<PyAny>>,
    hears_marks: bool,
    pub(crate) raised: Raised,
    /// Work that is cancelled after an exception.
    pub(crate) cancel: Arc<Mutex<Cancel>>,
}

impl OwnTransport {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if !object.hasattr("begin")? {
            return Err(usage("transport: an object with a method `begin(start)` is expected"));
        }
        let hears_marks = object.hasattr("hears_marks")? && object.getattr("hears_marks")?.is_truthy()?;
        let object = Arc::new(object.clone().unbind());
        Ok(Self { object, hears_marks, raised: Raised::default(), cancel: Arc::default() })
    }

    /// Keeps the first exception, and stops the run.
    fn failed(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel.lock().unwrap_or_else(PoisonError::into_inner).cancel();
    }
}

impl fmt::Debug for OwnTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a transport in Python")
    }
}

impl CustomTransport for OwnTransport {
    fn descriptor(&self) -> &'static Descriptor {
        &PYTHON
    }

    fn receives_marks(&self) -> bool {
        self.hears_marks
    }

    fn begin(&self, start: &FlowStart) -> Box<dyn CustomFlow> {
        let mut flow = OwnFlow { object: None, transport: self.clone(), window: start.initial_window, pacing: None };
        let begun = Python::attach(|py| {
            let object = self.object.bind(py).call_method1("begin", (PyStart::from(start),))?;
            flow.read(&object)?;
            Ok::<_, PyErr>(object.unbind())
        });
        match begun {
            Ok(object) => flow.object = Some(object),
            Err(error) => self.failed(error),
        }
        Box::new(flow)
    }
}

/// Reads a number of a flow, at least 1: with less it would never send anything further. Infinity means no limit.
fn at_least_one(name: &str, unit: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    match value.extract::<f64>() {
        Ok(number) if number >= 1.0 => Ok(number as u64),
        _ => Err(usage(format!(
            "transport: {name} is {}, and a number from 1 is expected ({unit}); keep it with max({name}, 1)",
            value.repr()?
        ))),
    }
}

/// One flow: its object, and its latest values.
struct OwnFlow {
    /// `None` after an exception.
    object: Option<Py<PyAny>>,
    transport: OwnTransport,
    window: u64,
    pacing: Option<Rate>,
}

impl fmt::Debug for OwnFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnFlow").field("window", &self.window).field("pacing", &self.pacing).finish_non_exhaustive()
    }
}

impl OwnFlow {
    fn read(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        self.window = at_least_one("window", "bytes of payload", &object.getattr("window")?)?;
        self.pacing = match object.getattr_opt("pacing_bps")?.filter(|rate| !rate.is_none()) {
            Some(rate) => Some(Rate::from_bits_per_second(at_least_one("pacing_bps", "bit/s, or None", &rate)?)),
            None => None,
        };
        Ok(())
    }

    /// Calls the object for an event, and reads its new values.
    fn tell(&mut self, tell: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(object) = self.object.take() else { return };
        let told = Python::attach(|py| {
            let bound = object.bind(py);
            tell(py, bound)?;
            self.read(bound)
        });
        match told {
            Ok(()) => self.object = Some(object),
            Err(error) => self.transport.failed(error),
        }
    }
}

impl Flow for OwnFlow {
    fn on_route(&mut self, now: Time, route: RouteFacts) {
        self.tell(|_, object| {
            if !object.hasattr("on_route")? {
                return Ok(());
            }
            let RouteFacts { hops, round_trip, slowest } = route;
            let facts = (now.as_nanos(), hops, round_trip.as_nanos(), slowest.bits_per_second());
            object.call_method1("on_route", facts).map(drop)
        });
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.tell(|_, object| object.call_method1("on_ack", (now.as_nanos(), PyAck::from(ack))).map(drop));
    }

    fn on_loss(&mut self, now: Time, loss: Loss) {
        let (kind, in_flight) = match loss {
            Loss::Fast { in_flight } => ("fast", in_flight),
            Loss::Timeout { in_flight } => ("timeout", in_flight),
        };
        self.tell(|_, object| object.call_method1("on_loss", (now.as_nanos(), PyLoss { kind, in_flight })).map(drop));
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn pacing(&self) -> Option<Rate> {
        self.pacing
    }
}

/// Properties of a flow when it begins; amounts are bytes of payload.
#[pyclass(name = "FlowStart", module = "wayleave", frozen, get_all)]
pub(crate) struct PyStart {
    /// Payload of a full packet.
    segment: u32,
    /// Amount that may be sent before the first acknowledgement.
    initial_window: u64,
    /// No window is larger.
    max_window: u64,
    /// Size of the flow, if that is known.
    size: Option<u64>,
    /// Time in ns until its deadline, if it has one.
    deadline_ns: Option<u64>,
    /// Its share beside other flows; 1 is usual.
    weight: u32,
}

impl From<&FlowStart> for PyStart {
    fn from(start: &FlowStart) -> Self {
        let &FlowStart { segment, initial_window, max_window, size, deadline, weight } = start;
        Self { segment, initial_window, max_window, size, deadline_ns: deadline.map(|time| time.as_nanos()), weight }
    }
}

/// An acknowledgement with new information for the sender; amounts are bytes of payload.
#[pyclass(name = "Ack", module = "wayleave", frozen, get_all)]
pub(crate) struct PyAck {
    /// Newly acknowledged.
    newly: u64,
    /// Of these, arrived with a congestion mark.
    marked: u64,
    /// Acknowledged in order since the flow began.
    acknowledged: u64,
    /// The highest byte that was ever sent.
    sent: u64,
    /// In flight now.
    in_flight: u64,
    /// Left to send or to be acknowledged, if the size is known.
    remaining: Option<u64>,
    /// In ns; `None` if the packet was sent twice.
    round_trip_ns: Option<u64>,
    /// `True` if the window limits the sender, not the application.
    is_window_limited: bool,
    /// `True` while the sender retransmits after a loss.
    is_recovering: bool,
}

impl From<&Ack<'_>> for PyAck {
    fn from(ack: &Ack<'_>) -> Self {
        Self {
            newly: ack.newly,
            marked: ack.marked,
            acknowledged: ack.acknowledged,
            sent: ack.sent,
            in_flight: ack.in_flight,
            remaining: ack.remaining,
            round_trip_ns: ack.round_trip.map(|time| time.as_nanos()),
            is_window_limited: ack.limit == SendLimit::Window,
            is_recovering: ack.phase == RecoveryPhase::Recovery,
        }
    }
}

/// A loss.
#[pyclass(name = "Loss", module = "wayleave", frozen, get_all)]
pub(crate) struct PyLoss {
    /// `fast` (by later acknowledgements) or `timeout`.
    kind: &'static str,
    /// In flight when it was found, in bytes of payload.
    in_flight: u64,
}
