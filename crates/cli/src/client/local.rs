//! A ledger file that is opened in this process.

use std::path::Path;

use super::wire::{Ask, OnEvent, Told, Wire};
use crate::failure::Failure;
use crate::session::SessionArgs;

/// A controller of this process.
pub(crate) struct Local {
    place: String,
}

impl Local {
    /// Of a ledger file; without one, of memory that is forgotten.
    pub(crate) fn open(ledger: Option<&Path>, _session: &SessionArgs) -> Result<Self, Failure> {
        let _ = ledger;
        Err(Failure::Internal("not yet".into()))
    }
}

impl Wire for Local {
    fn ask(&self, _ask: &Ask) -> Result<Told, Failure> {
        Err(Failure::Internal("not yet".into()))
    }

    fn watch(&self, _after: Option<u64>, _on_event: &mut OnEvent<'_>) -> Result<(), Failure> {
        Err(Failure::Internal("not yet".into()))
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn is_local(&self) -> bool {
        true
    }
}
