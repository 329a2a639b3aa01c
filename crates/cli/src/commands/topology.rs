//! `wayleave topology`: inspection of networks before contracts are placed on them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use wayleave::{BUILDERS, COMMON_KEYS};
use wayleave_explain::table::write_table;
use wayleave_formats::{GraphFormat, write_graph, write_topology};
use wayleave_topology::builders::testbeds;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::import_args::ImportArgs;
use crate::inputs;
use crate::output::{layout, out, plain_table};

const EXAMPLE: &str = "\
Examples:
  wayleave topology list
  wayleave topology show fat-tree:k=4,queues=8
  wayleave topology show leaf-spine:leaves=4,spines=2,uplinkRate=10Gbit -o yaml > network.yaml
  wayleave topology validate network.yaml
  wayleave topology convert plant.clab.yml -o plant.yaml
  wayleave topology convert Abilene.gml --default-rate 10Gbit --delay-from-coordinates -o abilene.yaml
  wayleave topology convert network.yaml --to node-link -o network.json";

/// Show, validate and convert topologies, and list the builders
#[derive(Subcommand, Clone, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) enum TopologyCommand {
    Show(ShowArgs),
    Validate(ValidateArgs),
    Convert(ConvertArgs),
    /// List the builders and the testbeds of publications
    List,
}

/// Show the nodes and links of a network
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  wayleave topology show testbed:chameleon-testbed")]
pub(crate) struct ShowArgs {
    /// Topology file, or a builder such as fat-tree:k=4,queues=8; - is stdin
    topology: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: TopologyFormat,
    #[command(flatten)]
    import: ImportArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum TopologyFormat {
    /// Human-readable table
    #[default]
    Table,
    /// JSON
    Json,
    /// Topology file with every node and link
    Yaml,
}

/// Validate topology files, and report errors with their lines
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  wayleave topology validate network.yaml")]
pub(crate) struct ValidateArgs {
    /// Topology files or builders; - is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    import: ImportArgs,
}

const CONVERT_EXAMPLES: &str = "\
Examples:
  wayleave topology convert plant.clab.yml -o plant.yaml
  wayleave topology convert Abilene.gml --default-rate 10Gbit --delay-from-coordinates -o abilene.yaml
  wayleave topology convert network.yaml --to graphml > network.graphml";

/// Write a network in another format
///
/// Reads topologies of Wayleave, containerlab files, NetworkX node-link JSON, lists of links in JSON, GML, GraphML,
/// and builders.
#[derive(Args, Clone, Debug)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(crate) struct ConvertArgs {
    /// Topology file, or a builder; - is stdin
    #[arg(value_name = "FILE|BUILDER")]
    topology: String,
    /// Output file [default: standard output]
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Format [default: by the ending of FILE (.json, .gml, .graphml), otherwise wayleave]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<NetworkFormat>,
    #[command(flatten)]
    import: ImportArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum NetworkFormat {
    /// Topology file with every node and link
    Wayleave,
    /// JSON of NetworkX
    NodeLink,
    /// GML, read by NetworkX, Gephi, igraph
    Gml,
    /// GraphML, read by NetworkX, yEd, Gephi, igraph
    #[value(name = "graphml")]
    GraphMl,
}

impl NetworkFormat {
    fn of_ending(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Self::NodeLink,
            Some("gml") => Self::Gml,
            Some("graphml") => Self::GraphMl,
            _ => Self::Wayleave,
        }
    }
}

/// Runs the command.
pub(crate) fn run(command: &TopologyCommand) -> Result<Exit, Failure> {
    match command {
        TopologyCommand::Show(args) => show(args),
        TopologyCommand::Validate(args) => validate(args),
        TopologyCommand::Convert(args) => convert(args),
        TopologyCommand::List => list(),
    }
}

fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let network = args.import.network(&args.topology)?;
    let mut out = out();
    match args.output {
        TopologyFormat::Table => network.write_text(&mut out, layout())?,
        TopologyFormat::Json => network.write_json(&mut out)?,
        TopologyFormat::Yaml => out.write_all(write_topology(&network.graph, &network.name).as_bytes())?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// Validates every file, regardless of errors in the others.
fn validate(args: &ValidateArgs) -> Result<Exit, Failure> {
    inputs::check_stdin(args.files.iter().map(String::as_str))?;
    let mut exit = Exit::Fine;
    let mut out = out();
    for file in &args.files {
        match args.import.network(file) {
            Ok(network) => writeln!(out, "ok: {file} is {}", network.summary())?,
            Err(failure) => {
                out.flush()?;
                crate::output::tell!("{failure}");
                exit = failure.exit();
            }
        }
    }
    out.flush()?;
    Ok(exit)
}

fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    let network = args.import.network(&args.topology)?;
    let by_ending = || args.out.as_deref().map_or(NetworkFormat::Wayleave, NetworkFormat::of_ending);
    let graph = match args.to.unwrap_or_else(by_ending) {
        NetworkFormat::Wayleave => None,
        NetworkFormat::NodeLink => Some(GraphFormat::NodeLink),
        NetworkFormat::Gml => Some(GraphFormat::Gml),
        NetworkFormat::GraphMl => Some(GraphFormat::GraphMl),
    };
    let (text, left_out) = match graph {
        None => (write_topology(&network.graph, &network.name), Vec::new()),
        Some(format) => write_graph(&network.graph, &network.name, format),
    };
    left_out.iter().for_each(|remark| crate::output::tell!("{remark}"));
    match &args.out {
        None => {
            let mut out = out();
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
        Some(path) => {
            let written = std::fs::write(path, text);
            written.map_err(|error| Failure::Internal(format!("cannot write {}: {error}", path.display())))?;
            crate::output::tell!("{}: written to {}", network.summary(), path.display());
        }
    }
    Ok(Exit::Fine)
}

fn list() -> Result<Exit, Failure> {
    let mut out = out();
    let mut builders = plain_table(&["builder", "topology and parameters"]);
    for builder in BUILDERS {
        builders.add_row([builder.name.to_owned(), format!("{}\n{}", builder.what, builder.keys)]);
    }
    builders.add_row(["each of them".to_owned(), COMMON_KEYS.to_owned()]);
    write_table(&mut out, &mut builders)?;
    writeln!(out, "\n  as in fat-tree:k=4,queues=4,budgets=100us+1ms+6ms\n")?;
    let mut all = plain_table(&["testbed", "what it is"]);
    for (name, what) in testbeds::ALL {
        all.add_row([format!("testbed:{name}"), (*what).to_owned()]);
    }
    write_table(&mut out, &mut all)?;
    out.flush()?;
    Ok(Exit::Fine)
}
