//! `/v1/batch`: contracts that are deleted, created and changed together, or not at all.
//!
//! If all new contracts are admitted beside the deleted ones, they are admitted first: deleting cannot fail.
//! Otherwise they may need the quota or the names of the deleted ones: the whole batch is tried in a copy of the
//! controller, and executed if that succeeds. Nothing comes between, and equal input gives equal decisions.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use wayleave_contracts::ContractRequest;
use wayleave_controller::{Command, Controller, Effect, Id, Mode, Precondition, Principal, Reply, Timestamps};
use wayleave_formats::{API_VERSION, Addressed, Source, read_orders};
use wayleave_protocol::contract::ContractSpec;
use wayleave_protocol::decision::{Applied, BatchSpec};
use wayleave_protocol::problem::{Code, Problem};

use crate::access::sees;
use crate::account::Account;
use crate::answer::{Outcome, input_errors, invalid, not_found, problem};
use crate::handlers::apply::{decide, is_cause, none_done, report};
use crate::handlers::contracts::{StoredVms, item, owned, reaches};
use crate::http::call::AuthorizedRequest;
use crate::state::Shared;
use crate::trial::now;
use crate::work::{Executor, Step};

/// Changes that are made together.
#[derive(Clone)]
struct Batch {
    delete: Vec<Id>,
    orders: Vec<ContractRequest>,
    role: Principal,
}

pub(crate) async fn batch(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let repeat = if call.is_dry_run() { None } else { shared.repeat(&call)? };
    let call = Arc::new(call);
    let batch = shared.parse(&call, read).await?;
    let account = Account::of(call.role());
    let most = shared.limits.together.saturating_mul(usize::try_from(account.weight()).unwrap_or(1));
    let count = batch.delete.len() + batch.orders.len();
    // A long dry run of an operator delays no other client: it is made in a copy.
    if count > most && !(call.is_dry_run() && account == Account::Operators) {
        let detail = format!(
            "{count} contracts are too many for one atomic change: at most {most} are admitted from {account} (--max-atomic-batch of the server). Split the change"
        );
        return Err(problem(Code::TooLarge, detail));
    }
    if call.is_dry_run() {
        // Of contracts that are refused each is named, so that they are decided each for itself.
        return shared
            .try_out(&call, move |controller| Ok(report(batch.try_in(controller, now(), Mode::Each), Effect::DryRun)))
            .await;
    }
    let of = shared.clone();
    let work = move |executor: &mut Executor<'_>| batch.execute(&of, executor);
    shared.submit_steps(&call, repeat, Box::new(|executor| Step::Done(work(executor)))).await
}

fn read(shared: &Shared, call: &AuthorizedRequest) -> Result<Batch, Box<Problem>> {
    let BatchSpec { delete, apply } = call.json()?;
    if delete.is_empty() && apply.is_empty() {
        return Err(invalid("delete", "nothing to delete or apply: list contracts in at least one of them"));
    }
    let mut ids = BTreeSet::new();
    for text in &delete {
        let id = Id::parse(text, call.tenant()).map_err(|error| invalid("delete", error.to_string()))?;
        if !sees(call.role(), &id) {
            return Err(not_found("contract", text));
        }
        if !ids.insert(id) {
            return Err(invalid("delete", format!("contract {text} is in the list twice")));
        }
    }
    let orders = if apply.is_empty() { Vec::new() } else { orders(shared, call, &apply)? };
    Ok(Batch { delete: ids.into_iter().collect(), orders, role: call.role().clone() })
}

fn orders(
    shared: &Shared,
    call: &AuthorizedRequest,
    specs: &[ContractSpec],
) -> Result<Vec<ContractRequest>, Box<Problem>> {
    let document = json!({ "apiVersion": API_VERSION, "kind": "Contracts", "spec": { "contracts": specs } });
    let source = Source::new("apply", document.to_string());
    let given = Addressed { tenant: call.only_tenant(), name: None };
    let list = read_orders(&source, shared.network(), &StoredVms::of(shared, call), given).map_err(|errors| {
        let mut problem = input_errors(&errors);
        // Lines and columns would be those of a text that the client has not written.
        problem.errors.iter_mut().for_each(|error| (error.line, error.column) = (None, None));
        problem
    })?;
    let orders: Vec<ContractRequest> =
        list.into_orders().into_iter().map(|order| owned(order, call.tenant())).collect();
    orders.iter().try_for_each(|order| reaches(shared, call, order))?;
    Ok(orders)
}

impl Batch {
    fn execute(self, shared: &Shared, executor: &mut Executor<'_>) -> Outcome {
        if self.fits_beside(executor)? {
            let applied = self.apply(executor, Effect::Commit)?;
            let mut items = self.delete(executor.controller, executor.now, Effect::Commit);
            items.extend(applied);
            return Ok(report(items, Effect::Commit));
        }
        let copy = executor.controller.copy().as_it_is(&shared.setup, executor.now.wall);
        let mut copy = copy.map_err(|error| {
            problem(Code::Internal, format!("cannot create a trial copy of the controller: {error}"))
        })?;
        let tried = self.try_in(&mut copy, Timestamps { wall: executor.now.wall, ..now() }, Mode::AllOrNothing);
        if let Some(first) = tried.iter().find(|item| is_cause(item)) {
            return Err(none_done(first, tried.len()));
        }
        let mut items = self.delete(executor.controller, executor.now, Effect::Commit);
        let applied = self.apply(executor, Effect::Commit)?;
        // A deletion cannot be undone: the engine discards this batch and opens the ledger again, which has no part
        // of the batch.
        assert!(!applied.iter().any(is_cause), "a copy has admitted what the controller refuses");
        items.extend(applied);
        Ok(report(items, Effect::Commit))
    }

    /// Returns `true` if everything new is admitted while deleted contracts are still there.
    fn fits_beside(&self, executor: &mut Executor<'_>) -> Result<bool, Box<Problem>> {
        let replaced = |order: &ContractRequest| {
            self.delete.iter().any(|id| Some(&*id.tenant) == order.tenant() && id.name == order.name())
        };
        if self.orders.iter().any(replaced) {
            return Ok(false);
        }
        Ok(!self.apply(executor, Effect::DryRun)?.iter().any(is_cause))
    }

    fn apply(&self, executor: &mut Executor<'_>, effect: Effect) -> Result<Vec<Applied>, Box<Problem>> {
        decide(executor, self.orders.clone(), Mode::AllOrNothing, effect, &self.role)
    }

    fn delete(&self, controller: &mut Controller, now: Timestamps, effect: Effect) -> Vec<Applied> {
        let ids = self.delete.iter().map(|id| (id.clone(), Precondition::None)).collect();
        let Ok(Reply::Each(applied)) = controller.handle(now, Command::Delete { ids }) else { return Vec::new() };
        applied.into_iter().map(|one| item(controller, one, effect, &self.role)).collect()
    }

    /// Deletes in a copy, and returns the decisions that would follow.
    fn try_in(&self, copy: &mut Controller, now: Timestamps, mode: Mode) -> Vec<Applied> {
        let mut items = self.delete(copy, now, Effect::DryRun);
        let orders = self.orders.iter().map(|order| (order.clone(), Precondition::None)).collect();
        let command = Command::Apply { orders, mode, effect: Effect::DryRun };
        if let Ok(Reply::Each(applied)) = copy.handle(now, command) {
            items.extend(applied.into_iter().map(|one| item(copy, one, Effect::DryRun, &self.role)));
        }
        items
    }
}
