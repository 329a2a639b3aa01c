//! `wayleave what-if`: what would break, move or be refused; nothing is changed by asking.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::specs::{Document, read as read_specs};
use clap::Args;
use wayleave::{Contracts, SavedPlan, Session, Watch};
use wayleave_client::Method;
use wayleave_contracts::{ContractKind, ContractRequest};
use wayleave_controller::{DEFAULT_TENANT, PlacedReservation, RecordChange, ReservationKind};
use wayleave_explain::human::count;
use wayleave_formats::{Addressed, Source, VmLocations, read_orders};
use wayleave_ledger::ReservedShare;
use wayleave_protocol::contract::ContractSpec;
use wayleave_protocol::decision::ApplyReport;
use wayleave_protocol::health::HealthPage;
use wayleave_protocol::tenant::{Tenant, TenantSpec};
use wayleave_protocol::what_if::{WhatIfQuery, WhatIfResult};
use wayleave_scheme_api::Admission as _;
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::{FlowId, NodeId, ShareId};
use wayleave_units::WallTime;

use crate::client::{Names, Service, Target, did_you_mean, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{OutputFormat, out};
use crate::progress::{Progress, waiting};

const EXAMPLE: &str = "\
Examples:
  wayleave what-if --fail pod1-agg1
  wayleave what-if --apply larger.yaml --drain h3
  wayleave what-if -f contracts.yaml -t fat-tree:k=4 --fail 'pod1-edge1->pod1-agg1'
  wayleave what-if -f contracts.yaml -t fat-tree:k=4 --plan plan.json --fail core1";

/// Predict the effect of failures, drains, and added or removed contracts
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct WhatIfArgs {
    /// Link or node that fails; link:NAME or node:NAME if both exist
    #[arg(long, value_name = "NAME")]
    fail: Vec<String>,
    /// Link or node that is restored
    #[arg(long, value_name = "NAME")]
    restore: Vec<String>,
    /// Contract that is deleted
    #[arg(long, value_name = "CONTRACT")]
    delete: Vec<String>,
    /// Contracts that are created or changed: YAML, JSON or CSV; - is stdin
    #[arg(long, value_name = "FILE")]
    apply: Vec<String>,
    /// Host whose VMs move to other hosts
    #[arg(long, value_name = "HOST")]
    drain: Vec<String>,
    /// Predict without a controller: these contracts, admitted in order on the topology of -t
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS")]
    files: Vec<String>,
    /// Plan of these contracts (`wayleave plan -o json`): checked, and not decided again
    #[arg(long, value_name = "PLAN", requires = "files")]
    plan: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &WhatIfArgs) -> Result<Exit, Failure> {
    check_stdin(args.files.iter().chain(&args.apply).chain(&args.plan).map(String::as_str))?;
    let (files, apply) = (sources(&args.files)?, sources(&args.apply)?);
    let service = match &args.plan {
        Some(plan) => args.planned(plan, &files, has_other_kinds(&files)?)?,
        None if args.files.is_empty() => args.target.service()?,
        None => args.target.imagined(has_other_kinds(&files)? || has_other_kinds(&apply)?)?,
    };
    if !files.is_empty() && args.plan.is_none() {
        declare(&service, &files, &apply)?;
        admit(&service, &files)?;
    }
    let query = args.query(&service, &apply)?;
    if query == WhatIfQuery::default() {
        return Err(Failure::Usage("no change given: use --fail, --restore, --apply, --delete or --drain".to_owned()));
    }
    let ask = || service.send(Method::Post, "/v1/what-if", &query);
    let (_, would): (_, WhatIfResult) = waiting(false, "predicting the effect", ask).map_err(|trouble| {
        let message = trouble.problem().map(|problem| problem.detail.clone()).unwrap_or_default();
        match query.fail.iter().chain(&query.restore).find(|name| message.contains(name.as_str())) {
            Some(name) => did_you_mean(&service, trouble, "link or node", name, Names::OfAll("/v1/links")),
            None => trouble.into(),
        }
    })?;
    match args.output {
        OutputFormat::Json => show::json(&would)?,
        OutputFormat::Table => {
            // A controller that is imagined for a prediction has no state before it.
            let has_present = args.files.is_empty();
            let before = has_present.then(|| service.get::<HealthPage>("/v1/health?limit=1")).transpose()?;
            let before = before.map(|health| health.levels);
            let mut out = out();
            show::changes::what_if(&mut out, &would, before.as_ref())?;
            out.flush()?;
        }
    }
    let breaks = !would.degraded.is_empty() || !would.refused.is_empty();
    Ok(if breaks { Exit::Refused } else { Exit::Fine })
}

impl WhatIfArgs {
    /// Returns a temporary controller that has admitted the contracts of a plan.
    fn planned(&self, plan: &str, files: &[Source], has_other_kinds: bool) -> Result<Service, Failure> {
        let source = Source::read(plan)?;
        let args = self.target.setup.session("what-if -f")?.for_kinds(has_other_kinds).like_plan(&source);
        let mut session = args.open_quietly()?;
        let network = session.to_network();
        let contracts = waiting(false, "reading contracts", || Contracts::parse_all_kinds(files, &network))?;
        let plan = waiting(false, &format!("reading {plan}"), || SavedPlan::read(&source, &session))?;
        let before = plan.restore(&mut session, &contracts, None, &mut Watch::progress(&mut Progress::new(false)))?;
        if before.refused > 0 {
            let (name, all) = (source.name(), count(contracts.len(), "contract"));
            crate::output::tell!("note: {} of {all} in {name} refused initially", before.refused);
        }
        waiting(false, "creating a controller from the plan", || {
            let records = records(&session, orders(files, &session)?);
            self.target.imagined_with(records, &args)
        })
    }

    fn query(&self, service: &Service, sources: &[Source]) -> Result<WhatIfQuery, Failure> {
        let bare = |names: &[String]| -> Vec<String> {
            let name = |name: &String| {
                let bare = name.strip_prefix("link:").or_else(|| name.strip_prefix("node:"));
                bare.unwrap_or(name).to_owned()
            };
            names.iter().map(name).collect()
        };
        let mut apply = Vec::new();
        for source in sources {
            apply.extend(read_specs(source)?);
        }
        Ok(WhatIfQuery {
            fail: bare(&self.fail),
            restore: bare(&self.restore),
            delete: self.delete.iter().map(|name| service.id(name)).collect(),
            apply,
            drain: self.drain.clone(),
        })
    }
}

/// As `plan`, an imagined controller has no tenants but those of the contracts, without quotas.
fn declare(service: &Service, files: &[Source], apply: &[Source]) -> Result<(), Failure> {
    let mut tenants = BTreeSet::new();
    for source in files.iter().chain(apply) {
        tenants.extend(read_specs(source)?.into_iter().filter_map(|spec| spec.tenant));
    }
    for tenant in tenants.iter().filter(|tenant| *tenant != DEFAULT_TENANT) {
        let path = format!("/v1/tenants/{tenant}");
        service.send::<Tenant>(Method::Put, &path, &TenantSpec::default())?;
    }
    Ok(())
}

/// Applies files to an imagined controller, one after the other.
fn admit(service: &Service, files: &[Source]) -> Result<(), Failure> {
    for source in files {
        let file = source.name();
        let document = Document::of(source)?;
        let apply = || service.send_text::<ApplyReport>(Method::Post, "/v1/apply", document.text());
        let report = waiting(false, &format!("deciding the contracts of {file}"), apply);
        let (_, report) = report.map_err(|error| document.locate(error))?;
        if report.refused > 0 {
            let all = count(report.items.len(), "contract");
            crate::output::tell!(
                "note: {} of {all} in {file} refused from the start: see `wayleave plan`",
                report.refused
            );
        }
    }
    Ok(())
}

/// Names of hosts are all there are.
struct NoVms;

impl VmLocations for NoVms {
    fn host_of(&self, _: Option<&str>, _: &str) -> Option<NodeId> {
        None
    }
}

fn sources(files: &[String]) -> Result<Vec<Source>, Failure> {
    files.iter().map(|file| Source::read(file).map_err(|errors| wayleave::Error::from(errors).into())).collect()
}

/// Returns `true` if one of them has a contract of another kind than latency.
fn has_other_kinds(sources: &[Source]) -> Result<bool, Failure> {
    let mut has = false;
    for source in sources {
        let is_other =
            |spec: &ContractSpec| spec.bandwidth.is_some() || spec.objective.is_some() || spec.best_effort.is_some();
        has |= read_specs(source)?.iter().any(is_other);
    }
    Ok(has)
}

/// The orders of files. There are no VMs.
fn orders(files: &[Source], session: &Session) -> Result<Vec<ContractRequest>, Failure> {
    let mut orders = Vec::new();
    for source in files {
        let list = read_orders(source, session.network(), &NoVms, Addressed::default());
        orders.extend(list.map_err(wayleave::Error::from)?.into_orders());
    }
    Ok(orders)
}

/// Returns the admitted contracts of a session, as records of a controller.
fn records(session: &Session, orders: Vec<ContractRequest>) -> Vec<RecordChange> {
    let admitted = session.admitted().filter_map(|flows| flows.first().copied());
    let flows: HashMap<&str, FlowId> = admitted.map(|flow| (session.name_of(flow), flow)).collect();
    let shares = session.ledger().into_iter().flat_map(|ledger| ledger.shares());
    let shares: HashMap<&str, (ShareId, &ReservedShare)> =
        shares.map(|(id, share)| (session.name_of_share(id), (id, share))).collect();
    let placed = orders.into_iter().filter_map(|mut order| {
        order.or_tenant(DEFAULT_TENANT);
        let holds = match order.kind() {
            ContractKind::Latency => {
                let flow = *flows.get(order.name())?;
                let (reservations, bound) = (session.reservations(flow), session.scheme().promised(flow)?);
                ReservationKind::Routes { reservations, bound }
            }
            ContractKind::BestEffort => ReservationKind::Share { share: None, certainty: None, within: None },
            ContractKind::Bandwidth | ContractKind::Objective => {
                let &(id, share) = shares.get(order.name())?;
                let (certainty, within) = (session.scheme().certainty(id), session.scheme().share_bound(id));
                ReservationKind::Share { share: Some(share.clone()), certainty, within }
            }
        };
        Some(PlacedReservation { order, holds })
    });
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    wayleave_controller::records(session.network(), now, placed)
}
