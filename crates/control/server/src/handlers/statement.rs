//! `/v1/tenants/{tenant}/statement`: minutes in which a tenant's contracts were kept, broken, or not observed.

use std::sync::Arc;

use wayleave_protocol::load::{
    ContractStatement, Statement, StatementEvent, StatementMinutes, UncoveredPart, UnknownMinutes,
};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_store::RecordedContract;
use wayleave_units::WallTime;

use crate::answer::{HttpReply, Outcome, invalid, problem};
use crate::handlers::load_history::{is_csv, shown_tenant};
use crate::http::call::AuthorizedRequest;
use crate::http::csv::Csv;
use crate::load::{ContractMinutes, MINUTE_NS, MINUTE_S, RecordedPeriod, Sums, sums};
use crate::state::Shared;

/// Maximum number of contracts in a statement; CSV has all.
const MAX_CONTRACTS: usize = 1_000;

pub(crate) fn get(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let is_csv = is_csv(call)?;
    let (tenant, created_after) = shown_tenant(shared, call)?;
    let now = shared.load.now().1;
    let present = now.to_string();
    let month = call.query.text("month").unwrap_or(present.get(..7).unwrap_or_default());
    let (from, to) = bounds(month)?;
    let (first, last) = (from.as_nanos() / MINUTE_NS, to.as_nanos() / MINUTE_NS);
    // The reason may name files: it is among the problems of the status, for operators.
    let text =
        "the statement is unknown: the recorded minutes cannot be read; the status of the controller names the problem";
    let unreadable = |_| problem(Code::Unavailable, text);
    // The record may have contracts of an earlier tenant, which was deleted while another controller led.
    let recorded = shared.load.contracts(&tenant, created_after, first, last).map_err(unreadable)?;
    let coverage = Coverage::new((first, last), &recorded, now.as_nanos() / MINUTE_NS);
    let (contracts, (begin, until)) = (recorded.contracts, coverage.range);
    let Sums { tenant: minutes, contracts: each } = sums(&contracts, begin, until);
    let minutes = StatementMinutes { unknown: minutes.unknown + coverage.unknown, ..minutes };
    let before = |contract: &RecordedContract| {
        let exists = contract.begun.max(first)..contract.ended.unwrap_or(begin).min(begin);
        exists.end.saturating_sub(exists.start)
    };
    let shown = contracts.into_iter().zip(each).map(|(contract, minutes)| {
        let mut minutes = minutes;
        minutes.sum.unknown += before(&contract);
        shape(&tenant, (first, until), contract, minutes)
    });
    let mut shown: Vec<ContractStatement> = shown.filter(is_counted).collect();
    let most = if is_csv { usize::MAX } else { MAX_CONTRACTS };
    let omitted = shown.len().saturating_sub(most) as u64;
    // If not all are shown, then those with the most broken minutes.
    if omitted > 0 {
        shown.sort_by(|one, other| (other.minutes.broken, &one.contract).cmp(&(one.minutes.broken, &other.contract)));
        shown.truncate(most);
        shown.sort_by(|one, other| one.contract.cmp(&other.contract));
    }
    let statement = Statement {
        tenant,
        month: month.to_owned(),
        from: from.to_string(),
        to: to.to_string(),
        since: coverage.covered.map(|(since, _)| time(since)),
        until: coverage.covered.map(|(_, until)| time(until)),
        not_covered: coverage.parts,
        minutes,
        contracts: shown,
        omitted,
    };
    Ok(if is_csv { table(&statement).into_reply() } else { HttpReply::json(200, &statement) })
}

fn time(seconds: u64) -> String {
    WallTime::from_nanos(seconds.saturating_mul(1_000_000_000)).to_string()
}

/// Minutes of a month that the record covers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Coverage {
    /// First minute, and the minute after the last one: equal ones if none is covered.
    range: (u64, u64),
    /// Begin and end of the covered part, in seconds since 1970. It may begin within the first minute.
    covered: Option<(u64, u64)>,
    parts: Vec<UncoveredPart>,
    /// Minutes that count as unknown because they are not covered.
    unknown: u64,
}

/// Maximum number of minutes between the last recorded minute and the present one: a minute is decided in the next one.
const MAX_LAG: u64 = 2;
/// Reason of minutes that are not covered because they are in the future, or are being observed.
const NOT_OVER: &str = "not yet over";
/// Reason of the minutes of a month in the future.
const NOT_BEGUN: &str = "not yet begun";
/// Reason of a gap within the record.
const GAP: &str = "not observed: the controller did not run or lead, could not write the record, or its clock was set";

