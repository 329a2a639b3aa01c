//! `wayleave analyze`: bounds over a whole network, one analysis beside the other.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use wayleave::analyze::{AnalysisSubject, Report};
use wayleave::{Contracts, ProgressStep, Watch};
use wayleave_calculus::network::{LineShaping, Multiplexing, Options, Packetizer};
use wayleave_explain::human::count;
use wayleave_formats::{PhysicalNetwork, Source, write_physical_network, write_port_network};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::interrupt;
use crate::model_args::Switch;
use crate::output::{layout, out};
use crate::progress::Progress;
use crate::session::SessionArgs;

const EXAMPLE: &str = "\
Examples:
  wayleave analyze network.json
  wayleave analyze network.json --analysis tfa,lp --shaping off -o json
  wayleave analyze -t fat-tree:k=4 -f contracts.yaml --flow ptp-7

NETWORK is an output-port network in Saihu's JSON: servers with service curves, and flows with arrival \
curves and paths; or a physical network in its XML. With -t and -f instead, contracts are admitted as `wayleave plan` does, and every queue \
that holds flows is a server with what the queues above it leave.";

/// Compare delay analyses of a network: TFA, SFA, PMOO and linear programs
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
#[command(mut_arg("topology", |topology| topology.required(false).default_value("").hide_default_value(true)))]
pub(crate) struct AnalyzeArgs {
    /// Output-port network in Saihu's JSON, or a physical one in its XML; - is stdin
    #[arg(value_name = "NETWORK", required_unless_present = "files", conflicts_with_all = ["files", "topology"])]
    file: Option<String>,
    /// Analyse contracts that are admitted on --topology; several files in order
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", requires = "topology")]
    files: Vec<String>,
    /// Analyses
    #[arg(long = "analysis", value_name = "LIST", value_enum, value_delimiter = ',', default_values_t = Analysis::ALL)]
    analyses: Vec<Analysis>,
    /// Only this flow or contract; may be repeated
    #[arg(long = "flow", value_name = "NAME")]
    flows: Vec<String>,
    /// Packetizer behind servers [default: that of the file, or off]
    #[arg(long, value_enum, value_name = "SWITCH", conflicts_with = "files")]
    packetizer: Option<Switch>,
    /// Service order of servers [default: that of the file, or fifo]
    #[arg(long, value_enum, value_name = "ORDER", conflicts_with = "files")]
    multiplexing: Option<Order>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Show all flows, not only the first 40
    #[arg(long)]
    all: bool,
    /// Write the analysed network in Saihu's JSON, or XML if FILE ends with .xml
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Show progress even if standard error is not a terminal
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

    fn analysis(self) -> wayleave::analyze::Analysis {
        match self {
            Self::Tfa => wayleave::analyze::Analysis::Tfa,
            Self::Sfa => wayleave::analyze::Analysis::Sfa,
            Self::Pmoo => wayleave::analyze::Analysis::Pmoo,
            Self::Lp => wayleave::analyze::Analysis::Lp,
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
    /// JSON
    Json,
}

/// Runs the command.
pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    interrupt::end_without_results()?;
    let inputs = args.file.iter().chain(&args.files);
    check_stdin(inputs.chain([&args.session.network.topology]).map(String::as_str))?;
    let mut subject = match &args.file {
        Some(file) => AnalysisSubject::parse(&Source::read(file)?, file)?,
        None => args.admitted()?,
    };
    subject.remarks().iter().for_each(|remark| crate::output::tell!("{remark}"));
    args.set(subject.options_mut());
    if let Some(path) = &args.export {
        let is_xml = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml"));
        let text = if is_xml {
            let PhysicalNetwork { text, loosened } =
                write_physical_network(subject.name(), subject.network(), subject.options());
            if loosened > 0 {
                crate::output::tell!(
                    "XML has one piece for a curve and one path for a flow; written with less: {loosened}, so bounds of the file can be larger"
                );
            }
            text
        } else {
            write_port_network(subject.name(), subject.network(), subject.options())
        };
        let written = std::fs::write(path, text);
        written.map_err(|error| Failure::Internal(format!("cannot write {}: {error}", path.display())))?;
    }
    let analyses: Vec<_> = args.analyses.iter().copied().map(Analysis::analysis).collect();
    let flows = subject.flows(&args.flows)?;
    let report =
        Report::of(&subject, &analyses, &flows, args.all, &mut Watch::progress(&mut Progress::new(args.progress)))?;
    interrupt::results_begin();
    let mut out = out();
    match args.output {
        Format::Table => subject.write_text(&report, &mut out, layout(), false)?,
        Format::Wide => subject.write_text(&report, &mut out, layout(), true)?,
        Format::Json => subject.write_json(&report, &mut out)?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

impl AnalyzeArgs {
    /// Returns the admitted contracts as the subject.
    fn admitted(&self) -> Result<AnalysisSubject, Failure> {
        let mut session = self.session.open()?;
        let contracts = Contracts::read(&self.files, &session.to_network())?;
        let (mut refused, total) = (0, contracts.len() as u64);
        let mut progress = Progress::new(self.progress);
        for (done, (_, contract)) in (1..).zip(contracts.iter()) {
            refused += usize::from(session.admit(contract).decision.is_err());
            wayleave::Progress::step(&mut progress, ProgressStep::Items { done, total });
        }
        drop(progress);
        if refused > 0 {
            let of = count(contracts.len(), "contract");
            crate::output::tell!(
                "refused of {of}: {refused} (see `wayleave plan`); the admitted contracts are analysed"
            );
        }
        Ok(AnalysisSubject::admitted(&session)?)
    }

    fn set(&self, options: &mut Options) {
        match self.session.model.shaping {
            Some(Switch::On) => options.shaping = LineShaping::On,
            Some(Switch::Off) => options.shaping = LineShaping::Off,
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
}
