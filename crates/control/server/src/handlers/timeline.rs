//! `/v1/timeline`: past events, and the state at an event. Both are derived backwards from the stored events and from
//! the present state.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wayleave_controller::State;
use wayleave_protocol::event::Event;
use wayleave_protocol::timeline::{PastContracts, Snapshot, Timeline, TimelineBucket, UnmetContract};
use wayleave_units::WallTime;

use crate::answer::{HttpReply, Outcome, invalid, not_found, unknown_name};
use crate::clock::wall;
use crate::http::call::AuthorizedRequest;
use crate::log::Entry;
use crate::past::{Target, TenantUndoLog};
use crate::state::Shared;

/// Default number of buckets.
const BUCKETS: u64 = 120;
/// Maximum number of unmet contracts that a snapshot names.
const MAX_UNMET: usize = 100;

pub(crate) fn get(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let buckets = call.query.number("buckets").unwrap_or(BUCKETS);
    Ok(HttpReply::json(200, &shared.past(call.only_tenant()).timeline(buckets)))
}

pub(crate) fn snapshot(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let wrong = || invalid("event", "expected an event number");
    let number: u64 = call.name().parse().map_err(|_| wrong())?;
    let snapshot = shared.past(call.only_tenant()).snapshot(number);
    snapshot.map(|snapshot| HttpReply::json(200, &snapshot)).ok_or_else(|| not_found("event", call.name()))
}

/// Contracts as they were at an event or a time, of those that differ now.
pub(crate) fn past(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let only = call.only_tenant();
    let expected = "expected an event number or a time (RFC 3339)";
    let text = call.name();
    let (target, at) = match (text.parse::<u64>(), text.parse::<WallTime>()) {
        (Ok(number), _) => {
            let tables = shared.view.read();
            let entry = tables.events.get(only, number).ok_or_else(|| not_found("event", text))?;
            let event = serde_json::from_slice::<Event>(&entry.json(None));
            (Target::Event(entry.number), event.map_or_else(|_| String::new(), |event| event.at))
        }
        (_, Ok(time)) if time > wall() => return Err(invalid("asOf", format!("{time} is in the future: {expected}"))),
        (_, Ok(time)) => (Target::Time(time), time.to_string()),
        _ => return Err(invalid("asOf", expected)),
    };
    let asked = call.query.text("tenant");
    if let Some(other) = asked.filter(|asked| only.is_some_and(|only| only != *asked)) {
        return Err(not_found("tenant", other));
    }
    let kept: Vec<TenantUndoLog> = {
        let tables = shared.view.read();
        let all = tables.tenants.keys().chain(tables.undo.tenants()).collect::<BTreeSet<_>>().into_iter();
        let is_asked = |tenant: &str| [only, asked].into_iter().all(|one| one.is_none_or(|one| one == tenant));
        all.filter(|tenant| is_asked(tenant))
            .map(|tenant| TenantUndoLog::of(&tables.undo, tables.undo_since, tenant.clone()))
            .collect()
    };
    // A tenant of that time may have been deleted since.
    if let Some(unknown) = asked.filter(|_| kept.is_empty()) {
        return Err(unknown_name("tenant", unknown, shared.view.read().tenants.keys().map(String::as_str)));
    }
    let mut past = PastContracts { at, ..PastContracts::default() };
    kept.into_iter().for_each(|kept| kept.undo(target, &mut past));
    Ok(HttpReply::json(200, &past))
}

/// The stored events, and the state after the last one.
struct Past {
    events: Vec<Event>,
    contracts: BTreeMap<String, u64>,
    down: BTreeSet<String>,
    /// `false` for tenants, who do not read the network's state.
    shows_down: bool,
    is_shortened: bool,
}

impl Shared {
    fn past(&self, only: Option<&str>) -> Past {
        let (entries, contracts, down, is_shortened) = {
            let tables = self.view.read();
            let entries: Vec<Arc<Entry>> = tables.events.after(only, 0).cloned().collect();
            let down: BTreeSet<String> = tables.down.keys().map(ToString::to_string).collect();
            (entries, tables.counts_of(only).by_recorded_state(), down, tables.events.misses(only, 0))
        };
        // Read after the view is let go of: there may be many.
        let events = entries.iter().filter_map(|entry| serde_json::from_slice(&entry.json(only)).ok()).collect();
        Past { events, contracts, down, shows_down: only.is_none(), is_shortened }
    }
}

/// Returns the state of a contract after an event; `None` for events of other objects.
fn state(event: &Event) -> Option<After> {
    let known = State::ALL.into_iter().find(|state| state.name() == event.kind);
    known.map(After::State).or_else(|| (event.kind == "gone").then_some(After::Gone))
}

/// State of a contract after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    State(State),
    Gone,
}