impl Coverage {
    /// `now` is the present minute.
    fn new((first, last): (u64, u64), recorded: &RecordedPeriod, now: u64) -> Self {
        let until = recorded.until;
        let rest = if now < first && until <= first { NOT_BEGUN } else { NOT_OVER };
        let Some(began) = recorded.began else {
            let present = seconds(now.clamp(first, last));
            let parts = [
                (seconds(first), present, "nothing is recorded yet".to_owned()),
                (present, seconds(last), rest.to_owned()),
            ];
            return Self { range: (first, first), covered: None, parts: parts_of(parts), unknown: last - first };
        };
        let begin = began.clamp(first, last);
        let end = until.clamp(begin, last);
        // The controller was down, or could not write, if the record is far behind.
        let present = if now <= until + MAX_LAG { end } else { now.clamp(end, last) };
        let before = recorded.gaps.first().filter(|(begun, _)| *begun == 0).map_or(0, |(_, ended)| *ended);
        let began = seconds(began).max(before);
        let since = began.clamp(seconds(first), seconds(end));
        let gaps = recorded.gaps.iter().filter(|(begun, _)| *begun > 0);
        let gaps =
            gaps.map(|&(from, to)| (from.clamp(since, seconds(end)), to.clamp(since, seconds(end)), GAP.to_owned()));
        let parts = [(seconds(first), since, format!("before the record began on {}", time(began)))].into_iter();
        let parts = parts.chain(gaps).chain([
            (seconds(end), seconds(present), format!("not recorded: the record ends on {}", time(seconds(until)))),
            (seconds(present), seconds(last), rest.to_owned()),
        ]);
        let unknown = if begin < end { begin - first } else { last - first };
        let covered = Some((since, seconds(end))).filter(|(since, end)| since < end);
        Self { range: (begin, end), covered, parts: parts_of(parts), unknown }
    }
}

const fn seconds(minute: u64) -> u64 {
    minute.saturating_mul(MINUTE_S)
}

/// Returns the parts that are not empty, of begins and ends in seconds since 1970.
fn parts_of(parts: impl IntoIterator<Item = (u64, u64, String)>) -> Vec<UncoveredPart> {
    let parts = parts.into_iter().filter(|(from, to, _)| from < to);
    parts.map(|(from, to, reason)| UncoveredPart { from: time(from), to: time(to), reason }).collect()
}

/// Returns `true` if a contract existed in a recorded minute, or has changed its state.
fn is_counted(contract: &ContractStatement) -> bool {
    let StatementMinutes { kept, broken, unknown } = contract.minutes;
    kept + broken + unknown > 0 || !contract.events.is_empty()
}

/// Returns the statement of a contract for a period of minutes.
fn shape(
    tenant: &str,
    (first, until): (u64, u64),
    contract: RecordedContract,
    minutes: ContractMinutes,
) -> ContractStatement {
    let from = contract.begun.max(first);
    let to = contract.ended.unwrap_or(until).min(until).max(from);
    let event = |(at, kind, text)| StatementEvent { at: WallTime::from_nanos(at).to_string(), kind, text };
    ContractStatement {
        contract: format!("{tenant}:{}", contract.name),
        from: time(seconds(from)),
        to: time(seconds(to)),
        minutes: minutes.sum,
        unknown: minutes.unknown(),
        events: contract.changes.into_iter().map(event).collect(),
    }
}

/// Returns the begin and the end of a month.
fn bounds(month: &str) -> Result<(WallTime, WallTime), Box<Problem>> {
    let wrong = || invalid("month", "expected a year and a month such as 2026-11");
    // Times are 64-bit nanoseconds since 1970.
    let outside = || invalid("month", format!("{month} is outside the range of times: expected 1970-01 to 2554-06"));
    let is_number = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = month.split_once('-').filter(|(year, month)| is_number(year, 4) && is_number(month, 2));
    let (year, number) = parts.ok_or_else(wrong)?;
    let year: u16 = year.parse().map_err(|_| wrong())?;
    let number: u8 = number.parse().map_err(|_| wrong())?;
    let begin = |year: u16, number: u8| format!("{year:04}-{number:02}-01T00:00:00Z").parse::<WallTime>();
    let (next_year, next) = if number == 12 { (year.saturating_add(1), 1) } else { (year, number.saturating_add(1)) };
    if !(1..=12).contains(&number) {
        return Err(wrong());
    }
    Ok((begin(year, number).map_err(|_| outside())?, begin(next_year, next).map_err(|_| outside())?))
}

