//! Errors of the library as exceptions of Python.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use wayleave_formats::Problem;

/// An error of the library that is converted for Python.
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

/// Returns the error for an invalid request; the message gives the accepted form.
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
    if matches!(error, wayleave::Error::Stopped) {
        return Ok(PyKeyboardInterrupt::new_err(()));
    }
    let class = |lock: &'static PyOnceLock<Py<PyAny>>, name: &str| {
        let found = lock.get_or_try_init(py, || Ok::<_, PyErr>(py.import("wayleave._errors")?.getattr(name)?.unbind()));
        found.map(|class| class.bind(py).clone())
    };
    let problems: Vec<_> = error.problems().iter().map(|found| problem(py, found)).collect::<PyResult<_>>()?;
    let class = if error.is_input() { class(&INPUT, "InputError")? } else { class(&OPERATION, "OperationError")? };
    Ok(PyErr::from_value(class.call1((in_python(&error.to_string()), PyTuple::new(py, problems)?))?))
}

/// One thing that is wrong with a file, as a `Problem` of the package.
pub(crate) fn problem<'py>(py: Python<'py>, found: &Problem) -> PyResult<Bound<'py, PyAny>> {
    let place = found.location().map(|place| (place.line, place.column));
    let (line, column) = (place.map(|place| place.0), place.map(|place| place.1));
    let (message, hint) = (in_python(found.message()), found.hint().map(in_python));
    let class = py.import("wayleave._errors")?.getattr("Problem")?;
    class.call1((message, found.source_text().name(), line, column, hint, found.context()))
}

/// Names of the command's options for files of other tools in messages, with the names of the arguments here.
const OPTIONS: [(&str, &str); 13] = [
    ("--default-rate 10Gbit", "default_rate=\"10Gbit\""),
    ("--default-rate", "default_rate="),
    ("--default-delay", "default_delay="),
    ("--default-mtu", "default_mtu="),
    ("--strict", "strict=True"),
    ("--delay-from-coordinates", "delay_from_coordinates=True"),
    ("--rate-unit", "rate_unit="),
    ("--delay-unit", "delay_unit="),
    ("--hosts-per-node 1", "hosts=1"),
    ("`wayleave topology list` names them", "wayleave.Network has a method for each kind"),
    ("wayleave reproduce list prints the names of all figures", "wayleave.figures() names them all"),
    ("wayleave reproduce list shows", "wayleave.figures() shows"),
    ("see `wayleave plan`", "see wayleave.plan"),
];

/// A message of the command in the words of the package: `--hold-time` is `hold_time=`.
pub(crate) fn in_python(message: &str) -> String {
    let text = OPTIONS.iter().fold(message.to_owned(), |text, (option, argument)| text.replace(option, argument));
    let mut parts = text.split("--");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_option = part.starts_with(|first: char| first.is_ascii_lowercase())
            && !said.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '-');
        let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(part.len());
        let (word, rest) = part.split_at(end);
        match is_option {
            true => said = said + &word.replace('-', "_") + "=" + rest,
            false => said = said + "--" + part,
        }
    }
    said
}

/// A message about keys of files in the spelling of Python: `hostQueues` is `host_queues`.
fn snake(message: &str) -> String {
    let mut said = String::with_capacity(message.len());
    let mut is_in_key = false;
    for letter in message.chars() {
        let is_inside = said.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '_');
        is_in_key = if is_inside { is_in_key } else { letter.is_ascii_lowercase() };
        if is_in_key && letter.is_ascii_uppercase() {
            said.push('_');
            said.push(letter.to_ascii_lowercase());
        } else {
            said.push(letter);
        }
    }
    said
}

/// An error about the keywords of a method such as `Network.star`, without the places in the text that the keywords become.
pub(crate) fn of_keywords(method: &str, error: &wayleave::Error) -> PyErr {
    let is_excerpt =
        |line: &str| line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with('|');
    let without_place = |line: &str| match line.strip_prefix("builder:").and_then(|placed| placed.split_once(": ")) {
        Some((_, message)) => format!("{method}: {message}"),
        None => line.to_owned(),
    };
    let text = error.to_string();
    let lines = text.lines().filter(|line| !is_excerpt(line) && !line.contains("so it was read as a builder"));
    usage(snake(&lines.map(without_place).collect::<Vec<_>>().join("\n")))
}
