//! Benchmark tables as CSV: a header, then in each row one combination of the six dimensions with its measurements.
//!
//! A person can fill one by measuring a switch; `wayleave characterize-switch` writes one for a simulated switch.

use std::collections::HashMap;
use std::fmt::Write;
use std::str::FromStr;

use wayleave_topology::devices::{Action, Case, MatchType, Measurement, PacketScenario, Priorities, Table, UsedEntry};
use wayleave_units::{Bytes, ParseUnitError, Rate, Time};

use crate::contracts::Text;
use crate::location::Span;
use crate::messages::{did_you_mean, nearest, one_of, quoted};
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::rows::Rows;
use crate::source::Source;

const COLUMNS: [&str; 9] =
    ["entries", "match", "action", "used", "priorities", "packet", "throughput", "delay", "buffer"];

/// Reads a benchmark table: CSV with the columns `entries,match,action,used,priorities,packet` (the six dimensions,
/// in words and numbers of the slides) and `throughput,delay,buffer` (a rate, a time, and a number of packets), in
/// any order. Lines that begin with `#` are skipped.
///
/// ```
/// use wayleave_topology::devices::{PacketScenario, Table};
/// use wayleave_formats::{Source, read_benchmark};
/// let text = "entries,match,action,used,priorities,packet,throughput,delay,buffer\n\
///             17,five-tuple,output,last,decreasing,306B,11.84Mbit,0.462ms,8\n";
/// let table = read_benchmark(&Source::new("table.csv", text))?;
/// assert_eq!(table.worst(&PacketScenario::proof_of_concept())?.buffer.0.get(), 2448);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All problems of the file, in order of position: an unknown column or word, a malformed value, a duplicate
/// combination. A missing combination is no error here.
pub fn read_benchmark(source: &Source) -> Result<Table, InputErrors> {
    let mut problems = Problems::new(source);
    let table = read(source, &mut problems);
    problems.finish(table)
}

/// The table as CSV, as [`read_benchmark`] reads it.
pub fn write_benchmark(table: &Table) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for (case, measurement) in table.iter() {
        let Case { entries, match_type, action, used, priorities, packet } = case;
        let Measurement { throughput, delay, buffer } = measurement;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{entries},{match_type},{action},{used},{priorities},{}B,{throughput},{delay},{buffer}",
            packet.get()
        );
    }
    text
}

/// Parses a scenario of a device on one line: `proof-of-concept`, `whole`, or values of the dimensions, such as
/// `entries=1+17,match=five-tuple,action=output,used=last,priorities=decreasing,packet=306B`. A dimension that is
/// left out has all its values.
///
/// ```
/// use wayleave_formats::parse_device_scenario;
/// let scenario = parse_device_scenario("entries=17,match=five-tuple+all,packet=306B")?;
/// assert_eq!(scenario.cases().count(), 2 * 8 * 2 * 2);
/// assert!(parse_device_scenario("match=five").unwrap_err().contains("five-tuple"));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// An unknown dimension or value, with the expected ones.
pub fn parse_device_scenario(text: &str) -> Result<PacketScenario, String> {
    text.parse()
}

fn read(source: &Source, problems: &mut Problems<'_>) -> Option<Table> {
    let mut rows = Rows::new(source.text());
    let mut row = Vec::new();
    if !rows.next(&mut row) {
        problems.report(ProblemKind::Empty, Span::default(), || {
            ("the file is empty: expected a header and one combination per row", header_hint())
        });
        return None;
    }
    let columns = columns(&row, problems)?;
    let mut table = Table::default();
    let mut seen: HashMap<Case, Span> = HashMap::new();
    while rows.next(&mut row) {
        let (Some(first), Some(last)) = (row.first(), row.last()) else { continue };
        let whole = first.span.to(last.span);
        if first.text.starts_with('#') || (row.len() == 1 && first.text.is_empty()) {
            continue;
        }
        if row.len() != columns.len() {
            let (given, expected) = (row.len(), columns.len());
            let message = || format!("this row has {given} fields, and the header has {expected}");
            problems.report(ProblemKind::Syntax, whole, message);
            continue;
        }
        let Some((case, measurement)) = Cells { row: &row, columns: &columns }.measurement(problems) else { continue };
        if let Some(&before) = seen.get(&case) {
            let line = source.line_of(before);
            let message = || format!("this combination is already in line {line}: expected one row for each");
            problems.report(ProblemKind::DuplicateKey, whole, message);
        }
        seen.insert(case, whole);
        table.enter(case, measurement);
    }
    Some(table)
}

