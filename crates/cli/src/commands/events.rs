//! `wayleave events`: past and current events.

use std::io::Write;

use clap::Args;
use wayleave_protocol::event::Event;
use wayleave_units::escaped;

use crate::client::show::short;
use crate::client::{Service, Target};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out};

const EXAMPLE: &str = "\
Examples:
  wayleave events
  wayleave events --follow
  wayleave events --follow --after 1200 -o json";

/// List or follow events
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct EventsArgs {
    /// Follow until Ctrl-C; resumes after a lost connection
    #[arg(short, long)]
    follow: bool,
    /// Only events after this number
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,
    /// Output format, one line each
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &EventsArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    if service.is_local() && args.follow {
        let text = "a ledger file that is not being served has no new events: omit --follow to list past events";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut last = args.after;
    for event in past(&service, args.after)? {
        last = Some(event.number);
        args.print(&event)?;
    }
    if args.follow {
        // Without an event so far, the stream begins with the first event.
        let mut printed = Ok(());
        service.watch(last, &mut |event| {
            printed = args.print(&event);
            printed.is_ok()
        })?;
        printed?;
    }
    Ok(Exit::Fine)
}

/// Returns the events that the server still stores.
pub(crate) fn past(service: &Service, after: Option<u64>) -> Result<Vec<Event>, Failure> {
    let mut events = Vec::new();
    let mut after = after.map(|number| number.to_string());
    loop {
        let from = after.as_deref().map_or_else(String::new, |after| format!("&after={after}"));
        let page: wayleave_protocol::List<Event> = service.get(&format!("/v1/events?limit=1000{from}"))?;
        events.extend(page.items);
        after = page.next;
        if after.is_none() {
            return Ok(events);
        }
    }
}

impl EventsArgs {
    fn print(&self, event: &Event) -> Result<(), wayleave::Error> {
        let mut out = out();
        match self.output {
            OutputFormat::Json => serde_json::to_writer(&mut out, event)?,
            OutputFormat::Table => write!(out, "{}", line(event))?,
        }
        writeln!(out)?;
        Ok(out.flush()?)
    }
}

/// An event in a line.
pub(crate) fn line(event: &Event) -> String {
    let Event { number, at, kind, object, detail, .. } = event;
    if kind == "reset" {
        return format!("{at:<30}          reset      events were missed: read the state again");
    }
    let detail = if detail.is_empty() { String::new() } else { format!("  {detail}") };
    escaped(&format!("{at:<30}  {number:>6}  {kind:<9}  {}{detail}", short(object))).into_owned()
}