fn counts(StatementMinutes { kept, broken, unknown }: StatementMinutes) -> [Option<u64>; 3] {
    [kept, broken, unknown].map(Some)
}

/// Returns the statement with all its facts: the covered part of the month, the others with their reasons, the minutes of
/// each contract with its events, and the minutes of the tenant. The first column names the kind of a line.
fn table(statement: &Statement) -> Csv {
    let mut csv = Csv::new(&["line", "name", "from", "to", "kept", "broken", "unknown", "event", "text"]);
    let mut line =
        |kind: &str, name: &str, [from, to]: [&str; 2], counts: Option<[Option<u64>; 3]>, texts: [&str; 2]| {
            [kind, name, from, to].into_iter().for_each(|field| csv.text(field));
            counts.unwrap_or_default().into_iter().for_each(|count| csv.value(count));
            texts.into_iter().for_each(|field| csv.text(field));
            csv.end_line();
        };
    let Statement { tenant, from, to, .. } = statement;
    if let (Some(since), Some(until)) = (&statement.since, &statement.until) {
        line("covered", tenant, [since, until], None, ["", ""]);
    }
    for UncoveredPart { from, to, reason } in &statement.not_covered {
        line("not covered", tenant, [from, to], None, ["", reason]);
    }
    for ContractStatement { contract, from, to, minutes, unknown, events } in &statement.contracts {
        line("contract", contract, [from, to], Some(counts(*minutes)), ["", ""]);
        for UnknownMinutes { reason, minutes } in unknown {
            line("unknown", contract, ["", ""], Some([None, None, Some(*minutes)]), [reason.name(), ""]);
        }
        for StatementEvent { at, kind, text } in events {
            line("event", contract, [at, ""], None, [kind, text]);
        }
    }
    line("tenant", tenant, [from, to], Some(counts(statement.minutes)), ["", ""]);
    csv
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_protocol::load::UnknownReason;

    #[test]
    fn a_month_begins_and_ends_in_utc() {
        let text = |month: &str| bounds(month).map(|(from, to)| (from.to_string(), to.to_string()));
        let expected = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(text("2026-11").unwrap(), expected("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"));
        assert_eq!(text("2026-12").unwrap(), expected("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"));
        for wrong in ["2026", "2026-13", "2026-00", "26-1", "2026-1", "2026-+1", "2026-11-01", "äöü-11", "9999-13"] {
            assert!(text(wrong).unwrap_err().detail.contains("such as 2026-11"), "{wrong}");
        }
        for outside in ["9999-12", "9999-01", "0001-01", "0000-01", "1969-12", "2554-07"] {
            assert!(text(outside).unwrap_err().detail.contains("1970-01 to 2554-06"), "{outside}");
        }
        assert!(text("1970-01").is_ok() && text("2554-06").is_ok());
    }

    /// A month from minute 100 to 200. Each part: begin and end in seconds, and its reason. Gaps are in seconds.
    #[test]
    fn parts_that_are_not_covered_are_named_and_adjoin_the_covered_part() {
        let with = |began: Option<u64>, until: u64, gaps: &[(u64, u64)], now: u64| {
            let recorded = RecordedPeriod { began, until, gaps: gaps.to_vec(), ..RecordedPeriod::default() };
            let coverage = Coverage::new((100, 200), &recorded, now);
            let second = |time: &str| time.parse::<WallTime>().unwrap().as_nanos() / 1_000_000_000;
            let part = |part: UncoveredPart| (second(&part.from), second(&part.to), part.reason);
            (coverage.covered, coverage.parts.into_iter().map(part).collect::<Vec<_>>(), coverage.unknown)
        };
        let coverage = |began, until, now| with(began, until, &[], now);
        let part = |from: u64, to: u64, reason: &str| (60 * from, 60 * to, reason.to_owned());
        let covered = |from: u64, to: u64| Some((60 * from, 60 * to));
        let over = |from| part(from, 200, "not yet over");
        let to_come = part(100, 200, "not yet begun");
        let before = |to| part(100, to, "before the record began on 1970-01-01T02:30:00Z");
        assert_eq!(coverage(Some(50), 300, 301), (covered(100, 200), vec![], 0));
        assert_eq!(coverage(Some(50), 180, 181), (covered(100, 180), vec![over(180)], 0));
        assert_eq!(coverage(Some(150), 180, 182), (covered(150, 180), vec![before(150), over(180)], 50));
        let down = |from, to, at: &str| part(from, to, &format!("not recorded: the record ends on 1970-01-01T{at}Z"));
        assert_eq!(coverage(Some(50), 180, 190), (covered(100, 180), vec![down(180, 190, "03:00:00"), over(190)], 0));
        assert_eq!(coverage(Some(50), 80, 300), (None, vec![down(100, 200, "01:20:00")], 100));
        assert_eq!(coverage(Some(50), 80, 81), (None, vec![to_come.clone()], 100));
        assert_eq!(
            coverage(Some(150), 151, 90),
            (covered(150, 151), vec![before(150), over(151)], 50),
            "a clock set back"
        );
        let earlier = |began: &str| part(100, 200, &format!("before the record began on 1970-01-01T{began}Z"));
        assert_eq!(coverage(Some(300), 400, 401), (None, vec![earlier("05:00:00")], 100));
        assert_eq!(coverage(None, 0, 150), (None, vec![part(100, 150, "nothing is recorded yet"), over(150)], 100));
        assert_eq!(coverage(None, 0, 50), (None, vec![to_come], 100));
        assert_eq!(coverage(None, 0, 500), (None, vec![part(100, 200, "nothing is recorded yet")], 100));
        // The record began within minute 150, and has a gap up to the middle of minute 170.
        let gap = (9_600, 10_230, GAP.to_owned());
        let begins = (6_000, 9_007, "before the record began on 1970-01-01T02:30:07Z".to_owned());
        let gaps = [(0, 9_007), (9_600, 10_230)];
        assert_eq!(
            with(Some(150), 180, &gaps, 181),
            (Some((9_007, 10_800)), vec![begins, gap, over(180)], 50),
            "the first covered moment"
        );
        // Gaps across the ends of the month.
        let across = [(5_000, 6_600), (11_900, 12_600)];
        let gap = |from, to| (from, to, GAP.to_owned());
        assert_eq!(
            with(Some(50), 300, &across, 301),
            (covered(100, 200), vec![gap(6_000, 6_600), gap(11_900, 12_000)], 0)
        );
    }

    /// The page, CSV and REST have the same facts.
    #[test]
    fn a_table_has_every_fact_of_a_statement() {
        let text = |prefix: &str| format!("{prefix}!");
        let event = StatementEvent { at: text("at"), kind: text("kind"), text: text("text") };
        let minutes = |kept| StatementMinutes { kept, broken: kept + 1, unknown: kept + 2 };
        let contract = ContractStatement {
            contract: text("contract"),
            from: text("contract-from"),
            to: text("contract-to"),
            minutes: minutes(71),
            unknown: vec![UnknownMinutes { reason: UnknownReason::AgentSilent, minutes: 91 }],
            events: vec![event],
        };
        let part = UncoveredPart { from: text("part-from"), to: text("part-to"), reason: text("reason") };
        let statement = Statement {
            tenant: text("tenant"),
            month: String::new(),
            from: text("from"),
            to: text("to"),
            since: Some(text("since")),
            until: Some(text("until")),
            not_covered: vec![part],
            minutes: minutes(81),
            contracts: vec![contract],
            omitted: 0,
        };
        let csv = table(&statement);
        let mut leaves = vec![serde_json::to_value(&statement).unwrap()];
        // `omitted` is 0 in CSV.
        leaves[0].as_object_mut().unwrap().retain(|key, _| !["month", "omitted"].contains(&key.as_str()));
        while let Some(value) = leaves.pop() {
            match value {
                serde_json::Value::Object(members) => leaves.extend(members.into_values()),
                serde_json::Value::Array(items) => leaves.extend(items),
                serde_json::Value::String(leaf) => assert!(csv.lines().contains(&leaf), "{leaf}: {}", csv.lines()),
                leaf => assert!(csv.lines().contains(&format!(",{leaf}")), "{leaf}: {}", csv.lines()),
            }
        }
    }
}
