//! `/v1/tenants/{tenant}/statement`: minutes in which a tenant's contracts were kept, broken, or not observed.

use std::sync::Arc;

use wayleave_protocol::load::{ContractStatement, Statement, StatementEvent, StatementMinutes, UncoveredPart};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_store::RecordedContract;
use wayleave_units::WallTime;

use crate::answer::{HttpReply, Outcome, invalid, problem};
use crate::handlers::load_history::{is_csv, shown_tenant};
use crate::http::call::AuthorizedRequest;
use crate::http::csv::Csv;
use crate::load::{MINUTE_NS, RecordedPeriod, Sums, sums};
use crate::state::Shared;

/// Maximum number of contracts in a statement; CSV has all.
const MAX_CONTRACTS: usize = 1_000;

pub(crate) fn get(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let is_csv = is_csv(call)?;
    let tenant = shown_tenant(shared, call)?;
    let now = shared.load.now().1;
    let present = now.to_string();
    let month = call.query.text("month").unwrap_or(present.get(..7).unwrap_or_default());
    let (from, to) = bounds(month)?;
    let (first, last) = (from.as_nanos() / MINUTE_NS, to.as_nanos() / MINUTE_NS);
    // The reason may name files: it is among the problems of the status, for operators.
    let text =
        "the statement is unknown: the recorded minutes cannot be read; the status of the controller names the problem";
    let unreadable = |_| problem(Code::Unavailable, text);
    let recorded = shared.load.contracts(&tenant, first, last).map_err(unreadable)?;
    let coverage = Coverage::new((first, last), &recorded, now.as_nanos() / MINUTE_NS);
    let (contracts, (begin, until)) = (recorded.contracts, coverage.range);
    let Sums { tenant: minutes, contracts: each } = sums(&contracts, begin, until);
    let minutes = StatementMinutes { unknown: minutes.unknown + coverage.unknown, ..minutes };
    let before = |contract: &RecordedContract| {
        let exists = contract.begun.max(first)..contract.ended.unwrap_or(begin).min(begin);
        exists.end.saturating_sub(exists.start)
    };
    let shown = contracts.into_iter().zip(each).map(|(contract, minutes)| {
        let minutes = StatementMinutes { unknown: minutes.unknown + before(&contract), ..minutes };
        shape(&tenant, contract, minutes)
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
        since: coverage.covered().map(|(begin, _)| time(begin)),
        until: coverage.covered().map(|(_, until)| time(until)),
        not_covered: coverage.parts,
        minutes,
        contracts: shown,
        omitted,
    };
    Ok(if is_csv { table(&statement).into_reply() } else { HttpReply::json(200, &statement) })
}

fn time(minute: u64) -> String {
    WallTime::from_nanos(minute.saturating_mul(MINUTE_NS)).to_string()
}

/// Minutes of a month that the record covers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Coverage {
    /// First minute, and the minute after the last one: equal ones if none is covered.
    range: (u64, u64),
    parts: Vec<UncoveredPart>,
    /// Minutes that count as unknown because they are not covered.
    unknown: u64,
}

/// Maximum number of minutes between the last recorded minute and the present one: a minute is decided in the next one.
const MAX_LAG: u64 = 2;
/// Reason of minutes that are not covered because they are in the future, or are being observed.
const NOT_OVER: &str = "not yet over";

impl Coverage {
    /// `now` is the present minute.
    fn new((first, last): (u64, u64), recorded: &RecordedPeriod, now: u64) -> Self {
        let until = recorded.until;
        let Some(began) = recorded.began else {
            let present = now.clamp(first, last);
            let parts = [(first, present, "nothing is recorded yet".to_owned()), (present, last, NOT_OVER.to_owned())];
            return Self { range: (first, first), parts: parts_of(parts), unknown: last - first };
        };
        let begin = began.clamp(first, last);
        let end = until.clamp(begin, last);
        // The controller was down, or could not write, if the record is far behind.
        let present = if now <= until + MAX_LAG { end } else { now.clamp(end, last) };
        let parts = [
            (first, begin, format!("before the record began on {}", time(began))),
            (end, present, format!("not recorded: the record ends on {}", time(until))),
            (present, last, NOT_OVER.to_owned()),
        ];
        let unknown = if begin < end { begin - first } else { last - first };
        Self { range: (begin, end), parts: parts_of(parts), unknown }
    }

