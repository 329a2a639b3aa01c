//! `/v1/links/{link}/history`, `/v1/contracts/{contract}/history` and `/v1/tenants/{tenant}/history`: measured and
//! reserved rates over time.

use std::sync::Arc;

use wayleave_protocol::load::{LoadHistory, LoadPoint};
use wayleave_protocol::problem::Problem;
use wayleave_units::WallTime;

use crate::answer::{HttpReply, Outcome, invalid, not_found};
use crate::http::call::AuthorizedRequest;
use crate::http::csv::Csv;
use crate::load::{MINUTE_S, Point, SLOT_S, SeriesKey};
use crate::state::Shared;

/// Maximum number of points.
const MAX_POINTS: u64 = 500;
/// Retention of histories, in seconds: `CHUNK_RETENTION` of the store. An hour more, for clients whose clock is behind.
const RETENTION_S: u64 = 7 * 24 * 3600 + 3600;
/// Length of a history without parameters, in seconds.
const LENGTH_S: u64 = 3600;

pub(crate) fn of_link(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let link = shared.link(call.name())?;
    history(shared, call, &SeriesKey::Link(link))
}

pub(crate) fn of_contract(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let id = call.id("contract")?;
    let serial = shared.view.read().contract(&id).map(|contract| contract.grant().serial);
    let serial = serial.ok_or_else(|| not_found("contract", &id.to_string()))?;
    history(shared, call, &SeriesKey::Contract(serial))
}

pub(crate) fn of_tenant(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let (name, created_after) = shown_tenant(shared, call)?;
    history(shared, call, &SeriesKey::Tenant(name, created_after))
}

/// Returns the tenant that a path names, if there is one and the token may see it, and the serial number up to which
/// contracts are of an earlier tenant with its name.
pub(crate) fn shown_tenant(shared: &Shared, call: &AuthorizedRequest) -> Result<(String, u64), Box<Problem>> {
    let name = call.name();
    let is_hidden = call.only_tenant().is_some_and(|tenant| tenant != name);
    let tables = shared.view.read();
    let found = tables.tenants.get(name).filter(|_| !is_hidden);
    found.map(|tenant| (name.to_owned(), tenant.created_after)).ok_or_else(|| not_found("tenant", name))
}

/// Returns `true` if the answer is to be CSV.
pub(crate) fn is_csv(call: &AuthorizedRequest) -> Result<bool, Box<Problem>> {
    match call.query.text("format") {
        None | Some("json") => Ok(false),
        Some("csv") => Ok(true),
        Some(_) => Err(invalid("format", "expected json or csv")),
    }
}

fn history(shared: &Shared, call: &AuthorizedRequest, key: &SeriesKey) -> Outcome {
    let is_csv = is_csv(call)?;
    let mut range = Range::read(call, shared.load.now().1)?;
    // Before the points of ten seconds there are minutes on disk.
    let is_older = shared.load.fine_since(key).is_none_or(|since| range.from < since);
    if is_older && call.query.text("step").is_none() {
        range = range.in_minutes();
    }
    let Range { from, to, step } = range;
    let time = |seconds: u64| WallTime::from_nanos(seconds.saturating_mul(1_000_000_000)).to_string();
    let shape = |(at, point): (u64, Point)| LoadPoint {
        at: time(at),
        mean_bps: point.mean(),
        max_bps: point.max(),
        reserved_bps: point.reserved(),
        unreported: u64::from(point.unreported),
    };
    let times = (0..).map(|number| from + number * step);
    let history = LoadHistory {
        from: time(from),
        to: time(to),
        step_seconds: step,
        since: shared.load.since(shared.network(), key).map(time),
        points: times.zip(shared.load.points(shared.network(), key, from, to, step)).map(shape).collect(),
    };
    Ok(if is_csv { table(&history).into_reply() } else { HttpReply::json(200, &history) })
}

fn table(history: &LoadHistory) -> Csv {
    let mut csv = Csv::new(&["at", "meanBps", "maxBps", "reservedBps", "unreported"]);
    for LoadPoint { at, mean_bps, max_bps, reserved_bps, unreported } in &history.points {
        csv.text(at);
        [mean_bps, max_bps, reserved_bps].into_iter().for_each(|rate| csv.value(*rate));
        csv.value(Some(unreported));
        csv.end_line();
    }
    csv
}

/// Interval of a history, in seconds since 1970: whole steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    from: u64,
    to: u64,
    step: u64,
}

impl Range {
    fn read(call: &AuthorizedRequest, now: WallTime) -> Result<Self, Box<Problem>> {
        let time = |name: &str| {
            let parsed = call.query.text(name).map(str::parse::<WallTime>).transpose();
            parsed.map_err(|error| invalid(name, error.to_string()))
        };
        Self::new(time("from")?, time("to")?, call.query.number("step"), now)
    }

