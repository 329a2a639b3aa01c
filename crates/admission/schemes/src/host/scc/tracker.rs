//! The division tracker (III-B, equations 3 and 4): adds up the reference weights of a division's tunnels, and
//! returns the available part.
//!
//! There is one at every host, and a division has those of its first source hosts ([`seats`]). Hosts report to all of
//! them and follow the first that answers. So the second has the same information when the first is lost, and two
//! that are followed at the same time give the same answer. A tracker that has just started does not know which hosts
//! are missing: it answers only after every host has had time to report. A host's report replaces its previous one; a
//! host that is silent for that time is forgotten. A host whose last answer was less than half of the current sum
//! gets a new answer at once: if many begin together, the first would otherwise have several times their part until
//! their next report.

use std::collections::BTreeMap;

use wayleave_contracts::Policy;
use wayleave_scheme_api::{Broker, BrokerAction, BrokerId, BrokerInput, ClassId, Member};
use wayleave_topology::NodeId;
use wayleave_units::Time;

use super::message::{Message, ReplyRequest};
use super::params::Params;
use crate::brokers::{
    BrokerCodec, BrokerDecodeError, BrokerError, BrokerNetwork, BrokerSetup, BrokerSpecs, SchemeBroker,
};
use crate::services::Services;
use crate::usage_report::{Limited, UsageReport};

/// The trackers of a division, the first to follow first: those at the first of its hosts.
pub(super) fn tracker_specs(all: BrokerSpecs<'_>, endpoints: &[NodeId], params: &Params) -> Vec<BrokerId> {
    let is_source = |host: NodeId| endpoints.is_empty() || endpoints.contains(&host);
    let numbers = (all.first.0..).zip(all.specs).filter(|(_, spec)| spec.at.host().is_some_and(is_source));
    numbers.map(|(number, _)| BrokerId(number)).take(params.trackers as usize).collect()
}

/// The share of every division, W_d in bit/s; best effort is one too.
pub(super) fn shares(policy: Option<&Policy>, services: &Services, params: &Params) -> BTreeMap<ClassId, u64> {
    let named = policy
        .into_iter()
        .flat_map(Policy::services)
        .filter_map(|service| Some((services.class(&service.name)?, service.division?.share.bits_per_second())));
    std::iter::once((Services::OTHER, params.best_effort.bits_per_second())).chain(named).collect()
}

/// Report of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DivisionReport {
    sum: u64,
    at: Time,
    /// Sum in the last answer to it; `None` if it follows another tracker.
    sent_sum: Option<u128>,
}

/// One division, as its tracker knows it.
#[derive(Clone, Debug, Default)]
struct DivisionState {
    hosts: BTreeMap<NodeId, DivisionReport>,
    /// Of all reports.
    sum: u128,
}

impl DivisionState {
    fn report(&mut self, host: NodeId, reported: DivisionReport) {
        let before = self.hosts.insert(host, reported).map_or(0, |before| before.sum);
        self.sum = self.sum - u128::from(before) + u128::from(reported.sum);
    }

    /// Records that a host was sent the sum.
    fn answered(&mut self, host: NodeId) {
        if let Some(reported) = self.hosts.get_mut(&host) {
            reported.sent_sum = Some(self.sum);
        }
    }

    /// Returns the hosts whose last answer was less than half of the sum, with their reports. Records the sum as
    /// sent.
    fn repeat_notifications(&mut self) -> impl Iterator<Item = (NodeId, u64)> + '_ {
        let sum = self.sum;
        self.hosts.iter_mut().filter_map(move |(&host, reported)| {
            let sent_sum = reported.sent_sum.as_mut().filter(|sent_sum| sum > sent_sum.saturating_mul(2))?;
            *sent_sum = sum;
            (reported.sum > 0).then_some((host, reported.sum))
        })
    }

    /// Removes the hosts that have been silent since then.
    fn forget(&mut self, since: Time) {
        let Self { hosts, sum } = self;
        hosts.retain(|_, reported| {
            let is_active = reported.at >= since;
            if !is_active {
                *sum -= u128::from(reported.sum);
            }
            is_active
        });
    }
}

/// The tracker at one host.
#[derive(Clone, Debug)]
pub struct Tracker {
    params: Params,
    shares: BTreeMap<ClassId, u64>,
    divisions: BTreeMap<ClassId, DivisionState>,
    started: Time,
    swept: Time,
}

