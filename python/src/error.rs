//! Errors of the library as exceptions of Python.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use wayleave_formats::Problem;

/// An error of the library on its way to Python.
pub(crate) struct Failure(wayleave::Error);

impl From<wayleave::Error> for Failure {
    fn from(error: wayleave::Error) -> Self {
        Self(error)
    }
}

impl From<wayleave_formats::InputErrors> for Failure {
    fn from(errors: wayleave_formats::InputErrors) -> Self {
        Self(errors.into())
    }
}

impl From<Failure> for PyErr {
    fn from(Failure(error): Failure) -> Self {
        Python::attach(|py| raised(py, &error).unwrap_or_else(|instead| instead))
    }
}

/// What a caller has asked for makes no sense; the message says what does.
pub(crate) fn usage(message: impl Into<String>) -> PyErr {
    Failure(wayleave::Error::Usage(message.into())).into()
}

/// Something that should work did not.
pub(crate) fn internal(message: impl Into<String>) -> PyErr {
    Failure(wayleave::Error::Internal(message.into())).into()
}

fn raised(py: Python<'_>, error: &wayleave::Error) -> PyResult<PyErr> {
    static INPUT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static OPERATION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static PROBLEM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if matches!(error, wayleave::Error::Stopped) {
        return Ok(PyKeyboardInterrupt::new_err(()));
    }
    let class = |lock: &'static PyOnceLock<Py<PyAny>>, name: &str| {
        let found = lock.get_or_try_init(py, || Ok::<_, PyErr>(py.import("wayleave._errors")?.getattr(name)?.unbind()));
        found.map(|class| class.bind(py).clone())
    };
    let problem_class = class(&PROBLEM, "Problem")?;
    let problem = |problem: &Problem| {
        let place = problem.location().map(|place| (place.line, place.column));
        let (line, column) = (place.map(|place| place.0), place.map(|place| place.1));
        let file = problem.source_text().name();
        problem_class.call1((problem.message(), file, line, column, problem.hint(), problem.context()))
    };
    let problems: Vec<_> = error.problems().iter().map(problem).collect::<PyResult<_>>()?;
    let class = if error.is_input() { class(&INPUT, "InputError")? } else { class(&OPERATION, "OperationError")? };
    Ok(PyErr::from_value(class.call1((error.to_string(), PyTuple::new(py, problems)?))?))
}
