//! Texts of agents: escaped and bounded before anything else of the controller sees them.
//!
//! An agent reports sentences about its node, and parts of them come from elsewhere: names of interfaces, messages of the kernel. A report with
//! such a text is not refused, because a node whose reports are refused counts as silent. Names of counters become labels of metrics, so only
//! those of [`CounterName`](is_counter_name)'s form are kept.

use std::collections::BTreeMap;

use serde_json::Value;
use wayleave_protocol::agent::Reports;
use wayleave_units::{escaped, is_plain};

/// Maximum number of sentences of one kind in a report. Agents of this version write one for each interface or contract that fails.
const MAX_SENTENCES: usize = 64;
/// Maximum characters of a text; the reason of an element that is down has the same limit.
const MAX_CHARACTERS: usize = 500;
/// Maximum number of counters of a host. This version has 24 (`Reason::ALL` in `dataplane`).
pub(crate) const MAX_COUNTERS: usize = 48;
/// Maximum characters of the name of a counter.
const MAX_COUNTER_NAME: usize = 32;

/// Counters of a host by name, and the number of counters left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HostCounters {
    pub(crate) known: BTreeMap<String, u64>,
    pub(crate) left_out: usize,
}

impl HostCounters {
    /// Counters that are kept of a report.
    pub(crate) fn of(node_reports: BTreeMap<String, u64>) -> Self {
        let all = node_reports.len();
        let known: BTreeMap<String, u64> =
            node_reports.into_iter().filter(|(name, _)| is_counter_name(name)).take(MAX_COUNTERS).collect();
        Self { left_out: all - known.len(), known }
    }
}

/// Returns `true` for 1 to 32 characters of `[a-z0-9-]`.
fn is_counter_name(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_COUNTER_NAME).contains(&name.len()) && name.bytes().all(is_known)
}

/// Returns a report with every text escaped, whichever field it is in, and with bounded sentences. `body` is the report as it was sent.
pub(crate) fn made_plain(reports: Reports, body: &[u8]) -> Reports {
    // Most reports are numbers: without an escape sequence and without other characters than ASCII there is nothing to do.
    let is_plain_json =
        body.iter().all(|&byte| (0x20..0x7f).contains(&byte) && byte != b'\\' || byte.is_ascii_whitespace());
    let mut reports = if is_plain_json { reports } else { escape_all(reports) };
    bound(&mut reports.repairs, "repairs");
    if let Some(troubles) = &mut reports.troubles {
        bound(troubles, "problems");
    }
    for problem in reports.contract_problems.iter_mut().flatten() {
        problem.why = shortened(std::mem::take(&mut problem.why));
    }
    for check in reports.checks.iter_mut().flatten() {
        check.trouble = check.trouble.take().map(shortened);
    }
    reports
}

/// Escapes all strings of a report. One that cannot be read again after that has lost its texts, and is reported without them.
fn escape_all(reports: Reports) -> Reports {
    let Ok(mut value) = serde_json::to_value(&reports) else {
        return Reports { epoch: reports.epoch, ..Reports::default() };
    };
    escape(&mut value);
    serde_json::from_value(value).unwrap_or_else(|_| Reports { epoch: reports.epoch, ..Reports::default() })
}

fn escape(value: &mut Value) {
    match value {
        Value::String(text) if !is_plain(text) => *text = escaped(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(escape),
        Value::Object(members) => {
            let old = std::mem::take(members);
            members.extend(old.into_iter().map(|(key, mut value)| {
                escape(&mut value);
                (escaped(&key).into_owned(), value)
            }));
        }
        _ => {}
    }
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn bound(sentences: &mut Vec<String>, what: &str) {
    let more = sentences.len().saturating_sub(MAX_SENTENCES);
    sentences.truncate(MAX_SENTENCES);
    for sentence in sentences.iter_mut() {
        *sentence = shortened(std::mem::take(sentence));
    }
    if more > 0 {
        sentences.push(format!("{more} more {what} omitted: a report has at most {MAX_SENTENCES}"));
    }
}
