//! Objects of the interface as tables and lines for people.

pub(crate) mod changes;
pub(crate) mod lists;

pub(crate) use wayleave_client::word;

use std::io::Write;

use comfy_table::{Cell, Color};
use serde::Serialize;
use wayleave_explain::human::Human;
use wayleave_explain::table::write_table;
use wayleave_protocol::contract::{Contract, ContractSpec, ContractStatus, Route, State};
use wayleave_protocol::network::ObservedState;
use wayleave_units::{Bytes, Rate, Time, escaped, readable};

use crate::failure::Failure;
use crate::output::plain_table;
use crate::output::{is_colourful, out};

/// Prints a document for programs.
pub(crate) fn json(document: &impl Serialize) -> Result<(), Failure> {
    let mut out = out();
    serde_json::to_writer_pretty(&mut out, document)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Prints a table; without rows, a sentence.
pub(crate) fn table(headings: &[&str], rows: Vec<Vec<Cell>>, none: &str) -> Result<(), Failure> {
    let mut out = out();
    write_rows(&mut out, headings, rows, none)?;
    Ok(out.flush()?)
}

/// The same as a part of more.
pub(crate) fn write_rows(
    out: &mut impl Write,
    headings: &[&str],
    rows: Vec<Vec<Cell>>,
    none: &str,
) -> Result<(), Failure> {
    if rows.is_empty() {
        writeln!(out, "{none}")?;
        return Ok(());
    }
    let mut table = plain_table(headings);
    for row in rows {
        table.add_row(row);
    }
    Ok(write_table(out, &mut table)?)
}

/// Writes lines of names and values, aligned in columns.
pub(crate) fn write_fields(out: &mut impl Write, fields: &[(&str, String)]) -> Result<(), Failure> {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in fields {
        writeln!(out, "{name:width$}  {}", escaped(value))?;
    }
    Ok(())
}

/// A bound or a delay.
pub(crate) fn time(nanos: u64) -> String {
    Time::from_nanos(nanos).up()
}

/// A deadline or a budget.
pub(crate) fn limit(nanos: u64) -> String {
    Time::from_nanos(nanos).down()
}

pub(crate) fn rate(bits_per_second: u64) -> String {
    Rate::from_bits_per_second(bits_per_second).up()
}

/// Rate that is left: rounded down.
pub(crate) fn rate_left(bits_per_second: u64) -> String {
    Rate::from_bits_per_second(bits_per_second).down()
}

pub(crate) fn bytes(bytes: u64) -> String {
    Bytes::new(bytes).up()
}

/// A cell of a text that may come from other people: it stays on its line.
pub(crate) fn cell(text: impl ToString) -> Cell {
    Cell::new(escaped(&text.to_string()))
}

/// A cell of several texts, one a line.
pub(crate) fn cell_of_lines<T: AsRef<str>>(lines: &[T]) -> Cell {
    let lines: Vec<_> = lines.iter().map(|line| escaped(line.as_ref())).collect();
    Cell::new(lines.join("\n"))
}

/// A cell of the routes of a contract, one a line.
fn cell_of_routes(contract: &Contract) -> Cell {
    cell_of_lines(&contract.status.routes.iter().map(route).collect::<Vec<_>>())
}

/// Returns a word in the colour of its severity.
pub(crate) fn coloured(text: &str, colour: Option<Color>) -> Cell {
    match colour.filter(|_| is_colourful()) {
        Some(colour) => cell(text).fg(colour),
        None => cell(text),
    }
}

/// State of a contract by its name alone.
pub(crate) fn bare_state(state: State) -> Cell {
    coloured(&word(&state), colour_of(state))
}

fn colour_of(state: State) -> Option<Color> {
    match state {
        State::Enforced => Some(Color::Green),
        State::Degraded | State::Violated => Some(Color::Red),
        State::Admitted | State::Pending | State::Released => None,
    }
}

/// Returns the state of a contract, including partial or missing enforcement.
pub(crate) fn state(status: &ContractStatus) -> Cell {
    let state = match status.reason.as_deref() {
        Some("FOLLOWER") => "unknown here".to_owned(),
        Some("NOT_ENFORCED" | "NOT_CONFIRMED" | "RATE_EXCEEDED") => "admitted, not enforced".to_owned(),
        Some("ENFORCED_IN_PART") => "enforced in part".to_owned(),
        Some("PROTECTION_LOST") => format!("{}, protection lost", word(&status.state)),
        _ => word(&status.state),
    };
    coloured(&state, colour_of(status.state))
}

/// Returns the reason of a contract's state, unless the state itself expresses it.
pub(crate) fn reason(status: &ContractStatus) -> Option<String> {
    let is_implied = matches!(status.reason.as_deref(), Some("NOT_ENFORCED" | "ENFORCED_IN_PART"));
    status.message.clone().filter(|_| !is_implied)
}

pub(crate) fn element_state(state: ObservedState) -> Cell {
    coloured(state.name(), (state == ObservedState::Down).then_some(Color::Red))
}

/// `h1 -[0]- s1 -[2]- h2`, with the queue of each link in brackets, as in `plan`.
pub(crate) fn route(route: &Route) -> String {
    let mut text = String::new();
    for hop in &route.hops {
        let (link, number) = hop.link.split_once('#').map_or((&*hop.link, None), |(link, number)| (link, Some(number)));
        let Some((from, to)) = link.split_once("->") else {
            text += &format!(" {}[{}]", hop.link, hop.queue);
            continue;
        };
        if text.is_empty() {
            text += from;
        }
        text += &format!(" -[{}]-\u{a0}{to}", hop.queue);
        if let Some(number) = number {
            text += &format!("#{number}");
        }
    }
    text
}

/// Between whom a contract is: `h1 -> h9`, `h1, h5, h9`, or `h1, h2, h3, h4 and 5 more`.
pub(crate) fn between(spec: &ContractSpec) -> String {
    const SHOWN: usize = 4;
    let members = spec.members();
    let is_pair = spec.from.is_some() || spec.bandwidth.as_ref().is_some_and(|bandwidth| bandwidth.hose.is_none());
    if is_pair {
        return members.join(" -> ");
    }
    let shown = members[..members.len().min(SHOWN)].join(", ");
    match members.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The rate that a contract asks for: of a latency contract its own, of others a minimum.
pub(crate) fn asked_rate(spec: &ContractSpec) -> String {
    let bandwidth = spec.bandwidth.as_ref().map(|bandwidth| &bandwidth.min);
    let min = bandwidth.or(spec.objective.as_ref().map(|objective| &objective.weight));
    let min = min.map(|min| format!("at least {}", readable(min)));
    min.or_else(|| spec.rate.as_deref().map(|rate| readable(rate).into_owned())).unwrap_or_else(|| "-".to_owned())
}

/// Returns the known guarantee of a contract: its bound and its deadline, or the certainty of its promise.
pub(crate) fn known(status: &ContractStatus) -> String {
    match (status.bound_ns, status.deadline_ns) {
        (Some(bound), Some(deadline)) => format!("{} / {}", time(bound), limit(deadline)),
        _ => {
            let within = status.within_ns.map(|within| format!(" within {}", time(within))).unwrap_or_default();
            status.certainty.as_ref().map_or_else(|| "-".to_owned(), |certainty| format!("{certainty}{within}"))
        }
    }
}

/// Returns an identity without the default tenant.
pub(crate) fn short(id: &str) -> &str {
    id.strip_prefix("default:").unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use wayleave_protocol::contract::Hop;

    use super::*;

    #[test]
    fn a_route_is_written_as_in_a_plan() {
        let hop = |link: &str, queue| Hop { link: link.to_owned(), queue };
        let hops = vec![hop("h1->s1", 0), hop("s1->s2#2", 3), hop("s2->h2", 1)];
        let text = route(&Route { hops, bound_ns: Some(1) });
        assert_eq!(text.replace('\u{a0}', " "), "h1 -[0]- s1 -[3]- s2#2 -[1]- h2");
    }
}
