//! Options of sessions: the network, the scheme and the model with which contracts are decided.

use clap::Args;
use wayleave::{Contracts, Network, PlanOptions, Session};
use wayleave_formats::Source;
use wayleave_schemes::admission::chameleon::DefaultBudgets;

use crate::failure::Failure;
use crate::inputs::NetworkArgs;
use crate::model_args::ModelArgs;
use crate::scheme_args::SchemeArgs;

/// Everything that a session is set up with.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) scheme: SchemeArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

impl SessionArgs {
    /// With nothing admitted; warns of ports that contracts cannot use.
    pub(crate) fn open(&self) -> Result<Session, Failure> {
        let session = self.open_quietly()?;
        session.warnings().iter().for_each(|warning| crate::output::tell!("warning: {warning}"));
        Ok(session)
    }

    /// The same for a saved plan: one that does not state its default delay budgets was decided with the published ones.
    pub(crate) fn like_plan(&self, plan: &Source) -> Self {
        let mut args = self.clone();
        // Records of a plan do not state them, unlike those of a ledger.
        let usual = DefaultBudgets::or_usual(None, self.model.model.defaults());
        let is_stated = wayleave::states_default_budgets(plan);
        args.scheme.assume_budgets(if is_stated { usual } else { DefaultBudgets::Published });
        args
    }

    /// Refuses options that are wrong regardless of the files, before these are read.
    pub(crate) fn check_options(&self) -> Result<(), Failure> {
        self.model.model()?;
        let all_kinds = || self.scheme.for_all_kinds().options(self.model.model);
        self.scheme.options(self.model.model).or_else(|wrong| all_kinds().map_err(|_| wrong)).map(drop)
    }

    /// The same as [`Self::open`] for contracts that were read already: where some are of another kind than latency, a network without classes has the
    /// usual ones.
    pub(crate) fn open_for(&self, network: &Network, contracts: &Contracts) -> Result<Session, Failure> {
        let session = self.open_on(network, contracts.has_other_kinds())?;
        let warnings = contracts.warnings(session.model().overhead);
        warnings.iter().for_each(|warning| crate::output::tell!("warning: {warning}"));
        Ok(session)
    }

    pub(crate) fn open_on(&self, network: &Network, has_other_kinds: bool) -> Result<Session, Failure> {
        if has_other_kinds && network.graph.classes().is_none() {
            crate::output::tell!(
                "note: the topology has no `classes`; the defaults are assumed (`classes: {{}}`); a controller assumes none and refuses bandwidth and objective contracts without them"
            );
        }
        let network = if has_other_kinds { network.with_classes()? } else { network.clone() };
        let scheme = if network.graph.classes().is_some() { self.scheme.for_all_kinds() } else { self.scheme.clone() };
        let options = PlanOptions::default().with_model(self.model.model()?);
        let session = Session::open(&network, &options.with_scheme(scheme.options(self.model.model)?))?;
        session.warnings().iter().for_each(|warning| crate::output::tell!("warning: {warning}"));
        Ok(session)
    }

    /// The same for contracts of which some are of another kind than latency, or none.
    pub(crate) fn for_kinds(&self, has_other_kinds: bool) -> Self {
        let mut args = self.clone();
        args.network.details.has_kinds = has_other_kinds;
        args
    }

    /// Opens a session without a warning, for callers that open another one too.
    pub(crate) fn open_quietly(&self) -> Result<Session, Failure> {
        let options = PlanOptions::default().with_model(self.model.model()?);
        let network = self.network.read()?;
        let scheme = if network.graph.classes().is_some() { self.scheme.for_all_kinds() } else { self.scheme.clone() };
        Ok(Session::open(&network, &options.with_scheme(scheme.options(self.model.model)?))?)
    }
}
