//! `/v1/apply`: a list of contracts, executed in steps, so that only the client that sent the list waits for all of
//! them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wayleave_contracts::ContractRequest;
use wayleave_controller::{Command, Effect, ItemResult, Mode, Precondition, Principal, Reply};
use wayleave_formats::{Addressed, Source, read_orders};
use wayleave_protocol::decision::{Applied, ApplyReport};
use wayleave_protocol::problem::{Code, Problem};

use crate::account::Account;
use crate::answer::{HttpReply, Outcome, input_errors, invalid, problem};
use crate::handlers::contracts::{StoredVms, item, owned, reaches};
use crate::http::call::AuthorizedRequest;
use crate::state::Shared;
use crate::trial::now;
use crate::work::{Executor, Step};

/// After this long a step ends; at least one contract is decided in each.
const STEP: Duration = Duration::from_millis(1);
/// An answer with a longer body is kept shortened for requests that are repeated.
const KEPT_BYTES: usize = 16 << 10;
/// Number of refusals in a shortened answer.
const KEPT_ITEMS: usize = 20;

pub(crate) async fn apply(shared: Arc<Shared>, call: AuthorizedRequest) -> Outcome {
    let effect = if call.is_dry_run() { Effect::DryRun } else { Effect::Commit };
    let repeat = if call.is_dry_run() { None } else { shared.repeat(&call)? };
    let mode = if call.query.flag("atomic") { Mode::AllOrNothing } else { Mode::Each };
    let call = Arc::new(call);
    let orders = shared.parse(&call, list).await?;
    if mode == Mode::Each && effect == Effect::Commit {
        let list = List { orders: orders.into_iter(), items: Vec::new(), role: call.role().clone() };
        return shared.submit_steps(&call, repeat, Box::new(|executor| list.step(executor))).await;
    }
    // Decided together, which nothing can come between.
    let account = Account::of(call.role());
    let weight = usize::try_from(account.weight()).unwrap_or(1);
    let (count, most) = (orders.len(), shared.limits.together.saturating_mul(weight));
    let is_long = count > most;
    // A long dry run of an operator delays no other client: it is made in a copy.
    if is_long && (effect == Effect::Commit || account != Account::Operators) {
        let detail = format!(
            "{count} contracts are too many for one uninterrupted decision (atomic, dryRun): at most {most} are admitted from {account}"
        );
        return Err(problem(Code::TooLarge, detail));
    }
    let role = call.role().clone();
    let work = move |executor: &mut Executor<'_>| together(executor, orders, mode, effect, &role);
    if is_long && effect == Effect::DryRun {
        let (metrics, view) = (shared.metrics.clone(), shared.view.clone());
        let question =
            move |controller: &mut _| work(&mut Executor { controller, now: now(), metrics: &metrics, view: &view });
        return shared.try_out(&call, question).await;
    }
    shared.submit_steps(&call, repeat, Box::new(|executor| Step::Done(work(executor)))).await
}

/// A list of which each contract counts for itself.
struct List {
    orders: std::vec::IntoIter<ContractRequest>,
    items: Vec<Applied>,
    /// Role of the client: a tenant gets no information about others.
    role: Principal,
}

impl List {
    fn step(mut self, executor: &mut Executor<'_>) -> Step {
        let start = Instant::now();
        for order in self.orders.by_ref() {
            match decide(executor, vec![order], Mode::Each, Effect::Commit, &self.role) {
                Ok(items) => self.items.extend(items),
                Err(problem) => return Step::Done(Err(problem)),
            }
            if start.elapsed() >= STEP {
                break;
            }
        }
        if self.orders.as_slice().is_empty() {
            return Step::Done(Ok(report(self.items, Effect::Commit)));
        }
        Step::More(Box::new(|executor| self.step(executor)))
    }
}

pub(super) fn decide(
    executor: &mut Executor<'_>,
    orders: Vec<ContractRequest>,
    mode: Mode,
    effect: Effect,
    role: &Principal,
) -> Result<Vec<Applied>, Box<Problem>> {
    let orders = orders.into_iter().map(|order| (order, Precondition::None)).collect();
    let Ok(Reply::Each(applied)) = executor.handle(Command::Apply { orders, mode, effect }) else {
        return Err(problem(Code::Internal, "no answer"));
    };
    let shown = |one: ItemResult| {
        let state = executor.contract(&one.id).map(|contract| contract.state());
        let item = item(executor.controller, one, effect, role);
        Applied { state: item.state.and(state), ..item }
    };
    Ok(applied.into_iter().map(shown).collect())
}

fn together(
    executor: &mut Executor<'_>,
    orders: Vec<ContractRequest>,
    mode: Mode,
    effect: Effect,
    role: &Principal,
) -> Outcome {
    let items = decide(executor, orders, mode, effect, role)?;
    if mode == Mode::AllOrNothing
        && let Some(first) = items.iter().find(|item| is_cause(item))
    {
        return Err(none_done(first, items.len()));
    }
    Ok(report(items, effect))
}

pub(super) fn report(items: Vec<Applied>, effect: Effect) -> HttpReply {
    let refused = items.iter().filter(|item| item.error.is_some()).count();
    let dry_run = effect == Effect::DryRun;
    let report = ApplyReport { dry_run, done: items.len() - refused, refused, items, omitted: 0 };
    let detail = format!("{} done, {} refused", report.done, report.refused);
    let answer = HttpReply { detail: Some(detail.into()), ..HttpReply::json(200, &report) };
    if answer.body.len() <= KEPT_BYTES {
        return answer;
    }
    let all = report.items.len();
    let items: Vec<Applied> = report.items.into_iter().filter(|item| item.error.is_some()).take(KEPT_ITEMS).collect();
    let short = ApplyReport { omitted: all - items.len(), items, ..report };
    HttpReply { shortened: Some(HttpReply::json(200, &short).body), ..answer }
}

/// The contracts of a document, all of them the sender's.
fn list(shared: &Shared, call: &AuthorizedRequest) -> Result<Vec<ContractRequest>, Box<Problem>> {
    let tenant = call.tenant();
    let places = StoredVms::of(shared, call);
    let source = Source::new("body", call.text()?);
    let given = Addressed { tenant: call.only_tenant(), name: None };
    let list = read_orders(&source, shared.network(), &places, given);
    let list = list.map_err(|errors| input_errors(&errors))?;
    let orders: Vec<ContractRequest> = list.into_orders().into_iter().map(|order| owned(order, tenant)).collect();
    if orders.is_empty() {
        return Err(invalid("spec.contracts", "the list is empty"));
    }
    orders.iter().try_for_each(|order| reaches(shared, call, order))?;
    Ok(orders)
}

/// Returns `true` if a contract is the reason that the others of its list were not executed.
pub(super) fn is_cause(item: &Applied) -> bool {
    item.error.as_ref().is_some_and(|error| error.code != Code::WithOthers)
}

pub(super) fn none_done(first: &Applied, count: usize) -> Box<Problem> {
    let mut problem = first.error.clone().unwrap_or_else(|| Problem::new(Code::Internal, ""));
    problem.detail =
        format!("none of the {count} contracts was changed, because {} was refused: {}", first.id, problem.detail);
    Box::new(problem)
}
