//! `wayleave down` and `wayleave up`: what somebody has seen of links and nodes.

use std::io::Write;

use crate::client::{Names, did_you_mean};
use clap::{Args, ValueEnum};
use wayleave_client::Method;
use wayleave_protocol::network::{ElementState, StateChangeResult, UpDown};

use crate::client::{Target, encode, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out};

const DOWN: &str = "\
Examples:
  wayleave down link 'pod1-edge1->pod1-agg1' --reason 'fibre cut'
  wayleave down node pod1-agg1 --dry-run";

const UP: &str = "\
Example:
  wayleave up link 'pod1-edge1->pod1-agg1'";

/// Report a link or a node down: contracts go other ways, or are marked degraded
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(DOWN))]
pub(crate) struct DownArgs {
    #[command(flatten)]
    element: ElementArgs,
    /// Why, for people who ask later
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Report a link or a node up again: contracts come back
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(UP))]
pub(crate) struct UpArgs {
    #[command(flatten)]
    element: ElementArgs,
}

#[derive(Args, Clone, Debug)]
struct ElementArgs {
    /// Of which sort
    #[arg(value_enum, value_name = "WHAT")]
    kind: Kind,
    /// Which
    #[arg(value_name = "NAME")]
    name: String,
    /// Say what would come of it, and leave everything as it is
    #[arg(long)]
    dry_run: bool,
    /// How to print what comes of it
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Kind {
    /// Both directions of a cable, by the name of either
    Link,
    /// A host or a switch, with all its links
    Node,
}

/// Runs `down`.
pub(crate) fn down(args: &DownArgs) -> Result<Exit, Failure> {
    args.element.report(&ElementState { state: UpDown::Down, reason: args.reason.clone() })
}

/// Runs `up`.
pub(crate) fn up(args: &UpArgs) -> Result<Exit, Failure> {
    args.element.report(&ElementState { state: UpDown::Up, reason: None })
}

impl ElementArgs {
    fn report(&self, state: &ElementState) -> Result<Exit, Failure> {
        let service = self.target.service()?;
        let (list, what, known) = match self.kind {
            Kind::Link => ("/v1/links", "link", "/v1/links"),
            Kind::Node => ("/v1/nodes", "node", "/v1/hosts"),
        };
        let query = if self.dry_run { "?dryRun=true" } else { "" };
        let path = format!("{list}/{}/state{query}", encode(&self.name));
        let told = service.send::<StateChangeResult>(Method::Put, &path, state);
        let told = told.map_err(|trouble| did_you_mean(&service, trouble, what, &self.name, Names::OfAll(known)));
        let (_, came) = told?;
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
