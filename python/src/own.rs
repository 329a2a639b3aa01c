//! Code of the program: what provenance says of schemes and transports that are objects of Python.

use pyo3::prelude::*;

/// The class of an object, and the hash of its code and state.
#[derive(Clone, Debug)]
pub(crate) struct OwnCode {
    class: String,
    /// The hash, or why there is none.
    pub(crate) hash: String,
}

impl OwnCode {
    /// Hashes an object as it is now: it may change while it works.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let hash = object.py().import("wayleave._own")?.call_method1("code_hash", (object,))?.extract()?;
        Ok(Self { class: object.get_type().name()?.to_string(), hash })
    }

    /// What tables call it.
    pub(crate) fn name(&self) -> String {
        format!("python:{}", self.class)
    }
}
