//! `wayleave lab run`.

mod print;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use wayleave_contracts::{ContractRequest, DataPlane, sentences};
use wayleave_experiments::lab::LabController;
use wayleave_formats::{Addressed, Source, VmLocations, read_orders};
use wayleave_lab::run::{
    CutLink, DEFAULT_TENANT, FIRST_PORT, OfferedContract, Operator, RunCompletion, RunEvent, RunOptions, RunReport,
    SharedPromise, matched, run as run_contracts,
};
use wayleave_lab::{Lab, LabName, LabPlan, Labs, StopRequest};
use wayleave_protocol::decision::Applied;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::name::{USUAL, parse_name};
use super::planned::plan_lab;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;
use crate::model_args::ModelArgs;
use crate::output::OutputFormat;
use crate::scheme_args::SchemeArgs;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab up -f fat-tree:k=4
  sudo wayleave lab run -f contracts.yaml --reroutes 4 --cut --flood 9Mbit
  sudo wayleave lab down

Contracts without a match get a UDP port each, so that their packets can be distinguished. \
Members of bandwidth, objective and best-effort contracts send at the maximum rate, in full frames; the goodput of the second half of the run is compared with the minimum. \
In a lab without a controller, the scheme decides latency contracts before the run, and hosts enforce them.";

/// Admit contracts in a lab, send worst-case traffic, and measure every packet
///
/// Latency contracts send their bursts at the same instants, repeatedly. During the run, contracts can be rerouted,
/// and a cable can be cut. A packet that exceeds its bound is a violation, unless a CPU of this machine stalled for at
/// least the excess.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct RunArgs {
    /// Contracts in YAML, JSON or CSV; - is stdin
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    file: String,
    /// Name of the lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Duration of the traffic
    #[arg(long, value_name = "TIME", default_value = "10s")]
    lasts: Time,
    /// Interval between bursts; longer for token buckets that need more time to fill
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    period: Time,
    /// Number of reroutes during the run
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    reroutes: usize,
    /// Cut a cable at the end: the cable of this link [default: the one with the most contracts]
    #[arg(long, value_name = "LINK", num_args = 0..=1, default_missing_value = "")]
    cut: Option<String>,
    /// Best-effort traffic of every host at this rate
    #[arg(long, value_name = "RATE")]
    flood: Option<Rate>,
    /// Contract whose sender ignores its token bucket and sends at this rate
    #[arg(long, value_name = "CONTRACT=RATE", value_parser = parse_adversary)]
    adversary: Option<(String, Rate)>,
    /// Send the same traffic as best effort; contracts left by an earlier run are deleted first
    #[arg(long, conflicts_with_all = ["reroutes", "cut", "adversary"])]
    without_contracts: bool,
    /// Write every packet to this CSV file: contract, number, times, delay and bound
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    scheme: SchemeArgs,
    #[command(flatten)]
    model: ModelArgs,
}

fn parse_adversary(text: &str) -> Result<(String, Rate), String> {
    let (name, rate) = text.split_once('=').ok_or("expected a contract and a rate, such as backup=9Mbit")?;
    let id = if name.contains(':') { name.to_owned() } else { format!("{DEFAULT_TENANT}:{name}") };
    let rate = rate.parse::<Rate>().map_err(|error| error.to_string())?;
    Ok((id, rate))
}

/// The VMs of a lab, for the parser of contracts.
struct Ends<'a>(&'a LabPlan);

impl VmLocations for Ends<'_> {
    fn host_of(&self, tenant: Option<&str>, name: &str) -> Option<NodeId> {
        let id = format!("{}:{name}", tenant.unwrap_or(DEFAULT_TENANT));
        Some(self.0.endpoint(&id)?.host)
    }

    fn names(&self, tenant: Option<&str>) -> Vec<String> {
        let tenant = tenant.unwrap_or(DEFAULT_TENANT);
        let of_tenant = self.0.endpoints.iter().filter_map(|one| one.id.split_once(':')).filter(|one| one.0 == tenant);
        of_tenant.map(|(_, name)| name.to_owned()).collect()
    }
}