    fn new(
        from: Option<WallTime>,
        to: Option<WallTime>,
        step: Option<u64>,
        now: WallTime,
    ) -> Result<Self, Box<Problem>> {
        let seconds = |time: WallTime| time.as_nanos() / 1_000_000_000;
        // Nothing is known of the future.
        let now = seconds(now);
        let end = to.map_or(now, seconds).min(now);
        let begin = from.map_or(end.saturating_sub(LENGTH_S), seconds);
        if begin > end {
            let before = if to.is_some() { "before `to` and before now" } else { "before now" };
            return Err(invalid("from", format!("it is after the end of the history: expected a time {before}")));
        }
        let oldest = now.saturating_sub(RETENTION_S);
        if begin < oldest {
            // Without `from`, the begin follows from the end.
            let (name, earliest) = if from.is_some() { ("from", oldest) } else { ("to", oldest + LENGTH_S) };
            let earliest = WallTime::from_nanos(earliest.saturating_mul(1_000_000_000));
            return Err(invalid(name, format!("histories are retained for 7 days: expected {earliest} or later")));
        }
        let (from, to) = (begin, end);
        let length = to - from;
        let step = match step {
            Some(step) if !step.is_multiple_of(SLOT_S) || (step > MINUTE_S && !step.is_multiple_of(MINUTE_S)) => {
                return Err(invalid("step", "expected 10, 20, 30 or a multiple of 60 seconds"));
            }
            Some(step) if !MINUTE_S.is_multiple_of(step) && step < MINUTE_S => {
                return Err(invalid("step", "expected 10, 20, 30 or a multiple of 60 seconds"));
            }
            Some(step) if length.div_ceil(step) > MAX_POINTS => {
                let least = Self::least_step(length);
                return Err(invalid(
                    "step",
                    format!("a history has at most {MAX_POINTS} points: expected {least} or more"),
                ));
            }
            Some(step) => step,
            None => Self::least_step(length),
        };
        // Of a step that is not over, the load is not known.
        Ok(Self { from: from / step * step, to: to.div_ceil(step) * step, step })
    }

    /// Returns the range in steps of at least a minute.
    fn in_minutes(self) -> Self {
        let step = self.step.max(MINUTE_S);
        Self { from: self.from / step * step, to: self.to.div_ceil(step) * step, step }
    }

    /// Returns the shortest step with which a length has few enough points.
    fn least_step(length: u64) -> u64 {
        let least = length.div_ceil(MAX_POINTS);
        let fine = [SLOT_S, 2 * SLOT_S, 3 * SLOT_S].into_iter().find(|&step| least <= step);
        fine.unwrap_or_else(|| least.div_ceil(MINUTE_S).max(1) * MINUTE_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> WallTime {
        WallTime::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_range_has_at_most_500_points_of_whole_steps() {
        let range = |from: u64, to: u64, step| Range::new(Some(at(from)), Some(at(to)), step, at(604_800));
        assert_eq!(range(1_003, 1_047, None).unwrap(), Range { from: 1_000, to: 1_050, step: 10 });
        assert_eq!(range(0, 86_400, None).unwrap(), Range { from: 0, to: 86_400, step: 180 });
        assert_eq!(range(0, 7 * 86_400, None).unwrap().step, 1_260);
        let retained = |from: u64| Range::new(Some(at(from)), None, None, at(700_000));
        assert!(retained(90_000).unwrap_err().detail.contains("7 days") && retained(92_000).is_ok());
        for (from, to, step) in [(0, 100, 15), (0, 100, 40), (0, 1_000, 90), (0, 86_400, 60), (200, 100, 10)] {
            let error = range(from, to, Some(step)).unwrap_err();
            assert!(error.detail.contains("expected"), "{from} {to} {step}: {}", error.detail);
        }
        assert!(range(0, 86_400, Some(60)).unwrap_err().detail.contains("180 or more"));
        // The parameter that was given is named.
        let field = |from: Option<u64>, to: Option<u64>| {
            let error = Range::new(from.map(at), to.map(at), None, at(700_000)).unwrap_err();
            error.errors[0].field.clone().unwrap()
        };
        assert_eq!(field(None, Some(1_000)), "to");
        assert_eq!(field(Some(1_000), Some(650_000)), "from");
        assert_eq!(field(Some(800_000), None), "from");
        assert!(Range::new(None, Some(at(700_000 - RETENTION_S + LENGTH_S)), None, at(700_000)).is_ok());
        // Nothing is asked about the future.
        let now = Range::new(None, Some(at(99_999_999)), None, at(3_600)).unwrap();
        assert_eq!(now, Range { from: 0, to: 3_600, step: 10 });
    }

    #[test]
    fn unknown_cells_of_a_table_are_empty() {
        let point = LoadPoint { at: "t".to_owned(), mean_bps: Some(0), unreported: 1, ..LoadPoint::default() };
        let history = LoadHistory { points: vec![point], ..LoadHistory::default() };
        assert_eq!(table(&history).lines(), "at,meanBps,maxBps,reservedBps,unreported\r\nt,0,,,1\r\n");
    }
}
