//! `wayleave top`: what contracts send now.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use comfy_table::Cell;
use wayleave_explain::human::count;
use wayleave_protocol::agent::{Followed, Traffic};
use wayleave_protocol::contract::{Contract, ContractSpec, Kind, State};
use wayleave_protocol::status::Status;
use wayleave_units::{Rate, Time};

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

Hosts tell their counters every second. Contracts that send most come first; what nobody counts is -. Ctrl-C ends it.";

const HEADINGS: [&str; 11] =
    ["contract", "kind", "state", "rate", "sends", "of it", "waiting", "waited", "dropped", "lost", "late"];
/// Clears the screen and goes to its begin (ECMA-48).
const CLEAR: &str = "\x1b[H\x1b[2J";
/// How long Ctrl-C may go unnoticed.
const LOOK: Duration = Duration::from_millis(50);

/// Show live what contracts send, how long packets wait for tokens, and what is dropped
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct TopArgs {
    /// From one look to the next
    #[arg(long, value_name = "TIME", default_value = "2s")]
    every: Time,
    /// How many looks; without it until Ctrl-C
    #[arg(long, value_name = "COUNT")]
    times: Option<u64>,
    /// How many contracts are looked at, the first by name
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    most: usize,
    #[command(flatten)]
    target: Target,
}

/// A contract with its counters at a moment.
struct Sample {
    contract: Contract,
    traffic: Traffic,
    at: Instant,
}

/// What a contract did between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Doing {
    /// Wire bits a second.
    bits_per_second: u64,
    /// Of packets that waited, on average.
    waited_ns: u64,
    /// Packets.
    dropped: u64,
}

