//! `wayleave rollback`: contracts become what they were at an earlier event or time, all of them or none.

use std::time::SystemTime;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use wayleave_client::Method;
use wayleave_contracts::LabelSelector;
use wayleave_protocol::contract::{Contract, ContractSpec};
use wayleave_protocol::decision::{Applied, ApplyReport, BatchSpec, Outcome};
use wayleave_protocol::timeline::{PastContract, PastContracts, UnknownPast};
use wayleave_units::WallTime;

use super::apply::changes::between;
use super::apply::contracts::{current, terms};
use super::apply::item::Item;
use super::apply::report::ApplySummary;
use super::confirm::Confirm;
use crate::client::{Service, Target, encode, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, tell};

const EXAMPLE: &str = "\
Examples:
  wayleave events                                       (numbers of events, with times)
  wayleave rollback --to 118 --dry-run
  wayleave rollback --to 2026-11-27T08:00:00Z --tenant acme -l app=web

Contracts created since then are deleted, deleted contracts are created again, and changed contracts get their previous terms: kind, members, rates, times, labels, priority and match. Routes are computed again. Tenants, VMs, policies and the state of links and nodes do not change. The history of a tenant is bounded in bytes and to 30 days (docs/operate/controller.md).";

/// Restore contracts as of an earlier event or time
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct RollbackArgs {
    /// Number of an event, after which contracts had the state to restore, or a time (RFC 3339)
    #[arg(long, value_name = "EVENT|TIME")]
    to: String,
    /// Only contracts with all of these labels, now or then: key=value,...
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<LabelSelector>,
    /// Show what would be deleted, created or changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    confirm: Confirm,
    /// Show all contracts, not only the first 40 and the first 20 refusals
    #[arg(long)]
    all: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Result as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rollback<'a> {
    /// The time that contracts are brought back to.
    at: &'a str,
    /// Tenants of which nothing is changed, since their contracts of then are not known.
    unknown: &'a [UnknownPast],
    /// Contracts that have ended by their own terms since.
    ended: &'a [String],
    #[serde(flatten)]
    summary: &'a ApplySummary,
}

/// Changes that bring contracts back.
#[derive(Default)]
struct Steps {
    batch: BatchSpec,
    /// Contracts of the batch, as they are now.
    current: Vec<Contract>,
    ended: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &RollbackArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    let tenant = service.tenant().map(|tenant| format!("?tenant={}", encode(tenant))).unwrap_or_default();
    let past: PastContracts = service.get(&format!("/v1/past/{}{tenant}", encode(&args.to))).map_err(Failure::from)?;
    let steps = Steps::plan(&service, &past, args.selector.as_ref())?;
    for UnknownPast { tenant, since } in &past.unknown {
        let since = since.as_ref().map_or_else(String::new, |since| format!(", only since {since}"));
        tell!("note: contracts of tenant {tenant} are not changed: their state at that time is unknown{since}");
    }
    for id in &steps.ended {
        tell!("note: {id} is skipped: it has expired since then");
    }
    let show = |summary: &ApplySummary| -> Result<Exit, Failure> {
        match args.output {
            OutputFormat::Json => {
                show::json(&Rollback { at: &past.at, unknown: &past.unknown, ended: &steps.ended, summary })?;
            }
            OutputFormat::Table => summary.print_table(args.all)?,
        }
        Ok(if past.unknown.is_empty() || summary.exit() != Exit::Fine { summary.exit() } else { Exit::Incomplete })
    };
    if steps.is_empty() {
        return show(&ApplySummary::new(args.dry_run, Vec::new(), Vec::new()));
    }
    let preview = ApplySummary::new(true, steps.send(&service, true)?, Vec::new());
    // Refused contracts are listed by name; the rollback as a whole would be refused.
    if args.dry_run || preview.exit() != Exit::Fine {
        steps.explain_held(&preview);
        return show(&preview);
    }
    args.confirm.question_after(
        || if args.output == OutputFormat::Table { preview.print_table(args.all) } else { Ok(()) },
        &format!("Roll these contracts back to {}?", past.at),
    )?;
    show(&ApplySummary::new(false, steps.send(&service, false)?, Vec::new()))
}

impl Steps {
    /// Compares the past state with the current state.
    fn plan(service: &Service, past: &PastContracts, selector: Option<&LabelSelector>) -> Result<Self, Failure> {
        let ids: Vec<&str> = past.contracts.iter().map(|contract| contract.id.as_str()).collect();
        let mut steps = Self { current: current(service, &ids)?, ..Self::default() };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        for PastContract { id, spec } in &past.contracts {
            let is = steps.current.iter().find(|contract| contract.id == *id).map(|contract| &contract.spec);
            let is_chosen = |spec: &ContractSpec| selector.is_none_or(|selector| selector.chooses(&spec.labels));
            if is == spec.as_ref() || ![is, spec.as_ref()].into_iter().flatten().any(is_chosen) {
                continue;
            }
            if spec.as_ref().is_some_and(|spec| has_ended(spec, now)) {
                steps.ended.push(id.clone());
                continue;
            }
            let is_replaced = is.is_some_and(|is| spec.as_ref().is_none_or(|was| !can_change_to(is, was)));
            steps.batch.delete.extend(is_replaced.then(|| id.clone()));
            steps.batch.apply.extend(spec.clone());
        }
        Ok(steps)
    }

