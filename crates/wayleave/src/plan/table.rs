//! `plan` for people: a table of the first requests, and a line that sums up all.

use std::cmp::Reverse;
use std::io::Write;

use comfy_table::Cell;
use wayleave_contracts::Contract;
use wayleave_explain::human::{Human, count};
use wayleave_explain::table::{Style, TableLayout, plain_table, styled, write_table};
use wayleave_explain::{DecidedContract, DecidedFlow, DecidedShare, RequestEvent, sentences};
use wayleave_ledger::Ledger;
use wayleave_scheme_api::{Certainty, ShareDecision};
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_topology::{FlowId, Route, ShortBuffer};
use wayleave_units::Time;

use super::certainty::Certainties;
use super::sink::Sink;
use super::summary::{PlanSummary, Released};
use crate::error::Error;
use crate::session::Session;

/// Default number of requests that are shown.
const SHOWN: usize = 40;
/// Number of refusals that are shown even at the end of the list: readers search for them.
const REFUSALS_SHOWN: usize = 20;

/// A table of requests that is being filled.
pub struct RequestTable {
    layout: TableLayout,
    show_all: bool,
    rows: Vec<Row>,
    refusals: usize,
    /// Rows that there was no room for.
    more: usize,
    has_events: bool,
    certainties: Certainties,
}

struct Row {
    event: String,
    name: String,
    /// A contract of another kind than latency, with its decision.
    share: Option<Box<(Contract, Option<ShareDecision>)>>,
    ends: String,
    decision: &'static str,
    bound: String,
    detail: Detail,
}

enum Detail {
    Text(String),
    /// Route at the time of placement: the flow may have been moved since.
    Route(FlowId, Route),
}

impl RequestTable {
    /// An empty table; without `show_all` it keeps the first 40 requests and the first 20 refusals.
    pub fn new(layout: TableLayout, show_all: bool, has_events: bool) -> Self {
        let certainties = Certainties::default();
        Self { layout, show_all, rows: Vec::new(), refusals: 0, more: 0, has_events, certainties }
    }

    /// Adds a request, if there is room.
    fn request(&mut self, session: &Session, decided: &DecidedFlow<'_>) {
        if !self.has_space(decided.decision.is_err()) {
            return;
        }
        let (contract, network) = (decided.contract, &*session.network);
        let deadline = contract.deadline;
        let (decision, bound, detail) = match decided.decision {
            Ok(decision) => {
                let detail = match decision.copies.as_slice() {
                    [] => Detail::Route(decision.flow, decision.route.clone()),
                    // Disjoint routes are not moved.
                    copies => {
                        let routes = std::iter::once(&decision.route).chain(copies.iter().map(|copy| &copy.route));
                        Detail::Text(routes.map(|one| route(session, one)).collect::<Vec<_>>().join("\n"))
                    }
                };
                ("admitted", decision.bound.up(), detail)
            }
            Err(refusal) => {
                let sentence = sentences::refusal(network, contract, refusal);
                let detail = Detail::Text(sentence + decided.afterwards());
                (refusal.reason().code(), "-".to_owned(), detail)
            }
        };
        let event = event(decided.event);
        let (from, to) = (sentences::name(network, contract.from), sentences::name(network, contract.to));
        let (name, ends) = (shortened(&contract.name), format!("{} -> {}", shortened(from), shortened(to)));
        let bound = format!("{bound} / {}", deadline.down());
        self.rows.push(Row { event, name, share: None, ends, decision, bound, detail });
    }

