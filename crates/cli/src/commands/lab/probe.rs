//! `wayleave lab probe`.

use std::io::Write;

use clap::Args;
use serde_json::json;
use wayleave_explain::table::write_table;
use wayleave_lab::{LabName, Labs, ProbeResult, ProbeSpec, StopRequest, probe};
use wayleave_units::Time;

use super::name::{USUAL, parse_name};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{OutputFormat, out, plain_table};

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab probe h1 h9
  sudo wayleave lab probe acme:web acme:db --port 20000

Probes belong to the contract whose match they meet: select it with --port and --from-port. Others are best effort. The exit code is 4 if a probe was \
lost.";

/// Send probes between two endpoints of a lab, and show where they were seen or lost
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ProbeArgs {
    /// Name of the lab
    #[arg(long, default_value = USUAL, value_parser = parse_name)]
    name: LabName,
    /// Sender: a host, or a VM as TENANT:NAME
    #[arg(value_name = "FROM")]
    from: String,
    /// Receiver
    #[arg(value_name = "TO")]
    to: String,
    /// Receiver's UDP port
    #[arg(long, value_name = "PORT", default_value_t = 7)]
    port: u16,
    /// Sender's UDP port
    #[arg(long, value_name = "PORT")]
    from_port: Option<u16>,
    /// Number of probes
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: u32,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

/// Runs the command.
pub(crate) fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let cancel = interrupt::listen()?;
    let lab = Labs::default().stopping(StopRequest::of(cancel.flag())).open(&args.name)?;
    let ports = (args.from_port, args.port);
    let spec = ProbeSpec { from: args.from.clone(), to: args.to.clone(), count: args.count, ports };
    let seen = probe(&lab, &spec)?;
    match args.output {
        OutputFormat::Table => table(&seen)?,
        OutputFormat::Json => document(&seen)?,
    }
    Ok(if seen.received < seen.sent { Exit::Unsound } else { Exit::Fine })
}

fn table(seen: &ProbeResult) -> Result<(), Failure> {
    let mut out = out();
    let mut table = plain_table(&["WHERE", "WAY", "PROBES", "AFTER", "FRAME"]);
    for one in &seen.observations {
        let direction = if one.is_outgoing { "out" } else { "in" };
        let after = Time::from_nanos(one.after_ns).to_string();
        table.add_row([one.place.clone(), direction.to_owned(), one.probes.to_string(), after, one.frame.clone()]);
    }
    write_table(&mut out, &mut table)?;
    match seen.lost() {
        None => writeln!(out, "all {} probes arrived", seen.sent)?,
        Some((last, next)) => {
            let next = next.map_or_else(String::new, |next| format!(", before {next}"));
            writeln!(out, "{} of {} probes arrived; lost behind {last}{next}", seen.received, seen.sent)?;
        }
    }
    for (host, what, count) in &seen.counted {
        writeln!(out, "{host} counted during the probe: {count} {what}")?;
    }
    Ok(out.flush()?)
}

fn document(seen: &ProbeResult) -> Result<(), Failure> {
    let observations = seen.observations.iter().map(|one| {
        json!({ "place": one.place, "isOutgoing": one.is_outgoing, "probes": one.probes, "afterNs": one.after_ns, "frame": one.frame })
    });
    let counted = seen.counted.iter().map(|(host, what, count)| json!({ "host": host, "what": what, "count": count }));
    let document = json!({
        "sent": seen.sent,
        "received": seen.received,
        "lastSeenAt": seen.lost().map(|(last, _)| last),
        "nextHop": seen.lost().and_then(|(_, next)| next),
        "observations": observations.collect::<Vec<_>>(),
        "counted": counted.collect::<Vec<_>>(),
    });
    let mut out = out();
    serde_json::to_writer_pretty(&mut out, &document)?;
    writeln!(out)?;
    Ok(out.flush()?)
}
