//! Contracts as CSV: a header, then one contract a row: about latency, or about the bandwidth of a pair where `min` is given.

use std::borrow::Cow;

use super::collector::Collector;
use super::field::ContractField;
use super::terms::Terms;
use super::text::Text;
use crate::location::Span;
use crate::messages::{did_you_mean, nearest, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::rows::Rows;
use crate::source::Source;

const HEADER: &str = "name,from,to,rate,burst,deadline";

/// Reads all rows; the result is the name of the list.
pub(super) fn read<'a, T>(
    source: &'a Source,
    problems: &mut Problems<'_>,
    collector: &mut Collector<'a, '_, T>,
) -> Option<String> {
    let mut rows = Rows::new(source.text());
    read_rows(&mut rows, problems, collector);
    if let Some(span) = rows.open_quote {
        let message = "this quotation mark is never closed: everything up to the end of the file belongs to it";
        problems.overrule(ProblemKind::Syntax, span, || message);
    }
    Some(source.stem().to_owned())
}

fn read_rows<'a, T>(rows: &mut Rows<'a>, problems: &mut Problems<'_>, collector: &mut Collector<'a, '_, T>) {
    let mut row = Vec::new();
    if !rows.next(&mut row) {
        problems.report(ProblemKind::Empty, Span::default(), || {
            ("the file is empty: expected a header and one contract per row", format!("the header is {HEADER}"))
        });
        return;
    }
    let Some(columns) = columns(&row, problems) else { return };
    while rows.next(&mut row) {
        read_row(&row, &columns, problems, collector);
    }
}

/// Contents of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    /// A field of a contract; `from` and `to` are those of a pair as well.
    Field(ContractField),
    /// A key of the bandwidth of a pair.
    Pair(&'static str),
}

/// The keys of the bandwidth of a pair, without its ends.
const PAIR: [&str; 4] = ["min", "max", "weight", "within"];

impl Column {
    fn all() -> impl Iterator<Item = Self> {
        ContractField::columns().map(Self::Field).chain(PAIR.map(Self::Pair))
    }

    fn key(self) -> &'static str {
        match self {
            Self::Field(field) => field.key(),
            Self::Pair(key) => key,
        }
    }
}

/// Returns `true` for fields that a latency contract needs and a pair does not have.
fn is_of_latency(field: ContractField) -> bool {
    matches!(field, ContractField::Rate | ContractField::Burst | ContractField::Deadline)
}

/// Returns the field of each column.
fn columns(header: &[Text<'_>], problems: &mut Problems<'_>) -> Option<Vec<Column>> {
    let whole = header.first()?.span.to(header.last()?.span);
    if header.iter().all(|cell| ContractField::from_key(&cell.text).is_none()) {
        let message =
            || ("the first line is not a header: none of its fields is a known column", format!("it is {HEADER}"));
        problems.report(ProblemKind::MissingKey, whole, message);
        return None;
    }
    let mark = problems.mark();
    let mut columns = Vec::new();
    for cell in header {
        let Some(column) = Column::all().find(|column| column.key() == cell.text) else {
            problems.report(ProblemKind::UnknownKey, cell.span, || unknown_column(&cell.text));
            continue;
        };
        if columns.contains(&column) {
            let message = || format!("the column {} is given twice", quoted(column.key()));
            problems.report(ProblemKind::DuplicateKey, cell.span, message);
        }
        columns.push(column);
    }
    if problems.mark() > mark {
        return None;
    }
    // A list of pairs alone has no column of latency contracts.
    let has_pairs = ["min", "max"].into_iter().any(|key| columns.contains(&Column::Pair(key)));
    let has_latency = columns.iter().any(|column| matches!(column, Column::Field(field) if is_of_latency(*field)));
    let is_needed =
        |field: &ContractField| field.is_required() && (has_latency || !has_pairs || !is_of_latency(*field));
    let is_missing = |field: &ContractField| is_needed(field) && !columns.contains(&Column::Field(*field));
    for field in ContractField::ALL.into_iter().filter(is_missing) {
        let message = || format!("the header has no column {}", quoted(field.key()));
        problems.report(ProblemKind::MissingKey, whole, message);
    }
    (problems.mark() == mark).then_some(columns)
}

fn unknown_column(name: &str) -> (String, String) {
    if ContractField::from_key(name).is_some_and(ContractField::is_mapping) {
        let message = format!("{} is a mapping and cannot be a column", quoted(name));
        return (message, "write the contracts as YAML or JSON".to_owned());
    }
    let keys: Vec<&str> = Column::all().map(Column::key).collect();
    let near = nearest(name, keys.iter().copied());
    let message = format!("unknown column {}{}", quoted(name), did_you_mean(near));
    (message, format!("the columns are {}", keys.join(", ")))
}

fn read_row<'a, T>(
    row: &[Text<'a>],
    columns: &[Column],
    problems: &mut Problems<'_>,
    collector: &mut Collector<'a, '_, T>,
) {
    let (Some(first), Some(last)) = (row.first(), row.last()) else { return };
    let whole = first.span.to(last.span);
    if row.len() != columns.len() {
        let (given, expected) = (row.len(), columns.len());
        let message = || format!("this row has {given} fields, and the header has {expected}");
        problems.report(ProblemKind::Syntax, whole, message);
        return;
    }
    let mark = problems.mark();
    let mut terms = Terms::new(whole, collector.given);
    let cells = || row.iter().zip(columns).filter(|(cell, _)| !cell.text.is_empty());
    let pair: Vec<(&'static str, Text<'a>)> = cells()
        .filter_map(|(cell, column)| if let Column::Pair(key) = column { Some((*key, cell.clone())) } else { None })
        .collect();
    let is_end = |field| matches!(field, ContractField::From | ContractField::To);
    for (cell, &column) in row.iter().zip(columns) {
        let Column::Field(field) = column else { continue };
        if cell.text.is_empty() {
            if field.is_required() && (pair.is_empty() || !is_of_latency(field)) {
                problems.report(ProblemKind::MissingKey, cell.span, || format!("{} is empty", quoted(field.key())));
            }
            continue;
        }
        // The ends of a pair belong to its bandwidth.
        if !pair.is_empty() && is_end(field) {
            continue;
        }
        if field == ContractField::Route {
            hops(cell).into_iter().for_each(|hop| terms.add_hop(hop));
        }
        terms.set(field, cell.clone());
    }
    if !pair.is_empty() {
        let ends = cells().filter_map(|(cell, column)| match column {
            Column::Field(field) if is_end(*field) => Some((field.key(), cell.clone())),
            _ => None,
        });
        terms.set_pair(whole, ends.chain(pair.iter().cloned()).collect(), problems);
    }
    collector.add(&terms, problems, mark);
}

/// The hops of a route, separated by spaces.
fn hops<'a>(cell: &Text<'a>) -> Vec<Text<'a>> {
    let mut hops = Vec::new();
    // A quoted text was copied, and begins one byte later.
    let mut at = usize::from(matches!(cell.text, Cow::Owned(_)));
    for word in cell.text.split(' ') {
        if !word.is_empty() {
            let span = cell.span.part(at..at + word.len());
            hops.push(Text { text: Cow::Owned(word.to_owned()), span });
        }
        at += word.len() + 1;
    }
    hops
}