impl After {
    /// Returns `true` if the contract is known not to have existed before an event with this result.
    fn begins(self) -> bool {
        matches!(self, Self::State(State::Pending | State::Admitted))
    }
}

/// States before each event, from the last one backwards.
struct Backwards<'a> {
    events: &'a [Event],
    /// For each event on a contract, what that was before: nothing if that is not known.
    before: Vec<Option<After>>,
    contracts: BTreeMap<String, u64>,
    down: BTreeSet<String>,
}

impl<'a> Backwards<'a> {
    fn new(past: &'a Past) -> Self {
        let mut last: HashMap<&str, After> = HashMap::new();
        let before = past.events.iter().map(|event| state(event).and_then(|after| last.insert(&event.object, after)));
        let before = before.collect();
        Self { events: &past.events, before, contracts: past.contracts.clone(), down: past.down.clone() }
    }

    /// Takes an event back.
    fn undo(&mut self, at: usize) {
        let event = &self.events[at];
        if let Some(after) = state(event) {
            self.count(after, |count| count.saturating_sub(1));
            match self.before[at] {
                Some(before) => self.count(before, |count| count + 1),
                // The state before the first stored event is unknown.
                None if !after.begins() => *self.contracts.entry("unknown".to_owned()).or_default() += 1,
                None => {}
            }
        }
        match &*event.kind {
            "down" => drop(self.down.remove(&event.object)),
            "up" => drop(self.down.insert(event.object.clone())),
            _ => {}
        }
    }

    fn count(&mut self, of: After, by: impl Fn(u64) -> u64) {
        if let After::State(state) = of {
            let count = self.contracts.entry(state.name().to_owned()).or_default();
            *count = by(*count);
        }
    }
}

impl Past {
    fn timeline(&self, buckets: u64) -> Timeline {
        let times: Vec<u64> = self.events.iter().map(|event| nanos(&event.at)).collect();
        let (Some(&first), Some(&last)) = (times.iter().min(), times.iter().max()) else { return Timeline::default() };
        let width = (last - first).div_ceil(buckets).max(1);
        let count = ((last - first) / width + 1).min(buckets);
        // Numbers count, not clocks: an event of a clock that went back belongs to the bucket of the one before.
        let mut until = first;
        let place = |time: u64| usize::try_from(((time - first) / width).min(count - 1)).unwrap_or(0);
        let places: Vec<usize> = times
            .iter()
            .map(|&time| {
                until = until.max(time);
                place(until)
            })
            .collect();
        let end = |at: u64| WallTime::from_nanos(first.saturating_add(width.saturating_mul(at + 1))).to_string();
        let mut all: Vec<TimelineBucket> =
            (0..count).map(|at| TimelineBucket { until: end(at), ..TimelineBucket::default() }).collect();
        let mut backwards = Backwards::new(self);
        let mut at = all.len();
        for number in (0..self.events.len()).rev() {
            while at > places[number] {
                at -= 1;
                all[at].contracts = backwards.contracts.clone();
                all[at].down = self.shows_down.then_some(backwards.down.len() as u64);
                all[at].last = self.events[number].number;
            }
            *all[at].events.entry(self.events[number].kind.clone()).or_default() += 1;
            backwards.undo(number);
        }
        Timeline { buckets: all, shortened: self.is_shortened }
    }

    fn snapshot(&self, number: u64) -> Option<Snapshot> {
        let at = self.events.iter().position(|event| event.number == number)?;
        let mut backwards = Backwards::new(self);
        (at + 1..self.events.len()).rev().for_each(|later| backwards.undo(later));
        // The last event of each contract until then.
        let mut last: HashMap<&str, &Event> = HashMap::new();
        for event in self.events[..=at].iter().filter(|event| state(event).is_some()) {
            last.insert(&event.object, event);
        }
        let is_broken = |event: &&&Event| matches!(&*event.kind, "degraded" | "violated");
        let mut broken: Vec<&Event> = last.values().filter(is_broken).copied().collect();
        broken.sort_by_key(|event| std::cmp::Reverse(event.number));
        let shape = |event: &&Event| UnmetContract {
            id: event.object.clone(),
            state: if event.kind == "degraded" { State::Degraded } else { State::Violated },
            since: event.at.clone(),
            detail: event.detail.clone(),
        };
        Some(Snapshot {
            event: self.events[at].clone(),
            contracts: backwards.contracts,
            unmet: broken.iter().take(MAX_UNMET).map(shape).collect(),
            omitted: broken.len().saturating_sub(MAX_UNMET) as u64,
            down: self.shows_down.then(|| backwards.down.into_iter().collect()),
        })
    }
}

fn nanos(at: &str) -> u64 {
    at.parse::<WallTime>().map_or(0, WallTime::as_nanos)
}