impl Tracker {
    /// Creates the tracker of a seat, without reports.
    pub(super) fn new(setup: &BrokerSetup<'_>, params: &Params) -> Self {
        let shares = shares(setup.around.policies.machine, setup.around.services, params);
        Self { params: params.clone(), shares, divisions: BTreeMap::new(), started: Time::ZERO, swept: Time::ZERO }
    }

    /// Returns the time for which a host may be silent: within it every host has reported.
    fn report_timeout(&self) -> Time {
        Time::from_nanos(self.params.report_interval.as_nanos().saturating_mul(self.params.tracker_timeout.into()))
    }

    /// Removes hosts that have been silent for too long, at most once per report interval.
    fn sweep(&mut self, now: Time) {
        let timeout = self.report_timeout();
        if now.saturating_sub(self.swept) >= self.params.report_interval {
            self.swept = now;
            let since = now.saturating_sub(timeout);
            self.divisions.values_mut().for_each(|known| known.forget(since));
        }
    }

    /// Handles a host's report. Sends the sum to this host if it wants an answer, and to hosts whose last answer was
    /// less than half of the sum.
    fn on_report(
        &mut self,
        now: Time,
        host: NodeId,
        (division, own): (ClassId, u64),
        answer: ReplyRequest,
        report: &mut impl FnMut(NodeId, Message),
    ) {
        let Some(&share) = self.shares.get(&division) else { return };
        self.sweep(now);
        let knows = now.saturating_sub(self.started) >= self.report_timeout();
        let known = self.divisions.entry(division).or_default();
        known.report(host, DivisionReport { sum: own, at: now, sent_sum: None });
        let sum = u64::try_from(known.sum).unwrap_or(u64::MAX);
        let scale = |own| Message::Scale { division, share, sum, own };
        if knows {
            if answer == ReplyRequest::Wanted {
                known.answered(host);
                report(host, scale(own));
            }
            known.repeat_notifications().for_each(|(host, own)| report(host, scale(own)));
        }
    }
}

impl Broker for Tracker {
    type Message = Message;
    type Timer = core::convert::Infallible;

    fn on(
        &mut self,
        now: Time,
        input: BrokerInput<Message, Self::Timer>,
        act: &mut dyn FnMut(BrokerAction<Message, Self::Timer>),
    ) {
        match input {
            BrokerInput::Started => (self.started, self.swept) = (now, now),
            BrokerInput::Message { from: Member::Host(host), message: Message::Report { division, sum, answer } } => {
                self.on_report(now, host, (division, sum), answer, &mut |host, message| {
                    act(BrokerAction::Send { to: Member::Host(host), message });
                });
            }
            _ => {}
        }
    }
}

impl SchemeBroker for Tracker {
    fn set_policies(&mut self, around: &BrokerNetwork<'_>) -> Result<(), BrokerError> {
        self.shares = shares(around.policies.machine, around.services, &self.params);
        Ok(())
    }

    /// The hosts that have reported, of any division.
    fn members(&self, now: Time) -> Vec<NodeId> {
        let since = now.saturating_sub(self.report_timeout());
        let reports = self.divisions.values().flat_map(|known| &known.hosts);
        let mut hosts: Vec<NodeId> =
            reports.filter(|(_, reported)| reported.at >= since).map(|(&host, _)| host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }
}

/// The tracker's messages do not leave the simulator yet.
impl BrokerCodec for Tracker {
    fn encode(_: &Message) -> Option<Vec<u8>> {
        None
    }

    fn decode(_: &[u8]) -> Result<Message, BrokerDecodeError> {
        Err(BrokerDecodeError("trackers of scc have no program of their own".to_owned()))
    }

    fn length(_: &[u8]) -> Result<Option<usize>, BrokerDecodeError> {
        Err(BrokerDecodeError("trackers of scc have no program of their own".to_owned()))
    }

    fn sender(_: &Message) -> Option<NodeId> {
        None
    }

    fn from_report(_: UsageReport) -> Option<Message> {
        None
    }

    fn limits(_: &Message) -> Option<Vec<Limited>> {
        None
    }
}

#[cfg(test)]
mod tests;