    /// Adds a contract of another kind than latency, if there is room.
    fn share(&mut self, session: &Session, decided: &DecidedShare<'_>) {
        if !self.has_space(decided.decision.is_err()) {
            return;
        }
        let admitted = decided.decision.as_ref().ok().and_then(Option::as_ref);
        let decision = match decided.decision {
            Ok(Some(decision)) => decision.certainty.name(),
            Ok(None) => "best effort",
            Err(refusal) => refusal.reason().code(),
        };
        let bound = match decided.contract {
            Contract::Bandwidth(contract) => contract.within.map_or_else(String::new, |asked| {
                let there = admitted.and_then(|decision| decision.within);
                format!("{} / {}", there.map_or_else(|| "-".to_owned(), Human::up), asked.down())
            }),
            _ => String::new(),
        };
        self.rows.push(Row {
            event: event(decided.event),
            name: shortened(decided.contract.name()),
            share: Some(Box::new((decided.contract.clone(), admitted.cloned()))),
            ends: decided.ends(&session.network),
            decision,
            bound,
            detail: Detail::Text(decided.sentence(&session.network).replace("]- ", "]-\u{a0}")),
        });
    }

    /// Adds the end of a contract, if there is room.
    fn release(&mut self, released: &Released<'_>) {
        if !self.has_space(false) {
            return;
        }
        let text = match released.held_until {
            Some(until) if until > released.at => format!("held until {until:#}, when its last packets have arrived"),
            Some(_) => "freed at once".to_owned(),
            None => "was not admitted".to_owned(),
        };
        self.rows.push(Row {
            event: format!("{:#} release", released.at),
            name: shortened(released.name),
            share: None,
            ends: String::new(),
            decision: "released",
            bound: String::new(),
            detail: Detail::Text(text),
        });
    }

    fn has_space(&mut self, is_refusal: bool) -> bool {
        let has_room = self.show_all || self.rows.len() < SHOWN || (is_refusal && self.refusals < REFUSALS_SHOWN);
        self.refusals += usize::from(is_refusal && has_room);
        self.more += usize::from(!has_room);
        has_room
    }

    /// Writes it, and a line that sums up.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(self, out: &mut impl Write, session: &Session, summary: &PlanSummary) -> Result<(), Error> {
        if !self.rows.is_empty() {
            let mut headings = vec!["request", "from -> to", "decision", "bound / deadline", "route or reason"];
            if self.has_events {
                headings.insert(0, "event");
            }
            let mut table = plain_table(&headings, self.layout);
            for row in &self.rows {
                let mut cells = vec![Cell::new(&row.name), Cell::new(&row.ends), self.decision(session, row)];
                if self.has_events {
                    cells.insert(0, Cell::new(&row.event));
                }
                cells.extend([Cell::new(&row.bound), Cell::new(self.detail(session, row))]);
                table.add_row(cells);
            }
            write_table(out, &mut table)?;
        }
        if self.more > 0 {
            writeln!(out, "... and {} more (--all shows them, -o json has everything)", self.more)?;
        }
        writeln!(out, "{}{}", if self.rows.is_empty() { "" } else { "\n" }, sum_up(summary))?;
        let measured = self.certainties.changed(session).len();
        if measured > 0 {
            let promises = count(measured, "promise");
            writeln!(
                out,
                "{promises} changed between proven and measured after the decision, because of later contracts"
            )?;
        }
        for line in short_buffers(session) {
            writeln!(out, "{line}")?;
        }
        Ok(out.flush()?)
    }

    /// A decision; among contracts that all stay, with the certainty that is left in the end.
    fn decision(&self, session: &Session, row: &Row) -> Cell {
        decision(self.certainty(session, row).map_or(row.decision, Certainty::name), self.layout)
    }

    /// The certainty that is left in the end, if it is another one than when the contract was decided.
    fn certainty(&self, session: &Session, row: &Row) -> Option<Certainty> {
        let (contract, _) = row.share.as_deref().filter(|_| !self.has_events)?;
        self.certainties.now(session, contract.name())
    }

    /// A flow's present route, if it is there still.
    fn detail(&self, session: &Session, row: &Row) -> String {
        if let Some((certainty, (contract, Some(decision)))) = self.certainty(session, row).zip(row.share.as_deref()) {
            let decision = Ok(Some(ShareDecision { certainty, ..decision.clone() }));
            let decided = DecidedShare { contract, decision: &decision, start: None, event: None };
            return decided.sentence(&session.network).replace("]- ", "]-\u{a0}");
        }
        match &row.detail {
            Detail::Text(text) => text.clone(),
            // Indices of ended flows are used again, so the present route is known only where nothing ends.
            Detail::Route(_, placed) if self.has_events => route(session, placed),
            Detail::Route(flow, placed) => {
                let now = session.scheme.held(*flow).map_or(placed, |held| held.route);
                let moved = if now == placed { "" } else { " (moved since)" };
                route(session, now) + moved
            }
        }
    }
}

