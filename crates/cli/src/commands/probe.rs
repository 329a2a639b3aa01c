//! `wayleave probe`: probes through a real network.

use std::io::Write;

use clap::Args;
use wayleave_client::Method;
use wayleave_explain::table::write_table;
use wayleave_protocol::check::{Check, CheckSpec, MAX_PROBES};
use wayleave_protocol::contract::{Match, Protocol};
use wayleave_units::escaped;

use crate::client::{Target, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out, plain_table};
use crate::progress::waiting;

const EXAMPLE: &str = "\
Examples:
  wayleave probe h1 h9
  wayleave probe acme:web acme:db --protocol tcp --port 5432
  wayleave probe --contract acme:backup
  wayleave probe h1 h9 --contract acme:db

The agent of the sender's host injects probes at the sender's interface, so they pass the same rules, tags and queues as its packets. \
Agents of both hosts and of all switches observe their interfaces. The receiver gets the probes, from a documentation address (RFC 5737) \
unless the contract names one. Probes of a contract are charged to it. The exit code is 4 if a probe was lost. \
Needs the role operator; at most four commands run at once.";

/// Send probes between two endpoints, and show where they were seen or lost
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct ProbeArgs {
    /// Sender: a host, or a VM as TENANT:NAME; with --contract, one of its members
    #[arg(value_name = "FROM", required_unless_present = "contract", requires = "to")]
    from: Option<String>,
    /// Receiver
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// Send probes of this contract, TENANT:NAME; FROM and TO only if it has members
    #[arg(long, value_name = "CONTRACT")]
    contract: Option<String>,
    /// Protocol of the probes: tcp, udp, icmp, icmpv6, sctp or a number
    #[arg(long, value_name = "PROTOCOL", conflicts_with = "contract")]
    protocol: Option<String>,
    /// Receiver's port
    #[arg(long, value_name = "PORT", conflicts_with = "contract")]
    port: Option<u16>,
    /// Sender's port
    #[arg(long, value_name = "PORT", conflicts_with = "contract")]
    from_port: Option<u16>,
    /// Number of probes
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PROBES)))]
    count: u32,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &ProbeArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    let has_ports = args.port.is_some() || args.from_port.is_some();
    let protocol = args.protocol.clone().or_else(|| has_ports.then(|| "udp".to_owned()));
    let protocol = protocol.map(|text| text.parse().map_or(Protocol::Name(text), Protocol::Number));
    let matching = protocol.map(|protocol| Match {
        protocol: Some(protocol),
        source_port: args.from_port,
        destination_port: args.port,
        ..Match::default()
    });
    let spec = CheckSpec {
        from: args.from.clone(),
        to: args.to.clone(),
        contract: args.contract.clone(),
        matching,
        count: Some(args.count),
    };
    let ask = || service.send(Method::Post, "/v1/checks", &spec);
    let (_, check): (_, Check) = waiting(false, "sending probes", ask)?;
    match args.output {
        OutputFormat::Json => show::json(&check)?,
        OutputFormat::Table => table(&check)?,
    }
    Ok(if check.received < check.sent || check.sent == 0 { Exit::Unsound } else { Exit::Fine })
}

fn table(check: &Check) -> Result<(), Failure> {
    let mut out = out();
    let mut table = plain_table(&["NODE", "INTERFACE", "WAY", "LINK OR ENDPOINT", "PROBES", "FRAME"]);
    for one in &check.observations {
        let direction = if one.is_outgoing { "out" } else { "in" };
        let (probes, frame) = (one.probes.to_string(), one.frame.clone());
        let texts =
            [one.node.clone(), one.interface.clone(), direction.to_owned(), one.leads_to.clone(), probes, frame];
        table.add_row(texts.map(|text| escaped(&text).into_owned()));
    }
    write_table(&mut out, &mut table)?;
    let Check { from, to, sent, received, .. } = check;
    match (*sent, *received) {
        (0, _) => writeln!(out, "no probe was sent from {from} to {to}")?,
        (sent, received) if sent == received => writeln!(out, "all {sent} probes from {from} to {to} arrived")?,
        _ => writeln!(out, "{received} of {sent} probes from {from} to {to} arrived")?,
    }
    for one in &check.lost {
        let next = one.next_hop.as_ref().map_or_else(String::new, |hop| format!("; seen next: {}", escaped(hop)));
        writeln!(out, "{} lost after {}{next}", one.probes, escaped(&one.last_seen_at))?;
    }
    for one in &check.unobserved_nodes {
        writeln!(out, "not watched: {}", escaped(one))?;
    }
    for one in &check.counted {
        writeln!(
            out,
            "{} counted during the probe, for all packets: {} {}",
            one.node,
            one.packets,
            escaped(&one.what)
        )?;
    }
    Ok(out.flush()?)
}
