//! `wayleave link` and `wayleave node`: failures of links and nodes as operators report them.

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};
use wayleave_client::Method;
use wayleave_protocol::network::{ElementState, StateChangeResult, UpDown};

use crate::client::{Names, Target, did_you_mean, encode, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out};

const LINK: &str = "\
Examples:
  wayleave link fail 'pod1-edge1->pod1-agg1' --reason 'fibre cut'
  wayleave link restore 'pod1-edge1->pod1-agg1'";

const NODE: &str = "\
Examples:
  wayleave node fail pod1-agg1 --dry-run
  wayleave node restore pod1-agg1";

/// Commands about a link: both directions of a cable, by the name of either.
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = LINK)]
pub(crate) enum LinkCommand {
    /// Mark a link as failed: contracts are rerouted or become degraded
    #[command(after_help = LINK, after_long_help = exit::after(LINK))]
    Fail(FailArgs),
    /// Mark a link as restored: degraded contracts are admitted again
    #[command(after_help = LINK, after_long_help = exit::after(LINK))]
    Restore(RestoreArgs),
}

/// Commands about a node: a host or a switch with all its links.
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = NODE)]
pub(crate) enum NodeCommand {
    /// Mark a host or a switch as failed: contracts are rerouted or become degraded
    #[command(after_help = NODE, after_long_help = exit::after(NODE))]
    Fail(FailArgs),
    /// Mark a host or a switch as restored: degraded contracts are admitted again
    #[command(after_help = NODE, after_long_help = exit::after(NODE))]
    Restore(RestoreArgs),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct FailArgs {
    /// Reason, which status and events show
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    element: ElementArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    element: ElementArgs,
}

/// Arguments of `down`, the old name of `link fail` and `node fail`.
#[derive(Args, Clone, Debug)]
pub(crate) struct OldFailArgs {
    #[arg(value_enum, value_name = "KIND")]
    kind: Kind,
    #[command(flatten)]
    fail: FailArgs,
}

/// Arguments of `up`, the old name of `link restore` and `node restore`.
#[derive(Args, Clone, Debug)]
pub(crate) struct OldRestoreArgs {
    #[arg(value_enum, value_name = "KIND")]
    kind: Kind,
    #[command(flatten)]
    restore: RestoreArgs,
}

#[derive(Args, Clone, Debug)]
struct ElementArgs {
    /// Name in the topology
    #[arg(value_name = "NAME")]
    name: String,
    /// Show the effect and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Kind {
    Link,
    Node,
}

/// Runs `link`.
pub(crate) fn link(command: &LinkCommand) -> Result<Exit, Failure> {
    match command {
        LinkCommand::Fail(args) => args.report(Kind::Link),
        LinkCommand::Restore(args) => args.report(Kind::Link),
    }
}

/// Runs `node`.
pub(crate) fn node(command: &NodeCommand) -> Result<Exit, Failure> {
    match command {
        NodeCommand::Fail(args) => args.report(Kind::Node),
        NodeCommand::Restore(args) => args.report(Kind::Node),
    }
}

/// Runs `down`.
pub(crate) fn old_fail(args: &OldFailArgs) -> Result<Exit, Failure> {
    args.fail.report(args.kind)
}

/// Runs `up`.
pub(crate) fn old_restore(args: &OldRestoreArgs) -> Result<Exit, Failure> {
    args.restore.report(args.kind)
}

impl FailArgs {
    fn report(&self, kind: Kind) -> Result<Exit, Failure> {
        self.element.report(kind, &ElementState { state: UpDown::Down, reason: self.reason.clone() })
    }
}

impl RestoreArgs {
    fn report(&self, kind: Kind) -> Result<Exit, Failure> {
        self.element.report(kind, &ElementState { state: UpDown::Up, reason: None })
    }
}

impl ElementArgs {
    fn report(&self, kind: Kind, state: &ElementState) -> Result<Exit, Failure> {
        let service = self.target.service()?;
        let (list, what, known) = match kind {
            Kind::Link => ("/v1/links", "link", "/v1/links"),
            Kind::Node => ("/v1/nodes", "node", "/v1/hosts"),
        };
        let query = if self.dry_run { "?dryRun=true" } else { "" };
        let path = format!("{list}/{}/state{query}", encode(&self.name));
        let response = service.send::<StateChangeResult>(Method::Put, &path, state);
        let response = response.map_err(|error| did_you_mean(&service, error, what, &self.name, Names::OfAll(known)));
        let (_, came) = response?;
        if self.output == OutputFormat::Json {
            show::json(&came)?;
            return Ok(Exit::Fine);
        }
        let mut out = out();
        let would = if self.dry_run { "would be " } else { "is " };
        writeln!(out, "{what} {} {would}{}", self.name, show::word(&state.state))?;
        show::changes::consequences(&mut out, &came)?;
        out.flush()?;
        Ok(Exit::Fine)
    }
}
