//! `/v1/health`: contracts by health, the worst first.
//!
//! The order depends on the reports that agents send every second, so no table holds it: all contracts are scanned,
//! and the first of them kept.

use std::sync::Arc;

use wayleave_contracts::Priority;
use wayleave_controller::{DegradedReason, Id, NodeState, State};
use wayleave_protocol::contract::{Contract, Kind};
use wayleave_protocol::health::{ContractHealth, HealthLevel, HealthPage};
use wayleave_protocol::problem::Problem;
use wayleave_units::{Human, Time};

use crate::answer::{HttpReply, Outcome};
use crate::first_of::FirstOf;
use crate::http::call::AuthorizedRequest;
use crate::http::page::{Page, no_cursor};
use crate::loss_tracking::SampledDelay;
use crate::rendered::ContractObject;
use crate::state::Shared;

/// Fraction of its bound, in millionths, from which on a packet counts as near the bound.
const NEAR_PPM: u64 = 900_000;
/// All of a bound or a deadline, in millionths.
const WHOLE_PPM: u64 = 1_000_000;
/// Maximum number of hosts of a contract that are named.
const HOSTS: usize = 4;

/// Rank of a promise among all, the worst first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    level: HealthLevel,
    /// Within the level.
    order: u64,
    id: Arc<Id>,
}

impl Place {
    /// As `after` of a page has it.
    fn text(&self) -> String {
        format!("{}.{}.{}", self.level.name(), self.order, self.id)
    }

    fn parse(text: &str, tenant: &str) -> Result<Self, Box<Problem>> {
        let wrong = || no_cursor(text);
        let mut parts = text.splitn(3, '.');
        let (level, order, id) = (parts.next(), parts.next(), parts.next());
        let level = HealthLevel::ALL.into_iter().find(|known| Some(known.name()) == level).ok_or_else(wrong)?;
        let order = order.and_then(|order| order.parse().ok()).ok_or_else(wrong)?;
        let id = id.and_then(|id| Id::parse(id, tenant).ok()).ok_or_else(wrong)?;
        Ok(Self { level, order, id: Arc::new(id) })
    }
}

pub(crate) fn list(shared: &Arc<Shared>, call: &AuthorizedRequest) -> Outcome {
    let page = Page::read(&call.query)?;
    let after = page.after.as_ref().map(|text| Place::parse(text, call.tenant())).transpose()?;
    let level = call.query.text("level");
    let level = HealthLevel::ALL.into_iter().find(|known| Some(known.name()) == level);
    Ok(HttpReply::json(200, &shared.health(call.only_tenant(), level, after, page.limit)))
}

impl Shared {
    /// The first of these promises behind a place.
    fn health(&self, only: Option<&str>, level: Option<HealthLevel>, after: Option<Place>, most: usize) -> HealthPage {
        let worst = self.counted.worst(self.load.steady(self.load.now().0));
        // A controller that receives no reports has the state of the leader.
        let has_agents = !self.receives_reports() || self.view.read().nodes.values().any(NodeState::is_there);
        let mut counts = [0_u64; HealthLevel::ALL.len()];
        // One more than is shown reveals that there is a next page.
        let mut first = FirstOf::new(most + 1);
        self.each_contract(only, |contract| {
            let delay = contract.serial().and_then(|serial| worst.get(&serial).copied());
            let Some(place) = place(contract, delay, has_agents) else { return };
            // Levels are numbered in the order of `ALL`.
            counts[place.level as usize] += 1;
            let is_shown = level.is_none_or(|level| level == place.level);
            if is_shown && after.as_ref().is_none_or(|after| place > *after) {
                first.add(place, || contract.clone());
            }
        });
        let mut first = first.into_sorted();
        let has_next = first.len() > most;
        first.truncate(most);
        let next = first.last().filter(|_| has_next).map(|last| last.0.text());
        let shape = |(place, contract): &(Place, Arc<ContractObject>)| {
            let worst = contract.serial().and_then(|serial| worst.get(&serial).copied());
            shape(place.level, contract.document(self.network(), only.is_some()), worst)
        };
        let levels =
            HealthLevel::ALL.iter().zip(counts).map(|(level, count)| (level.name().to_owned(), count)).collect();
        HealthPage { items: first.iter().map(shape).collect(), levels, next }
    }
}