impl Sink for RequestTable {
    fn decided(&mut self, session: &Session, decided: &DecidedContract<'_>) -> Result<(), Error> {
        match decided {
            DecidedContract::Flow(flow) => self.request(session, flow),
            DecidedContract::Share(share) => {
                self.certainties.decided(share);
                self.share(session, share);
            }
        }
        Ok(())
    }

    fn released(&mut self, released: &Released<'_>) -> Result<(), Error> {
        self.certainties.released(released.name);
        self.release(released);
        Ok(())
    }
}

/// Among events, when what happened.
fn event(event: Option<(RequestEvent, Time)>) -> String {
    let given = |(kind, at)| format!("{at:#} {}", if kind == RequestEvent::Add { "add" } else { "change" });
    event.map(given).unwrap_or_default()
}

/// Lines about buffers that may be too small, the largest shortage first.
fn short_buffers(session: &Session) -> Vec<String> {
    const SHOWN: usize = 3;
    let mut short: Vec<_> = session.ledger().into_iter().flat_map(Ledger::short_buffers).collect();
    short.sort_by_key(|short| (Reverse(short.needed.saturating_sub(short.buffer)), short.link));
    let line = |short: &ShortBuffer| format!("  {}", sentences::short_buffer(&session.network, short));
    let mut lines: Vec<String> = short.iter().take(SHOWN).map(line).collect();
    if let Some(more) = short.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        lines.push(format!("  and {more} more (-o json has all)"));
    }
    if !lines.is_empty() {
        let ports = count(short.len(), "port");
        lines.insert(0, format!("the buffers of {ports} may be too small for the minima on them; if packets are dropped, the time to reach these minima is unknown:"));
    }
    lines
}

/// A name that leaves room for other columns.
fn shortened(name: &str) -> String {
    const SHOWN: usize = 32;
    let mut shown: String = name.chars().take(SHOWN).collect();
    if name.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// A route that is broken into lines only before a link.
fn route(session: &Session, route: &Route) -> String {
    sentences::route(&session.network, route).replace("]- ", "]-\u{a0}")
}

fn decision(text: &str, layout: TableLayout) -> Cell {
    let colour = match text {
        "admitted" | "proven" => Style::Green,
        "measured" => Style::Yellow,
        "released" | "best effort" => return Cell::new(text),
        _ => Style::Red,
    };
    if layout.bold { styled(Cell::new(text), colour) } else { Cell::new(text) }
}

/// `312 admitted, 88 refused (LATENCY 60, RATE 28)`, and on a line of its own
/// `2.1 us per decision on average, p99 8 us`.
fn sum_up(summary: &PlanSummary) -> String {
    let mut text = format!("{} admitted, {} refused", summary.admitted, summary.refused);
    let reasons: Vec<String> = summary.by_reason.iter().map(|(code, count)| format!("{code} {count}")).collect();
    if !reasons.is_empty() {
        text += &format!(" ({})", reasons.join(", "));
    }
    if let Some(released) = summary.released {
        text += &format!(", {released} released");
    }
    if summary.moved > 0 {
        let moves = count(summary.moved, "move");
        text += &format!("; {moves} of admitted flows");
    }
    if let Some(times) = summary.times() {
        let [mean, p99] = [times.mean, times.p99].map(|nanos| Time::from_nanos(nanos.next_multiple_of(10)).up());
        text += &format!("\n{mean} per decision");
        // Of a few decisions the slowest is no percentile.
        if summary.admitted + summary.refused >= 100 {
            text += &format!(" on average, p99 {p99}");
        }
    }
    text
}