    fn covered(&self) -> Option<(u64, u64)> {
        Some(self.range).filter(|(begin, end)| begin < end)
    }
}

/// Returns the parts that are not empty.
fn parts_of<const N: usize>(parts: [(u64, u64, String); N]) -> Vec<UncoveredPart> {
    let parts = parts.into_iter().filter(|(from, to, _)| from < to);
    parts.map(|(from, to, reason)| UncoveredPart { from: time(from), to: time(to), reason }).collect()
}

/// Returns `true` if a contract existed in a recorded minute, or has changed its state.
fn is_counted(contract: &ContractStatement) -> bool {
    let StatementMinutes { kept, broken, unknown } = contract.minutes;
    kept + broken + unknown > 0 || !contract.events.is_empty()
}

fn shape(tenant: &str, contract: RecordedContract, minutes: StatementMinutes) -> ContractStatement {
    let event = |(at, kind, text)| StatementEvent { at: WallTime::from_nanos(at).to_string(), kind, text };
    ContractStatement {
        contract: format!("{tenant}:{}", contract.name),
        minutes,
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

/// Returns the minutes of each contract, and then of the tenant.
fn table(statement: &Statement) -> Csv {
    let mut csv = Csv::new(&["contract", "kept", "broken", "unknown"]);
    let all = statement.contracts.iter().map(|one| (one.contract.as_str(), one.minutes));
    for (contract, minutes) in all.chain([(statement.tenant.as_str(), statement.minutes)]) {
        csv.text(contract);
        [minutes.kept, minutes.broken, minutes.unknown].into_iter().for_each(|count| csv.value(Some(count)));
        csv.end_line();
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A month from minute 100 to 200. Each part: begin, end, and the first word of its reason.
    #[test]
    fn parts_that_are_not_covered_are_named_and_adjoin_the_covered_part() {
        let coverage = |began: Option<u64>, until: u64, now: u64| {
            let recorded = RecordedPeriod { began, until, ..RecordedPeriod::default() };
            let coverage = Coverage::new((100, 200), &recorded, now);
            let part = |part: UncoveredPart| {
                let minute = |time: &str| time.parse::<WallTime>().unwrap().as_nanos() / MINUTE_NS;
                (minute(&part.from), minute(&part.to), part.reason)
            };
            (coverage.covered(), coverage.parts.into_iter().map(part).collect::<Vec<_>>(), coverage.unknown)
        };
        let part = |from, to, reason: &str| (from, to, reason.to_owned());
        let over = |from| part(from, 200, "not yet over");
        let before = |to| part(100, to, "before the record began on 1970-01-01T02:30:00Z");
        assert_eq!(coverage(Some(50), 300, 301), (Some((100, 200)), vec![], 0));
        assert_eq!(coverage(Some(50), 180, 181), (Some((100, 180)), vec![over(180)], 0));
        assert_eq!(coverage(Some(150), 180, 182), (Some((150, 180)), vec![before(150), over(180)], 50));
        let down = |from, to, at: &str| part(from, to, &format!("not recorded: the record ends on 1970-01-01T{at}Z"));
        assert_eq!(coverage(Some(50), 180, 190), (Some((100, 180)), vec![down(180, 190, "03:00:00"), over(190)], 0));
        assert_eq!(coverage(Some(50), 80, 300), (None, vec![down(100, 200, "01:20:00")], 100));
        assert_eq!(coverage(Some(50), 80, 81), (None, vec![over(100)], 100));
        assert_eq!(
            coverage(Some(150), 151, 90),
            (Some((150, 151)), vec![before(150), over(151)], 50),
            "a clock set back"
        );
        let earlier = |began: &str| part(100, 200, &format!("before the record began on 1970-01-01T{began}Z"));
        assert_eq!(coverage(Some(300), 400, 401), (None, vec![earlier("05:00:00")], 100));
        assert_eq!(coverage(None, 0, 150), (None, vec![part(100, 150, "nothing is recorded yet"), over(150)], 100));
        assert_eq!(coverage(None, 0, 50), (None, vec![over(100)], 100));
        assert_eq!(coverage(None, 0, 500), (None, vec![part(100, 200, "nothing is recorded yet")], 100));
    }
}
