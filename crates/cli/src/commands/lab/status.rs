//! `wayleave lab status`.

use std::io::Write;

use clap::Args;
use serde_json::json;
use wayleave_explain::human::count;
use wayleave_explain::table::write_table;
use wayleave_lab::{ActiveRun, LabName, Labs, Process, Stage, Status};

use super::name::parse_name;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out, plain_table};

const EXAMPLE: &str = "\
Examples:
  sudo wayleave lab status
  sudo wayleave lab status --name second -o json";

/// List labs, or show the ports of one: packets sent and dropped
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct StatusArgs {
    /// Name of the lab [default: the only one, else list all]
    #[arg(long, value_parser = parse_name)]
    name: Option<LabName>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

/// Runs the command.
pub(crate) fn run(args: &StatusArgs) -> Result<Exit, Failure> {
    let labs = Labs::default();
    let all = labs.list();
    let only = match &all[..] {
        [only] => LabName::new(only).ok(),
        _ => None,
    };
    let mut out = out();
    match (args.name.clone().or(only), args.output) {
        (None, OutputFormat::Json) => writeln!(out, "{}", json!({ "labs": all }))?,
        (None, OutputFormat::Table) if all.is_empty() => writeln!(out, "no lab is up (`wayleave lab up --help`)")?,
        (None, OutputFormat::Table) => writeln!(out, "labs: {} (--name shows one)", all.join(", "))?,
        (Some(name), OutputFormat::Json) => {
            let status = labs.status(&name)?;
            serde_json::to_writer_pretty(&mut out, &document(&name, &status))?;
            writeln!(out)?;
        }
        (Some(name), OutputFormat::Table) => table(&mut out, &name, &labs.status(&name)?)?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn document(name: &LabName, status: &Status) -> serde_json::Value {
    let endpoints = status.endpoints.iter().map(|(id, address)| json!({ "name": id, "address": address }));
    let program = |one: &Process| json!({ "name": one.name, "pid": one.pid });
    let nodes = status.nodes.iter().map(|node| {
        let ports = node.ports.iter().map(|(interface, queues)| json!({ "interface": interface, "queues": queues }));
        json!({ "name": node.name, "isSwitch": node.is_switch, "ports": ports.collect::<Vec<_>>() })
    });
    json!({
        "name": name.as_str(),
        "isWhole": is_whole(status),
        "topology": status.topology,
        "namespaces": status.namespaces,
        "missing": status.missing,
        "programs": status.programs.iter().map(program).collect::<Vec<_>>(),
        "ended": status.ended,
        "stopped": status.stopped.iter().map(program).collect::<Vec<_>>(),
        "run": status.run.map(|run| json!({ "pid": run.pid })),
        "cut": status.cut,
        "endpoints": endpoints.collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

/// Returns `true` if a lab is complete and all of its programs run.
fn is_whole(status: &Status) -> bool {
    let has_all = status.missing.is_empty() && status.ended.is_empty() && status.stopped.is_empty();
    status.stage == Stage::Up && has_all
}

fn table(out: &mut impl Write, name: &LabName, status: &Status) -> Result<(), Failure> {
    let namespaces = count(status.namespaces, "namespace");
    match (status.stage, &status.missing[..]) {
        (Stage::Building | Stage::Starting, _) if status.is_being_made => {
            writeln!(out, "lab {name} is being created ({})", status.topology)?;
        }
        (Stage::Building | Stage::Starting, _) => writeln!(
            out,
            "lab {name} is incomplete ({}): `wayleave lab down --name {name}` removes it",
            status.topology
        )?,
        (Stage::Up, []) if !is_whole(status) => {
            writeln!(out, "lab {name} is broken: not all programs run ({}, {namespaces})", status.topology)?;
        }
        (Stage::Up, []) => writeln!(out, "lab {name} is up: {}, {namespaces}", status.topology)?,
        (Stage::Up, missing) => writeln!(out, "lab {name} is broken: of {namespaces}, {} are missing", missing.len())?,
    }
    let programs: Vec<&str> = status.programs.iter().map(|program| program.name.as_str()).collect();
    if !programs.is_empty() {
        writeln!(out, "programs: {}", programs.join(", "))?;
    }
    if !status.ended.is_empty() {
        let logs = status.folder.display();
        writeln!(out, "EXITED UNEXPECTEDLY: {} (logs in {logs})", status.ended.join(", "))?;
    }
    for Process { name, pid } in &status.stopped {
        writeln!(out, "STOPPED BY A SIGNAL: {name}, pid {pid}; `kill -CONT {pid}` resumes it")?;
    }
    if let Some(ActiveRun { pid }) = status.run {
        let pid = pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
        writeln!(out, "a run is in progress: pid {pid}")?;
    }
    match (&status.cut, status.run) {
        (Some(cut), Some(_)) => writeln!(out, "CUT: {cut}, by the run in progress")?,
        (Some(cut), None) => {
            writeln!(out, "CUT: {cut}, by a run that was killed; the next `lab run` reconnects it")?;
        }
        (None, _) => {}
    }
    let mut table = plain_table(&["NODE", "PORT", "PACKETS", "DROPPED", "WAITING"]);
    let mut rows = 0;
    for node in &status.nodes {
        for (interface, queues) in &node.ports {
            let sum = |of: fn(&wayleave_dataplane::net::QueueCounters) -> u64| queues.iter().map(of).sum::<u64>();
            let (packets, drops) = (sum(|queue| queue.packets), sum(|queue| queue.drops));
            if packets + drops > 0 {
                let waiting = format!("{} B", sum(|queue| queue.backlog));
                table.add_row([node.name.clone(), interface.clone(), packets.to_string(), drops.to_string(), waiting]);
                rows += 1;
            }
        }
    }
    if rows == 0 {
        writeln!(out, "no traffic yet")?;
    } else {
        write_table(out, &mut table)?;
    }
    Ok(())
}
