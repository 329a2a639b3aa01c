//! `wayleave top`: what contracts send now.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::Cell;
use wayleave_explain::human::count;
use wayleave_protocol::agent::SampledPackets;
use wayleave_protocol::contract::{Contract, ContractSpec};
use wayleave_protocol::status::Status;
use wayleave_protocol::traffic::{ContractCounters, ContractTraffic, TopTraffic};
use wayleave_units::{Rate, Time};

use crate::client::show::lists::UNKNOWN;
use crate::client::show::{asked_rate, cell, rate, short, state, time, write_rows};
use crate::client::{Service, Target, encode};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{out, raw_out};

const EXAMPLE: &str = "\
Examples:
  wayleave top
  wayleave top --every 5s --most 50
  wayleave top --times 1 > now.txt

Agents report counters every second: rates and waits are those of the last second, dropped packets are counted since the contract was installed. Contracts with the highest rates come first. Stop with Ctrl-C.";

const HEADINGS: [&str; 11] =
    ["contract", "kind", "state", "rate", "sends", "of rate", "waiting", "waited", "dropped", "lost", "late"];
/// Maximum number of contracts in one answer of the server.
const LIMIT: u64 = 1_000;
/// Clears the screen and goes to its begin (ECMA-48).
const CLEAR: &str = "\x1b[H\x1b[2J";
/// Maximum time until Ctrl-C is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Show live rates, waiting times and drops of contracts
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct TopArgs {
    /// Update interval
    #[arg(long, value_name = "TIME", default_value = "2s")]
    every: Time,
    /// Number of updates [default: until Ctrl-C]
    #[arg(long, value_name = "COUNT")]
    times: Option<u64>,
    /// Number of contracts to show
    #[arg(long, value_name = "COUNT", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=LIMIT))]
    most: u64,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &TopArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    if service.is_local() {
        let text = "only a running server has traffic counters: a ledger file has none";
        return Err(Failure::Usage(text.to_owned()));
    }
    let cancel = interrupt::listen()?;
    let (every, mut looks) = (Duration::from_nanos(args.every.as_nanos()), 0);
    loop {
        show(&service, args.most)?;
        looks += 1;
        if args.times.is_some_and(|times| looks >= times) {
            return Ok(Exit::Fine);
        }
        let then = Instant::now() + every;
        while Instant::now() < then {
            if cancel.is_cancelled() {
                return Ok(Exit::Fine);
            }
            std::thread::sleep(POLL_INTERVAL.min(every));
        }
    }
}

fn show(service: &Service, most: u64) -> Result<(), Failure> {
    let tenant = service.tenant().map(|tenant| format!("&tenant={}", encode(tenant))).unwrap_or_default();
    let top: TopTraffic = service.get(&format!("/v1/traffic?limit={most}{tenant}"))?;
    let status: Status = service.get("/v1/status")?;
    if std::io::stdout().is_terminal() {
        let mut terminal = raw_out();
        write!(terminal, "{CLEAR}")?;
        terminal.flush()?;
    }
    let mut out = out();
    let many = |number: u64, of: &str| count(number, of);
    let silent = status.silent.as_ref().filter(|silent| !silent.is_empty());
    let silent = silent.map_or_else(String::new, |silent| format!("; silent: {}", silent.join(", ")));
    let agents = status.agents.map_or_else(|| "unknown agents".to_owned(), |agents| many(agents, "agent"));
    let sum = match top.rate_bps {
        None => "no counters reported".to_owned(),
        Some(sum) if top.measured == top.contracts => format!("{} in total", rate(sum)),
        Some(sum) => format!("{} in total from the {} that agents report", rate(sum), top.measured),
    };
    writeln!(out, "{agents}{silent}; {}, {sum}", many(top.contracts, "contract"))?;
    write_rows(&mut out, &HEADINGS, top.items.iter().map(cells).collect(), "no contracts")?;
    if top.omitted > 0 {
        writeln!(out, "{} not shown; --most {} shows all", many(top.omitted, "contract"), top.contracts.min(LIMIT))?;
    }
    writeln!(out)?;
    Ok(out.flush()?)
}

/// The rate of a latency contract or the minimum of a pair, to which what it sends can be compared; the members of others have one each.
fn own_rate(spec: &ContractSpec) -> Option<u64> {
    let pair = spec.bandwidth.as_ref().filter(|bandwidth| bandwidth.hose.is_none());
    let text = spec.rate.as_ref().or(pair.map(|bandwidth| &bandwidth.min))?;
    text.parse::<Rate>().ok().map(Rate::bits_per_second)
}

fn cells(ContractCounters { contract, counters }: &ContractCounters) -> Vec<Cell> {
    let Contract { id, spec, status } = contract;
    let mut cells = vec![cell(short(id)), cell(status.kind.name()), state(status), cell(asked_rate(spec))];
    let Some(traffic) = &counters.traffic else {
        // Best effort is not counted by any agent; other contracts are, unless their agents are silent.
        cells.push(cell(if counters.hosts == 0 { "not counted" } else { UNKNOWN }));
        cells.resize(HEADINGS.len(), cell(""));
        return cells;
    };
    let share_of =
        |share: fn(&SampledPackets) -> (u64, u64)| traffic.followed.as_ref().map(share).map_or_else(String::new, part);
    cells.extend([
        cell(sends(counters)),
        cell(own_rate(spec).zip(counters.rate_bps).map_or_else(String::new, share)),
        cell(traffic.waiting),
        cell(counters.waited_ns.map_or_else(String::new, time)),
        cell(traffic.queue_full + traffic.oversized),
        cell(share_of(|followed| (followed.lost, followed.packets))),
        cell(share_of(|followed| (followed.late, followed.timed))),
    ]);
    cells
}

/// Rate of the packets sent, with the number of hosts that report if some do not.
fn sends(counters: &ContractTraffic) -> String {
    let rate = counters.rate_bps.map_or_else(|| UNKNOWN.to_owned(), rate);
    match counters.hosts - counters.reporting {
        0 => rate,
        _ => format!("{rate} ({} of {} hosts)", counters.reporting, counters.hosts),
    }
}

fn share((own, sends): (u64, u64)) -> String {
    (u128::from(sends) * 100).checked_div(u128::from(own)).map_or_else(String::new, |share| format!("{share} %"))
}

/// Returns a number of followed packets as "n of m", where m packets have a known outcome; empty if m is 0.
fn part((some, of): (u64, u64)) -> String {
    if of == 0 { String::new() } else { format!("{some} of {of}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_silent_hosts_are_not_shown_as_zero() {
        let counters =
            |hosts, reporting, rate_bps| ContractTraffic { hosts, reporting, rate_bps, ..ContractTraffic::default() };
        let shown =
            [counters(1, 1, Some(8_000)), counters(3, 2, Some(8_000)), counters(1, 1, None)].map(|one| sends(&one));
        assert_eq!(shown, ["8 kbit/s", "8 kbit/s (2 of 3 hosts)", "unknown"]);
    }

    #[test]
    fn unknown_counts_are_not_shown() {
        assert_eq!(
            (part((0, 0)), part((0, 9)), part((2, 9))),
            (String::new(), "0 of 9".to_owned(), "2 of 9".to_owned())
        );
    }
}
