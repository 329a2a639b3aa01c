//! Provenance of schemes and transports that are Python objects: the hash of their code.

use pyo3::prelude::*;

/// The class of an object, and the hash of its code and state.
#[derive(Clone, Debug)]
pub(crate) struct OwnCode {
    class: String,
    /// Hash, or the reason for which there is none.
    pub(crate) hash: String,
}

impl OwnCode {
    /// Hashes an object as it is now: it may change while it works.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let hash = object.py().import("wayleave._own")?.call_method1("code_hash", (object,))?.extract()?;
        Ok(Self { class: object.get_type().name()?.to_string(), hash })
    }

    /// Returns its name in tables.
    pub(crate) fn name(&self) -> String {
        format!("python:{}", self.class)
    }
}
