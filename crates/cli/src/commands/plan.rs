//! `wayleave plan`: what would be admitted, where, with which bound; what would move.

use clap::{Args, ValueEnum};

use crate::args::OutputFormat;
use crate::diagnostics::Diagnostics;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::{Lists, check_stdin, events};
use crate::model_args::Base;
use crate::output::json::Document;
use crate::output::out;
use crate::output::plan::{Summary, Writer};
use crate::output::table::RequestTable;
use crate::progress::Progress;
use crate::recheck::{self, recheck};
use crate::replay::{self, Hold, Replay};
use crate::session::{Session, SessionArgs};

const EXAMPLE: &str = "\
Examples:
  wayleave plan -t fat-tree:k=4 -f contracts.yaml
  wayleave plan -t network.yaml -f contracts.csv --reroute --recheck -o json
  wayleave requests -t fat-tree:k=4 --count 500 | wayleave plan -t fat-tree:k=4 -f -";

/// Say what would be admitted, where, with which bound, and what would move
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct PlanArgs {
    /// Contracts in YAML, JSON or CSV; several files are read in order, - is stdin
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS", required_unless_present = "events")]
    files: Vec<String>,
    /// Events instead: contracts that come, change and go at given times
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    events: Option<String>,
    /// What is kept of a released contract while its last packets may be in flight [default: bound, or none with
    /// --model published]
    #[arg(long, value_enum, value_name = "HOW LONG", requires = "events")]
    hold: Option<HoldName>,
    /// How to print the plan
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    /// Show every request in the table, not only the first 40 and the first 20 refusals
    #[arg(long)]
    all: bool,
    /// Derive every promise again with an independent calculator
    #[arg(long)]
    recheck: bool,
    /// Show progress even if the standard error is no terminal
    #[arg(long)]
    progress: bool,
    #[command(flatten)]
    session: SessionArgs,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum HoldName {
    /// For the bound of its route
    Bound,
    /// Not at all
    None,
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let inputs = args.files.iter().chain(&args.events).chain([&args.session.network.topology]);
    check_stdin(inputs.map(String::as_str))?;
    let mut session = Session::open(&args.session)?;
    args.check_recheck(&session)?;
    let mut diagnostics = Diagnostics::default();
    let summary = match &args.events {
        None => {
            let lists = Lists::read(&args.files, &session.network)?;
            let progress = Progress::new(lists.len(), args.progress);
            let mut writer = args.writer(&session)?;
            let summary = replay::lists(&mut session, &lists, &mut writer, progress, &mut diagnostics)?;
            writer.end(&session, &summary)?;
            summary
        }
        Some(file) => {
            let events = events(file, &session.network)?;
            let progress = Progress::new(events.events().len(), args.progress);
            let mut writer = args.writer(&session)?;
            let replay = Replay::new(&mut session, args.hold());
            let summary = replay.run(&events, &mut writer, progress, &mut diagnostics)?;
            writer.end(&session, &summary)?;
            summary
        }
    };
    diagnostics.print();
    Ok(args.exit(&session, &summary))
}

impl PlanArgs {
    fn writer(&self, session: &Session) -> Result<Writer, Failure> {
        Ok(match self.output {
            OutputFormat::Json => Writer::Json(Document::begin(out(), session, &self.session.scheme)?),
            OutputFormat::Table => Writer::Table(RequestTable::new(self.all, self.events.is_some())),
        })
    }

    /// Nothing is decided before it is said that nothing could be checked afterwards.
    fn check_recheck(&self, session: &Session) -> Result<(), Failure> {
        if !self.recheck || session.ledger().is_some() {
            return Ok(());
        }
        let name = session.scheme.name();
        Err(Failure::Usage(format!(
            "--recheck derives the bounds of queues again, and --scheme {name} reserves none: `wayleave verify` puts its \
             promises to the test, packet by packet"
        )))
    }

    fn hold(&self) -> Hold {
        match (self.hold, self.session.model.model) {
            (Some(HoldName::Bound), _) | (None, Base::Default) => Hold::Bound,
            (Some(HoldName::None), _) | (None, Base::Published) => Hold::Nothing,
        }
    }

    fn exit(&self, session: &Session, summary: &Summary) -> Exit {
        if self.recheck && recheck(&session.context()) == recheck::Verdict::Unsound {
            return Exit::Unsound;
        }
        if summary.refused > 0 { Exit::Refused } else { Exit::Fine }
    }
}
