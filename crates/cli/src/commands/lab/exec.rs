//! `wayleave lab exec`.

use std::process::Command;

use clap::Args;
use wayleave_dataplane::net::Namespace;
use wayleave_lab::{Lab, LabName, Labs};

use super::name::{USUAL, parse_name};
use crate::exit::{self, Exit};
use crate::failure::Failure;

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab exec h1 -- ping -c 3 10.0.0.2
  sudo wayleave lab exec acme:web -- sh
  sudo wayleave lab exec --node h1 -- tc -s qdisc show";

/// Run a command in the namespace of an endpoint, a switch or a host's data plane
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ExecArgs {
    /// Name of the lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Use the namespace in which the host forwards, not that of its own programs
    #[arg(long)]
    node: bool,
    /// Host, switch, or VM as TENANT:NAME
    #[arg(value_name = "WHERE")]
    place: String,
    /// Command with its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    command: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &ExecArgs) -> Result<Exit, Failure> {
    let lab = Labs::default().open(&args.name)?;
    let name = namespace(&lab, &args.place, args.node).ok_or_else(|| unknown(&args.name, &args.place))?;
    let internal = |error: &dyn std::fmt::Display| Failure::Internal(error.to_string());
    let Some((program, arguments)) = args.command.split_first() else { return Ok(Exit::Fine) };
    let namespace = Namespace::open(&name).map_err(|error| internal(&error))?;
    let status = namespace.run(|| Command::new(program).args(arguments).status()).map_err(|error| internal(&error))?;
    let status = status.map_err(|error| Failure::Usage(format!("cannot start {program}: {error}")))?;
    if status.success() {
        return Ok(Exit::Fine);
    }
    match status.code() {
        // As shells do: the exit code is that of the command.
        Some(code) => std::process::exit(code),
        None => Err(Failure::Internal(format!("{program} exited with {status}"))),
    }
}

/// Returns the error about a place that a lab does not have.
pub(super) fn unknown(lab: &LabName, place: &str) -> Failure {
    let hint = "`wayleave lab status -o json` lists them";
    Failure::Usage(format!("no host, switch or endpoint {place} in lab {lab}: {hint}"))
}

/// The network namespace of an endpoint or a node.
pub(super) fn namespace(lab: &Lab, place: &str, is_node: bool) -> Option<String> {
    let ids = [place.to_owned(), format!("host:{place}"), format!("default:{place}")];
    let endpoint = lab.plan().endpoints.iter().find(|endpoint| ids.contains(&endpoint.id));
    let endpoint = endpoint.filter(|_| !is_node).map(|endpoint| endpoint.inside.namespace.clone());
    let node = || lab.plan().nodes.iter().find(|node| node.ports.name == place).map(|node| node.namespace.clone());
    endpoint.or_else(node)
}