/// Returns the rank of a promise; `None` if there is no promise any more, or never was. `has_agents` is `false` if no agent
/// is connected.
fn place(contract: &ContractObject, delay: Option<SampledDelay>, has_agents: bool) -> Option<Place> {
    let bound = contract.bound_and_deadline();
    let worst = delay.and_then(|delay| longest(delay, bound.map(|(bound, _)| bound)));
    let level = match contract.state() {
        State::Released => return None,
        _ if contract.kind() == Kind::BestEffort => return None,
        State::Violated => HealthLevel::Violated,
        // The state does not include sampled packets.
        State::Admitted | State::Enforced | State::Pending if delay.is_some_and(|one| one.is_late || one.lost > 0) => {
            HealthLevel::Violated
        }
        State::Degraded => match contract.grant().degraded_reason {
            Some(DegradedReason::Silent { .. }) => HealthLevel::Unknown,
            Some(DegradedReason::Unconfirmed) => HealthLevel::Unconfirmed,
            _ => HealthLevel::Violated,
        },
        _ if contract.is_effect_unknown() => HealthLevel::Unknown,
        _ if is_near(bound, worst) => HealthLevel::AtRisk,
        State::Pending => HealthLevel::Pending,
        State::Enforced if !contract.has_agents() => HealthLevel::NotEnforced,
        State::Admitted if !has_agents || !contract.has_agents() => HealthLevel::NotEnforced,
        State::Admitted | State::Enforced if contract.is_configured() && !contract.is_effective() => {
            HealthLevel::Pending
        }
        State::Admitted | State::Enforced if contract.is_best_estimate() => HealthLevel::BestEstimate,
        State::Admitted | State::Enforced => HealthLevel::Ok,
    };
    let order = match level {
        HealthLevel::Violated | HealthLevel::Unknown | HealthLevel::Unconfirmed => {
            u64::from(Priority::MAX.get().saturating_sub(contract.priority()))
        }
        // The fuller the bound, the earlier.
        HealthLevel::AtRisk => {
            WHOLE_PPM * 2 - bound.map_or(0, |(bound, _)| ppm(worst.unwrap_or(0), bound)).min(WHOLE_PPM * 2)
        }
        _ => WHOLE_PPM - bound.map_or(0, |(bound, deadline)| ppm(bound, deadline)).min(WHOLE_PPM),
    };
    Some(Place { level, order, id: contract.id().clone() })
}

/// Returns the longest delay of sampled packets under this bound, if any is known.
fn longest(delay: SampledDelay, bound_ns: Option<u64>) -> Option<u64> {
    delay.longest_ns.filter(|_| bound_ns == Some(delay.bound_ns))
}

fn is_near(bound: Option<(u64, u64)>, worst: Option<u64>) -> bool {
    bound.zip(worst).is_some_and(|((bound, _), worst)| ppm(worst, bound) >= NEAR_PPM)
}

/// Returns the reason that a contract counts as violated by its sampled packets: a stable code, and a message.
fn sampled_reason(delay: SampledDelay) -> Option<(&'static str, String)> {
    let time = |ns: u64| Time::from_nanos(ns).up();
    match delay {
        SampledDelay { lost: 1.., .. } => {
            Some(("LOST_PACKETS", format!("the last {} sampled packets were lost", delay.lost)))
        }
        SampledDelay { is_late: true, longest_ns: Some(longest), bound_ns, .. } => {
            let message = format!("a sampled packet took {}, above the bound of {}", time(longest), time(bound_ns));
            Some(("LATE_PACKETS", message))
        }
        _ => None,
    }
}

/// A share in millionths, rounded up.
fn ppm(part: u64, whole: u64) -> u64 {
    let share = (u128::from(part) * u128::from(WHOLE_PPM)).div_ceil(u128::from(whole.max(1)));
    u64::try_from(share).unwrap_or(u64::MAX)
}

fn shape(level: HealthLevel, Contract { id, spec, status }: Contract, delay: Option<SampledDelay>) -> ContractHealth {
    let is_unmet = matches!(status.state, State::Degraded | State::Violated);
    let sampled = delay.filter(|_| level == HealthLevel::Violated && !is_unmet).and_then(sampled_reason);
    let (reason, message) = match sampled {
        Some((reason, message)) => (Some(reason.to_owned()), Some(message)),
        None => (status.reason, status.message),
    };
    let ends = [status.from_host, status.to_host].into_iter().flatten();
    let mut hosts: Vec<String> = ends.chain(status.hosts).collect();
    let members = hosts.len() as u64;
    hosts.truncate(HOSTS);
    let min =
        spec.bandwidth.map(|bandwidth| bandwidth.min).or_else(|| spec.objective.map(|objective| objective.weight));
    ContractHealth {
        id,
        level,
        kind: status.kind,
        state: status.state,
        reason,
        message,
        certainty: status.certainty,
        bound_ns: status.bound_ns,
        deadline_ns: status.deadline_ns,
        worst_ns: delay.and_then(|delay| longest(delay, status.bound_ns)),
        min,
        hosts,
        members,
        priority: spec.priority.unwrap_or(Priority::default().get()),
    }
}
