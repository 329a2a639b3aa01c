//! Wayleave for Python: the crate `wayleave` as an extension module. The package around it (`wayleave/*.py`) converts
//! Python values to texts and texts to Python values; all decisions, simulations and measurements are the library's.
//!
//! | module | contents |
//! |---|---|
//! | `network` | networks and contracts |
//! | `plan` | plans, explanations, verifications |
//! | `simulate` | scenarios, runs, sweeps |
//! | `measure` | figures measured again, bounds of whole networks |
//! | `admission`, `transport` | schemes that are Python objects |
//! | `table`, `html` | Arrow tables, pages of notebooks |
//! | `watch` | work without the interpreter's lock, stopped by Ctrl-C |
//! | `own` | provenance of schemes and transports that are Python objects |
//! | `document` | long documents as Python values |
//! | `error` | errors as exceptions |

use pyo3::prelude::*;

mod admission;
mod document;
mod error;
mod html;
mod measure;
mod network;
mod own;
mod plan;
mod simulate;
mod table;
mod transport;
mod watch;

#[pymodule]
mod _wayleave {
    #[pymodule_export]
    use super::admission::{PyAdmit, PyRefuse, PyRequest};
    #[pymodule_export]
    use super::measure::{_analyze, _reproduce, PyAnalysis, PyFigure, figures_known};
    #[pymodule_export]
    use super::network::{_network_of, PyContracts, PyNetwork};
    #[pymodule_export]
    use super::plan::{_explain, _plan, PyExplanation, PyPlan, PyVerified};
    #[pymodule_export]
    use super::simulate::{_begin, _simulate, _sweep, PyBatch, PyRun, PySweep};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::transport::{PyAck, PyLoss, PyStart};

    /// The version, as results carry it.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
