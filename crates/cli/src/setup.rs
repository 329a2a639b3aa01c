//! Setup of a controller from the options of the command line: the server, a local ledger and `ledger check` all
//! begin here.

use std::path::Path;

use wayleave_controller::{
    BudgetPolicy, Controller, ControllerConfig, EnforcedBy, RecordKind, SchemeFactory, Timeouts, UnfitPolicy,
};
use wayleave_explain::{Context, Names, SettingsJson};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::registry;
use wayleave_store::StoredRecord;
use wayleave_topology::{FlowId, ShareId};
use wayleave_units::WallTime;

use crate::failure::Failure;
use crate::session::SessionArgs;

/// The network, the model and the scheme; warns of ports that contracts cannot use.
pub(crate) fn setup(
    args: &SessionArgs,
    enforced_by: EnforcedBy,
    timing: Timeouts,
) -> Result<ControllerConfig, Failure> {
    prepare(args, enforced_by, timing).map(|prepared| prepared.setup)
}

/// Parts of a controller.
pub(crate) struct Prepared {
    pub(crate) setup: ControllerConfig,
    /// All that is set of the scheme.
    pub(crate) settings: SettingsJson,
    /// The network's name: that in its file, or the text of a builder.
    pub(crate) name: String,
}

/// The same with names and settings.
pub(crate) fn prepare(args: &SessionArgs, enforced_by: EnforcedBy, timing: Timeouts) -> Result<Prepared, Failure> {
    let session = args.open()?;
    let (network, model, settings) = (session.network().clone(), *session.model(), session.settings().clone());
    let text = &args.network.topology;
    let name = if Path::new(text).is_file() { session.topology().to_owned() } else { text.clone() };
    let scheme = session.scheme();
    if let Some(why) = scheme.unfit_for_a_controller() {
        return Err(Failure::Usage(why));
    }
    if scheme.queues().is_none() {
        let scheme = scheme.name();
        let message = format!(
            "--scheme {scheme} reserves no queues, and a controller keeps a ledger of queues: use --scheme {}",
            registry::admission_schemes(|entry| entry.keeps_queues)
        );
        return Err(Failure::Usage(message));
    }
    let (of, options) = (network.clone(), session.options().clone());
    let make = move |budgets| match options.with_default_budgets(budgets).scheme(&of, model) {
        Ok(scheme) => scheme,
        Err(_) => unreachable!("the same was made a moment ago"),
    };
    let budgets = match session.options().stated_default_budgets() {
        Some(stated) => BudgetPolicy::Stated(stated),
        None => BudgetPolicy::Recorded { new: session.options().default_budgets() },
    };
    let scheme = SchemeFactory::new(budgets, make);
    let setup = ControllerConfig { network, model, scheme, enforced_by, timing, unfit: UnfitPolicy::Refuse };
    Ok(Prepared { setup, settings, name })
}

/// Returns a controller that resumes from the records of a ledger.
pub(crate) fn load(setup: &ControllerConfig, wall: WallTime, records: &[StoredRecord]) -> Result<Controller, Failure> {
    let readable = |record: &StoredRecord| {
        let unknown = || Failure::Internal(format!("the ledger has records of an unknown kind, {}", record.kind));
        RecordKind::of(&record.kind).ok_or_else(unknown)
    };
    let kinds = records.iter().map(readable).collect::<Result<Vec<_>, _>>()?;
    let records = kinds.into_iter().zip(records).map(|(kind, record)| (kind, &*record.key, &*record.body));
    Controller::load(setup, wall, records).map_err(|error| Failure::Internal(error.to_string()))
}

/// Owners of a controller's flows.
pub(crate) struct Owners<'a>(pub(crate) &'a Controller);

impl Names for Owners<'_> {
    fn name_of(&self, flow: FlowId) -> &str {
        self.0.owner(flow).map_or("", |grant| &grant.id.name)
    }

    fn name_of_share(&self, share: ShareId) -> &str {
        self.0.owner_of_share(share).map_or("", |grant| &grant.id.name)
    }

    fn is_promised_share(&self, share: ShareId) -> bool {
        self.0.owner_of_share(share).is_none_or(|grant| grant.degraded_reason.is_none())
    }
}

impl Owners<'_> {
    /// Returns the context of queries.
    pub(crate) fn context(&self) -> Context<'_> {
        let controller = self.0;
        Context { network: controller.network(), model: controller.model(), scheme: controller.scheme(), names: self }
    }
}