impl Doing {
    /// Counters that are smaller than before began again.
    fn between(before: &Traffic, after: &Traffic, took: Duration) -> Self {
        let since = |of: fn(&Traffic) -> u64| of(after).checked_sub(of(before)).unwrap_or(of(after));
        let nanos = took.as_nanos().max(1);
        let bits = u128::from(since(|traffic| traffic.bytes)) * 8_000_000_000 / nanos;
        Self {
            bits_per_second: u64::try_from(bits).unwrap_or(u64::MAX),
            waited_ns: since(|traffic| traffic.waited_ns).checked_div(since(|traffic| traffic.delayed)).unwrap_or(0),
            dropped: since(|traffic| traffic.queue_full) + since(|traffic| traffic.oversized),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &TopArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    if service.is_local() {
        let text = "what contracts send is known to a running server: a ledger file has none of it";
        return Err(Failure::Usage(text.to_owned()));
    }
    let cancel = interrupt::listen()?;
    let (every, mut looks) = (Duration::from_nanos(args.every.as_nanos()), 0);
    let mut before = sample(&service, args.most)?;
    while args.times.is_none_or(|times| looks < times) {
        let then = Instant::now() + every;
        while Instant::now() < then {
            if cancel.is_cancelled() {
                return Ok(Exit::Fine);
            }
            std::thread::sleep(LOOK.min(every));
        }
        let after = sample(&service, args.most)?;
        show(&service, &before, &after)?;
        (before, looks) = (after, looks + 1);
    }
    Ok(Exit::Fine)
}

fn sample(service: &Service, most: usize) -> Result<Vec<Sample>, Failure> {
    let filters = [("tenant", service.tenant())];
    let contracts: Vec<Contract> = service.list("/v1/contracts", &filters, most)?;
    let sample = |contract: Contract| {
        let path = format!("/v1/contracts/{}/traffic", encode(&contract.id));
        Ok(Sample { traffic: service.get(&path)?, contract, at: Instant::now() })
    };
    contracts.into_iter().filter(|one| one.status.state != State::Released).map(sample).collect()
}

fn show(service: &Service, before: &[Sample], after: &[Sample]) -> Result<(), Failure> {
    let mut rows: Vec<(Doing, &Sample)> = after
        .iter()
        .map(|now| {
            let is_same = |then: &&Sample| {
                (&then.contract.id, &then.contract.status.created) == (&now.contract.id, &now.contract.status.created)
            };
            let same = before.iter().find(is_same);
            let doing = same.map(|then| Doing::between(&then.traffic, &now.traffic, now.at - then.at));
            (doing.unwrap_or_default(), now)
        })
        .collect();
    rows.sort_by(|(a, x), (b, y)| b.bits_per_second.cmp(&a.bits_per_second).then(x.contract.id.cmp(&y.contract.id)));
    let status: Status = service.get("/v1/status")?;
    if std::io::stdout().is_terminal() {
        let mut terminal = raw_out();
        write!(terminal, "{CLEAR}")?;
        terminal.flush()?;
    }
    let mut out = out();
    let sum = rows.iter().map(|(doing, _)| doing.bits_per_second).fold(0, u64::saturating_add);
    let silent =
        if status.silent.is_empty() { String::new() } else { format!("; silent: {}", status.silent.join(", ")) };
    let agents = count(usize::try_from(status.agents).unwrap_or(usize::MAX), "agent");
    let sum = if status.agents == 0 { "nothing is counted".to_owned() } else { format!("{} together", rate(sum)) };
    writeln!(out, "{agents}{silent}; {}, {sum}", count(rows.len(), "contract"))?;
    let cells = rows.iter().map(|(doing, sample)| cells(doing, sample, status.agents > 0)).collect();
    write_rows(&mut out, &HEADINGS, cells, "no contracts")?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Returns `true` if agents count the packets of a contract: best effort is counted by nobody, and nothing without agents.
fn is_counted(contract: &Contract, has_agents: bool) -> bool {
    has_agents && contract.status.kind != Kind::BestEffort && contract.status.reason.as_deref() != Some("NOT_ENFORCED")
}

/// The rate of a latency contract or the minimum of a pair, to which what it sends can be compared; the members of others have one each.
fn own_rate(spec: &ContractSpec) -> Option<u64> {
    let pair = spec.bandwidth.as_ref().filter(|bandwidth| bandwidth.hose.is_none());
    let text = spec.rate.as_ref().or(pair.map(|bandwidth| &bandwidth.min))?;
    text.parse::<Rate>().ok().map(Rate::bits_per_second)
}

fn cells(doing: &Doing, sample: &Sample, has_agents: bool) -> Vec<Cell> {
    let Contract { id, spec, status } = &sample.contract;
    let mut cells = vec![cell(short(id)), cell(status.kind.name()), state(status), cell(asked_rate(spec))];
    // What nobody counts is not zero.
    if !is_counted(&sample.contract, has_agents) {
        cells.push(cell("-"));
        cells.resize(HEADINGS.len(), cell(""));
        return cells;
    }
    let share = own_rate(spec).and_then(|own| (u128::from(doing.bits_per_second) * 100).checked_div(u128::from(own)));
    let share_of =
        |what: fn(&Followed) -> (u64, u64)| sample.traffic.followed.as_ref().map(what).map_or_else(String::new, part);
    cells.extend([
        cell(rate(doing.bits_per_second)),
        cell(share.map_or_else(String::new, |share| format!("{share} %"))),
        cell(sample.traffic.waiting),
        cell(if doing.waited_ns == 0 { String::new() } else { time(doing.waited_ns) }),
        cell(doing.dropped),
        cell(share_of(|followed| (followed.lost, followed.packets))),
        cell(share_of(|followed| (followed.late, followed.timed))),
    ]);
    cells
}

/// How many of the packets that were followed, of which that is known; empty if of none.
fn part((some, of): (u64, u64)) -> String {
    if of == 0 { String::new() } else { format!("{some} of {of}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_contract_does_is_the_difference_of_its_counters_also_when_they_begin_again() {
        let traffic = |bytes, delayed, waited_ns, queue_full| Traffic {
            bytes,
            delayed,
            waited_ns,
            queue_full,
            ..Traffic::default()
        };
        let (before, after) = (traffic(1_000, 2, 50, 1), traffic(3_000, 6, 450, 4));
        let doing = Doing::between(&before, &after, Duration::from_secs(2));
        assert_eq!(doing, Doing { bits_per_second: 8_000, waited_ns: 100, dropped: 3 });
        let again = Doing::between(&after, &before, Duration::from_secs(1));
        assert_eq!(again, Doing { bits_per_second: 8_000, waited_ns: 25, dropped: 1 });
    }

    #[test]
    fn nothing_is_shown_of_what_is_not_known() {
        assert_eq!(
            (part((0, 0)), part((0, 9)), part((2, 9))),
            (String::new(), "0 of 9".to_owned(), "2 of 9".to_owned())
        );
    }
}