fn header_hint() -> String {
    format!("the header is {}", COLUMNS.join(","))
}

/// Returns the column of each cell of a row.
fn columns(header: &[Text<'_>], problems: &mut Problems<'_>) -> Option<Vec<usize>> {
    let whole = header.first()?.span.to(header.last()?.span);
    let mark = problems.mark();
    let mut columns = Vec::new();
    for cell in header {
        match COLUMNS.iter().position(|column| *column == cell.text) {
            Some(column) if columns.contains(&column) => {
                let message = || format!("the column {} is given twice", quoted(&cell.text));
                problems.report(ProblemKind::DuplicateKey, cell.span, message);
            }
            Some(column) => columns.push(column),
            None => problems.report(ProblemKind::UnknownKey, cell.span, || {
                let near = did_you_mean(nearest(&cell.text, COLUMNS));
                (format!("unknown column {}{near}", quoted(&cell.text)), header_hint())
            }),
        }
    }
    if problems.mark() == mark {
        for (_, name) in COLUMNS.iter().enumerate().filter(|(column, _)| !columns.contains(column)) {
            let message = || (format!("the header has no column {}", quoted(name)), header_hint());
            problems.report(ProblemKind::MissingKey, whole, message);
        }
    }
    (problems.mark() == mark).then_some(columns)
}

/// A row whose columns are known.
struct Cells<'r, 'a> {
    row: &'r [Text<'a>],
    columns: &'r [usize],
}

impl Cells<'_, '_> {
    fn cell(&self, name: &str) -> Option<&Text<'_>> {
        let column = COLUMNS.iter().position(|column| *column == name)?;
        self.row.get(self.columns.iter().position(|known| *known == column)?)
    }

    fn measurement(&self, problems: &mut Problems<'_>) -> Option<(Case, Measurement)> {
        // All are read before any is missed, so that all mistakes of a row are reported.
        let entries = self.count("entries", problems);
        let match_type = self.word("match", MatchType::from_word, MatchType::WORDS, problems);
        let action = self.word("action", Action::from_word, Action::WORDS, problems);
        let used = self.word("used", UsedEntry::from_word, UsedEntry::WORDS, problems);
        let priorities = self.word("priorities", Priorities::from_word, Priorities::WORDS, problems);
        let packet = self.quantity::<Bytes>("packet", |packet| packet > Bytes::ZERO, problems);
        let throughput = self.quantity::<Rate>("throughput", |rate| rate > Rate::ZERO, problems);
        let delay = self.quantity::<Time>("delay", |_| true, problems);
        let buffer = self.count("buffer", problems);
        let case = Case {
            entries: entries?,
            match_type: match_type?,
            action: action?,
            used: used?,
            priorities: priorities?,
            packet: packet?,
        };
        Some((case, Measurement { throughput: throughput?, delay: delay?, buffer: buffer? }))
    }

    fn count(&self, name: &str, problems: &mut Problems<'_>) -> Option<u32> {
        let cell = self.cell(name)?;
        let number = cell.text.parse().ok().filter(|&number: &u32| number > 0);
        if number.is_none() {
            let message = || format!("{name} is {}: expected a whole number above 0", quoted(&cell.text));
            problems.report(ProblemKind::BadValue, cell.span, message);
        }
        number
    }

    fn word<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        words: &[&str],
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        let cell = self.cell(name)?;
        let value = read(&cell.text);
        if value.is_none() {
            problems.report(ProblemKind::BadValue, cell.span, || {
                let near = did_you_mean(nearest(&cell.text, words.iter().copied()));
                format!("{name} is {}: expected {}{near}", quoted(&cell.text), one_of(words))
            });
        }
        value
    }

    fn quantity<T: FromStr<Err = ParseUnitError> + Copy>(
        &self,
        name: &str,
        is_possible: impl Fn(T) -> bool,
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        let cell = self.cell(name)?;
        let value = match cell.text.parse::<T>() {
            Ok(value) if is_possible(value) => return Some(value),
            Ok(_) => format!("{name} is {}: expected more than zero", quoted(&cell.text)),
            Err(error) => format!("{name}: {error}"),
        };
        problems.report(ProblemKind::BadValue, cell.span, || value);
        None
    }
}
