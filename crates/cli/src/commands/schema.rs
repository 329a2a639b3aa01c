//! `wayleave schema`: the JSON Schemas of the files, for editors and for checks.

use std::io::Write;

use clap::{Args, ValueEnum};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Example:
  wayleave schema contracts > contracts.schema.json";

/// Print the JSON Schema of a kind of file
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct SchemaArgs {
    /// Kind of file
    #[arg(value_enum)]
    kind: KindName,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum KindName {
    Topology,
    Contracts,
    Events,
    Scenario,
    Tenants,
    Agent,
    Policy,
}

/// Runs the command.
pub(crate) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    let scenario;
    let text = match args.kind {
        KindName::Topology => include_str!("../../../../schemas/topology.schema.json"),
        KindName::Contracts => include_str!("../../../../schemas/contracts.schema.json"),
        KindName::Events => include_str!("../../../../schemas/events.schema.json"),
        KindName::Scenario => {
            scenario = wayleave_formats::scenario_schema();
            &scenario
        }
        KindName::Tenants => include_str!("../../../../schemas/tenants.schema.json"),
        KindName::Agent => include_str!("../../../../schemas/agent.schema.json"),
        KindName::Policy => include_str!("../../../../schemas/policy.schema.json"),
    };
    let mut out = out();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Fine)
}