    /// Explains that a refused contract may need capacity that is not free at once.
    fn explain_held(&self, preview: &ApplySummary) {
        let holds = |id: &&String| {
            let is = self.current.iter().find(|contract| contract.id == **id);
            is.is_some_and(|contract| contract.spec.best_effort.is_none())
        };
        let held: Vec<&str> = self.batch.delete.iter().filter(holds).map(String::as_str).collect();
        if preview.exit() == Exit::Refused && !held.is_empty() {
            tell!(
                "note: the reservation of {} is held until its last packets have left the network. If a refused contract needs it, delete first (wayleave delete contract {}), then roll back",
                held.join(", "),
                held.join(" ")
            );
        }
    }

    fn is_empty(&self) -> bool {
        self.batch.delete.is_empty() && self.batch.apply.is_empty()
    }

    /// Has it done, or tried. A contract that is deleted and created again is one item.
    fn send(&self, service: &Service, dry_run: bool) -> Result<Vec<Item>, Failure> {
        let path = if dry_run { "/v1/batch?dryRun=true" } else { "/v1/batch" };
        let (_, report) = service.send::<ApplyReport>(Method::Post, path, &self.batch).map_err(Failure::from)?;
        let of = |spec: &&ContractSpec, id: &str| {
            let own = [spec.tenant.as_deref(), spec.name.as_deref()].map(Option::unwrap_or_default);
            own.join(":") == id
        };
        let items = report.items.into_iter().filter_map(|mut applied: Applied| {
            let spec = self.batch.apply.iter().find(|spec| of(spec, &applied.id));
            if applied.outcome == Outcome::Deleted && spec.is_some() {
                return None;
            }
            let is = self.current.iter().find(|contract| contract.id == applied.id);
            if applied.outcome == Outcome::Created && is.is_some() {
                applied.outcome = Outcome::Changed;
            }
            let (before, after) = (is.map(|contract| terms(&contract.spec)), spec.map(terms));
            let none = || Value::Object(Map::new());
            let changes = between(before.as_ref(), &after.unwrap_or_else(none));
            Some(Item { kind: "contract", applied, changes })
        });
        Ok(items.collect())
    }
}

fn has_ended(spec: &ContractSpec, now: WallTime) -> bool {
    let ends = spec.ends.as_ref().and_then(|ends| ends.parse::<WallTime>().ok());
    ends.is_some_and(|ends| ends <= now)
}

/// Returns `true` if a contract can get these terms without being deleted: it stays of its kind, and a latency contract between its ends.
fn can_change_to(is: &ContractSpec, was: &ContractSpec) -> bool {
    let kind = |spec: &ContractSpec| (spec.bandwidth.is_some(), spec.objective.is_some(), spec.best_effort.is_some());
    let is_latency = kind(is) == (false, false, false);
    kind(is) == kind(was) && (!is_latency || (&is.from, &is.to) == (&was.from, &was.to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> ContractSpec {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn contracts_keep_their_kind_and_latency_contracts_their_endpoints() {
        let latency = spec(r#"{"from":"h1","to":"h2","rate":"1Mbit","burst":"1kB","deadline":"1ms"}"#);
        let elsewhere = spec(r#"{"from":"h1","to":"h3","rate":"1Mbit","burst":"1kB","deadline":"1ms"}"#);
        let faster = ContractSpec { rate: Some("2Mbit".to_owned()), ..latency.clone() };
        let hose = spec(r#"{"bandwidth":{"hose":["h1","h2"],"min":"1Mbit"}}"#);
        let other_hose = spec(r#"{"bandwidth":{"hose":["h1","h3"],"min":"1Mbit"}}"#);
        let objective = spec(r#"{"objective":{"goal":"latency","members":["h1","h2"],"weight":"1Mbit"}}"#);
        let best_effort = spec(r#"{"bestEffort":{"members":["h1","h2"]}}"#);
        assert!(can_change_to(&latency, &faster) && can_change_to(&hose, &other_hose));
        assert!(!can_change_to(&latency, &elsewhere));
        let kinds = [latency, hose, objective, best_effort];
        for (at, is) in kinds.iter().enumerate() {
            for (other, was) in kinds.iter().enumerate() {
                assert_eq!(can_change_to(is, was), at == other, "{at} {other}");
            }
        }
    }

    #[test]
    fn a_contract_has_ended_at_its_end_time() {
        let end: WallTime = "2026-01-01T00:00:00Z".parse().unwrap();
        let ends = spec(r#"{"ends":"2026-01-01T00:00:00Z"}"#);
        assert!(has_ended(&ends, end));
        assert!(!has_ended(&ends, WallTime::from_nanos(end.as_nanos() - 1)));
        assert!(!has_ended(&ContractSpec::default(), end));
    }
}
