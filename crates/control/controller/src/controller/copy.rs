//! A second controller, copied from a running one, which answers questions and is then discarded.
//!
//! Copying blocks the running controller, so work that the copy can do later is not done here. Contracts are shared
//! until either controller changes them, and [`Copied::controller`] computes derived state.

use std::collections::BTreeMap;
use std::sync::Arc;

use wayleave_schemes::admission::chameleon::DefaultBudgets;
use wayleave_topology::Network;
use wayleave_units::{Time, WallTime};

use super::Controller;
use crate::admission::{self, Admission};
use crate::answers::ReplyCache;
use crate::elements::Elements;
use crate::enforcement::Enforcement;
use crate::load_error::LoadError;
use crate::scheme_ledger::SchemeLedger;
use crate::setup::ControllerConfig;
use crate::tokens::Tokens;
use crate::vms::Vms;

/// A copy of a controller's state, without the sessions of agents and without past decisions and answers.
pub struct Copied {
    network: Arc<Network>,
    tokens: Tokens,
    vms: Vms,
    elements: Elements,
    admission: admission::Copied,
    budgets: DefaultBudgets,
}

impl Controller {
    /// A copy, to make a controller of.
    pub fn copy(&self) -> Copied {
        Copied {
            network: self.network.clone(),
            tokens: self.tokens.clone(),
            vms: self.vms.clone(),
            elements: self.elements.clone(),
            admission: self.admission.copy(),
            budgets: self.journal().counters().default_budgets.into(),
        }
    }
}

impl Copied {
    /// Returns a controller that continues from here, as if the last packets of ended contracts had left: questions
    /// are about that time. The setup may differ from that of the original in its kind of enforcement and in times.
    ///
    /// # Errors
    /// If the scheme of the setup reserves no queues.
    pub fn controller(self, setup: &ControllerConfig, wall: WallTime) -> Result<Controller, LoadError> {
        let mut controller = self.as_it_is(setup, wall)?;
        controller.enforcement_mut().scheme_ledger_mut().free_left_shares(Time::MAX);
        Ok(controller)
    }

    /// A controller that holds what this one holds at this moment, and decides as it would: also what ended contracts still hold.
    ///
    /// # Errors
    /// If the scheme of the setup reserves no queues.
    pub fn as_it_is(self, setup: &ControllerConfig, wall: WallTime) -> Result<Controller, LoadError> {
        let Self { network, tokens, vms, elements, admission, budgets } = self;
        let Some(book) = SchemeLedger::new(setup.scheme.make(budgets)) else { return Err(LoadError::NoQueues) };
        let enforcement = Enforcement::new(setup, book, wall);
        let mut controller = Controller {
            network,
            tokens,
            vms,
            elements,
            answers: ReplyCache::default(),
            admission: Admission::new(setup.model, enforcement),
            old_records: BTreeMap::new(),
        };
        controller.admission.take_over(admission);
        controller.enforcement_mut().resume();
        controller.admission.retry_later();
        Ok(controller)
    }
}