/// Runs the command.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let lab = Labs::default().stopping(StopRequest::of(cancel.flag())).open(&args.name)?;
    let _claim = lab.claim()?;
    let source = Source::read(&args.file)?;
    let list = read_orders(&source, lab.network(), &Ends(lab.plan()), Addressed::default())?;
    let (latency, shared): (Vec<ContractRequest>, Vec<ContractRequest>) =
        list.into_orders().into_iter().partition(|order| order.as_latency().is_some());
    let orders = latency.into_iter().zip(FIRST_PORT..).map(|(order, port)| matched(order, port));
    let orders = orders.collect::<Result<Vec<ContractRequest>, _>>()?;
    let promised: Vec<OfferedContract> =
        orders.iter().filter_map(|order| OfferedContract::of(lab.plan(), order)).collect();
    let (mut operator, refused) = args.admit(&lab, (&orders, &shared), &promised)?;
    let options = RunOptions {
        lasts: Duration::from_nanos(args.lasts.as_nanos()),
        period: args.period,
        reroutings: args.reroutes,
        cut: args.cut.as_ref().map(|link| if link.is_empty() { CutLink::Busiest } else { CutLink::Link(link.clone()) }),
        flood: args.flood,
        adversary: args.adversary.clone(),
        shared: shared.iter().map(|order| SharedPromise::of(lab.plan(), order)).collect(),
        is_plain: args.without_contracts,
    };
    let is_table = args.output == OutputFormat::Table;
    let mut report = |event: RunEvent<'_>| match event {
        RunEvent::Action(action) if is_table => crate::output::tell!("{}", print::action(action)),
        RunEvent::Action(_) => {}
        RunEvent::Waiting(sentence) => crate::output::tell!("{sentence}"),
    };
    let seen = run_contracts(&lab, &mut *operator, &promised, &options, &mut report)?;
    if let Some(file) = &args.samples {
        print::samples(file, &seen)?;
    }
    match args.output {
        OutputFormat::Json => print::json(&seen, &refused)?,
        OutputFormat::Table => {
            let mut out = crate::output::out();
            print::table(&mut out, &seen, &refused, &|program| lab.log(program))?;
            out.flush()?;
        }
    }
    Ok(exit_of(&seen, refused.len()))
}

/// Returns the exit code of a run. A violation that was measured counts more than an incomplete measurement.
fn exit_of(seen: &RunReport, refused: usize) -> Exit {
    let is_violated = seen.violations() > 0 || seen.lost() > 0 || seen.short() > 0;
    let is_incomplete = !seen.unknown().is_empty() || seen.unfinished() > 0 || !seen.exited.is_empty();
    match (&seen.end, refused) {
        // Traffic that ends early shows neither losses nor minima: only late packets count.
        (RunCompletion::Stopped, _) if seen.violations() == 0 => Exit::Stopped,
        _ if is_violated => Exit::Unsound,
        (RunCompletion::Stopped, _) => Exit::Stopped,
        (RunCompletion::Unobserved(_), _) => Exit::Internal,
        (RunCompletion::Complete, 1..) => Exit::Refused,
        (RunCompletion::Complete, 0) if is_incomplete => Exit::Incomplete,
        (RunCompletion::Complete, 0) => Exit::Fine,
    }
}

impl RunArgs {
    /// Admits the contracts of the run, and returns admitted and refused ones: with the lab's controller or, in a lab
    /// without one, with the scheme of the options.
    fn admit(
        &self,
        lab: &Lab,
        (orders, shared): (&[ContractRequest], &[ContractRequest]),
        promised: &[OfferedContract],
    ) -> Result<(Box<dyn Operator>, Vec<Applied>), Failure> {
        if lab.server().is_none() {
            let needs = [
                (self.reroutes > 0, "--reroutes"),
                (self.cut.is_some(), "--cut"),
                (!shared.is_empty(), "a contract of another kind than latency"),
            ];
            if let Some((_, what)) = needs.into_iter().find(|(is_asked, _)| *is_asked) {
                return Err(Failure::Usage(format!(
                    "{what} requires a controller, but this lab was set up with --no-controller"
                )));
            }
            let orders = if self.without_contracts { &[] } else { orders };
            print_left_out(orders);
            let (model, scheme) = (self.model.clone().keeping_order().model()?, self.scheme.options(self.model.model)?);
            let (planned, refused) = plan_lab(lab, (orders, promised), model, scheme)?;
            return Ok((Box::new(planned), refused));
        }
        if self.scheme.is_given() {
            let why = "the lab's controller decides; in a lab created with `lab up --no-controller`, `lab run` decides";
            return Err(Failure::Usage(format!("scheme options have no effect here: {why}")));
        }
        let controller = LabController::of(lab)?;
        controller.wait_for_agents()?;
        let mut refused = Vec::new();
        if !self.without_contracts {
            let all = [orders, shared].concat();
            let tenants = controller.create_tenants(&all)?;
            if !tenants.is_empty() {
                let names = tenants.join(", ");
                crate::output::tell!("tenants created in the lab, without quotas: {names}");
            }
            refused = controller.offer(&all)?;
        }
        Ok((Box::new(controller), refused))
    }
}

/// Prints a warning for each key of the contracts that hosts without a controller do not carry out.
fn print_left_out(orders: &[ContractRequest]) {
    let of = |order: &ContractRequest| DataPlane::Lab.not_carried_out(&order.contract, &|key| order.gives(key));
    let found = orders.iter().flat_map(|order| of(order).into_iter().map(move |what| (order.name(), what)));
    sentences(found).iter().for_each(|sentence| crate::output::tell!("warning: {sentence}"));
}
