//! `wayleave analyze`: bounds over a whole network, one analysis beside the other.

mod admitted;
mod print;
mod report;

use clap::{Args, ValueEnum};
use wayleave_calculus::network::{Multiplexing, Options, Packetizer, PortNetwork, Shaping};
use wayleave_explain::sentences;
use wayleave_formats::{Source, read_port_network};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::model_args::Switch;
use crate::session::SessionArgs;
use report::{Extra, Report};

const EXAMPLE: &str = "\
Examples:
  wayleave analyze network.json
  wayleave analyze network.json --analysis tfa,lp --shaping off -o json
  wayleave analyze -t fat-tree:k=4 -f contracts.yaml --flow ptp-7

NETWORK is an output-port network in Saihu's JSON: servers with service curves, and flows with arrival
curves and paths. With -t and -f instead, contracts are admitted as `wayleave plan` does, and every queue
that holds flows is a server with what the queues above it leave.";

/// Bound the delays of a whole network: total flow, separate flow, PMOO and linear programs side by side
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
#[command(mut_arg("topology", |topology| topology.required(false).default_value("").hide_default_value(true)))]
pub(crate) struct AnalyzeArgs {
    /// An output-port network in Saihu's JSON; - is stdin
    #[arg(value_name = "NETWORK", required_unless_present = "files", conflicts_with_all = ["files", "topology"])]
    file: Option<String>,
    /// Contracts instead: those that are admitted on --topology are analysed; several files are read in order
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", requires = "topology")]
    files: Vec<String>,
    /// Which analyses
    #[arg(long = "analysis", value_name = "LIST", value_enum, value_delimiter = ',', default_values_t = Analysis::ALL)]
    analyses: Vec<Analysis>,
    /// Only this flow or contract; can be given several times
    #[arg(long = "flow", value_name = "NAME")]
    flows: Vec<String>,
    /// Whether packets leave a server at once, not bit by bit [default: what the file says, or off]
    #[arg(long, value_enum, value_name = "SWITCH", conflicts_with = "files")]
    packetizer: Option<Switch>,
    /// In which order servers serve [default: what the file says, or fifo]
    #[arg(long, value_enum, value_name = "ORDER", conflicts_with = "files")]
    multiplexing: Option<Order>,
    /// How to print the bounds
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Every flow, not only the first 40
    #[arg(long)]
    all: bool,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    session: SessionArgs,
}

/// An analysis.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Analysis {
    /// Total flow analysis: the sum of bounds of all traffic at every server
    Tfa,
    /// Separate flow analysis: what servers leave for one flow, convolved along its path
    Sfa,
    /// Pay multiplexing only once: for any order of service
    Pmoo,
    /// A linear program for FIFO, with an exact certificate
    Lp,
}

impl Analysis {
    const ALL: [Self; 4] = [Self::Tfa, Self::Sfa, Self::Pmoo, Self::Lp];

    /// As it stands in JSON and, in capitals, in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tfa => "tfa",
            Self::Sfa => "sfa",
            Self::Pmoo => "pmoo",
            Self::Lp => "lp",
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Order {
    /// First come, first served
    Fifo,
    /// Any order
    Arbitrary,
}

#[derive(ValueEnum, Clone, Copy, Debug, Default)]
enum Format {
    /// Flows
    #[default]
    Table,
    /// Flows and servers
    Wide,
    /// For programs
    Json,
}

/// What is analysed.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) network: PortNetwork,
    pub(crate) options: Options,
    /// Of admitted contracts, by flow; `None` for a file.
    pub(crate) extras: Option<Vec<Extra>>,
}

/// Runs the command.
pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let inputs = args.file.iter().chain(&args.files);
    check_stdin(inputs.chain([&args.session.network.topology]).map(String::as_str))?;
    let mut subject = match &args.file {
        Some(file) => from_file(file)?,
        None => admitted::subject(&args.session, &args.files, args.progress)?,
    };
    args.set(&mut subject.options);
    let report = Report::of(&subject, &args.analyses, &args.chosen(&subject.network)?, args.all);
    match args.output {
        Format::Table => print::table(&subject, &report, false)?,
        Format::Wide => print::table(&subject, &report, true)?,
        Format::Json => print::json(&subject, &report)?,
    }
    Ok(Exit::Fine)
}

fn from_file(file: &str) -> Result<Subject, Failure> {
    let read = read_port_network(&Source::read(file)?)?;
    if read.network.flows().is_empty() {
        return Err(Failure::Located(format!("{file}: there are no flows in it: nothing can be late")));
    }
    Ok(Subject { name: read.name, network: read.network, options: read.options, extras: None })
}

impl AnalyzeArgs {
    fn set(&self, options: &mut Options) {
        match self.session.model.shaping {
            Some(Switch::On) => options.shaping = Shaping::On,
            Some(Switch::Off) => options.shaping = Shaping::Off,
            None => {}
        }
        match self.packetizer {
            Some(Switch::On) => options.packetizer = Packetizer::On,
            Some(Switch::Off) => options.packetizer = Packetizer::Off,
            None => {}
        }
        match self.multiplexing {
            Some(Order::Fifo) => options.multiplexing = Multiplexing::Fifo,
            Some(Order::Arbitrary) => options.multiplexing = Multiplexing::Arbitrary,
            None => {}
        }
    }

    /// The flows that are asked for; all of them if none is named.
    fn chosen(&self, network: &PortNetwork) -> Result<Vec<usize>, Failure> {
        let flows = network.flows();
        if self.flows.is_empty() {
            return Ok((0..flows.len()).collect());
        }
        let is_named = |flow: &str, name: &str| {
            flow.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(admitted::ROUTE))
        };
        let mut chosen = Vec::new();
        for name in &self.flows {
            let before = chosen.len();
            chosen.extend((0..flows.len()).filter(|&flow| is_named(&flows[flow].name, name)));
            if chosen.len() == before {
                let near = sentences::nearest(name, flows.iter().map(|flow| flow.name.as_str()));
                let near = near.map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
                let count = wayleave_explain::human::count(flows.len(), "flow");
                let message = format!("there is no flow \"{name}\" among the {count} that are analysed{near}");
                return Err(Failure::Usage(message));
            }
        }
        Ok(chosen)
    }
}
