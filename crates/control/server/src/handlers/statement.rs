//! `/v1/tenants/{tenant}/statement`: minutes in which a tenant's contracts were kept, broken, or not observed.

use std::sync::Arc;

use wayleave_protocol::load::{ContractStatement, Statement, StatementEvent, StatementMinutes};
use wayleave_protocol::problem::{Code, Problem};
use wayleave_store::RecordedContract;
use wayleave_units::WallTime;

use crate::answer::{HttpReply, Outcome, invalid, problem};
use crate::clock::wall;
use crate::handlers::load_history::{is_csv, shown_tenant};
use crate::http::call::AuthorizedRequest;
use crate::http::csv::Csv;
use crate::load::{MINUTE_NS, Sums, sums};
use crate::state::Shared;

/// Maximum number of contracts in a statement; CSV has all.
const MAX_CONTRACTS: usize = 1_000;

pub(crate) fn get(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let is_csv = is_csv(call)?;
    let tenant = shown_tenant(shared, call)?;
    let now = wall();
    let present = now.to_string();
    let month = call.query.text("month").unwrap_or(present.get(..7).unwrap_or_default());
    let (from, to) = bounds(month)?;
    let (first, last) = (from.as_nanos() / MINUTE_NS, to.as_nanos() / MINUTE_NS);
    // The reason may name files: it is among the problems of the status, for operators.
    let text =
        "the statement is unknown: the recorded minutes cannot be read; the status of the controller names the problem";
    let unreadable = |_| problem(Code::Unavailable, text);
    let (contracts, recorded) = shared.load.contracts(&tenant, first, last).map_err(unreadable)?;
    // Minutes after the last recorded one are not over yet.
    let until = recorded.clamp(first, last);
    let Sums { tenant: minutes, contracts: each } = sums(&contracts, first, until);
    let shown = contracts.into_iter().zip(each).map(|(contract, minutes)| shape(&tenant, contract, minutes));
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
        until: WallTime::from_nanos(until.saturating_mul(MINUTE_NS)).to_string(),
        minutes,
        contracts: shown,
        omitted,
    };
    Ok(if is_csv { table(&statement).into_reply() } else { HttpReply::json(200, &statement) })
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
    let is_number = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = month.split_once('-').filter(|(year, month)| is_number(year, 4) && is_number(month, 2));
    let (year, number) = parts.ok_or_else(wrong)?;
    let year: u16 = year.parse().map_err(|_| wrong())?;
    let number: u8 = number.parse().map_err(|_| wrong())?;
    let begin = |year: u16, number: u8| format!("{year:04}-{number:02}-01T00:00:00Z").parse::<WallTime>();
    let (next_year, next) = if number == 12 { (year.saturating_add(1), 1) } else { (year, number.saturating_add(1)) };
    Ok((begin(year, number).map_err(|_| wrong())?, begin(next_year, next).map_err(|_| wrong())?))
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
        for wrong in ["2026", "2026-13", "2026-00", "26-1", "2026-1", "2026-+1", "9999-01", "2026-11-01", "äöü-11"] {
            assert!(text(wrong).unwrap_err().detail.contains("2026-11"), "{wrong}");
        }
    }
}
